"""Bound on the stack that the functions of a module need, from their IR text.

    kernel: 2 buffers, 400 values; calls kernel_0: 280 values        ->   buffers + 8·680 bytes + two call frames

Machine code keeps its buffers (`alloca`) and the values without a register on the stack of the calling thread.  Only
LLVM knows which values these are, but there are no more than instructions.  The bound is stored beside the code, as the
constant `SYMBOL`, and the caller compares it with what its thread has left.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

SYMBOL = "kernel_stack"
LINK = 256  # bytes: return address, saved registers and the alignment of a call frame
ALLOCA = re.compile(r"= alloca (?:\[(\d+) x )?(?:<(\d+) x )?")
WIDTH = re.compile(r"<(\d+) x ")
DEFINED = re.compile(r"^define [^@]*@([\w.]+)\(")
CALLED = re.compile(r"\bcall [^@]*@([\w.]+)\(")


def stack_bytes(functions: Sequence[str], symbol: str) -> int:
    """The most bytes that a call of the function `symbol` takes, with all that it calls."""
    bodies = {found[1]: text for text in functions if (found := DEFINED.match(text))}

    @cache
    def needed(name: str) -> int:
        inner = {callee for callee in CALLED.findall(bodies[name]) if callee in bodies}
        return frame_bytes(bodies[name]) + max(map(needed, inner), default=0)

    return needed(symbol)


def frame_bytes(text: str) -> int:
    """The call frame of one function: its buffers, and its values as if all of them were spilled."""
    buffers = sum(8 * int(length or 1) * int(lanes or 1) for length, lanes in ALLOCA.findall(text))
    widest = max(map(int, WIDTH.findall(text)), default=1)
    return LINK + buffers + 8 * widest * text.count("\n")


def stack_constant(functions: Sequence[str], symbol: str) -> str:
    """The line of IR that stores it."""
    return f"@{SYMBOL} = constant i64 {stack_bytes(functions, symbol)}\n"
