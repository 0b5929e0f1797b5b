"""Any motion against all limits of joints, motors and springs: `check_feasibility`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..checks import whole
from ..dynamics.along import Motion
from ..html import table
from ..robot import Robot
from ..types import FloatArray
from .base import Trajectory
from .greatest_speed import greatest_speed, static_violations, with_peaks
from .limited_motion import MONOMIALS, SAMPLES, LimitedMotion, limited_motion, sample_grid
from .limits import RMS, Exceeded, Violation, exceeded_values, violation_table, violations_of

NAME = "check_feasibility"


@dataclass(frozen=True, eq=False, repr=False)
class Feasibility:
    """The result of `check_feasibility`.

    Args:
        robot: name of the robot.
        duration: of the motion, in s.
        limits: names of the quantities that the robot limits; others were not checked.
        violations: the exceeded limits, each with a remedy.
    """

    robot: str
    duration: float
    limits: tuple[str, ...]
    violations: tuple[Violation, ...]

    @property
    def feasible(self) -> bool:
        """Whether no limit is exceeded."""
        return not self.violations

    def __repr__(self) -> str:
        count = len(self.violations)
        found = f"{count} limit{'s' * (count != 1)} exceeded" if count else "feasible"
        return f"<Feasibility of {self.duration:g} s of {self.robot}: {found}>"

    def __str__(self) -> str:
        compared = ", ".join(self.limits) or "no limits"
        lines = [f"{x.quantity}: {x}: {x.cure}" for x in self.violations]
        return "\n".join([f"{self!r}; compared: {compared}", *lines])

    def _repr_html_(self) -> str:
        found = violation_table(self.violations)
        return table(found.rows, found.headings, caption=repr(self)[1:-1], numbers=found.numbers)


def check_feasibility(
    robot: Robot,
    trajectory: Trajectory,
    *,
    stiffness: Motion | ArrayLike | None = None,
    wrench: Sequence[float] | None = None,
    samples: int = SAMPLES,
) -> Feasibility:
    """Limits of joints, motors and springs that a motion exceeds, with times and remedies.

    Args:
        robot: the robot with its limits.
        trajectory: motion of the links, smooth enough for the robot, with a finite duration.
        stiffness: of joints of variable stiffness, as in `inverse_dynamics_along`; none by default.
        wrench: constant force, N, and moment, Nm, on the tool in base coordinates, (6,); none by default.
        samples: number of samples before refinement at peaks, odd; 1001 by default.

    Returns:
        Feasibility.

    Raises:
        InputError: the motion is not smooth enough, does not end or does not fit the robot.

    Example:
        >>> import flexjoint as fj
        >>> motion = fj.trajectory.RestToRest([0.0] * 7, [0.5] * 7, duration=0.2)
        >>> fj.trajectory.check_feasibility(fj.load("panda"), motion).violations[0].quantity
        'position'
    """
    motion = limited_motion(NAME, robot, trajectory, stiffness, wrench)
    t = sample_grid(trajectory, whole(NAME, "samples", samples, least=5))
    found = violations(motion, t)
    return Feasibility(robot.name, trajectory.duration, tuple(motion.limited), cured(motion, t, found))


def cured(motion: LimitedMotion, t: FloatArray, found: Sequence[Violation]) -> tuple[Violation, ...]:
    """Violations of a motion, each with what would cure it; t are even times of the motion, (m,)."""
    dynamic = [x for x in found if x.quantity not in ("position", *MONOMIALS)]
    at_rest = {(x.quantity, x.joint): x for x in static_violations(motion, t)} if dynamic else {}
    return tuple(dataclasses.replace(x, cure=cure(motion, t, x, at_rest.get((x.quantity, x.joint)))) for x in found)


def exceeded_along(motion: LimitedMotion, t: FloatArray, values: Mapping[str, FloatArray]) -> Exceeded:
    """Limits that samples of a motion exceed, with cures.

    Args:
        motion: the motion.
        t: times of the samples, (m,), in s.
        values: of the samples, as from `LimitedMotion.compared`.
    """
    found = violations_of(motion.robot, motion.limited, t, values)
    return Exceeded(cured(motion, sample_grid(motion.trajectory, SAMPLES), found), exceeded_values(found, values))


def violations(motion: LimitedMotion, t: FloatArray) -> list[Violation]:
    """Limits that the motion exceeds at even times t or between them; means are taken over the even times."""
    pool, values = with_peaks(motion, t), motion.values(t)
    means = {name: x for name, x in motion.limited.items() if name == RMS}
    others = {name: x for name, x in motion.limited.items() if name != RMS}
    found = violations_of(motion.robot, others, pool, motion.values(pool) if pool.size > t.size else values)
    return [*found, *violations_of(motion.robot, means, t, values)]


def cure(motion: LimitedMotion, t: FloatArray, violation: Violation, at_rest: Violation | None) -> str:
    """What would meet a limit that is exceeded."""
    if math.isinf(violation.value):
        return f"a continuous acceleration: {motion.trajectory.remedy(3)}"
    if text := kinematic_cure(violation):
        return text
    if at_rest is not None:
        return (
            f"another path or load: gravity, springs and the wrench alone take {at_rest.value:.4g} {violation.unit} at "
            "rest"
        )
    s = greatest_speed(alone(motion, violation), t, 1.0).s
    return slower(1 / s) if s else "another path"


def kinematic_cure(violation: Violation) -> str:
    """What would meet a limit of position, velocity, acceleration or jerk; empty for other limits."""
    name, limit = violation.quantity, violation.limit
    if name == "position":
        return f"a range smaller by {violation.excess:.4g} {violation.unit}"
    if not limit:
        return f"a limit above 0 in {violation.key}"
    return slower(abs(violation.value / limit) ** (1 / MONOMIALS[name])) if name in MONOMIALS else ""


def slower(factor: float) -> str:
    """A longer duration, the factor rounded up."""
    digits = 10.0 ** (math.floor(math.log10(factor)) - 4)
    return f"{math.ceil(factor / digits) * digits:.5g} times the duration"


def alone(motion: LimitedMotion, violation: Violation) -> LimitedMotion:
    """The motion with one limit only."""
    quantity = motion.limited[violation.quantity]
    keep = np.array([name == violation.joint for name in motion.robot.motor_names[: len(quantity.upper)]])
    upper = np.where(keep, quantity.upper, math.inf)
    return dataclasses.replace(motion, limited={quantity.name: quantity._replace(lower=-upper, upper=upper)})
