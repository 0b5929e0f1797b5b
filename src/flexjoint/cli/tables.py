"""Tables on the screen.  Nothing is cut off: wide cells are wrapped between words; if the table still does not fit,
each row becomes a block of lines.

The width is COLUMNS if that is set, else that of the terminal; in a file or a pipe it is unlimited.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from textwrap import wrap
from typing import Any

from ..tables import Table as Table
from .terminal_text import cells, harmless

BETWEEN = 3  # blanks between columns
INDENT = 2


def screen_width(stream: Any) -> float:
    """Characters per line; infinite if the stream is no terminal and COLUMNS is not set."""
    wanted = os.environ.get("COLUMNS", "")
    if wanted.isdecimal() and int(wanted) > 0:
        return int(wanted)
    if not stream.isatty():
        return math.inf
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except OSError:
        return 80


def lines(table: Table, width: float) -> Iterator[str]:
    """The table as lines without trailing blanks."""
    headings = [harmless(x) for x in table.headings]
    rows = [[harmless(x) for x in row] for row in table.rows]
    right = [x in table.numbers for x in table.headings]
    yield from folded(harmless(table.title), width, 0)
    widths = fitting(headings, rows, right, width - 2 * INDENT)
    if widths is None:
        yield from blocks(headings, rows, width)
    else:
        yield from (" " * INDENT + x for x in record(headings, widths, right))
        yield " " + "─" * (sum(widths) + BETWEEN * (len(widths) - 1) + 2)
        for k, row in enumerate(rows):
            if k in table.gaps:
                yield ""
            yield from (" " * INDENT + x for x in record(row, widths, right))
    if table.note and widths is None:
        yield ""
    yield from folded(harmless(table.note), width, INDENT)


def fitting(
    headings: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[bool], width: float
) -> list[int] | None:
    """Widths of the columns; None if the table does not fit without breaking a word or a number."""
    columns = list(zip(headings, *rows))
    widest = [max(map(cells, column)) for column in columns]
    least = []
    for column, number in zip(columns, right):
        heading, *own = column
        parts = own if number else [word for cell in own for word in cell.split()]
        least.append(max(map(cells, [*heading.split(), *parts]), default=0))
    room = width - BETWEEN * (len(columns) - 1)
    if sum(least) > room:
        return None
    while (excess := sum(widest) - room) > 0:  # narrow the widest column that can be narrowed
        spare = [(wide, k) for k, (wide, narrow) in enumerate(zip(widest, least)) if wide > narrow]
        wide, k = max(spare)
        second = max((x for x, i in spare if i != k), default=0)
        widest[k] = max(least[k], wide - max(1, min(int(excess), wide - second)))
    return widest


def record(row: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> Iterator[str]:
    """Lines of a row, with cells wrapped that are wider than their column."""
    wrapped = [[cell] if cells(cell) <= width else words(cell, width) for cell, width in zip(row, widths)]
    for k in range(max(map(len, wrapped))):
        parts = [cell[k] if k < len(cell) else "" for cell in wrapped]
        aligned = [padded(*cell) for cell in zip(parts, widths, right)]
        yield (" " * BETWEEN).join(aligned).rstrip()


def padded(text: str, width: int, right: bool) -> str:
    """The text with blanks to fill a width, right- or left-aligned."""
    blanks = " " * (width - cells(text))
    return blanks + text if right else text + blanks


def blocks(headings: Sequence[str], rows: Sequence[Sequence[str]], width: float) -> Iterator[str]:
    """A block of lines per row: the first cell, then heading and cell of the others."""
    for k, row in enumerate(rows):
        if k:
            yield ""
        for j, (heading, cell) in enumerate(zip(headings, row)):
            if cell:
                yield from folded(f"{heading}: {cell}" if heading else cell, width, 0 if j == 0 else INDENT)


def folded(text: str, width: float, indent: int) -> Iterator[str]:
    """A text wrapped between words, continuation lines indented."""
    if text and indent + cells(text) <= width:
        yield " " * indent + text
    elif text:
        first, *rest = words(text, max(1, int(width) - indent - INDENT))
        yield " " * indent + first
        yield from (" " * (indent + INDENT) + x for x in rest)


def words(text: str, width: int) -> list[str]:
    """Lines of a text wrapped between words."""
    return wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]
