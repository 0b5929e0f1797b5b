"""A table of texts: what a command shows on the screen and a report in its page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """A table of texts.

    Args:
        headings: Of the columns.
        rows: Cells of each row.
        title: Line above the table; default none.
        note: Line below the table; default none.
        numbers: Headings of columns that are right-aligned and never wrapped; default none.
        gaps: Numbers of rows with an empty line before them; default none.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""
    note: str = ""
    numbers: Sequence[str] = ()
    gaps: Sequence[int] = ()
