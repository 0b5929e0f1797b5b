"""Functions of SX that are called several times: traced once, their expressions copied at each call."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...lazy import ca
from ...types import Expression
from .scan import definition_count


def traced_once(function: Callable[..., Expression], shapes: Sequence[tuple[int, int]]) -> Callable[..., Expression]:
    """`function` of dense SX arguments with these shapes, which computes the same expressions without being run again.

    A function that makes loops (scan.py) is returned as it is: a loop belongs to the symbols it was traced with.
    """
    symbols = [ca.SX.sym("argument", *shape) for shape in shapes]
    before = definition_count()
    value = function(*symbols)
    if definition_count() > before:
        return function
    own = {x.element_hash() for x in ca.symvar(ca.veccat(*symbols))}
    others = [x for x in ca.symvar(value) if x.element_hash() not in own]
    copied = ca.Function("copied", [*symbols, *others], [value])
    return lambda *arguments: copied(*arguments, *others)
