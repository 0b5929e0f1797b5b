"""What shares vector registers in code for one row: sines and cosines, four angles at a time, and twins.

Twins are two operations that do the same to the same numbers but for the angles these come from, as those of a mass
matrix at two states in one step of an integrator.  They become one instruction on two lanes, which keeps their bits.

An angle is known by the input that it is a sum with: q + h/2 v and q + h v are both a "q".  Two values are twins if
they are the same expression in such angles, behind as many sines one after the other.  In Runge-Kutta's method for
q'' = f the positions are known a stage ahead, so the mass matrices of stages one and two are twins, and those of
stages three and four.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush

from ..ir.program import Op, Program
from .ordering import reordered

SINES = ("sin", "cos")
ANGLES = 4  # to a register
SUMMANDS = {"add": (0, 1), "sub": (0,), "fma": (2,)}  # which operands count as such
EXCHANGEABLE = ("add", "mul", "fma")  # the first two operands


def together(program: Program) -> tuple[Program, list[range], dict[int, int]]:
    """The same operations in another order, the units that are executed together, and the second twin of each first.

    A unit is the sines and cosines of some angles, two twins, or one operation.
    """
    code = program.code
    found = {} if program.packs else twins(code)
    turned = sines(program)
    groups = angle_groups(code, turned, found)
    lane = {x: (g, k) for g, group in enumerate(groups) for k, x in enumerate(group)}
    twin = {a: b for a, b in found.items() if code[a].name not in SINES or side_by_side(code[a], code[b], lane)}
    units = [tuple(i for x in group for i in turned[x]) for group in groups]
    taken = {i for unit in units for i in unit} | set(twin.values())
    units += [(i, twin[i]) if i in twin else (i,) for i in range(len(code)) if i not in taken]
    order = in_order(code, units)
    new = {i: k for k, i in enumerate(i for unit in order for i in unit)}
    spans = [range(new[unit[0]], new[unit[0]] + len(unit)) for unit in order]
    return reordered(program, list(new)), spans, {new[a]: new[b] for a, b in twin.items()}


def twins(code: Sequence[Op]) -> dict[int, int]:
    """The second of each first; signs have none, they belong to what uses them."""
    wave, shape = waves(code), shapes(code)
    alike: dict[tuple[int, int], list[int]] = {}
    for i, op in enumerate(code):
        if wave[i] and op.computed and op.name != "neg":
            alike.setdefault((shape[i], wave[i]), []).append(i)
    return {found[0]: found[1] for found in alike.values() if len(found) == 2}


def waves(code: Sequence[Op]) -> list[int]:
    """How many sines come one after the other up to each value."""
    wave = [0] * len(code)
    for i, op in enumerate(code):
        wave[i] = max((wave[x] for x in op.operands), default=0) + (op.name in SINES)
    return wave


def shapes(code: Sequence[Op]) -> list[int]:
    """A number for each value: the same for the same expressions in angles of the same origin."""
    origin = origins(code)
    numbers: dict[Hashable, int] = {}
    shape: list[int] = []
    for i, op in enumerate(code):
        key: Hashable = i
        if op.name == "const":
            key = (op.name, str(op.constant))
        elif op.name in SINES:
            key = (op.name, origin.get(op.args[0], op.args[0]))
        elif op.computed:
            first = sorted if op.name in EXCHANGEABLE else list
            key = (op.name, *first([shape[x] for x in op.args[:2]]), *(shape[x] for x in op.args[2:]))
        shape.append(numbers.setdefault(key, len(numbers)))
    return shape


def origins(code: Sequence[Op]) -> dict[int, int]:
    """The first input, of those values that are one or a sum with one."""
    origin: dict[int, int] = {}
    for i, op in enumerate(code):
        if op.name == "input":
            origin[i] = i
        elif found := [origin[op.args[k]] for k in SUMMANDS.get(op.name, ()) if op.args[k] in origin]:
            origin[i] = found[0]
    return origin


def alone(program: Program, i: int) -> bool:
    """Whether a sine or cosine is that of one number, not of a packed value."""
    return not program.packs or program.code[program.code[i].args[0]].name == "input"


def sines(program: Program) -> dict[int, list[int]]:
    """Of each angle that is one number: its sine, its cosine."""
    found: dict[int, list[int]] = {}
    for name in SINES:
        for i, op in enumerate(program.code):
            if op.name == name and alone(program, i):
                found.setdefault(op.args[0], []).append(i)
    return found


def angle_groups(code: Sequence[Op], angles: Iterable[int], twin: Mapping[int, int]) -> list[list[int]]:
    """As many angles as a register has lanes, known at the same time, those of twins side by side if it can be."""
    wave = waves(code)
    other = {code[a].args[0]: code[b].args[0] for a, b in twin.items() if code[a].name in SINES}
    known: dict[int, list[int]] = {}
    for x in sorted(angles):
        known.setdefault(wave[x], []).append(x)
    groups = []
    for some in known.values():
        pairs = [x for first in some if first in other for x in (first, other[first])]
        order = list(dict.fromkeys([*pairs, *some]))
        groups += [order[k : k + ANGLES] for k in range(0, len(order), ANGLES)]
    return groups


def side_by_side(one: Op, other: Op, lane: Mapping[int, tuple[int, int]]) -> bool:
    """Whether the angle of the one is in the lane before that of the other."""
    (g, k), (h, m) = lane[one.args[0]], lane[other.args[0]]
    return g == h and m == k + 1


def in_order(code: Sequence[Op], units: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Each unit after those it depends on, as late as its last operation came, angles and sines as early as can be.

    No two wait for each other: what is in one unit has as many sines before it and is as large an expression in
    sines, and along every way through the code the first number grows, or it stays and the second one grows.
    """
    unit_of = {i: k for k, unit in enumerate(units) for i in unit}
    before = [{unit_of[x] for i in unit for x in code[i].operands} for unit in units]
    users: list[list[int]] = [[] for _ in units]
    for k, some in enumerate(before):
        for x in some:
            users[x].append(k)
    waiting = [len(some) for some in before]
    early = {x for i, op in enumerate(code) if op.name in SINES for x in (i, *op.args)}
    place = [(-1 if unit[0] in early else max(unit), k) for k, unit in enumerate(units)]
    ready = [place[k] for k in range(len(units)) if not waiting[k]]
    heapify(ready)
    order = []
    while ready:
        k = heappop(ready)[1]
        order.append(units[k])
        for user in users[k]:
            waiting[user] -= 1
            if not waiting[user]:
                heappush(ready, place[user])
    return order
