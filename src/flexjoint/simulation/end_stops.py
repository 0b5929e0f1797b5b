"""End stops at the position limits of joints: one-sided springs whose damping grows with the depth  [HuntCrossley].

    τ = −k x (1 + c x'),   x > 0 the depth beyond the limit, never pulling

The force begins and ends at zero, so that no step of it disturbs an integrator.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..checks import positive
from ..errors import InputError
from ..robot import Robot
from ..spatial import ca
from ..types import Expression, Scalar


@dataclass(frozen=True)
class EndStops:
    """Mechanical end stops at all position limits of the joints that have any.

    Args:
        stiffness: k, in Nm/rad or N/m.
        damping: c, in s/rad or s/m; by default 0.

    Raises:
        InputError: A number is not positive.

    Example:
        >>> import flexjoint as fj
        >>> fj.simulation.EndStops(stiffness=1e4, damping=0.2)
        EndStops(stiffness=10000.0, damping=0.2)
    """

    stiffness: float
    damping: float = 0.0

    def __post_init__(self) -> None:
        positive("EndStops", "stiffness", self.stiffness)
        if self.damping != 0:
            positive("EndStops", "damping", self.damping)

    def torque(self, robot: Robot, q: Expression, v: Expression) -> Expression:
        """The torque on the links, in SX."""
        torques = []
        for i, joint in enumerate(robot.joints):
            lower, upper = joint.limits.lower, joint.limits.upper
            beyond = ca.fmax(q[i] - upper, 0) if np.isfinite(upper) else 0.0
            below = ca.fmax(lower - q[i], 0) if np.isfinite(lower) else 0.0
            torques.append(self.push(below, -v[i]) - self.push(beyond, v[i]))
        return ca.vertcat(*torques)

    def push(self, depth: Scalar, rate: Scalar) -> Scalar:
        """The torque of one stop against a joint that is so deep in it."""
        return self.stiffness * depth * ca.fmax(1 + self.damping * rate, 0)

    def check(self, robot: Robot) -> None:
        """Refuse a robot without position limits."""
        if not np.any(limited(robot)):
            raise InputError(
                f"EndStops: no joint of '{robot.name}' has position limits; give a joint limits=Limits(...)"
            )


@dataclass(frozen=True)
class AllStopsPressed:
    """All stops at once, felt in both directions at the given positions: the stiffest that a robot can meet."""

    stops: EndStops
    at: tuple[float, ...]

    def torque(self, robot: Robot, q: Expression, v: Expression) -> Expression:
        """The torque on the links, in SX."""
        return ca.vertcat(*[-self.stops.stiffness * x * (q[i] - self.at[i]) for i, x in enumerate(limited(robot))])


def limited(robot: Robot) -> list[float]:
    """1 for each joint with a position limit, else 0."""
    return [float(np.any(np.isfinite((joint.limits.lower, joint.limits.upper)))) for joint in robot.joints]
