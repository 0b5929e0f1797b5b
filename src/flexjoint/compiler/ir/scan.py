"""Loops in SX algorithms: `scan` repeats a step a fixed number of times without writing it out.

    carry, ys = scan(step, carry, xs)          # carry, y = step(carry, x), for each x of xs in order

CasADi's SX has no loop.  While an algorithm is traced for a kernel, `scan` therefore runs the step once, on symbols,
keeps it as a `Definition` and returns fresh symbols for its results; the tracer puts the loop in their place.
Everywhere else `scan` runs the step for every x and returns plain SX, which derivatives need (see `unrolled`).

Carry, x and y are SX or any nesting of tuples, lists and NamedTuples of SX; other members, such as the kind of a
joint, must be equal in all xs.  A number equal in all xs, a structural zero above all, is a constant in the step.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeAlias

from ...lazy import ca
from ...types import Expression

Tree: TypeAlias = Any  # an SX, or a nesting of tuples, lists and NamedTuples of SX
Step: TypeAlias = Callable[[Tree, Tree], tuple[Tree, Tree]]  # carry, y = step(carry, x)


class Definition(NamedTuple):
    """A loop met while tracing; all lists hold scalar SX."""

    carry: list[Expression]  # symbols the step was run on
    x: list[Expression]
    carry_out: list[Expression]  # what it made of them
    y: list[Expression]
    start: list[Expression]  # expressions outside the loop
    xs: list[list[Expression]]
    results: list[Expression]  # fresh symbols: the last carry, then the ys row by row
    reverse: bool


class Operation(NamedTuple):
    """An operation of kernels that SX has no name for; scalar SX."""

    name: str
    args: list[Expression]
    results: list[Expression]  # a fresh symbol


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
    step: Step,
    carry: Tree,
    xs: Sequence[Tree],
    reverse: bool = False,
    opaque: bool = False,
) -> tuple[Tree, list[Tree]]:
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


def operation(name: str, *args: Expression) -> Expression:
    """A scalar by an operation of `program.ARITY` that SX does not have; for use where a kernel is `traced` only."""
    scope, result = _scope.get(), ca.SX.sym("result")
    assert scope is not None
    scope.definitions[result.element_hash()] = Operation(name, [ca.SX(x) for x in args], [result])
    return result


def from_loops(expression: Expression) -> bool:
    """Whether an expression depends on the results of loops."""
    scope = _scope.get()
    return scope is not None and any(x.element_hash() in scope.definitions for x in ca.symvar(expression))


def unrolled(step: Step, carry: Tree, xs: Sequence[Tree], reverse: bool = False) -> tuple[Tree, list[Tree]]:
    """The results of `scan` with the step written out for every x."""
    ys: list[Tree] = [None] * len(xs)
    for k in range(len(xs))[::-1] if reverse else range(len(xs)):
        carry, ys[k] = step(carry, xs[k])
    return carry, ys


# Nested tuples, lists and NamedTuples of SX ----------------------------------------------------------------


def mapped(tree: Tree, change: Callable[[Expression], object]) -> Tree:
    """The same nesting, every SX changed."""
    if isinstance(tree, ca.SX):
        return change(tree)
    if isinstance(tree, tuple | list):
        members = [mapped(member, change) for member in tree]
        return type(tree)(*members) if hasattr(tree, "_fields") else type(tree)(members)
    return tree


def elements(tree: Tree) -> list[Expression]:
    """The numbers in it that are not structurally zero."""
    found: list[Expression] = []
    mapped(tree, lambda x: found.extend(x.nonzeros()))
    return found


def filled(tree: Tree, numbers: Iterator[Expression]) -> Tree:
    """Other numbers in place of its own; zeros among them become structural."""

    def fill(x: Expression) -> Expression:
        return ca.sparsify(ca.SX(x.sparsity(), ca.vertcat(*[next(numbers) for _ in range(x.nnz())])))

    return mapped(tree, fill)


def dense(tree: Tree) -> Tree:
    """The same nesting without structural zeros."""
    return mapped(tree, ca.densify)


def fresh(tree: Tree) -> Tree:
    """The same nesting with new symbols."""
    return mapped(tree, lambda x: ca.SX.sym("result", x.sparsity()))


def check_alike(xs: Sequence[Tree]) -> None:
    """All xs of a scan must differ in numbers alone."""
    shapes = [str(mapped(x, lambda leaf: leaf.shape)) for x in xs]
    if not xs or len(set(shapes)) > 1:
        raise ValueError(f"the xs of a scan must be alike but for their numbers; here they are: {sorted(set(shapes))}")


def is_one_number(column: Sequence[Expression]) -> bool:
    return all(x.is_constant() and float(x) == float(column[0]) for x in column)
