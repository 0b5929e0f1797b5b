"""Functions that copy contiguous runs between arrays, row by row, and loop buffers, where the lanes of a value are
together: an array of structures becomes a structure of arrays, and back.

    row 0: a0 b0 c0 d0                        a0 a1 a2 a3
    row 1: a1 b1 c1 d1       @read ->         b0 b1 b2 b3       four rows, four lanes
    row 2: a2 b2 c2 d2       <- @write        c0 c1 c2 c3
    row 3: a3 b3 c3 d3                        d0 d1 d2 d3

Straight code took LLVM 27 s for the 3500 elements that 50 periods of a simulated 7R copy; these take 1.7 s.
"""

from __future__ import annotations

from functools import reduce

from ..passes.superword import ANGLES
from .emitter import Emitter
from .function_body import Shape

PARAMETERS = "ptr %to, ptr %from, i64 %count, i64 %stride"  # elements of a row, and from row to row of the array


def copy_function(name: str, shape: Shape) -> tuple[str, list[str]]:
    """The result type and the lines of `read` or `write`; `write` returns Σ 0·x, which is finite if all x are.

    Each turn copies a register of every row and transposes them; the last turn ends at the last element, even if it
    copies some elements again.
    """
    rows, lanes = shape
    width = ANGLES if lanes == 1 else lanes
    array, buffer = ("%from", "%to") if name == "read" else ("%to", "%from")
    value = Emitter([], lanes).double
    lines: list[str] = []
    emit = Emitter(lines, width)
    lines += [
        "entry:",
        f"  %last = sub i64 %count, {width}",
        "  br label %next",
        "next:",
        "  %e = phi i64 [0, %entry], [%after, %next]",
        f"  %sum = phi {emit.double} [zeroinitializer, %entry], [%more, %next]",
        f"  %at0 = getelementptr {value}, ptr {buffer}, i64 %e",
        *(f"  %at{k} = getelementptr {value}, ptr %at0, i64 {k}" for k in range(1, lanes)),
        f"  %row0 = getelementptr double, ptr {array}, i64 %e",
        *(f"  %row{k} = getelementptr double, ptr %row{k - 1}, i64 %stride" for k in range(1, rows)),
    ]
    sources, targets = (f"%row{k}" for k in range(rows)), (f"%at{k}" for k in range(lanes))
    if name == "write":
        sources, targets = targets, sources
    found = [emit.put(f"load {emit.double}, ptr {x}, align 8") for x in sources]
    zero = reduce(lambda sum, x: emit.fma(x, emit.const(0.0), sum), found, emit.const(0.0))
    if lanes > 1:  # a single row is in all lanes
        found = transposed(emit, found if len(found) == lanes else found * lanes)
    lines += [f"  store {emit.double} {x}, ptr {target}, align 8" for x, target in zip(found, targets)]
    lines += [
        f"  %more = fadd {emit.double} %sum, {zero}",
        f"  %then = add i64 %e, {width}",
        "  %over = icmp ugt i64 %then, %last",
        "  %after = select i1 %over, i64 %last, i64 %then",
        "  %going = icmp ult i64 %e, %last",
        "  br i1 %going, label %next, label %end",
        "end:",
    ]
    total = emit.total("%more") if lanes == 1 else "%more"
    lines.append("  ret i64 0" if name == "read" else f"  ret {value} {total}")
    return ("i64" if name == "read" else value), lines


def transposed(emit: Emitter, registers: list[str]) -> list[str]:
    """Lane k of register i as lane i of register k; the number of registers and lanes is a power of two."""
    found, lanes, distance = list(registers), range(emit.lanes), 1
    while distance < emit.lanes:
        for i in (i for i in lanes if not i & distance):
            a, b = found[i], found[i + distance]
            low = [k + emit.lanes - distance if k & distance else k for k in lanes]
            found[i], found[i + distance] = (emit.shuffle(a, b, [k + add for k in low]) for add in (0, distance))
        distance *= 2
    return found
