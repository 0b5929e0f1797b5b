"""How much stack the functions of a module need at most, from their IR text.

Machine code keeps its buffers (`alloca`) and the values for which there is no register on the stack of the thread that
calls it.  Which values those are only LLVM knows; no more than there are instructions.  The bound is stored beside the
code, as the constant `SYMBOL`, and the caller compares it with what its thread has left.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

SYMBOL = "kernel_stack"
LINK = 256  # bytes: return address, saved registers and the alignment of a frame
ALLOCA = re.compile(r"= alloca (?:\[(\d+) x )?(?:<(\d+) x )?")
WIDTH = re.compile(r"<(\d+) x ")
DEFINED = re.compile(r"^define [^@]*@([\w.]+)\(")
CALLED = re.compile(r"\bcall [^@]*@([\w.]+)\(")


def stack_bytes(functions: Sequence[str], symbol: str) -> int:
    """Bytes that a call of the function `symbol` takes at most, together with all that it calls."""
    bodies = {found[1]: text for text in functions if (found := DEFINED.match(text))}

    @cache
    def needed(name: str) -> int:
        inner = {callee for callee in CALLED.findall(bodies[name]) if callee in bodies}
        return frame_bytes(bodies[name]) + max(map(needed, inner), default=0)

    return needed(symbol)


def frame_bytes(text: str) -> int:
    """Of one function: its buffers, and its values as if all of them were kept there."""
    buffers = sum(8 * int(length or 1) * int(lanes or 1) for length, lanes in ALLOCA.findall(text))
    widest = max(map(int, WIDTH.findall(text)), default=1)
    return LINK + buffers + 8 * widest * text.count("\n")


def stack_constant(functions: Sequence[str], symbol: str) -> str:
    """The line of IR that stores it."""
    return f"@{SYMBOL} = constant i64 {stack_bytes(functions, symbol)}\n"
