"""Fused multiply-adds: a product that is used once, in a sum, is added without a rounding of its own.

    p = x·y;  s = p + z        ->   s = fma(x, y, z)

It saves a quarter of the time.  The multiply-adds are explicit in the Program, so every backend has the same bits.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..ir.program import Op, Program
from .dead_code import without_dead_code
from .superword import expression_classes


def fuse(program: Program) -> Program:
    """The Program with fused multiply-adds.

    Of two products in one sum, the expression class (superword.py) decides which one is fused, so that isomorphic
    expressions are fused alike.
    """
    uses, classes = use_counts(program), expression_classes(program.code)
    code: list[Op] = []
    new: dict[int, int] = {}

    def put(op: Op) -> int:
        code.append(op)
        return len(code) - 1

    def product(x: int) -> tuple[int, int] | None:
        op = program.code[x]
        if op.name != "mul" or uses[x] > 1:
            return None
        a, b = by_class(op.args)
        return new[a], new[b]

    def by_class(values: Iterable[int]) -> list[int]:
        return sorted(values, key=classes.__getitem__)

    for i, op in enumerate(program.code):
        if not op.computed:
            new[i] = put(op.on(new))
            continue
        old = by_class(op.args) if op.name == "add" else op.args
        args = tuple(new[x] for x in old)
        if op.name == "add" and (ab := product(old[1])):
            new[i] = put(Op("fma", (*ab, args[0])))
        elif op.name == "add" and (ab := product(old[0])):
            new[i] = put(Op("fma", (*ab, args[1])))
        elif op.name == "sub" and (ab := product(op.args[1])):
            new[i] = put(Op("fma", (put(Op("neg", (ab[0],))), ab[1], args[0])))
        elif op.name == "sub" and (ab := product(op.args[0])):
            new[i] = put(Op("fma", (*ab, put(Op("neg", (args[1],))))))
        else:
            new[i] = put(op._replace(args=args))
    return without_dead_code(program.renamed(code, new))


def use_counts(program: Program) -> list[int]:
    """How many operations and results use each value."""
    uses = [0] * len(program.code)
    for op in program.code:
        for x in op.operands:
            uses[x] += 1
    for row in program.results:
        for x in row:
            uses[x] += 1
    return uses
