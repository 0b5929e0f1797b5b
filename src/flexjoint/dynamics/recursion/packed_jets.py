"""Jets of order 2 in vector registers: x, x', x'' in the lanes of one packed value (compiler/ir/packing.py).

Whatever acts on each derivative alike (body constants, rotations, sums) acts on a packed jet as on a number, so the
recursion is that of newton_euler.py.  What mixes derivatives stands here, by shifts (x, x', x'') → (0, x, x') or
(0, 0, x).

The angular velocity, needed to order 3, is kept as [(ω, ω, ω), (ω', ω'', ω''')].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...compiler.ir import packing
from ...compiler.ir.packing import lane, pack, shuffled
from ...spatial import ca, cross, identity, symmetric, unit_z, vector, zeros
from ...types import Expression, Jet, Matrix, Scalar, Stack, Vector
from .bodies import Body
from .newton_euler import Load, Motion, backward_recursion, forward_recursion

ORDER = 2
PACKED_JOINTS = 100  # beyond, a loop: at N = 100 packed code takes 7.4 µs, a loop 10.4, but half as long to compile
LANES = X, DX, DDX, ZERO = 0, 2, 1, 3  # a shift by two stays in one half of the register: 3 % of the elastic 7R's time


def packed(x: Scalar, dx: Scalar, ddx: Scalar) -> Scalar:
    """(x, x', x'') as one packed value."""
    return pack(x, ddx, dx, 0)


def order(x: Scalar, k: int) -> Scalar:
    """The k-th derivative in a packed jet."""
    return lane(x, LANES[k])


def orders(jet: Jet) -> Jet:
    """[(x, x', x'')] → [x, x', x'']."""
    return [order(jet[0], k) for k in range(ORDER + 1)]


def constant(x: Vector) -> Vector:
    """(x, 0, 0)."""
    return each(x, lambda y: packed(y, 0, 0))


def shift(x: Vector) -> Vector:
    """(0, x, x')."""
    return each(x, lambda y: shuffled(y, (ZERO, DX, X, ZERO)))


def shift_twice(x: Vector) -> Vector:
    """(0, 0, x)."""
    return each(x, lambda y: packed(0, 0, order(y, 0)))


def each(x: Matrix, function: Callable[[Scalar], Scalar]) -> Matrix:
    """A matrix with `function` applied to every element."""
    return ca.reshape(ca.vertcat(*(function(y) for y in ca.vertsplit(ca.vec(x)))), *x.shape)


def product(bilinear: Callable[[Expression, Expression], Expression], x: Expression, y: Expression) -> Expression:
    """Leibniz' rule: (xy, x'y + xy', x''y + 2x'y' + xy'')."""

    def value(z: Expression) -> Expression:
        return each(z, lambda e: shuffled(e, (X, X, X, ZERO)))

    def rates(z: Expression) -> Expression:
        return each(z, lambda e: packed(0, order(e, 1), order(e, 2)))

    def rate(z: Expression) -> Expression:
        return each(z, lambda e: packed(0, 0, order(e, 1)))

    return bilinear(value(x), y) + bilinear(rates(x), value(y)) + bilinear(2 * rate(x), rate(y))


def outer_square(omega: Jet) -> Jet:
    """ω ωᵀ, from the symmetric pairs."""
    w, alpha = omega
    rates, rate = shift(alpha), shift_twice(alpha)
    jet = to_order_2(omega)

    def entry(i: int, j: int) -> Scalar:
        if i == j:
            return w[i] * (jet[i] + rates[i]) + 2 * rate[i] * rate[i]
        return w[i] * jet[j] + rates[i] * w[j] + 2 * rate[i] * rate[j]

    return [symmetric(entry(0, 0), entry(0, 1), entry(0, 2), entry(1, 1), entry(1, 2), entry(2, 2))]


def to_order_2(omega: Jet) -> Vector:
    """(ω, ω', ω'')."""
    w, rates = (ca.vertsplit(x) for x in (omega[0], shift(omega[1])))
    return vector(*(packed(order(x, 0), order(dx, 1), order(dx, 2)) for x, dx in zip(w, rates)))


class PackedJointMotion(NamedTuple):
    """The motion of a joint in packed jets; the methods are those of `joint_jets.JointJets`."""

    R: Matrix
    angle: Sequence[Scalar]  # [q, q', ... q''''] of the rotation about z; empty without rotation
    height: Sequence[Scalar]  # [d, d', ... d''''] of the translation along z; empty without translation

    @property
    def rates(self) -> Jet:
        if not self.angle:
            return []
        _, q1, q2, q3, q4 = self.angle
        return [packed(q1, q1, q1), packed(q2, q3, q4)]

    def into(self, u: Jet) -> Jet:
        if not self.angle:
            return u
        return self._rotated_omega(*u) if len(u) == 2 else self._rotated(self.R.T, 1, *u)

    def out_of(self, u: Jet) -> Jet:
        return self._rotated(self.R, -1, *u) if self.angle else u

    def acceleration(self, A: Jet, omega: Jet) -> Jet:
        d, d1, d2 = (packed(*self.height[k : k + 3]) * unit_z() for k in range(3))
        return [product(lambda x, y: x @ y, A[0], d) + 2 * product(cross, to_order_2(omega), d1) + d2]

    def lever(self, F: Jet) -> Jet:
        return [product(cross, packed(*self.height[:3]) * unit_z(), F[0])]

    def outer_square(self, omega: Jet) -> Jet:
        return outer_square(omega)

    def _rotated(self, R: Matrix, sense: int, u: Vector) -> Jet:
        """In the plane y = e^(−iq) u.  With rₖ = e^(−iq) u⁽ᵏ⁾ that is

        y = r₀,  y' = r₁ − iq' r₀,  y'' = r₂ − 2iq' r₁ − (iq'' + q'²) r₀.
        """
        _, q1, q2, *_ = self.angle
        return [mixed(R @ u, sense, q1 * packed(0, 1, 2), packed(0, 0, q2), packed(0, 0, q1 * q1))]

    def _rotated_omega(self, w: Vector, alpha: Vector) -> Jet:
        """The same for y', y'', y''' of y = e^(−iq) ω, in two steps:

        p₁ = r₁ − iq' r₀,  p₂ = r₂ − (iq'' − q'²) r₀,  p₃ = r₃ − (i(q''' − q'³) − 3q'q'') r₀,
        y' = p₁,  y'' = p₂ − 2iq' p₁,  y''' = p₃ − 3iq' p₂ − 3(iq'' + q'²) p₁.

        ω is known long before its derivatives, so their shifts wait for one rotation only.
        """
        _, q1, q2, q3, _ = self.angle
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


def mixed(r: Vector, sense: int, first: Scalar, second: Scalar, square: Scalar) -> Vector:
    """r − i·first·(0, r, r') − (i·second + square)·(0, 0, r) in the plane; with +i if the sense is −1."""
    x, y, z = ca.vertsplit(r)
    (x1, y1, _), (x2, y2, _) = ca.vertsplit(shift(r)), ca.vertsplit(shift_twice(r))
    if sense > 0:
        return vector(x - square * x2 + second * y2 + first * y1, y - square * y2 - second * x2 - first * x1, z)
    return vector(x - square * x2 - second * y2 - first * y1, y - square * y2 + second * x2 + first * x1, z)


def joint_motion(body: Body, q: Stack) -> PackedJointMotion:
    """The motion of a body's joint, from the stack [q, q', ...] of all joints."""
    screw, jet = body.screw, [x[body.coordinate] for x in q[: ORDER + 3]]
    angle = [screw.turn * x for x in jet] if screw.turns else []
    return PackedJointMotion(screw.rotation(jet[0]), angle, [screw.slide * x for x in jet] if screw.slides else [])


# The recursion ------------------------------------------------------------------------------------------------------


def may_be_packed(joints: int, order: int) -> bool:
    """Whether packed jets serve the recursion, if no wrench acts on the robot and its base rests."""
    return packing.allowed() and order == ORDER and 1 < joints <= PACKED_JOINTS


def packed_newton_euler(tree: list[Body], q: Stack, gravity: Vector) -> list[Load]:
    """Load per joint of `newton_euler` at order 2 in packed jets, without wrenches and on a resting base."""
    joints = [joint_motion(body, q) for body in tree]
    rest = Motion(identity(), [zeros(3)] * 2, [constant(-gravity)], [zeros(3, 3)], [zeros(3, 3)])
    _, loads = forward_recursion(tree, joints, rest)
    return backward_recursion(tree, joints, loads)
