"""Splines through poses: B-splines of position and quaternion, the quaternion divided by its length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from ...errors import InputError
from ...kinematics import Pose
from ...spatial import length, rotation_quaternion
from ...types import FloatArray
from ..base import set_fields
from ..spline import Spline
from .path import OPPOSITE, SIZE, CartesianPath, orientation

LEAST_NORM = 0.3  # of the quaternion between the poses: below it the turn is fast and far from its neighbours
SAMPLES = 16  # per pose, where the norm is looked at


@dataclass(frozen=True, eq=False, repr=False)
class PoseSpline(CartesianPath):
    """A smooth path through poses at given times, at rest at both ends.

    Position and quaternion are splines; the quaternion is normalized.  The path passes through every pose and does not
    depend on the choice of the base or tool frame.

    Args:
        poses: two or more poses, a `Pose` of shape (m,) or a sequence; a pose without orientation keeps the previous
            one.
        times: (m,), times of the poses, increasing from 0, in s; or the duration, a number, divided in proportion to
            the distances between the poses (1 m counts as much as a turn of 120 degrees).
        smoothness: number of continuous derivatives, at most 15; 3 by default, as elastic joints need.

    Raises:
        InputError: poses or times contradict each other, or neighbouring orientations differ by 180 degrees.

    Example:
        >>> import flexjoint as fj
        >>> poses = fj.kinematics.Pose.from_rpy([[0.4, 0.0, 0.5], [0.5, 0.1, 0.4], [0.4, 0.2, 0.5]], [3.14, 0.0, 0.0])
        >>> fj.trajectory.PoseSpline(poses, 2.0)
        PoseSpline(length 2 s, C^3)
    """

    poses: Pose | Sequence[Pose]
    times: ArrayLike
    smoothness: int = 3
    length: float = field(init=False)
    spline: Spline = field(init=False)
    timed: bool = field(init=False, default=True)

    def __post_init__(self) -> None:
        points = rows_of(self.poses)
        try:
            spline = Spline(points, self.times, self.smoothness)  # type: ignore[arg-type]
        except InputError as error:
            raise InputError(str(error).replace("Spline:", "PoseSpline:", 1).replace("points", "poses")) from None
        set_fields(self, smoothness=spline.smoothness, length=spline.duration, spline=spline)
        t = np.linspace(0.0, spline.duration, SAMPLES * len(points) + 1)
        norms = length(spline.derivatives(t, 0)[0][:, 3:])
        if np.min(norms) < LEAST_NORM:
            i = int(np.searchsorted(spline.times, t[np.argmin(norms)]))
            raise InputError(
                f"PoseSpline: poses {max(i, 1)} and {max(i, 1) + 1} differ by too large a rotation for a smooth path: "
                "give a pose between them"
            )

    def derivatives(self, s: FloatArray, order: int) -> FloatArray:
        return self.spline.derivatives(s, order)

    def remedy(self, order: int) -> str:
        return self.spline.remedy(order)


def rows_of(poses: Pose | Sequence[Pose]) -> FloatArray:
    """Positions and quaternions of poses, (m, 7), each quaternion with the sign nearer to the one before."""
    try:
        listed = list(poses)  # type: ignore[arg-type]  # a Pose of many is a sequence
    except TypeError:
        listed = []
    if len(listed) < 2 or any(not isinstance(pose, Pose) or pose.shape for pose in listed):
        raise InputError("PoseSpline: poses must be two or more poses: a Pose of shape (m,), or a list of single poses")
    rows = np.zeros((len(listed), SIZE))
    rotation = None
    for i, pose in enumerate(listed):
        rotation = orientation(pose, rotation)
        Q = rotation_quaternion(rotation)
        along = float(Q[0] * rows[i - 1, 3] + Q[1] * rows[i - 1, 4] + Q[2] * rows[i - 1, 5] + Q[3] * rows[i - 1, 6])
        if i and abs(along) < OPPOSITE / 2:
            raise InputError(
                f"PoseSpline: poses {i} and {i + 1} differ by 180 degrees, so the direction of rotation is ambiguous: "
                "give a pose between them"
            )
        rows[i, :3], rows[i, 3:] = pose.position, -Q if i and along < 0 else Q
    return rows
