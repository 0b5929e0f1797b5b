"""Simulations of [DeLuca]: passivity-based control with admissible and inadmissible C, and the residual.

With K_P = Λ K_D and s = e' + Λ e the controller (8) makes of V = ½ sᵀM s + eᵀΛ K_D e

    V' = −e'ᵀK_D e' − eᵀΛ K_P e + sᵀ(½ Ṁ − C) s,

whose last term vanishes if Ṁ − 2C is skew.  Two motions show it, in continuous time:

    tracking  from rest to rest with gains as in practice, from an initial error;
    turning   joint 1 of the outstretched arm turns at a constant speed, with weak gains.  Near this motion Ṁ = 0 and C
              is constant: the last term is a constant quadratic form of s, which is not definite.

For the residual the arm moves from rest to rest under computed torque; joint 2 loses a part of its torque for a while,
and later a collision acts on link 6.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from flexjoint import Robot
from flexjoint.control import ComputedTorque, Controller, JointState, PassivityControl, gains_from_poles
from flexjoint.control.base import LawResult
from flexjoint.dynamics.inertia import mass_matrix
from flexjoint.dynamics.recursion.bodies import rigid_motor_inertia
from flexjoint.dynamics.recursion.kinematics import jacobian
from flexjoint.observers import Measurement, MomentumResidual
from flexjoint.simulation import simulate
from flexjoint.simulation.faults import FaultyActuators
from flexjoint.spatial import ca, sx
from flexjoint.trajectory import RestToRest, Trajectory
from flexjoint.types import FloatArray, Stack

from .report import BLACK, BLUE, GREEN, GREY, RED, YELLOW, Claim, Drawings, verdict
from .two_velocity_recursions import modified_recursion

ADMISSIBLE, INADMISSIBLE = "0001", "0100"
STEP = 5e-4  # s, of the integrator under passivity-based control
STRONG, WEAK = (10.0, 40.0), (1.0, 0.5)  # Λ, 1/s; K_D, Nm s/rad
OFF = {"tracking": 0.2, "turning": 0.05}  # initial error, rad
SPEED = 4.0  # of joint 1, rad/s
GOAL = np.array([0.8, 0.9, -0.7, 1.1, 0.6, -0.9, 0.5])  # rad
POSE = np.array([0.0, 1.5, 0.0, 0.0, 0.0, 0.0, 0.0])  # rad

DURATION, PERIOD, CUTOFF = 3.0, 1e-3, 50.0  # s, s, rad/s
FAULTY, EFFICIENCY, FAULT = 1, 0.7, (0.6, 1.2)  # joint 2; fraction of its torque; s
STRUCK, FORCE, COLLISION = "link6", (0.0, 25.0, 30.0), (2.0, 2.2)  # peak force in base coordinates, N; s
STYLES = [(BLUE, "-"), (RED, "-"), (GREEN, "-"), (YELLOW, "-"), (BLUE, "--"), (RED, "--"), (GREEN, "--")]


# Passivity-based control ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, repr=False)
class PrintedPassivity(Controller):
    """The controller (25) with any of the sixteen recursions; `gains` are Λ, K_P and K_D."""

    robot: Robot
    gains: FloatArray
    variant: str
    order: ClassVar[int] = 2

    def law(self, gains: Stack, state: Stack, reference: Stack, measurement: JointState) -> LawResult:
        Lambda, K_P, K_D = gains
        q_d, v_d, a_d = reference
        q, v, *_ = measurement
        e, de = q_d - q, v_d - v
        v_r, a_r = v_d + Lambda * e, a_d + Lambda * de
        tau = modified_recursion(self.robot, q, v, v_r, a_r, variant=self.variant, gravity=self.robot.gravity)
        return state, tau + rigid_motor_inertia(self.robot) * a_r + K_P * e + K_D * de  # (25)


class Turning(Trajectory):
    """Joint 1 turns at a constant speed, the others rest."""

    def __init__(self, pose: FloatArray, speed: float, duration: float) -> None:
        self.pose, self.speed, self.duration = pose, speed, duration
        self.n, self.smoothness = len(pose), math.inf

    def derivatives(self, t: FloatArray, order: int) -> FloatArray:
        stack = np.zeros((order + 1, *np.shape(t), self.n))
        stack[0] = self.pose
        stack[0, ..., 0] += self.speed * t
        stack[1, ..., 0] = self.speed
        return stack

    def remedy(self, order: int) -> str:
        return ""


class Course(NamedTuple):
    """Times (m,), s, errors e (m, n), rad, V (m,), J, and what V' should have taken from V until then, (m,), J."""

    t: FloatArray
    error: FloatArray
    V: FloatArray
    dissipated: FloatArray

    @property
    def gap(self) -> float:
        """Largest |V(0) − V − dissipated|, relative to V(0)."""
        return float(np.abs(self.V[0] - self.V - self.dissipated).max() / self.V[0])


Courses = Mapping[tuple[str, str], Course]  # by motion, "tracking" or "turning", and recursion


def passivity_courses(robot: Robot) -> Courses:
    """The courses of both motions under an admissible and an inadmissible recursion."""
    motions: dict[str, tuple[Trajectory, tuple[float, float]]] = {
        "tracking": (RestToRest(np.zeros(robot.n), GOAL, 3.0), STRONG),
        "turning": (Turning(POSE, SPEED, 10.0), WEAK),
    }
    courses = {}
    for name, (motion, (bandwidth, damping)) in motions.items():
        admissible = PassivityControl(robot, bandwidth, damping, variant=ADMISSIBLE)
        q, v = motion(0.0, order=1)
        q = q + OFF[name] * np.array([1.0, -0.9, 0.8, 0.7, -0.6, 0.5, -0.4])
        start = JointState(q, v, q, v)
        for controller in (admissible, PrintedPassivity(robot, admissible.gains, INADMISSIBLE)):
            run = simulate(robot, controller, motion, period=STEP, start=start, hold=False, check=False)
            courses[name, controller.variant] = course_of(robot, run, motion, admissible.gains)
    return courses


def course_of(robot: Robot, run: Any, motion: Trajectory, gains: FloatArray) -> Course:
    """V and its integrated dissipation along a run."""
    from scipy.integrate import cumulative_simpson

    Lambda, K_P, K_D = gains
    q_d, v_d = motion(run.t, order=1)
    e, de = q_d - run.q, v_d - run.v
    s = de + Lambda * e
    V = np.einsum("mi,mij,mj->m", s, mass_matrix(robot, run.q), s) / 2 + ((K_P + Lambda * K_D) * e**2).sum(-1) / 2
    power = (K_D * de**2 + Lambda * K_P * e**2).sum(-1)
    return Course(run.t, e, V, cumulative_simpson(power, x=run.t, initial=0.0))


def passivity_claims(courses: Courses) -> list[Claim]:
    """Claims about the controller."""
    tracking, turning = courses["tracking", ADMISSIBLE], courses["turning", ADMISSIBLE]
    wrong = courses["turning", INADMISSIBLE]
    falls = all((np.diff(x.V) < 0).all() for x in (tracking, turning))
    gap = max(tracking.gap, turning.gap)
    return [
        Claim(
            f"The controller (25) with NE*_{ADMISSIBLE} tracks: V' = −e'ᵀK_D e' − eᵀΛ K_P e",
            "proof of others",
            f"V {'falls' if falls else 'does not fall'} in every step and loses the integral to {gap:.0e} V(0); the "
            f"error falls from {np.abs(tracking.error[0]).max():.2g} to {np.abs(tracking.error[-1]).max():.0e} rad in "
            f"{tracking.t[-1]:g} s",
            verdict(falls and gap < 1e-6),
        ),
        Claim(
            "C in (8) should satisfy (3)",
            "no example",
            f"With NE*_{INADMISSIBLE} and weak gains V grows {wrong.V[-1] / wrong.V[0]:.0f} times in {wrong.t[-1]:g} "
            f"s; with NE*_{ADMISSIBLE} it falls to {turning.V[-1] / turning.V[0]:.1g} V(0)",
            verdict(wrong.V[-1] > wrong.V[0] > turning.V[-1]),
        ),
    ]


def passivity_figure(drawings: Drawings, courses: Courses) -> None:
    """Figure of the tracking errors and of V."""
    figure, (left, right) = drawings.panels(2, 6.0, 4.8)
    tracking = courses["tracking", ADMISSIBLE]
    for i, (colour, dashes) in enumerate(STYLES):
        left.plot(tracking.t, tracking.error[:, i], dashes, color=colour, label=f"joint {i + 1}")
    left.set(xlabel="time, s", ylabel="error e, rad", xlim=(0, 2))
    left.set_title("tracking, Λ = 10/s, K_D = 40 Nm s/rad", fontsize=10)
    for variant, colour in ((ADMISSIBLE, GREEN), (INADMISSIBLE, RED)):
        course = courses["turning", variant]
        right.plot(course.t, course.V / course.V[0], color=colour, label=f"NE*_{variant}")
    course = courses["turning", ADMISSIBLE]
    marks = slice(None, None, len(course.t) // 20)
    label = f"V(0) − dissipation of NE*_{ADMISSIBLE}"
    right.plot(course.t[marks], (1 - course.dissipated / course.V[0])[marks], "x", color=BLACK, label=label)
    right.set(xlabel="time, s", ylabel="V / V(0)", yscale="log", xlim=(0, course.t[-1]))
    right.set_title(f"joint 1 at {SPEED:g} rad/s, Λ = 1/s, K_D = 0.5 Nm s/rad", fontsize=10)
    caption = (
        f"With NE*_{ADMISSIBLE} V falls exactly by what the gains dissipate; with NE*_{INADMISSIBLE}, whose Ṁ − 2C is "
        "not skew, V grows although the gains dissipate."
    )
    drawings.save(figure, "passivity", "passivity-based control", caption)


# The residual -----------------------------------------------------------------------------------------------------


class History(NamedTuple):
    """Times (m,), s, and (m, n), Nm: the residual, and the filtered unmodelled torque."""

    t: np.ndarray
    residual: np.ndarray
    filtered: np.ndarray


def faulty_run(robot: Robot) -> History:
    """The residual of a run with an actuator fault and a collision."""
    motion = RestToRest(np.zeros(robot.n), GOAL, DURATION)
    controller = ComputedTorque(robot, gains_from_poles([-15.0, -15.0]))
    efficiency = np.where(np.arange(robot.n) == FAULTY, EFFICIENCY, 1.0)
    faulty = FaultyActuators(controller, efficiency, begin=FAULT[0], end=FAULT[1], period=PERIOD)
    run = simulate(robot, faulty, motion, period=PERIOD, contact=strike)
    commanded = faulty.commanded(motion(run.t, controller.order), run.states)
    sensed = Measurement(run.q, run.v, run.theta, run.theta_v, None)
    residual = MomentumResidual(robot, CUTOFF, PERIOD).run(run.t, sensed, commanded)["residual"]
    wrench = blow(run.t)[:, None] * np.array([*FORCE, 0.0, 0.0, 0.0])
    collision = np.einsum("mki,mk->mi", jacobian(robot, run.q, link=STRUCK), wrench)
    return History(run.t, residual, filtered(run.tau - commanded, collision))


def strike(t: Any, state: Any) -> dict[str, Any]:
    """Wrench of the collision by link."""
    return {STRUCK: blow(t, ca) * sx([*FORCE, 0.0, 0.0, 0.0])}


def blow(t: Any, over: Any = np) -> Any:
    """Time profile sin² of the collision, from 0 to 1; `over` is NumPy or CasADi."""
    begin, end = COLLISION
    on = (t > begin) * (t < end)
    return on * over.sin(np.pi * (t - begin) / (end - begin)) ** 2


def filtered(held: np.ndarray, moving: np.ndarray) -> np.ndarray:
    """Solution of r' = −K r + K u for torques that are held between samples plus torques that change linearly."""
    fade = np.exp(-CUTOFF * PERIOD)
    r = np.zeros_like(held)
    for k in range(len(held) - 1):
        r[k + 1] = fade * r[k] + (1 - fade) * (held[k] + (moving[k] + moving[k + 1]) / 2)
    return r


def residual_claims(history: History) -> list[Claim]:
    """Claims about the residual."""
    error = np.abs(history.residual - history.filtered).max()
    fraction = error / np.abs(history.filtered).max()
    during = (history.t >= FAULT[0]) & (history.t < FAULT[1])
    largest = np.abs(history.residual[during]).max(axis=0)
    faulty, isolated = largest[FAULTY], np.delete(largest, FAULTY).max()
    within, beyond = (np.abs(x).max() for x in np.split(history.residual, [4], axis=1))
    return [
        Claim(
            "r' = −K r + K u: the residual is what acts on each joint, filtered (5)-(7)",
            "proof",
            f"Largest difference {error:.1e} Nm, {fraction:.0e} of the residual's peak, with samples every 1 ms",
            verdict(fraction < 1e-3),
        ),
        Claim(
            "Components are decoupled: a fault of motor 2 shows at joint 2 only",
            "no number",
            f"{faulty:.1f} Nm there, {isolated:.0e} Nm elsewhere",
            verdict(isolated < 1e-3 * faulty),
        ),
        Claim(
            "A collision shows at the joints up to the link that was struck",
            "no number",
            f"Link 6, struck on its axis: {within:.1f} Nm at joints 1 to 4, {beyond:.0e} Nm at 5 to 7",
            verdict(beyond < 1e-3 * within),
        ),
    ]


def residual_figure(drawings: Drawings, history: History) -> None:
    """Figure of the residual over time."""
    figure, (left, right) = drawings.panels(2, 6.0, 4.8)
    for axis, joints in ((left, range(4)), (right, range(4, 7))):
        for begin, end, event in ((*FAULT, "motor 2 weak"), (*COLLISION, "link 6 struck")):
            axis.axvspan(begin, end, color="0.9")
            axis.annotate(event, ((begin + end) / 2, 0.98), xycoords=("data", "axes fraction"), ha="center", va="top")
        for i in joints:
            axis.plot(history.t, history.residual[:, i], STYLES[i][1], color=STYLES[i][0], label=f"joint {i + 1}")
        axis.set(xlabel="time, s", ylabel="residual r, Nm", xlim=(0.0, DURATION))
        axis.margins(y=0.12)
    left.plot(history.t[::25], history.filtered[::25, FAULTY], "x", color=GREY, ms=4, label="u filtered, joint 2")
    left.set_title("joints 1 to 4", fontsize=10)
    right.set_title("joints 5 to 7: rounding", fontsize=10)
    caption = (
        "The residual of joint 2 is its filtered loss of torque and no other joint answers; the force through the "
        "wrist shows at joints 1 to 4 and has no moment about the axes of joints 5 to 7."
    )
    drawings.save(figure, "residual", "residual under an actuator fault and a collision", caption)
