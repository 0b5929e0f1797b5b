"""From a Program to LLVM IR text: one function `i64 kernel(double **in, double **out)`.

The function evaluates one row, or several at once, one in each lane of the vector registers.  Code for one row may
have packed values (packing.py); its plain values are then in all lanes.
It reads each input array through in[k] and writes each output array through out[k], row after row, and returns a
word whose bit r is set if a result of row r is not finite.  Inputs and outputs must not overlap (the caller sees to
that), so loads are marked invariant.  No fast-math flag is used: the operations are exactly the Program's, in every
lane.

Above `WHOLE` values the code is cut into internal functions that pass values on through a scratch buffer: LLVM's
time grows faster than the length of a block (mass matrix at N = 100: 12 s in pieces of 2000, 5 s in pieces of 500).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from functools import partialmethod
from typing import NamedTuple

from . import elementary
from .program import ARITY, LANES, Op, Program, by_critical_path, chunks, in_recursion_order
from .reference import apply

WHOLE = 2500  # up to so many values one function
CHUNK = 500  # values a function beyond
PACKED_WHOLE, PACKED_CHUNK = 12_000, 2000  # with packed values; elastic N = 30: 20 % faster than in pieces of 500
ANGLE_LANES = 4  # sines and cosines of inputs are taken four at a time

DECLARATIONS = """\
declare {t} @llvm.fma.{s}({t}, {t}, {t})
declare {t} @llvm.sqrt.{s}({t})
declare {t} @llvm.fabs.{s}({t})
declare {t} @llvm.floor.{s}({t})
declare {t} @llvm.copysign.{s}({t}, {t})
"""


class Emitter:
    """Arithmetic (see elementary.py) whose numbers are SSA names of `lanes` doubles; collects IR lines."""

    def __init__(self, lines: list[str], lanes: int = 1):
        self.lines = lines
        self.lanes = lanes
        self.double, self.suffix = ("double", "f64") if lanes == 1 else (f"<{lanes} x double>", f"v{lanes}f64")
        self.i1 = "i1" if lanes == 1 else f"<{lanes} x i1>"
        self.i64 = "i64" if lanes == 1 else f"<{lanes} x i64>"
        self.source: dict[str, tuple[str, int]] = {}

    def put(self, text: str) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"  {name} = {text}")
        return name

    def const(self, x: float) -> str:
        literal = f"0x{struct.pack('>d', x).hex().upper()}"
        return literal if self.lanes == 1 else f"splat (double {literal})"

    def integer(self, x: int) -> str:
        return str(x) if self.lanes == 1 else f"splat (i64 {x})"

    def binary(self, instruction: str, a: str, b: str) -> str:
        return self.put(f"{instruction} {self.double} {a}, {b}")

    def intrinsic(self, name: str, *args: str) -> str:
        typed = ", ".join(f"{self.double} {x}" for x in args)
        return self.put(f"call {self.double} @llvm.{name}.{self.suffix}({typed})")

    def add(self, a: str, b: str) -> str:
        return self.binary("fadd", a, b)

    def sub(self, a: str, b: str) -> str:
        return self.binary("fsub", a, b)

    def mul(self, a: str, b: str) -> str:
        return self.binary("fmul", a, b)

    def div(self, a: str, b: str) -> str:
        return self.binary("fdiv", a, b)

    def neg(self, a: str) -> str:
        return self.put(f"fneg {self.double} {a}")

    def fma(self, a: str, b: str, c: str) -> str:
        return self.intrinsic("fma", a, b, c)

    def sqrt(self, a: str) -> str:
        return self.intrinsic("sqrt", a)

    def abs(self, a: str) -> str:
        return self.intrinsic("fabs", a)

    def floor(self, a: str) -> str:
        return self.intrinsic("floor", a)

    def copysign(self, magnitude: str, sign: str) -> str:
        return self.intrinsic("copysign", magnitude, sign)

    def lt(self, a: str, b: str) -> str:
        return self.binary("fcmp olt", a, b)

    def le(self, a: str, b: str) -> str:
        return self.binary("fcmp ole", a, b)

    def eq(self, a: str, b: str) -> str:
        return self.binary("fcmp oeq", a, b)

    def select(self, mask: str, a: str, b: str) -> str:
        return self.put(f"select {self.i1} {mask}, {self.double} {a}, {self.double} {b}")

    def gather(self, scalars: Sequence[str]) -> str:
        """A register with these scalars in its first lanes, zero in the others."""
        register = "zeroinitializer"
        for lane, x in enumerate(scalars):
            register = self.put(f"insertelement {self.double} {register}, double {x}, i32 {lane}")
        return register

    def spread(self, scalar: str) -> str:
        """A register with this scalar in every lane."""
        if self.lanes == 1:
            return scalar
        first = self.put(f"insertelement {self.double} poison, double {scalar}, i32 0")
        return self.shuffle(first, first, [0] * self.lanes)

    def shuffle(self, a: str, b: str, lanes: Sequence[int]) -> str:
        """Lanes of a, counted from 0, and of b, counted on."""
        mask = ", ".join(f"i32 {k}" for k in lanes)
        return self.put(f"shufflevector {self.double} {a}, {self.double} {b}, <{self.lanes} x i32> <{mask}>")

    def mask(self, truth: str, rows: int) -> str:
        """Bit r is lane r, of the first `rows` lanes."""
        bits = truth if self.lanes == 1 else self.put(f"bitcast {self.i1} {truth} to i{self.lanes}")
        return self.put(f"and i64 {self.put(f'zext i{self.lanes} {bits} to i64')}, {(1 << rows) - 1}")

    def extract(self, register: str, lane: int) -> str:
        if self.lanes == 1:
            return register
        return self.put(f"extractelement {self.double} {register}, i32 {lane}")

    # Packed values.  A lane taken out is in all lanes, as plain values are; `source` remembers where it came from.

    def _lane(self, x: str, k: int) -> str:
        name = self.shuffle(x, x, [k] * self.lanes)
        self.source[name] = (x, k)
        return name

    lane0 = partialmethod(_lane, k=0)
    lane1 = partialmethod(_lane, k=1)
    lane2 = partialmethod(_lane, k=2)
    lane3 = partialmethod(_lane, k=3)

    def pack(self, *args: str) -> str:
        """Lane k from args[k], in a shuffle for each register they come from."""
        literals = [x[len("splat (") : -1] if x.startswith("splat") else "double poison" for x in args]
        constants = f"<{', '.join(literals)}>"
        sources = [(constants, k) if x.startswith("splat") else self.source.get(x, (x, k)) for k, x in enumerate(args)]
        packed = "poison"
        for register in dict.fromkeys(x for x, _ in sources):
            packed = self.shuffle(
                packed, register, [self.lanes + k if x == register else lane for lane, (x, k) in enumerate(sources)]
            )
        return packed

    # The three operations on the bits of a double.

    def exponent(self, x: str) -> str:
        shifted = self.put(f"lshr {self.i64} {self._bits(x)}, {self.integer(52)}")
        field = self.put(f"and {self.i64} {shifted}, {self.integer(0x7FF)}")
        return self.sub(self.put(f"sitofp {self.i64} {field} to {self.double}"), self.const(1023.0))

    def mantissa(self, x: str) -> str:
        fraction = self.put(f"and {self.i64} {self._bits(x)}, {self.integer((1 << 52) - 1)}")
        one = self.put(f"or {self.i64} {fraction}, {self.integer(1023 << 52)}")
        return self.put(f"bitcast {self.i64} {one} to {self.double}")

    def pow2(self, k: str) -> str:
        biased = self._bits(self.add(k, self.const(elementary.POW2_MAGIC)))
        shifted = self.put(f"shl {self.i64} {biased}, {self.integer(52)}")
        return self.put(f"bitcast {self.i64} {shifted} to {self.double}")

    def _bits(self, x: str) -> str:
        return self.put(f"bitcast {self.double} {x} to {self.i64}")


class Shape(NamedTuple):
    """How many rows the code evaluates, and how many lanes its values have: one each, as many as rows, or a pack's."""

    rows: int
    lanes: int


def kernel_ir(program: Program, rows: int = 1, symbol: str = "kernel") -> str:
    """The module's IR."""
    shape = Shape(rows, len(LANES) if program.packs else rows)
    most, piece = (PACKED_WHOLE, PACKED_CHUNK) if program.packs else (WHOLE, CHUNK)
    whole = len(program.code) <= most
    if program.packs or (whole and rows == 1):
        program = in_recursion_order(program)
    elif whole and not program.packed:
        program = by_critical_path(program)
    program, check = with_finite_check(program)
    body = chunks(len(program.code), len(program.code) if whole else piece)
    functions = []
    if len(body) == 1:
        lines = ["entry:", *_function_body(program, body[0], {}, check, shape)]
        functions.append(_define(symbol, "ptr noalias %in, ptr noalias %out", lines, shape.lanes))
    else:
        slots, size = scratch_slots(program, body)
        calls = ["entry:", f"  %scratch = alloca [{size} x {Emitter([], shape.lanes).double}], align 64"]
        for k, run in enumerate(body):
            lines = ["entry:", *_function_body(program, run, slots, check, shape)]
            parameters = "ptr noalias %in, ptr noalias %out, ptr noalias readonly %old, ptr noalias writeonly %new"
            functions.append(_define(f"{symbol}_{k}", parameters, lines, shape.lanes, internal=True))
            arguments = "ptr %in, ptr %out, ptr %scratch, ptr %scratch"
            calls.append(f"  %status{k} = call i64 @{symbol}_{k}({arguments})")
        calls.append(f"  ret i64 %status{len(body) - 1}")
        functions.append(_define(symbol, "ptr noalias %in, ptr noalias %out", calls, shape.lanes))
    widths = sorted({shape.lanes, ANGLE_LANES} if rows == 1 else {rows})
    declarations = [DECLARATIONS.format(t=e.double, s=e.suffix) for e in (Emitter([], width) for width in widths)]
    return "\n".join([*declarations, *functions, "!0 = !{}", ""])


def with_finite_check(program: Program) -> tuple[Program, int]:
    """Append Σ 0·x over all results, kept in four sums: finite if and only if every result is."""
    code = list(program.code)
    zero = len(code)
    code.append(Op("const", (), 0.0))
    sums = [zero] * 4
    for k, x in enumerate(dict.fromkeys(x for row in program.results for x in row)):
        code.append(Op("fma", (x, zero, sums[k % 4])))
        sums[k % 4] = len(code) - 1
    for x in sums[1:]:
        code.append(Op("add", (sums[0], x)))
        sums[0] = len(code) - 1
    extended = Program(program.name, program.inputs, program.outputs, tuple(code), program.results)
    return extended, sums[0]


def scratch_slots(program: Program, body: Iterable[range]) -> tuple[dict[int, int], int]:
    """A slot of the scratch buffer for each value used in a later chunk than its own.

    Slots are reused, but no chunk writes a slot that it also reads.
    """
    chunk_of = {i: k for k, run in enumerate(body) for i in run}
    last: dict[int, int] = {}
    for i, op in enumerate(program.code):
        if op.name in ARITY:
            for x in op.args:
                if program.code[x].name in ARITY and chunk_of[x] < chunk_of[i]:
                    last[x] = chunk_of[i]
    slots: dict[int, int] = {}
    free: list[int] = []
    size = 0
    for run in body:
        k = chunk_of[run[0]]
        for x in run:
            if x in last:
                if not free:
                    free.append(size)
                    size += 1
                slots[x] = free.pop()
        free.extend(slots[x] for x, end in last.items() if end == k and x in slots)
    return slots, max(size, 1)


def _function_body(program: Program, run: range, slots: dict[int, int], check: int, shape: Shape) -> list[str]:
    lines: list[str] = []
    rows, lanes = shape
    emit = Emitter(lines, lanes)
    pointers: dict[tuple[str, int], str] = {}
    value: dict[int, str] = {}

    def pointer(table: str, k: int) -> str:
        if (table, k) not in pointers:
            address = emit.put(f"getelementptr ptr, ptr %{table}, i64 {k}")
            pointers[table, k] = emit.put(f"load ptr, ptr {address}, align 8, !invariant.load !0")
        return pointers[table, k]

    def element(base: str, index: int, of: str = "double") -> str:
        return emit.put(f"getelementptr {of}, ptr {base}, i64 {index}") if index else base

    def load(array: int, index: int) -> str:
        """Element `index` of an input: of one row, in all lanes, or of each lane's."""
        base, size = pointer("in", array), program.inputs[array].size
        scalars = [
            emit.put(f"load double, ptr {element(base, row * size + index)}, align 8, !invariant.load !0")
            for row in range(rows)
        ]
        return emit.spread(scalars[0]) if rows == 1 else emit.gather(scalars)

    def store(x: str, array: int, index: int) -> None:
        base, size = pointer("out", array), program.outputs[array].size
        for row in range(rows):
            lines.append(f"  store double {emit.extract(x, row)}, ptr {element(base, row * size + index)}, align 8")

    def get(x: int) -> str:
        if x not in value:
            op = program.code[x]
            if op.name == "const":
                value[x] = emit.const(op.constant)
            elif op.name == "input":
                value[x] = load(*op.args)
            else:
                value[x] = emit.put(f"load {emit.double}, ptr {element('%old', slots[x], emit.double)}")
        return value[x]

    if rows == 1:
        _angles_first(program, run, emit, get, value)
    stores: dict[int, list[tuple[int, int]]] = {}
    for k, row in enumerate(program.results):
        for e, x in enumerate(row):
            stores.setdefault(x, []).append((k, e))
    for i in run:
        op = program.code[i]
        if op.name in ARITY and i not in value:
            value[i] = apply(emit, op.name, [get(x) for x in op.args])
        if i in slots:
            lines.append(f"  store {emit.double} {value[i]}, ptr {element('%new', slots[i], emit.double)}")
        for k, e in stores.get(i, ()):
            store(get(i), k, e)
    if check in run:
        bad = emit.binary("fcmp uno", get(check), emit.const(0.0))
        lines.append(f"  ret i64 {emit.mask(bad, rows)}")
    else:
        lines.append("  ret i64 0")
    return lines


def _angles_first(program: Program, run: range, emit: Emitter, get, value: dict[int, str]) -> None:
    """Sine and cosine of every input angle in the run, in SIMD lanes: they are half of a small kernel's time."""
    wanted: dict[int, dict[str, int]] = {}
    for i in run:
        op = program.code[i]
        if op.name in ("sin", "cos") and program.code[op.args[0]].name == "input":
            wanted.setdefault(op.args[0], {})[op.name] = i
    angles = list(wanted)
    for start in range(0, len(angles), ANGLE_LANES):
        group = angles[start : start + ANGLE_LANES]
        wide = Emitter(emit.lines, ANGLE_LANES)
        both = elementary.sincos(wide, wide.gather([emit.extract(get(x), 0) for x in group]))
        for lane, x in enumerate(group):
            for name, result in zip(("sin", "cos"), both):
                if name in wanted[x]:
                    value[wanted[x][name]] = emit.spread(wide.extract(result, lane))


def _define(name: str, parameters: str, lines: list[str], lanes: int, internal: bool = False) -> str:
    linkage, inlining = ("internal ", " noinline") if internal else ("", "")
    # LLVM does not realign the stack for spilled vector registers by itself.
    aligned = f" alignstack({8 * lanes})" if lanes > 1 else ""
    head = f"define {linkage}i64 @{name}({parameters}) nounwind{inlining}{aligned}"
    return head + " {\n" + "\n".join(lines) + "\n}\n"
