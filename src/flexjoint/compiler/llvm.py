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

from collections.abc import Iterable
from typing import NamedTuple

from . import elementary
from .emitter import DECLARATIONS, Emitter
from .ordering import by_critical_path, in_recursion_order
from .program import LANES, Loop, Op, Program, chunks
from .reference import apply

WHOLE = 2500  # up to so many values one function
CHUNK = 280  # values a function beyond; feedback linearizations take 2 to 5 % more in pieces of 420, 5 to 15 % in one
PACKED_WHOLE, PACKED_CHUNK = 12_000, 2000  # with packed values; elastic N = 30: 20 % faster than in pieces of 500
ANGLE_LANES = 4  # sines and cosines of inputs are taken four at a time
FOLDED_LANES = 4  # AVX2 folds a vector from memory into an operation, a broadcast takes a load: up to 10 % of a block
SHORT = 1000  # values; longer blocks are short of registers, and the critical path costs them 5 to 35 %
STRETCH = 16  # from so many on, elements that lie side by side go to a loop's frame, or from it, in a loop


class Shape(NamedTuple):
    """How many rows the code evaluates, and how many lanes its values have: one each, as many as rows, or a pack's."""

    rows: int
    lanes: int


def kernel_ir(program: Program, rows: int = 1, symbol: str = "kernel") -> str:
    """The module's IR."""
    shape = Shape(rows, len(LANES) if program.packs else rows)
    whole = len(program.code) <= piece_lengths(program)[0]
    if program.packs or (whole and rows == 1):
        program = in_recursion_order(program)
    elif len(program.code) <= SHORT:
        program = by_critical_path(program)
    program, check = with_finite_check(program, written_stretches(program))
    functions = Functions(shape)
    if any(op.loop for op in program.code):
        functions.add_copies()
    functions.add(symbol, program, check)
    widths = sorted({shape.lanes, ANGLE_LANES} if rows == 1 else {rows})
    declarations = [DECLARATIONS.format(t=e.double, s=e.suffix) for e in (Emitter([], width) for width in widths)]
    return "\n".join([*declarations, *functions.constants(), *functions.text, "!0 = !{}", ""])


def piece_lengths(program: Program) -> tuple[int, int]:
    """Up to how many values a Program is one function, and how many values a function has otherwise."""
    return (PACKED_WHOLE, PACKED_CHUNK) if program.packs else (WHOLE, CHUNK)


class Functions:
    """The functions of one module: a Program's own, those it is cut into, and those of its loops."""

    def __init__(self, shape: Shape):
        self.shape = shape
        self.lanes = shape.lanes
        self.double = Emitter([], shape.lanes).double
        self.text: list[str] = []
        self.table: dict[str, int] | None = {} if shape.rows == FOLDED_LANES else None

    def constants(self) -> list[str]:
        """The table of constants; LLVM must not know that they are constant, or it makes broadcasts of them again."""
        if not self.table:
            return []
        vectors = ", ".join(f"{self.double} {splat}" for splat in self.table)
        return [f"@constants = hidden global [{len(self.table)} x {self.double}] [{vectors}], align 64\n"]

    def add_copies(self) -> None:
        """`read` and `write`: stretches of arrays, `size` elements a row, to and from a frame with lanes together.

        Straight code took LLVM 27 s for the 3500 elements that 50 periods of a simulated 7R move, this takes 1.7 s.
        `write` returns 0 times what it wrote, finite if and only if that was.
        """
        T = self.double
        for name, parameters, kind in (("read", "ptr %to, ptr %from", "i64"), ("write", "ptr %to, ptr %from", T)):
            array, frame = ("%from", "%to") if name == "read" else ("%to", "%from")
            lines = [
                "entry:",
                "  br label %next",
                "next:",
                "  %e = phi i64 [0, %entry], [%after, %next]",
                f"  %sum = phi {T} [zeroinitializer, %entry], [%more, %next]",
                f"  %at = getelementptr {T}, ptr {frame}, i64 %e",
                f"  %row0 = getelementptr double, ptr {array}, i64 %e",
                *(f"  %row{k} = getelementptr double, ptr %row{k - 1}, i64 %size" for k in range(1, self.shape.rows)),
            ]
            emit = Emitter(lines, self.lanes)
            if name == "read":
                found = [emit.put(f"load double, ptr %row{k}, align 8") for k in range(self.shape.rows)]
                x = emit.spread(found[0]) if self.shape.rows == 1 else emit.gather(found)
                lines.append(f"  store {T} {x}, ptr %at")
            else:
                x = emit.put(f"load {T}, ptr %at")
                for k in range(self.shape.rows):
                    lines.append(f"  store double {emit.extract(x, k)}, ptr %row{k}, align 8")
            lines.append(f"  %more = call {T} @llvm.fma.{emit.suffix}({T} {x}, {T} {emit.const(0.0)}, {T} %sum)")
            lines += [
                "  %after = add i64 %e, 1",
                "  %going = icmp ult i64 %after, %count",
                "  br i1 %going, label %next, label %end",
                "end:",
                "  ret i64 0" if name == "read" else f"  ret {T} %more",
            ]
            self.define(name, f"{parameters}, i64 %count, i64 %size", lines, internal=True, result=kind)

    def add(self, symbol: str, program: Program, check: int | None = None) -> None:
        """`i64 symbol(ptr in, ptr out)`; without a `check` it is a step of a loop, and its arrays lie in lanes."""
        most, piece = piece_lengths(program)
        body = chunks(len(program.code), most if len(program.code) <= most else piece)
        frame = Frame(program, symbol)
        for at, loop in frame.loops.items():
            self.add_loop(frame.symbol(at), loop)
        buffers = [f"  %frame = alloca [{frame.size} x {self.double}], align 64"] if frame.loops else []
        if len(body) == 1:
            lines = ["entry:", *buffers, *_function_body(program, body[0], {}, frame, check, self.shape, self.table)]
            self.define(symbol, "ptr noalias %in, ptr noalias %out", lines, internal=check is None)
            return
        slots, size = scratch_slots(program, body)
        calls = ["entry:", *buffers, f"  %scratch = alloca [{size} x {self.double}], align 64"]
        for k, run in enumerate(body):
            lines = ["entry:", *_function_body(program, run, slots, frame, check, self.shape, self.table)]
            parameters = "ptr noalias %in, ptr noalias %out, ptr noalias readonly %old, ptr noalias writeonly %new"
            self.define(f"{symbol}_{k}", f"{parameters}, ptr %frame", lines, internal=True)
            arguments = f"ptr %in, ptr %out, ptr %scratch, ptr %scratch, ptr {'%frame' if frame.loops else 'null'}"
            calls.append(f"  %status{k} = call i64 @{symbol}_{k}({arguments})")
        calls.append(f"  ret i64 %status{len(body) - 1}")
        self.define(symbol, "ptr noalias %in, ptr noalias %out", calls, internal=check is None)

    def add_loop(self, symbol: str, loop: Loop) -> None:
        """`i64 symbol(ptr args, ptr results)`: calls the step for one row after the other.

        The carry goes to and fro between two buffers, since a step must not write what it reads.
        """
        self.add(f"{symbol}_step", loop.body)
        carry, x, table, y = (loop.sizes[name] for name in ("carry", "x", "table", "y"))
        constants = ", ".join(f"double {Emitter([]).const(value)}" for row in loop.table for value in row)
        length = loop.turns * table
        value = f"[{constants}]" if length else "zeroinitializer"
        self.text.append(f"@{symbol}_table = internal constant [{length} x double] {value}, align 64\n")
        T = self.double
        first, turn = (loop.turns - 1, -1) if loop.reverse else (0, 1)
        lines = [
            "entry:",
            f"  %a = alloca [{carry} x {T}], align 64",
            f"  %b = alloca [{carry} x {T}], align 64",
            "  %in = alloca [4 x ptr]",
            "  %out = alloca [2 x ptr]",
            f"  %xs = getelementptr {T}, ptr %args, i64 {carry}",
            f"  %shared = getelementptr {T}, ptr %xs, i64 {loop.turns * x}",
            f"  %ys = getelementptr {T}, ptr %results, i64 {carry}",
            *_set_pointer("in", 3, "%shared"),
            "  br label %turn",
            "turn:",
            "  %k = phi i64 [0, %entry], [%k.next, %turn]",
            f"  %row = phi i64 [{first}, %entry], [%row.next, %turn]",
            "  %now = phi ptr [%args, %entry], [%then, %turn]",
            "  %then = phi ptr [%a, %entry], [%after, %turn]",
            "  %after = phi ptr [%b, %entry], [%then, %turn]",
            *_row("x", T, "%xs", x),
            *_row("table", "double", f"@{symbol}_table", table),
            *_row("y", T, "%ys", y),
            *_set_pointer("in", 0, "%now"),
            *_set_pointer("in", 1, "%x"),
            *_set_pointer("in", 2, "%table"),
            *_set_pointer("out", 0, "%then"),
            *_set_pointer("out", 1, "%y"),
            f"  %status = call i64 @{symbol}_step(ptr %in, ptr %out)",
            "  %k.next = add i64 %k, 1",
            f"  %row.next = add i64 %row, {turn}",
            f"  %more = icmp ult i64 %k.next, {loop.turns}",
            "  br i1 %more, label %turn, label %end",
            "end:",
        ]
        emit = Emitter(lines, self.lanes)
        for k in range(carry):
            last = emit.put(f"load {T}, ptr {emit.element('%then', k)}")
            lines.append(f"  store {T} {last}, ptr {emit.element('%results', k)}")
        self.define(symbol, "ptr %args, ptr noalias %results", [*lines, "  ret i64 0"], internal=True)

    def define(self, name: str, parameters: str, lines: list[str], internal: bool, result: str = "i64") -> None:
        linkage, inlining = ("internal ", " noinline") if internal else ("", "")
        # LLVM does not realign the stack for spilled vector registers by itself.
        aligned = f" alignstack({8 * self.lanes})" if self.lanes > 1 else ""
        head = f"define {linkage}{result} @{name}({parameters}) nounwind{inlining}{aligned}"
        self.text.append(head + " {\n" + "\n".join(lines) + "\n}\n")


def _set_pointer(table: str, k: int, pointer: str) -> list[str]:
    name = f"%{table}.{k}"
    return [f"  {name} = getelementptr ptr, ptr %{table}, i64 {k}", f"  store ptr {pointer}, ptr {name}"]


def _row(name: str, kind: str, base: str, size: int) -> list[str]:
    """Pointer to a row of an array, the one of this turn."""
    return [
        f"  %{name}.index = mul i64 %row, {size}",
        f"  %{name} = getelementptr {kind}, ptr {base}, i64 %{name}.index",
    ]


class Frame:
    """Where the loops of a Program find their arguments and leave their results: one buffer, part after part."""

    def __init__(self, program: Program, symbol: str):
        self.loops = {i: op.loop for i, op in enumerate(program.code) if op.loop}
        self._symbol = symbol
        self._start: dict[int, int] = {}
        self._arguments = {i: len(program.code[i].args) for i in self.loops}
        self.size = 0
        for i, loop in self.loops.items():
            self._start[i] = self.size
            self.size += self._arguments[i] + loop.results

    def symbol(self, scan: int) -> str:
        return f"{self._symbol}_loop{scan}"

    def argument(self, scan: int, k: int) -> int:
        return self._start[scan] + k

    def result(self, scan: int, k: int) -> int:
        return self._start[scan] + self._arguments[scan] + k


class Stretch(NamedTuple):
    """Elements side by side in an array and among the arguments or results of a scan: from where, and how many."""

    scan: int
    place: int
    array: int
    element: int
    length: int = 1

    def followed_by(self, other: Stretch) -> bool:
        after = self._replace(place=self.place + self.length, element=self.element + self.length, length=1)
        return after == other

    @property
    def elements(self) -> set[tuple[int, int]]:
        """(array, element) of each."""
        return {(self.array, self.element + k) for k in range(self.length)}


def stretches(single: Iterable[Stretch]) -> list[Stretch]:
    """Those long enough, from single elements in turn."""
    found: list[Stretch] = []
    for x in single:
        if found and found[-1].followed_by(x):
            found[-1] = found[-1]._replace(length=found[-1].length + 1)
        else:
            found.append(x)
    return [x for x in found if x.length >= STRETCH]


def read_stretches(program: Program, scan: int) -> list[Stretch]:
    """Arguments of a scan that are elements of inputs."""
    args = [(k, program.code[x]) for k, x in enumerate(program.code[scan].args)]
    return stretches(Stretch(scan, k, op.args[0], op.args[1]) for k, op in args if op.name == "input")


def written_stretches(program: Program) -> list[Stretch]:
    """Results of scans that are elements of outputs."""
    results = [(k, e, program.code[x]) for k, row in enumerate(program.results) for e, x in enumerate(row)]
    return stretches(Stretch(op.args[0], op.args[1], k, e) for k, e, op in results if op.name == "item")


def with_finite_check(program: Program, apart: Iterable[Stretch] = ()) -> tuple[Program, int]:
    """Append Σ 0·x over all results but those `apart`, kept in four sums: finite if and only if every result is."""
    code = list(program.code)
    left_out = {place for stretch in apart for place in stretch.elements}
    checked = [x for k, row in enumerate(program.results) for e, x in enumerate(row) if (k, e) not in left_out]
    zero = len(code)
    code.append(Op("const", (), 0.0))
    sums = [zero] * 4
    for k, x in enumerate(dict.fromkeys(checked)):
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
        for x in op.operands:
            if program.code[x].computed and chunk_of[x] < chunk_of[i]:
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


def _function_body(
    program: Program,
    run: range,
    slots: dict[int, int],
    frame: Frame,
    check: int | None,
    shape: Shape,
    table: dict[str, int] | None,
) -> list[str]:
    lines: list[str] = []
    rows, lanes = shape
    emit = Emitter(lines, lanes, table)
    pointers: dict[tuple[str, int], str] = {}
    value: dict[int, str] = {}

    def pointer(table: str, k: int) -> str:
        if (table, k) not in pointers:
            address = emit.put(f"getelementptr ptr, ptr %{table}, i64 {k}")
            pointers[table, k] = emit.put(f"load ptr, ptr {address}, align 8, !invariant.load !0")
        return pointers[table, k]

    def load(array: int, index: int) -> str:
        """Element `index` of an input: of one row, in all lanes, or of each lane's."""
        base, size = pointer("in", array), program.inputs[array].size
        if check is None and program.inputs[array].name != "table":
            return emit.put(f"load {emit.double}, ptr {emit.element(base, index)}")
        each = range(index, index + size * (rows if check is not None else 1), max(size, 1))
        scalars = [
            emit.put(f"load double, ptr {emit.element(base, at, 'double')}, align 8, !invariant.load !0") for at in each
        ]
        return emit.spread(scalars[0]) if len(scalars) == 1 else emit.gather(scalars)

    def store(x: str, array: int, index: int) -> None:
        base, size = pointer("out", array), program.outputs[array].size
        if check is None:
            lines.append(f"  store {emit.double} {x}, ptr {emit.element(base, index)}")
            return
        for row in range(rows):
            target = emit.element(base, row * size + index, "double")
            lines.append(f"  store double {emit.extract(x, row)}, ptr {target}, align 8")

    def get(x: int) -> str:
        if x not in value:
            op = program.code[x]
            if op.name == "const":
                value[x] = emit.const(op.constant)
            elif op.name == "input":
                value[x] = load(*op.args)
            elif op.name == "item":
                value[x] = emit.put(f"load {emit.double}, ptr {emit.element('%frame', frame.result(*op.args))}")
            else:
                value[x] = emit.put(f"load {emit.double}, ptr {emit.element('%old', slots[x])}")
        return value[x]

    if rows == 1:
        _angles_first(program, run, emit, get, value)
    stores: dict[int, list[tuple[int, int]]] = {}
    written = written_stretches(program) if check is not None else []
    apart = {place for stretch in written for place in stretch.elements}
    for k, row in enumerate(program.results):
        for e, x in enumerate(row):
            if (k, e) not in apart:
                stores.setdefault(x, []).append((k, e))
    for i in run:
        op = program.code[i]
        if op.loop:
            copied = read_stretches(program, i) if check is not None else []
            for part in copied:
                to = emit.element("%frame", frame.argument(i, part.place))
                source = emit.element(pointer("in", part.array), part.element, "double")
                size = program.inputs[part.array].size
                emit.put(f"call i64 @read(ptr {to}, ptr {source}, i64 {part.length}, i64 {size})")
            done = {part.place + k for part in copied for k in range(part.length)}
            for k, x in enumerate(op.args):
                if k in done:
                    continue
                lines.append(f"  store {emit.double} {get(x)}, ptr {emit.element('%frame', frame.argument(i, k))}")
            arguments = (emit.element("%frame", at) for at in (frame.argument(i, 0), frame.result(i, 0)))
            emit.put(f"call i64 @{frame.symbol(i)}({', '.join(f'ptr {x}' for x in arguments)})")
        elif op.computed and i not in value:
            value[i] = apply(emit, op.name, [get(x) for x in op.args])
        if i in slots:
            lines.append(f"  store {emit.double} {value[i]}, ptr {emit.element('%new', slots[i])}")
        for k, e in stores.get(i, ()):
            store(get(i), k, e)
    if check is not None and check in run:
        zero = get(check)
        for part in written:
            to = emit.element(pointer("out", part.array), part.element, "double")
            source = emit.element("%frame", frame.result(part.scan, part.place))
            size = program.outputs[part.array].size
            rest = emit.put(f"call {emit.double} @write(ptr {to}, ptr {source}, i64 {part.length}, i64 {size})")
            zero = emit.add(zero, rest)
        bad = emit.binary("fcmp uno", zero, emit.const(0.0))
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
