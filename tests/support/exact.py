"""CasADi functions over rational numbers, without rounding: what vanishes at random points is an identity.

Angles are rational points of the circle.  Constants of the function must be exact, so robots need dyadic numbers and
frames turned by quarters; a general twist is a joint that is held.
"""

from __future__ import annotations

from fractions import Fraction
from operator import add, mul, neg, sub, truediv
from typing import Any

import casadi as ca

OPERATIONS = {
    ca.OP_ADD: add,
    ca.OP_SUB: sub,
    ca.OP_MUL: mul,
    ca.OP_DIV: truediv,
    ca.OP_NEG: neg,
    ca.OP_SQ: lambda x: x * x,
    ca.OP_TWICE: lambda x: 2 * x,
    ca.OP_COS: lambda angle: angle.cos,
    ca.OP_SIN: lambda angle: angle.sin,
}


class Angle:
    """The angle whose half has the tangent t."""

    def __init__(self, t: Fraction):
        self.cos, self.sin = (1 - t * t) / (1 + t * t), 2 * t / (1 + t * t)


def exactly(function: ca.Function, *inputs: list[Any]) -> list[list[Fraction]]:
    """Elements of each output, column by column."""
    work: dict[int, Any] = {}
    outputs = [[Fraction(0)] * function.nnz_out(k) for k in range(function.n_out())]
    for k in range(function.n_instructions()):
        kind, at, to = function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)
        if kind == ca.OP_CONST:
            work[to[0]] = Fraction(function.instruction_constant(k))
        elif kind == ca.OP_INPUT:
            work[to[0]] = inputs[at[0]][at[1]]
        elif kind == ca.OP_OUTPUT:
            outputs[to[0]][to[1]] = work[at[0]]
        else:
            work[to[0]] = OPERATIONS[kind](*(work[i] for i in at))
    return outputs
