"""Checks of single numbers."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from ..errors import RobotError

ROUNDING = 1e-9  # relative; below it a violated inequality is put down to rounded data


def check_finite(what: str, owner: str, value: Any) -> None:
    array = np.asarray(value, dtype=float)
    if not np.all(np.isfinite(array)):
        raise RobotError(f"{what} of '{owner}' is {array.tolist()}: every number must be finite")


def is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def check_number(what: str, owner: str, value: Any) -> None:
    if not is_number(value):
        raise RobotError(f"{what} of '{owner}' is {value!r}: it must be a number")
    check_finite(what, owner, value)
