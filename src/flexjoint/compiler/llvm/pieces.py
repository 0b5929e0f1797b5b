"""A Program as functions: which operations each has, and where values wait that a later function needs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from ..ir.program import Op, Program
from ..passes.twins import together


class Pieces(NamedTuple):
    """`runs` of values, a function each, that pass values on through the `slots` of a buffer of `size` numbers."""

    program: Program
    runs: Sequence[range]
    units: Mapping[int, range]  # what is executed together, by its first value
    twin: Mapping[int, int]  # the second of each first, see twins.py
    slots: Mapping[int, int]
    size: int

    @classmethod
    def of(cls, program: Program, most: int, length: int, one_row: bool, cut_after_loops: bool = False) -> Pieces:
        """One function up to `most` values, else functions of about `length`."""
        units = [range(i, i + 1) for i in range(len(program.code))]
        twin: dict[int, int] = {}
        if one_row:
            program, units, twin = together(program)
        end_of = {i: unit.stop for unit in units for i in unit}
        parts = chunks(len(program.code), most if len(program.code) <= most else length)
        bounds = {0, *(end_of[part[-1]] for part in parts)}
        bounds |= {i + 1 for i, op in enumerate(program.code) if op.loop and cut_after_loops}
        runs = [range(a, b) for a, b in pairwise(sorted(bounds))]
        slots, size = scratch_slots(program.code, runs, twin)
        return cls(program, runs, {unit.start: unit for unit in units}, twin, slots, size)


def chunks(length: int, size: int) -> Sequence[range]:
    """Split `length` items into runs of nearly equal length, none longer than `size`."""
    count = max(1, math.ceil(length / size))
    bounds = [length * k // count for k in range(count + 1)]
    return [range(a, b) for a, b in pairwise(bounds)]


def unsigned(code: Sequence[Op], x: int) -> int:
    """The value without the negations before it, which belong to what uses it."""
    while code[x].name == "neg":
        x = code[x].args[0]
    return x


def scratch_slots(code: Sequence[Op], runs: Sequence[range], twin: Mapping[int, int]) -> tuple[dict[int, int], int]:
    """A slot of the scratch buffer for each value that a later run uses, and how many there are.

    Those of twins are side by side.  Slots are reused, but no run writes a slot that it also reads.
    """
    run_of = {i: k for k, run in enumerate(runs) for i in run}
    last: dict[int, int] = {}
    for i, op in enumerate(code):
        for x in (unsigned(code, x) for x in op.operands):
            if code[x].computed and run_of[x] < run_of[i]:
                last[x] = run_of[i]
    both = {a: b for a, b in twin.items() if a in last and b in last}
    seconds = set(both.values())
    waiting: list[tuple[int, ...]] = [(x, both[x]) if x in both else (x,) for x in sorted(last) if x not in seconds]
    begin: list[list[tuple[int, ...]]] = [[] for _ in runs]
    end: list[list[tuple[int, ...]]] = [[] for _ in runs]
    for values in waiting:
        begin[run_of[values[0]]].append(values)
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
