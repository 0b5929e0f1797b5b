"""Names from files as texts of a page: without control characters, and short."""

from __future__ import annotations

from html import escape

MOST = 40  # characters


def label(text: object, most: int = MOST) -> str:
    """A name as plain text: control characters become escapes, a long name is cut in its middle."""
    raw = str(text)
    if len(raw) > 4 * most:
        raw = raw[: 2 * most] + raw[-2 * most :]
    shown = "".join(x if x.isprintable() else x.encode("unicode_escape").decode() for x in raw)
    head = (most - 1) // 2
    return shown if len(shown) <= most else f"{shown[: most - 1 - head]}…{shown[len(shown) - head :]}"


def paragraph(text: object, most: int = 400) -> str:
    """A sentence as HTML, escaped."""
    return f'<p style="margin: 0.3em 0.8em; font-size: 0.85em; overflow-wrap: anywhere">{escape(label(text, most))}</p>'
