"""Control characters in texts, which names from files may have: shown as escapes, never obeyed."""

from __future__ import annotations


def harmless(text: str, keep: str = "") -> str:
    """The text with control characters, except those in `keep`, as escapes such as \\x1b."""
    if text.isprintable():
        return text
    return "".join(x if x in keep or not commands(x) else x.encode("unicode_escape").decode() for x in text)


def commands(character: str) -> bool:
    """Whether a character controls a terminal or the layout instead of being shown."""
    from unicodedata import category

    return category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
