"""Torques and control laws of [VSANEA] on the Lagrangian model, and its integrated deflections."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from flexjoint.algorithm.compile import compile
from flexjoint.control.gains import gains_from_poles
from flexjoint.control.laws.motion_and_stiffness import motion_and_stiffness_control
from flexjoint.drives import AntagonisticDrive
from flexjoint.dynamics.integrated import integrated_motor_motion
from flexjoint.dynamics.inverse import inverse_dynamics, motor_motion
from flexjoint.dynamics.links import torque_derivatives
from flexjoint.robot import Robot
from flexjoint.springs import CubicSpring
from flexjoint.trajectory import Trajectory
from flexjoint.types import FloatArray

from .report import BLACK, BLUE, RED, Claim, Grid, PaperFigure, least_time, new_figures, saved, verdict
from .stiffness_plant import State, simulated

POLE, STIFFNESS_POLE = 12.0, 8.0  # 1/s: all poles of (33a) at −POLE, of (33b) at −STIFFNESS_POLE
OFF, STIFFNESS_OFF = np.array([4.0, -3.0, 5.0]), np.array([60.0, 40.0, 90.0])  # °, Nm/rad
CLOSED_LOOP = 1.2  # s
PERIODS, SHOWN = (1e-3, 1e-2, 2e-2, 5e-2), 5e-2  # s: steps of the integration, and the one of the figure
DRIFT_GAIN, ROUNDS = 10.0, 10  # 1/s, repetitions of the motion there and back
COLOURS = (BLACK, RED, BLUE)


class Reference(NamedTuple):
    """What is followed."""

    motion: Trajectory
    stiffness: Trajectory

    def __call__(self, t: Any) -> tuple[FloatArray, FloatArray]:
        """[q, ... q''''] and [σ, σ', σ'']."""
        return self.motion(t), self.stiffness(t, order=2)


# Torques of inverse dynamics -----------------------------------------------------------------------------------------


class Replay(NamedTuple):
    """Times (m,), and by how much links and stiffness miss their references, (m, n), rad and Nm/rad."""

    t: FloatArray
    position: FloatArray
    stiffness: FloatArray


def replayed(robot: Robot, reference: Reference, samples: int) -> Replay:
    """The torques of inverse dynamics, applied to the Lagrangian model without any feedback."""
    kernel = compile(inverse_dynamics, robot, stiffness=3)
    t = np.linspace(0.0, reference.motion.duration, samples)

    def torque(now: float, _: State) -> FloatArray:
        q, sigma = reference(now)
        return np.asarray(kernel(*q[:5], *sigma))

    found = simulated(on(robot, reference, 0.0), torque, t)
    q, sigma = reference(t)
    return Replay(t, found.q - q[0], found.stiffness - sigma[0])


def on(robot: Robot, reference: Reference, t: float, off: Any = 0.0, stiffness_off: Any = 0.0) -> State:
    """A state of the robot on the reference, or at rest off it."""
    q, sigma = (np.array(x) for x in reference(t))
    q[0], sigma[0] = q[0] + off, sigma[0] + stiffness_off
    found = motor_motion(robot, *q, stiffness=list(sigma))
    return State(q[0], q[1], found.theta, found.theta_v)


# Feedback linearization ----------------------------------------------------------------------------------------------


class Decay(NamedTuple):
    """Errors in closed loop, (m, n), and those of the linear equations  [VSANEA (33)]; °, Nm/rad."""

    t: FloatArray
    position: FloatArray
    linear_position: FloatArray
    stiffness: FloatArray
    linear_stiffness: FloatArray


def released(pole: float, order: int, t: FloatArray) -> FloatArray:
    """e/e(0) of a chain of `order` integrators with all poles at −pole, released at rest."""
    return np.exp(-pole * t) * sum((pole * t) ** k / math.factorial(k) for k in range(order))


def controlled(robot: Robot, reference: Reference, samples: int) -> Decay:
    """The law (32) in continuous time on the Lagrangian model, released off both references."""
    shape = {"reference": 5, "gains": 4, "stiffness": 3, "stiffness_gains": 2}
    kernel = compile(motion_and_stiffness_control, robot, tracking=shape)
    gains, stiffness_gains = (gains_from_poles([-p] * k) for p, k in ((POLE, 4), (STIFFNESS_POLE, 2)))
    K, L = (np.repeat(x[:, None], robot.n, axis=1) for x in (gains, stiffness_gains))
    t = np.linspace(0.0, CLOSED_LOOP, samples)

    def torque(now: float, state: State) -> FloatArray:
        q, sigma = reference(now)
        return np.asarray(kernel(*state, *q[:5], *K, *sigma, *L).tau)

    off = np.deg2rad(OFF)
    found = simulated(on(robot, reference, 0.0, off, STIFFNESS_OFF), torque, t)
    q, sigma = reference(t)
    return Decay(
        t,
        np.rad2deg(found.q - q[0]),
        OFF * released(POLE, 4, t)[:, None],
        found.stiffness - sigma[0],
        STIFFNESS_OFF * released(STIFFNESS_POLE, 2, t)[:, None],
    )


# Integrated deflections ----------------------------------------------------------------------------------------------


class Drift(NamedTuple):
    """Times, and largest error of the deflections over the joints, (m,) rad, without and with drift control."""

    t: FloatArray
    free: FloatArray
    kept: FloatArray

    @property
    def first(self) -> slice:
        """The first time there and back."""
        return slice(0, len(self.t) // ROUNDS)


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
    errors: list[FloatArray] = []
    for gain in (0.0, DRIFT_GAIN):
        state = [solved[0], *rates, *sigma[:2, 0]]
        miss = np.zeros(len(solved))
        h, drift_gain = np.array(period), np.array(gain)
        for k in range(1, len(solved)):
            now = kernel(*state, h, drift_gain, *q[:, k], *sigma[:, k])
            state = [now.deflection, now.tau_e, now.tau_e_v, *sigma[:2, k]]
            miss[k] = np.abs(now.deflection - solved[k]).max()
        errors.append(miss)
    return Drift(np.arange(len(solved)) * np.float64(period), *errors)


def drift_grid(drifts: dict[float, Drift]) -> Grid:
    """Errors by step, in the first time there and back and in all of them."""
    rows = [
        [f"{1e3 * h:g}", *(f"{y:.1e}" for x in drift[1:] for y in (x[drift.first].max(), x.max()))]
        for h, drift in drifts.items()
    ]
    names = [f"{when}, {how}" for how in ("bare", "drift control") for when in ("first 8 s", "80 s")]
    return Grid("drift", ["step, ms", *(f"error of φ, rad: {name}" for name in names)], rows)


def unequal(robot: Robot) -> Robot:
    """The arm with springs that differ, for which (14) has no closed form."""
    motors = [joint.drive.motors for joint in robot.joints]  # type: ignore[union-attr]
    springs = CubicSpring(400.0, 2000.0), CubicSpring(390.0, 2100.0)
    return robot.with_drives([AntagonisticDrive(*springs, *x) for x in motors])


def method_grid(robot: Robot) -> Grid:
    """Operations and times of the ways to the deflections, all motor torques included."""
    rows = []
    rest = np.zeros(robot.n)
    sigma = [np.full(robot.n, 1000.0), rest, rest]
    for name, some in (("equal, as in the paper", robot), ("400, 2000 and 390, 2100", unequal(robot))):
        start = motor_motion(some, *[rest] * 5, stiffness=sigma)
        names = {
            "solve": compile(motor_motion, some, stiffness=3),
            "warm": compile(motor_motion, some, stiffness=3, warm_start=True),
            "step": compile(integrated_motor_motion, some, stiffness=3),
            "now": [*[rest] * 5, *sigma],
            "phi": start.deflection,
            "before": [start.deflection, start.tau_e, rest, *sigma[:2], np.array(1e-3), np.array(DRIFT_GAIN)],
        }
        ways = {
            "(14) in closed form" if some is robot else "(14), search of 40 steps": "solve(*now)",
            "(14), 6 Newton steps from the sample before": "warm(*now, phi)",
            "(19) integrated, drift control": "step(*before, *now)",
        }
        for way, call in ways.items():
            if some is robot and call.startswith("warm"):
                continue  # the closed form needs no start
            kernel: Any = names[call.split("(")[0]]
            rows.append([name, way, str(kernel.operations), f"{least_time(call, names, 300) * 1e6:.2f}"])
    return Grid("deflections", ["springs (K, K_c)", "way to φ", "operations", "µs per call from Python"], rows)


# Claims and figures --------------------------------------------------------------------------------------------------


def run_claims(replay: Replay, decay: Decay, drifts: dict[float, Drift]) -> list[Claim]:
    """Claims about torques, law and integration."""
    drift, fine = drifts[SHOWN], drifts[PERIODS[0]]
    position, stiffness = (float(np.abs(x).max()) for x in (replay.position, replay.stiffness))
    apart = [np.abs(x - y).max() for x, y in zip(decay[1::2], decay[2::2])]
    return [
        Claim(
            "the torques realize motion and stiffness in nominal conditions (sec. III-B)",
            "exactly",
            f"without feedback on a Lagrangian model for 4 s: |q − q_d| ≤ {position:.1g} rad, |σ − σ_d| ≤ "
            f"{stiffness:.1g} Nm/rad",
            verdict(position < 1e-9 and stiffness < 1e-6),
        ),
        Claim(
            "the linearizing law makes motion and stiffness linear and decoupled (sec. III-C, IV-C)",
            "yes",
            f"errors of up to {np.abs(OFF).max():g}° and {STIFFNESS_OFF.max():g} Nm/rad decay as (33) says, within "
            f"{apart[0]:.1g}° and {apart[1]:.1g} Nm/rad",
            verdict(max(apart) < 1e-6),
        ),
        Claim(
            "(19) can be integrated instead of solving (14); caution: drift (third remark of sec. III-B)",
            "no number",
            f"steps of {1e3 * SHOWN:g} ms: error {drift.free[drift.first].max():.1g} rad in the first 8 s and "
            f"{drift.free.max():.1g} rad in {drift.t[-1]:.0f} s bare, at most {drift.kept.max():.1g} rad with drift "
            f"control; with {1e3 * PERIODS[0]:g} ms only rounding drifts, {fine.free.max():.1g} rad",
            verdict(drift.kept.max() < drift.free.max() < 1e-6),
        ),
    ]


def run_figures(folder: Path, replay: Replay, decay: Decay, drifts: dict[float, Drift]) -> list[PaperFigure]:
    """Figures of the three runs."""
    return [replay_figure(folder, replay), decay_figure(folder, decay), drift_figure(folder, drifts[SHOWN])]


def replay_figure(folder: Path, replay: Replay) -> PaperFigure:
    figure, axes = new_figures(2)
    shown = (
        ("links, largest error so far", "|q − q$_d$|, rad", replay.position),
        ("stiffness, largest error so far", "|σ − σ$_d$|, Nm/rad", replay.stiffness),
    )
    for axis, (title, label, errors) in zip(axes, shown):
        for i, (colour, dashes) in enumerate(zip(COLOURS, ("-", "--", "-."))):
            name = f"joint {i + 1}" if axis is axes[0] else None
            largest = np.maximum.accumulate(np.abs(errors[1:, i]))
            axis.semilogy(replay.t[1:], np.where(largest > 0, largest, np.nan), dashes, color=colour, label=name)
        axis.set(title=title, xlabel="time, s", ylabel=label, xlim=(0.0, replay.t[-1]))
    caption = (
        "Torques of Fig. 2 applied without feedback to a model by Lagrange's equations that SciPy integrates: it "
        "follows the references to the accuracy of the integration."
    )
    return saved(figure, folder / "figure_5_replayed.png", caption)


def decay_figure(folder: Path, decay: Decay) -> PaperFigure:
    figure, axes = new_figures(2)
    shown = (
        ("links", "q − q$_d$, °", decay.position, decay.linear_position),
        ("stiffness", "σ − σ$_d$, Nm/rad", decay.stiffness, decay.linear_stiffness),
    )
    every = max(1, len(decay.t) // 24)
    for axis, (title, label, errors, linear) in zip(axes, shown):
        for i, colour in enumerate(COLOURS):
            names = [f"joint {i + 1}", f"joint {i + 1}, linear"] if axis is axes[0] else [None, None]
            axis.plot(decay.t, errors[:, i], color=colour, lw=1.0, label=names[0])
            axis.plot(decay.t[::every], linear[::every, i], "o", mfc="none", ms=4, color=colour, label=names[1])
        axis.set(title=title, xlabel="time, s", ylabel=label, xlim=(0.0, decay.t[-1]))
    caption = (
        f"Feedback linearization with the law (32), all poles of the motion at −{POLE:g}/s and of the stiffness at "
        f"−{STIFFNESS_POLE:g}/s, released off both references. Lines: the Lagrangian model under the law; circles: the "
        "linear error equations (33)."
    )
    return saved(figure, folder / "figure_6_linearized.png", caption)


def drift_figure(folder: Path, drift: Drift) -> PaperFigure:
    figure, (axis,) = new_figures(1)
    for errors, colour, name in ((drift.free, RED, "bare"), (drift.kept, BLUE, f"drift control, λ = {DRIFT_GAIN:g}/s")):
        axis.plot(drift.t, errors, color=colour, lw=1.0, label=name)
    axis.set(title="integrated deflections", xlabel="time, s", ylabel="|φ − φ of (14)|, rad", xlim=(0.0, drift.t[-1]))
    caption = (
        f"Deflections by integration of (19) in steps of {1e3 * SHOWN:g} ms, along the motion there and back ten "
        "times: the error of the bare integration accumulates, with drift control it stays what it was in the first "
        "seconds."
    )
    return saved(figure, folder / "figure_7_drift.png", caption)
