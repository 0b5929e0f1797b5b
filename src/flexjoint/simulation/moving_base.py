"""The moving base of a run: a trajectory of its pose, sampled where the integrator evaluates accelerations.

A step of every integrator evaluates at its beginning, middle and end, so a period of several steps takes 2 substeps + 1
samples, nine numbers each: ω₀, ω₀' and a₀ along the axes of the base.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dynamics.loads import BaseMotion
from ..dynamics.moving_base import POSE, base_motion
from ..errors import InputError, shown
from ..robot import Robot
from ..trajectory.base import Trajectory, require_smoothness
from ..types import Expression, FloatArray

NUMBERS = 9  # of a sample
BASE_POSE = "base"  # the name of the poses in `Simulation.more`


@dataclass(frozen=True)
class MovingBase:
    """The pose of the base over time, and the robot on it."""

    robot: Robot
    pose: Trajectory

    @classmethod
    def of(cls, robot: Robot, base: Any, free: Sequence[str]) -> MovingBase | None:
        """The argument `base` of `simulate`, checked."""
        if base is None:
            return None
        if not isinstance(base, Trajectory):
            raise InputError(f"simulate: base is {shown(base)}; give a Trajectory of {', '.join(POSE)}, in m and rad")
        if base.n != len(POSE):
            raise InputError(f"simulate: base has {base.n} columns; it must have {len(POSE)}: {', '.join(POSE)}")
        require_smoothness(base, 2)
        if any(path.startswith("gravity") for path in free):
            raise InputError("simulate: gravity cannot be free on a moving base; use robot.with_gravity(...)")
        return cls(robot, base)

    def samples(self, t: FloatArray) -> FloatArray:
        """ω₀, ω₀' and a₀ at times (...,), (..., 9)."""
        found = base_motion(self.robot, *self.pose(t, 2))
        return np.concatenate([*found.angular_velocity, *found.acceleration], axis=-1)

    def poses(self, t: FloatArray) -> FloatArray:
        """Position, roll, pitch and yaw at times (m,), (m, 6)."""
        return np.asarray(self.pose(t, 0)[0])


def sample_count(substeps: int) -> int:
    """How many samples a period takes."""
    return 2 * substeps + 1


def sample_times(times: FloatArray, period: float, substeps: int) -> FloatArray:
    """The times of the samples of periods that begin at times (m,), (m, 2 substeps + 1)."""
    return times[:, None] + period * (np.arange(sample_count(substeps)) / (2 * substeps))


def sampled_motion(sample: Expression) -> BaseMotion:
    """The motion of the base from a sample, in SX."""
    return BaseMotion([sample[:3], sample[3:6]], [sample[6:]])
