"""Passivity-based control with an admissible and an inadmissible factorization of C  [DeLuca (3), (8), (25)].

With K_P = Λ K_D and s = e' + Λ e the law (8) makes of V = ½ sᵀM s + eᵀΛ K_D e

    V' = −e'ᵀK_D e' − eᵀΛ K_P e + sᵀ(½ Ṁ − C) s,

whose last term vanishes if Ṁ − 2C is skew.  Two motions show it, under the law in continuous time:

    tracking  from rest to rest with gains as in practice, from an initial error;
    turning   joint 1 of the outstretched arm turns at a constant speed, with weak gains.  Near this motion Ṁ = 0 and C
              is constant: the last term is a constant quadratic form of s, which is not definite.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from flexjoint.control import Controller, JointState, PassivityControl
from flexjoint.control.base import LawResult
from flexjoint.dynamics.inertia import mass_matrix
from flexjoint.dynamics.recursion.bodies import rigid_motor_inertia
from flexjoint.robot import Robot
from flexjoint.simulation import simulate
from flexjoint.trajectory import RestToRest, Trajectory
from flexjoint.types import FloatArray, Stack

from .report import BLUE, GREEN, RED, YELLOW, Claim, PaperFigure, new_figures, saved, verdict
from .two_velocity_recursions import modified_recursion

ADMISSIBLE, INADMISSIBLE = "0001", "0100"
PERIOD = 5e-4  # s, step of the integrator
STRONG, WEAK = (10.0, 40.0), (1.0, 0.5)  # Λ, 1/s; K_D, Nm s/rad
OFF = {"tracking": 0.2, "turning": 0.05}  # initial error, rad
SPEED = 4.0  # of joint 1, rad/s
GOAL = (0.8, 0.9, -0.7, 1.1, 0.6, -0.9, 0.5)
POSE = (0.0, 1.5, 0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False, repr=False)
class PrintedPassivity(Controller):
    """The law (25) with any of the sixteen recursions; `gains` are Λ, K_P and K_D."""

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


def passivity_courses(robot: Robot) -> dict[tuple[str, str], Course]:
    """The courses by motion, "tracking" or "turning", and recursion."""
    n = robot.n
    motions: dict[str, tuple[Trajectory, tuple[float, float]]] = {
        "tracking": (RestToRest(np.zeros(n), np.array(GOAL), 3.0), STRONG),
        "turning": (Turning(np.array(POSE), SPEED, 10.0), WEAK),
    }
    found = {}
    for name, (motion, (bandwidth, damping)) in motions.items():
        law = PassivityControl(robot, bandwidth, damping, variant=ADMISSIBLE)
        laws: Mapping[str, Controller] = {
            ADMISSIBLE: law,
            INADMISSIBLE: PrintedPassivity(robot, law.gains, INADMISSIBLE),
        }
        q, v = motion(0.0, order=1)
        q = q + OFF[name] * np.array([1.0, -0.9, 0.8, 0.7, -0.6, 0.5, -0.4])
        start = JointState(q, v, q, v)
        for variant, controller in laws.items():
            run = simulate(robot, controller, motion, period=PERIOD, start=start, hold=False, check=False)
            found[name, variant] = course_of(robot, run, motion, law.gains)
    return found


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


def passivity_claims(courses: Mapping[tuple[str, str], Course]) -> list[Claim]:
    """Claims about the law."""
    tracking, turning = courses["tracking", ADMISSIBLE], courses["turning", ADMISSIBLE]
    wrong = courses["turning", INADMISSIBLE]
    falls = all((np.diff(x.V) < 0).all() for x in (tracking, turning))
    gap = max(tracking.gap, turning.gap)
    also = np.abs(courses["tracking", INADMISSIBLE].error[-1]).max()
    return [
        Claim(
            f"law (8), (25) with NE*_{ADMISSIBLE} tracks: V' = −e'ᵀK_D e' − eᵀΛ K_P e",
            "from [15], [21]",
            f"error {np.abs(tracking.error[0]).max():.2g} rad at the start, {np.abs(tracking.error[-1]).max():.0e} rad "
            f"after {tracking.t[-1]:g} s; V {'falls' if falls else 'does not fall'} in every step, and what it loses "
            f"differs from the integral by {gap:.0e} V(0)",
            verdict(falls and gap < 1e-6),
        ),
        Claim(
            "C in (8) should satisfy (3)",
            "no example",
            f"joint 1 turning at {SPEED:g} rad/s, weak gains: with NE*_{INADMISSIBLE} V grows "
            f"{wrong.V[-1] / wrong.V[0]:.0f} times in {wrong.t[-1]:g} s, the error from "
            f"{np.abs(wrong.error[0]).max():.2g} to {np.abs(wrong.error).max():.2g} rad; with NE*_{ADMISSIBLE} V falls "
            f"to {turning.V[-1] / turning.V[0]:.1g} V(0). With strong gains NE*_{INADMISSIBLE} tracks too "
            f"({also:.0e} rad): damping hides the defect",
            verdict(wrong.V[-1] > wrong.V[0] > turning.V[-1]),
        ),
    ]


def passivity_figure(folder: Path, courses: Mapping[tuple[str, str], Course]) -> PaperFigure:
    """Figure of the tracking errors and of V."""
    figure, (left, right) = new_figures(2, 8.0, 4.2)
    tracking = courses["tracking", ADMISSIBLE]
    styles = [(BLUE, "-"), (RED, "-"), (GREEN, "-"), (YELLOW, "-"), (BLUE, "--"), (RED, "--"), (GREEN, "--")]
    for i, (colour, dashes) in enumerate(styles):
        left.plot(tracking.t, tracking.error[:, i], dashes, color=colour, label=f"left: joint {i + 1}")
    left.set(title="Tracking, Λ = 10/s, K_D = 40 Nm s/rad", xlabel="time t, s", ylabel="error e, rad", xlim=(0, 2))
    for variant, colour in ((ADMISSIBLE, GREEN), (INADMISSIBLE, RED)):
        course = courses["turning", variant]
        right.plot(course.t, course.V / course.V[0], color=colour, label=f"right: NE*_{variant}")
    course = courses["turning", ADMISSIBLE]
    marks = slice(None, None, len(course.t) // 20)
    left_over = 1 - course.dissipated / course.V[0]
    right.plot(
        course.t[marks],
        left_over[marks],
        "x",
        color="black",
        label="right: V(0) less what\nthe gains of NE*_0001\ndissipate",
    )
    right.set(
        title=f"Joint 1 at {SPEED:g} rad/s, Λ = 1/s, K_D = 0.5 Nm s/rad",
        xlabel="time t, s",
        ylabel="V / V(0)",
        yscale="log",
        xlim=(0, course.t[-1]),
    )
    caption = (
        "Left: errors under the law (25) with NE*_0001. Right: with it the Lyapunov function V falls exactly by what "
        "the gains dissipate; with NE*_0100, whose Ṁ − 2C is not skew, V grows although the gains dissipate."
    )
    return saved(figure, folder / "passivity.png", caption)
