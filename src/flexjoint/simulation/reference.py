"""The reference of a run: a trajectory, or a constant, sampled at any times."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..checks import finite
from ..control.base import Controller
from ..control.surroundings import knows_base
from ..errors import InputError
from ..robot import Robot
from ..trajectory.base import Trajectory, require_smoothness
from ..types import FloatArray


@dataclass(frozen=True)
class Reference:
    """A trajectory or a constant stack; called with times (...,) it returns stacks (..., order + 1, n).

    For a controller that reads it at several `times` after a sample, stacks follow one another: (..., rows, n).
    """

    source: Trajectory | FloatArray
    order: int
    beside: Trajectory | None = None  # further columns
    times: tuple[float, ...] = (0.0,)

    @classmethod
    def of(cls, source: Any, robot: Robot, controller: Any, base: Trajectory | None = None) -> Reference:
        """The argument `reference` of `simulate`, checked; derivatives that are not given are zero.

        Args:
            source: A trajectory, a goal (n,) or a stack (order + 1, n), n the width of the controller's reference.
            robot: The robot that is controlled.
            controller: A controller, or a Python function.
            base: Pose of the base, the last columns for a law that knows it, unless the source has them.
        """
        order, n = reference_size(robot, controller)
        times = getattr(controller, "times", (0.0,))
        if base is not None and knows_base(controller) and width(source) == n - base.n:
            require_smoothness(base, order)
            return replace(cls.checked(source, order, n - base.n), beside=base, times=times)
        return replace(cls.checked(source, order, n), times=times)

    @classmethod
    def checked(cls, source: Any, order: int, n: int) -> Reference:
        """A trajectory, a goal (n,) or a stack (order + 1, n) with n columns."""
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
        """Of a trajectory, in s; a constant has none."""
        return self.source.duration if isinstance(self.source, Trajectory) else None

    def goal(self, t: FloatArray) -> FloatArray:
        """Positions (..., n) at times (...,)."""
        return replace(self, order=0, times=(0.0,))(t)[..., 0, :]

    def __call__(self, t: FloatArray) -> FloatArray:
        if self.times != (0.0,):  # up to the end not beyond it, where samples have no values
            alone, end = replace(self, times=(0.0,)), self.duration or math.inf
            moved = [np.maximum(t + x, 0.0) for x in self.times]
            return np.concatenate([alone(np.where(t <= end, np.minimum(x, end), x)) for x in moved], axis=-2)
        if self.beside is not None:
            parts = (replace(self, beside=None), Reference(self.beside, self.order))
            return np.concatenate([part(t) for part in parts], axis=-1)
        if isinstance(self.source, Trajectory):
            return self.source(t, self.order).transpose(*range(1, t.ndim + 1), 0, -1)
        return np.broadcast_to(self.source, (*t.shape, *self.source.shape)) if t.ndim else self.source


def width(source: Any) -> int:
    """The number of columns of a trajectory, a goal or a stack."""
    return source.n if isinstance(source, Trajectory) else np.shape(source)[-1] if np.ndim(source) else 1


def reference_size(robot: Robot, controller: Any) -> tuple[int, int]:
    """How many derivatives of the reference a controller reads, and how many numbers each has."""
    if isinstance(controller, Controller):
        return controller.order, controller.width
    return getattr(controller, "order", 2), robot.n
