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

from .copies import PARAMETERS, copy_function
from .emitter import DECLARATIONS, Emitter
from .frames import Frame, written_stretches
from .function_body import FunctionBody, Shape
from .ordering import by_critical_path, in_recursion_order
from .passes import with_finite_check
from .pieces import Pieces
from .program import LANES, Loop, Program
from .twins import ANGLES

WHOLE = 2500  # up to so many values one function
CHUNK = 280  # values a function beyond; feedback linearizations take 2 to 5 % more in pieces of 420, 5 to 15 % in one
PACKED_WHOLE, PACKED_CHUNK = 12_000, 2000  # with packed values; elastic N = 30: 20 % faster than in pieces of 500
SHORT = 1000  # values; longer blocks of rows lack registers, and the critical path costs them 5 to 35 %
FOLDED_LANES = 4  # AVX2 folds a vector from memory into an operation, a broadcast takes a load: up to 10 % of a block


def kernel_ir(program: Program, rows: int = 1, symbol: str = "kernel") -> str:
    """The module's IR."""
    shape = Shape(rows, len(LANES) if program.packs else rows)
    length = len(program.code)
    if program.packs or (rows == 1 and length <= WHOLE):
        program = in_recursion_order(program)
    elif rows > 1 and length <= SHORT:
        program = by_critical_path(program)
    program = with_finite_check(
        program, {place for stretch in written_stretches(program) for place in stretch.elements}
    )
    functions = Functions(shape)
    if any(op.loop for op in program.code):
        for name in ("read", "write"):
            result, lines = copy_function(name, shape)
            functions.define(name, PARAMETERS, lines, internal=True, result=result)
    functions.add(symbol, program)
    widths = sorted({shape.lanes, 2, ANGLES} if rows == 1 else {rows})
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

    def add(self, symbol: str, program: Program, step: bool = False) -> None:
        """`i64 symbol(ptr in, ptr out[, ptr steps])`: a kernel, whose last value is its check, or a loop's step."""
        pieces = Pieces.of(program, *piece_lengths(program), one_row=self.shape.rows == 1)
        frame = Frame(pieces.program, symbol, step, self.shape.rows)
        for at, loop in frame.loops.items():
            self.add_loop(frame.symbol(at), loop)
        buffers = [f"  %frame = alloca [{frame.size} x {self.double}], align 64"] if frame.loops else []
        bodies = [FunctionBody(pieces, run, frame, step, self.shape, self.table).text() for run in pieces.runs]
        tables = ["%in", "%out", *["%steps"] * frame.apart]
        parameters = ", ".join(f"ptr noalias {x}" for x in tables)
        if len(bodies) == 1:
            self.define(symbol, parameters, ["entry:", *buffers, *bodies[0]], internal=step)
            return
        calls = ["entry:", *buffers, f"  %scratch = alloca [{pieces.size} x {self.double}], align 64"]
        given = ", ".join(f"ptr {x}" for x in [*tables, "%scratch", "%scratch", "%frame" if frame.loops else "null"])
        more = "ptr noalias readonly %old, ptr noalias writeonly %new, ptr %frame"
        for k, lines in enumerate(bodies):
            self.define(f"{symbol}_{k}", f"{parameters}, {more}", ["entry:", *lines], internal=True)
            calls.append(f"  %status{k} = call i64 @{symbol}_{k}({given})")
        calls.append(f"  ret i64 %status{len(bodies) - 1}")
        self.define(symbol, parameters, calls, internal=step)

    def add_loop(self, symbol: str, loop: Loop) -> None:
        """`i64 symbol(ptr args, ptr results)`: calls the step for one row after the other.

        The carry goes to and fro between two buffers, since a step must not write what it reads.
        """
        self.add(f"{symbol}_step", loop.body, step=True)
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
