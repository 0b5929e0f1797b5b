"""Division by a common divisor: one reciprocal and products instead of several divisions.

    x / d,  y / d        ->   r = 1 / d;  x·r,  y·r

A division costs about ten products.  CasADi writes x·(1/d) as x/d, so factorizations arrive with many divisions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ..ir.program import Builder, Op, Program
from .dead_code import without_dead_code


def share_reciprocals(program: Program) -> Program:
    """The Program in which divisions that share a divisor are products with its reciprocal."""
    divisions = Counter(op.args[1] for op in program.code if op.name == "div")
    return rebuild(
        program,
        lambda build, op, args: (
            build.emit("mul", args[0], build.emit("div", build.constant(1.0), args[1]))
            if op.name == "div" and divisions[op.args[1]] > 1
            else build.emit(op.name, *args)
        ),
    )


def rebuild(program: Program, step: Callable[[Builder, Op, tuple[int, ...]], int]) -> Program:
    """The Program made of what `step(builder, operation, new arguments)` returns for each operation."""
    build = Builder()
    new: dict[int, int] = {}
    for i, op in enumerate(program.code):
        new[i] = step(build, op, tuple([new[x] for x in op.args])) if op.computed else build.copied(op, new)
    return without_dead_code(program.renamed(build.code, new))
