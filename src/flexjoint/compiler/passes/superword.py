"""Superword-level parallelism (SLP) in code for one row: like operations share a vector register.

    s = sin(a);  t = sin(b)                ->   [s, t] = sin([a, b])
    x = s·k + 1;  y = t·k + 1              ->   [x, y] = [s, t]·[k, k] + [1, 1]

Two things are vectorized, and bits stay, since each lane does what the scalar operation did:

- **Sines and cosines**, four angles per register.  Without it a period of the simulated 7R LWR under motor PD takes
  24 % more time with AVX-512 and 36 % more with AVX2, and a mass matrix 11 % and 4 % more.
- **Pairs of isomorphic operations** [LarsenAmarasinghe]: two operations that are the same expression in angles that
  start from the same inputs, such as the mass matrices at two states of one integration step.  Without it a period of
  the LWR under motor PD takes 2 to 4 % more time with AVX-512 and 13 to 22 % more with AVX2, of a random 7R 24 %.

An angle is known by the input that it is a sum with: q + h/2 v and q + h v both start from q.  Two values are
isomorphic if they are the same expression in such angles, behind as many sines one after the other.  In Runge-Kutta's
method for q'' = f the positions are known a stage ahead, so the mass matrices of stages one and two are isomorphic, and
those of stages three and four.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from ..ir.program import Op, Program
from .scheduling import reordered

SINES = ("sin", "cos")
ANGLES = 4  # per register
SUMMANDS = {"add": (0, 1), "sub": (0,), "fma": (2,)}  # indices of the operands that are summands
EXCHANGEABLE = ("add", "mul", "fma")  # the first two operands may be exchanged


class Bundled(NamedTuple):
    """A Program in the order of its bundles.

    A bundle is a range of values that are computed together: the sines and cosines of up to four angles, a pair of
    isomorphic operations, or one operation.  `pairs` maps the first value of each pair to the second.
    """

    program: Program
    bundles: list[range]
    pairs: dict[int, int]


def bundled(program: Program) -> Bundled:
    """The same operations, those that share a register side by side."""
    code = program.code
    found = {} if program.packs else isomorphic_pairs(code)
    turned = sines_of_angles(program)
    vectors = angle_vectors(code, turned, found)
    lane = {x: (v, k) for v, vector in enumerate(vectors) for k, x in enumerate(vector)}
    pairs = {a: b for a, b in found.items() if code[a].name not in SINES or adjacent(code[a], code[b], lane)}
    bundles = [tuple(i for x in vector for i in turned[x]) for vector in vectors]
    taken = {i for bundle in bundles for i in bundle} | set(pairs.values())
    bundles += [(i, pairs[i]) if i in pairs else (i,) for i in range(len(code)) if i not in taken]
    order = scheduled(code, bundles)
    new = {i: k for k, i in enumerate(i for bundle in order for i in bundle)}
    ranges = [range(new[bundle[0]], new[bundle[0]] + len(bundle)) for bundle in order]
    return Bundled(reordered(program, list(new)), ranges, {new[a]: new[b] for a, b in pairs.items()})


def isomorphic_pairs(code: Sequence[Op]) -> dict[int, int]:
    """The second operation of each pair by the first.  Negations belong to what uses them and form no pairs."""
    depth, classes = sine_depths(code), expression_classes(code)
    alike: dict[tuple[int, int], list[int]] = {}
    for i, op in enumerate(code):
        if depth[i] and op.computed and op.name != "neg":
            alike.setdefault((classes[i], depth[i]), []).append(i)
    return {found[0]: found[1] for found in alike.values() if len(found) == 2}


def sine_depths(code: Sequence[Op]) -> list[int]:
    """The largest number of sines and cosines on a path to each value."""
    depth = [0] * len(code)
    for i, op in enumerate(code):
        largest = 0
        for x in op.operands:
            if depth[x] > largest:
                largest = depth[x]
        depth[i] = largest + (op.name in SINES)
    return depth


def expression_classes(code: Sequence[Op]) -> list[int]:
    """A number for each value, equal for isomorphic expressions: the same but for angles that start from one input."""
    origin = origins(code)
    numbers: dict[Hashable, int] = {}
    classes: list[int] = []
    for i, op in enumerate(code):
        key: Hashable = i
        if op.name == "const":
            key = (op.name, str(op.constant))
        elif op.name in SINES:
            key = (op.name, origin.get(op.args[0], op.args[0]))
        elif op.computed:
            first = sorted if op.name in EXCHANGEABLE else list
            key = (op.name, *first([classes[x] for x in op.args[:2]]), *(classes[x] for x in op.args[2:]))
        classes.append(numbers.setdefault(key, len(numbers)))
    return classes


def origins(code: Sequence[Op]) -> dict[int, int]:
    """The input that a value starts from, for inputs and sums with an input."""
    origin: dict[int, int] = {}
    for i, op in enumerate(code):
        if op.name == "input":
            origin[i] = i
        elif found := [origin[op.args[k]] for k in SUMMANDS.get(op.name, ()) if op.args[k] in origin]:
            origin[i] = found[0]
    return origin


def of_plain_angle(program: Program, i: int) -> bool:
    """Whether a sine or cosine is that of a plain number, not of a packed value."""
    return not program.packs or program.code[program.code[i].args[0]].name == "input"


def sines_of_angles(program: Program) -> dict[int, list[int]]:
    """The sine and cosine of each angle that is a plain number."""
    found: dict[int, list[int]] = {}
    for name in SINES:
        for i, op in enumerate(program.code):
            if op.name == name and of_plain_angle(program, i):
                found.setdefault(op.args[0], []).append(i)
    return found


def angle_vectors(code: Sequence[Op], angles: Iterable[int], pairs: Mapping[int, int]) -> list[list[int]]:
    """Angles of equal depth, as many per vector as a register has lanes, those of pairs adjacent where possible."""
    depth = sine_depths(code)
    other = {code[a].args[0]: code[b].args[0] for a, b in pairs.items() if code[a].name in SINES}
    known: dict[int, list[int]] = {}
    for x in sorted(angles):
        known.setdefault(depth[x], []).append(x)
    vectors = []
    for some in known.values():
        paired = [x for first in some if first in other for x in (first, other[first])]
        order = list(dict.fromkeys([*paired, *some]))
        vectors += [order[k : k + ANGLES] for k in range(0, len(order), ANGLES)]
    return vectors


def adjacent(one: Op, other: Op, lane: Mapping[int, tuple[int, int]]) -> bool:
    """Whether the angle of the one is in the lane before that of the other."""
    (v, k), (w, m) = lane[one.args[0]], lane[other.args[0]]
    return v == w and m == k + 1


def scheduled(code: Sequence[Op], bundles: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Each bundle after those it depends on, at the place of its last operation; angles and sines as early as possible.

    No two bundles wait for each other: the values of a bundle have the same sine depth and the same expression size,
    and along every path the depth grows, or it stays and the size grows.
    """
    bundle_of = {i: k for k, bundle in enumerate(bundles) for i in bundle}
    before = [{bundle_of[x] for i in bundle for x in code[i].operands} for bundle in bundles]
    users: list[list[int]] = [[] for _ in bundles]
    for k, some in enumerate(before):
        for x in some:
            users[x].append(k)
    waiting = [len(some) for some in before]
    early = {x for i, op in enumerate(code) if op.name in SINES for x in (i, *op.args)}
    place = [(-1 if bundle[0] in early else max(bundle), k) for k, bundle in enumerate(bundles)]
    ready = [place[k] for k in range(len(bundles)) if not waiting[k]]
    heapify(ready)
    order = []
    while ready:
        k = heappop(ready)[1]
        order.append(bundles[k])
        for user in users[k]:
            waiting[user] -= 1
            if not waiting[user]:
                heappush(ready, place[user])
    return order
