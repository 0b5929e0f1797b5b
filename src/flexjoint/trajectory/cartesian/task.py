"""The equations f(q) = X of a frame on a robot: which rows a path prescribes, with derivatives of any order.

Differentiating f(q(s)) = X(s) k times gives J q⁽ᵏ⁾ = X⁽ᵏ⁾ − (f⁽ᵏ⁾ at q⁽ᵏ⁾ = 0): the highest derivative of q enters
linearly, with the same J for every k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...dynamics.recursion.kinematics import jacobian
from ...dynamics.recursion.pose_derivatives import pose_derivatives
from ...errors import InputError, shown
from ...kinematics import Pose
from ...numerics import atan2
from ...robot import Robot
from ...spatial import compose, length, total, transpose
from ...types import FloatArray
from ..base import set_fields

ROWS = {"full": 6, "x": 5, "y": 5, "z": 5, "free": 3}  # by orientation
TRIALS = 12  # random positions at which the directions are found that the frame can move in
DEPENDENT = 1e-9


@dataclass(frozen=True, eq=False)
class Task:
    """What a path prescribes of a robot.

    Args:
        robot: the robot.
        link: name of the link that carries the frame.
        frame: pose of the frame on the link.
        orientation: "full", or "x", "y" or "z": the direction of this axis of the frame only, or "free": the position
            only.
        held: coordinates that stay where they are.
    """

    robot: Robot
    link: str
    frame: Pose
    orientation: str
    held: frozenset[int] = frozenset()
    columns: tuple[int, ...] = field(init=False)  # coordinates that move the link
    directions: FloatArray | None = field(init=False)  # (rows, m), orthonormal; None if all rows are independent

    def __post_init__(self) -> None:
        if self.orientation not in ROWS:
            wanted = ", ".join(map(repr, ROWS))
            raise InputError(f"CartesianMotion: orientation is {shown(self.orientation)}; it must be one of {wanted}")
        path = self.robot.path(self.robot.link_index(self.link))
        moving = {k for i in path if (k := self.robot.coordinates[i]) is not None} - self.held
        set_fields(self, columns=tuple(sorted(moving)), directions=None)
        if moving and self.orientation in ("full", "free"):
            set_fields(self, directions=self.independent_directions())
        if not moving or not self.rows:
            raise InputError(f"CartesianMotion: no joint moves '{self.link}': give another link")
        if self.rows > len(self.columns):
            cure = "hold fewer joints" if self.held else self.lesser or "give another link"
            raise InputError(
                f"CartesianMotion: a path of '{self.link}' prescribes {self.rows} coordinates, but {len(self.columns)} "
                f"joints move it: {cure}"
            )

    @property
    def rows(self) -> int:
        """Number of independent equations."""
        return ROWS[self.orientation] if self.directions is None else self.directions.shape[1]

    @property
    def redundancy(self) -> int:
        """Number of joint coordinates that the path leaves open."""
        return len(self.columns) - self.rows

    @property
    def across(self) -> tuple[int, int]:
        """The two axes behind the one whose direction counts."""
        a = "xyz".index(self.orientation)
        return (a + 1) % 3, (a + 2) % 3

    @property
    def lesser(self) -> str:
        """Advice to prescribe less, as a part of a message."""
        less = {"full": "'z' or 'free'", "free": ""}.get(self.orientation, "'free'")
        return f"give orientation={less}" if less else ""

    def independent_directions(self) -> FloatArray | None:
        """A basis of the directions in which the frame ever moves, (rows, m): those of a planar arm are three."""
        positions = np.random.default_rng(1).uniform(-1.0, 1.0, size=(TRIALS, self.robot.n))
        J = self.all_rows(positions)
        basis: list[FloatArray] = []
        for column in np.moveaxis(J, -1, 1).reshape(-1, J.shape[1]):
            left = column
            for _ in range(2):  # once more for rounding
                for b in basis:
                    left = left - b * float(np.sum(b * left))
            size = float(length(left))
            if size > DEPENDENT * max(1.0, float(length(column))):
                basis.append(left / size)
        return None if len(basis) == J.shape[1] else np.array(basis).reshape(-1, J.shape[1]).T

    def all_rows(self, q: FloatArray, R: FloatArray | None = None) -> FloatArray:
        """Jacobian of the prescribed rows, (..., rows, joints that move the link)."""
        J = jacobian(self.robot, q, link=self.link)[..., list(self.columns)]
        R = self.poses([q])[..., :3] if R is None else R
        linear, angular = J[..., :3, :], J[..., 3:, :]
        if np.any(self.frame.position):
            turned = compose(compose(R, transpose(self.frame.oriented)), self.frame.position[:, None])
            linear = linear + crossed(angular, turned)
        if self.orientation == "free":
            return linear
        if self.orientation == "full":
            return np.concatenate([linear, angular], axis=-2)
        b, c = (R[..., :, i, None] for i in self.across)
        along = [compose(transpose(axis), angular) for axis in (c, -b)]  # of a, bᵀ(ω × a) = cᵀω and cᵀ(ω × a) = −bᵀω
        return np.concatenate([linear, *along], axis=-2)

    def poses(self, stack: Sequence[FloatArray]) -> FloatArray:
        """Highest derivative of the frame's [R p] along a motion [q, q', ...], (..., 3, 4)."""
        found = pose_derivatives(self.robot, *stack, order=len(stack) - 1, link=self.link)[-1]
        R, p = found[..., :3], found[..., 3:]
        return np.concatenate([compose(R, self.frame.oriented), p + compose(R, self.frame.position[:, None])], axis=-1)

    def difference(self, wanted: FloatArray, found: FloatArray, R: FloatArray) -> FloatArray:
        """Right-hand side of the equations, (..., rows): of poses, or of equal derivatives of them."""
        apart = wanted - found
        if self.orientation == "free":
            return apart[..., 3]
        if self.orientation == "full":
            E = compose(apart[..., :3], transpose(R))
            turn = [E[..., 2, 1] - E[..., 1, 2], E[..., 0, 2] - E[..., 2, 0], E[..., 1, 0] - E[..., 0, 1]]
            return np.concatenate([apart[..., 3], np.stack(turn, axis=-1) / 2], axis=-1)
        axis = apart[..., :, "xyz".index(self.orientation), None]
        along = compose(transpose(R[..., :, list(self.across)]), axis)[..., 0]
        return np.concatenate([apart[..., 3], along], axis=-1)

    def independent(self, rows: FloatArray) -> FloatArray:
        """Equations (..., rows, k) reduced to independent ones, (..., m, k)."""
        return rows if self.directions is None else compose(self.directions.T, rows)

    def errors(self, wanted: FloatArray, found: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Distance in m and angle in rad, (...), between prescribed poses [R p] and others."""
        rows = self.difference(wanted, found, found[..., :3])
        if self.orientation == "free":
            return length(rows), np.zeros(rows.shape[:-1])
        sine = length(rows[..., 3:])
        if self.orientation == "full":
            cosine = (total(wanted[..., i, j] * found[..., i, j] for i in range(3) for j in range(3)) - 1.0) / 2.0
        else:
            axis = "xyz".index(self.orientation)
            cosine = total(wanted[..., i, axis] * found[..., i, axis] for i in range(3))
        return length(rows[..., :3]), np.asarray(atan2(sine, cosine))


def crossed(a: FloatArray, b: FloatArray) -> FloatArray:
    """a × b of columns (..., 3, k) and (..., 3, 1)."""
    return a[..., [1, 2, 0], :] * b[..., [2, 0, 1], :] - a[..., [2, 0, 1], :] * b[..., [1, 2, 0], :]
