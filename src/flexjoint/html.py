"""Pieces of HTML for notebooks and self-contained pages; every text is escaped, since names come from files."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem }
th, td { text-align: left; vertical-align: top; padding: 0.35rem 0.6rem; border-bottom: 1px solid #ddd }
th { border-bottom: 2px solid #888 }
figure { margin: 2.5rem 0 } img { width: 46rem; max-width: 100% } figcaption { color: #444 }
"""


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


def picture(png: bytes, caption: str) -> str:
    """A PNG picture, part of the page, with its caption below."""
    data = b64encode(png).decode()
    alternative = escape(caption, quote=True)
    return f'<figure><img src="data:image/png;base64,{data}" alt="{alternative}">{_tag("figcaption", caption)}</figure>'


def bullets(texts: Iterable[str]) -> str:
    """A list of sentences."""
    return f"<ul>{''.join(_tag('li', text) for text in texts)}</ul>"


def section(title: str, content: str) -> str:
    """A heading above content, which is HTML."""
    return f"<section>{_tag('h2', title)}{content}</section>"


def page(title: str, parts: Iterable[str]) -> str:
    """A whole page, which needs no other file and no network.

    Args:
        title: Heading, and title of the window.
        parts: Pieces of HTML, such as those of `table`, `picture` and `section`.

    Returns:
        The document as text.
    """
    meta = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    head = f"<head>{meta}{_tag('title', title)}<style>{STYLE}</style></head>"
    body = "\n".join([_tag("h1", title), *parts])
    return f'<!doctype html>\n<html lang="en">{head}\n<body>\n{body}\n</body></html>\n'


def _row(cells: Sequence[object], tag: str) -> str:
    return f"<tr>{''.join(_tag(tag, str(cell)) for cell in cells)}</tr>"


def _tag(name: str, text: str) -> str:
    return f"<{name}>{escape(text)}</{name}>"
