"""The lines of one function: a range of a Program's operations, for one row or several.

    %3 = mul %0, %1        ->   %v5 = fmul <8 x double> %v2, %v4

In a kernel's own functions the arrays are the caller's, one row after the other; in the step of a loop the lanes of a
value are together.
"""

from __future__ import annotations

from typing import NamedTuple

from ..ir import elementary
from ..ir.reference import apply
from ..passes.superword import ANGLES, EXCHANGEABLE, SINES, of_plain_angle
from .emitter import Emitter
from .loop_buffers import LoopBuffers, Run, read_runs
from .outlining import Outlined


class Shape(NamedTuple):
    """The rows that the code evaluates, and the lanes of its values: 1, as many as rows, or those of a packed value."""

    rows: int
    lanes: int


class FunctionBody:
    """Collects the lines in `emit.lines`; values are computed in order, and found or loaded where they are used.

    `step` is True in the body of a loop; a kernel's own functions compute a check, the last value.  `strided` code
    reads the distance between the rows of an output from %strides.
    """

    def __init__(
        self,
        parts: Outlined,
        values: range,
        buffers: LoopBuffers,
        step: bool,
        strided: bool,
        shape: Shape,
        table: dict[str, int] | None,
    ):
        self.parts = parts
        self.program = parts.program
        self.values = values
        self.buffers = buffers
        self.step = step
        self.strided = strided
        self.rows = shape.rows
        self.emit = Emitter([], shape.lanes, table)
        self.two = Emitter(self.emit.lines, 2)
        self.value: dict[int, str] = {}
        self.both: dict[int, str] = {}  # a pair in one register, by the first value
        self.first = {b: a for a, b in parts.pairs.items()}
        self.pointers: dict[tuple[str, int], str] = {}

    def text(self) -> list[str]:
        for i in self.values:
            self.compute(i)
            self.keep(i)
            for place in self.program.places.get(i, ()):
                if place not in self.buffers.copied:
                    self.store(self.get(i), *place)
        self.end()
        return self.emit.lines

    def compute(self, i: int) -> None:
        op, pairs = self.program.code[i], self.parts.pairs
        if op.loop:
            self.repeat(i)
        elif op.name in SINES and self.rows == 1 and of_plain_angle(self.program, i):
            if i in self.parts.bundles:
                self.sines(self.parts.bundles[i])
        elif i in pairs:
            self.both[i] = apply(self.two, op.name, [self.pair(*x) for x in self.operands_of_pair(i, pairs[i])])
        elif op.computed and i not in self.first:
            self.value[i] = apply(self.emit, op.name, [self.get(x) for x in op.args])

    # Values ---------------------------------------------------------------------------------------------------------

    def get(self, x: int) -> str:
        if x not in self.value:
            self.value[x] = self.found(x)
        return self.value[x]

    def found(self, x: int) -> str:
        """A value without a register of its own: a leaf, a negation, half of a pair, or in memory."""
        op, emit = self.program.code[x], self.emit
        first = self.first.get(x, x)
        if op.name == "const":
            return emit.const(op.constant)
        if op.name == "input":
            return self.load(*op.args)
        if op.name == "neg":
            return emit.neg(self.get(op.args[0]))
        if op.name == "item":
            return emit.put(f"load {emit.double}, ptr {emit.element('%buffers', self.buffers.result(*op.args))}")
        if first in self.both:
            return self.two.extract(self.both[first], int(x != first))
        return emit.put(f"load {emit.double}, ptr {emit.element('%old', self.parts.slots[x])}")

    def pair(self, a: int, b: int) -> str:
        """Two values in a register."""
        one, other = self.program.code[a], self.program.code[b]
        if one.name == other.name == "neg":
            return self.two.neg(self.pair(one.args[0], other.args[0]))
        if self.parts.pairs.get(a) == b:
            if a not in self.both:
                place = self.emit.element("%old", self.parts.slots[a])
                self.both[a] = self.two.put(f"load {self.two.double}, ptr {place}, align 8")
            return self.both[a]
        if a == b:
            return self.two.const(one.constant) if one.name == "const" else self.two.spread(self.get(a))
        return self.two.gather([self.get(a), self.get(b)])

    def operands_of_pair(self, a: int, b: int) -> list[tuple[int, int]]:
        """The operands of both, lane by lane; those of a product or sum are exchanged where they match better so."""
        one, other = self.program.code[a], self.program.code[b]
        args = list(other.args)
        if one.name in EXCHANGEABLE and not all(map(self.match, one.args, args)):
            args[:2] = args[1::-1]
        return list(zip(one.args, args))

    def match(self, x: int, y: int) -> bool:
        """Whether two values are equal or a pair, up to their signs."""
        one, other = self.program.code[x], self.program.code[y]
        signs = one.name == other.name == "neg"
        return self.match(one.args[0], other.args[0]) if signs else x == y or self.parts.pairs.get(x) == y

    def sines(self, bundle: range) -> None:
        """Sines and cosines in the lanes of one register: they are half of a small kernel's time."""
        code, pairs = self.program.code, self.parts.pairs
        angles = list(dict.fromkeys(code[i].args[0] for i in bundle))
        wide = Emitter(self.emit.lines, ANGLES)
        register = wide.gather([self.emit.extract(self.get(x), 0) for x in angles])
        results = dict(zip(SINES, elementary.sincos(wide, register)))
        for i in bundle:
            result, lane = results[code[i].name], angles.index(code[i].args[0])
            self.value[i] = self.emit.spread(wide.extract(result, lane))
            if i in pairs:
                self.both[i] = wide.part(result, lane, 2)

    # Memory ---------------------------------------------------------------------------------------------------------

    def keep(self, i: int) -> None:
        """Stores a value in its slot if a later function needs it; a pair at once."""
        slots, pairs, emit = self.parts.slots, self.parts.pairs, self.emit
        if i not in slots or self.first.get(i) in slots:
            return
        both = i in pairs and pairs[i] in slots
        x = f"{self.two.double} {self.both[i]}" if both else f"{emit.double} {self.get(i)}"
        emit.lines.append(f"  store {x}, ptr {emit.element('%new', slots[i])}{', align 8' if both else ''}")

    def pointer(self, table: str, k: int) -> str:
        if (table, k) not in self.pointers:
            address = self.emit.put(f"getelementptr ptr, ptr %{table}, i64 {k}")
            self.pointers[table, k] = self.emit.put(f"load ptr, ptr {address}, align 8, !invariant.load !0")
        return self.pointers[table, k]

    def load(self, array: int, index: int) -> str:
        """Element `index` of an input: of one row, in all lanes, or of the row of each lane."""
        emit, base, size = self.emit, self.pointer("in", array), self.program.inputs[array].size
        if self.step and self.program.inputs[array].name != "table":
            return emit.put(f"load {emit.double}, ptr {emit.element(base, index)}")
        each = range(index, index + size * (1 if self.step else self.rows), max(size, 1))
        scalars = [
            emit.put(f"load double, ptr {emit.element(base, at, 'double')}, align 8, !invariant.load !0") for at in each
        ]
        return emit.spread(scalars[0]) if len(scalars) == 1 else emit.gather(scalars)

    def store(self, x: str, array: int, index: int) -> None:
        emit = self.emit
        if self.step:
            emit.lines.append(f"  store {emit.double} {x}, ptr {emit.element(self.pointer('out', array), index)}")
            return
        for row in range(self.rows):
            target = emit.element(self.row(array, row), index, "double")
            emit.lines.append(f"  store double {emit.extract(x, row)}, ptr {target}, align 8")

    def row(self, array: int, k: int) -> str:
        """Where row k of an output is."""
        if k == 0:
            return self.pointer("out", array)
        if (f"row{k}", array) not in self.pointers:
            before = self.row(array, k - 1)
            self.pointers[f"row{k}", array] = self.emit.put(
                f"getelementptr double, ptr {before}, i64 {self.stride(array)}"
            )
        return self.pointers[f"row{k}", array]

    def stride(self, array: int) -> str:
        """Doubles from row to row of an output."""
        if not self.strided:
            return str(self.program.outputs[array].size)
        if ("stride", array) not in self.pointers:
            address = self.emit.put(f"getelementptr i64, ptr %strides, i64 {array}")
            self.pointers["stride", array] = self.emit.put(f"load i64, ptr {address}, align 8, !invariant.load !0")
        return self.pointers["stride", array]

    def repeat(self, i: int) -> None:
        """A loop: its arguments into its buffer, and the call."""
        op, emit, buffers = self.program.code[i], self.emit, self.buffers
        copied = [] if self.step else read_runs(self.program, i)
        for run in copied:
            to = emit.element("%buffers", buffers.argument(i, run.place))
            source, size = self.outside("in", run), self.program.inputs[run.array].size
            emit.put(f"call i64 @read(ptr {to}, ptr {source}, i64 {run.length}, i64 {size})")
        done = {run.place + k for run in copied for k in range(run.length)}
        for k, x in enumerate(op.args):
            if k not in done:
                place = emit.element("%buffers", buffers.argument(i, k))
                emit.lines.append(f"  store {emit.double} {self.get(x)}, ptr {place}")
        arguments = (emit.element("%buffers", at) for at in (buffers.argument(i, 0), buffers.result(i, 0)))
        emit.put(f"call i64 @{buffers.symbol(i)}({', '.join(f'ptr {x}' for x in arguments)})")

    def outside(self, table: str, run: Run) -> str:
        """Pointer to the first element of a run in the caller's array."""
        return self.emit.element(self.pointer(table, run.array), run.element, "double")

    def end(self) -> None:
        """The last function of a kernel copies what loops left for the caller, and returns the status word."""
        emit, check = self.emit, len(self.program.code) - 1
        if self.step or check not in self.values:
            emit.lines.append("  ret i64 0")
            return
        zero = self.get(check)
        for run in self.buffers.written:
            source = emit.element("%buffers", self.buffers.result(run.scan, run.place))
            to, stride = self.outside("out", run), self.stride(run.array)
            rest = emit.put(f"call {emit.double} @write(ptr {to}, ptr {source}, i64 {run.length}, i64 {stride})")
            zero = emit.add(zero, rest)
        bad = emit.binary("fcmp uno", zero, emit.const(0.0))
        emit.lines.append(f"  ret i64 {emit.mask(bad, self.rows)}")
