"""What of a robot file was not used, and what was chosen where it says nothing: with line numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, NamedTuple

from ..errors import listed
from .xml import Element

Level = Literal["unused", "suspicious", "chosen"]
Note = Callable[[Element, str, str, Level], None]  # element, what, reason, level


class Finding(NamedTuple):
    """An entry of a file that was not used, is probably wrong, or for which something was chosen.

    Attributes:
        line: line in the file, from 1; 0 if it has none.
        what: the element or attribute, such as "<dynamics K>", with the link or joint it belongs to.
        reason: why it is not used, or what was chosen.
        level: "unused", "suspicious" or "chosen".
        file: name of the file if it is one that the read file includes, otherwise "".
    """

    line: int
    what: str
    reason: str
    level: Level = "unused"
    file: str = ""

    def __str__(self) -> str:
        place = f"{self.place}: " if self.line else ""
        return f"{place}{self.what}: {self.reason}"

    @property
    def place(self) -> str:
        """The line, with its file if that is an included one."""
        return f"{self.file}, line {self.line}" if self.file else f"line {self.line}"


def notes(main: str) -> tuple[list[Finding], Note]:
    """A report that is empty, and the function that adds a finding about an element to it.

    Args:
        main: name of the file that is read; findings in others, which it includes, name their file.
    """
    report: list[Finding] = []

    def note(element: Element, what: str, reason: str, level: Level) -> None:
        report.append(Finding(element.line, what, reason, level, "" if element.file == main else element.file))

    return report, note


def summary(place: str, report: Iterable[Finding]) -> str:
    """One line about entries that are not used or suspicious; empty if there are none."""
    found = [x for x in report if x.level != "chosen"]
    if not found:
        return ""
    kinds = listed(dict.fromkeys(x.what.split(" of '")[0].split(" '")[0] for x in found), most=6)
    count = "1 entry is" if len(found) == 1 else f"{len(found)} entries are"
    return f"{place}: {count} not used or suspicious, first in {found[0].place}: {kinds}; `flexjoint info` lists them"


def grouped(report: Iterable[Finding]) -> list[tuple[str, str, str, list[str]]]:
    """(level, what, reason, lines) with findings that differ only in their link or joint in one entry."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for x in report:
        what = x.what.split(" of '")[0].split(" '")[0]
        found.setdefault((x.level, what, x.reason), []).append(f"{x.file}:{x.line}" if x.file else str(x.line))
    return [(level, what, reason, lines) for (level, what, reason), lines in found.items()]
