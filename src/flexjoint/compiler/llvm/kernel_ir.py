"""From a Program to LLVM IR text: one function `i64 kernel(double **in, double **out[, long *steps])`.

The function evaluates one row, or several at once, one in each lane of the vector registers.  Code for one row may
have packed values (packing.py); its plain values are then in all lanes.
It reads each input array through in[k] and writes each output array through out[k], row after row, where there are
loops steps[k] apart, and returns a word whose bit r is set if a result of row r is not finite.  Inputs and outputs
must not overlap (the caller sees to that), so loads are marked invariant.  No fast-math flag is used: the operations
are exactly the Program's, in every lane.

Above `WHOLE` values the code is cut into internal functions that pass values on through a scratch buffer: LLVM's
time grows faster than the length of a block (mass matrix at N = 100: 12 s in pieces of 2000, 5 s in pieces of 500).
"""

from __future__ import annotations

from functools import partial

from ..ir.program import LANES, Loop, Program
from ..passes.optimise import with_finite_check
from ..passes.ordering import by_critical_path, in_recursion_order
from ..passes.twins import ANGLES
from .copies import PARAMETERS, copy_function
from .emitter import DECLARATIONS, Emitter
from .frames import Frame, written_stretches
from .function_body import FunctionBody, Shape
from .groups import Chain, element
from .pieces import Pieces
from .stack import stack_constant

WHOLE = 2500  # up to so many values one function
CHUNK = 280  # values a function beyond; feedback linearizations take 2 to 5 % more in pieces of 420, 5 to 15 % in one
PACKED_WHOLE, PACKED_CHUNK = 12_000, 2000  # with packed values; elastic N = 30: 20 % faster than in pieces of 500
SHORT = 1000  # values; longer blocks of rows lack registers, and the critical path costs them 5 to 35 %
GROUPS = 3  # of rows that take turns, see groups.py; two gain less, and more than three often outgrow the cache
TURN = 160  # values of a piece that runs for them in turn
LONG, SCRATCH, FRAMES = 1500, 1500, 16_000  # values: of code that gains by it, and of all that waits, at most
FOLDED_LANES = 4  # AVX2 folds a vector from memory into an operation, a broadcast takes a load: up to 10 % of a block


def kernel_ir(program: Program, rows: int = 1, groups: int = 1, symbol: str = "kernel") -> str:
    """The module's IR, for one row, or for up to so many groups of rows."""
    shape = Shape(rows, len(LANES) if program.packs else rows)
    length = len(program.code)
    if program.packs or (rows == 1 and length <= WHOLE):
        program = in_recursion_order(program)
    elif rows > 1 and length <= SHORT:
        program = by_critical_path(program)
    program = with_finite_check(
        program, {place for stretch in written_stretches(program) for place in stretch.elements}
    )
    functions = Functions(shape, groups)
    if any(op.loop for op in program.code):
        for name in ("read", "write"):
            result, lines = copy_function(name, shape)
            functions.define(name, PARAMETERS, lines, internal=True, result=result)
    functions.add(symbol, program)
    widths = sorted({shape.lanes, 2, ANGLES} if rows == 1 else {rows})
    declarations = [DECLARATIONS.format(t=e.double, s=e.suffix) for e in (Emitter([], width) for width in widths)]
    constants = [*functions.constants(), stack_constant(functions.text, symbol)]
    return "\n".join([*declarations, *constants, *functions.text, "!0 = !{}", ""])


def groups_of(program: Program) -> int:
    """How many groups code for several rows evaluates at most: several if it is long, and all fit into the cache."""
    loops = [op.loop for op in program.code if op.loop]
    if not loops and len(program.code) <= LONG:
        return 1
    pieces = Pieces.of(program, TURN, TURN, one_row=False, cut_after_loops=True)
    frame = Frame(program, "", step=False, grouped=True)
    fits = GROUPS * pieces.size <= SCRATCH and GROUPS * frame.size <= FRAMES
    return GROUPS if fits and all(groups_of(loop.body) > 1 for loop in loops if len(loop.body.code) > LONG) else 1


def piece_lengths(program: Program, grouped: bool) -> tuple[int, int]:
    """Up to how many values a Program is one function, and how many values a function has otherwise."""
    if grouped:
        return TURN, TURN
    return (PACKED_WHOLE, PACKED_CHUNK) if program.packs else (WHOLE, CHUNK)


class Functions:
    """The functions of one module: a Program's own, those it is cut into, and those of its loops."""

    def __init__(self, shape: Shape, groups: int):
        self.shape = shape
        self.groups = groups
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

    def add(self, symbol: str, program: Program, step: bool = False) -> None:
        """`i64 symbol(ptr in, ptr out[, ptr steps][, i64 groups])`: a kernel, whose last value is its check, or the
        step of a loop.  Pointers of a group come after those of the one before."""
        grouped = self.groups > 1
        pieces = Pieces.of(
            program, *piece_lengths(program, grouped), one_row=self.shape.rows == 1, cut_after_loops=grouped
        )
        frame = Frame(pieces.program, symbol, step, grouped)
        for at, loop in frame.loops.items():
            self.add_loop(frame.symbol(at), loop, frame.size)
        bodies = [FunctionBody(pieces, run, frame, step, self.shape, self.table).text() for run in pieces.runs]
        arrays = ", ".join(f"ptr noalias {x}" for x in ["%in", "%out", *["%steps"] * (grouped and not step)])
        parameters = f"{arrays}, i64 %groups" if grouped else arrays
        chain = Chain(grouped)
        if frame.loops:
            chain.lines.append(f"  %frame = alloca [{self.groups * frame.size} x {self.double}], align 64")
        if len(bodies) == 1 and not grouped:
            self.define(symbol, parameters, ["entry:", *chain.lines, *bodies[0]], internal=step)
            return
        chain.lines += [
            f"  %scratch = alloca [{self.groups * pieces.size} x {self.double}], align 64",
            "  %status = alloca i64",
            "  store i64 0, ptr %status",
        ]
        more = "ptr noalias readonly %old, ptr noalias writeonly %new, ptr %frame"
        for k, lines in enumerate(bodies):
            self.define(f"{symbol}_{k}", f"{arrays}, {more}", ["entry:", *lines], internal=True)
            chain.each(
                partial(self.call, f"{symbol}_{k}", program, pieces.size, frame.size, step, k == len(bodies) - 1)
            )
            if grouped and (at := pieces.runs[k][-1]) in frame.loops:
                args, results = (
                    chain.put(f"getelementptr {self.double}, ptr %frame, i64 {x}")
                    for x in (frame.argument(at, 0), frame.result(at, 0))
                )
                chain.put(f"call i64 @{frame.symbol(at)}(ptr {args}, ptr {results}, i64 %groups)")
        chain.lines += ["  %word = load i64, ptr %status", "  ret i64 %word"]
        self.define(symbol, parameters, ["entry:", *chain.lines], internal=step)

    def call(self, piece: str, program: Program, scratch: int, frame: int, step: bool, last: bool, g: str) -> list[str]:
        """Of a piece for group g; the last one returns the group's bits of the status."""
        name = f"%{piece}"
        given = [f"ptr {name}.in", f"ptr {name}.out", *["ptr %steps"] * (self.groups > 1 and not step)]
        given += [f"ptr {name}.scratch", f"ptr {name}.scratch", f"ptr {name}.frame" if frame else "ptr null"]
        lines = [
            *element(f"{name}.in", "ptr", "%in", g, len(program.inputs)),
            *element(f"{name}.out", "ptr", "%out", g, len(program.outputs)),
            *element(f"{name}.scratch", self.double, "%scratch", g, scratch),
            *(element(f"{name}.frame", self.double, "%frame", g, frame) if frame else ()),
            f"  {name}.status = call i64 @{piece}({', '.join(given)})",
        ]
        if last:
            lines += [
                f"  {name}.bit = mul i64 {g}, {self.shape.rows}",
                f"  {name}.own = shl i64 {name}.status, {name}.bit",
                f"  {name}.before = load i64, ptr %status",
                f"  {name}.word = or i64 {name}.before, {name}.own",
                f"  store i64 {name}.word, ptr %status",
            ]
        return lines

    def add_loop(self, symbol: str, loop: Loop, distance: int) -> None:
        """`i64 symbol(ptr args, ptr results[, i64 groups])`: calls the step for one row after the other.

        The carry goes to and fro between two buffers, since a step must not write what it reads.  Args and results of
        groups are some distance apart.
        """
        self.add(f"{symbol}_step", loop.body, step=True)
        carry, x, table, y = (loop.sizes[name] for name in ("carry", "x", "table", "y"))
        constants = ", ".join(f"double {Emitter([]).const(value)}" for row in loop.table for value in row)
        length = loop.turns * table
        value = f"[{constants}]" if length else "zeroinitializer"
        self.text.append(f"@{symbol}_table = internal constant [{length} x double] {value}, align 64\n")
        T, grouped = self.double, self.groups > 1
        first, turn = (loop.turns - 1, -1) if loop.reverse else (0, 1)

        def pointers(g: str) -> list[str]:
            return [
                *element("%in.g", "ptr", "%in", g, 4),
                *element("%out.g", "ptr", "%out", g, 2),
                *element("%now.g", T, "%now", g, "%apart"),
                *element("%then.g", T, "%then", g, carry),
                *(line for name in ("x", "y", "shared") for line in element(f"%{name}.g", T, f"%{name}", g, distance)),
                *(
                    line
                    for k, name in enumerate(("now.g", "x.g", "table", "shared.g"))
                    for line in _set("in.g", k, name)
                ),
                *(line for k, name in enumerate(("then.g", "y.g")) for line in _set("out.g", k, name)),
            ]

        def last_carry(g: str) -> list[str]:
            lines = [*element("%from", T, "%then", g, carry), *element("%to", T, "%results", g, distance)]
            emit = Emitter(lines, self.lanes)
            for k in range(carry):
                found = emit.put(f"load {T}, ptr {emit.element('%from', k)}")
                lines.append(f"  store {T} {found}, ptr {emit.element('%to', k)}")
            return lines

        body, end = Chain(grouped, "turn"), Chain(grouped, "end")
        body.each(pointers)
        end.each(last_carry)
        groups = ", i64 %groups" if grouped else ""
        lines = [
            "entry:",
            f"  %a = alloca [{self.groups * carry} x {T}], align 64",
            f"  %b = alloca [{self.groups * carry} x {T}], align 64",
            f"  %in = alloca [{self.groups * 4} x ptr]",
            f"  %out = alloca [{self.groups * 2} x ptr]",
            f"  %xs = getelementptr {T}, ptr %args, i64 {carry}",
            f"  %shared = getelementptr {T}, ptr %xs, i64 {loop.turns * x}",
            f"  %ys = getelementptr {T}, ptr %results, i64 {carry}",
            "  br label %turn",
            "turn:",
            f"  %k = phi i64 [0, %entry], [%k.next, %{body.block}]",
            f"  %row = phi i64 [{first}, %entry], [%row.next, %{body.block}]",
            f"  %now = phi ptr [%args, %entry], [%then, %{body.block}]",
            f"  %apart = phi i64 [{distance}, %entry], [{carry}, %{body.block}]",
            f"  %then = phi ptr [%a, %entry], [%after, %{body.block}]",
            f"  %after = phi ptr [%b, %entry], [%then, %{body.block}]",
            *_row("x", T, "%xs", x),
            *_row("table", "double", f"@{symbol}_table", table),
            *_row("y", T, "%ys", y),
            *body.lines,
            f"  %status = call i64 @{symbol}_step(ptr %in, ptr %out{groups})",
            "  %k.next = add i64 %k, 1",
            f"  %row.next = add i64 %row, {turn}",
            f"  %more = icmp ult i64 %k.next, {loop.turns}",
            "  br i1 %more, label %turn, label %end",
            "end:",
            *end.lines,
            "  ret i64 0",
        ]
        self.define(symbol, f"ptr %args, ptr noalias %results{groups}", lines, internal=True)

    def define(self, name: str, parameters: str, lines: list[str], internal: bool, result: str = "i64") -> None:
        linkage, inlining = ("internal ", " noinline") if internal else ("", "")
        # LLVM does not realign the stack for spilled vector registers by itself.
        aligned = f" alignstack({8 * self.lanes})" if self.lanes > 1 else ""
        head = f"define {linkage}{result} @{name}({parameters}) nounwind{inlining}{aligned}"
        self.text.append(head + " {\n" + "\n".join(lines) + "\n}\n")


def _set(table: str, k: int, pointer: str) -> list[str]:
    name = f"%{table}.{k}"
    return [f"  {name} = getelementptr ptr, ptr %{table}, i64 {k}", f"  store ptr %{pointer}, ptr {name}"]


def _row(name: str, kind: str, base: str, size: int) -> list[str]:
    """Pointer to a row of an array, the one of this turn."""
    return [
        f"  %{name}.index = mul i64 %row, {size}",
        f"  %{name} = getelementptr {kind}, ptr {base}, i64 %{name}.index",
    ]
