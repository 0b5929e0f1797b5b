"""Small HTML tables for notebooks; every text is escaped, since names come from files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def table(rows: Iterable[Sequence[object]], header: Sequence[object] = (), *, caption: str = "") -> str:
    """An HTML table, as a notebook shows it.

    Args:
        rows: Cells of each row; anything that `str` turns into a text.
        header: Headings of the columns; none by default.
        caption: A line above the table; none by default.

    Returns:
        The `<table>` element as text, with all cells escaped.

    Example:
        >>> table([("joint1", 9.81)], ("joint", "torque, Nm"))
        '<table><tr><th>joint</th><th>torque, Nm</th></tr><tr><td>joint1</td><td>9.81</td></tr></table>'
    """
    above = f'<caption style="text-align: left">{escape(caption)}</caption>' if caption else ""
    head = _row(header, "th") if header else ""
    return f"<table>{above}{head}{''.join(_row(row, 'td') for row in rows)}</table>"


def _row(cells: Sequence[object], tag: str) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(str(cell))}</{tag}>' for cell in cells)}</tr>"
