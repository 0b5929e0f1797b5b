"""The shortest turn from one orientation to another: a great circle of unit quaternions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ...numerics import atan2
from ...spatial import length, rotation_quaternion
from ...types import FloatArray
from .path import OPPOSITE, circle, multiplied


@dataclass(frozen=True)
class Turn:
    """A rotation at constant angular velocity: Q(s) = first cos(share s) + second sin(share s).

    Args:
        first: unit quaternion at s = 0.
        second: unit quaternion a quarter of the great circle further.
        angle: of the whole turn, in rad.
    """

    first: FloatArray
    second: FloatArray
    angle: float

    @classmethod
    def between(cls, owner: str, start: FloatArray, goal: FloatArray) -> Turn:
        """The shortest turn from one rotation (3, 3) to another."""
        first, last = rotation_quaternion(start), rotation_quaternion(goal)
        relative = multiplied(first * [1.0, -1.0, -1.0, -1.0], last)
        relative = -relative if relative[0] < 0 else relative
        sine = float(length(relative[1:]))
        angle = 2 * float(atan2(sine, relative[0]))
        if angle > np.pi - OPPOSITE:
            raise InputError(
                f"{owner}: the orientations at the ends differ by 180 degrees, so the direction of rotation is "
                "ambiguous: give a pose between them"
            )
        axis = relative[1:] / sine if sine > 0 else np.zeros(3)
        return cls.about(axis, angle, first, own=True)

    @classmethod
    def about(cls, axis: FloatArray, angle: float, first: FloatArray, own: bool = False) -> Turn:
        """The turn about a unit axis, in base coordinates or, if `own`, in those of the turned frame."""
        quarter = np.concatenate([[0.0], axis])
        return cls(first, multiplied(first, quarter) if own else multiplied(quarter, first), angle)

    def derivatives(self, s: FloatArray, whole: float, order: int) -> FloatArray:
        """Quaternions (order + 1, ..., 4) on a path of length `whole`."""
        return circle(s, self.first, self.second, self.angle / (2 * whole), order)
