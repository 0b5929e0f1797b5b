"""Exact evaluation of CasADi functions: an expression that is zero at a random point is an identity.

The numbers are rational, or residues modulo a prime of 61 bits, whose size does not grow.  An expression that is not
identically zero is zero at a random point with a probability of about its degree divided by 2⁶¹.  Angles are points of
the unit circle with such coordinates.  Constants of the function must be exact, so robots need dyadic numbers and
frames rotated by multiples of 90°; a general twist is a joint that is held.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from operator import add, mul, neg, sub, truediv
from typing import Any

import numpy as np

from flexjoint.spatial import ca

PRIME = 2**61 - 1


class Residue:
    """An integer or an exact float modulo `PRIME`."""

    __slots__ = ("value",)

    def __init__(self, number: int | float | Fraction) -> None:
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
    """The angle whose half has the tangent t, by its sine and cosine."""

    def __init__(self, t: Any) -> None:
        one = type(t)(1)
        self.cos, self.sin = (one - t * t) / (one + t * t), (t + t) / (one + t * t)


def operations() -> dict[int, Callable[..., Any]]:
    """Functions by the number of a CasADi operation."""
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
    """Elements of each output of a CasADi Function, in column-major order.

    Args:
        function: The CasADi Function.
        inputs: Elements of each input.
        number: Converts a constant of the function.
    """
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
    """Residues drawn at random, none of them 0."""
    return [Residue(int(x)) for x in rng.integers(1, PRIME, size=count)]
