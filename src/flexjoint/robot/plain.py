"""Robots as plain data, of which their digest is made."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from ..checks import is_number
from ..drives import VariableStiffnessDrive
from ..spatial import ca, is_symbolic
from ..springs import Spring
from .joints import JointKind


def plain(value: Any) -> Any:
    """Dataclasses and arrays as JSON; floats round-trip exactly through repr, and 1 is written as 1.0.

    A symbol (`with_symbols`) is identified by its place in memory.
    """
    if is_symbolic(value):
        return [x.element_hash() for x in ca.vertsplit(ca.vec(value))]
    if isinstance(value, Spring | VariableStiffnessDrive):
        return value.plain()
    if isinstance(value, JointKind) and not value.numbers:
        return value.name
    if isinstance(value, np.ndarray):
        return value.tolist()
    if dataclasses.is_dataclass(value):
        kept = [f.name for f in dataclasses.fields(value) if f.metadata.get("digest", True)]
        fields = {name: getattr(value, name) for name in kept}
        return {type(value).__name__: {k: float(x) + 0.0 if is_number(x) else x for k, x in fields.items()}}
    raise TypeError(f"not plain data: {value!r}")
