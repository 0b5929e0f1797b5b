"""Where the loops of a Program find their arguments and leave their results: one buffer, loop after loop.

    [args of loop 1 | results of loop 1 | args of loop 2 | ...]

Contiguous runs of an array that are arguments or results of a loop are copied by a loop of their own
(transposed_copies.py), not element by element.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

from ..ir.program import Program

LEAST_RUN = 16  # elements; shorter runs are copied by straight code


class LoopBuffers:
    """The buffer of all loops of a Program.  `step` is True in the body of a loop, False in a kernel's own code."""

    def __init__(self, program: Program, symbol: str, step: bool):
        self.loops = {i: op.loop for i, op in enumerate(program.code) if op.loop}
        self._symbol = symbol
        self._start: dict[int, int] = {}
        self._arguments = {i: len(program.code[i].args) for i in self.loops}
        self.written = [] if step else written_runs(program)  # copied to the caller when all is computed
        self.copied = {place for run in self.written for place in run.elements}
        self.size = 0
        for i, loop in self.loops.items():
            self._start[i] = self.size
            self.size += self._arguments[i] + loop.results

    def symbol(self, scan: int) -> str:
        """The name of a loop's function."""
        return f"{self._symbol}_loop{scan}"

    def argument(self, scan: int, k: int) -> int:
        """The place of argument k of a loop."""
        return self._start[scan] + k

    def result(self, scan: int, k: int) -> int:
        """The place of result k of a loop."""
        return self._start[scan] + self._arguments[scan] + k


class Run(NamedTuple):
    """`length` elements that are contiguous in an array and among the arguments or results of a scan."""

    scan: int
    place: int
    array: int
    element: int
    length: int

    @property
    def elements(self) -> set[tuple[int, int]]:
        """(array, element) of each."""
        return {(self.array, self.element + k) for k in range(self.length)}


def contiguous_runs(single: Iterable[tuple[int, int, int, int]]) -> list[Run]:
    """Runs of at least `LEAST_RUN` elements among single elements (scan, place, array, element) in order."""
    found = []
    for _, group in groupby(enumerate(single), lambda x: (x[1][0], x[1][1] - x[0], x[1][2], x[1][3] - x[0])):
        members = list(group)
        if len(members) >= LEAST_RUN:
            found.append(Run(*members[0][1], len(members)))
    return found


def read_runs(program: Program, scan: int) -> list[Run]:
    """Arguments of a scan that are elements of inputs."""
    args = [(k, program.code[x]) for k, x in enumerate(program.code[scan].args)]
    return contiguous_runs((scan, k, op.args[0], op.args[1]) for k, op in args if op.name == "input")


def written_runs(program: Program) -> list[Run]:
    """Results of scans that are elements of outputs."""
    results = [(k, e, program.code[x]) for k, row in enumerate(program.results) for e, x in enumerate(row)]
    return contiguous_runs((op.args[0], op.args[1], k, e) for k, e, op in results if op.name == "item")


def copied_elements(program: Program) -> set[tuple[int, int]]:
    """(output, element) of what is copied to the caller from loop buffers, and checked on the way."""
    return {place for run in written_runs(program) for place in run.elements}
