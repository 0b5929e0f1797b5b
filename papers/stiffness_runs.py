"""Runs of [VSANEA]: its torques and controllers on a Lagrangian model of the arm, and its integrated deflections.

The model shares no code with the recursions: the parameters are those of Table I, the poses products of 4×4
Denavit-Hartenberg matrices, energies and their derivatives those of CasADi, the springs written out.  SciPy integrates.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from flexjoint import Robot, compile, inverse_dynamics, motor_motion
from flexjoint.control import gains_from_poles
from flexjoint.control.laws.motion_and_stiffness import motion_and_stiffness_control
from flexjoint.dynamics.integrated import integrated_motor_motion
from flexjoint.dynamics.links import torque_derivatives
from flexjoint.spatial import ca
from flexjoint.trajectory import Trajectory
from flexjoint.types import Expression, FloatArray

from .report import BLACK, BLUE, RED, Claim, Drawings, integrate, verdict

POLE, STIFFNESS_POLE = 12.0, 8.0  # 1/s: all poles of (33a) at −POLE, of (33b) at −STIFFNESS_POLE
OFF, STIFFNESS_OFF = np.array([4.0, -3.0, 5.0]), np.array([60.0, 40.0, 90.0])  # °, Nm/rad
CLOSED_LOOP = 1.2  # s
PERIODS = (1e-3, 5e-2)  # s: steps of the integration of (19); the figure shows the last
DRIFT_GAIN, ROUNDS = 10.0, 10  # 1/s, repetitions of the motion there and back
REPLAYED = "The model is integrated by SciPy and follows the references to the accuracy of the integration."
DECAYING = "Lines: the Lagrangian model under (32). Circles: the linear error equations (33)."
STYLES = ((BLACK, "-"), (RED, "--"), (BLUE, "-."))


# The Lagrangian model -----------------------------------------------------------------------------------------------

ALPHA, A = (math.pi / 2, 0.0, 0.0), (0.0, 0.3, 0.3)  # rad, m
MASS, COM_X = (9.0478, 6.7858, 5.0894), (0.0, -0.15, -0.15)  # kg, m
INERTIA = ((0.1299, 0.0185, 0.1299), (0.0139, 0.0578, 0.0578), (0.0104, 0.0434, 0.0434))  # kg m²
MOTOR_INERTIA, FRICTION, MOTOR_FRICTION = (3.20, 3.05, 1.98), 1e-5, 1e-4  # kg m², Nm s/rad
K, K_C, GRAVITY = 400.0, 2000.0, 9.81  # Nm/rad, Nm/rad³, m/s²
RELATIVE, ABSOLUTE = 1e-11, 1e-12  # tolerances of the integration


class State(NamedTuple):
    """Positions and velocities of the links (..., 3) and motors (..., 6), all first motors before the second ones."""

    q: FloatArray
    v: FloatArray
    theta: FloatArray
    theta_v: FloatArray

    @property
    def stiffness(self) -> FloatArray:
        """σ = Σ K + 3 K_c φ_k²  [VSANEA (25)]."""
        one, two = (x - self.q for x in np.split(self.theta, 2, axis=-1))
        return 2 * K + 3 * K_C * (one**2 + two**2)


def energies(q: Expression, v: Expression) -> tuple[Expression, Expression]:
    """Kinetic and potential energy of the links."""
    pose, kinetic, potential = ca.SX.eye(4), ca.SX(0), ca.SX(0)
    for i in range(3):
        pose = pose @ dh(q[i], ALPHA[i], A[i])
        centre, R = (pose @ ca.SX([COM_X[i], 0.0, 0.0, 1.0]))[:3], pose[:3, :3]
        velocity = ca.jtimes(centre, q, v)
        spin = R.T @ ca.reshape(ca.jtimes(ca.vec(R), q, v), 3, 3)  # S(ω) in the frame of the link
        omega = ca.vertcat(spin[2, 1], spin[0, 2], spin[1, 0])
        kinetic += (MASS[i] * ca.dot(velocity, velocity) + ca.dot(ca.SX(list(INERTIA[i])) * omega, omega)) / 2
        potential += MASS[i] * GRAVITY * centre[2]
    return kinetic, potential


def dh(theta: Expression, alpha: float, a: float) -> Expression:
    """Pose of a link in that before it."""
    c, s = ca.cos(theta), ca.sin(theta)
    ca_, sa = round(math.cos(alpha), 15), round(math.sin(alpha), 15)
    rows: list[list[Any]] = [[c, -s * ca_, s * sa, a * c], [s, c * ca_, -c * sa, a * s], [0, sa, ca_, 0], [0, 0, 0, 1]]
    return ca.vertcat(*(ca.horzcat(*row) for row in rows))


def equations() -> Any:
    """CasADi Function (x, τ) -> x' of the state in one column."""
    q, v, theta, theta_v, tau = (ca.SX.sym("x", k) for k in (3, 3, 6, 6, 6))
    T, V = energies(q, v)
    momentum = ca.gradient(T, v)
    rest = ca.jtimes(momentum, q, v) - ca.gradient(T, q) + ca.gradient(V, q) + FRICTION * v
    phi = theta - ca.vertcat(q, q)
    springs = K * phi + K_C * phi**3
    a = ca.solve(ca.jacobian(momentum, v), springs[:3] + springs[3:] - rest)  # [VSANEA (5a)]
    theta_a = (tau - springs - MOTOR_FRICTION * theta_v) / ca.SX([*MOTOR_INERTIA, *MOTOR_INERTIA])  # [VSANEA (5b, c)]
    x = ca.vertcat(q, v, theta, theta_v)
    return ca.Function("plant", [x, tau], [ca.vertcat(v, a, theta_v, theta_a)])


def simulated(start: State, torque: Callable[[float, State], FloatArray], times: FloatArray) -> State:
    """States at the times under motor torques of time and state."""
    plant = equations()

    def flow(t: float, x: FloatArray) -> FloatArray:
        return np.array(plant(x, torque(t, parts(x))))[:, 0]

    return parts(integrate(flow, np.concatenate(start), times, RELATIVE, ABSOLUTE).T)


def parts(x: FloatArray) -> State:
    """A state from its numbers (..., 18)."""
    return State(*np.split(x, [3, 6, 12], axis=-1))


# Runs ---------------------------------------------------------------------------------------------------------------


class Reference(NamedTuple):
    """Desired motion and stiffness."""

    motion: Trajectory
    stiffness: Trajectory

    def __call__(self, t: Any) -> tuple[FloatArray, FloatArray]:
        """[q, ... q''''] and [σ, σ', σ'']."""
        return self.motion(t), self.stiffness(t, order=2)


class Errors(NamedTuple):
    """Times (m,), s, errors of links and stiffness, (m, n), ° and Nm/rad, and those of the linear equations (33)."""

    t: FloatArray
    position: FloatArray
    stiffness: FloatArray
    linear: tuple[FloatArray, FloatArray]

    @property
    def gaps(self) -> tuple[float, float]:
        """Largest differences to the linear equations."""
        position, stiffness = (np.abs(x - y).max() for x, y in zip(self[1:3], self.linear))
        return float(position), float(stiffness)


def placed(robot: Robot, reference: Reference, off: Any = 0.0, stiffness_off: Any = 0.0) -> State:
    """The state at the start of the reference, or at rest off it."""
    q, sigma = (np.array(x) for x in reference(0.0))
    q[0], sigma[0] = q[0] + off, sigma[0] + stiffness_off
    motors = motor_motion(robot, *q, stiffness=list(sigma))
    return State(q[0], q[1], motors.theta, motors.theta_v)


def replayed(robot: Robot, reference: Reference, samples: int) -> Errors:
    """The torques of inverse dynamics, applied to the Lagrangian model without any feedback."""
    kernel = compile(inverse_dynamics, robot, stiffness=3)
    t = np.linspace(0.0, reference.motion.duration, samples)

    def torque(now: float, _: State) -> FloatArray:
        q, sigma = reference(now)
        return np.asarray(kernel(*q[:5], *sigma))

    states = simulated(placed(robot, reference), torque, t)
    q, sigma = reference(t)
    still = np.zeros((samples, robot.n))
    return Errors(t, np.rad2deg(states.q - q[0]), states.stiffness - sigma[0], (still, still))


def released(pole: float, order: int, t: FloatArray) -> FloatArray:
    """e/e(0) of a chain of `order` integrators with all poles at −pole, released at rest."""
    return np.exp(-pole * t) * sum((pole * t) ** k / math.factorial(k) for k in range(order))


def controlled(robot: Robot, reference: Reference, samples: int) -> Errors:
    """The controller (32) in continuous time on the Lagrangian model, released off both references."""
    shape = {"reference": 5, "gains": 4, "stiffness": 3, "stiffness_gains": 2}
    kernel = compile(motion_and_stiffness_control, robot, tracking=shape)
    gains, stiffness_gains = (gains_from_poles([-p] * k) for p, k in ((POLE, 4), (STIFFNESS_POLE, 2)))
    K_q, K_sigma = (np.repeat(x[:, None], robot.n, axis=1) for x in (gains, stiffness_gains))
    t = np.linspace(0.0, CLOSED_LOOP, samples)

    def torque(now: float, state: State) -> FloatArray:
        q, sigma = reference(now)
        return np.asarray(kernel(*state, *q[:5], *K_q, *sigma, *K_sigma).tau)

    states = simulated(placed(robot, reference, np.deg2rad(OFF), STIFFNESS_OFF), torque, t)
    q, sigma = reference(t)
    linear = OFF * released(POLE, 4, t)[:, None], STIFFNESS_OFF * released(STIFFNESS_POLE, 2, t)[:, None]
    return Errors(t, np.rad2deg(states.q - q[0]), states.stiffness - sigma[0], linear)


class Drift(NamedTuple):
    """Times, and largest error of the deflections over the joints, (m,) rad, without and with drift control."""

    t: FloatArray
    free: FloatArray
    kept: FloatArray


def integrated(robot: Robot, reference: Reference, period: float) -> Drift:
    """(19) integrated along the motion there and back, `ROUNDS` times, against the solution of (14)."""
    half = np.linspace(0.0, reference.motion.duration, round(reference.motion.duration / period) + 1)
    there = [np.array(x) for x in reference(half)]
    signs = [np.array([(-1.0) ** k for k in range(len(x))])[:, None, None] for x in there]  # the way back: d/dt changes
    both = [np.concatenate([x, (s * x[:, ::-1])[:, 1:]], axis=1) for x, s in zip(there, signs)]
    q, sigma = (np.concatenate([x, *[x[:, 1:]] * (ROUNDS - 1)], axis=1) for x in both)
    solved = motor_motion(robot, *q, stiffness=list(sigma)).deflection
    kernel = compile(integrated_motor_motion, robot, stiffness=3)
    rates = torque_derivatives(robot.without_drives(), *q[:4, 0], order=1)
    errors = np.zeros((2, len(solved)))
    for gain, error in zip((0.0, DRIFT_GAIN), errors):
        state = [solved[0], *rates, *sigma[:2, 0]]
        h, drift_gain = np.array(period), np.array(gain)
        for k in range(1, len(solved)):
            motors = kernel(*state, h, drift_gain, *q[:, k], *sigma[:, k])
            state = [motors.deflection, motors.tau_e, motors.tau_e_v, *sigma[:2, k]]
            error[k] = np.abs(motors.deflection - solved[k]).max()
    return Drift(np.arange(len(solved)) * np.float64(period), *errors)


def run_claims(replay: Errors, decay: Errors, drifts: dict[float, Drift]) -> list[Claim]:
    """Claims about torques, controller and integration."""
    coarse, fine = drifts[PERIODS[-1]], drifts[PERIODS[0]]
    (q, sigma), (linear_q, linear_sigma) = replay.gaps, decay.gaps
    return [
        Claim(
            "The torques realize motion and stiffness in nominal conditions (sec. III-B)",
            "exactly",
            f"To {q:.1g}° and {sigma:.1g} Nm/rad, without feedback on a Lagrangian model for 4 s",
            verdict(q < 1e-7 and sigma < 1e-6),
        ),
        Claim(
            "The linearizing controller makes motion and stiffness linear and decoupled (33)",
            "exactly",
            f"Errors of {np.abs(OFF).max():g}° and {STIFFNESS_OFF.max():g} Nm/rad decay as (33) to {linear_q:.1g}° and "
            f"{linear_sigma:.1g} Nm/rad",
            verdict(max(linear_q, linear_sigma) < 1e-6),
        ),
        Claim(
            "(19) can be integrated instead of solving (14), but drifts (third remark of sec. III-B)",
            "no number",
            f"{coarse.free.max():.1g} rad in {coarse.t[-1]:.0f} s in steps of {1e3 * PERIODS[-1]:g} ms, "
            f"{fine.free.max():.1g} rad in steps of {1e3 * PERIODS[0]:g} ms",
            verdict(fine.free.max() < coarse.free.max() < 1e-6),
        ),
    ]


def error_figure(drawings: Drawings, errors: Errors, name: str, title: str, caption: str) -> None:
    """Figure of the errors of a run."""
    figure, axes = drawings.panels(2)
    every = max(1, len(errors.t) // 24)
    panels = zip(axes, ("links", "stiffness"), ("q − q$_d$, °", "σ − σ$_d$, Nm/rad"), errors[1:3], errors.linear)
    for axis, kind, unit, curves, linear in panels:
        bare = not np.any(linear)  # of rounding alone: the largest error so far
        shown = np.maximum.accumulate(np.abs(curves)) if bare else curves
        if bare:
            axis.set_yscale("log")
            kind, unit = f"{kind}, largest error so far", f"|{unit.replace(', ', '|, ')}"
        for i, (colour, dashes) in enumerate(STYLES):
            axis.plot(errors.t, shown[:, i], color=colour, ls=dashes, label=f"joint {i + 1}")
            if not bare:
                axis.plot(errors.t[::every], linear[::every, i], "o", mfc="none", ms=4, color=colour)
        axis.set_title(kind, fontsize=10)
        axis.set(xlabel="time, s", ylabel=unit, xlim=(0.0, errors.t[-1]))
    drawings.save(figure, name, title, caption)


def drift_figure(drawings: Drawings, drifts: dict[float, Drift]) -> None:
    """Figure of the error of the integrated deflections."""
    drift = drifts[PERIODS[-1]]
    figure, (axis,) = drawings.panels(1, 7.0)
    axis.plot(drift.t, drift.free, color=RED, lw=1.0, label="integrated")
    axis.plot(drift.t, drift.kept, color=BLUE, lw=1.0, label=f"with drift control, λ = {DRIFT_GAIN:g}/s")
    axis.set(xlabel="time, s", ylabel="|φ − φ of (14)|, rad", xlim=(0.0, drift.t[-1]))
    caption = (
        f"Deflections by integration of (19) in steps of {1e3 * PERIODS[-1]:g} ms, along the motion there and back ten "
        "times: the bare error accumulates."
    )
    drawings.save(figure, "drift", "integrated deflections", caption)
