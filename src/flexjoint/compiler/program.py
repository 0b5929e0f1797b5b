"""A Program: straight-line code over doubles, value-numbered, with its multiply-adds explicit.

A Program is the one description that the reference interpreter, the LLVM and the C backends execute.  Each
value is the result of one operation on earlier values; the operations and their meaning are listed in
`ARITY` and defined in `reference.py`.  Comparisons give 1.0 or 0.0; `select(c, x, y)` is x where c is not 0.
`pack` and the four `lane`s make and read packed values; only code for one row has them, see `packing.py`.

`Builder` gives equal expressions one value and keeps negations out of the way (x + (−y) is x − y, −x·y is
−(x·y)), so that they end in the sign of a fused multiply-add.  The passes after it are functions from Program
to Program: `without_dead_code`, `share_reciprocals` and `fuse`, all run by `optimise`, and `in_recursion_order`,
which a backend may ask for.
"""

from __future__ import annotations

import math
import struct
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import NamedTuple

ARITY = {
    "add": 2, "sub": 2, "mul": 2, "div": 2, "neg": 1, "fma": 3, "sqrt": 1, "abs": 1, "floor": 1,
    "lt": 2, "le": 2, "eq": 2, "select": 3,
    "sin": 1, "cos": 1, "exp": 1, "log": 1, "atan2": 2, "tanh": 1, "cbrt": 1,
    "pack": 4, "lane0": 1, "lane1": 1, "lane2": 1, "lane3": 1,
}  # fmt: skip
LANES = ("lane0", "lane1", "lane2", "lane3")
COMMUTATIVE = frozenset({"add", "mul", "eq"})
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
    """One value: `name` applied to earlier values, or a leaf: ("const", (), x) or ("input", (array, element))."""

    name: str
    args: tuple[int, ...] = ()
    constant: float = 0.0

    @property
    def operands(self) -> tuple[int, ...]:
        return self.args if self.name in ARITY else ()

    @property
    def latency(self) -> int:
        return LATENCY.get(self.name, 4) if self.name in ARITY else 0

    def on(self, new: Mapping[int, int]) -> Op:
        """The same operation on values called new[x]."""
        return self._replace(args=tuple(new[x] for x in self.args)) if self.name in ARITY else self


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

    @property
    def packs(self) -> bool:
        """Whether there are packed values."""
        return self.counts["pack"] > 0

    @cached_property
    def counts(self) -> Counter[str]:
        """How often each operation occurs, leaves left out."""
        return Counter(op.name for op in self.code if op.name in ARITY)

    @property
    def operations(self) -> int:
        """Additions and multiplications (and divisions), as before fusion: an fma counts as two."""
        return sum(weight * self.counts[name] for name, weight in COUNTED.items())


class Builder:
    """Collects operations under value numbering: an expression met again is the value met before."""

    def __init__(self) -> None:
        self.code: list[Op] = []
        self._number: dict[tuple, int] = {}

    def constant(self, x: float) -> int:
        return self._value(Op("const", (), x), ("const", struct.pack("<d", x)))

    def input(self, array: int, element: int) -> int:
        return self._value(Op("input", (array, element)))

    def emit(self, name: str, *args: int) -> int:
        """The value of an operation, in its normal form."""
        rule = getattr(self, f"_{name}", None)
        value = rule(*args) if rule else None
        if value is not None:
            return value
        if name in COMMUTATIVE:
            args = tuple(sorted(args))
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


def optimise(program: Program) -> Program:
    return fuse(share_reciprocals(without_dead_code(program)))


def without_dead_code(program: Program) -> Program:
    live = [False] * len(program.code)
    for row in program.results:
        for value in row:
            live[value] = True
    for i in range(len(program.code) - 1, -1, -1):
        op = program.code[i]
        if live[i] and op.name in ARITY:
            for x in op.args:
                live[x] = True
    renamed: dict[int, int] = {}
    code: list[Op] = []
    for i, op in enumerate(program.code):
        if live[i]:
            renamed[i] = len(code)
            code.append(op.on(renamed))
    return program.renamed(code, renamed)


def share_reciprocals(program: Program) -> Program:
    """Where two or more divisions share a divisor, multiply by its reciprocal: a division costs about ten
    multiplications.  (CasADi writes x·(1/d) as x/d.)"""
    divisions = Counter(op.args[1] for op in program.code if op.name == "div")
    return rebuild(
        program,
        lambda build, op, args: (
            build.emit("mul", args[0], build.emit("div", build.constant(1.0), args[1]))
            if op.name == "div" and divisions[op.args[1]] > 1
            else build.emit(op.name, *args)
        ),
    )


def rebuild(program: Program, step) -> Program:
    """Pass every operation through `step(builder, op, new_args) -> value`."""
    build = Builder()
    new: dict[int, int] = {}
    for i, op in enumerate(program.code):
        if op.name == "const":
            new[i] = build.constant(op.constant)
        elif op.name == "input":
            new[i] = build.input(*op.args)
        else:
            new[i] = step(build, op, tuple(new[x] for x in op.args))
    return without_dead_code(program.renamed(build.code, new))


def fuse(program: Program) -> Program:
    """Turn a product that is only added to something into a fused multiply-add: one rounding instead of two,
    the same bits in every backend, and a quarter of the time saved."""
    uses = use_counts(program)
    code: list[Op] = []
    new: dict[int, int] = {}

    def put(op: Op) -> int:
        code.append(op)
        return len(code) - 1

    def product(x: int) -> tuple[int, int] | None:
        op = program.code[x]
        return (new[op.args[0]], new[op.args[1]]) if op.name == "mul" and uses[x] == 1 else None

    for i, op in enumerate(program.code):
        if op.name not in ARITY:
            new[i] = put(op)
            continue
        args = tuple(new[x] for x in op.args)
        if op.name == "add" and (ab := product(op.args[1])):
            new[i] = put(Op("fma", (*ab, args[0])))
        elif op.name == "add" and (ab := product(op.args[0])):
            new[i] = put(Op("fma", (*ab, args[1])))
        elif op.name == "sub" and (ab := product(op.args[1])):
            new[i] = put(Op("fma", (put(Op("neg", (ab[0],))), ab[1], args[0])))
        elif op.name == "sub" and (ab := product(op.args[0])):
            new[i] = put(Op("fma", (*ab, put(Op("neg", (args[1],))))))
        else:
            new[i] = put(op._replace(args=args))
    return without_dead_code(program.renamed(code, new))


def in_recursion_order(program: Program) -> Program:
    """Operations sorted by the last joint they depend on, then by the last joint they act on, that one first.

    On a recursion over links this is link after link outwards, then inwards, where CasADi's order by depth from the
    outputs goes up and down once for every order of derivative: half as many values are alive at a time (198 -> 112
    for the elastic 7R), which gains 7 to 10 % of the time where all fits into one function; code cut into pieces is
    10 % faster in CasADi's order.  Joints are elements of inputs and outputs.  An operand depends on no more and acts
    on no less than its user, so the order is always a valid one.
    """
    code = program.code
    depends, acts = last_joints(code), [-1] * len(code)
    for row in program.results:
        for element, x in enumerate(row):
            acts[x] = max(acts[x], element)
    for i in range(len(code) - 1, -1, -1):
        if code[i].name in ARITY:
            for x in code[i].args:
                acts[x] = max(acts[x], acts[i])
    return reordered(program, sorted(range(len(code)), key=lambda i: (depends[i], -acts[i], i)))


def joint_by_joint(program: Program) -> Program:
    """Operations sorted by the last joint they depend on, then the longest way to a result first.

    Three orders of derivatives are independent operations enough, so that blocks of rows are short of registers.  This
    gains 5 to 30 % on `by_critical_path` for random elastic robots of three to seven joints.
    """
    depends, height = last_joints(program.code), heights(program.code)
    return reordered(program, sorted(range(len(program.code)), key=lambda i: (depends[i], -height[i], i)))


def last_joints(code: Sequence[Op]) -> list[int]:
    """The last element of an input that each value depends on."""
    depends = [-1] * len(code)
    for i, op in enumerate(code):
        depends[i] = op.args[1] if op.name == "input" else max((depends[x] for x in op.args), default=-1)
    return depends


def heights(code: Sequence[Op]) -> list[int]:
    """Cycles from the start of each operation's users to the end of the longest way to a result."""
    height = [0] * len(code)
    for i in range(len(code) - 1, -1, -1):
        for x in code[i].operands:
            height[x] = max(height[x], height[i] + code[x].latency)
    return height


def reordered(program: Program, order: Sequence[int]) -> Program:
    new: dict[int, int] = {}
    code: list[Op] = []
    for i in order:
        new[i] = len(code)
        code.append(program.code[i].on(new))
    return program.renamed(code, new)


LATENCY = {"neg": 0, "div": 13, "sqrt": 18, "sin": 64, "cos": 64}  # cycles, about; 4 for the others
ISSUED = 2  # products and sums a cycle


def by_critical_path(program: Program) -> Program:
    """Operations in the order in which a processor with two units would run them, the longest way to a result first.

    A loop over blocks of rows is short of independent operations rather than of registers: against the recursion's
    own order this gains 25 % for the rigid 7R, and nothing for the elastic one, which is short of both.
    """
    code = program.code
    height = heights(code)
    users: list[list[int]] = [[] for _ in code]
    waiting = [0] * len(code)
    for i, op in enumerate(code):
        waiting[i] = len(set(op.operands))
        for x in set(op.operands):
            users[x].append(i)
    ready = [(-height[i], i) for i in range(len(code)) if not waiting[i]]
    later: list[tuple[int, int]] = []  # (cycle, value)
    heapify(ready)
    new: dict[int, int] = {}
    order: list[Op] = []
    cycle = 0
    while len(order) < len(code):
        while later and later[0][0] <= cycle:
            i = heappop(later)[1]
            heappush(ready, (-height[i], i))
        issued = 0
        while ready and issued < ISSUED:
            i = heappop(ready)[1]
            new[i] = len(order)
            order.append(code[i].on(new))
            issued += code[i].latency > 0
            for user in users[i]:
                waiting[user] -= 1
                if not waiting[user] and code[i].latency:
                    heappush(later, (cycle + code[i].latency, user))
                elif not waiting[user]:
                    heappush(ready, (-height[user], user))
        cycle += 1
    return program.renamed(order, new)


def use_counts(program: Program) -> list[int]:
    uses = [0] * len(program.code)
    for op in program.code:
        if op.name in ARITY:
            for x in op.args:
                uses[x] += 1
    for row in program.results:
        for x in row:
            uses[x] += 1
    return uses


def chunks(length: int, size: int) -> Sequence[range]:
    """Split `length` items into runs of nearly equal length, none longer than `size`."""
    count = max(1, math.ceil(length / size))
    bounds = [length * k // count for k in range(count + 1)]
    return [range(a, b) for a, b in pairwise(bounds)]
