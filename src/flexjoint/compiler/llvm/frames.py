"""Where the loops of a Program find their arguments and leave their results, and what is copied there as a whole."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..ir.program import Program

STRETCH = 16  # from so many on, elements that lie side by side go to a loop's frame, or from it, in a loop


class Frame:
    """One buffer, part after part."""

    def __init__(self, program: Program, symbol: str, step: bool, grouped: bool):
        self.loops = {i: op.loop for i, op in enumerate(program.code) if op.loop}
        self.grouped = grouped  # then a loop is called for all groups at once, not by a piece
        self.apart = bool(self.loops) and not step and grouped  # whether the rows of outputs may be
        self._symbol = symbol
        self._start: dict[int, int] = {}
        self._arguments = {i: len(program.code[i].args) for i in self.loops}
        self.written = [] if step else written_stretches(program)  # whole to the caller, when all is computed
        self.copied = {place for stretch in self.written for place in stretch.elements}
        self.size = 0
        for i, loop in self.loops.items():
            self._start[i] = self.size
            self.size += self._arguments[i] + loop.results

    def symbol(self, scan: int) -> str:
        return f"{self._symbol}_loop{scan}"

    def argument(self, scan: int, k: int) -> int:
        return self._start[scan] + k

    def result(self, scan: int, k: int) -> int:
        return self._start[scan] + self._arguments[scan] + k


class Stretch(NamedTuple):
    """Elements side by side in an array and among the arguments or results of a scan: from where, and how many."""

    scan: int
    place: int
    array: int
    element: int
    length: int = 1

    def followed_by(self, other: Stretch) -> bool:
        after = self._replace(place=self.place + self.length, element=self.element + self.length, length=1)
        return after == other

    @property
    def elements(self) -> set[tuple[int, int]]:
        """(array, element) of each."""
        return {(self.array, self.element + k) for k in range(self.length)}


def stretches(single: Iterable[Stretch]) -> list[Stretch]:
    """Those long enough, from single elements in turn."""
    found: list[Stretch] = []
    for x in single:
        if found and found[-1].followed_by(x):
            found[-1] = found[-1]._replace(length=found[-1].length + 1)
        else:
            found.append(x)
    return [x for x in found if x.length >= STRETCH]


def read_stretches(program: Program, scan: int) -> list[Stretch]:
    """Arguments of a scan that are elements of inputs."""
    args = [(k, program.code[x]) for k, x in enumerate(program.code[scan].args)]
    return stretches(Stretch(scan, k, op.args[0], op.args[1]) for k, op in args if op.name == "input")


def written_stretches(program: Program) -> list[Stretch]:
    """Results of scans that are elements of outputs."""
    results = [(k, e, program.code[x]) for k, row in enumerate(program.results) for e, x in enumerate(row)]
    return stretches(Stretch(op.args[0], op.args[1], k, e) for k, e, op in results if op.name == "item")
