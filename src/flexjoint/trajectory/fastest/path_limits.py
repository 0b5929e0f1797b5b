"""Shares of limits at the points of a path, as functions of how fast the motion passes them.

With s(t) the place on the path, and primes for d/dt of s and d/ds of the path Q,

    dq/dt = Q's',   d²q/dt² = Q''s'² + Q's'',   ...

Without dry friction and with linear, undamped springs all torques are sums of monomials s'ᵃs''ᵇ... with a + 2b + ...
up to the order: 12 of them with springs, 4 without.  Their coefficients at a point are constants, which follow from the
shares at a few speeds.  This makes an iteration of the elastic Panda 4 times faster.  Other robots keep the function of
`limit_shares.py`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...spatial import ca
from ..base import Trajectory
from ..limited_motion import LimitedMotion
from .limit_shares import LimitShares

NODES = 3  # speeds per monomial that determine the coefficients


class PathLimits(NamedTuple):
    """Shares of limits along a path.

    Attributes:
        function: from a column of constants of a point and [t'; t''; ...], derivatives of the time with respect to the
            place, to the shares and the mean torques of `LimitShares`.
        constants: a column per point.
    """

    function: Any
    constants: Any


def path_limits(motion: LimitedMotion, limits: LimitShares, path: Trajectory, u: Any, duration: float) -> PathLimits:
    """The limits at the places u of a path of unit length, for durations around the given one, in s."""
    order = limits.order
    powers = path.duration ** np.arange(order + 1)
    stack = path(u * path.duration, order=order) * powers[:, None, None]
    points, t = ca.DM(np.hstack(list(stack)).T), ca.SX.sym("t", order)
    moved = chained(limits)
    if not motion.is_polynomial or "power" in motion.limited:
        Q = ca.SX.sym("Q", points.size1())
        return PathLimits(ca.Function("shares", [Q, t], moved(Q, speeds(order)(t))), points)
    terms = monomials(order, duration)
    nodes = np.random.default_rng(0).uniform(-1.0, 1.0, (NODES * terms.numel_out(), order))
    nodes /= duration ** np.arange(1, order + 1)
    values = [ca.vertcat(*moved.map(u.size)(points, ca.repmat(ca.DM(x), 1, u.size))) for x in nodes]
    inverse = np.linalg.pinv(np.hstack([np.array(terms(x)) for x in nodes]).T)
    found = np.einsum("mk,kcp->cmp", inverse, np.array([np.array(x) for x in values]))  # columns, monomials, points
    columns, count = found.shape[:2]
    A = ca.SX.sym("A", columns, count)
    shares = A @ terms(speeds(order)(t))
    first = moved.size1_out(0)
    flat = found.transpose(1, 0, 2).reshape(columns * count, -1)  # column by column of A
    return PathLimits(ca.Function("shares", [ca.vec(A), t], [shares[:first, 0], shares[first:, 0]]), ca.DM(flat))


def chained(limits: LimitShares) -> Any:
    """The shares as a function of [Q; Q'; ...] and [s'; s''; ...]."""
    n, order = limits.n, limits.order
    Q, s = [ca.SX.sym("Q", n) for _ in range(order + 1)], ca.SX.sym("s", order)
    rates = ca.vertcat(*(x * s[0] for x in Q[1:]), ca.SX.zeros(n), s[1:], 0)
    stack = derivatives(Q[0], ca.vertcat(*Q, s), rates, order)
    return ca.Function("chained", [ca.vertcat(*Q), s], limits.function(ca.vertcat(*stack)))


def speeds(order: int) -> Any:
    """[s'; s''; ...], derivatives of the place with respect to the time, from those of the time by the place."""
    t = ca.SX.sym("t", order)
    found = derivatives(1 / t[0], t, ca.vertcat(t[1:], 0) / t[0], order - 1)
    return ca.Function("speeds", [t], [ca.vertcat(*found)])


def derivatives(x: Any, variables: Any, rates: Any, order: int) -> list[Any]:
    """[x, x', x'', ...] of an expression whose variables have these rates."""
    found = [x]
    for _ in range(order):
        found.append(ca.jtimes(found[-1], variables, rates))
    return found


def monomials(order: int, duration: float) -> Any:
    """All products of s', s'', ... that change with the inverse duration to the power of `order` or less."""
    s = ca.SX.sym("s", order)
    scaled = [s[k] * duration ** (k + 1) for k in range(order)]
    found = [(ca.SX(1.0), order)]  # products, and what is left of the power
    for k, x in enumerate(scaled, start=1):
        found = [(y * x**i, left - k * i) for y, left in found for i in range(left // k + 1)]
    return ca.Function("monomials", [s], [ca.vertcat(*(y for y, _ in found))])
