"""Short representations of records: of a robot and numbers, `MotorPD('kuka_lwr', K_P=2000, K_D=100)`, or of data."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

MOST_NUMBERS = 7  # of an array whose numbers differ: one per joint of the usual arm


def short_repr(item: Any, *parts: Any, **fields: Any) -> str:
    """The class of `item`, what it consists of, and its fields: `Name(part, ..., field=value, ...)`.

    Args:
        item: The object to represent.
        parts: What it acts on or wraps: a text or another object, shown by its repr.
        fields: Numbers, arrays, mappings or texts by name. An array whose numbers are all equal is shown as one.
    """
    shown = [repr(part) for part in parts]
    return f"{type(item).__name__}({', '.join([*shown, *(f'{name}={short(x)}' for name, x in fields.items())])})"


def repr_without_defaults(item: Any) -> str:
    """The repr of a dataclass without the fields that have their default."""
    given = ((x.name, getattr(item, x.name), x.default) for x in dataclasses.fields(item))
    shown = ", ".join(f"{name}={value!r}" for name, value, default in given if repr(value) != repr(default))
    return f"{type(item).__name__}({shown})"


def short(value: Any) -> str:
    """A value in few characters: numbers with six digits, equal numbers of an array once."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name!r}: {short(x)}" for name, x in value.items()) + "}"
    if isinstance(value, bool | str) or value is None:
        return repr(value)
    if not isinstance(value, int | float | tuple | list | np.ndarray):
        return repr(value)
    numbers = np.ravel(np.asarray(value, dtype=float)).tolist()
    if len(set(numbers)) == 1:
        return f"{numbers[0]:g}"
    more = ", ..." if len(numbers) > MOST_NUMBERS else ""
    return f"[{', '.join(f'{x:g}' for x in numbers[:MOST_NUMBERS])}{more}]"
