"""Python as text: calls of the public functions that repeat what was done."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from textwrap import indent
from typing import Any

WIDTH = 100  # characters of a line, beyond which each argument has its own


class Code(str):
    """An expression of Python; other texts become literals."""


def literal(value: Any) -> str:
    """An expression with this value: a Code itself, or numbers, texts, paths, lists and mappings of them."""
    if isinstance(value, Code):
        return str(value)
    if hasattr(value, "tolist"):  # of NumPy
        return literal(value.tolist())
    if isinstance(value, PathLike):
        return repr(fspath(value))
    if isinstance(value, float) and not math.isfinite(value):
        return f"float({str(value)!r})"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{literal(key)}: {literal(x)}" for key, x in value.items()) + "}"
    if isinstance(value, tuple):
        return f"({', '.join(map(literal, value))}{',' * (len(value) == 1)})"
    return f"[{', '.join(map(literal, value))}]" if isinstance(value, list) else repr(value)


def call(function: str, *arguments: Any, **options: Any) -> Code:
    """A call of a function; options that are None are left out."""
    given = [literal(x) for x in arguments]
    given += [f"{name}={literal(x)}" for name, x in options.items() if x is not None]
    line = f"{function}({', '.join(given)})"
    if len(line) <= WIDTH and "\n" not in line:
        return Code(line)
    return Code(f"{function}(\n{indent(','.join(f'{chr(10)}{x}' for x in given)[1:], '    ')},\n)")


def script(statements: Iterable[str]) -> str:
    """A program of these statements, with imports first."""
    found = dict.fromkeys(["import flexjoint as fj", *statements])
    imports = sorted(x for x in found if x.startswith("import "))
    return "\n".join([*imports, "", *(x for x in found if x not in imports), ""])
