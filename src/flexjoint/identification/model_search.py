"""Estimation of more and more suitable models: friction laws, held torques, samples that count.

Friction is Coulomb at first, with static friction where the residuals ask for it.  Where they still show a wrong model,
reversals are left out: real and simulated stiction depends on more than the velocity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..drives import friction_law
from ..errors import listed
from ..progress import activity
from ..robot import Robot
from ..types import FloatArray
from .equations import Equations
from .friction_start import friction_start
from .least_squares import MOST_ITERATIONS, Fit, fit
from .parameters import Unknowns, unknowns
from .recordings import Recording
from .residuals import STICTION, STRIBECK, residual_tests, scores
from .sample_weights import without_reversals
from .signals import Signals

MOTION = 0.999  # share of the velocity's power below the highest frequency of the motion
MARGIN = 1.5  # passband of the instruments over that frequency
STUCK, DOUBTFUL = 4.0, 0.01  # score of stiction, probability of a motor's misfit, from which reversals are doubted
ASKING = 3.0  # deviations of a score from which static friction is estimated: it may be weak in slow logs
COMPARED = ("stiffness", "inertia", "viscous", "coulomb")  # of fits with and without reversals
DIFFERENT, LEAST = 4.0, 0.25  # deviations of their difference, whose variance is at least so much of the second one's
ROUGH = 7  # iterations that show which joints need static friction


class ModelSearch:
    """Estimations of more and more suitable models.

    Args:
        robot: The robot, with its prior values.
        parts: The recordings.
        links: base, payload or known.
        motors, sensors: Whether motor torques and joint torques are logged.
        held, delay: See `identify`.
    """

    def __init__(
        self,
        robot: Robot,
        parts: Sequence[Recording],
        links: str,
        motors: bool,
        sensors: bool,
        held: bool,
        delay: float | None,
    ) -> None:
        self.robot, self.links, self.motors, self.sensors = robot, links, motors, sensors
        self.held, self.delay = held, delay
        self.slow_left_out: frozenset[int] = frozenset()  # joints whose reversals do not count
        self.measured = [Signals(robot, x, links) for x in parts]
        self.smooth = [
            Signals(robot, x, links, motion_band(x), "q" if x.reference is None else "reference") for x in parts
        ]

    def run(self, friction: str, notes: list[str]) -> Found:
        """The fit with the friction that was chosen, or that the residuals ask for.

        Args:
            friction: auto, viscous, coulomb or stribeck.
            notes: Gets sentences about what was found.
        """
        laws = first_laws(self.robot, friction)
        if not self.motors or (friction != "auto" and not self.may_be_sampled):
            return self.fitted(laws)
        found = self.fitted(laws, iterations=ROUGH)
        if self.may_be_sampled and is_sampled(found):
            self.held = False
            notes.append("tau changes more often than it is logged: taken as measured at the time of its sample")
        if friction != "auto":
            return self.fitted(laws, found)
        found = self.fitted(asked_laws(found, laws), found)
        return self.without_reversals(found, notes)

    @property
    def may_be_sampled(self) -> bool:
        """Whether the delay may show that a torque is held shorter than the log says."""
        return self.held and self.delay is None

    def without_reversals(self, found: Found, notes: list[str]) -> Found:
        """The fit without the reversals of motors whose friction there is none of the laws.

        A law that is right gives the same estimates with and without reversals (Hausman's test).
        """
        joints = doubtful_joints(found)
        windows = [without_reversals(x, joints) for x in self.measured]
        if not joints or any(x is None for x in windows):
            return found
        kept = self.measured, self.smooth
        self.measured, self.smooth = (
            [x.windowed(w) for x, w in zip(signals, windows) if w is not None] for signals in kept
        )
        laws = first_laws(self.robot, "auto")
        other = self.fitted(laws, iterations=ROUGH)
        other = self.fitted(asked_laws(other, laws), other)
        wrong = {i for i in joints if differs(found, other, i)}
        if not wrong:
            self.measured, self.smooth = kept
            return found
        self.slow_left_out = frozenset(joints)
        notes.append(
            f"friction near reversals of {listed(self.robot.joints[i].name for i in sorted(wrong))} is none of the "
            "laws, such as stiction: slow samples do not count there"
        )
        return other

    def fitted(self, laws: tuple[str, ...], before: Found | None = None, iterations: int = MOST_ITERATIONS) -> Found:
        """A fit with these friction laws, and the equations along the measured motion.

        Args:
            laws: Friction law of each motor.
            before: Another estimation, where this one begins; by default none.
            iterations: The most that are made.
        """
        what = unknowns(self.robot, laws, self.links, self.motors, self.sensors, self.motors and self.delay is None)
        with activity(f"identifying {self.robot.name}"):
            equations, others = (
                [Equations(x, what, self.held, self.delay or 0.0) for x in signals]
                for signals in (self.measured, self.smooth)
            )
            start = what.priors if before is None else before.carried(what)
            return Found(fit(equations, others, what, friction_start(equations, start), iterations), equations)


class Found(NamedTuple):
    """A fit, and the equations along the measured motion."""

    fit: Fit
    equations: list[Equations]

    def carried(self, what: Unknowns) -> FloatArray:
        """Values for other parameters: those of the same name stay."""
        known = dict(zip([x.name for x in self.equations[0].unknowns.parameters], self.fit.values))
        return np.array([known.get(x.name, x.prior) for x in what.parameters])


def motion_band(recording: Recording) -> float:
    """Frequency that contains the motion, Hz: passband of the instruments."""
    v = recording.motion("q")[1]
    power = np.cumsum(np.abs(recording.spectrum(v)) ** 2, axis=0)
    places = np.argmax(power >= MOTION * power[-1], axis=0)
    return float(np.clip(MARGIN * recording.frequencies[places].max(), 1.0, 2 * recording.bandwidth))


def asked_laws(found: Found, laws: tuple[str, ...]) -> tuple[str, ...]:
    """The friction laws, with static friction at joints whose residuals ask for it."""
    asking = {
        x.joint
        for x in scores(found.equations, found.fit)
        if x.what.startswith(STRIBECK) and abs(x.deviations) > ASKING
    }
    return tuple("stribeck" if i in asking else law for i, law in enumerate(laws))


def doubtful_joints(found: Found) -> set[int]:
    """Joints whose friction seems to depend on more than the velocity, or whose motor the model explains badly."""
    stuck = {
        x.joint for x in scores(found.equations, found.fit) if x.what.startswith(STICTION) and abs(x.deviations) > STUCK
    }
    tests = residual_tests(found.fit.channels)
    return stuck | {x.joint for x in tests if x.equation in ("motor", "rigid") and x.probability < DOUBTFUL}


def differs(found: Found, other: Found, i: int) -> bool:
    """Whether two fits of the same log give other numbers of a joint, the second one with fewer samples."""
    for kind in COMPARED:
        k, j = (x.equations[0].unknowns.at(i, kind) for x in (found, other))
        if k is not None and j is not None:
            variance = other.fit.covariance[j, j]
            spread = max(variance - found.fit.covariance[k, k], LEAST * variance)
            if abs(found.fit.values[k] - other.fit.values[j]) > DIFFERENT * math.sqrt(spread):
                return True
    return False


def is_sampled(found: Found) -> bool:
    """Whether the positions seem to come before tau by more than a quarter of a period: tau is held shorter."""
    equations = found.equations[0]
    k = equations.unknowns.place(-1, "delay")
    deviation = float(np.sqrt(found.fit.covariance[k, k]))
    return bool(found.fit.values[k] < -0.25 * equations.recording.period - 3 * deviation)


def first_laws(robot: Robot, friction: str) -> tuple[str, ...]:
    """Friction law of each motor with which the estimation begins."""
    if friction != "auto":
        return (friction,) * robot.n
    known = [None if x.drive is None else friction_law(x.drive.motors[0]) for x in robot.joints]
    return tuple("stribeck" if law is not None and law.static is not None else "coulomb" for law in known)
