"""Four numbers in one vector register: packed values in SX expressions, and what they mean in a Program.

An algorithm that does the same to several numbers, such as the derivatives of one component of a vector, may carry
them as one SX symbol.  Every operation on packed values acts in each of the four lanes; a plain value joins in with
all lanes equal.  Only two things go across lanes: `pack` makes a packed value of four plain ones, `lane` takes one
out.  CasADi knows neither, so both return fresh symbols, whose definitions are recorded for the tracer.  CasADi cannot
differentiate through them either: an algorithm packs only while its own kernel is traced.

A Program with packed values is code for one row.  `unpacked` gives every lane a value of its own, less what constants
make trivial: the same operations on the same numbers, which is what batches, C and the interpreter execute.  Left out
are products with zero, so the two may differ in the sign of a zero, which is why results get a positive one, and, where
numbers overflow, in which results of a row are NaN.  The status word is the same, and a call makes such a row NaN.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from ...lazy import ca
from .program import LANES

WIDTH = len(LANES)


class Definition(NamedTuple):
    """A fresh symbol, and the operation of the Program on expressions that it stands for."""

    symbol: Any
    name: str
    args: tuple[Any, ...]


_definitions: ContextVar[list[Definition] | None] = ContextVar("definitions", default=None)


@contextmanager
def recording() -> Iterator[list[Definition]]:
    """Within it `pack` and `lane` work; gives their definitions, each after those it depends on."""
    definitions: list[Definition] = []
    token = _definitions.set(definitions)
    try:
        yield definitions
    finally:
        _definitions.reset(token)


def allowed() -> bool:
    return _definitions.get() is not None


def pack(*lanes: Any) -> Any:
    """A packed value of four plain ones."""
    return _defined("pack", lanes)


def lane(x: Any, k: int) -> Any:
    """Lane k of a packed value."""
    return _defined(LANES[k], (x,))


def shuffled(x: Any, lanes: Sequence[int]) -> Any:
    """The packed value with x's lanes[k] in lane k."""
    return pack(*(lane(x, k) for k in lanes))


def _defined(name: str, args: tuple[Any, ...]) -> Any:
    args = tuple(x if isinstance(x, ca.SX) else ca.SX(x) for x in args)
    values = [x for x in args if not x.is_zero()]
    if not values:
        return ca.SX(0)
    if all(x.is_op(ca.OP_NEG) for x in values):  # signs are kept outside, where a multiply-add takes them in
        return -_defined(name, tuple(-x for x in args))
    definitions = _definitions.get()
    assert definitions is not None, "packed values exist only while a kernel is traced"
    symbol = ca.SX.sym(f"{name}_{len(definitions)}")
    definitions.append(Definition(symbol, name, args))
    return symbol
