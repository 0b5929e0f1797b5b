"""A spring law through measured points: a cubic spline.

Torque, stiffness σ and its slope ζ are continuous, η = dζ/dφ is constant between the points and jumps at them: as much
as motors that set the stiffness need, whose torque then jumps by a finite amount there (`base.py`).  The spline is the
one without knots at the second and the last but one point ("not-a-knot"), so that it is a cubic where four points are
given.  It must increase: measured torques that wiggle are smoothed by `fit`.

The inverse finds the piece by its torques.  Within it Newton's method, begun at the point of the piece that is next to
the cubic's inflection, comes to the root from one side, after at most one step across it, which is cut off at the end
of the piece.  How many steps that takes at most is counted when the law is made.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..errors import InputError, RobotError
from ..numerics import nonnegative_least_squares, product, solve
from ..spatial import ca, is_symbolic, total
from .base import Spring, numbers_of

POINTS = 4  # at least
TRIED = 257  # torques in each piece, to count steps
MOST_STEPS = 32
LEAST = 1e-3  # of the mean stiffness: what a fit has everywhere


class Pieces(NamedTuple):
    """The polynomials a + b t + c t² + d t³, t = φ − x in [0, h]; each a list over the pieces."""

    x: Any
    h: Any
    a: Any
    b: Any
    c: Any
    d: Any


@dataclass(frozen=True)
class TabulatedSpring(Spring):
    """The cubic spline through (deflection, torque), in rad and Nm or m and N; undefined beyond the first and last.

    The deflections increase and include 0, or have it between them.
    """

    deflections: tuple[float, ...]
    torques: tuple[float, ...]

    smoothness: ClassVar[float] = 3

    def __post_init__(self) -> None:
        for what in ("deflections", "torques"):
            object.__setattr__(self, what, numbers_of(self, what))
        x, y = self.deflections, self.torques
        if len(x) != len(y) or len(x) < POINTS:
            raise RobotError(f"{self.name}: {len(x)} deflections and {len(y)} torques; give {POINTS} points or more")
        if any(b <= a for a, b in pairwise(x)) or not x[0] <= 0 <= x[-1]:
            raise RobotError(
                f"{self.name}: the deflections go from {x[0]:g} to {x[-1]:g}; they must increase, with 0 among them"
            )
        with np.errstate(all="ignore"):
            least = self.least_stiffness
        if not np.isfinite(least).all():
            raise RobotError(
                f"{self.name}: no spline passes through these points, with deflections from {x[0]:g} to {x[-1]:g} and "
                f"torques from {y[0]:g} to {y[-1]:g}: they are too close, or beyond the range of doubles"
            )
        if np.min(least) <= 0:
            k = int(np.argmin(least))
            raise RobotError(
                f"{self.name}: between the deflections {x[k]:g} and {x[k + 1]:g} the stiffness falls to {least[k]:g}; "
                "the torque must increase: give fewer points, or smooth them with TabulatedSpring.fit"
            )

    @classmethod
    def fit(cls, deflections: Sequence[float], torques: Sequence[float], points: int = 8) -> TabulatedSpring:
        """The increasing spline next to measured values, by least squares; `points` are spread evenly."""
        from scipy.interpolate import BSpline

        phi, tau = (np.asarray(x, dtype=float) for x in (deflections, torques))
        if phi.ndim != 1 or phi.shape != tau.shape or phi.size < points or points < POINTS:
            raise RobotError(
                f"{cls.__name__}.fit: {phi.size} deflections and {tau.size} torques for {points} points; give as many "
                f"values of one as of the other, and at least as many as points, of which {POINTS} are the fewest"
            )
        if not np.all(np.isfinite([phi, tau])):
            raise RobotError(f"{cls.__name__}.fit: all values must be finite")
        x = np.linspace(phi.min(), phi.max(), points)
        knots = np.concatenate([x[:1].repeat(4), x[2:-2], x[-1:].repeat(4)])
        # coefficients as sums of increments: none below LEAST of the mean keeps the stiffness positive
        values = product(BSpline.design_matrix(phi, knots, 3).toarray(), np.tri(points))
        mean = (tau[np.argmax(phi)] - tau[np.argmin(phi)]) / (phi.max() - phi.min())
        if mean <= 0:
            raise RobotError(f"{cls.__name__}.fit: from the least to the greatest deflection the torque falls")
        widths = knots[4:-1] - knots[1:points]
        lower = np.concatenate([[0.0], LEAST * mean * widths / 3])  # the first one is free
        increments = lower + nonnegative_least_squares(values, tau - product(values, lower), free=1)
        return cls(tuple(x.tolist()), tuple(BSpline(knots, np.cumsum(increments), 3)(x).tolist()))

    @property
    def reach(self) -> float:
        return max(-self.deflections[0], self.deflections[-1])

    @cached_property
    def pieces(self) -> Pieces:
        """From the second derivatives m at the points: continuous slopes, and third derivatives at two points."""
        x = np.array(self.deflections)
        h, n = np.diff(x), len(x)
        A, S = np.zeros((n, n)), np.zeros((n, n))
        A[0, :3] = h[1], -h[0] - h[1], h[0]
        A[-1, -3:] = h[-1], -h[-2] - h[-1], h[-2]
        for i in range(1, n - 1):
            A[i, i - 1 : i + 2] = h[i - 1] / 6, (h[i - 1] + h[i]) / 3, h[i] / 6
            S[i, i - 1 : i + 2] = 1 / h[i - 1], -1 / h[i - 1] - 1 / h[i], 1 / h[i]
        try:
            to_m = solve(A, S)
        except InputError:  # rounding makes points one that are too close
            to_m = np.full_like(A, math.nan)
        if any(map(is_symbolic, self.torques)):
            y = list(self.torques)
            m = [total(float(w) * t for w, t in zip(row, y)) for row in to_m]
        else:
            y, m = list(self.torques), product(to_m, self.torques).tolist()
        width = h.tolist()
        b = [(y[k + 1] - y[k]) / w - w * (2 * m[k] + m[k + 1]) / 6 for k, w in enumerate(width)]
        d = [(m[k + 1] - m[k]) / (6 * w) for k, w in enumerate(width)]
        return Pieces(x[:-1].tolist(), width, y[:-1], b, [z / 2 for z in m[:-1]], d)

    @property
    def least_stiffness(self) -> np.ndarray:
        """Of each piece: at its ends, or where the slope of the stiffness vanishes."""
        _, h, _, b, c, d = (np.array(x) for x in self.pieces)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = -c / (3 * d)
        t = np.where((t > 0) & (t < h), t, 0.0)
        return np.min([b, b + h * (2 * c + 3 * d * h), b + t * (2 * c + 3 * d * t)], axis=0)

    @cached_property
    def steps(self) -> int:
        """Newton steps after which the inverse is known to rounding, wherever it is taken."""
        _, h, a, b, c, d = (np.array(x, dtype=float)[:, None] for x in self.pieces)
        ends = a + h * (b + h * (c + h * d))
        tau = a + (ends - a) * np.linspace(0, 1, TRIED)
        t = towards_inflection(h, c, d, np.where, np.abs) + 0 * tau
        for step in range(1, MOST_STEPS):
            before, t = t, within(newton(t, tau - a, b, c, d), h, np.minimum, np.maximum)
            if np.all(abs(t - before) <= 1e-8 * h):
                return step  # the step that shows it has squared the error
        return MOST_STEPS

    def torque(self, phi: Any) -> Any:
        x, _, a, b, c, d = chosen(self.pieces, phi, self.deflections)
        t = phi - x
        inside = ca.logic_and(phi >= self.deflections[0], phi <= self.deflections[-1])
        return ca.if_else(inside, a + t * (b + t * (c + t * d)), math.nan)

    def deflection(self, tau: Any) -> Any:
        x, h, a, b, c, d = chosen(self.pieces, tau, self.torques)
        t = towards_inflection(h, c, d, ca.if_else, ca.fabs)
        for _ in range(self.numeric_steps - 1):
            t = within(newton(t, tau - a, b, c, d), h, ca.fmin, ca.fmax)
        t = newton(t, tau - a, b, c, d)  # as it is: at a point, where pieces meet, a bound would take half its slope
        inside = ca.logic_and(tau >= self.torques[0], tau <= self.torques[-1])
        return ca.if_else(inside, x + t, math.nan)

    @property
    def numeric_steps(self) -> int:
        """As counted, or the most there may be where torques are free."""
        return MOST_STEPS if any(map(is_symbolic, self.torques)) else self.steps


def chosen(pieces: Pieces, value: Any, ends: Sequence[Any]) -> Pieces:
    """The one between whose ends the value lies; of all outside, none."""
    within = [ca.logic_and(value >= a, value < b) for a, b in pairwise(ends)]
    within[-1] = ca.logic_and(value >= ends[-2], value <= ends[-1])
    return Pieces(*(total(ca.if_else(here, z, 0) for here, z in zip(within, column)) for column in pieces))


def towards_inflection(h: Any, c: Any, d: Any, if_else: Any, size: Any) -> Any:
    """The point of [0, h] next to −c/3d."""
    cut = if_else(c * d < 0, size(c), 0.0)  # 3|d| t, if that is positive
    return if_else(cut >= 3 * size(d) * h, h, cut / if_else(cut > 0, 3 * size(d), 1.0))


def newton(t: Any, tau: Any, b: Any, c: Any, d: Any) -> Any:
    """One step towards b t + c t² + d t³ = τ."""
    return t - (t * (b + t * (c + t * d)) - tau) / (b + t * (2 * c + 3 * d * t))


def within(t: Any, h: Any, least: Any, most: Any) -> Any:
    """The point of [0, h] next to t."""
    return most(least(t, h), 0.0)
