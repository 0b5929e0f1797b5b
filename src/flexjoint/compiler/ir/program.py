"""A Program: straight-line code over doubles, value-numbered, with explicit multiply-adds.

    %0 = input q[0]
    %1 = sin %0
    %2 = const 9.81
    %3 = mul %1, %2                     -> tau[0]

The reference interpreter, the LLVM and the C backends execute it.  Each value is the result of one operation on earlier
values; `ARITY` lists the operations and `reference.py` defines them.  Comparisons give 1.0 or 0.0; `select(c, x, y)` is
x where c is not 0; `xor` is that of the bits of whole numbers from 0 up to 2⁵².  One operation has structure: `scan`
repeats a Program of its own a fixed number of times, and its results are `item`s.  `pack` and the four `lane`s make and
read packed values (packing.py), which only code for one row has.

`Builder` gives equal expressions one value and moves negations outwards (x + (−y) is x − y, −x·y is −(x·y)), so that
they end in the sign of a fused multiply-add.  `pipeline.py` lists the passes.
"""

from __future__ import annotations

import math
import struct
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, TypeVar

T = TypeVar("T")

ARITY = {
    "add": 2, "sub": 2, "mul": 2, "div": 2, "neg": 1, "fma": 3, "sqrt": 1, "abs": 1, "floor": 1,
    "lt": 2, "le": 2, "eq": 2, "select": 3, "xor": 2,
    "sin": 1, "cos": 1, "exp": 1, "log": 1, "atan2": 2, "tanh": 1, "cbrt": 1, "sinh": 1, "cosh": 1,
    "asin": 1, "acos": 1,
    "pack": 4, "lane0": 1, "lane1": 1, "lane2": 1, "lane3": 1,
}  # fmt: skip
LEAVES = frozenset({"const", "input"})
LANES = ("lane0", "lane1", "lane2", "lane3")
NORMAL_FORMS = {name: f"_{name}" for name in ARITY}  # methods of a Builder, for those that have one
COMMUTATIVE = frozenset({"add", "mul", "eq", "xor"})
COUNTED = {"add": 1, "sub": 1, "mul": 1, "div": 1, "fma": 2}


class Array(NamedTuple):
    """An input or output: its name, shape, unit and, where they exist, the names of its elements."""

    name: str
    shape: tuple[int, ...]
    unit: str = ""
    labels: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return math.prod(self.shape)


class Op(NamedTuple):
    """One value: `name` applied to earlier values, or a leaf: ("const", (), x) or ("input", (array, element)).

    A scan's args are its loop's start, xs row by row and shared values; ("item", (scan, k)) is its k-th result.
    """

    name: str
    args: tuple[int, ...] = ()
    constant: float = 0.0
    loop: Loop | None = None

    @property
    def operands(self) -> tuple[int, ...]:
        return () if self.name in LEAVES else self.args[:1] if self.name == "item" else self.args

    @property
    def computed(self) -> bool:
        """By an operation of `ARITY`: neither found in memory, as a leaf or an item, nor a scan."""
        return self.name in ARITY

    def on(self, new: Mapping[int, int]) -> Op:
        """The same operation on values called new[x]."""
        name, args, constant, loop = self
        if name in LEAVES:
            return self
        args = (new[args[0]], args[1]) if name == "item" else tuple([new[x] for x in args])
        return tuple.__new__(Op, (name, args, constant, loop))  # half the time of Op(...)


def unsigned(code: Sequence[Op], x: int) -> int:
    """The value without its negations, which belong to what uses it."""
    while code[x].name == "neg":
        x = code[x].args[0]
    return x


class Loop(NamedTuple):
    """`turns` times body(carry, x, table, shared) -> (carry, y), from the last row to the first if `reverse`.

    Turn k reads row k of the xs, computed before the loop, and of the table of constants, and writes row k of the ys.
    The results of the scan are the last carry and then the ys, row by row.
    """

    turns: int
    body: Program
    table: tuple[tuple[float, ...], ...]
    reverse: bool = False

    @property
    def rows(self) -> Sequence[int]:
        """In the order of the turns."""
        return range(self.turns)[::-1] if self.reverse else range(self.turns)

    @property
    def sizes(self) -> dict[str, int]:
        """Elements of carry, x, table, shared and y."""
        return {array.name: array.size for array in (*self.body.inputs, *self.body.outputs)}

    @property
    def results(self) -> int:
        return self.sizes["carry"] + self.turns * self.sizes["y"]

    def split(self, args: Sequence[T]) -> tuple[Sequence[T], list[Sequence[T]], Sequence[T]]:
        """start, xs by rows, shared."""
        n, m = self.sizes["carry"], self.sizes["x"]
        end = n + self.turns * m
        return args[:n], [args[n + k * m : n + (k + 1) * m] for k in range(self.turns)], args[end:]


@dataclass(frozen=True)
class Program:
    """`code[i]` computes value i; `results[k][e]` is the value of element e of output k."""

    name: str
    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    code: tuple[Op, ...]
    results: tuple[tuple[int, ...], ...]
    packed: Program | None = None  # the same with packed values, for one row

    def renamed(self, code: Sequence[Op], new: Mapping[int, int]) -> Program:
        """The same program with other code, in which value x is called new[x]."""
        results = tuple(tuple(new[x] for x in row) for row in self.results)
        return replace(self, code=tuple(code), results=results)

    def with_loop_bodies(self, change: Callable[[Program], Program]) -> Program:
        """The same program with every loop's body changed."""
        if not any(op.loop for op in self.code):
            return self
        code = [op._replace(loop=op.loop._replace(body=change(op.loop.body))) if op.loop else op for op in self.code]
        return replace(self, code=tuple(code))

    @cached_property
    def places(self) -> dict[int, list[tuple[int, int]]]:
        """Of each value that is a result: (output, element) of each place it has."""
        found: dict[int, list[tuple[int, int]]] = {}
        for k, row in enumerate(self.results):
            for e, x in enumerate(row):
                found.setdefault(x, []).append((k, e))
        return found

    @property
    def packs(self) -> bool:
        """Whether there are packed values."""
        return self.counts["pack"] > 0

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each operation runs; those of a loop in every turn."""
        counts = Counter(op.name for op in self.code if op.computed)
        for op in self.code:
            if op.loop:
                counts.update({name: op.loop.turns * count for name, count in op.loop.body.counts.items()})
        return counts

    @property
    def operations(self) -> int:
        """Additions and multiplications (and divisions), as before fusion: an fma counts as two."""
        return sum(weight * self.counts[name] for name, weight in COUNTED.items())

    def __str__(self) -> str:
        """A listing: inputs and outputs, then one line a value, with the elements of outputs named on the right."""
        arrays = [("in ", x) for x in self.inputs] + [("out", x) for x in self.outputs]
        lines = [self.name, *(f"{side} {x.name}{list(x.shape)}  {x.unit}".rstrip() for side, x in arrays)]
        places: dict[int, list[str]] = {}
        for array, row in zip(self.outputs, self.results):
            for element, x in enumerate(row):
                places.setdefault(x, []).append(f"{array.name}[{element}]")
        for i, op in enumerate(self.code):
            text = f"%{i} = {op.name} {', '.join(self._operands(op))}"
            lines.append(f"{text:<36}-> {', '.join(places[i])}" if i in places else text)
            if op.loop:
                lines += [f"    {line}" for line in str(op.loop.body).splitlines()[1:]]
        return "\n".join(lines)

    def _operands(self, op: Op) -> list[str]:
        if op.name == "const":
            return [repr(op.constant)]
        if op.name == "input":
            return [f"{self.inputs[op.args[0]].name}[{op.args[1]}]"]
        if op.name == "item":
            return [f"%{op.args[0]}[{op.args[1]}]"]
        if op.loop:
            return [f"{op.loop.turns} times", *(f"%{x}" for x in op.args)]
        return [f"%{x}" for x in op.args]


class Builder:
    """Collects operations under value numbering: an expression met again is the value met before."""

    def __init__(self) -> None:
        self.code: list[Op] = []
        self._number: dict[tuple, int] = {}

    def constant(self, x: float) -> int:
        return self._value(Op("const", (), x), ("const", struct.pack("<d", x)))

    def input(self, array: int, element: int) -> int:
        return self._value(Op("input", (array, element)))

    def copied(self, op: Op, new: Mapping[int, int]) -> int:
        """Any operation of another program, whose value x is called new[x] here."""
        if op.name == "const":
            return self.constant(op.constant)
        if op.loop:
            return self.scan(op.loop, [new[x] for x in op.args])
        return self.emit(op.name, *[new[x] for x in op.args]) if op.computed else self._value(op.on(new))

    def scan(self, loop: Loop, args: Sequence[int]) -> int:
        return self._value(Op("scan", tuple(args), loop=loop), ("scan", id(loop), tuple(args)))

    def item(self, scan: int, k: int) -> int:
        return self._value(Op("item", (scan, k)))

    def emit(self, name: str, *args: int) -> int:
        """The value of an operation, in its normal form."""
        rule = getattr(self, NORMAL_FORMS[name], None)
        value = rule(*args) if rule else None
        if value is not None:
            return value
        if name in COMMUTATIVE and args[0] > args[1]:
            args = args[::-1]
        return self._value(Op(name, args))

    # Normal forms: each is exact up to the sign of a zero, but for the reciprocal of a constant.

    def _neg(self, x: int) -> int | None:
        op = self.code[x]
        if op.name == "neg":
            return op.args[0]
        if op.name == "const":
            return self.constant(-op.constant)
        return None

    def _add(self, x: int, y: int) -> int | None:
        if self._is("neg", y):
            return self.emit("sub", x, self.code[y].args[0])
        if self._is("neg", x):
            return self.emit("sub", y, self.code[x].args[0])
        if self._is("select", x) and self._is("select", y):
            return self._either(self.code[x].args, self.code[y].args)
        return None

    def _either(self, x: tuple[int, ...], y: tuple[int, ...]) -> int | None:
        """(c ? x : 0) + (not c ? y : 0), which is how CasADi writes a choice, as c ? x : y."""
        zero = self.constant(0.0)
        if x[2] == y[2] == zero:
            for one, other in ((x, y), (y, x)):
                if self.code[other[0]] == Op("eq", tuple(sorted((one[0], zero)))):
                    return self.emit("select", one[0], one[1], other[1])
        return None

    def _sub(self, x: int, y: int) -> int | None:
        if self._is("neg", y):
            return self.emit("add", x, self.code[y].args[0])
        if self._is("neg", x):
            return self.emit("neg", self.emit("add", self.code[x].args[0], y))
        if (known := self._number.get(("sub", (y, x)))) is not None:
            return self.emit("neg", known)
        return None

    def _mul(self, x: int, y: int) -> int | None:
        for a, b in ((x, y), (y, x)):
            op = self.code[a]
            if op.name == "neg":
                return self.emit("neg", self.emit("mul", op.args[0], b))
            if op.name == "const" and math.copysign(1.0, op.constant) < 0:
                return self.emit("neg", self.emit("mul", self.constant(-op.constant), b))
            if op.name == "const" and op.constant == 1.0:
                return b
        return None

    def _div(self, x: int, y: int) -> int | None:
        if self._is("neg", x):
            return self.emit("neg", self.emit("div", self.code[x].args[0], y))
        if self._is("neg", y):
            return self.emit("neg", self.emit("div", x, self.code[y].args[0]))
        divisor = self.code[y].constant
        if self._is("const", y) and sys.float_info.min <= abs(divisor) <= 1 / sys.float_info.min:
            return self.emit("mul", x, self.constant(1.0 / divisor))
        return None

    def _is(self, name: str, x: int) -> bool:
        return self.code[x].name == name

    def _value(self, op: Op, key: tuple | None = None) -> int:
        key = key or (op.name, op.args)
        value = self._number.get(key)
        if value is None:
            value = self._number[key] = len(self.code)
            self.code.append(op)
        return value
