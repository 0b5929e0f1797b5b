"""Names and units of the columns of a table: `joint1`, or `joint1 [deg]` where the unit is not that of SI."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

import numpy as np

from ..errors import InputError, quoted

TIME_NAMES = ("t", "time")
SECONDS = {"": 1.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
ANGLES = {"rad": 1.0, "mrad": 1e-3, "deg": math.pi / 180, "°": math.pi / 180}
LENGTHS = {"m": 1.0, "mm": 1e-3, "cm": 1e-2}
COLUMN = re.compile(r"\s*(?P<name>[^\[\]]*?)\s*(?:\[(?P<unit>[^\]]*)\])?\s*")


def parts(header: str) -> tuple[str, str]:
    """Name and unit of a column."""
    matched = COLUMN.fullmatch(header)
    return (matched["name"], (matched["unit"] or "").strip()) if matched else (header, "")


def scaled(values: np.ndarray, unit: str, known: Mapping[str, float], header: str, place: str) -> np.ndarray:
    """In SI units."""
    if unit not in known:
        units = ", ".join(x for x in known if x)
        raise InputError(
            f"{place}: the unit of '{quoted(header)}' is none of {units}; change it in the header, with the numbers"
        )
    return np.asarray(values, dtype=float) * known[unit]
