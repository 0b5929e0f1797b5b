"""Function outlining: long code is cut into internal functions that pass values on through a scratch buffer.

    v0 .. v559        ->   kernel_0: v0 .. v279, stores v17 in slot 0;   kernel_1: loads slot 0, v280 .. v559

LLVM's time grows faster than the length of a function: the mass matrix of 100 joints takes it 12 s in functions of 2000
values, 5 s in functions of 500.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from ..ir.program import Op, Program, unsigned
from ..passes.superword import bundled

WHOLE = 2500  # values; longer code is cut
CHUNK = 280  # values per function; feedback linearizations take 2 to 5 % more in parts of 420, 5 to 15 % more in one
PACKED_WHOLE, PACKED_CHUNK = 12_000, 2000  # with packed values; elastic N = 30: 20 % faster than in parts of 500


def lengths(program: Program) -> tuple[int, int]:
    """The most values of a Program that stays one function, and the values per function otherwise."""
    return (PACKED_WHOLE, PACKED_CHUNK) if program.packs else (WHOLE, CHUNK)


class Outlined(NamedTuple):
    """A Program cut into functions, each a range of values.

    Values that a later function needs have `slots` in a scratch buffer of `size` numbers.  `bundles` are the values
    that are computed together, by the first of them, and `pairs` the second value of each pair by the first
    (passes/superword.py).
    """

    program: Program
    functions: Sequence[range]
    bundles: Mapping[int, range]
    pairs: Mapping[int, int]
    slots: Mapping[int, int]
    size: int


def outlined(program: Program, most: int, length: int, one_row: bool) -> Outlined:
    """One function up to `most` values, otherwise functions of about `length` values; bundles stay whole."""
    bundles, pairs = [range(i, i + 1) for i in range(len(program.code))], dict[int, int]()
    if one_row:
        program, bundles, pairs = bundled(program)
    end_of = {i: bundle.stop for bundle in bundles for i in bundle}
    parts = chunks(len(program.code), most if len(program.code) <= most else length)
    bounds = {0, *(end_of[part[-1]] for part in parts)}
    functions = [range(a, b) for a, b in pairwise(sorted(bounds))]
    slots, size = scratch_slots(program.code, functions, pairs)
    return Outlined(program, functions, {bundle.start: bundle for bundle in bundles}, pairs, slots, size)


def chunks(length: int, size: int) -> Sequence[range]:
    """`length` items in ranges of nearly equal length, none longer than `size`."""
    count = max(1, math.ceil(length / size))
    bounds = [length * k // count for k in range(count + 1)]
    return [range(a, b) for a, b in pairwise(bounds)]


def scratch_slots(
    code: Sequence[Op], functions: Sequence[range], pairs: Mapping[int, int]
) -> tuple[dict[int, int], int]:
    """The slot of each value that a later function uses, and the number of slots.

    The slots of a pair are adjacent.  Slots are reused, but no function writes a slot that it also reads.
    """
    if len(functions) == 1:
        return {}, 1
    function_of = {i: k for k, function in enumerate(functions) for i in function}
    last: dict[int, int] = {}
    for i, op in enumerate(code):
        for x in (unsigned(code, x) for x in op.operands):
            if code[x].computed and function_of[x] < function_of[i]:
                last[x] = function_of[i]
    both = {a: b for a, b in pairs.items() if a in last and b in last}
    seconds = set(both.values())
    live: list[tuple[int, ...]] = [(x, both[x]) if x in both else (x,) for x in sorted(last) if x not in seconds]
    begin: list[list[tuple[int, ...]]] = [[] for _ in functions]
    end: list[list[tuple[int, ...]]] = [[] for _ in functions]
    for values in live:
        begin[function_of[values[0]]].append(values)
        end[max(last[x] for x in values)].append(values)
    slots: dict[int, int] = {}
    free: dict[int, list[int]] = {1: [], 2: []}
    size = 0
    for begins, ends in zip(begin, end):
        for values in begins:
            width = len(values)
            if not free[width]:
                free[width].append(size)
                size += width
            at = free[width].pop()
            slots |= {x: at + e for e, x in enumerate(values)}
        for values in ends:
            free[len(values)].append(slots[values[0]])
    return slots, max(size, 1)
