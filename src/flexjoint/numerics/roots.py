"""Roots of increasing functions inside a kernel: a fixed number of safeguarded Newton steps.

All unknowns advance together in one `scan`, so a processor overlaps them.  A Newton step that leaves the bracket, or is
more than half the last step but one, is replaced by a bisection: no cycle can form.  The number of steps is fixed, so a
kernel takes the same time for every input; the caller checks the residual f(x).

Derivatives do not go through the iterations.  The last Newton step, x − f(x, p)/f'(x, p), is taken outside the loop,
where x is a constant: its derivative with respect to p is that of the implicit function theorem, −f_p/f_x.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..compiler.ir.scan import Tree, scan
from ..lazy import ca
from ..types import Expression

STEPS = 16
CLOSE = 1e-14, 1e-15  # of the root, and of the bracket: where the search has ended, steps need not shrink
BESIDE = 1e-9  # of the bracket: a last step so short is taken even out of what is left of it


class Search(NamedTuple):
    """An estimate, the closed bracket around the root, and the last two steps; columns, one row per unknown."""

    x: Expression
    lower: Expression
    upper: Expression
    step: Expression
    before: Expression  # the step before that


def root_of_increasing(
    f: Callable[..., Expression | tuple[Expression, Expression]],
    lower: Expression,
    upper: Expression,
    guess: Expression | None = None,
    steps: int = STEPS,
    given: Tree = (),
) -> Expression:
    """x with f(x, *given) = 0, row by row.

    f: maps a column to a column; row i depends only on row i and increases with it.  It may return (f, f') if a
        cheaper derivative is known than automatic differentiation gives, and must if f itself finds roots
    lower, upper: columns, the bracket; without a change of sign the end next to the root is approached
    guess: where to start; the middle of the bracket by default
    steps: number of Newton steps or bisections
    given: further arguments of f, computed once; what f takes from elsewhere is computed in every step
    """
    symbol, bracket = ca.SX.sym("x", lower.numel()), upper - lower

    def newton(x: Expression, given: Tree) -> tuple[Expression, Expression]:
        found = f(x, *given)
        if isinstance(found, tuple):
            value, rise = found
        else:  # rows are independent: the diagonal of the Jacobian
            tried = f(symbol, *given)
            slope = ca.jtimes(tried, symbol, ca.SX.ones(symbol.shape))
            value, rise = ca.substitute([tried, slope], [symbol], [x])
        return value, value / rise

    def turn(carried: Tree, _: tuple[()]) -> tuple[Tree, tuple[()]]:
        at, rounding, given = carried
        value, step = newton(at.x, given)
        lower = ca.if_else(value <= 0, at.x, at.lower)
        upper = ca.if_else(value >= 0, at.x, at.upper)
        estimate = at.x - step
        inside = ca.logic_and(lower <= estimate, estimate <= upper)  # not <: a root may be an end
        shrinks = 2 * ca.fabs(step) <= ca.fabs(at.before) + (CLOSE[0] * ca.fabs(at.x) + rounding)
        x = ca.if_else(ca.logic_and(inside, shrinks), estimate, (lower + upper) / 2)
        return (Search(x, lower, upper, x - at.x, at.step), rounding, given), ()

    wide = 2 * bracket  # two steps of any length
    start = Search(guess if guess is not None else (lower + upper) / 2, lower, upper, wide, wide)
    (last, *_), _ = scan(turn, (start, CLOSE[1] * bracket, given), [()] * steps, opaque=True)
    _, step = newton(last.x, given)
    estimate = last.x - step
    inside = ca.logic_and(last.lower <= estimate, estimate <= last.upper)
    taken = ca.logic_or(inside, ca.fabs(step) <= BESIDE * bracket)  # it carries the derivative
    return ca.if_else(taken, estimate, last.x)
