"""Roots of increasing functions inside a kernel: a fixed number of safeguarded Newton steps.

All unknowns advance together in one `scan`, so a processor overlaps them.  A Newton step that leaves the bracket, or is
more than half the last step but one, is replaced by a bisection: no cycle can form.  The count is
fixed, so a kernel takes the same time whatever its input; what is left of f at the end is the caller's to look at.

Derivatives never go through the iterations.  The last Newton step, x − f(x, p)/f'(x, p), is taken outside the loop,
and there x is a constant: its derivative with respect to p is that of the implicit function theorem, −f_p/f_x.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..compiler.ir.scan import scan
from ..lazy import ca

STEPS = 16
CLOSE = 1e-14, 1e-15  # of the root, and of the bracket: where the search has ended, steps need not shrink
BESIDE = 1e-9  # of the bracket: a last step so short is taken even out of what is left of it


class Search(NamedTuple):
    """An estimate, what it is known to lie between, ends included, and its last steps; columns, one row an unknown."""

    x: Any
    lower: Any
    upper: Any
    step: Any
    before: Any  # the step before that


def root_of_increasing(f: Callable[[Any], Any], lower: Any, upper: Any, guess: Any = None, steps: int = STEPS) -> Any:
    """x with f(x) = 0, row by row; f maps a column to a column, row i depending on row i alone and increasing with it.

    Where f has no change of sign in the bracket, the end next to the root is approached.  f may return (f, f') where a
    cheaper derivative is known than by automatic differentiation, and must where f itself searches for roots.
    """
    symbol, bracket = ca.SX.sym("x", lower.numel()), upper - lower
    tried = f(symbol)

    def newton(x: Any) -> tuple[Any, Any]:
        if isinstance(tried, tuple):
            value, rise = f(x)
        else:  # rows are independent: the diagonal of the Jacobian
            slope = ca.jtimes(tried, symbol, ca.SX.ones(symbol.shape))
            value, rise = ca.substitute([tried, slope], [symbol], [x])
        return value, value / rise

    def turn(at: Search, _: Any) -> tuple[Search, Any]:
        value, step = newton(at.x)
        lower = ca.if_else(value <= 0, at.x, at.lower)
        upper = ca.if_else(value >= 0, at.x, at.upper)
        estimate = at.x - step
        inside = ca.logic_and(lower <= estimate, estimate <= upper)  # not <: a root may be an end
        rounding = CLOSE[0] * ca.fabs(at.x) + CLOSE[1] * bracket
        shrinks = 2 * ca.fabs(step) <= ca.fabs(at.before) + rounding
        x = ca.if_else(ca.logic_and(inside, shrinks), estimate, (lower + upper) / 2)
        return Search(x, lower, upper, x - at.x, at.step), ()

    wide = 2 * bracket  # two steps of any length
    start = Search(guess if guess is not None else (lower + upper) / 2, lower, upper, wide, wide)
    last, _ = scan(turn, start, [()] * steps, opaque=True)
    _, step = newton(last.x)
    estimate = last.x - step
    inside = ca.logic_and(last.lower <= estimate, estimate <= last.upper)
    taken = ca.logic_or(inside, ca.fabs(step) <= BESIDE * bracket)  # it carries the derivative
    return ca.if_else(taken, estimate, last.x)
