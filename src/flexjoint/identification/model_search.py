"""Estimation of more and more suitable models: friction laws, spring laws, held torques, samples that count.

Friction is Coulomb at first, with static friction where the residuals ask for it; then it may differ by direction, and
springs may stiffen.  Where the model is still wrong, reversals are left out: real and simulated stiction depends on
more than the velocity.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..errors import listed
from ..logs import Log
from ..progress import activity
from ..robot import Robot
from ..types import FloatArray
from .equations import Equations
from .estimates import SIGNIFICANT
from .friction_start import friction_start
from .identifiability import GOOD
from .laws import first_laws, first_springs, with_cubic, with_directions
from .least_squares import MOST_ITERATIONS, Fit, fit
from .parameters import Unknowns, unknowns
from .recordings import Recording
from .residuals import (
    PROBABILITY,
    REVERSALS,
    ROUNDING,
    STICTION,
    STRIBECK,
    ResidualTest,
    Score,
    residual_tests,
    reversal_tests,
    scores,
    with_shares,
)
from .sample_weights import without_reversals
from .signals import Signals

MOTION = 0.999  # share of the velocity's power below the highest frequency of the motion
MARGIN = 1.5  # passband of the instruments over that frequency
STUCK, DOUBTFUL = 4.0, 0.01  # score of stiction, probability of a motor's misfit, from which reversals are doubted
ASKING = 3.0  # deviations of a score from which static friction is estimated: it may be weak in slow logs
COMPARED = ("stiffness", "inertia", "viscous", "coulomb")  # of fits with and without reversals
DIFFERENT, LEAST = 4.0, 0.25  # deviations of their difference, whose variance is at least so much of the second one's
SLOWEST = (0.3, 0.15)  # of the rms speed: below, reversals are left out; the second if the first leaves too little
FASTER = (0.5, 0.3)  # the same of a second fit, which shows how much estimates depend on this speed
COMPARISON = 5  # iterations of that fit
KNOWN = 3.0  # deviations of a stiffness from zero
SURE = 2.0  # deviations of a difference of two fits from which noise does not explain it
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
        self.command_held, self.delay = held, delay
        self.anchored: dict[int, float] = {}  # standard deviations of sensor scales that are taken as 1, by joint
        measured = [Signals(robot, x, links) for x in parts]
        sources = ["q" if x.reference is None else "reference" for x in parts]
        self.signals = measured, [Signals(robot, x, links, motion_band(x), y) for x, y in zip(parts, sources)]

    def run(
        self,
        friction: str,
        spring: str,
        logs: Sequence[Log],
        straight: Set[int],
        notes: list[str],
        reversals: bool = False,
    ) -> Found:
        """The fit with the laws of friction and springs that were chosen, or that the residuals ask for.

        Args:
            friction, spring: See `identify`.
            logs: For the deflections of piecewise spring laws.
            straight: Joints whose springs do not become cubic: a gap looks like a spring that stiffens, and a
                circular log does not show its spring.
            notes: Gets sentences about what was found.
            reversals: Whether reversals stay although friction there may be none of the laws: simulations need them.
        """
        self.friction, self.spring, self.straight = friction, spring, straight
        (self.measured, self.smooth), self.held = self.signals, self.command_held
        self.slow_left_out: frozenset[int] = frozenset()  # joints whose reversals do not count
        self.springs = self.first_springs = first_springs(self.robot, spring, logs, notes)
        laws, free = first_laws(self.robot, friction), friction == "auto" and self.motors
        if not free and not (self.motors and self.may_be_sampled):
            return self.widened(self.fitted(laws), laws)
        found = self.fitted(laws, iterations=ROUGH)
        if self.may_be_sampled and is_sampled(found):
            self.held = False
            notes.append("tau changes more often than it is logged: taken as measured at the time of its sample")
        laws = asked_laws(found, laws) if free else laws
        found = self.widened(self.fitted(laws, found), laws)
        return self.without_reversals(found, notes) if free and not reversals else found

    def anchor(self, found: Found) -> bool:
        """Take sensor scales as 1 that motor torques do not show; whether there are any more of them.

        Stiffness, inertias of the links and 1/scale share a factor that the motor equation alone determines: it shows
        a scale whose deviation is that of an identified value, or that differs significantly from 1.
        """
        before = len(self.anchored)
        for k, x in enumerate(found.equations[0].unknowns.parameters):
            c, variance = found.fit.values[k], found.fit.covariance[k, k]
            deviation = math.sqrt(variance) if variance >= 0 else math.inf  # rounding of singular equations: unknown
            shown = deviation <= GOOD * c or (abs(c - 1) > SIGNIFICANT * deviation and c > 0)
            if x.kind == "sensor_scale" and x.joint not in self.anchored and not (found.fit.converged and shown):
                self.anchored[x.joint] = deviation
        return len(self.anchored) > before

    def widened(self, found: Found, laws: tuple[str, ...]) -> Found:
        """The fit with friction by direction and cubic springs where the residuals ask for them and laws are free."""
        asked = [x for x in found.scores if x.asked]
        bent = [x for x in asked if x.joint not in self.straight]
        wider = with_directions(laws, asked, self.friction), with_cubic(self.springs, bent, self.spring)
        if wider == (laws, self.springs):
            return found
        laws, self.springs = wider
        return self.fitted(laws, found)

    @property
    def may_be_sampled(self) -> bool:
        """Whether the delay may show that a torque is held shorter than the log says."""
        return self.held and self.delay is None

    def without_reversals(self, found: Found, notes: list[str]) -> Found:
        """The fit without the reversals of motors whose friction there is none of the laws.

        A law that is right leaves residuals that are no stronger near reversals than elsewhere, and gives the same
        estimates with and without reversals (Hausman's test).  Where it is wrong, estimates still depend on the speed
        below which samples are left out: differences that noise does not explain are part of the deviations.
        """
        doubted, kept = doubtful_joints(found), (self.measured, self.smooth)
        linear = {i for i, (x, y) in enumerate(zip(self.springs, self.first_springs)) if x == y}
        self.straight = self.straight | linear  # a spring stiffens if both fits ask for it
        for shares in (SLOWEST, SLOWEST[1:]) if doubted else ():
            self.measured, self.smooth, self.springs = *kept, self.first_springs
            joints = self.leave_out(doubted, shares)
            if not joints:
                break
            laws = first_laws(self.robot, "auto")
            other = self.fitted(laws, iterations=ROUGH)
            laws = asked_laws(other, laws)
            other = self.widened(self.fitted(laws, other), laws)
            if not other.fit.converged or 2 * len(found.springs - other.springs) > len(found.springs):
                continue
            wrong = {i for i in joints if i in found.wrong_at_reversals or differs(found, other, i)}
            self.measured, self.smooth = kept
            if not wrong:
                return replace(found, disagreement=disagreement(found, other))
            self.slow_left_out = frozenset(joints)
            notes.append(
                f"friction near reversals of {listed(self.robot.joints[i].name for i in sorted(wrong))} is none of the "
                "laws, such as stiction: slow samples do not count there"
            )
            self.leave_out(joints, FASTER)
            faster = self.fitted(other.equations[0].unknowns.friction, other, iterations=COMPARISON)
            return replace(other, disagreement=disagreement(other, faster))
        self.measured, self.smooth = kept
        return found

    def leave_out(self, joints: Set[int], shares: Sequence[float]) -> set[int]:
        """Give slow samples of these joints no weight; the joints of which enough other samples stay."""
        windows, found = without_reversals(self.measured, joints, shares)
        self.measured, self.smooth = (
            [x.windowed(w) for x, w in zip(signals, windows)] for signals in (self.measured, self.smooth)
        )
        return found

    def fitted(self, laws: tuple[str, ...], before: Found | None = None, iterations: int = MOST_ITERATIONS) -> Found:
        """A fit with these friction laws, and the equations along the measured motion.

        Args:
            laws: Friction law of each motor.
            before: Another estimation, where this one begins; by default none.
            iterations: The most that are made.
        """
        delayed = self.motors and self.delay is None
        what = unknowns(self.robot, laws, self.links, self.motors, self.sensors, delayed, self.springs, self.anchored)
        with activity(f"identifying {self.robot.name}"):
            equations, others = (
                [Equations(x, what, self.held, self.delay or 0.0) for x in signals]
                for signals in (self.measured, self.smooth)
            )
            start = what.priors if before is None else before.carried(what)
            return Found(fit(equations, others, what, friction_start(equations, start), iterations), equations)


@dataclass(frozen=True, eq=False)
class Found:
    """A fit, and the equations along the measured motion.

    Args:
        fit: The fit.
        equations: Of each recording.
        disagreement: By how much other fits that should agree differ, beyond noise, per parameter.
    """

    fit: Fit
    equations: list[Equations]
    disagreement: FloatArray | float = 0.0

    @cached_property
    def scores(self) -> list[Score]:
        """What the residuals ask for, where they are more than rounding."""
        shares = {i: max(x.share for x in self.tests if x.joint == i) for i in {x.joint for x in self.tests}}
        return [x for x in scores(self.equations, self.fit) if shares.get(x.joint, 1.0) > ROUNDING]

    @cached_property
    def tests(self) -> list[ResidualTest]:
        """Tests of the residuals."""
        found = residual_tests(self.fit.channels) + reversal_tests(self.equations, self.fit)
        return with_shares(found, self.equations, self.fit)

    @property
    def springs(self) -> set[int]:
        """Joints whose stiffness is known."""
        what, deviations = self.equations[0].unknowns.parameters, np.sqrt(np.diag(self.fit.covariance))
        known = self.fit.values > KNOWN * deviations
        return {x.joint for x, there in zip(what, known) if x.kind == "stiffness" and there}

    @property
    def wrong_at_reversals(self) -> set[int]:
        """Joints whose residuals are stronger near reversals."""
        tests = [x for x in self.tests if x.equation == REVERSALS and x.significant]
        return {x.joint for x in tests if x.probability < PROBABILITY}

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
    asking = {x.joint for x in found.scores if x.what.startswith(STRIBECK) and abs(x.deviations) > ASKING}
    return tuple(law.replace("coulomb", "stribeck") if i in asking else law for i, law in enumerate(laws))


def doubtful_joints(found: Found) -> set[int]:
    """Joints whose friction seems to depend on more than the velocity, or whose motor the model explains badly."""
    stuck = {x.joint for x in found.scores if x.what.startswith(STICTION) and abs(x.deviations) > STUCK}
    badly = {x.joint for x in found.tests if x.equation in ("motor", "rigid") and x.probability < DOUBTFUL}
    if found.wrong_at_reversals:  # errors of one joint hide in the residuals those of others, which are built alike
        return {i for i, law in enumerate(found.equations[0].unknowns.friction) if law != "viscous"}
    return stuck | badly


def disagreement(found: Found, other: Found) -> FloatArray:
    """Differences of two fits of the same log, the second one with fewer samples, that noise does not explain."""
    places = {x.name: k for k, x in enumerate(other.equations[0].unknowns.parameters)}
    difference = np.zeros(len(found.fit.values))
    for k, x in enumerate(found.equations[0].unknowns.parameters):
        if (j := places.get(x.name)) is not None and not x.kind.startswith("log"):
            variance = other.fit.covariance[j, j]
            spread = SURE**2 * max(variance - found.fit.covariance[k, k], LEAST * variance)
            d = other.fit.values[j] - found.fit.values[k]
            difference[k] = math.copysign(math.sqrt(max(d * d - spread, 0.0)), d)
    return np.where(np.isfinite(difference), difference, 0.0)


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
