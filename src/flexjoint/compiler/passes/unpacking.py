"""Packed values as four plain ones (scalarization): what batches, C and the interpreter execute.

    z = x * pack(a, b, 0, c)        ->   z0 = x0·a;  z1 = x1·b;  z2 = 0;  z3 = x3·c

Both forms do the same operations on the same numbers.  The plain form leaves out products with a constant zero, so the
sign of a zero may differ, which is why results get a positive one, and so may the results of a row that overflows, all
of which a call returns as NaN.
"""

from __future__ import annotations

from ..ir.packing import WIDTH
from ..ir.program import LANES, Builder, Op, Program
from ..ir.reference import FloatArithmetic, apply
from .dead_code import without_dead_code

FOLDED = ("add", "sub", "mul", "fma")  # on constants: evaluated here


def unpacked(program: Program) -> Program:
    """The same Program without packed values."""
    build = LaneBuilder()
    lanes: dict[int, tuple[int, ...]] = {}  # those of a plain value are equal
    for i, op in enumerate(program.code):
        if op.name == "const":
            lanes[i] = (build.constant(op.constant),) * WIDTH
        elif not op.computed:
            lanes[i] = (build.copied(op, {x: lanes[x][0] for x in op.operands}),) * WIDTH
        elif op.name == "pack":
            lanes[i] = tuple(lanes[x][k] for k, x in enumerate(op.args))
        elif op.name in LANES:
            lanes[i] = (lanes[op.args[0]][LANES.index(op.name)],) * WIDTH
        else:
            lanes[i] = tuple(build.emit(op.name, *(lanes[x][k] for x in op.args)) for k in range(WIDTH))
    plain = program.renamed(build.code, {i: x[0] for i, x in lanes.items()})
    return without_dead_code(plain)


class LaneBuilder(Builder):
    """Also leaves out what constants in a lane make trivial; exact up to the sign of a zero."""

    def emit(self, name: str, *args: int) -> int:
        constants = [self.code[x].constant for x in args if self._is("const", x)]
        if name in FOLDED and len(constants) == len(args):
            return self.constant(apply(FloatArithmetic(), name, constants))
        return super().emit(name, *args)

    def _neg(self, x: int) -> int | None:
        return x if self._is_constant(x, 0.0) else super()._neg(x)

    def _add(self, x: int, y: int) -> int | None:
        for a, b in ((x, y), (y, x)):
            if self._is_constant(a, 0.0):
                return b
        return super()._add(x, y)

    def _sub(self, x: int, y: int) -> int | None:
        if self._is_constant(x, 0.0):
            return self.emit("neg", y)
        return x if self._is_constant(y, 0.0) else super()._sub(x, y)

    def _mul(self, x: int, y: int) -> int | None:
        for a in (x, y):
            if self._is_constant(a, 0.0):
                return a
        return super()._mul(x, y)

    def _div(self, x: int, y: int) -> int | None:
        return None  # a product with the reciprocal of a constant would round differently

    def _fma(self, x: int, y: int, z: int) -> int | None:
        for a, b in ((x, y), (y, x)):
            if self._is_constant(a, 0.0):
                return z
            if self._is_constant(a, 1.0):
                return self.emit("add", b, z)
        return self.emit("mul", x, y) if self._is_constant(z, 0.0) else None

    def _is_constant(self, x: int, value: float) -> bool:
        return self._is("const", x) and self.code[x].constant == value


def with_positive_zeros(program: Program) -> Program:
    """Zeros among the results made positive: their sign is all in which `unpacked` code may differ."""
    code = [*program.code, Op("const", (), 0.0)]
    zero = len(code) - 1
    new = {}
    for x in dict.fromkeys(x for row in program.results for x in row):
        new[x] = len(code)
        code.append(Op("add", (x, zero)))
    return program.renamed(code, new)
