"""Time per call from Python."""

from __future__ import annotations

import timeit
from collections.abc import Mapping
from typing import Any


def least_time(statement: str, names: Mapping[str, Any], number: int) -> float:
    """Time per execution of a statement, s: the minimum of 50 repetitions, since other programs only add to it."""
    return min(timeit.repeat(statement, globals=dict(names), number=number, repeat=50)) / number
