"""Superword-level parallelism: which operations form pairs, in what order they are executed, and that bits stay."""

import casadi as ca
import numpy as np
import pytest

from flexjoint.compiler import pipeline
from flexjoint.compiler.ir.program import Array, unsigned
from flexjoint.compiler.ir.reference import evaluate
from flexjoint.compiler.ir.scan import tracing
from flexjoint.compiler.llvm import jit, outlining
from flexjoint.compiler.llvm.outlining import outlined
from flexjoint.compiler.passes.superword import (
    SINES,
    bundled,
    expression_classes,
    isomorphic_pairs,
    origins,
    sine_depths,
)
from flexjoint.compiler.pipeline import trace
from support.programs import raw, same_bits


def program_of(function):
    """`function` of two angles and two speeds."""
    q, v = ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    with tracing() as definitions:
        value = ca.vertcat(*function(q, v))
    inputs = [(Array("q", (2,)), q), (Array("v", (2,)), v)]
    return trace("function", inputs, [(Array("y", (value.numel(),)), value)], definitions)


def mass(q):
    """Something like an entry of a mass matrix: products of sines, with shared parts and negative signs."""
    s, c = ca.sin(q), ca.cos(q)
    return 3.0 + 2.0 * c[1] * c[0] - s[0] * s[1] * (c[1] - 0.5 * s[1])


def step(q, v):
    """At two states that are known at once, then at two that depend on what was found there."""
    first, second = mass(q), mass(q + 0.1 * v)
    x = q + v / first
    y = q + v / second
    return first, second, mass(x), mass(y) * v[0]


def signed(q, v):
    """Signs and divisions among the pairs, three alike which form no pair, and a loose cosine."""
    a, b = (-1.0 / mass(x) for x in (q, q - 0.2 * v))
    odd = [ca.sin(q[0] + k * v[1]) * v[0] for k in (1, 2, 3)]
    return a, -b, a * b, ca.cos(v[0] * v[1]), *odd


def late_signs(q, v):
    """Results that are old values with their sign changed."""
    old = [mass(q) * v[0], mass(q) * v[1]]
    new = [ca.sin(x * v[0]) + ca.cos(q[1] * v[1]) * k for k, x in enumerate([q[0], *old])]
    return *new, *(y * y + v[0] for y in new), *(-x for x in old)


def ragged(q, v):
    """A pair of sines and a pair of cosines that share one angle, behind a pair that fills half a register."""
    x, y = (q + k * v for k in (0.25, 0.5))
    full = ca.sin(q[1]) * 5.0, ca.sin(x[1]) * 5.0
    return *full, ca.sin(q[0]) + 2.0, ca.sin(x[0]) + 2.0, ca.cos(x[0]) * 3.0, ca.cos(y[0]) * 3.0


@pytest.fixture(scope="module")
def program():
    return program_of(step)


def test_origins_and_depths(program):
    code = program.code
    origin, depth = origins(code), sine_depths(code)
    angles = {op.args[0] for op in code if op.name in SINES}
    assert len(angles) == 8
    assert sorted(code[origin[x]].args for x in angles) == [(0, k) for k in (0, 1) for _ in range(4)]
    assert sorted(depth[i] for i, op in enumerate(code) if op.name in SINES) == 8 * [1] + 8 * [2]


def test_every_operation_of_the_mass_is_in_a_pair(program):
    code, found = program.code, isomorphic_pairs(program.code)
    depth, classes = sine_depths(code), expression_classes(code)
    for a, b in found.items():
        assert depth[a] == depth[b]
        assert classes[a] == classes[b]
        assert code[a].name == code[b].name
    alone = program_of(lambda q, v: [mass(q)])
    own = sum(op.computed and op.name != "neg" for op in alone.code)
    assert len(found) == 2 * own + 3  # of two pairs of states; of v/mass a reciprocal and two products


def test_bundles_come_after_what_they_need(program):
    ordered, bundles, pairs = bundled(program)
    assert [i for bundle in bundles for i in bundle] == list(range(len(program.code)))
    assert all(x < bundle.start for bundle in bundles for i in bundle for x in ordered.code[i].operands)
    assert {len(bundle) for bundle in bundles if ordered.code[bundle.start].name in SINES} == {8}  # four angles
    assert {(bundle.start, bundle.start + 1) for bundle in bundles if len(bundle) == 2} >= {
        (a, b) for a, b in pairs.items() if ordered.code[a].name not in SINES
    }


def test_without_sines_nothing_is_moved():
    program = program_of(lambda q, v: [q[0] * v[0] + q[1], q[1] * v[1] - q[0]])
    ordered, bundles, pairs = bundled(program)
    assert ordered.code == program.code
    assert pairs == {}
    assert all(len(bundle) == 1 for bundle in bundles)


@pytest.mark.parametrize("one_row", [True, False])
@pytest.mark.parametrize("length", [4, 9, 16])
@pytest.mark.parametrize("function", [step, late_signs])
def test_a_slot_holds_a_value_until_its_last_use(function, length, one_row):
    parts = outlined(program_of(function), 0, length, one_row)
    code, buffer, read = parts.program.code, {}, 0
    assert [i for run in parts.functions for i in run] == list(range(len(code)))
    for run in parts.functions:
        wanted = {unsigned(code, x) for i in run for x in code[i].operands}
        old = {x: parts.slots[x] for x in wanted if code[x].computed and x not in run}
        new = {parts.slots[x]: x for x in run if x in parts.slots}
        assert all(buffer[slot] == x for x, slot in old.items())
        assert not new.keys() & set(old.values())  # no function writes a slot that it reads
        buffer |= new
        read += len(old)
    assert read > 0


def test_slots_of_a_pair_are_adjacent(program):
    parts = outlined(program, 0, 12, one_row=True)
    function_of = {i: k for k, function in enumerate(parts.functions) for i in function}
    assert len(paired := [(a, b) for a, b in parts.pairs.items() if {a, b} <= parts.slots.keys()]) > 2
    assert all(parts.slots[b] == parts.slots[a] + 1 for a, b in paired)
    assert all(function_of[a] == function_of[b] for a, b in parts.pairs.items())


@pytest.mark.parametrize("function", [step, signed, late_signs, ragged])
@pytest.mark.parametrize("length", [5, 12, 10_000])
def test_pairs_keep_their_bits(function, length, monkeypatch):
    monkeypatch.setattr(outlining, "WHOLE", 0)
    monkeypatch.setattr(outlining, "CHUNK", length)
    program = program_of(function)
    code = jit.load_object(jit.compile_object(pipeline.lower(program)))
    rng = np.random.default_rng(4)
    for _ in range(50):
        arrays = [rng.uniform(-3.0, 3.0, 2), rng.uniform(-1.0, 1.0, 2)]
        found, _ = raw(code.address, program, arrays)
        assert all(same_bits(x, y) for x, y in zip(found, evaluate(program, *arrays)))
