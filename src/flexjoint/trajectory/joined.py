"""Trajectories one after another."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from ..errors import InputError
from ..file_limits import spend
from ..types import FloatArray
from .base import Composed, Trajectory, a_trajectory, empty_stack, set_fields
from .kinds import KINDS, MotionTable, kind

MATCH = 1e-9  # relative to the largest value: a derivative that jumps by less counts as continuous
MAX_MATCH = 20  # largest order of derivatives that are compared
TRIAL_TIMES = np.linspace(0.0, 1.0, 65)  # relative to the duration: where the largest values are looked for


@dataclass(frozen=True, eq=False, repr=False)
class Joined(Composed):
    """Trajectories one after another, each starting where the previous one ends.

    `first.then(second, ...)` makes it.  Its smoothness is the number of derivatives that are continuous inside the
    pieces and where they meet; a jump of less than 1e-9 of the largest value counts as continuous.

    In files: `{kind = "joined", pieces = [{kind = ...}, ...]}`.

    Args:
        pieces: the trajectories, all with the same number of columns.

    Raises:
        InputError: the trajectories have different numbers of columns, or the position jumps between two of them.

    Example:
        >>> import flexjoint as fj
        >>> there, back = fj.trajectory.RestToRest([0.0], [1.0], 2.0), fj.trajectory.RestToRest([1.0], [0.5], 1.0)
        >>> there.then(back)
        Joined(n=1, 3 s, C^3)
    """

    pieces: tuple[Trajectory, ...]
    starts: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        pieces = tuple(a_trajectory("Joined", x) for x in self.pieces)
        if not pieces or len({x.n for x in pieces}) > 1:
            raise InputError(
                f"Joined: trajectories of {[x.n for x in pieces]} joints; give one or more with the same number"
            )
        ends = np.cumsum([x.duration for x in pieces])
        inside = min(x.smoothness for x in pieces)
        smoothness = min([inside, *(continuity(a, b, i) for i, (a, b) in enumerate(pairwise(pieces)))])
        starts = np.concatenate([[0.0], ends[:-1]])
        set_fields(self, pieces=pieces, n=pieces[0].n, duration=float(ends[-1]), smoothness=smoothness, starts=starts)

    def derivatives(self, t: FloatArray, order: int) -> FloatArray:
        stack = empty_stack(order, t.shape, self.n)
        which = np.searchsorted(self.starts[1:], t, side="right")
        for i, (piece, start) in enumerate(zip(self.pieces, self.starts)):
            here = which == i
            s = t[here] - start
            last = i == len(self.pieces) - 1  # it continues beyond its end
            s = np.where(t[here] == self.duration, piece.duration, s) if last else np.minimum(s, piece.duration)
            stack[:, here] = piece.derivatives(s, order)
        return stack

    def remedy(self, order: int) -> str:
        rough = min(self.pieces, key=lambda x: x.smoothness)
        if rough.smoothness < order - 1:
            return f"{type(rough).__name__}: {rough.remedy(order)}"
        return f"match {order - 1} derivatives where the pieces meet, for example at rest"


def continuity(a: Trajectory, b: Trajectory, i: int) -> int:
    """Number of derivatives that do not jump from the end of `a`, piece i, to the start of `b`."""
    order = int(min(a.smoothness, b.smoothness, MAX_MATCH))
    largest = [np.abs(x(x.duration * TRIAL_TIMES, order)).max(axis=(1, 2), initial=0.0) for x in (a, b)]
    before, after = a(a.duration, order), b(0.0, order)
    jump = np.abs(after - before).max(axis=1, initial=0.0) > MATCH * np.maximum(*largest)
    if jump[0]:
        j = int(np.argmax(np.abs(after[0] - before[0])))
        raise InputError(
            f"Joined: joint {j + 1} is at {before[0, j]} at the end of trajectory {i + 1} and at {after[0, j]} at the "
            f"start of the next; let each start where the previous one ends"
        )
    return int(np.argmax(jump)) - 1 if np.any(jump) else order


@kind("joined", others=("pieces",))
def read(table: MotionTable) -> Trajectory:
    """The pieces in a table of a file, each with a kind of its own."""
    tables = table.tables("pieces")
    spend("motions", len(tables), table.place)
    pieces = []
    for k, data in enumerate(tables, start=1):
        piece = replace(table, data=data, place=f"{table.place}: piece {k}")
        of_kind = KINDS[piece.choice("kind", sorted(set(KINDS) - {"joined"}))]
        piece.allow(of_kind.all_keys(degrees=not table.joints.stiffnesses))
        pieces.append(of_kind.read(piece))
    return Joined(tuple(pieces))
