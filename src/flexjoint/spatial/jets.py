"""Jets: a quantity and its time derivatives, x[k] = dᵏx/dtᵏ.

Derivatives are taken component by component in the frame that the components refer to.  Constants of a body commute
with that derivative, so one recursion serves every order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import comb, factorial

from ..lazy import ca, sx
from ..types import Expression, Jet, Scalar, Stack, Vector
from .vectors import cross, total, unit_z

CROSS_PRODUCTS = 4  # orders of a rotating vector taken by cross products; higher ones by complex multiplication


def leibniz(product: Callable[[Expression, Expression], Expression], a: Stack, b: Stack, order: int) -> Jet:
    """Jet of a bilinear product: (ab)⁽ᵏ⁾ = Σ_l C(k, l) a⁽ˡ⁾ b⁽ᵏ⁻ˡ⁾."""
    return [total(comb(k, l) * product(a[l], b[k - l]) for l in range(k + 1)) for k in range(order + 1)]


def outer_square(w: Sequence[Vector]) -> Jet:
    """Jet of w wᵀ, one order shorter than w.  The product of two different orders is taken once: P + Pᵀ."""
    jet = []
    for k in range(len(w) - 1):
        pairs = [(comb(k, l) * w[l]) @ w[k - l].T for l in range((k + 1) // 2)]
        square = [(comb(k, k // 2) * w[k // 2]) @ w[k // 2].T] if k % 2 == 0 else []
        jet.append(total([*(P + P.T for P in pairs), *square]))
    return jet


def in_rotating_frame(r: Sequence[Vector], w: Sequence[Vector]) -> Jet:
    """Jet of the components y of a vector u in a frame that rotates at w, from y' = Rᵀu' − w × y.

    `r[k] = Rᵀ u⁽ᵏ⁾` are the derivatives of u, each rotated once; `w` is the jet of the angular velocity in the rotating
    frame.  With y[j, m] the m-th derivative of the components of u⁽ʲ⁾,

        y[j, m] = r[j + m] − Σ_l w⁽ˡ⁾ × Σ_p C(m − 1 − p, l) y[j + p, m − 1 − p − l],

    one cross product per order.
    """
    y: dict[tuple[int, int], Vector] = {}
    for m in range(len(r)):
        for j in range(max(1, len(r) - 1 - m)):
            y[j, m] = r[j + m]
            for l in range(m):
                s = total(comb(m - 1 - p, l) * y[j + p, m - 1 - p - l] for p in range(m - l))
                y[j, m] = y[j, m] - cross(w[l], s)
    return [y[0, m] for m in range(len(r))]


def in_frame_rotating_about_z(r: Sequence[Vector], rates: Sequence[Scalar]) -> Jet:
    """The same for a frame that rotates about its own z axis at rates = [q', q'', ...].

    In the plane y = e^(−iq) u.  With E the jet of e^(−iq) rotated back by e^(iq), y⁽ᵏ⁾ = Σ_l C(k, l) E⁽ˡ⁾ r⁽ᵏ⁻ˡ⁾ and
    E' = −i q' E.  From the fourth derivative on this is cheaper than cross products (28 % less for torques of order 6).
    """
    y = in_rotating_frame(r[:CROSS_PRODUCTS], [rate * unit_z() for rate in rates])
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


def time_derivative(expression: Expression, stack: Stack) -> Expression:
    """d/dt of an expression in symbols [q, q', ...], by automatic differentiation: Σ_k (∂x/∂q⁽ᵏ⁾) q⁽ᵏ⁺¹⁾.

    The stack holds symbols.  `TimeDerivatives` takes a stack of any expressions.
    """
    rate = total(ca.jtimes(ca.vec(expression), q, dq) for q, dq in pairwise(stack))
    return ca.reshape(rate, *expression.shape)


class TimeDerivatives:
    """A function of stacks [x, x', ...] and its time derivatives, by automatic differentiation."""

    def __init__(self, function: Callable[..., Expression], order: int, *sizes: tuple[int, int]) -> None:
        """Differentiate `function(*stacks)` up to `order`.  `sizes`: (entries, size of an entry) per stack."""
        self.stacks = [[ca.SX.sym("x", size) for _ in range(depth)] for depth, size in sizes]
        x = ca.vertcat(*[x for stack in self.stacks for x in stack[:-1]])
        rate = ca.vertcat(*[x for stack in self.stacks for x in stack[1:]])
        self.derivatives = [function(*self.stacks)]
        for _ in range(order):
            self.derivatives.append(time_derivative(self.derivatives[-1], [x, rate]))

    def __call__(self, k: int, *stacks: Stack) -> Expression:
        """The k-th derivative, for stacks as long as it needs them."""
        pairs = [pair for symbols, values in zip(self.stacks, stacks) for pair in zip(symbols, values)]
        symbols, values = zip(*pairs)
        return ca.substitute([self.derivatives[k]], list(symbols), list(values))[0]


class TaylorSeries:
    """Derivatives of an expression along a motion, one order per call, by Taylor arithmetic on its operations.

    Each order builds on those before it, so the cost grows with the square of the order; `TimeDerivatives` takes 2.8
    times the operations of the order before.
    """

    def __init__(self, inputs: Sequence[Expression], output: Expression) -> None:
        """Of a column `output` in symbols `inputs`, columns; the operations are those of `coefficient`."""
        f = ca.Function("f", [ca.vertcat(*inputs)], [ca.densify(output)])
        self.operations: list[tuple[int, list[int], float]] = []  # code, arguments by their places, number
        self.results: list[int] = [0] * output.numel()
        registers: dict[int, int] = {}
        for place in range(f.n_instructions()):
            code, to, of = f.instruction_id(place), f.instruction_output(place), f.instruction_input(place)
            number = f.instruction_constant(place) if code == ca.OP_CONST else 0.0
            if code == ca.OP_OUTPUT:
                self.results[to[1]] = registers[of[0]]
            else:
                arguments = [of[1]] if code == ca.OP_INPUT else [registers[i] for i in of]
                registers[to[0]] = len(self.operations)
                self.operations.append((code, arguments, number))
        self.jets: list[Jet] = [[] for _ in self.operations]  # x⁽ᵏ⁾/k! of each operation
        self.others: list[Jet] = [[] for _ in self.operations]  # cos x of sin x, sin x of cos x, 1 − tanh² x of tanh x

    def next(self, *inputs: Expression) -> Expression:
        """The next derivative of the output, from the next one of each input; first their values."""
        k = len(self.jets[0])
        values: Expression = ca.vertcat(*inputs)
        values = values / factorial(k)
        for jet, other, (code, arguments, number) in zip(self.jets, self.others, self.operations):
            if code == ca.OP_INPUT:
                jet.append(values[arguments[0]])
            elif code == ca.OP_CONST:
                jet.append(sx(number if k == 0 else 0.0))
            else:
                jet.append(coefficient(code, k, jet, other, *(self.jets[i] for i in arguments)))
        return factorial(k) * ca.vertcat(*[self.jets[i][k] for i in self.results])


def coefficient(code: int, k: int, z: Jet, other: Jet, x: Jet, y: Jet = ()) -> Scalar:  # type: ignore[assignment]
    """The k-th Taylor coefficient of z = x ∘ y, from those before it."""

    def product(a: Jet, b: Jet, first: int = 0, last: int = k) -> Scalar:
        """Σ a_l b_{k−l} over l from first to last."""
        return total(a[l] * b[k - l] for l in range(first, last + 1)) if first <= last else sx(0.0)

    def chain(b: Jet) -> Scalar:
        """(∫ b dx)_k = Σ l/k x_l b_{k−l}."""
        return total(l / k * x[l] * b[k - l] for l in range(1, k + 1))

    if code == ca.OP_ADD:
        return x[k] + y[k]
    if code == ca.OP_SUB:
        return x[k] - y[k]
    if code == ca.OP_NEG:
        return -x[k]
    if code == ca.OP_TWICE:
        return 2 * x[k]
    if code == ca.OP_MUL:
        return product(x, y)
    if code == ca.OP_SQ:
        return product(x, x)
    if code == ca.OP_DIV:
        return (x[k] - product(z, y, 0, k - 1)) / y[0]
    if code == ca.OP_INV:
        return 1 / x[0] if k == 0 else -product(z, x, 0, k - 1) / x[0]
    if code == ca.OP_SQRT:
        return ca.sqrt(x[0]) if k == 0 else (x[k] - product(z, z, 1, k - 1)) / (2 * z[0])
    if code == ca.OP_EXP:
        return ca.exp(x[0]) if k == 0 else chain(z)
    if code in (ca.OP_SIN, ca.OP_COS):
        sine = code == ca.OP_SIN
        if k == 0:
            other.append(ca.cos(x[0]) if sine else ca.sin(x[0]))
            return ca.sin(x[0]) if sine else ca.cos(x[0])
        found = chain(other) if sine else -chain(other)
        other.append(-chain(z) if sine else chain(z))
        return found
    if code == ca.OP_TANH:
        found = ca.tanh(x[0]) if k == 0 else chain(other)
        squares = [*z, found]
        other.append((1 if k == 0 else 0) - product(squares, squares))
        return found
    raise ValueError(f"Taylor arithmetic has no rule for the operation {code} of CasADi")
