"""Sweeps over a tree of bodies, from the base outwards and from the tips inwards.

A recursion gives the step for one body; the sweep decides whether the steps are written out or become a loop of the
kernel.  The tree is cut into runs: chains of joints that move alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeVar

from ...compiler.ir.scan import scan, unrolled
from .bodies import Body

LOOP_FROM = 180  # joints times orders²: unrolled code is as fast up to 20 joints at 3 orders, beyond 100 joints at 1

State = TypeVar("State")
Result = TypeVar("Result")


def outward(
    tree: Sequence[Body],
    step: Callable[..., tuple[State, Result]],
    base: State,
    inputs: Sequence[Any],
    orders: int,
    loop_from: int | None = None,
) -> tuple[list[State], list[Result]]:
    """State and result per body, of state, result = step(state of the parent, body, input).

    The parent of the first bodies has the state `base`.  `orders` is the length of the jets: long runs of long jets
    become loops, from `loop_from` joints times orders² on.
    """
    states: list[State] = []
    results: list[Result] = []

    def kept(up: State, x: tuple[Body, Any]) -> tuple[State, tuple[State, Result]]:
        state, result = step(up, *x)
        return state, (state, result)

    for run in runs(tree):
        parent = tree[run[0]].parent
        repeat = repetition(run, orders, loop_from)
        _, found = repeat(kept, states[parent] if parent >= 0 else base, [(placeless(tree[i]), inputs[i]) for i in run])
        states += [state for state, _ in found]
        results += [result for _, result in found]
    return states, results


def inward(
    tree: Sequence[Body],
    step: Callable[..., tuple[State, State]],
    nothing: State,
    loads: Sequence[State],
    inputs: Sequence[Any],
    orders: int,
    loop_from: int | None = None,
) -> list[State]:
    """Load per body with all that the body carries, of load on the parent, load = step(load, body, input).

    `loads` are those of the bodies alone; the step receives their sum with what the children hand on.  `nothing` is the
    load of a tip from beyond.  `orders` and `loop_from` as in `outward`.
    """
    found: list[Any] = list(loads)

    def added(carried: Any, x: tuple[Body, Any, Any]) -> tuple[State, State]:
        body, given, own = x
        return step(own + carried, body, given)

    for run in reversed(runs(tree)):
        xs = [(placeless(tree[i]), inputs[i], found[i]) for i in run]
        rest, found[run[0] : run[-1] + 1] = repetition(run, orders, loop_from)(added, nothing, xs, reverse=True)
        parent = tree[run[0]].parent
        if parent >= 0:
            found[parent] += rest
    return found


def runs(tree: Sequence[Body]) -> list[range]:
    """The tree cut into chains of like joints: each body of a run but the last has one child, the next of the run."""
    children = Counter(body.parent for body in tree)
    moves = [(body.screw.turns, body.screw.slides) for body in tree]
    starts = [
        i
        for i, body in enumerate(tree)
        if i == 0 or body.parent != i - 1 or children[i - 1] > 1 or moves[i] != moves[i - 1]
    ]
    return [range(a, b) for a, b in pairwise([*starts, len(tree)])]


def repetition(run: range, orders: int, loop_from: int | None) -> Callable[..., Any]:
    """`scan` for a long run, whose straight code would leave the instruction cache and take long to compile."""
    return scan if len(run) * orders**2 >= (LOOP_FROM if loop_from is None else loop_from) else unrolled


def placeless(body: Body) -> Body:
    """The body without its place in the tree: the bodies of a loop may differ in numbers only."""
    return body._replace(parent=-1, coordinate=None)
