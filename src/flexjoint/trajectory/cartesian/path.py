"""What every Cartesian path is: position and orientation of a frame as functions of a path parameter s.

The orientation is a curve Q(s) of quaternions of any length but zero, R(s) = R(Q/|Q|).  A curve in R⁴ with k continuous
derivatives that avoids zero gives a rotation with k continuous derivatives, so lines, circles, polynomials and
splines in R⁴ are paths of rotations.  Multiplication by a unit quaternion is a rotation of R⁴: what is made of linear
combinations does not depend on the choice of the base frame or the tool frame.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from ...checks import finite, whole
from ...errors import InputError
from ...kinematics import Pose
from ...kinematics.target import as_pose
from ...numerics import sin_cos
from ...spatial import compose, total
from ...types import FloatArray
from ..base import MAX_ORDER

if TYPE_CHECKING:
    from .blended_path import BlendedPath

SHORTEST = 1e-9  # m or rad: a shorter path has no direction
OPPOSITE = 1e-6  # rad: a turn this close to 180 degrees could go either way round
SIZE = 7  # numbers of a point: position and quaternion


class CartesianPath(ABC):
    """A path of a frame in space: the base class of all Cartesian paths.

    Attributes:
        length: largest path parameter s: the arc length, in m; in rad where the position does not change, in s if
            `timed`.
        smoothness: number of continuous derivatives with respect to s; infinite for a line or an arc.
        timed: whether s is a time, so that the path has its own speed; False by default.
    """

    length: float
    smoothness: float
    timed: bool = False

    @abstractmethod
    def derivatives(self, s: FloatArray, order: int) -> FloatArray:
        """Position and quaternion (w, x, y, z), of any length, with derivatives: (order + 1, ..., 7)."""

    @abstractmethod
    def remedy(self, order: int) -> str:
        """What to change for `order` bounded derivatives, as the end of a message."""

    def __call__(self, s: ArrayLike, order: int = 0) -> FloatArray:
        """Poses and their derivatives with respect to s.

        Args:
            s: path parameters of any shape, from 0 to `length`.
            order: largest derivative; 0 by default.

        Returns:
            Array (order + 1, *shape of s, 3, 4): [R p], rotation matrix and position in m, and their derivatives.

        Raises:
            InputError: s lies outside the path.
        """
        name = type(self).__name__
        given = finite(name, "s", s)
        if np.any((given < 0) | (given > self.length)):
            raise InputError(f"{name}: s must lie between 0 and {self.length:g}, the length of the path")
        return pose_stack(self.derivatives(given, whole(name, "order", order, largest=MAX_ORDER)))

    def pose(self, s: ArrayLike) -> Pose:
        """The poses at path parameters s."""
        found = self(s)[0]
        return Pose(found[..., 3], found[..., :3])

    @property
    def first_pose(self) -> Pose:
        """Where the path starts."""
        return self.pose(0.0)

    @property
    def last_pose(self) -> Pose:
        """Where the path ends."""
        return self.pose(self.length)

    def then(self, *others: CartesianPath, deviation: float) -> BlendedPath:
        """This path, then others, with corners rounded by at most `deviation`, in m."""
        from .blended_path import BlendedPath

        return BlendedPath((self, *others), deviation)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(length {self.length:g} {'s' if self.timed else 'm'}, C^{self.smoothness:g})"


def pose_stack(points: FloatArray) -> FloatArray:
    """[R p] (order + 1, ..., 3, 4) of positions and quaternions (order + 1, ..., 7), with derivatives.

    R = M(Q)/|Q|², M quadratic in Q: M by Leibniz' rule, then R⁽ᵏ⁾ = (M⁽ᵏ⁾ − Σ_l C(k, l) (|Q|²)⁽ˡ⁾ R⁽ᵏ⁻ˡ⁾) / |Q|².
    """
    order = len(points) - 1
    Q = points[..., 3:]
    found = np.empty((*points.shape[:-1], 3, 4))
    found[..., 3] = points[..., :3]
    squares = []
    for k in range(order + 1):
        pairs = [comb(k, l) * Q[l][..., :, None] * Q[k - l][..., None, :] for l in range(k + 1)]
        P = total(pairs)  # of the products of the elements of Q
        squares.append(P[..., 0, 0] + P[..., 1, 1] + P[..., 2, 2] + P[..., 3, 3])
        R = quadratic(P)
        for l in range(1, k + 1):
            R = R - comb(k, l) * squares[l][..., None, None] * found[k - l][..., :3]
        found[k][..., :3] = R / squares[0][..., None, None]
    return found


def quadratic(P: FloatArray) -> FloatArray:
    """|Q|² R from the products P = QQᵀ (..., 4, 4) of a quaternion's elements; linear in P."""
    ww, xx, yy, zz = (P[..., i, i] for i in range(4))
    wx, wy, wz = (P[..., 0, i] + P[..., i, 0] for i in (1, 2, 3))
    xy, xz, yz = (P[..., i, j] + P[..., j, i] for i, j in ((1, 2), (1, 3), (2, 3)))
    rows = [
        [ww + xx - yy - zz, xy - wz, xz + wy],
        [xy + wz, ww - xx + yy - zz, yz - wx],
        [xz - wy, yz + wx, ww - xx - yy + zz],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def circle(s: FloatArray, u: FloatArray, v: FloatArray, rate: float, order: int) -> FloatArray:
    """u cos(rate s) + v sin(rate s) with derivatives, (order + 1, ..., size of u)."""
    sine, cosine = (x[..., None] for x in sin_cos(rate * s))
    forms = [u * cosine + v * sine, v * cosine - u * sine]  # each the derivative of the one before, up to the sign
    stack, factor = [], 1.0
    for k in range(order + 1):
        stack.append((factor if k % 4 < 2 else -factor) * forms[k % 2])
        factor *= rate
    return np.stack(stack)


def multiplied(a: FloatArray, b: FloatArray) -> FloatArray:
    """The product of two quaternions (4,)."""
    return compose(left_factor(a), b[:, None])[:, 0]


def left_factor(a: FloatArray) -> FloatArray:
    """The matrix (4, 4) that multiplies a quaternion by `a` from the left."""
    w, x, y, z = a
    return np.array([[w, -x, -y, -z], [x, w, -z, y], [y, z, w, -x], [z, -y, x, w]])


# Checks of what a path is made of; `owner` begins every message -----------------------------------------------------


def single_pose(owner: str, what: str, value: object) -> Pose:
    """An argument that must be one pose: a Pose, what `forward_kinematics` returns, or a position."""
    pose = as_pose(f"{owner}: {what}", value)
    if pose.shape:
        raise InputError(f"{owner}: {what} holds {pose.shape[0]} poses; give one")
    return pose


def orientation(pose: Pose, otherwise: FloatArray | None = None) -> FloatArray:
    """Rotation (3, 3) of a pose; where it is open, another one, or none at all."""
    if pose.rotation is not None:
        return pose.rotation
    return np.eye(3) if otherwise is None else otherwise
