"""Text for a terminal: control characters, which names from files may have, become escapes."""

from __future__ import annotations

from ..control_characters import harmless as harmless

WIPE = "\r\x1b[2K"  # empties the line of a terminal


def one_line(message: str) -> str:
    """The message in one line, without control characters."""
    return harmless(" ".join(message.split()))


def cells(text: str) -> int:
    """Number of columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    wide = sum(east_asian_width(x) in "WF" for x in text)
    return len(text) + wide - sum(combining(x) != 0 for x in text)
