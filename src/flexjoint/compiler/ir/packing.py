"""Packed values: four numbers in one vector register, as one SX symbol.

    x = pack(a, b, c, 0)         # one symbol for four numbers
    y = 2.0 * x + q              # every operation acts in each lane; a plain value is equal in all lanes
    lane(y, 1)                   # 2 b + q

An algorithm that does the same to several numbers, such as the derivatives of one component of a vector, may carry
them as one SX symbol.  Only `pack` and `lane` go across lanes.  CasADi knows neither, so both return fresh symbols,
whose definitions are recorded for the tracer.  CasADi cannot differentiate through them: an algorithm packs only while
its own kernel is traced.

A Program with packed values is code for one row.  Batches, C and the interpreter execute the same operations with one
value per lane (passes/unpacking.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from ...lazy import ca
from ...types import Expression
from .program import LANES

WIDTH = len(LANES)


class Definition(NamedTuple):
    """A fresh symbol, and the operation of the Program on expressions that it stands for."""

    symbol: Expression
    name: str
    args: tuple[Expression, ...]


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


def pack(*lanes: Expression) -> Expression:
    """A packed value of four plain ones."""
    return _defined("pack", lanes)


def lane(x: Expression, k: int) -> Expression:
    """Lane k of a packed value."""
    return _defined(LANES[k], (x,))


def shuffled(x: Expression, lanes: Sequence[int]) -> Expression:
    """The packed value with x's lanes[k] in lane k."""
    return pack(*(lane(x, k) for k in lanes))


def _defined(name: str, args: tuple[Expression, ...]) -> Expression:
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
