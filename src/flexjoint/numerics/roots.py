"""Roots of increasing functions inside a kernel: a fixed number of safeguarded Newton steps.

All unknowns advance together in one `scan`, so a processor overlaps them.  A Newton step that leaves the bracket, or is
more than half the last step but one, is replaced by a bisection: no cycle can form.  The number of steps is fixed, so a
kernel takes the same time for every input; the caller checks the residual f(x).

Derivatives do not go through the iterations.  The last Newton step, x − f(x, p)/f'(x, p), is taken outside the loop,
where x is a constant: its derivative with respect to p is that of the implicit function theorem, −f_p/f_x.

Within `as_unknowns` roots are symbols, whose equations are left to a solver outside (`algorithm/casadi_function.py`).
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, NamedTuple

from ..compiler.ir.scan import Tree, dense, elements, fresh, scan
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


class Unknown(NamedTuple):
    """Roots that a solver outside finds; columns, one row per root."""

    x: Expression  # symbols
    residual: Expression  # f(x), 0 at the roots
    search: Expression  # the roots by Newton steps written out, of the inputs and of unknowns met before


class Unknowns(NamedTuple):
    """The roots met while an algorithm runs on SX."""

    found: list[Unknown]
    checked: bool


_unknowns: ContextVar[Unknowns | None] = ContextVar("unknowns", default=None)


@contextlib.contextmanager
def as_unknowns(checked: bool) -> Iterator[list[Unknown]]:
    """Within it roots are symbols; yields them with their equations.

    - `checked`: whether results are NaN where the unknowns are no roots within their brackets; False for a solver that
      meets the equations only in the end
    """
    unknowns = Unknowns([], checked)
    with _set(unknowns):
        yield unknowns.found


@contextlib.contextmanager
def as_searches() -> Iterator[None]:
    """Within it roots are searched for even within `as_unknowns`: those that need not exist, of starts and checks."""
    with _set(None):
        yield


@contextlib.contextmanager
def _set(unknowns: Unknowns | None) -> Iterator[None]:
    token = _unknowns.set(unknowns)
    try:
        yield
    finally:
        _unknowns.reset(token)


def at_root(condition: Expression) -> Expression:
    """Whether a root was found, by a condition on it; where roots are unchecked unknowns that is left to the solver."""
    unknowns = _unknowns.get()
    return condition if unknowns is None or unknowns.checked else ca.SX(1)


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
    if (unknowns := _unknowns.get()) is None:
        return searched(f, lower, upper, guess, steps, given)
    with as_searches():
        search = searched(f, lower, upper, guess, steps, given)
    x = ca.SX.sym("root", lower.numel())
    place = len(unknowns.found)
    value = f(x, *given)  # may meet roots itself, which depend on x
    residual = value[0] if isinstance(value, tuple) else value
    unknowns.found.insert(place, Unknown(x, ca.densify(residual), ca.densify(search)))
    if not unknowns.checked:
        return x
    room = BESIDE * (upper - lower)
    return ca.if_else(ca.logic_and(lower - room <= x, x <= upper + room), x, math.nan)


def searched(
    f: Callable[..., Expression | tuple[Expression, Expression]],
    lower: Expression,
    upper: Expression,
    guess: Expression | None,
    steps: int,
    given: Tree,
) -> Expression:
    """The root by Newton steps and bisections."""
    bracket = upper - lower
    slope = slope_of(f, lower.numel(), given)

    def newton(x: Expression, given: Tree) -> tuple[Expression, Expression]:
        found = f(x, *given)
        value, rise = found if isinstance(found, tuple) else slope(x, given)
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


def slope_of(
    f: Callable[..., Expression | tuple[Expression, Expression]], rows: int, given: Tree
) -> Callable[[Expression, Tree], list[Expression]]:
    """f and f' by automatic differentiation, as a function of (x, given); once for all steps of a search."""
    made: list[tuple[Any, list[Expression]]] = []

    def evaluated(x: Expression, now: Tree) -> list[Expression]:
        if not made:
            symbol, symbols = ca.SX.sym("x", rows), fresh(dense(given))
            value = f(symbol, *symbols)
            rise = ca.jtimes(value, symbol, ca.SX.ones(symbol.shape))  # rows are independent: the Jacobian's diagonal
            own = [symbol, *elements(symbols)]
            others = [y for y in ca.symvar(ca.vertcat(value, rise)) if not ca.depends_on(y, ca.vertcat(*own))]
            made.append((ca.Function("f", [*own, *others], [value, rise]), others))
        function, others = made[0]
        return function.call([x, *elements(dense(now)), *others])

    return evaluated
