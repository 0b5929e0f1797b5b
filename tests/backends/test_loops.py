"""Loops: what `scan` computes is what its steps written out compute, with the same bits in every backend."""

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.algorithm.compile import kernel_of
from flexjoint.compiler import pipeline
from flexjoint.compiler.ir.program import Array
from flexjoint.compiler.ir.reference import evaluate
from flexjoint.compiler.ir.scan import scan, tracing
from flexjoint.compiler.llvm import jit, outlining
from flexjoint.dynamics.recursion import packed_jets, sweeps
from support.errors import relative_error
from support.loops import LOOPS, chained, nested, program_of, sums
from support.programs import same_bits


@pytest.fixture(params=["whole", "in pieces"])
def pieces(request, monkeypatch):
    if request.param == "in pieces":
        monkeypatch.setattr(outlining, "WHOLE", 4)
        monkeypatch.setattr(outlining, "CHUNK", 3)


@pytest.mark.parametrize("function", LOOPS)
def test_a_loop_is_its_turns_written_out(function):
    looped, straight = program_of(function), program_of(function, loops=False)
    assert any(op.loop for op in looped.code) and not any(op.loop for op in straight.code)
    for a, b in np.random.default_rng(0).normal(size=(20, 2, 3)):
        ours, expected = (evaluate(program, a, b[:2])[0] for program in (looped, straight))
        np.testing.assert_allclose(ours, expected, rtol=1e-13)


@pytest.mark.parametrize("function", LOOPS)
def test_every_backend_gives_the_bits_of_the_interpreter(function, pieces):
    kernel = pipeline.compile(program_of(function))
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(131, 3)), rng.normal(size=(131, 2))
    a[:9:2], b[1:9:2] = -0.0, 1e-310
    expected = np.array([evaluate(kernel.program, *row)[0] for row in zip(a, b)])
    assert same_bits(kernel(a, b), expected)
    assert same_bits(kernel(a, b, threads=2), expected)
    assert same_bits([kernel(*row) for row in zip(a, b)], expected)


def test_long_stretches_of_arrays(pieces):
    """Rows of inputs that a loop reads, and of outputs that it writes, are copied: the same bits, and finite or not."""

    def function(a, b):
        xs = [a[k, :].T for k in range(20)]
        last, ys = scan(lambda c, x: (c * b + x[0], ca.vertcat(c, x[1] * x[2])), ca.SX(1.0), xs)
        return [(Array("y", (20, 2)), ca.horzcat(*ys).T), (Array("last", ()), last)]

    kernel = kernel_of("stretches", [Array("a", (20, 3)), Array("b", ())], function)
    assert "@read(" in kernel.ir and "@write(" in kernel.ir
    rng = np.random.default_rng(2)
    A, B = rng.normal(size=(70, 20, 3)), rng.normal(size=70)
    A[3, 7, 1], A[66, 19, 2] = np.nan, np.inf
    bad = np.isin(np.arange(70), [3, 66])
    finite = np.empty(70, dtype=bool)
    y, end = kernel(A, B, finite=finite)
    assert np.array_equal(finite, ~bad)
    for k in np.flatnonzero(~bad):
        expected = evaluate(kernel.program, A[k], B[k])
        assert same_bits(y[k], expected[0]) and same_bits(end[k], expected[1])
        assert same_bits(kernel(A[k], B[k])[0], expected[0])
    with pytest.raises(fj.NonFiniteError):
        kernel(A[3], B[3])
    wide, marks = np.zeros((70, 25, 2)), np.zeros((70, 3))
    kernel(A, B, out=(wide[:, 2:22], marks[:, 1]))  # strided rows
    assert same_bits(wide[:, 2:22], y) and same_bits(marks[:, 1], end)
    assert not wide[:, :2].any() and not wide[:, 22:].any() and not marks[:, ::2].any()


@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_any_number_of_lanes_compiles(lanes):
    if lanes <= jit.simd_lanes():
        jit.compile_object(pipeline.lower(program_of(nested), lanes))
    assert f"<{lanes} x double>" in pipeline.lower(program_of(nested), lanes)


def test_what_nobody_asks_for_is_not_computed():
    (loop, _) = (op.loop for op in program_of(chained).code if op.loop)
    assert loop.sizes == {"carry": 1, "x": 1, "table": 0, "shared": 1, "y": 2}
    assert "sin" not in loop.body.counts


def test_operations_are_those_of_all_turns():
    assert program_of(sums).operations == 3 * 3
    assert program_of(nested).counts["fma"] >= 9


def test_numbers_equal_in_all_turns_stay_numbers():
    (loop,) = (op.loop for op in program_of(nested).code if op.loop)
    assert loop.sizes["table"] == 1 and [row[0] for row in loop.table] == [0.0, 1.0, 2.0]


def test_turns_that_differ_in_more_than_numbers_are_refused():
    with tracing(), pytest.raises(ValueError, match="alike but for their numbers"):
        scan(lambda c, x: (c, ()), ca.SX(0.0), [(ca.SX(1.0), "revolute"), (ca.SX(1.0), "prismatic")])
    with tracing(), pytest.raises(ValueError, match="carry of 2 numbers from 1"):
        scan(lambda c, x: (ca.vertcat(c, c), ()), ca.SX(0.0), [ca.SX(1.0)])


# The loop over links ---------------------------------------------------------------------------------------


def robots():
    return {
        "turning": fj.random_robot(9, 1, prismatic=0.0, elastic=1.0, friction=True),
        "sliding": fj.random_robot(5, 2, prismatic=1.0),
        "mixed": fj.random_robot(12, 3, prismatic=0.2, elastic=0.5),
        "tree": fj.random_robot(14, 4, prismatic=0.1, tree=True, fixed=0.2),
    }


@pytest.mark.parametrize("name", robots())
@pytest.mark.parametrize(("order", "disturbed"), [(0, False), (2, True)])
def test_the_loop_over_links_gives_the_torques_of_straight_code(name, order, disturbed, monkeypatch):
    robot = robots()[name]
    rng = np.random.default_rng(0)
    stack = rng.normal(size=(order + 3, robot.n))
    groups = {}
    if disturbed:
        groups["wrenches"] = {robot.links[k].name: rng.normal(size=(order + 1, 6)) for k in (1, len(robot.links) - 1)}
        groups["base"] = fj.BaseMotion(rng.normal(size=(order + 2, 3)), rng.normal(size=(order + 1, 3)))
    algorithm = fj.torque_derivatives
    structure = algorithm.structure(
        robot,
        order=order,
        **{
            group: {key: len(stack) for key, stack in (x._asdict() if hasattr(x, "_asdict") else x).items()}
            for group, x in groups.items()
        },
    )
    leaves = [y for x in groups.values() for stack in (x if isinstance(x, tuple) else x.values()) for y in stack]
    results = {}
    monkeypatch.setattr(packed_jets, "PACKED_JOINTS", 0)
    for loop_from in (2, 10**9):
        monkeypatch.setattr(sweeps, "LOOP_FROM", loop_from)
        program, _ = algorithm.trace(robot, structure)
        assert any(op.loop for op in program.code) == (loop_from == 2)
        results[loop_from] = np.array(evaluate(program, *stack, *leaves))
    assert relative_error(results[2], results[10**9]) < 1e-13
