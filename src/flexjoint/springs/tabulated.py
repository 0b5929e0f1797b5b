"""The spring through measured points: a cubic spline.

Torque, stiffness σ and its slope ζ are continuous; η = dζ/dφ is constant between the points and jumps at them.  Motors
that set the stiffness need no more: their torque jumps by a finite amount there (`base.py`).  The spline has the
"not-a-knot" end conditions, so through four points it is one cubic.  It must increase: `fit` smooths noisy data.

The inverse selects the piece by its torques.  Within it Newton's method starts at the point of the piece closest to the
inflection of the cubic.  From there it converges from one side, after at most one step across the root, which is cut
off at the end of the piece.  The number of steps is determined when the law is made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..errors import InputError, RobotError
from ..numerics import nonnegative_least_squares, product, solve
from ..spatial import ca, is_symbolic, total
from ..types import Expression, FloatArray, Scalar
from .base import SPRINGS, Spring, points_repr, set_points

MIN_POINTS = 4
TRIAL_TORQUES = 257  # per piece, to count Newton steps
MAX_STEPS = 32
MIN_FIT_STIFFNESS = 1e-3  # of a fit, relative to its mean stiffness
Function = Callable[..., Any]  # of NumPy or CasADi


class Pieces(NamedTuple):
    """Polynomials a + b t + c t² + d t³, t = φ − x in [0, h]: lists over the pieces, or one SX element each."""

    x: Any
    h: Any
    a: Any
    b: Any
    c: Any
    d: Any


@SPRINGS.register("tabulated")
@dataclass(frozen=True)
class TabulatedSpring(Spring):
    """A spring whose torque is the cubic spline through given points, undefined beyond the first and the last.

    In robot files: `{kind = "tabulated", deflections = [...], torques = [...]}`.

    Args:
        deflections: (m,), increasing, with 0 in their range, in rad or m; 4 to 500.
        torques: (m,), in Nm or N; the spline through them must increase.

    Raises:
        RobotError: the points are too few or not increasing, or the spline through them falls somewhere.

    Example:
        >>> from flexjoint.springs import TabulatedSpring
        >>> spring = TabulatedSpring([-0.2, -0.1, 0.0, 0.1, 0.2], [-50.0, -20.0, 0.0, 20.0, 50.0])
        >>> spring.curve([0.0, 0.1]).torque.tolist()
        [0.0, 20.0]
    """

    deflections: Sequence[float] = field(metadata={"unit": "rad | m", "free": False})  # the spline is linear in torques
    torques: Sequence[float] = field(metadata={"unit": "Nm | N"})

    smoothness: ClassVar[float] = 3

    __repr__ = points_repr

    def __post_init__(self) -> None:
        set_points(self, "deflections", "torques")
        x, y = self.deflections, self.torques
        if len(x) != len(y) or len(x) < MIN_POINTS:
            raise RobotError(f"{self.name}: {len(x)} deflections and {len(y)} torques; give {MIN_POINTS} or more")
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
        """Increasing spline that fits noisy measurements by least squares, its points evenly spaced.

        Args:
            deflections: (m,), in any order, in rad or m.
            torques: (m,), in Nm or N.
            points: number of points of the spline, 4 to m; 8 by default.

        Raises:
            RobotError: the measurements are fewer than the points, not finite, or fall from end to end.
        """
        from scipy.interpolate import BSpline

        phi, tau = (np.asarray(x, dtype=float) for x in (deflections, torques))
        if phi.ndim != 1 or phi.shape != tau.shape or phi.size < points or points < MIN_POINTS:
            raise RobotError(
                f"{cls.__name__}.fit: {phi.size} deflections and {tau.size} torques for {points} points; give one "
                f"torque per deflection, at least {MIN_POINTS} points, and no more points than deflections"
            )
        if not np.all(np.isfinite([phi, tau])):
            raise RobotError(f"{cls.__name__}.fit: all values must be finite")
        x = np.linspace(phi.min(), phi.max(), points)
        knots = np.concatenate([x[:1].repeat(4), x[2:-2], x[-1:].repeat(4)])
        # coefficients are sums of increments: a lower bound on these keeps the stiffness positive
        values = product(BSpline.design_matrix(phi, knots, 3).toarray(), np.tri(points))
        mean = (tau[np.argmax(phi)] - tau[np.argmin(phi)]) / (phi.max() - phi.min())
        if mean <= 0:
            raise RobotError(f"{cls.__name__}.fit: the torque falls from the smallest to the largest deflection")
        widths = knots[4:-1] - knots[1:points]
        lower = np.concatenate([[0.0], MIN_FIT_STIFFNESS * mean * widths / 3])  # the first one is free
        increments = lower + nonnegative_least_squares(values, tau - product(values, lower), free=1)
        return cls(tuple(x.tolist()), tuple(BSpline(knots, np.cumsum(increments), 3)(x).tolist()))

    @property
    def reach(self) -> float:
        """Largest deflection of the table, in rad or m."""
        return max(-self.deflections[0], self.deflections[-1])

    @cached_property
    def pieces(self) -> Pieces:
        """The cubics, from the second derivatives m at the points: slopes are continuous, and so is the third
        derivative at the second and the last but one point."""
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
        except InputError:  # two points coincide after rounding
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
    def least_stiffness(self) -> FloatArray:
        """Smallest stiffness of each piece: at its ends, or where the slope of the stiffness vanishes."""
        _, h, _, b, c, d = (np.array(x) for x in self.pieces)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = -c / (3 * d)
        t = np.where((t > 0) & (t < h), t, 0.0)
        return np.min([b, b + h * (2 * c + 3 * d * h), b + t * (2 * c + 3 * d * t)], axis=0)

    @cached_property
    def steps(self) -> int:
        """Newton steps after which the inverse is exact to rounding for every torque."""
        _, h, a, b, c, d = (np.array(x, dtype=float)[:, None] for x in self.pieces)
        ends = a + h * (b + h * (c + h * d))
        tau = a + (ends - a) * np.linspace(0, 1, TRIAL_TORQUES)
        t = towards_inflection(h, c, d, np.where, np.abs) + 0 * tau
        for step in range(1, MAX_STEPS):
            before, t = t, within(newton(t, tau - a, b, c, d), h, np.minimum, np.maximum)
            if np.all(abs(t - before) <= 1e-8 * h):
                return step  # this last step has squared the error
        return MAX_STEPS

    def torque(self, phi: Expression) -> Expression:
        x, _, a, b, c, d = chosen(self.pieces, phi, self.deflections)
        t = phi - x
        inside = ca.logic_and(phi >= self.deflections[0], phi <= self.deflections[-1])
        return ca.if_else(inside, a + t * (b + t * (c + t * d)), math.nan)

    def energy(self, phi: Expression) -> Expression:
        piece = chosen(self.energy_pieces, phi, self.deflections)
        inside = ca.logic_and(phi >= self.deflections[0], phi <= self.deflections[-1])
        return ca.if_else(inside, piece.h + integral(piece, phi - piece.x), math.nan)

    @property
    def energy_pieces(self) -> Pieces:
        """The cubics about the point of each piece that is nearest to rest, and in `h` the energy there.

        So no digits are lost near rest.
        """
        near: list[Pieces] = []
        for k, (x, _, a, b, c, d) in enumerate(zip(*self.pieces)):
            first, last = self.deflections[k], self.deflections[k + 1]
            at = min(max(0.0, first), last)
            t = at - x
            torque = self.torques[k + 1] if at == last else a + t * (b + t * (c + t * d))
            near.append(Pieces(at, 0.0, torque, b + t * (2 * c + 3 * d * t), c + 3 * d * t, d))
        right, left = list(enumerate(self.deflections[1:])), list(enumerate(self.deflections[:-1]))[::-1]
        for outwards in ([(k, x) for k, x in right if x > 0], [(k, x) for k, x in left if x < 0]):  # far ends
            level: Scalar = 0.0
            for k, far in outwards:
                near[k] = near[k]._replace(h=level)
                level = level + integral(near[k], far - near[k].x)
        return Pieces(*map(list, zip(*near)))

    def deflection(self, tau: Expression) -> Expression:
        x, h, a, b, c, d = chosen(self.pieces, tau, self.torques)
        t = towards_inflection(h, c, d, ca.if_else, ca.fabs)
        for _ in range(self.numeric_steps - 1):
            t = within(newton(t, tau - a, b, c, d), h, ca.fmin, ca.fmax)
        t = newton(t, tau - a, b, c, d)  # without a bound, whose derivative is wrong where two pieces meet
        inside = ca.logic_and(tau >= self.torques[0], tau <= self.torques[-1])
        return ca.if_else(inside, x + t, math.nan)

    @property
    def numeric_steps(self) -> int:
        """Newton steps in an expression: `steps`, or the maximum if torques are free parameters."""
        return MAX_STEPS if any(map(is_symbolic, self.torques)) else self.steps


def chosen(pieces: Pieces, value: Expression, ends: Sequence[Scalar]) -> Pieces:
    """Coefficients of the piece between whose ends the value lies; zeros outside all pieces."""
    within = [ca.logic_and(value >= a, value < b) for a, b in pairwise(ends)]
    within[-1] = ca.logic_and(value >= ends[-2], value <= ends[-1])
    return Pieces(*(total(ca.if_else(here, z, 0) for here, z in zip(within, column)) for column in pieces))


def integral(piece: Pieces, t: Scalar) -> Scalar:
    """∫(a + b t + c t² + d t³) dt from 0."""
    return t * (piece.a + t * (piece.b / 2 + t * (piece.c / 3 + t * (piece.d / 4))))


def towards_inflection(h: Scalar, c: Scalar, d: Scalar, if_else: Function, size: Function) -> Scalar:
    """The point of [0, h] closest to −c/3d."""
    cut = if_else(c * d < 0, size(c), 0.0)  # 3|d| t, if that is positive
    return if_else(cut >= 3 * size(d) * h, h, cut / if_else(cut > 0, 3 * size(d), 1.0))


def newton(t: Scalar, tau: Scalar, b: Scalar, c: Scalar, d: Scalar) -> Scalar:
    """One Newton step towards b t + c t² + d t³ = τ."""
    return t - (t * (b + t * (c + t * d)) - tau) / (b + t * (2 * c + 3 * d * t))


def within(t: Scalar, h: Scalar, least: Function, most: Function) -> Scalar:
    """The point of [0, h] closest to t."""
    return most(least(t, h), 0.0)
