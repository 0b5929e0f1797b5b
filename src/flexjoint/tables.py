"""Tables of texts and numbers with units: what a command shows on the screen and a report in its page."""

from __future__ import annotations

import math
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


def quantity(x: float, unit: str = "", digits: int = 3) -> str:
    """A number with its unit as text; `∞` if it is infinite.

    Args:
        x: The number.
        unit: Its unit; default none.
        digits: Significant digits; default 3.

    >>> quantity(0.12345, "rad"), quantity(float("inf"), "rad")
    ('0.123 rad', '∞')
    """
    return f"{x:.{digits}g} {unit}".rstrip() if math.isfinite(x) else "∞" if x > 0 else "−∞" if x < 0 else "NaN"


def interval(low: float, high: float, unit: str = "", digits: int = 3) -> str:
    """A range of numbers with its unit as text; one number if both ends look alike.

    Args:
        low: Lower end.
        high: Upper end.
        unit: Unit of both; default none.
        digits: Significant digits; default 3.

    >>> interval(5.931, 5.934, "Hz"), interval(5.9, 7.2, "Hz")
    ('5.93 Hz', '5.9 to 7.2 Hz')
    """
    first, last = quantity(low, digits=digits), quantity(high, unit, digits)
    return last if first == quantity(high, digits=digits) else f"{first} to {last}"
