"""Where the loops of a Program find their arguments and leave their results: one buffer, loop after loop.

    [args of loop 1 | results of loop 1 | args of loop 2 | ...]

Contiguous runs of an array that are arguments or results of a loop are copied by a loop of their own
(transposed_copies.py), not element by element.
"""

from __future__ import annotations

from collections.abc import Iterable
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
        self.copied = set() if step else copied_elements(program)
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
    length: int = 1

    def followed_by(self, other: Run) -> bool:
        """Whether a single element continues this run."""
        after = self._replace(place=self.place + self.length, element=self.element + self.length, length=1)
        return after == other

    @property
    def elements(self) -> set[tuple[int, int]]:
        """(array, element) of each."""
        return {(self.array, self.element + k) for k in range(self.length)}


def contiguous_runs(single: Iterable[Run]) -> list[Run]:
    """Runs of at least `LEAST_RUN` elements among single elements in order."""
    found: list[Run] = []
    for x in single:
        if found and found[-1].followed_by(x):
            found[-1] = found[-1]._replace(length=found[-1].length + 1)
        else:
            found.append(x)
    return [x for x in found if x.length >= LEAST_RUN]


def read_runs(program: Program, scan: int) -> list[Run]:
    """Arguments of a scan that are elements of inputs."""
    args = [(k, program.code[x]) for k, x in enumerate(program.code[scan].args)]
    return contiguous_runs(Run(scan, k, op.args[0], op.args[1]) for k, op in args if op.name == "input")


def written_runs(program: Program) -> list[Run]:
    """Results of scans that are elements of outputs."""
    results = [(k, e, program.code[x]) for k, row in enumerate(program.results) for e, x in enumerate(row)]
    return contiguous_runs(Run(op.args[0], op.args[1], k, e) for k, e, op in results if op.name == "item")


def copied_elements(program: Program) -> set[tuple[int, int]]:
    """(output, element) of what is copied to the caller from loop buffers, and checked on the way."""
    return {place for run in written_runs(program) for place in run.elements}
