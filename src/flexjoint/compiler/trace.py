"""From a CasADi SX function to a Program: each SX instruction becomes one operation, or a few."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..errors import FlexjointError
from .packing import Definition, unpacked, with_positive_zeros
from .program import Array, Builder, Program, joint_by_joint, optimise


def trace(
    name: str,
    inputs: Sequence[tuple[Array, Any]],
    outputs: Sequence[tuple[Array, Any]],
    definitions: Sequence[Definition] = (),
) -> Program:
    """The Program that computes the SX expressions `outputs` from the SX symbols `inputs`.

    Matrices are stored row by row, as NumPy does; CasADi stores columns.  It works through the outputs in their order:
    definitions come first, so that each is known where its symbol is met.
    """
    import casadi as ca

    function = ca.Function(
        "traced",
        [*(ca.vec(symbol.T) for _, symbol in inputs), *(d.symbol for d in definitions)],
        [
            *(ca.densify(ca.vertcat(*d.args)) for d in definitions),
            *(ca.vec(ca.densify(expression).T) for _, expression in outputs),
        ],
    )
    build = Builder()
    rules = _rules(ca)
    work: dict[int, int] = {}
    results: list[dict[int, int]] = [{} for _ in range(function.n_out())]
    for k in range(function.n_instructions()):
        code = function.instruction_id(k)
        into, args = function.instruction_output(k), function.instruction_input(k)
        if code == ca.OP_CONST:
            work[into[0]] = build.constant(function.instruction_constant(k))
        elif code == ca.OP_INPUT and args[0] >= len(inputs):
            d = args[0] - len(inputs)
            work[into[0]] = build.emit(definitions[d].name, *(results[d][k] for k in range(len(definitions[d].args))))
        elif code == ca.OP_INPUT:
            work[into[0]] = build.input(*args)
        elif code == ca.OP_OUTPUT:
            results[into[0]][into[1]] = work[args[0]]
        elif code in rules:
            work[into[0]] = rules[code](build, *(work[x] for x in args))
        else:
            raise FlexjointError(f"{name}: CasADi operation {_name(ca, code)} is not supported in a kernel")
    program = Program(
        name,
        tuple(array for array, _ in inputs),
        tuple(array for array, _ in outputs),
        tuple(build.code),
        tuple(tuple(row[e] for e in range(len(row))) for row in results[len(definitions) :]),
    )
    program = optimise(program)
    if not definitions:
        return program
    return replace(joint_by_joint(with_positive_zeros(unpacked(program))), packed=with_positive_zeros(program))


def _rules(ca: Any) -> dict[int, Callable[..., int]]:
    """One expansion for every SX operation that has a meaning here."""

    def op(name: str) -> Callable[..., int]:
        return lambda b, *x: b.emit(name, *x)

    def one(b: Builder) -> int:
        return b.constant(1.0)

    def zero(b: Builder) -> int:
        return b.constant(0.0)

    def negated(b: Builder, x: int) -> int:
        return b.emit("eq", x, zero(b))

    def truth(b: Builder, x: int) -> int:
        return b.emit("select", x, one(b), zero(b))

    def minimum(b: Builder, x: int, y: int) -> int:  # NaN if either is NaN
        return b.emit("select", b.emit("le", x, y), x, b.emit("select", b.emit("eq", x, x), y, x))

    def sign(b: Builder, x: int) -> int:
        minus = b.emit("select", b.emit("lt", x, zero(b)), b.constant(-1.0), x)
        return b.emit("select", b.emit("lt", zero(b), x), one(b), minus)

    def power(b: Builder, x: int, y: int) -> int:
        exponent = b.code[y]
        if exponent.name == "const" and abs(exponent.constant) <= 64 and exponent.constant == int(exponent.constant):
            value = repeated_squares(b, x, abs(int(exponent.constant)))
            return b.emit("div", one(b), value) if exponent.constant < 0 else value
        if exponent.name == "const" and exponent.constant == 1 / 3:  # the real root, of negative numbers too
            return b.emit("cbrt", x)
        # of positive bases only; NaN otherwise
        return b.emit("exp", b.emit("mul", y, b.emit("log", x)))

    def square(b: Builder, x: int) -> int:
        return b.emit("mul", x, x)

    def root(b: Builder, x: int) -> int:
        return b.emit("sqrt", b.emit("sub", one(b), square(b, x)))

    rules: dict[int, Callable[..., int]] = {
        ca.OP_ASSIGN: lambda b, x: x,
        ca.OP_ADD: op("add"),
        ca.OP_SUB: op("sub"),
        ca.OP_MUL: op("mul"),
        ca.OP_DIV: op("div"),
        ca.OP_NEG: op("neg"),
        ca.OP_SQ: square,
        ca.OP_TWICE: lambda b, x: b.emit("add", x, x),
        ca.OP_INV: lambda b, x: b.emit("div", one(b), x),
        ca.OP_SQRT: op("sqrt"),
        ca.OP_FABS: op("abs"),
        ca.OP_FLOOR: op("floor"),
        ca.OP_CEIL: lambda b, x: b.emit("neg", b.emit("floor", b.emit("neg", x))),
        ca.OP_SIN: op("sin"),
        ca.OP_COS: op("cos"),
        ca.OP_TAN: lambda b, x: b.emit("div", b.emit("sin", x), b.emit("cos", x)),
        ca.OP_ATAN2: op("atan2"),
        ca.OP_ATAN: lambda b, x: b.emit("atan2", x, one(b)),
        ca.OP_ASIN: lambda b, x: b.emit("atan2", x, root(b, x)),
        ca.OP_ACOS: lambda b, x: b.emit("atan2", root(b, x), x),
        ca.OP_EXP: op("exp"),
        ca.OP_LOG: op("log"),
        ca.OP_TANH: op("tanh"),
        ca.OP_POW: power,
        ca.OP_CONSTPOW: power,
        ca.OP_LT: op("lt"),
        ca.OP_LE: op("le"),
        ca.OP_EQ: op("eq"),
        ca.OP_NE: lambda b, x, y: negated(b, b.emit("eq", x, y)),
        ca.OP_NOT: negated,
        ca.OP_AND: lambda b, x, y: b.emit("select", x, truth(b, y), zero(b)),
        ca.OP_OR: lambda b, x, y: b.emit("select", x, one(b), truth(b, y)),
        ca.OP_IF_ELSE_ZERO: lambda b, c, x: b.emit("select", c, x, zero(b)),
        ca.OP_FMIN: minimum,
        ca.OP_FMAX: lambda b, x, y: b.emit("neg", minimum(b, b.emit("neg", x), b.emit("neg", y))),
        ca.OP_SIGN: sign,
    }
    return rules


def repeated_squares(b: Builder, x: int, n: int) -> int:
    value = b.constant(1.0)
    while n:
        if n & 1:
            value = b.emit("mul", value, x)
        x, n = b.emit("mul", x, x), n >> 1
    return value


def _name(ca: Any, code: int) -> str:
    return next((x for x in dir(ca) if x.startswith("OP_") and getattr(ca, x) == code), str(code))
