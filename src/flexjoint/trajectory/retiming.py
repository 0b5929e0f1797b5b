"""Motions made of other motions: slower or faster, along a time law, one after another."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from math import comb

import numpy as np

from ..checks import positive, seconds
from ..errors import InputError
from ..numerics import power
from ..spatial import total
from .base import Trajectory, a_trajectory, empty_stack, set_fields

MATCH = 1e-9  # of its largest value: derivatives that differ by less at a joint count as continuous
MAX_MATCH = 20  # so many derivatives are compared


@dataclass(frozen=True, eq=False)
class Scaled(Trajectory):
    """`path` at t / factor: the same positions, `factor` times as long."""

    path: Trajectory
    factor: float
    n: int = field(init=False)
    duration: float = field(init=False)
    smoothness: float = field(init=False)

    def __post_init__(self) -> None:
        path, factor = a_trajectory("Scaled", self.path), positive("Scaled", "factor", self.factor)
        duration = seconds("Scaled", "duration", path.duration * factor)
        set_fields(self, factor=factor, n=path.n, duration=duration, smoothness=path.smoothness)

    def derivatives(self, t: np.ndarray, order: int) -> np.ndarray:
        s = np.where(t == self.duration, self.path.duration, t / self.factor)
        stack = self.path.derivatives(s, order)
        for k in range(1, order + 1):
            stack[k] /= power(self.factor, k)
        return stack

    def remedy(self, order: int) -> str:
        return self.path.remedy(order)


@dataclass(frozen=True, eq=False)
class Retimed(Trajectory):
    """`path` at the times s(t) that `law`, a trajectory of one joint, prescribes: q(t) = path(s(t)).

    For example `sinusoid.retimed(fj.RestToRest([0.0], [sinusoid.duration], 5.0))` begins and ends at rest.  The
    smoothness is the lesser of the two.
    """

    path: Trajectory
    law: Trajectory
    n: int = field(init=False)
    duration: float = field(init=False)
    smoothness: float = field(init=False)

    def __post_init__(self) -> None:
        path, law = a_trajectory("Retimed", self.path), a_trajectory("Retimed", self.law)
        if law.n != 1:
            raise InputError(f"Retimed: the time law has {law.n} joints; it must have one, the time along the path")
        set_fields(self, n=path.n, duration=law.duration, smoothness=min(path.smoothness, law.smoothness))

    def derivatives(self, t: np.ndarray, order: int) -> np.ndarray:
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


@dataclass(frozen=True, eq=False)
class Joined(Trajectory):
    """Trajectories one after another, each beginning where the one before ends.

    A derivative is continuous at a joint if it differs by less than 1e-9 of its largest value; positions must be.
    """

    pieces: tuple[Trajectory, ...]
    n: int = field(init=False)
    duration: float = field(init=False)
    smoothness: float = field(init=False)
    starts: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        pieces = tuple(a_trajectory("Joined", x) for x in self.pieces)
        if not pieces or len({x.n for x in pieces}) > 1:
            raise InputError(
                f"Joined: trajectories of {[x.n for x in pieces]} joints; give one or more, all of the same"
            )
        ends = np.cumsum([x.duration for x in pieces])
        inside = min(x.smoothness for x in pieces)
        smoothness = min([inside, *(continuity(a, b, i) for i, (a, b) in enumerate(pairwise(pieces)))])
        starts = np.concatenate([[0.0], ends[:-1]])
        set_fields(self, pieces=pieces, n=pieces[0].n, duration=float(ends[-1]), smoothness=smoothness, starts=starts)

    def derivatives(self, t: np.ndarray, order: int) -> np.ndarray:
        stack = empty_stack(order, t.shape, self.n)
        which = np.searchsorted(self.starts[1:], t, side="right")
        for i, (piece, start) in enumerate(zip(self.pieces, self.starts)):
            here = which == i
            s = t[here] - start
            last = i == len(self.pieces) - 1  # the last one goes on beyond its end
            s = np.where(t[here] == self.duration, piece.duration, s) if last else np.minimum(s, piece.duration)
            stack[:, here] = piece.derivatives(s, order)
        return stack

    def remedy(self, order: int) -> str:
        rough = min(self.pieces, key=lambda x: x.smoothness)
        if rough.smoothness < order - 1:
            return f"{type(rough).__name__}: {rough.remedy(order)}"
        return f"let {order - 1} derivatives agree where the pieces meet, for example at rest"


def continuity(a: Trajectory, b: Trajectory, i: int) -> int:
    """How many derivatives pass from the end of `a` to the beginning of `b` without a jump."""
    order = int(min(a.smoothness, b.smoothness, MAX_MATCH))
    inside = np.linspace(0.0, 1.0, 65)
    largest = [np.abs(x(x.duration * inside, order)).max(axis=(1, 2), initial=0.0) for x in (a, b)]
    before, after = a(a.duration, order), b(0.0, order)
    jump = np.abs(after - before).max(axis=1, initial=0.0) > MATCH * np.maximum(*largest)
    if jump[0]:
        j = int(np.argmax(np.abs(after[0] - before[0])))
        raise InputError(
            f"Joined: joint {j + 1} is at {before[0, j]} at the end of trajectory {i + 1} and at {after[0, j]} at the "
            f"beginning of the next; let each begin where the one before ends"
        )
    return int(np.argmax(jump)) - 1 if np.any(jump) else order
