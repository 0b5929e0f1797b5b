"""LLVM IR text of a Program: one function `i64 kernel(double **in, double **out)`, and what it calls.

    %2 = mul %0, %1        ->   %v7 = fmul double %v3, %v6

The function evaluates one row, or several at once, one in each lane of the vector registers; then it takes a third
argument, `long *strides`.  It reads each input array through in[k] and writes each output array through out[k], one row
after the other; where there are loops, the rows of output k are strides[k] doubles apart.  It returns a word whose bit
r is set if a result of row r is not finite.  Inputs and outputs must not overlap, which the caller checks, so loads are
marked invariant.  No fast-math flag is used: the operations are exactly the Program's, in every lane.

Code for one row may have packed values (ir/packing.py); its plain values are then equal in all lanes.
"""

from __future__ import annotations

from ..ir.program import LANES, Loop, Program
from ..passes.superword import ANGLES
from .emitter import DECLARATIONS, Emitter
from .function_body import FunctionBody, Shape
from .loop_buffers import LoopBuffers
from .outlining import lengths, outlined
from .stack import stack_constant
from .transposed_copies import PARAMETERS, copy_function

FOLDED_LANES = 4  # AVX2 folds a vector from memory into an operation, a broadcast takes a load: up to 10 % of a block


def kernel_ir(program: Program, rows: int = 1, symbol: str = "kernel") -> str:
    """The module of a Program whose last value is the check of its results (passes/finite_check.py)."""
    shape = Shape(rows, len(LANES) if program.packs else rows)
    functions = Functions(shape)
    if any(op.loop for op in program.code):
        for name in ("read", "write"):
            result, lines = copy_function(name, shape)
            functions.define(name, PARAMETERS, lines, internal=True, result=result)
    functions.add(symbol, program)
    widths = sorted({shape.lanes, 2, ANGLES} if rows == 1 else {rows})
    declarations = [DECLARATIONS.format(t=e.double, s=e.suffix) for e in (Emitter([], width) for width in widths)]
    constants = [*functions.constants(), stack_constant(functions.text, symbol)]
    return "\n".join([*declarations, *constants, *functions.text, "!0 = !{}", ""])


def takes_strides(program: Program) -> bool:
    """Whether code for several rows takes output rows that are any distance apart: where there are loops.

    A simulation then writes its history in place: without it a period per row of a batch of 64 takes 10 to 34 % more
    time.  In code without loops it would cost elastic inverse dynamics 3 %.
    """
    return any(op.loop for op in program.code)


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
        """`i64 symbol(ptr in, ptr out[, ptr strides])`: a kernel, or the step of a loop."""
        parts = outlined(program, *lengths(program), one_row=self.shape.rows == 1)
        buffers = LoopBuffers(parts.program, symbol, step)
        batch = self.shape.rows > 1 and not step
        for at, loop in buffers.loops.items():
            self.add_loop(buffers.symbol(at), loop)
        strided = batch and takes_strides(program)
        bodies = [
            FunctionBody(parts, values, buffers, step, strided, self.shape, self.table).text()
            for values in parts.functions
        ]
        arrays = ["%in", "%out", *["%strides"] * batch]
        parameters = ", ".join(f"ptr noalias {x}" for x in arrays)
        memory = [f"  %buffers = alloca [{buffers.size} x {self.double}], align 64"] if buffers.loops else []
        if len(bodies) == 1:
            self.define(symbol, parameters, ["entry:", *memory, *bodies[0]], internal=step)
            return
        scratch = "ptr noalias readonly %old, ptr noalias writeonly %new, ptr %buffers"
        given = [*arrays, "%scratch", "%scratch", "%buffers" if buffers.loops else "null"]
        lines = [*memory, f"  %scratch = alloca [{parts.size} x {self.double}], align 64"]
        for k, body in enumerate(bodies):
            self.define(f"{symbol}_{k}", f"{parameters}, {scratch}", ["entry:", *body], internal=True)
            lines.append(f"  %status{k} = call i64 @{symbol}_{k}({', '.join(f'ptr {x}' for x in given)})")
        lines.append(f"  ret i64 %status{len(bodies) - 1}")
        self.define(symbol, parameters, ["entry:", *lines], internal=step)

    def add_loop(self, symbol: str, loop: Loop) -> None:
        """`i64 symbol(ptr args, ptr results)`: calls the step for one row after the other.

        The carry alternates between two buffers, since a step must not write what it reads.
        """
        self.add(f"{symbol}_step", loop.body, step=True)
        carry, x, table, y = (loop.sizes[name] for name in ("carry", "x", "table", "y"))
        constants = ", ".join(f"double {Emitter([]).const(value)}" for row in loop.table for value in row)
        length = loop.turns * table
        value = f"[{constants}]" if length else "zeroinitializer"
        self.text.append(f"@{symbol}_table = internal constant [{length} x double] {value}, align 64\n")
        T = self.double
        first, turn = (loop.turns - 1, -1) if loop.reverse else (0, 1)
        last: list[str] = []
        emit = Emitter(last, self.lanes)
        for k in range(carry):
            found = emit.put(f"load {T}, ptr {emit.element('%then', k)}")
            last.append(f"  store {T} {found}, ptr {emit.element('%results', k)}")
        lines = [
            "entry:",
            f"  %a = alloca [{carry} x {T}], align 64",
            f"  %b = alloca [{carry} x {T}], align 64",
            "  %in = alloca [4 x ptr]",
            "  %out = alloca [2 x ptr]",
            f"  %xs = getelementptr {T}, ptr %args, i64 {carry}",
            f"  %shared = getelementptr {T}, ptr %xs, i64 {loop.turns * x}",
            f"  %ys = getelementptr {T}, ptr %results, i64 {carry}",
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
            *(line for k, name in enumerate(("now", "x", "table", "shared")) for line in _set("in", k, name)),
            *(line for k, name in enumerate(("then", "y")) for line in _set("out", k, name)),
            f"  %status = call i64 @{symbol}_step(ptr %in, ptr %out)",
            "  %k.next = add i64 %k, 1",
            f"  %row.next = add i64 %row, {turn}",
            f"  %more = icmp ult i64 %k.next, {loop.turns}",
            "  br i1 %more, label %turn, label %end",
            "end:",
            *last,
            "  ret i64 0",
        ]
        self.define(symbol, "ptr %args, ptr noalias %results", lines, internal=True)

    def define(self, name: str, parameters: str, lines: list[str], internal: bool, result: str = "i64") -> None:
        """Adds a function; internal ones are not inlined."""
        linkage, inlining = ("internal ", " noinline") if internal else ("", "")
        # LLVM does not realign the stack for spilled vector registers by itself.
        aligned = f" alignstack({8 * self.lanes})" if self.lanes > 1 else ""
        head = f"define {linkage}{result} @{name}({parameters}) nounwind{inlining}{aligned}"
        self.text.append(head + " {\n" + "\n".join(lines) + "\n}\n")


def _set(table: str, k: int, pointer: str) -> list[str]:
    """Stores a pointer in element k of a table of pointers."""
    name = f"%{table}.{k}"
    return [f"  {name} = getelementptr ptr, ptr %{table}, i64 {k}", f"  store ptr %{pointer}, ptr {name}"]


def _row(name: str, kind: str, base: str, size: int) -> list[str]:
    """Pointer to the row of an array that belongs to this turn."""
    return [
        f"  %{name}.index = mul i64 %row, {size}",
        f"  %{name} = getelementptr {kind}, ptr {base}, i64 %{name}.index",
    ]
