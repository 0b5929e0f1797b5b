"""What a check has found."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

Level = Literal["error", "warning", "note"]
LEVELS: tuple[Level, ...] = get_args(Level)  # the worst first


class Finding(NamedTuple):
    """Something in a robot or a log that is wrong or probably wrong.

    Attributes:
        level: "error": it cannot be used; "warning": it is probably not what was meant; "note": good to know.
        rule: the family of rules, such as "units".
        part: name of the link, joint or motor; "" for all of it.
        reason: what was found.
        fix: what to do about it; "" if there is nothing to do.
        file: the file it stands in; "" if not known.
        line: its line there, from 1; None if not known.
    """

    level: Level
    rule: str
    part: str
    reason: str
    fix: str = ""
    file: str = ""
    line: int | None = None

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}: " if self.line else f"{self.file}: " if self.file else ""
        return f"{place}{self.level}: {self.reason}" + (f"; {self.fix}" if self.fix else "")
