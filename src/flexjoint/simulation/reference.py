"""What a controller shall follow, sampled: a trajectory, or something that does not change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import finite
from ..errors import InputError
from ..trajectory.base import Trajectory, require_smoothness


@dataclass(frozen=True)
class Reference:
    """Called with times (...,), it gives stacks (..., order + 1, n)."""

    source: Trajectory | np.ndarray
    order: int

    @classmethod
    def of(cls, source: Any, order: int, n: int) -> Reference:
        """Of a trajectory, a goal (n,) or a stack (order + 1, n); derivatives that are not given are zero.

        n is the width of the reference, the number of joints in most laws.
        """
        if isinstance(source, Trajectory):
            if source.n != n:
                raise InputError(f"simulate: the trajectory moves {source.n} joints, the controller follows {n}")
            require_smoothness(source, order)
            return cls(source, order)
        given = np.atleast_2d(finite("simulate", "reference", source))
        if given.ndim != 2 or given.shape[1] != n:
            raise InputError(
                f"simulate: reference has shape {np.shape(source)}; it must be a Trajectory, a goal ({n},) or a stack "
                f"({order + 1}, {n})"
            )
        stack = np.zeros((order + 1, n))
        stack[: len(given)] = given[: order + 1]
        return cls(stack, order)

    @property
    def duration(self) -> float | None:
        return self.source.duration if isinstance(self.source, Trajectory) else None

    def __call__(self, t: np.ndarray) -> np.ndarray:
        if isinstance(self.source, Trajectory):
            return self.source(t, self.order).transpose(*range(1, t.ndim + 1), 0, -1)
        return np.broadcast_to(self.source, (*t.shape, *self.source.shape)) if t.ndim else self.source
