"""Circular arcs, about an axis or through a point."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...checks import finite, number
from ...errors import InputError
from ...kinematics import Pose
from ...numerics import atan2
from ...spatial import length, rotation_quaternion, unit_vector
from ...types import FloatArray
from ..base import set_fields
from .path import SHORTEST, SIZE, CartesianPath, circle, orientation, single_pose
from .turn import Turn

COLLINEAR = 1e-7  # of the distances: points closer to a straight line have no circle through them


@dataclass(frozen=True, eq=False, repr=False)
class Arc(CartesianPath):
    """A circular arc about an axis; `Arc.through` makes one through three points.

    Args:
        start: first pose: a `Pose`, what `forward_kinematics` returns, or a position (3,), in m.
        centre: (3,), a point on the axis, in m.
        axis: (3,), direction of the axis, of any length.
        angle: angle of the arc about the axis, in rad; negative in the opposite direction, above 2π more than a circle.
        rotation: (3, 3), orientation at the end, reached by the smallest rotation; by default that of the start is
            kept.
        turning: whether the frame turns with the arc, instead of `rotation`; False by default.

    Raises:
        InputError: the arc has no length, radius or axis, or both `rotation` and `turning` are given.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> fj.trajectory.Arc([0.5, 0.0, 0.4], centre=[0.4, 0.0, 0.4], axis=[0.0, 0.0, 1.0], angle=np.pi)
        Arc(length 0.314159 m, C^inf)
    """

    start: Pose
    centre: FloatArray
    axis: FloatArray
    angle: float
    rotation: FloatArray | None = None
    turning: bool = False
    length: float = field(init=False)
    smoothness: float = field(init=False, default=np.inf)
    turn: Turn = field(init=False)
    middle: FloatArray = field(init=False)  # of the circle
    arms: tuple[FloatArray, FloatArray] = field(init=False)  # from the middle to the start, and a quarter turn further

    def __post_init__(self) -> None:
        start = single_pose("Arc", "start", self.start)
        angle = number("Arc", "angle", self.angle, "a finite number of rad")
        point, axis = vector("centre", self.centre), vector("axis", self.axis)
        if not np.any(axis):
            raise InputError("Arc: axis is zero and has no direction: give [0, 0, 1] for an arc about z")
        axis = unit_vector(axis)
        arm = start.position - point
        arm = arm - axis * dot(arm, axis)
        radius = float(length(arm))
        if radius < SHORTEST:
            raise InputError(
                f"Arc: the start {start.position.tolist()} lies on the axis, so the radius is 0: move `centre`, or "
                "use a Line to turn in place"
            )
        if abs(angle) * radius < SHORTEST:
            raise InputError(f"Arc: it has no length: angle is {angle:g} rad, the radius {radius:g} m")
        first = orientation(start)
        if self.turning and self.rotation is not None:
            raise InputError("Arc: give `rotation` or `turning=True`, not both")
        if self.turning:
            turn = Turn.about(axis * math.copysign(1.0, angle), abs(angle), rotation_quaternion(first))
        else:
            last = first if self.rotation is None else Pose(start.position, self.rotation).oriented
            turn = Turn.between("Arc", first, last)
        set_fields(self, start=start, angle=angle, length=radius * abs(angle), turn=turn, middle=start.position - arm)
        set_fields(self, centre=point, axis=axis, arms=(arm, cross(axis, arm)))

    @classmethod
    def through(cls, start: Any, via: ArrayLike, goal: Any, turning: bool = False) -> Arc:
        """The arc from one pose through a point to another pose.

        Args:
            start: first pose.
            via: (3,), a point on the arc, in m.
            goal: last pose; without orientation that of the first pose is kept.
            turning: whether the frame turns with the arc, whatever the orientation of `goal`; False by default.

        Raises:
            InputError: two of the points are equal, or all lie on a straight line.
        """
        start, goal = single_pose("Arc", "start", start), single_pose("Arc", "goal", goal)
        a, c = start.position, goal.position
        b = vector("via", via)
        pairs = {"the start and `via`": b - a, "`via` and the goal": c - b, "the start and the goal": c - a}
        for which, way in pairs.items():
            if length(way) < SHORTEST:
                full = "; for a full circle give centre, axis and angle" if which == "the start and the goal" else ""
                raise InputError(f"Arc: {which} are the same point, {c.tolist()}: an arc needs three{full}")
        normal = cross(b - a, c - b)
        if length(normal) < COLLINEAR * length(b - a) * length(c - b):
            raise InputError(
                f"Arc: the start {a.tolist()}, via {b.tolist()} and the goal {c.tolist()} lie on a straight line: move "
                "`via`, or use a Line"
            )
        u, v = b - a, c - a
        area = cross(u, v)
        centre = a + cross(dot(u, u) * v - dot(v, v) * u, area) / (2 * dot(area, area))
        axis = unit_vector(normal)
        arm, last = a - centre, c - centre
        angle = atan2(dot(cross(arm, last), axis), dot(arm, last))
        angle = float(angle if angle > 0 else angle + 2 * math.pi)
        return cls(start, centre, axis, angle, None if turning else goal.rotation, turning)

    def derivatives(self, s: FloatArray, order: int) -> FloatArray:
        stack = np.empty((order + 1, *s.shape, SIZE))
        stack[..., :3] = circle(s, *self.arms, self.angle / self.length, order)
        stack[0, ..., :3] += self.middle
        stack[..., 3:] = self.turn.derivatives(s, self.length, order)
        return stack

    def remedy(self, order: int) -> str:
        return "nothing, all derivatives are continuous"


def vector(what: str, value: Any) -> FloatArray:
    """Three finite numbers."""
    array = finite("Arc", what, value)
    if array.shape != (3,):
        raise InputError(f"Arc: {what} has shape {array.shape}; it must be (3,)")
    return array


def dot(a: FloatArray, b: FloatArray) -> float:
    """aᵀb of vectors (3,)."""
    return float(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])


def cross(a: FloatArray, b: FloatArray) -> FloatArray:
    """a × b of vectors (3,)."""
    return a[[1, 2, 0]] * b[[2, 0, 1]] - a[[2, 0, 1]] * b[[1, 2, 0]]
