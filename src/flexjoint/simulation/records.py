"""Records of arrays, and the flat lists of arrays that kernels take and give.

A record is a NamedTuple whose fields are arrays, or tuples, lists and records of them; a field may be None, which
stands for no array.  A record of `Array`s describes a kernel; with arrays or SX in their places it holds values:

    signature = Pair(Array("x", (2,)), [Array("y", (3,))])
    pair = unflatten(signature, [x, y])            # Pair(x, [y])
    flatten(pair)                                  # [x, y]
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from ..compiler.ir.program import Array

Record = TypeVar("Record")


def flatten(record: Any) -> list[Any]:
    """The arrays of a record, in the order of its fields."""
    if record is None:
        return []
    if isinstance(record, tuple | list) and not isinstance(record, Array):
        return [array for member in record for array in flatten(member)]
    return [record]


def unflatten(like: Record, arrays: Iterable[Any]) -> Record:
    """A record like another one, with these arrays in the place of its own; there must be as many."""
    given = iter(arrays)
    filled: Record = _filled(like, given)
    if next(given, None) is not None:
        raise ValueError(f"more arrays than the {len(flatten(like))} of a {type(like).__name__}")
    return filled


def _filled(like: Any, given: Iterator[Any]) -> Any:
    if like is None:
        return None
    if isinstance(like, tuple | list) and not isinstance(like, Array):
        members = [_filled(member, given) for member in like]
        return type(like)(*members) if hasattr(like, "_fields") else type(like)(members)
    return next(given)
