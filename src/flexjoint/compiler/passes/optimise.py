"""Functions from Program to Program: what makes it shorter, all run by `optimise`, and the check of its results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from ..ir.program import Builder, Loop, Op, Program
from .twins import shapes


def optimise(program: Program) -> Program:
    return fuse(share_reciprocals(without_dead_code(trim_loops(program))))


def without_dead_code(program: Program) -> Program:
    renamed: dict[int, int] = {}
    code: list[Op] = []
    for i in needed(program.code, (x for row in program.results for x in row)):
        renamed[i] = len(code)
        code.append(program.code[i].on(renamed))
    return program.renamed(code, renamed)


def trim_loops(program: Program) -> Program:
    """Take out of every loop what no result needs: ys, carries, and the xs and shared values that only they used."""
    used: dict[int, set[int]] = {i: set() for i, op in enumerate(program.code) if op.loop}
    if not used:
        return program
    for i in needed(program.code, (x for row in program.results for x in row)):
        op = program.code[i]
        if op.name == "item":
            used[op.args[0]].add(op.args[1])
    trimmed = {i: trimmed_loop(op.loop, used[i]) for i, op in enumerate(program.code) if op.loop and used[i]}
    build = Builder()
    new: dict[int, int] = {}
    for i, op in enumerate(program.code):
        if op.name == "item" and op.args[1] in used[op.args[0]]:
            new[i] = build.item(new[op.args[0]], trimmed[op.args[0]].items[op.args[1]])
        elif op.loop and i in trimmed:
            new[i] = build.scan(trimmed[i].loop, [new[op.args[k]] for k in trimmed[i].args])
        elif op.name not in ("item", "scan"):
            new[i] = build.copied(op, new)
    return program.renamed(build.code, new)


class Trimmed(NamedTuple):
    """A shorter loop, which of the old args it takes, and where the old results are among its own."""

    loop: Loop
    args: list[int]
    items: dict[int, int]


def trimmed_loop(loop: Loop, used: set[int]) -> Trimmed:
    body, sizes = loop.body, loop.sizes
    results = dict(zip(("carry", "y"), body.results))
    carry = {k for k in used if k < sizes["carry"]}
    y = sorted({(k - sizes["carry"]) % sizes["y"] for k in used if k >= sizes["carry"]})
    while True:  # a carry is needed if a result of the step that is needed depends on it
        wanted = [*(results["carry"][k] for k in carry), *(results["y"][k] for k in y)]
        leaves = {body.code[i].args for i in needed(body.code, wanted) if body.code[i].name == "input"}
        grown = carry | {element for array, element in leaves if array == 0}
        if grown == carry:
            break
        carry = grown
    kept = [sorted(carry), *([e for e in range(a.size) if (k, e) in leaves] for k, a in enumerate(body.inputs) if k)]
    place = {(k, e): new for k, row in enumerate(kept) for new, e in enumerate(row)}
    code = [
        Op("input", (op.args[0], place.get((op.args[0], op.args[1]), 0))) if op.name == "input" else op
        for op in body.code
    ]
    rows = tuple(results["carry"][k] for k in kept[0]), tuple(results["y"][k] for k in y)
    resized = [a._replace(shape=(len(row),)) for a, row in zip((*body.inputs, *body.outputs), (*kept, kept[0], y))]
    shorter = without_dead_code(Program(body.name, tuple(resized[:4]), tuple(resized[4:]), tuple(code), rows))
    table = tuple(tuple(row[j] for j in kept[2]) for row in loop.table)
    start, xs, shared = loop.split(range(sizes["carry"] + loop.turns * sizes["x"] + sizes["shared"]))
    args = [*(start[k] for k in kept[0]), *(row[k] for row in xs for k in kept[1]), *(shared[k] for k in kept[3])]
    items = {k: new for new, k in enumerate(kept[0])}
    items |= {
        sizes["carry"] + row * sizes["y"] + k: len(kept[0]) + row * len(y) + new
        for row in range(loop.turns)
        for new, k in enumerate(y)
    }
    return Trimmed(Loop(loop.turns, shorter, table, loop.reverse), args, items)


def needed(code: Sequence[Op], results: Iterable[int]) -> list[int]:
    """The values that the results depend on, in order."""
    live = [False] * len(code)
    for x in results:
        live[x] = True
    for i in range(len(code) - 1, -1, -1):
        if live[i]:
            for x in code[i].operands:
                live[x] = True
    return [i for i, needed in enumerate(live) if needed]


def share_reciprocals(program: Program) -> Program:
    """Where two or more divisions share a divisor, multiply by its reciprocal: a division costs about ten
    multiplications.  (CasADi writes x·(1/d) as x/d.)"""
    divisions = Counter(op.args[1] for op in program.code if op.name == "div")
    return rebuild(
        program,
        lambda build, op, args: (
            build.emit("mul", args[0], build.emit("div", build.constant(1.0), args[1]))
            if op.name == "div" and divisions[op.args[1]] > 1
            else build.emit(op.name, *args)
        ),
    )


def rebuild(program: Program, step) -> Program:
    """Pass every operation through `step(builder, op, new_args) -> value`."""
    build = Builder()
    new: dict[int, int] = {}
    for i, op in enumerate(program.code):
        new[i] = step(build, op, tuple(new[x] for x in op.args)) if op.computed else build.copied(op, new)
    return without_dead_code(program.renamed(build.code, new))


def fuse(program: Program) -> Program:
    """Turn a product that is only added to something into a fused multiply-add: one rounding instead of two,
    the same bits in every backend, and a quarter of the time saved.

    Of two products one is taken by their shapes (twins.py), so that the same expressions are fused in the same way.
    """
    uses, shape = use_counts(program), shapes(program.code)
    code: list[Op] = []
    new: dict[int, int] = {}

    def put(op: Op) -> int:
        code.append(op)
        return len(code) - 1

    def product(x: int) -> tuple[int, int] | None:
        op = program.code[x]
        if op.name != "mul" or uses[x] > 1:
            return None
        a, b = by_shape(op.args)
        return new[a], new[b]

    def by_shape(values: Iterable[int]) -> list[int]:
        return sorted(values, key=shape.__getitem__)

    for i, op in enumerate(program.code):
        if not op.computed:
            new[i] = put(op.on(new))
            continue
        old = by_shape(op.args) if op.name == "add" else op.args
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
    uses = [0] * len(program.code)
    for op in program.code:
        for x in op.operands:
            uses[x] += 1
    for row in program.results:
        for x in row:
            uses[x] += 1
    return uses


def with_finite_check(program: Program, apart: Container[tuple[int, int]] = ()) -> Program:
    """With a last value Σ 0·x, in four sums, over all results but those of the elements (array, element) `apart`.

    It is finite if and only if they are.
    """
    code = list(program.code)
    checked = [x for k, row in enumerate(program.results) for e, x in enumerate(row) if (k, e) not in apart]
    zero = len(code)
    code.append(Op("const", (), 0.0))
    sums = [zero] * 4
    for k, x in enumerate(dict.fromkeys(checked)):
        code.append(Op("fma", (x, zero, sums[k % 4])))
        sums[k % 4] = len(code) - 1
    for x in sums[1:]:
        code.append(Op("add", (sums[0], x)))
        sums[0] = len(code) - 1
    return replace(program, code=tuple(code))
