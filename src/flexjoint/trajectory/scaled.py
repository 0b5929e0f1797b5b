"""A trajectory slowed down or sped up."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..checks import positive, seconds
from ..numerics import power
from ..types import FloatArray
from .base import Composed, Trajectory, a_trajectory, set_fields


@dataclass(frozen=True, eq=False, repr=False)
class Scaled(Composed):
    """The trajectory `path` at the times t/factor: the same positions, `factor` times as long.

    `path.scaled(factor)` and `path.lasting(duration)` make it.

    Args:
        path: the trajectory.
        factor: positive; derivative k is divided by factorᵏ.

    Raises:
        InputError: `path` is not a trajectory, or the factor is not positive.

    Example:
        >>> import flexjoint as fj
        >>> fj.trajectory.RestToRest([0.0], [1.0], duration=2.0).scaled(1.5)
        Scaled(n=1, 3 s, C^3)
    """

    path: Trajectory
    factor: float

    def __post_init__(self) -> None:
        path, factor = a_trajectory("Scaled", self.path), positive("Scaled", "factor", self.factor)
        duration = seconds("Scaled", "duration", path.duration * factor)
        set_fields(self, factor=factor, n=path.n, duration=duration, smoothness=path.smoothness)

    def derivatives(self, t: FloatArray, order: int) -> FloatArray:
        s = np.where(t == self.duration, self.path.duration, t / self.factor)
        stack = self.path.derivatives(s, order)
        for k in range(1, order + 1):
            stack[k] /= power(self.factor, k)
        return stack

    def remedy(self, order: int) -> str:
        return self.path.remedy(order)
