"""Pieces of HTML for notebooks and self-contained pages; every text is escaped, since names come from files."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape

from .control_characters import harmless

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"  # no script runs, nothing is requested
PIXELS = 96.0  # of CSS per inch
MOST_CHARACTERS = 4_000  # of a text; more come only from files that are damaged or hostile
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a;
  overflow-wrap: anywhere }
h1 { font-size: 1.6rem; line-height: 1.25 } h2 { font-size: 1.2rem; margin: 2.2rem 0 0.6rem }
table { border-collapse: collapse; font-size: 0.9rem; display: block; overflow-x: auto }
th, td { text-align: left; vertical-align: top; padding: 0.35rem 0.7rem; border-bottom: 1px solid #ddd;
  overflow-wrap: break-word; min-width: 2.5rem; max-width: 36rem }
th { border-bottom: 2px solid #888 } caption { text-align: left; font-weight: 600; padding: 0.3rem 0 }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums }
figure { margin: 1.5rem 0 2rem } img { max-width: 100%; height: auto } figcaption, .note { color: #444 }
pre { background: #f5f5f5; border: 1px solid #ddd; padding: 0.7rem 0.9rem; font-size: 0.85rem; white-space: pre-wrap }
.alert { background: #fff6e5; border-left: 4px solid #e69f00; padding: 0.3rem 0.9rem }
@media screen and (max-width: 40rem) {
  body { margin: 1rem auto } th, td { padding: 0.3rem 0.45rem } figure { overflow-x: auto } img { max-width: 48rem }
}
@media print {
  body { max-width: none; margin: 0; font-size: 10pt } table { display: table }
  figure, tr, pre { break-inside: avoid } h2, caption, tr:first-child { break-after: avoid } img { max-height: 23cm }
}
"""


def table(
    rows: Iterable[Sequence[object]], header: Sequence[object] = (), *, caption: str = "", numbers: Sequence[str] = ()
) -> str:
    """An HTML table, as a notebook shows it.

    Args:
        rows: Cells of each row; anything that `str` turns into a text.
        header: Headings of the columns; none by default.
        caption: A line above the table; none by default.
        numbers: Headings of columns that a page aligns to the right; none by default.

    Returns:
        The `<table>` element as text, with all cells escaped.

    Example:
        >>> table([("joint1", 9.81)], ("joint", "torque, Nm"))
        '<table><tr><th>joint</th><th>torque, Nm</th></tr><tr><td>joint1</td><td>9.81</td></tr></table>'
    """
    above = f'<caption style="text-align: left">{_text(caption)}</caption>' if caption else ""
    right = [x in numbers for x in header]
    head = _row(header, "th", right) if header else ""
    return f"<table>{above}{head}{''.join(_row(row, 'td', right) for row in rows)}</table>"


def picture(png: bytes, caption: str) -> str:
    """A PNG picture, part of the page, in its size where that fits, with its caption below."""
    data, width = b64encode(png).decode(), int.from_bytes(png[16:20]) * PIXELS / dots_per_inch(png)
    image = f'<img src="data:image/png;base64,{data}" alt="{_text(caption)}" width="{width:.0f}">'
    return f"<figure>{image}{_tag('figcaption', caption)}</figure>"


def dots_per_inch(png: bytes) -> float:
    """Resolution of a PNG picture; 96, one dot per pixel, if it does not say."""
    place = png.find(b"pHYs", 0, 1000)  # horizontal and vertical dots per m, four bytes each, and 1 for the metre
    known = place > 0 and png[place + 12 : place + 13] == b"\1"
    return 0.0254 * int.from_bytes(png[place + 4 : place + 8]) or PIXELS if known else PIXELS


def bullets(texts: Iterable[str]) -> str:
    """A list of sentences."""
    return f"<ul>{''.join(_tag('li', text) for text in texts)}</ul>"


def paragraphs(text: str, *, note: bool = False) -> str:
    """One paragraph per line of a text; as a note in grey."""
    return "".join(_tag("p", line, "note" if note else "") for line in text.splitlines())


def alert(content: str) -> str:
    """Content, which is HTML, that a reader must not overlook."""
    return f'<div class="alert">{content}</div>'


def code(text: str) -> str:
    """A program or a command, to be copied; nothing is left out."""
    return f"<pre><code>{escape(harmless(text, keep=chr(10)))}</code></pre>"


def section(title: str, content: str) -> str:
    """A heading above content, which is HTML."""
    return f"<section>{_tag('h2', title)}{content}</section>"


def page(title: str, parts: Iterable[str]) -> str:
    """A whole page, which needs no other file and no network, and in which no script runs.

    Args:
        title: Heading, and title of the window.
        parts: Pieces of HTML, such as those of `table`, `picture` and `section`.

    Returns:
        The document as text.
    """
    meta = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    meta += f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    head = f"<head>{meta}{_tag('title', title)}<style>{STYLE}</style></head>"
    body = "\n".join([_tag("h1", title), *parts])
    return f'<!doctype html>\n<html lang="en">{head}\n<body>\n{body}\n</body></html>\n'


def _row(cells: Sequence[object], tag: str, right: Sequence[bool]) -> str:
    kinds = ["number" if x else "" for x in right] + [""] * (len(cells) - len(right))
    return f"<tr>{''.join(_tag(tag, str(cell), kind) for cell, kind in zip(cells, kinds))}</tr>"


def _tag(name: str, text: str, kind: str = "") -> str:
    opening = f'{name} class="{kind}"' if kind else name
    return f"<{opening}>{_text(text)}</{name}>"


def _text(text: str) -> str:
    """A text of bounded length, escaped, with control characters as escapes."""
    left_out = len(text) - MOST_CHARACTERS
    if left_out > 0:
        text = f"{text[:MOST_CHARACTERS]}… ({left_out} more characters)"
    return escape(harmless(text, keep="\n\t"))
