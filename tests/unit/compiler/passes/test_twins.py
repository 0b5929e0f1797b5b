"""Twins: which operations are, in what order they are executed, and that their bits stay."""

import casadi as ca
import numpy as np
import pytest

from flexjoint.compiler.ir.program import Array
from flexjoint.compiler.ir.reference import evaluate
from flexjoint.compiler.ir.scan import tracing
from flexjoint.compiler.ir.trace import trace
from flexjoint.compiler.llvm import jit, kernel_ir as llvm
from flexjoint.compiler.llvm.pieces import Pieces, unsigned
from flexjoint.compiler.passes.twins import SINES, origins, shapes, together, twins, waves
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
    """Signs and divisions among the twins, three alike of which none is a twin, and a loose cosine."""
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


def test_origins_and_waves(program):
    code = program.code
    origin, wave = origins(code), waves(code)
    angles = {op.args[0] for op in code if op.name in SINES}
    assert len(angles) == 8
    assert sorted(code[origin[x]].args for x in angles) == [(0, k) for k in (0, 1) for _ in range(4)]
    assert sorted(wave[i] for i, op in enumerate(code) if op.name in SINES) == 8 * [1] + 8 * [2]


def test_every_operation_of_the_mass_has_its_twin(program):
    code, found = program.code, twins(program.code)
    wave, shape = waves(code), shapes(code)
    for a, b in found.items():
        assert wave[a] == wave[b]
        assert shape[a] == shape[b]
        assert code[a].name == code[b].name
    alone = program_of(lambda q, v: [mass(q)])
    own = sum(op.computed and op.name != "neg" for op in alone.code)
    assert len(found) == 2 * own + 3  # of two pairs of states; of v/mass a reciprocal and two products


def test_units_come_after_what_they_need(program):
    ordered, units, twin = together(program)
    assert [i for unit in units for i in unit] == list(range(len(program.code)))
    assert all(x < unit.start for unit in units for i in unit for x in ordered.code[i].operands)
    assert {len(unit) for unit in units if ordered.code[unit.start].name in SINES} == {8}  # four angles
    assert {(unit.start, unit.start + 1) for unit in units if len(unit) == 2} >= {
        (a, b) for a, b in twin.items() if ordered.code[a].name not in SINES
    }


def test_without_sines_nothing_is_moved():
    program = program_of(lambda q, v: [q[0] * v[0] + q[1], q[1] * v[1] - q[0]])
    ordered, units, twin = together(program)
    assert ordered.code == program.code
    assert twin == {}
    assert all(len(unit) == 1 for unit in units)


@pytest.mark.parametrize("one_row", [True, False])
@pytest.mark.parametrize("length", [4, 9, 16])
@pytest.mark.parametrize("function", [step, late_signs])
def test_a_slot_holds_a_value_until_its_last_use(function, length, one_row):
    pieces = Pieces.of(program_of(function), 0, length, one_row)
    code, buffer, read = pieces.program.code, {}, 0
    assert [i for run in pieces.runs for i in run] == list(range(len(code)))
    for run in pieces.runs:
        wanted = {unsigned(code, x) for i in run for x in code[i].operands}
        old = {x: pieces.slots[x] for x in wanted if code[x].computed and x not in run}
        new = {pieces.slots[x]: x for x in run if x in pieces.slots}
        assert all(buffer[slot] == x for x, slot in old.items())
        assert not new.keys() & set(old.values())  # no run writes a slot that it reads
        buffer |= new
        read += len(old)
    assert read > 0


def test_slots_of_twins_lie_side_by_side(program):
    pieces = Pieces.of(program, 0, 12, one_row=True)
    run_of = {i: k for k, run in enumerate(pieces.runs) for i in run}
    assert len(twin_slots := [(a, b) for a, b in pieces.twin.items() if {a, b} <= pieces.slots.keys()]) > 2
    assert all(pieces.slots[b] == pieces.slots[a] + 1 for a, b in twin_slots)
    assert all(run_of[a] == run_of[b] for a, b in pieces.twin.items())


@pytest.mark.parametrize("function", [step, signed, late_signs, ragged])
@pytest.mark.parametrize("length", [5, 12, 10_000])
def test_twins_keep_their_bits(function, length, monkeypatch):
    monkeypatch.setattr(llvm, "WHOLE", 0)
    monkeypatch.setattr(llvm, "CHUNK", length)
    program = program_of(function)
    code = jit.load_object(jit.compile_object(llvm.kernel_ir(program)))
    rng = np.random.default_rng(4)
    for _ in range(50):
        arrays = [rng.uniform(-3.0, 3.0, 2), rng.uniform(-1.0, 1.0, 2)]
        found, _ = raw(code.address, program, arrays)
        assert all(same_bits(x, y) for x, y in zip(found, evaluate(program, *arrays)))
