"""Checks of single numbers."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from ..errors import NOT_NUMBERS, RobotError, shown

ROUNDING = 1e-9  # relative; below it a violated inequality is put down to rounded data


def check_finite(what: str, owner: str, value: Any) -> None:
    try:
        finite = bool(np.isfinite(np.asarray(value, dtype=float)).all())
    except NOT_NUMBERS:
        finite = False
    if not finite:
        value = value.tolist() if isinstance(value, np.ndarray) else value
        raise RobotError(f"{what} of '{owner}' is {shown(value)}: every number must be finite")


def is_number(value: Any) -> bool:
    """A real number that a double can hold."""
    too_large = isinstance(value, int) and abs(value) >= 2**1023
    return isinstance(value, numbers.Real) and not isinstance(value, bool) and not too_large


def check_number(what: str, owner: str, value: Any) -> None:
    if not is_number(value):
        raise RobotError(f"{what} of '{owner}' is {shown(value)}: it must be a number")
    check_finite(what, owner, value)
