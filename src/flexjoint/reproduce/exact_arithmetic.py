"""CasADi functions over exact numbers: what vanishes at a random point is an identity.

The numbers are rational, or residues modulo a prime of 61 bits, whose size does not grow: an expression that is not
zero everywhere vanishes there at a random point with a probability of about its degree by 2⁶¹.  Angles are points of
the circle with such coordinates.  Constants of the function must be exact, so robots need dyadic numbers and frames
turned by quarters; a general twist is a joint that is held.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from operator import add, mul, neg, sub, truediv
from typing import Any

import numpy as np

from ..spatial import ca

PRIME = 2**61 - 1


class Residue:
    """A number modulo `PRIME`, of an integer or of a float with an exact fraction."""

    __slots__ = ("value",)

    def __init__(self, number: Any):
        above, below = number.as_integer_ratio()
        self.value = above * pow(below, -1, PRIME) % PRIME

    def _of(self, value: int) -> Residue:
        found = object.__new__(Residue)
        found.value = value % PRIME
        return found

    def __add__(self, other: Residue) -> Residue:
        return self._of(self.value + other.value)

    def __sub__(self, other: Residue) -> Residue:
        return self._of(self.value - other.value)

    def __mul__(self, other: Residue) -> Residue:
        return self._of(self.value * other.value)

    def __truediv__(self, other: Residue) -> Residue:
        return self._of(self.value * pow(other.value, -1, PRIME))

    def __neg__(self) -> Residue:
        return self._of(-self.value)

    def __bool__(self) -> bool:
        return self.value != 0


class Angle:
    """The angle whose half has the tangent t."""

    def __init__(self, t: Any):
        one = type(t)(1)
        self.cos, self.sin = (one - t * t) / (one + t * t), (t + t) / (one + t * t)


def operations() -> dict[int, Callable[..., Any]]:
    return {
        ca.OP_ADD: add,
        ca.OP_SUB: sub,
        ca.OP_MUL: mul,
        ca.OP_DIV: truediv,
        ca.OP_NEG: neg,
        ca.OP_SQ: lambda x: x * x,
        ca.OP_TWICE: lambda x: x + x,
        ca.OP_COS: lambda angle: angle.cos,
        ca.OP_SIN: lambda angle: angle.sin,
    }


def exactly(function: Any, *inputs: list[Any], number: Callable[[float], Any] = Fraction) -> list[list[Any]]:
    """Elements of each output of a CasADi Function, column by column; `number` makes them of its constants."""
    work: dict[int, Any] = {}
    known = operations()
    outputs = [[number(0)] * function.nnz_out(k) for k in range(function.n_out())]
    for k in range(function.n_instructions()):
        kind, at, to = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
        if kind == ca.OP_CONST:
            work[to[0]] = number(function.instruction_constant(k))
        elif kind == ca.OP_INPUT:
            work[to[0]] = inputs[at[0]][at[1]]
        elif kind == ca.OP_OUTPUT:
            outputs[to[0]][to[1]] = work[at[0]]
        else:
            work[to[0]] = known[kind](*(work[i] for i in at))
    return outputs


def random_residues(rng: np.random.Generator, count: int) -> list[Residue]:
    return [Residue(int(x)) for x in rng.integers(1, PRIME, size=count)]
