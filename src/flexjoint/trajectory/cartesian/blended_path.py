"""Paths one after another with rounded corners.

Around a corner both paths give way to the polynomial of degree 2k + 1 that has the same first k derivatives where it
starts, at s = S − r, and where it ends, at s = S + r; S is the path parameter of the corner.  Between two lines with
directions d₁ and d₂ it deviates most from the corner itself, by c r |d₂ − d₁|.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import comb, perm
from typing import NamedTuple

import numpy as np

from ...checks import positive_numbers, whole
from ...errors import InputError
from ...numerics import power
from ...spatial import length, total
from ...types import FloatArray
from ..base import set_fields
from .path import SIZE, CartesianPath, pose_stack

MEETING = 1e-9  # m or rad: paths that end and start farther apart do not meet
MARGIN = 1e-3  # of the deviation: peaks between the samples stay below
SAMPLES = 257
MAX_SMOOTHNESS = 15
LEAST_NORM = 0.3  # of the quaternion in a corner


class Corner(NamedTuple):
    """A rounded corner."""

    at: float  # path parameter S of the corner
    reach: float  # r: it is rounded from S − r to S + r
    control: FloatArray  # (2k + 2, 7), Bernstein coefficients
    deviation: float  # largest distance from the path with the corner, m

    def derivatives(self, s: FloatArray, order: int) -> FloatArray:
        return bernstein(self.control, (s - (self.at - self.reach)) / (2 * self.reach), 2 * self.reach, order)


@dataclass(frozen=True, eq=False, repr=False)
class BlendedPath(CartesianPath):
    """Paths one after another, with rounded corners; `path.then(other, ..., deviation=0.01)` makes it.

    Args:
        pieces: two or more lines and arcs, each starting where the previous one ends.
        deviation: largest distance from the corner, in m: one number, or one per corner.  A corner between short
            paths is rounded less: at most half of each path is replaced.
        smoothness: number of continuous derivatives, at most 15; 4 by default.

    Attributes:
        deviations: (corners,), largest distance between the path with and without rounding, in m.

    Raises:
        InputError: the paths do not meet, or a path cannot be rounded.

    Example:
        >>> import flexjoint as fj
        >>> a, b, c = [0.4, 0.0, 0.5], [0.4, 0.2, 0.5], [0.6, 0.2, 0.5]
        >>> path = fj.trajectory.Line(a, b).then(fj.trajectory.Line(b, c), deviation=0.01)
        >>> path, path.deviations.round(4).tolist()
        (BlendedPath(length 0.4 m, C^4), [0.01])
    """

    pieces: tuple[CartesianPath, ...]
    deviation: float | Sequence[float]
    smoothness: int = 4
    length: float = field(init=False)
    starts: FloatArray = field(init=False)
    signs: FloatArray = field(init=False)  # of the quaternions of the pieces
    corners: tuple[Corner, ...] = field(init=False)

    def __post_init__(self) -> None:
        pieces = tuple(self.pieces)
        if len(pieces) < 2 or not all(isinstance(x, CartesianPath) for x in pieces):
            raise InputError("BlendedPath: pieces must be two or more paths")
        if rough := [x for x in pieces if x.timed or x.smoothness < np.inf]:
            raise InputError(f"BlendedPath: {type(rough[0]).__name__} cannot be rounded: give lines and arcs")
        smoothness = whole("BlendedPath", "smoothness", self.smoothness, least=1, largest=MAX_SMOOTHNESS)
        deviations = positive_numbers("BlendedPath", "deviation", self.deviation, len(pieces) - 1)
        ends = np.cumsum([x.length for x in pieces])
        set_fields(self, pieces=pieces, smoothness=smoothness, length=float(ends[-1]))
        set_fields(self, starts=np.concatenate([[0.0], ends[:-1]]), signs=signs_of(pieces), corners=())
        corners = tuple(self.rounded(i + 1, float(x)) for i, x in enumerate(deviations))
        set_fields(self, corners=corners)

    @property
    def deviations(self) -> FloatArray:
        """Largest distance between the path with and without rounding, per corner, in m."""
        return np.array([corner.deviation for corner in self.corners])

    def derivatives(self, s: FloatArray, order: int) -> FloatArray:
        stack = self.with_corners(s, order)
        for corner in self.corners:
            here = (s >= corner.at - corner.reach) & (s < corner.at + corner.reach)
            stack[:, here] = corner.derivatives(s[here], order)
        return stack

    def with_corners(self, s: FloatArray, order: int) -> FloatArray:
        """The same without rounding."""
        stack = np.empty((order + 1, *s.shape, SIZE))
        which = np.searchsorted(self.starts[1:], s, side="right")
        for i in range(len(self.pieces)):
            here = which == i
            stack[:, here] = self.piece(i, s[here], order)
        return stack

    def piece(self, i: int, s: FloatArray, order: int) -> FloatArray:
        """One of the paths at parameters of the whole."""
        own = self.pieces[i].length
        stack = self.pieces[i].derivatives(np.clip(s - self.starts[i], 0.0, own), order)
        stack[..., 3:] *= self.signs[i]
        return stack

    def rounded(self, i: int, deviation: float) -> Corner:
        """The corner before piece i, rounded as far as the deviation and half of both pieces allow."""
        most = min(self.pieces[i - 1].length, self.pieces[i].length) / 2
        corner = self.corner(i, most)
        low, high = 0.0, most
        if corner.deviation > deviation:
            for _ in range(60):
                corner = self.corner(i, (low + high) / 2)
                low, high = (corner.reach, high) if corner.deviation <= deviation else (low, corner.reach)
            corner = self.corner(i, low)
        norms = length(bernstein(corner.control, np.linspace(0.0, 1.0, SAMPLES), 1.0, 0)[0][:, 3:])
        if np.min(norms) < LEAST_NORM:
            raise InputError(f"BlendedPath: the frame turns too far around corner {i}: give a smaller deviation")
        return corner

    def corner(self, i: int, reach: float) -> Corner:
        """The corner before piece i, rounded within `reach` of it."""
        at, k = float(self.starts[i]), self.smoothness
        before = self.piece(i - 1, np.array(at - reach), k)
        after = self.piece(i, np.array(at + reach), k)
        corner = Corner(at, reach, hermite(before, after, 2 * reach), 0.0)
        s = at + reach * np.linspace(-1.0, 1.0, SAMPLES)
        apart = corner.derivatives(s, 0)[0] - self.with_corners(s, 0)[0]
        return corner._replace(deviation=float(np.max(length(apart[:, :3]))) * (1 + MARGIN))

    def remedy(self, order: int) -> str:
        return f"give smoothness={order - 1} or more"


def signs_of(pieces: tuple[CartesianPath, ...]) -> FloatArray:
    """Signs that make the quaternions continuous from piece to piece.

    Raises:
        InputError: two pieces do not meet.
    """
    signs = [1.0]
    for i, (a, b) in enumerate(pairwise(pieces)):
        last, first = a.derivatives(np.array(a.length), 0)[0], b.derivatives(np.array(0.0), 0)[0]
        gap = float(length(first[:3] - last[:3]))
        turned = float(np.max(np.abs(pose_stack(first[None])[0] - pose_stack(last[None])[0])[:, :3]))
        if gap > MEETING or turned > MEETING:
            what = f"positions are {gap:g} m apart" if gap > MEETING else "orientations differ"
            raise InputError(
                f"BlendedPath: path {i + 1} and path {i + 2} do not meet: the {what}; let each start where the "
                "previous one ends"
            )
        along = total(last[3 + j] * first[3 + j] for j in range(4))
        signs.append(signs[-1] * (1.0 if along > 0 else -1.0))
    return np.array(signs)


def hermite(start: FloatArray, end: FloatArray, span: float) -> FloatArray:
    """Bernstein coefficients (2k + 2, size) of the polynomial with the derivatives `start` (k + 1, size) and `end`."""
    k = len(start) - 1
    degree = 2 * k + 1

    def side(jet: FloatArray, step: float) -> list[FloatArray]:
        scaled = [jet[i] * power(step, i) / perm(degree, i) for i in range(k + 1)]
        return [total(comb(j, i) * scaled[i] for i in range(j + 1)) for j in range(k + 1)]

    return np.array([*side(start, span), *reversed(side(end, -span))])


def bernstein(control: FloatArray, x: FloatArray, span: float, order: int) -> FloatArray:
    """A polynomial in Bernstein form at x in [0, 1] and its derivatives over an interval of length `span`."""
    stack = np.zeros((order + 1, *x.shape, control.shape[1]))
    y = 1.0 - x
    for k in range(min(order, len(control) - 1) + 1):
        degree = len(control) - 1
        terms = (
            comb(degree, i) * (power(x, i) * power(y, degree - i))[..., None] * control[i] for i in range(degree + 1)
        )
        stack[k] = total(terms)
        control = degree * (control[1:] - control[:-1]) / span
    return stack
