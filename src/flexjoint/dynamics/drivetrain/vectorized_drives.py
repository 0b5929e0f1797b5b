"""Drives of several joints as one, their numbers in the lanes of packed values (compiler/packing.py)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from ...checks import is_number
from ...compiler.ir.packing import pack
from ...spatial import is_symbolic, is_zero


def alike(item: Any) -> Any:
    """Equal for drives that differ in numbers alone, and in none that vanishes in one of them."""
    if dataclasses.is_dataclass(item):
        return type(item), tuple(alike(getattr(item, field.name)) for field in dataclasses.fields(item))
    if is_number(item) or is_symbolic(item):
        return is_zero(item)
    return item


def merged(items: Sequence[Any]) -> Any:
    """Of drives that are alike; a number that is the same in all stays one."""
    first = items[0]
    if dataclasses.is_dataclass(first):
        copy = object.__new__(type(first))
        for field in dataclasses.fields(first):
            object.__setattr__(copy, field.name, merged([getattr(x, field.name) for x in items]))
        return copy
    if all(x is first or (is_number(x) and x == first) for x in items):
        return first
    return pack(*items) if is_number(first) or is_symbolic(first) else first
