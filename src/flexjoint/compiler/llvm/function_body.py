"""The lines of one function: a run of a Program's operations, for one row or several.

Of a kernel's own functions the arrays are the caller's, row after row; of a loop's step they lie in lanes.
"""

from __future__ import annotations

from typing import NamedTuple

from ..ir import elementary
from ..ir.reference import apply
from ..passes.twins import ANGLES, EXCHANGEABLE, SINES, alone
from .emitter import Emitter
from .frames import Frame, Stretch, read_stretches
from .pieces import Pieces


class Shape(NamedTuple):
    """How many rows the code evaluates, and how many lanes its values have: one each, as many as rows, or a pack's."""

    rows: int
    lanes: int


class FunctionBody:
    """Collects the lines in `emit.lines`; values are computed in turn, and found or loaded where they are used."""

    def __init__(
        self, pieces: Pieces, run: range, frame: Frame, step: bool, shape: Shape, table: dict[str, int] | None
    ):
        self.pieces = pieces
        self.program = pieces.program
        self.run = run
        self.frame = frame
        self.step = step  # of a loop; a kernel's own functions compute a check, the last value
        self.rows = shape.rows
        self.emit = Emitter([], shape.lanes, table)
        self.two = Emitter(self.emit.lines, 2)
        self.value: dict[int, str] = {}
        self.both: dict[int, str] = {}  # two twins in a register, by the first
        self.first = {b: a for a, b in pieces.twin.items()}
        self.pointers: dict[tuple[str, int], str] = {}

    def text(self) -> list[str]:
        for i in self.run:
            self.compute(i)
            self.keep(i)
            for place in self.program.places.get(i, ()):
                if place not in self.frame.copied:
                    self.store(self.get(i), *place)
        self.end()
        return self.emit.lines

    def compute(self, i: int) -> None:
        op, twin = self.program.code[i], self.pieces.twin
        if op.loop:
            self.repeat(i)
        elif op.name in SINES and self.rows == 1 and alone(self.program, i):
            if i in self.pieces.units:
                self.turn(self.pieces.units[i])
        elif i in twin:
            self.both[i] = apply(self.two, op.name, [self.pair(*x) for x in self.operands_of_twins(i, twin[i])])
        elif op.computed and i not in self.first:
            self.value[i] = apply(self.emit, op.name, [self.get(x) for x in op.args])

    # Values ---------------------------------------------------------------------------------------------------------

    def get(self, x: int) -> str:
        if x not in self.value:
            self.value[x] = self.found(x)
        return self.value[x]

    def found(self, x: int) -> str:
        """What is not in a register of its own: leaves, signs, twins, and what came from a loop or an earlier run."""
        op, emit = self.program.code[x], self.emit
        first = self.first.get(x, x)
        if op.name == "const":
            return emit.const(op.constant)
        if op.name == "input":
            return self.load(*op.args)
        if op.name == "neg":
            return emit.neg(self.get(op.args[0]))
        if op.name == "item":
            return emit.put(f"load {emit.double}, ptr {emit.element('%frame', self.frame.result(*op.args))}")
        if first in self.both:
            return self.two.extract(self.both[first], int(x != first))
        return emit.put(f"load {emit.double}, ptr {emit.element('%old', self.pieces.slots[x])}")

    def pair(self, a: int, b: int) -> str:
        """Two values in a register."""
        one, other = self.program.code[a], self.program.code[b]
        if one.name == other.name == "neg":
            return self.two.neg(self.pair(one.args[0], other.args[0]))
        if self.pieces.twin.get(a) == b:
            if a not in self.both:
                place = self.emit.element("%old", self.pieces.slots[a])
                self.both[a] = self.two.put(f"load {self.two.double}, ptr {place}, align 8")
            return self.both[a]
        if a == b:
            return self.two.const(one.constant) if one.name == "const" else self.two.spread(self.get(a))
        return self.two.gather([self.get(a), self.get(b)])

    def operands_of_twins(self, a: int, b: int) -> list[tuple[int, int]]:
        """Side by side, those of a product or sum exchanged if they fit better so."""
        one, other = self.program.code[a], self.program.code[b]
        args = list(other.args)
        if one.name in EXCHANGEABLE and not all(map(self.fit, one.args, args)):
            args[:2] = args[1::-1]
        return list(zip(one.args, args))

    def fit(self, x: int, y: int) -> bool:
        one, other = self.program.code[x], self.program.code[y]
        signs = one.name == other.name == "neg"
        return self.fit(one.args[0], other.args[0]) if signs else x == y or self.pieces.twin.get(x) == y

    def turn(self, unit: range) -> None:
        """Sines and cosines in the lanes of one register: they are half of a small kernel's time."""
        code, twin = self.program.code, self.pieces.twin
        angles = list(dict.fromkeys(code[i].args[0] for i in unit))
        wide = Emitter(self.emit.lines, ANGLES)
        register = wide.gather([self.emit.extract(self.get(x), 0) for x in angles])
        results = dict(zip(SINES, elementary.sincos(wide, register)))
        for i in unit:
            result, lane = results[code[i].name], angles.index(code[i].args[0])
            self.value[i] = self.emit.spread(wide.extract(result, lane))
            if i in twin:
                self.both[i] = wide.part(result, lane, 2)

    # Memory ---------------------------------------------------------------------------------------------------------

    def keep(self, i: int) -> None:
        """In its slot, if a later run needs it; twins at once."""
        slots, twin, emit = self.pieces.slots, self.pieces.twin, self.emit
        if i not in slots or self.first.get(i) in slots:
            return
        both = i in twin and twin[i] in slots
        x = f"{self.two.double} {self.both[i]}" if both else f"{emit.double} {self.get(i)}"
        emit.lines.append(f"  store {x}, ptr {emit.element('%new', slots[i])}{', align 8' if both else ''}")

    def pointer(self, table: str, k: int) -> str:
        if (table, k) not in self.pointers:
            address = self.emit.put(f"getelementptr ptr, ptr %{table}, i64 {k}")
            self.pointers[table, k] = self.emit.put(f"load ptr, ptr {address}, align 8, !invariant.load !0")
        return self.pointers[table, k]

    def load(self, array: int, index: int) -> str:
        """Element `index` of an input: of one row, in all lanes, or of each lane's."""
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
                f"getelementptr double, ptr {before}, i64 {self.distance(array)}"
            )
        return self.pointers[f"row{k}", array]

    def distance(self, array: int) -> str:
        """From row to row of an output; where there are loops, the caller says how far.

        Rows anywhere cost elastic inverse dynamics 3 %, and a simulation saves a copy of what it writes.
        """
        if not self.frame.apart:
            return str(self.program.outputs[array].size)
        if ("distance", array) not in self.pointers:
            address = self.emit.put(f"getelementptr i64, ptr %steps, i64 {array}")
            self.pointers["distance", array] = self.emit.put(f"load i64, ptr {address}, align 8, !invariant.load !0")
        return self.pointers["distance", array]

    def repeat(self, i: int) -> None:
        """A loop: its arguments into the frame, and the call, if it is for this group alone."""
        op, emit, frame = self.program.code[i], self.emit, self.frame
        copied = [] if self.step else read_stretches(self.program, i)
        for part in copied:
            to = emit.element("%frame", frame.argument(i, part.place))
            source, size = self.outside("in", part), self.program.inputs[part.array].size
            emit.put(f"call i64 @read(ptr {to}, ptr {source}, i64 {part.length}, i64 {size})")
        done = {part.place + k for part in copied for k in range(part.length)}
        for k, x in enumerate(op.args):
            if k not in done:
                place = emit.element("%frame", frame.argument(i, k))
                emit.lines.append(f"  store {emit.double} {self.get(x)}, ptr {place}")
        if not frame.grouped:
            arguments = (emit.element("%frame", at) for at in (frame.argument(i, 0), frame.result(i, 0)))
            emit.put(f"call i64 @{frame.symbol(i)}({', '.join(f'ptr {x}' for x in arguments)})")

    def outside(self, table: str, part: Stretch) -> str:
        return self.emit.element(self.pointer(table, part.array), part.element, "double")

    def end(self) -> None:
        """The last function of a kernel copies what loops left for the caller, and returns the status word."""
        emit, check = self.emit, len(self.program.code) - 1
        if self.step or check not in self.run:
            emit.lines.append("  ret i64 0")
            return
        zero = self.get(check)
        for part in self.frame.written:
            source = emit.element("%frame", self.frame.result(part.scan, part.place))
            to, step = self.outside("out", part), self.distance(part.array)
            rest = emit.put(f"call {emit.double} @write(ptr {to}, ptr {source}, i64 {part.length}, i64 {step})")
            zero = emit.add(zero, rest)
        bad = emit.binary("fcmp uno", zero, emit.const(0.0))
        emit.lines.append(f"  ret i64 {emit.mask(bad, self.rows)}")
