"""Times of calls from Python."""

from __future__ import annotations

import timeit
from collections.abc import Mapping
from typing import Any


def least_time(statement: str, names: Mapping[str, Any], number: int) -> float:
    """Of one execution, s: the least of many repetitions, as other programs can only add to it."""
    return min(timeit.repeat(statement, globals=dict(names), number=number, repeat=50)) / number
