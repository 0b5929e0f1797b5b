"""Loops in SX algorithms: `scan` repeats a step a fixed number of times without writing it out.

    carry, ys = scan(step, carry, xs)          # carry, y = step(carry, x), for each x of xs in turn

CasADi's SX has no loop.  While an algorithm is traced for a kernel, `scan` therefore runs the step once, on symbols,
keeps it in a `Definition` and returns fresh symbols for its results; the tracer, which knows the definitions, links
them.  Anywhere else `scan` simply runs the step for every x, and what it returns is plain SX, as it must be where
derivatives are taken (see `unrolled`).

Carry, x and y are SX or any nesting of tuples, lists and NamedTuples of SX; other members, such as the kind of a
joint, must be equal in all xs.  A number equal in all xs, a structural zero above all, stays one in the step.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple

from ...lazy import ca


class Definition(NamedTuple):
    """A loop met while tracing; all lists hold scalar SX."""

    carry: list[Any]  # symbols the step was run on
    x: list[Any]
    carry_out: list[Any]  # what it made of them
    y: list[Any]
    start: list[Any]  # expressions outside the loop
    xs: list[list[Any]]
    results: list[Any]  # fresh symbols: the last carry, then the ys row by row
    reverse: bool


class Operation(NamedTuple):
    """An operation of kernels that SX has no name for; scalar SX."""

    name: str
    args: list[Any]
    results: list[Any]  # a fresh symbol


class Scope(NamedTuple):
    """The definitions made while one kernel is traced, by the symbols of their results."""

    definitions: dict[int, Definition | Operation]
    loops: bool  # False: only those whose derivatives do not go through them


_scope: ContextVar[Scope | None] = ContextVar("scope", default=None)


@contextlib.contextmanager
def tracing(loops: bool = True) -> Iterator[dict[int, Definition | Operation]]:
    """Within it `scan` makes loops; yields their definitions."""
    scope = Scope({}, loops)
    token = _scope.set(scope)
    try:
        yield scope.definitions
    finally:
        _scope.reset(token)


def scan(
    step: Callable[[Any, Any], tuple[Any, Any]],
    carry: Any,
    xs: Sequence[Any],
    reverse: bool = False,
    opaque: bool = False,
) -> tuple[Any, list[Any]]:
    """The last carry and the list of all y; with `reverse` the last x comes first, and y[k] still belongs to xs[k].

    An `opaque` loop is kept as one even where derivatives are taken: they see its results as constants.
    """
    scope = _scope.get()
    if scope is None or not (scope.loops or opaque):
        return unrolled(step, carry, xs, reverse)
    carry, xs = dense(carry), [dense(x) for x in xs]
    check_alike(xs)
    start, rows = elements(carry), [elements(x) for x in xs]
    within = [ca.SX.sym("carry") for _ in start]
    x = [column[0] if is_one_number(column) else ca.SX.sym("x") for column in zip(*rows)]
    free = [j for j, element in enumerate(x) if element.is_symbolic()]
    carry_out, y = step(filled(carry, iter(within)), filled(xs[0], iter(x)))
    carry_out = dense(carry_out)
    last, ys = fresh(carry_out), [fresh(y) for _ in xs]
    definition = Definition(
        carry=within,
        x=[x[j] for j in free],
        carry_out=elements(carry_out),
        y=elements(y),
        start=start,
        xs=[[row[j] for j in free] for row in rows],
        results=elements([last, ys]),
        reverse=reverse,
    )
    if len(definition.carry_out) != len(start):
        raise ValueError(f"a scan's step made a carry of {len(definition.carry_out)} numbers from {len(start)}")
    for symbol in definition.results:
        scope.definitions[symbol.element_hash()] = definition
    return last, ys


def traced() -> bool:
    """Whether a kernel is traced, whose operations and loops may go beyond those of SX."""
    scope = _scope.get()
    return scope is not None and scope.loops


def definition_count() -> int:
    """How many results of loops and operations were defined in the kernel that is traced."""
    scope = _scope.get()
    return len(scope.definitions) if scope else 0


def operation(name: str, *args: Any) -> Any:
    """A scalar by an operation of `program.ARITY` that SX does not have; for use where a kernel is `traced` only."""
    scope, result = _scope.get(), ca.SX.sym("result")
    assert scope is not None
    scope.definitions[result.element_hash()] = Operation(name, [ca.SX(x) for x in args], [result])
    return result


def from_loops(expression: Any) -> bool:
    """Whether an expression depends on the results of loops."""
    scope = _scope.get()
    return scope is not None and any(x.element_hash() in scope.definitions for x in ca.symvar(expression))


def unrolled(step: Callable[[Any, Any], tuple[Any, Any]], carry: Any, xs: Sequence[Any], reverse: bool = False) -> Any:
    """The same, turn by turn."""
    ys: list[Any] = [None] * len(xs)
    for k in range(len(xs))[::-1] if reverse else range(len(xs)):
        carry, ys[k] = step(carry, xs[k])
    return carry, ys


# Nested tuples, lists and NamedTuples of SX ----------------------------------------------------------------


def mapped(tree: Any, change: Callable[[Any], Any]) -> Any:
    """The same nesting, every SX changed."""
    if isinstance(tree, ca.SX):
        return change(tree)
    if isinstance(tree, tuple | list):
        members = [mapped(member, change) for member in tree]
        return type(tree)(*members) if hasattr(tree, "_fields") else type(tree)(members)
    return tree


def elements(tree: Any) -> list[Any]:
    """The numbers in it that are not structurally zero."""
    found: list[Any] = []
    mapped(tree, lambda x: found.extend(x.nonzeros()))
    return found


def filled(tree: Any, numbers: Iterator[Any]) -> Any:
    """Other numbers in place of its own; zeros among them become structural."""

    def fill(x: Any) -> Any:
        return ca.sparsify(ca.SX(x.sparsity(), ca.vertcat(*[next(numbers) for _ in range(x.nnz())])))

    return mapped(tree, fill)


def dense(tree: Any) -> Any:
    return mapped(tree, ca.densify)


def fresh(tree: Any) -> Any:
    return mapped(tree, lambda x: ca.SX.sym("result", x.sparsity()))


def check_alike(xs: Sequence[Any]) -> None:
    """All xs of a scan must differ in numbers alone."""
    shapes = [str(mapped(x, lambda leaf: leaf.shape)) for x in xs]
    if not xs or len(set(shapes)) > 1:
        raise ValueError(f"the xs of a scan must be alike but for their numbers; here they are: {sorted(set(shapes))}")


def is_one_number(column: Sequence[Any]) -> bool:
    return all(x.is_constant() and float(x) == float(column[0]) for x in column)
