"""Superword-level parallelism: which operations form pairs, in what order they are executed, and that bits stay."""

import numpy as np
import pytest

from flexjoint.compiler import pipeline
from flexjoint.compiler.ir.reference import evaluate
from flexjoint.compiler.llvm import jit, outlining
from flexjoint.compiler.passes.superword import (
    SINES,
    bundled,
    expression_classes,
    isomorphic_pairs,
    origins,
    sine_depths,
)
from support.programs import raw, same_bits
from support.steps import late_signs, mass, program_of, ragged, signed, step


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
