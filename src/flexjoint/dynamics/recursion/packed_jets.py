"""Jets of order 2 in vector registers: x, x', x'' in the lanes of one packed value (compiler/packing.py).

Whatever acts on each derivative alike (body constants, rotations, sums) acts on a packed jet as on a number, so the
recursion is that of newton_euler.py.  What mixes derivatives is here, by shifts (x, x', x'') → (0, x, x') or (0, 0, x).

The angular velocity, wanted to order 3, comes as [(ω, ω, ω), (ω', ω'', ω''')].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...compiler.ir.packing import lane, pack, shuffled
from ...spatial import about_z, ca, cross, identity, symmetric, unit_z, vector
from ...types import Jet, Matrix, Vector
from .bodies import Body

ORDER = 2
LANES = X, DX, DDX, ZERO = 0, 2, 1, 3  # shifts by two stay within a half of the register: 3 % of the elastic 7R's time


def packed(x: Any, dx: Any, ddx: Any) -> Any:
    return pack(x, ddx, dx, 0)


def order(x: Any, k: int) -> Any:
    """The k-th derivative in a packed jet."""
    return lane(x, LANES[k])


def orders(jet: Jet) -> Jet:
    """[(x, x', x'')] → [x, x', x'']."""
    return [order(jet[0], k) for k in range(ORDER + 1)]


def constant(x: Vector) -> Vector:
    return each(x, lambda y: packed(y, 0, 0))


def shift(x: Vector) -> Vector:
    """(0, x, x')."""
    return each(x, lambda y: shuffled(y, (ZERO, DX, X, ZERO)))


def shift_twice(x: Vector) -> Vector:
    """(0, 0, x)."""
    return each(x, lambda y: packed(0, 0, order(y, 0)))


def each(x: Matrix, function: Callable[[Any], Any]) -> Matrix:
    return ca.reshape(ca.vertcat(*(function(y) for y in ca.vertsplit(ca.vec(x)))), *x.shape)


def product(bilinear: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """Leibniz' rule: (xy, x'y + xy', x''y + 2x'y' + xy'')."""

    def value(z: Any) -> Any:
        return each(z, lambda e: shuffled(e, (X, X, X, ZERO)))

    def rates(z: Any) -> Any:
        return each(z, lambda e: packed(0, order(e, 1), order(e, 2)))

    def rate(z: Any) -> Any:
        return each(z, lambda e: packed(0, 0, order(e, 1)))

    return bilinear(value(x), y) + bilinear(rates(x), value(y)) + bilinear(2 * rate(x), rate(y))


def outer_square(omega: Jet) -> Jet:
    """ω ωᵀ, from the symmetric pairs."""
    w, alpha = omega
    rates, rate = shift(alpha), shift_twice(alpha)
    jet = to_order_2(omega)

    def entry(i: int, j: int) -> Any:
        if i == j:
            return w[i] * (jet[i] + rates[i]) + 2 * rate[i] * rate[i]
        return w[i] * jet[j] + rates[i] * w[j] + 2 * rate[i] * rate[j]

    return [symmetric(entry(0, 0), entry(0, 1), entry(0, 2), entry(1, 1), entry(1, 2), entry(2, 2))]


def to_order_2(omega: Jet) -> Vector:
    """(ω, ω', ω'')."""
    w, rates = (ca.vertsplit(x) for x in (omega[0], shift(omega[1])))
    return vector(*(packed(order(x, 0), order(dx, 1), order(dx, 2)) for x, dx in zip(w, rates)))


class PackedStep(NamedTuple):
    """What newton_euler.Step is, for packed jets."""

    R: Matrix
    q: Sequence[Any]  # [q, q', ... q'''']
    turns: bool

    @property
    def rates(self) -> Jet:
        _, q1, q2, q3, q4 = self.q
        return [packed(q1, q1, q1), packed(q2, q3, q4)] if self.turns else []

    def turn(self, u: Jet) -> Jet:
        if not self.turns:
            return u
        return self._turned_omega(*u) if len(u) == 2 else self._turned(self.R.T, 1, *u)

    def turn_back(self, u: Jet) -> Jet:
        return self._turned(self.R, -1, *u) if self.turns else u

    def _turned(self, R: Matrix, sense: int, u: Vector) -> Jet:
        """In the plane y = e^(−iq) u.  With rₖ = e^(−iq) u⁽ᵏ⁾ that is

        y = r₀,  y' = r₁ − iq' r₀,  y'' = r₂ − 2iq' r₁ − (iq'' + q'²) r₀.
        """
        _, q1, q2, *_ = self.q
        return [mixed(R @ u, sense, q1 * packed(0, 1, 2), packed(0, 0, q2), packed(0, 0, q1 * q1))]

    def _turned_omega(self, w: Vector, alpha: Vector) -> Jet:
        """The same for y', y'', y''' of y = e^(−iq) ω, in two steps:

        p₁ = r₁ − iq' r₀,  p₂ = r₂ − (iq'' − q'²) r₀,  p₃ = r₃ − (i(q''' − q'³) − 3q'q'') r₀,
        y' = p₁,  y'' = p₂ − 2iq' p₁,  y''' = p₃ − 3iq' p₂ − 3(iq'' + q'²) p₁.

        ω is known long before its derivatives, so that their shifts wait for one rotation and nothing else.
        """
        _, q1, q2, q3, _ = self.q
        square = q1 * q1
        turned, along = packed(q1, q2, q3 - q1 * square), packed(0, square, 3 * q2 * q1)
        R = self.R.T
        r = R @ w
        p = vector(
            turned * r[1] + along * r[0] + R[0, 0] * alpha[0] + R[0, 1] * alpha[1],
            along * r[1] - turned * r[0] + R[1, 1] * alpha[1] + R[1, 0] * alpha[0],
            alpha[2],
        )
        return [r, mixed(p, 1, q1 * packed(0, 2, 3), packed(0, 0, 3 * q2), 3 * packed(0, 0, square))]

    def carried(self, A: Jet, omega: Jet) -> Jet:
        """A d + 2 ω × d' + d''."""
        d, d1, d2 = (packed(*self.q[k : k + 3]) * unit_z() for k in range(3))
        return [product(lambda x, y: x @ y, A[0], d) + 2 * product(cross, to_order_2(omega), d1) + d2]

    def lever(self, F: Jet) -> Jet:
        """d × F."""
        return [product(cross, packed(*self.q[:3]) * unit_z(), F[0])]


def mixed(r: Vector, sense: int, first: Any, second: Any, square: Any) -> Vector:
    """r − i·first·(0, r, r') − (i·second + square)·(0, 0, r) in the plane; with +i if the sense is −1."""
    x, y, z = ca.vertsplit(r)
    (x1, y1, _), (x2, y2, _) = ca.vertsplit(shift(r)), ca.vertsplit(shift_twice(r))
    if sense > 0:
        return vector(x - square * x2 + second * y2 + first * y1, y - square * y2 - second * x2 - first * x1, z)
    return vector(x - square * x2 - second * y2 - first * y1, y - square * y2 + second * x2 + first * x1, z)


def joint_step(body: Body, q: Sequence[Any]) -> PackedStep:
    jet = [x[body.coordinate] for x in q[: ORDER + 3]]
    turns = body.kind == "revolute"
    return PackedStep(about_z(jet[0]) if turns else identity(), jet, turns)
