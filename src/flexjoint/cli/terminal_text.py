"""Text for a terminal: control characters, which names from files may have, become escapes."""

from __future__ import annotations

WIPE = "\r\x1b[2K"  # empties the line of a terminal


def harmless(text: str, keep: str = "") -> str:
    """The text with control characters, except those in `keep`, as escapes such as \\x1b."""
    if text.isprintable():
        return text
    return "".join(x if x in keep or not commands(x) else x.encode("unicode_escape").decode() for x in text)


def commands(character: str) -> bool:
    """Whether a character controls the terminal or the layout instead of being shown."""
    from unicodedata import category

    return category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


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
