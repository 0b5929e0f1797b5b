"""Trajectories as piecewise polynomials, which a Program evaluates: the loop on the robot needs no host.

Between two knots the polynomial has the position and the first p derivatives of the trajectory at both ends (Hermite
interpolation, degree 2p + 1), so the pieces fit together as smoothly.  Knots lie where a derivative of the trajectory
may jump; intervals are halved until position and derivatives agree to `tolerances`.  A rest-to-rest polynomial is one
piece.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import pairwise
from math import factorial, perm
from typing import NamedTuple

import numpy as np

from ..compiler.ir.scan import scan
from ..errors import InputError
from ..numerics import product
from ..spatial import ca, sx
from ..trajectory import Joined, Retimed, Samples, Scaled, Spline, Trajectory
from ..types import Expression, FloatArray

MOST_PIECES = 2000
REST = 1e-4  # a derivative at the ends, relative to its largest value, that counts as zero
INSIDE = (np.arange(9) + 0.5) / 9  # where a piece is compared with the trajectory


class Pieces(NamedTuple):
    """A piecewise polynomial.

    Args:
        knots: Times (m + 1,), s, from 0 to the duration.
        coefficients: (m, degree + 1, n), of powers of s = (t − knot)/(next knot − knot).
        error: Largest deviation of each derivative from the trajectory at the places compared, (order + 1,).
    """

    knots: FloatArray
    coefficients: FloatArray
    error: FloatArray


def pieces_of(trajectory: Trajectory, order: int) -> Pieces:
    """A trajectory as a piecewise polynomial, accurate in all derivatives up to `order`.

    Args:
        trajectory: Any trajectory with a finite duration, at rest at both ends.
        order: Highest derivative that is evaluated.

    Raises:
        InputError: The motion has no end, moves at its ends, or needs too many pieces.
    """
    name, T = type(trajectory).__name__, trajectory.duration
    if not 0 < T < np.inf:
        raise InputError(f"{name} lasts {T:g} s; a motion on the robot needs an end")
    p = int(min(max(order, 3), trajectory.smoothness, 7))
    scale = np.abs(trajectory(np.linspace(0.0, T, 1001), order)).max(axis=(1, 2)) + np.finfo(float).tiny
    ends = np.abs(trajectory(np.array([0.0, T]), min(order, p)))[1:].max(axis=(1, 2))
    if np.any(ends > REST * scale[1 : ends.size + 1]):
        raise InputError(f"{name} moves at its ends; a motion on the robot begins and ends at rest")
    knots = np.unique(np.clip([0.0, *breaks_of(trajectory), T], 0.0, T))
    waiting = list(pairwise(knots))[::-1]
    found, error = [], np.zeros(order + 1)
    while waiting:
        a, b = waiting.pop()
        c = hermite(trajectory, a, b, p)
        inside = a + (b - a) * INSIDE
        deviation = np.abs(evaluated(c, b - a, INSIDE, order) - trajectory(inside, order)).max(axis=(1, 2))
        if np.all(deviation <= tolerances(order) * scale):
            found.append((a, c))
            error = np.maximum(error, deviation)
        else:
            waiting += [((a + b) / 2, b), (a, (a + b) / 2)]
        if len(found) + len(waiting) > MOST_PIECES or b - a < 1e-6 * T:
            raise InputError(f"{name} needs too many polynomials; give a smoother or a shorter motion")
    return Pieces(np.array([*(a for a, _ in found), T]), np.array([c for _, c in found]), error)


def tolerances(order: int) -> FloatArray:
    """Deviations, relative to the largest value of each derivative: 1e-10 of the position, 1e-6 of derivative 4."""
    return np.array([1e-10, 1e-9, 1e-8, 1e-7, *[1e-6] * order])[: order + 1]


def breaks_of(trajectory: Trajectory) -> FloatArray:
    """Times at which a derivative of the trajectory may jump, s."""
    if isinstance(trajectory, Spline | Samples):
        return np.unique(trajectory.curve.pieces[0].t * trajectory.curve.unit)
    if isinstance(trajectory, Joined):
        parts = [start + breaks_of(x) for start, x in zip(trajectory.starts, trajectory.pieces)]
        return np.concatenate([trajectory.starts, *parts])
    if isinstance(trajectory, Scaled):
        return trajectory.factor * breaks_of(trajectory.path)
    return breaks_of(trajectory.law) if isinstance(trajectory, Retimed) else np.zeros(0)


def hermite(trajectory: Trajectory, a: float, b: float, p: int) -> FloatArray:
    """Coefficients (2p + 2, n) of the polynomial in s = (t − a)/(b − a) with p derivatives of both ends."""
    h = b - a
    powers = np.array([h**k for k in range(p + 1)])
    left, right = (x * powers[:, None] for x in np.moveaxis(trajectory(np.array([a, b]), p), 1, 0))
    low = left / np.array([float(factorial(k)) for k in range(p + 1)])[:, None]
    missing = right - product(low_part(p), low)
    return np.concatenate([low, product(inverse_of_high_part(p), missing)])


@cache
def low_part(p: int) -> FloatArray:
    """Derivatives at s = 1 of the powers 0 to p, (p + 1, p + 1)."""
    return np.array([[float(perm(j, k)) for j in range(p + 1)] for k in range(p + 1)])


@cache
def inverse_of_high_part(p: int) -> FloatArray:
    """The inverse of the derivatives at s = 1 of the powers p + 1 to 2p + 1, from exact fractions."""
    size = p + 1
    rows = [
        [Fraction(perm(p + 1 + j, k)) for j in range(size)] + [Fraction(int(i == k)) for i in range(size)]
        for k in range(size)
    ]
    for k in range(size):
        pivot = next(i for i in range(k, size) if rows[i][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i in range(size):
            if i != k:
                rows[i] = [x - rows[i][k] * y for x, y in zip(rows[i], rows[k])]
    return np.array([[float(x) for x in row[size:]] for row in rows])


def evaluated(c: FloatArray, h: float, s: FloatArray, order: int) -> FloatArray:
    """Derivatives (order + 1, points, n) of one piece at places s (points,)."""
    found = []
    for k in range(order + 1):
        value = np.zeros((len(s), c.shape[1]))
        for j in range(len(c) - 1, k - 1, -1):
            value = value * s[:, None] + perm(j, k) * c[j]
        found.append(value / h**k)
    return np.array(found)


def expression(pieces: Pieces, t: Expression, order: int) -> list[Expression]:
    """q and its derivatives (n,) at the time t, in SX; before the beginning and after the end the motion rests."""
    m, _, n = pieces.coefficients.shape
    end = float(pieces.knots[-1])
    now = ca.fmin(ca.fmax(t, 0), end)
    rows = [
        (sx(float(a)), sx(1.0 / float(b - a)), ca.SX(ca.DM(c.ravel())))
        for a, b, c in zip(pieces.knots[:-1], pieces.knots[1:], pieces.coefficients)
    ]
    start, rate, table = rows[0]
    if m > 1:

        def step(
            carry: tuple[Expression, ...], row: tuple[Expression, ...]
        ) -> tuple[tuple[Expression, ...], tuple[()]]:
            here = now >= row[0]
            return tuple(ca.if_else(here, new, old) for new, old in zip(row, carry)), ()

        (start, rate, table), _ = scan(step, rows[0], rows[1:])
    s, c = (now - start) * rate, ca.vertsplit(table, n)
    moving = ca.logic_and(t >= 0, t <= end)
    return [c_sum(c, s, k) if k == 0 else ca.if_else(moving, c_sum(c, s, k) * rate**k, 0) for k in range(order + 1)]


def c_sum(c: Sequence[Expression], s: Expression, k: int) -> Expression:
    """Derivative k of the polynomial with coefficients c at s, by Horner's rule."""
    value = perm(len(c) - 1, k) * c[-1]
    for j in range(len(c) - 2, k - 1, -1):
        value = value * s + perm(j, k) * c[j]
    return value
