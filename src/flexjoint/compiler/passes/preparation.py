"""What a loop computes from its xs alone, as a Program of its own.

A closed loop follows the same reference in every row of a batch: what depends on nothing else, such as the gravity
torque there, is then computed once for all rows, several periods at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from ..ir.program import Array, Loop, Op, Program
from ..llvm.pieces import unsigned
from .optimise import without_dead_code

X = 1  # among the inputs of a loop's body
PREPARED = "prepared"  # the array that takes the place of the one given


class Split(NamedTuple):
    """`preparation`, if there is one, takes a row of the array and gives what the `loop` takes in its place."""

    preparation: Program | None
    loop: Program


def split(program: Program, name: str, worth: float) -> Split:
    """Of a Program with a loop whose xs are the rows of the array called `name`.

    Each number that is prepared must save so many operations.
    """
    array = [x.name for x in program.inputs].index(name)
    for at, op in enumerate(program.code):
        if not op.loop:
            continue
        xs = [[program.code[x] for x in row] for row in op.loop.split(op.args)[1]]
        if not xs[0] or any(x.name != "input" or x.args[0] != array for row in xs for x in row):
            continue
        ready = prepared(op.loop.body)
        preparation = before_loop(op.loop.body, ready, program.inputs[array], [x.args[1] for x in xs[0]])
        effort = sum(preparation.counts.values()) - preparation.counts["neg"]
        if effort > worth * len(ready):
            rest = op.loop._replace(body=after_preparation(op.loop.body, ready))
            return Split(preparation, with_loop(program, at, rest, array))
    return Split(None, program)


def prepared(body: Program) -> list[int]:
    """What depends on x alone, and something else needs, or the caller; without signs."""
    own = from_x_alone(body.code)
    used = [x for i, op in enumerate(body.code) if i not in own for x in op.operands]
    return sorted({unsigned(body.code, x) for x in (*used, *(x for row in body.results for x in row)) if x in own})


def from_x_alone(code: Sequence[Op]) -> set[int]:
    """The values that depend on x, and on nothing else but constants."""
    own: set[int] = set()
    fixed: set[int] = set()
    for i, op in enumerate(code):
        if op.name == "const":
            fixed.add(i)
        elif op.name == "input":
            own |= {i} if op.args[0] == X else set()
        elif all(x in own or x in fixed for x in op.operands):
            (own if any(x in own for x in op.operands) else fixed).add(i)
    return own


def before_loop(body: Program, ready: Sequence[int], table: Array, columns: Sequence[int]) -> Program:
    """The Program that computes these values of a loop's body from a row of the table, x being these elements of it."""
    code = tuple(
        Op("input", (0, columns[op.args[1]])) if op.name == "input" and op.args[0] == X else op for op in body.code
    )
    row, outputs = table._replace(shape=table.shape[1:]), (Array(PREPARED, (len(ready),)),)
    return without_dead_code(Program(f"preparation of {body.name}", (row,), outputs, code, (tuple(ready),)))


def after_preparation(body: Program, ready: Sequence[int]) -> Program:
    """The body of a loop with these values as x."""
    place = {x: Op("input", (X, k)) for k, x in enumerate(ready)}
    inputs = [*body.inputs]
    inputs[X] = inputs[X]._replace(shape=(len(ready),))
    code = tuple(place.get(i, op) for i, op in enumerate(body.code))
    return without_dead_code(replace(body, inputs=tuple(inputs), code=code))


def with_loop(program: Program, at: int, loop: Loop, array: int) -> Program:
    """The Program with another loop, whose xs are all elements of the array in turn."""
    op, before = program.code[at], program.code[at].loop
    assert before is not None
    start, _, shared = before.split(op.args)
    elements = loop.turns * loop.sizes["x"]
    new = {i: i + elements * (i >= at) for i in range(len(program.code))}
    code = [
        *program.code[:at],
        *(Op("input", (array, e)) for e in range(elements)),
        op._replace(args=(*start, *range(at, at + elements), *shared), loop=loop),
        *(x.on(new) for x in program.code[at + 1 :]),
    ]
    inputs = [*program.inputs]
    inputs[array] = Array(PREPARED, (loop.turns, loop.sizes["x"]))
    return without_dead_code(replace(program.renamed(code, new), inputs=tuple(inputs)))
