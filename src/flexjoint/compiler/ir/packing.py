"""Four numbers in one vector register: packed values in SX expressions, and what they mean in a Program.

An algorithm that does the same to several numbers, such as the derivatives of one component of a vector, may carry
them as one SX symbol.  Every operation on packed values acts in each of the four lanes; a plain value joins in with
all lanes equal.  Only two things go across lanes: `pack` makes a packed value of four plain ones, `lane` takes one
out.  CasADi knows neither, so both return fresh symbols, whose definitions are recorded for the tracer.  CasADi cannot
differentiate through them either: an algorithm packs only while its own kernel is traced.

A Program with packed values is code for one row.  `unpacked` gives every lane a value of its own, less what constants
make trivial: the same operations on the same numbers, which is what batches, C and the interpreter execute.  Left out
are products with zero, so the two may differ in the sign of a zero, which is why results get a positive one, and, where
numbers overflow, in which results of a row are NaN.  The status word is the same, and a call makes such a row NaN.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from ...lazy import ca
from ..passes.optimise import without_dead_code
from .program import LANES, Builder, Op, Program
from .reference import FloatArithmetic, apply

WIDTH = len(LANES)
FOLDED = ("add", "sub", "mul", "fma")


class Definition(NamedTuple):
    """A fresh symbol, and the operation of the Program on expressions that it stands for."""

    symbol: Any
    name: str
    args: tuple[Any, ...]


_definitions: ContextVar[list[Definition] | None] = ContextVar("definitions", default=None)


@contextmanager
def recording() -> Iterator[list[Definition]]:
    """Within it `pack` and `lane` work; gives their definitions, each after those it depends on."""
    definitions: list[Definition] = []
    token = _definitions.set(definitions)
    try:
        yield definitions
    finally:
        _definitions.reset(token)


def allowed() -> bool:
    return _definitions.get() is not None


def pack(*lanes: Any) -> Any:
    """A packed value of four plain ones."""
    return _defined("pack", lanes)


def lane(x: Any, k: int) -> Any:
    """Lane k of a packed value."""
    return _defined(LANES[k], (x,))


def shuffled(x: Any, lanes: Sequence[int]) -> Any:
    """The packed value with x's lanes[k] in lane k."""
    return pack(*(lane(x, k) for k in lanes))


def _defined(name: str, args: tuple[Any, ...]) -> Any:
    args = tuple(x if isinstance(x, ca.SX) else ca.SX(x) for x in args)
    values = [x for x in args if not x.is_zero()]
    if not values:
        return ca.SX(0)
    if all(x.is_op(ca.OP_NEG) for x in values):  # signs are kept outside, where a multiply-add takes them in
        return -_defined(name, tuple(-x for x in args))
    definitions = _definitions.get()
    assert definitions is not None, "packed values exist only while a kernel is traced"
    symbol = ca.SX.sym(f"{name}_{len(definitions)}")
    definitions.append(Definition(symbol, name, args))
    return symbol


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
    return without_dead_code(program.renamed(build.code, {i: x[0] for i, x in lanes.items()}))


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
