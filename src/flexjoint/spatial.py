"""Three-dimensional vectors, inertias and jets: the algebra every algorithm is written in.

Numeric helpers work on NumPy arrays (a robot is loaded without CasADi); symbolic ones work on CasADi SX
matrices.

A *jet* is the list of a quantity and its time derivatives, x[k] = dᵏx/dtᵏ, taken component by component in
the frame the components refer to.  Constants of a body commute with that derivative: this is what lets one
recursion serve every order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import comb
from typing import Any, NamedTuple

import numpy as np

from .lazy import ca, is_symbolic, sx
from .numerics import cos, product, sin
from .types import Jet, Matrix, Vector

CROSS_PRODUCTS = 4  # so many orders of a turning vector are taken by cross products, the others by complex ones
QUARTER_TURN_TOLERANCE = 1e-9  # rad; an angle with ten digits of pi/2 counts as pi/2


# Numeric helpers ------------------------------------------------------------------------------------------


def cos_sin(angle: float) -> tuple[float, float]:
    """Cosine and sine, exact at quarter turns.

    cos(pi/2) = 6e-17 would turn the zeros that make a real robot cheap into numbers.
    """
    quarters = round(angle / (math.pi / 2))
    if abs(angle - quarters * (math.pi / 2)) < QUARTER_TURN_TOLERANCE:
        return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[quarters % 4]
    return cos(angle), sin(angle)


def rotation_x(angle: float) -> np.ndarray:
    c, s = cos_sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


def rotation_y(angle: float) -> np.ndarray:
    c, s = cos_sin(angle)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def rotation_z(angle: float) -> np.ndarray:
    c, s = cos_sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])


def rotation_rpy(roll: float, pitch: float, yaw: float) -> np.ndarray:
    """Rz(yaw) Ry(pitch) Rx(roll), the convention of URDF."""
    return product(rotation_z(yaw), rotation_y(pitch), rotation_x(roll))


# Symbolic vectors -----------------------------------------------------------------------------------------


def is_zero(value: Any) -> bool:
    """Whether a quantity vanishes whatever the inputs are; a free parameter never does, even if it is 0 now."""
    return value.is_zero() if is_symbolic(value) else not np.any(value)


def zeros(rows: int, columns: int = 1) -> Any:
    return ca.SX.zeros(rows, columns)


def identity() -> Any:
    return ca.SX.eye(3)


def unit_z() -> Any:
    return sx([0.0, 0.0, 1.0])


def vector(x: Any, y: Any, z: Any) -> Any:
    return ca.vertcat(x, y, z)


def skew(v: Vector) -> Any:
    """S(v), the matrix with S(v) u = v × u."""
    return ca.skew(v)


def cross(a: Vector, b: Vector) -> Any:
    return ca.cross(a, b)


def about_z(q: Any) -> Any:
    """The rotation by the angle q about z: from the turned frame to the fixed one."""
    c, s = ca.cos(q), ca.sin(q)
    return ca.vertcat(ca.horzcat(c, -s, 0), ca.horzcat(s, c, 0), ca.horzcat(0, 0, 1))


def symmetric(xx: Any, xy: Any, xz: Any, yy: Any, yz: Any, zz: Any) -> Any:
    return ca.vertcat(ca.horzcat(xx, xy, xz), ca.horzcat(xy, yy, yz), ca.horzcat(xz, yz, zz))


class Inertia(NamedTuple):
    """Mass, first moment and second moment of a body about its frame: linear in every mass distribution."""

    m: Any
    h: Vector  # ∫ r dm
    Sigma: Matrix  # ∫ r rᵀ dm

    @classmethod
    def of(cls, mass: Any, com: Any, inertia: Any) -> Inertia:
        """From the centre of mass and the inertia about it: I = tr(Σ) 1 − Σ there."""
        m, c, I = sx(mass), sx(com), sx(inertia)
        half_trace = ca.trace(I) / 2
        return cls(m, m * c, half_trace * sx(np.eye(3)) - I + m * (c @ c.T))

    def __add__(self, other: Inertia) -> Inertia:  # type: ignore[override]
        return Inertia(self.m + other.m, self.h + other.h, self.Sigma + other.Sigma)

    def turned(self, q: Any) -> Inertia:
        """The body turned about z by the angle q, in 16 operations beside the sine and cosine."""
        c, s, S = ca.cos(q), ca.sin(q), self.Sigma
        xx, xy, yy = S[0, 0], S[0, 1], S[1, 1]
        u = c * (xx - yy) - 2 * s * xy
        xx, xy, yy = yy + c * u, xy + s * u, xx - c * u
        xz, yz = c * S[0, 2] - s * S[1, 2], s * S[0, 2] + c * S[1, 2]
        return Inertia(self.m, about_z(q) @ self.h, symmetric(xx, xy, xz, yy, yz, S[2, 2]))

    def seen_from(self, R: Matrix, p: Vector) -> Inertia:
        """The same body about another frame, in which this one stands at p, turned by R."""
        h, Sigma = R @ self.h, R @ self.Sigma @ R.T
        hp = h @ p.T
        return Inertia(self.m, h + self.m * p, Sigma + hp + hp.T + self.m * (p @ p.T))

    def force(self, A: Matrix, a: Vector) -> Vector:
        """f = ∫ (a + A r) dm, the rate of linear momentum."""
        return self.m * a + A @ self.h

    def moment(self, A: Matrix, W: Matrix, a: Vector) -> Vector:
        """n = ∫ r × (a + A r) dm = vee(AΣ − ΣAᵀ) + h × a, with A = S(ω') + W − tr(W) 1.

        The diagonal of A enters through differences only, and those are differences of W: nine operations
        fewer per link and order than from A alone.
        """
        S = self.Sigma
        xx, xy, xz, yy, yz, zz = S[0, 0], S[0, 1], S[0, 2], S[1, 1], S[1, 2], S[2, 2]
        return cross(self.h, a) + vector(
            xy * A[2, 0] + yy * A[2, 1] - xz * A[1, 0] - zz * A[1, 2] + yz * (W[2, 2] - W[1, 1]),
            yz * A[0, 1] + zz * A[0, 2] - xy * A[2, 1] - xx * A[2, 0] + xz * (W[0, 0] - W[2, 2]),
            xz * A[1, 2] + xx * A[1, 0] - yz * A[0, 2] - yy * A[0, 1] + xy * (W[1, 1] - W[0, 0]),
        )


# Jets -----------------------------------------------------------------------------------------------------


def leibniz(product: Callable[[Any, Any], Any], a: Sequence[Any], b: Sequence[Any], order: int) -> Jet:
    """Jet of a bilinear product: (ab)⁽ᵏ⁾ = Σ_l C(k, l) a⁽ˡ⁾ b⁽ᵏ⁻ˡ⁾."""
    return [total(comb(k, l) * product(a[l], b[k - l]) for l in range(k + 1)) for k in range(order + 1)]


def outer_square(w: Sequence[Vector]) -> Jet:
    """Jet of w wᵀ to one order less, each product of two different orders taken once: (w⁽ˡ⁾w⁽ᵐ⁾ᵀ) + its transpose."""
    jet = []
    for k in range(len(w) - 1):
        pairs = [(comb(k, l) * w[l]) @ w[k - l].T for l in range((k + 1) // 2)]
        square = [(comb(k, k // 2) * w[k // 2]) @ w[k // 2].T] if k % 2 == 0 else []
        jet.append(total([*(P + P.T for P in pairs), *square]))
    return jet


def in_turning_frame(r: Sequence[Vector], w: Sequence[Vector]) -> Jet:
    """Jet of the components y of a vector u in a frame that turns at w, from y' = Rᵀu' − w × y.

    `r[k] = Rᵀ u⁽ᵏ⁾` are the derivatives of u, each rotated once; `w` is the jet of the angular velocity in
    the turning frame.  With y[j, m] the m-th derivative of the components of u⁽ʲ⁾,

        y[j, m] = r[j + m] − Σ_l w⁽ˡ⁾ × Σ_p C(m − 1 − p, l) y[j + p, m − 1 − p − l],

    one cross product an order.
    """
    y: dict[tuple[int, int], Any] = {}
    for m in range(len(r)):
        for j in range(max(1, len(r) - 1 - m)):
            y[j, m] = r[j + m]
            for l in range(m):
                s = total(comb(m - 1 - p, l) * y[j + p, m - 1 - p - l] for p in range(m - l))
                y[j, m] = y[j, m] - cross(w[l], s)
    return [y[0, m] for m in range(len(r))]


def in_frame_about_z(r: Sequence[Vector], rates: Sequence[Any]) -> Jet:
    """The same for a frame that turns about its own z axis at rates = [q', q'', ...].

    In the plane y = e^(−iq) u, so with E the jet of e^(−iq) turned back by e^(iq), y⁽ᵏ⁾ = Σ_l C(k, l) E⁽ˡ⁾ r⁽ᵏ⁻ˡ⁾ and
    E' = −i q' E: from the fourth derivative on cheaper than cross products (28 % less for torques of order 6).
    """
    y = in_turning_frame(r[:CROSS_PRODUCTS], [rate * unit_z() for rate in rates])
    if len(r) <= CROSS_PRODUCTS:
        return y
    minus_i = sx([[0.0, 1.0], [-1.0, 0.0]])
    E = [ca.SX.eye(2)]
    for k in range(len(r) - 1):
        E.append(minus_i @ total(comb(k, l) * rates[l] * E[k - l] for l in range(k + 1)))
    for k in range(CROSS_PRODUCTS, len(r)):
        plane = total((comb(k, l) * E[l]) @ r[k - l][:2] for l in range(k + 1))
        y.append(ca.vertcat(plane, r[k][2]))
    return y


def time_derivative(expression: Any, stack: Sequence[Any]) -> Any:
    """d/dt of an SX expression in symbols [q, q', ...], by automatic differentiation: Σ_k (∂x/∂q⁽ᵏ⁾) q⁽ᵏ⁺¹⁾.

    Where the stack may hold other expressions than symbols, see `Differentiated`.
    """
    rate = total(ca.jtimes(ca.vec(expression), q, dq) for q, dq in pairwise(stack))
    return ca.reshape(rate, *expression.shape)


class Differentiated:
    """A function of stacks [x, x', ...], and its time derivatives by automatic differentiation."""

    def __init__(self, function: Callable[..., Any], order: int, *sizes: tuple[int, int]):
        """`sizes`: of each stack how many entries it has, and the size of one."""
        self.stacks = [[ca.SX.sym("x", size) for _ in range(depth)] for depth, size in sizes]
        x = ca.vertcat(*[x for stack in self.stacks for x in stack[:-1]])
        rate = ca.vertcat(*[x for stack in self.stacks for x in stack[1:]])
        self.derivatives = [function(*self.stacks)]
        for _ in range(order):
            self.derivatives.append(time_derivative(self.derivatives[-1], [x, rate]))

    def __call__(self, k: int, *stacks: Sequence[Any]) -> Any:
        """The k-th derivative, for stacks as long as it needs them."""
        pairs = [pair for symbols, values in zip(self.stacks, stacks) for pair in zip(symbols, values)]
        symbols, values = zip(*pairs)
        return ca.substitute([self.derivatives[k]], list(symbols), list(values))[0]


def total(terms: Any) -> Any:
    """Sum without the leading zero of `sum`."""
    first, *rest = terms
    for term in rest:
        first = first + term
    return first
