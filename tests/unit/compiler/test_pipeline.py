"""The pipeline: passes keep values, a Kernel is made from a Program, and the cache comes before the trace."""

import pickle

import numpy as np
import pytest

from flexjoint.compiler import pipeline
from flexjoint.compiler.ir.program import ARITY
from flexjoint.compiler.ir.reference import evaluate
from flexjoint.compiler.pipeline import optimise
from flexjoint.compiler.runtime.kernel import Result
from support.programs import same_bits
from support.sketch import Sketch, names, same_values


def test_inputs_and_constants_may_be_results(b):
    program = optimise(b.program(b.z, b.constant(4.0), b.z))
    assert list(evaluate(program, (1.0, 2.0, 3.0))[0]) == [3.0, 4.0, 3.0]


def test_optimise_does_it_all(b):
    dead = b.cos(b.x)
    b.sin(dead)
    d = b.add(b.x, b.z)
    program = b.program(b.add(b.div(b.x, d), b.div(b.y, d)))
    better = optimise(program)
    assert names(better) == ["add", "div", "fma", "mul"]
    same_values(better, program, rtol=4e-16)


@pytest.mark.parametrize("seed", range(20))
def test_random_programs_keep_their_value(seed):
    """A few dozen random operations: the passes change rounding, and nothing else."""
    rng = np.random.default_rng(seed)
    b = Sketch()
    values = [b.x, b.y, b.z, b.constant(2.0), b.constant(-0.5)]
    for _ in range(40):
        name = rng.choice(["add", "sub", "mul", "div", "neg", "sin", "abs"])
        args = [b.add(b.abs(values[k]), b.constant(3.0)) if name == "div" and i else values[k]
                for i, k in enumerate(rng.integers(0, len(values), ARITY[name]))]  # fmt: skip
        values.append(b.emit(name, *args))
    program = b.program(*values[-4:])
    better = optimise(program)
    assert better.operations <= program.operations
    for x in rng.uniform(-1, 1, size=(3, 3)):
        plain, optimised = evaluate(program, x)[0], evaluate(better, x)[0]
        np.testing.assert_allclose(optimised, plain, rtol=1e-9, atol=1e-9 * np.max(np.abs(plain)))


def test_a_kernel_is_made_from_a_program(b):
    program = optimise(b.program(b.add(b.mul(b.x, b.y), b.z), b.sin(b.x)))
    kernel = pipeline.compile(program)
    x = np.array([0.5, 2.0, -3.0])
    assert kernel.program is program and kernel.key is None
    assert same_bits(kernel(x), evaluate(program, x)[0])
    assert same_bits(pickle.loads(pickle.dumps(kernel))(x), kernel(x))


def test_what_the_cache_holds_is_not_traced(b, tmp_path, monkeypatch):
    """Neither for one row nor for a batch; the Program is traced when it is asked for."""
    monkeypatch.setenv("FLEXJOINT_CACHE", str(tmp_path / "kernels"))
    program = optimise(b.program(b.div(b.x, b.y), b.cos(b.z)))
    rows = np.random.default_rng(0).normal(size=(100, 3))
    first = pipeline.cached("sketch", lambda: (program, Result([None])))
    expected = first(rows)
    traced = []
    second = pipeline.cached("sketch", lambda: (traced.append(1) or program, Result([None])))
    assert same_bits(second(rows), expected) and same_bits(second(rows[0]), expected[0])
    assert second.description == first.description and second.compile_time == 0.0 and not traced
    assert second.program is program and second.program is program and len(traced) == 1
