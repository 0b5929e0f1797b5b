"""A trajectory along a time law."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import comb

import numpy as np

from ..errors import InputError
from ..robot import Joint
from ..spatial import total
from ..types import FloatArray
from .base import Composed, Trajectory, a_trajectory, set_fields
from .kinds import MotionTable, kind


@dataclass(frozen=True, eq=False, repr=False)
class Retimed(Composed):
    """The trajectory `path` at the times s(t) of a time law: q(t) = path(s(t)).

    `path.retimed(law)` makes it.  Its smoothness is the smaller one of the two.

    In files: `{kind = "retimed", path = {kind = ..., ...}, law = {kind = ..., ...}}`.

    Args:
        path: the trajectory.
        law: the time law, a trajectory with one column, s in s.

    Raises:
        InputError: `path` or `law` is not a trajectory, or the law has more than one column.

    Example:
        A sinusoid that starts and ends at rest:

        >>> import flexjoint as fj
        >>> swing = fj.trajectory.Sinusoid([0.3], 0.5, duration=6.0)
        >>> swing.retimed(fj.trajectory.RestToRest([0.0], [6.0], duration=7.0))
        Retimed(n=1, 7 s, C^3)
    """

    path: Trajectory
    law: Trajectory

    def __post_init__(self) -> None:
        path, law = a_trajectory("Retimed", self.path), a_trajectory("Retimed", self.law)
        if law.n != 1:
            raise InputError(f"Retimed: the time law has {law.n} joints; it must have one, the time along the path")
        set_fields(self, n=path.n, duration=law.duration, smoothness=min(path.smoothness, law.smoothness))

    def derivatives(self, t: FloatArray, order: int) -> FloatArray:
        s = self.law.derivatives(t, order)[..., 0]
        path = self.path.derivatives(s[0], order)
        stack = [path[0]]
        B = {(0, 0): np.ones_like(s[0])} | {(k, 0): np.zeros_like(s[0]) for k in range(1, order + 1)}
        for k in range(1, order + 1):
            for j in range(1, k + 1):  # Bell polynomials of s', s'', ...
                B[k, j] = total(comb(k - 1, i - 1) * s[i] * B[k - i, j - 1] for i in range(1, k - j + 2))
            stack.append(total(path[j] * B[k, j][..., None] for j in range(1, k + 1)))  # Faà di Bruno [DLMF (1.4.13)]
        return np.stack(stack)

    def remedy(self, order: int) -> str:
        return min(self.path, self.law, key=lambda x: x.smoothness).remedy(order)


@kind("retimed", others=("path", "law"))
def read(table: MotionTable) -> Trajectory:
    """The trajectory and the time law in the tables of a table."""
    from .files import read_table

    path = replace(table.joints, depth=table.joints.depth + 1)
    law = replace(path, joints=[Joint("time", "prismatic")])  # type: ignore[arg-type]
    parts = (("path", path), ("law", law))
    return Retimed(*(read_table(table.table(key), joints, table.folder) for key, joints in parts))
