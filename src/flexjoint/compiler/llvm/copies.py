"""Functions that move stretches of arrays to a loop's frame and back; there the lanes of a value are together.

Straight code took LLVM 27 s for the 3500 elements that 50 periods of a simulated 7R move, these take 1.7 s.
"""

from __future__ import annotations

from functools import reduce

from ..passes.twins import ANGLES
from .emitter import Emitter
from .function_body import Shape

PARAMETERS = "ptr %to, ptr %from, i64 %count, i64 %step"  # elements, and how far apart rows are in the array


def copy_function(name: str, shape: Shape) -> tuple[str, list[str]]:
    """What `read` or `write` returns, and its lines; `write` returns 0 times what it wrote, finite if that was.

    A register of each row is moved at a time and transposed on the way; the last one, whatever came before.
    """
    rows, lanes = shape
    width = ANGLES if lanes == 1 else lanes
    array, frame = ("%from", "%to") if name == "read" else ("%to", "%from")
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
        f"  %at0 = getelementptr {value}, ptr {frame}, i64 %e",
        *(f"  %at{k} = getelementptr {value}, ptr %at0, i64 {k}" for k in range(1, lanes)),
        f"  %row0 = getelementptr double, ptr {array}, i64 %e",
        *(f"  %row{k} = getelementptr double, ptr %row{k - 1}, i64 %step" for k in range(1, rows)),
    ]
    sources, targets = (f"%row{k}" for k in range(rows)), (f"%at{k}" for k in range(lanes))
    if name == "write":
        sources, targets = targets, sources
    found = [emit.put(f"load {emit.double}, ptr {x}, align 8") for x in sources]
    zero = reduce(lambda sum, x: emit.fma(x, emit.const(0.0), sum), found, emit.const(0.0))
    if lanes > 1:  # one row is in all lanes
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
    """Lane k of register i becomes lane i of register k: of a power of two of registers with as many lanes."""
    found, lanes, distance = list(registers), range(emit.lanes), 1
    while distance < emit.lanes:
        for i in (i for i in lanes if not i & distance):
            a, b = found[i], found[i + distance]
            low = [k + emit.lanes - distance if k & distance else k for k in lanes]
            found[i], found[i + distance] = (emit.shuffle(a, b, [k + add for k in low]) for add in (0, distance))
        distance *= 2
    return found
