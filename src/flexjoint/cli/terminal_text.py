"""Text that may be shown anywhere: names from files can hold control characters, and terminals obey those."""

from __future__ import annotations


def harmless(text: str, keep: str = "") -> str:
    """The text with control characters, but those to keep, written as escapes such as \\x1b."""
    if text.isprintable():
        return text
    return "".join(x if x in keep or not commands(x) else x.encode("unicode_escape").decode() for x in text)


def commands(character: str) -> bool:
    """Whether a character tells a terminal or a reader's eye to do something, instead of being shown."""
    from unicodedata import category

    return category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def one_line(message: str) -> str:
    return harmless(" ".join(message.split()))


def cells(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    wide = sum(east_asian_width(x) in "WF" for x in text)
    return len(text) + wide - sum(combining(x) != 0 for x in text)
