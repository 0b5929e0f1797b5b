"""The greatest speed s at which all shares of limits are at most 1 in size: by roots, or by subdivision.

The feasible speeds may be several intervals: where gravity alone exceeds a torque limit, only a fast motion may be
feasible.  So no bisection from one end finds the greatest one.

With polynomials, cuts: of all speeds up to s that a few polynomials allow, the greatest is a root of one of them; where
another polynomial forbids it, that one joins them.  Each step keeps the answer below s, so the last s is the greatest
feasible speed.  With other functions, subdivision: an interval is left out if one function is beyond the same limit at
both its ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ..types import FloatArray
from .scaled_limits import Ratios, horner

MARGIN = 1e-12  # relative to a limit: rounding of a root
ROUNDED = 1e-14  # relative to the terms of a polynomial: rounding of its value
ROUNDING = 1e-15  # share of the largest coefficient below which one is rounding
NEARLY_REAL = 1e-6  # relative imaginary part of what may be a double root
HIGHEST = 1e6  # times the given speed: beyond it no limit bounds the motion
CELLS = 1.04  # ratio of neighbouring speeds of the first subdivision
DECADES = 5
WIDTH = 1e-11  # relative width at which subdivision ends


class RootSearch:
    """The search with polynomials; it may go on with more of them.

    Args:
        most: largest x that counts.
    """

    def __init__(self, most: float) -> None:
        self.x = most
        self.chosen: list[FloatArray] = []
        self.places: set[tuple[int, int, int]] = set()  # group, sample and column of those chosen
        self.breaks: list[float] = []

    def advance(self, groups: Sequence[Ratios]) -> float | None:
        """The greatest feasible x, at most the last one; None if there is none."""
        while worst := self.worst(groups):
            self.chosen += worst
            self.breaks += breakpoints(worst, self.x)
            candidates = np.unique([x for x in (*self.breaks, self.x) if x <= self.x])
            length = max(map(len, self.chosen))
            stacked = np.array([np.pad(p, (0, length - len(p))) for p in self.chosen])
            shares = np.abs(horner(stacked.T[:, :, None], candidates))
            rounding = MARGIN + ROUNDED * horner(np.abs(stacked.T)[:, :, None], candidates)
            allowed = candidates[np.all(shares <= 1 + rounding, axis=0)]
            if not allowed.size:
                return None
            self.x = float(allowed[-1])
        return self.x

    def worst(self, groups: Sequence[Ratios]) -> list[FloatArray]:
        """The polynomial of each group that is farthest beyond its limit at x."""
        found = []
        for g, group in enumerate(groups):
            size = np.abs(group.at(self.x))
            for place in [x for x in self.places if x[0] == g]:
                size[place[1:]] = 0.0
            k, i = divmod(int(size.argmax()), size.shape[1])
            if size[k, i] > 1 + MARGIN:
                self.places.add((g, k, i))
                found.append(group.coefficients[:, k, i])
        return found


def breakpoints(polynomials: Iterable[FloatArray], most: float) -> list[float]:
    """Where polynomials cross 1 or −1 in (0, most]."""
    found: list[float] = []
    for p in polynomials:
        for level in (1.0, -1.0):
            c: FloatArray = p.copy()
            c[0] -= level
            reach = min(most, root_bound(c))
            found += [float(y * reach) for y in roots_up_to_one(c * reach ** np.arange(len(c))) if y * reach <= most]
    return found


def root_bound(c: FloatArray) -> float:
    """A bound of the size of all roots (Fujiwara's); 0 if there are none."""
    used = np.flatnonzero(c)
    if not used.size or not used[-1]:
        return 0.0
    top = int(used[-1])
    return float(2 * np.max(np.abs(c[:top] / c[top]) ** (1 / np.arange(top, 0, -1))))


def roots_up_to_one(c: FloatArray) -> FloatArray:
    """Real roots in (0, 1], of the polynomial with coefficients c of 1, x, x², ...

    They are eigenvalues of a pencil: the last coefficients may be tiny, and dividing by them would lose the roots.
    """
    from scipy.linalg import eigvals

    used = np.flatnonzero(np.abs(c) > ROUNDING * np.abs(c).max(initial=0.0))
    if not used.size or not used[-1]:
        return np.zeros(0)
    c = c[: used[-1] + 1]
    size = len(c) - 1
    left, right = np.diag(np.ones(size - 1), 1), np.eye(size)
    left[-1], right[-1, -1] = -c[:-1], c[-1]
    with np.errstate(all="ignore"):
        roots = eigvals(left, right)
    roots = roots[np.isfinite(roots)]
    x = roots.real[np.abs(roots.imag) <= NEARLY_REAL * np.abs(roots)]
    x = x[(x > 0) & (x <= 1 + 1e-6)]
    slope: FloatArray = c[1:] * np.arange(1.0, len(c))
    for _ in range(3):  # Newton's method removes the rounding of the eigenvalues
        steep = horner(slope, x) + np.zeros_like(x)
        step = np.divide(horner(c, x), steep, out=np.zeros_like(x), where=steep != 0)
        x = np.where(np.abs(step) < 1e-3 * x, x - step, x)
    return x


def by_subdivision(shares: Callable[[float], FloatArray], most: float) -> float | None:
    """The greatest s up to `most` where all entries of shares(s) are at most 1 in size; None if none is found.

    A feasible interval is missed if it lies within one cell, of ratio 1.04, and one share is beyond the same limit at
    both ends of the cell.
    """
    edges = most * CELLS ** -np.arange(int(DECADES * np.log(10) / np.log(CELLS)) + 1)
    high, above = float(edges[0]), shares(float(edges[0]))
    for low in (*edges[1:].tolist(), 0.0):
        below = shares(low)
        if (found := greatest(shares, low, below, high, above)) is not None:
            return found
        high, above = low, below
    return None


def greatest(
    shares: Callable[[float], FloatArray], low: float, below: FloatArray, high: float, above: FloatArray
) -> float | None:
    """The greatest feasible speed in [low, high], whose shares at the ends are known; rest does not count."""
    if np.all(np.abs(above) <= 1):
        return high
    if excluded(below, above):
        return None
    if high - low <= WIDTH * high:
        return low if low > 0 and np.all(np.abs(below) <= 1) else None
    middle = 0.5 * (low + high)
    if middle < 1e-12:
        return None
    between = shares(middle)
    found = greatest(shares, middle, between, high, above)
    return found if found is not None else greatest(shares, low, below, middle, between)


def excluded(below: FloatArray, above: FloatArray) -> bool:
    """Whether one share is beyond the same limit at both ends of an interval."""
    return bool(np.any(((below > 1) & (above > 1)) | ((below < -1) & (above < -1))))
