"""Roots of increasing functions inside a kernel: a fixed number of safeguarded Newton steps.

All unknowns advance together in one `scan`, so a processor overlaps them.  A Newton step that leaves the bracket is
replaced by a bisection; the bracket shrinks with every evaluation.  The count is fixed, so a kernel takes the same time
whatever its input; what is left of f at the end is the caller's to look at.

Derivatives never go through the iterations.  The last Newton step, x − f(x, p)/f'(x, p), is taken outside the loop,
and there x is a constant: its derivative with respect to p is that of the implicit function theorem, −f_p/f_x.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .compiler.scan import scan
from .spatial import ca

STEPS = 16


class Bracket(NamedTuple):
    """An estimate and what it is known to lie between, ends included; columns, one row an unknown."""

    x: Any
    lower: Any
    upper: Any


def root_of_increasing(
    f: Callable[[Any], Any],
    lower: Any,
    upper: Any,
    guess: Any = None,
    steps: int = STEPS,
    slope: Callable[[Any], Any] | None = None,
) -> Any:
    """x with f(x) = 0, row by row; f maps a column to a column, row i depending on row i alone and increasing with it.

    Where f has no change of sign in the bracket, the end next to the root is returned.  `slope` is f', where a cheaper
    form than automatic differentiation is known.
    """
    x = ca.SX.sym("x", lower.numel())
    f_of_x = f(x)
    # rows are independent: the diagonal of the Jacobian
    rise_of_x = slope(x) if slope else ca.jtimes(f_of_x, x, ca.SX.ones(x.shape))

    def newton(at: Bracket) -> Any:
        value, rise = (ca.substitute(e, x, at.x) for e in (f_of_x, rise_of_x))
        return value, at.x - value / rise

    def step(at: Bracket, _: Any) -> tuple[Bracket, Any]:
        value, estimate = newton(at)
        lower = ca.if_else(value <= 0, at.x, at.lower)
        upper = ca.if_else(value >= 0, at.x, at.upper)
        inside = ca.logic_and(lower <= estimate, estimate <= upper)  # not <: a root may be an end
        return Bracket(ca.if_else(inside, estimate, (lower + upper) / 2), lower, upper), ()

    start = Bracket(guess if guess is not None else (lower + upper) / 2, lower, upper)
    last, _ = scan(step, start, [()] * steps, opaque=True)
    _, estimate = newton(last)
    return ca.if_else(ca.logic_and(last.lower <= estimate, estimate <= last.upper), estimate, last.x)
