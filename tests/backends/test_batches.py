"""A batch gives every row the bits of a single evaluation: at every width, with tails, broadcasting and threads."""

import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.algorithm.algorithm import algorithm
from flexjoint.compiler import pipeline
from flexjoint.compiler.llvm import jit, outlining
from flexjoint.compiler.runtime.kernel import BLOCKS_FROM
from support.programs import ALGORITHMS, ROBOTS, inputs_of, kernel_of, same_bits

WIDTHS = [2, 4, 8]  # LLVM splits what is wider than the machine
ROBOT = ROBOTS["chain"]


@cache
def wide_kernel(algorithm, robot, lanes):
    """A kernel that uses blocks of so many rows, whatever the machine has; `outlined` below has its own."""
    kernel = pipeline.compile(kernel_of(algorithm, robot).program, kernel_of(algorithm, robot).result)
    kernel.code = jit.load_object(jit.compile_object(pipeline.lower(kernel.program, lanes)))
    kernel._use_block(kernel.code.address, lanes, False, kernel.code.stack)
    kernel._block = kernel.code
    return kernel


def rows_of(result):
    """The arrays of a result, the batch first."""
    return list(result) if isinstance(result, tuple) else [result]


def single(kernel, arrays, row):
    try:
        return rows_of(kernel(*(x[row] for x in arrays)))
    except fj.NonFiniteError:
        return None


@pytest.fixture
def outlined(monkeypatch):
    """All code is cut into functions, short as it may be."""
    monkeypatch.setattr(outlining, "WHOLE", 40)
    monkeypatch.setattr(outlining, "CHUNK", 40)
    monkeypatch.setattr(sys.modules[__name__], "wide_kernel", wide_kernel.__wrapped__)


@pytest.mark.parametrize(("algorithm", "robot"), [*zip(ALGORITHMS, ["chain", "tree"] * 3)])
def test_outlined_functions(algorithm, robot, outlined):
    for lanes in WIDTHS[:2]:
        test_every_lane_and_tail_has_the_bits_of_the_scalar_kernel(algorithm, robot, lanes)


def one_width_each():
    """Every algorithm with every robot, at one width in the suite and at all of them in long tests."""
    for (i, name), (j, robot), (k, lanes) in product(*map(enumerate, (ALGORITHMS, ROBOTS, WIDTHS))):
        yield pytest.param(name, robot, lanes, marks=[pytest.mark.long] * ((i + j + k) % 3 > 0))


@pytest.mark.parametrize(("algorithm", "robot", "lanes"), [*one_width_each()])
def test_every_lane_and_tail_has_the_bits_of_the_scalar_kernel(algorithm, robot, lanes):
    kernel = wide_kernel(algorithm, robot, lanes)
    sets = inputs_of(kernel.program, 24)
    arrays = [np.array(column) for column in zip(*sets)]
    rows = len(sets)
    stacked = kernel.result.layers[0] is not None
    expected = [single(kernel, arrays, row) for row in range(rows)]
    for count in {1, lanes - 1, lanes, lanes + 1, 2 * lanes + 1, min(5 * lanes + 1, rows), rows}:
        finite = np.empty(count, dtype=bool)
        found = rows_of(kernel(*(x[rows - count :] for x in arrays), finite=finite))
        plain = rows_of(kernel(*(x[rows - count :] for x in arrays)))
        for row in range(count):
            wanted = expected[rows - count + row]
            assert finite[row] == (wanted is not None)
            for k, (x, y) in enumerate(zip(found, plain)):
                x, y = (x[:, row], y[:, row]) if stacked else (x[row], y[row])
                assert np.all(np.isnan(x)) if wanted is None else same_bits(x, wanted[k])
                assert same_bits(x, y)
    good = sum(x is not None for x in expected)
    assert 10 < good < rows or (robot == "hinge" and good == rows)  # a hinge's mass matrix is constant


@pytest.mark.parametrize("robot", ROBOTS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_threads_change_no_bit_of_any_algorithm(algorithm, robot):
    """With special inputs among the rows."""
    kernel = wide_kernel(algorithm, robot, WIDTHS[1])
    arrays = [np.concatenate([np.array(column)] * 4)[1:] for column in zip(*inputs_of(kernel.program, 24))]
    rows = len(arrays[0])
    assert rows > BLOCKS_FROM
    one = np.empty(rows, dtype=bool)
    expected = rows_of(kernel(*arrays, finite=one))
    for threads in (2, 3, 7):
        finite = np.empty(rows, dtype=bool)
        found = rows_of(kernel(*arrays, threads=threads, finite=finite))
        assert np.array_equal(finite, one)
        assert all(same_bits(x, y) for x, y in zip(found, expected))


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_threads_change_no_bit(threads):
    kernel = fj.compile(fj.inverse_dynamics, ROBOT)
    rng = np.random.default_rng(1)
    arrays = rng.normal(size=(len(kernel.inputs), 1003, ROBOT.n))
    arrays[2, 500, 1] = math.nan
    once = kernel(*arrays)
    finite = np.empty(1003, dtype=bool)
    assert same_bits(kernel(*arrays, threads=threads, finite=finite), once)
    assert np.array_equal(np.flatnonzero(~finite), [500])
    assert np.array_equal(np.flatnonzero(np.isnan(once).any(axis=1)), [500])


def test_threads_of_the_caller_that_meet_in_the_first_batch():
    """One compiles the block while others run without it: a shared row must not be read as several."""
    robot = fj.random_robot(3, 21, prismatic=0.0)
    rng = np.random.default_rng(6)
    q, v, a = rng.normal(size=3), rng.normal(size=(500, 3)), rng.normal(size=3)
    expected = np.array([fj.inverse_dynamics(robot, q, x, a) for x in v])
    for _ in range(5):
        kernel = pipeline.compile(*fj.inverse_dynamics.trace(robot, fj.inverse_dynamics.structure(robot)))
        with ThreadPoolExecutor(8) as pool:
            results = list(pool.map(lambda _, kernel=kernel: kernel(q, v, a), range(16)))
        assert all(same_bits(x, expected) for x in results)


def test_threads_after_a_fork():
    script = (
        "import os, numpy as np, flexjoint as fj\n"
        "robot, x = fj.random_robot(2, 1), np.ones((400, 2))\n"
        "fj.gravity_torque(robot, x, threads=2)\n"
        "child = os.fork()\n"
        "fj.gravity_torque(robot, x, threads=2)\n"
        "os._exit(0) if child == 0 else os.waitpid(child, 0)\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def test_broadcasting_over_leading_dimensions():
    rng = np.random.default_rng(2)
    q, v, a = rng.normal(size=(12, 1, 4)), rng.normal(size=(13, 4)), rng.normal(size=4)
    robot = ROBOT.without_drives()
    found = fj.inverse_dynamics(robot, q, v, a)
    assert found.shape == (12, 13, 4)
    for i, j in ((0, 0), (5, 12), (11, 7)):
        assert same_bits(found[i, j], fj.inverse_dynamics(robot, q[i, 0], v[j], a))
    shared = fj.inverse_dynamics(robot, q[0, 0], np.broadcast_to(v[0], (200, 4)), rng.normal(size=(200, 4)))
    assert shared.shape == (200, 4)


def test_a_shared_row_beside_a_batch():
    """Arguments without a batch are used for all rows, in the fast path too."""
    robot = ROBOT.without_drives()
    kernel = fj.compile(fj.inverse_dynamics, robot)
    rng = np.random.default_rng(3)
    q, v, a = rng.normal(size=4), rng.normal(size=(2 * BLOCKS_FROM + 3, 4)), rng.normal(size=4)
    found = [kernel(q, v, a) for _ in range(2)]  # the first compiles the block, the second uses it
    for row in (0, 1, 2 * BLOCKS_FROM, 2 * BLOCKS_FROM + 2):
        assert same_bits(found[0][row], kernel(q, v[row], a))
    assert same_bits(*found)


def test_stacks_put_their_derivatives_first():
    robot = ROBOT.without_drives()
    rng = np.random.default_rng(4)
    stack = rng.normal(size=(5, 3, 50, 4))
    for _ in range(2):
        tau = fj.torque_derivatives(robot, *stack, order=2)
        assert tau.shape == (3, 3, 50, 4)
        assert same_bits(tau[:, 2, 7], fj.torque_derivatives(robot, *stack[:, 2, 7], order=2))
    kernel = fj.compile(fj.torque_derivatives, robot, order=2)
    out = np.empty((3, 3, 50, 4))
    assert kernel(*np.ascontiguousarray(stack), out=out) is out
    assert same_bits(out, tau)


def test_outputs_of_any_layout():
    robot = ROBOT.without_drives()
    rng = np.random.default_rng(5)
    arrays = rng.normal(size=(3, 100, 4))
    expected = fj.inverse_dynamics(robot, *arrays)
    strided = np.empty((100, 8))[:, ::2]
    assert fj.inverse_dynamics(robot, *arrays, out=strided) is strided
    assert same_bits(strided, expected)
    for wide in (np.zeros((100, 7)), np.zeros((10, 10, 7)), np.zeros((100, 1, 7)), np.zeros((1, 100, 7))):
        strided, shape = wide[..., 1:5], wide.shape[:-1]
        assert fj.inverse_dynamics(robot, *arrays.reshape(3, *shape, 4), out=strided) is strided
        assert same_bits(strided, expected.reshape(*shape, 4))
        assert not wide[..., 0].any() and not wide[..., 5:].any()
    for order in (np.zeros((10, 10, 4)).swapaxes(0, 1), np.zeros((10, 10, 4))[::-1], np.zeros((10, 20, 4))[:, ::2]):
        assert fj.inverse_dynamics(robot, *arrays.reshape(3, 10, 10, 4), out=order) is order
        assert same_bits(order, expected.reshape(10, 10, 4))
    overlapping = arrays.copy()
    assert fj.inverse_dynamics(robot, *overlapping, out=overlapping[1]).base is overlapping
    assert same_bits(overlapping[1], expected)
    assert fj.inverse_dynamics(robot, *np.empty((3, 0, 4))).shape == (0, 4)


def test_strided_rows_that_are_not_finite():
    """They alone become NaN, and what lies between rows stays."""
    robot = ROBOT.without_drives()
    arrays = np.random.default_rng(6).normal(size=(3, 100, 4))
    arrays[0, 41], arrays[1, 97, 3] = np.nan, np.inf
    wide = np.zeros((100, 6))
    fj.inverse_dynamics(robot, *arrays, out=wide[:, 1:5])
    assert same_bits(wide[:, 1:5], fj.inverse_dynamics(robot, *arrays))
    assert np.flatnonzero(np.isnan(wide[:, 1:5]).all(axis=1)).tolist() == [41, 97]
    assert not wide[:, [0, 5]].any()


def test_what_a_batch_refuses():
    arrays = np.zeros((3, 10, 4))
    robot = ROBOT.without_drives()
    for finite in (np.empty(9, dtype=bool), np.empty(10), True):
        with pytest.raises(fj.InputError, match="finite must be a boolean array"):
            fj.inverse_dynamics(robot, *arrays, finite=finite)
    for threads in (0, -1, 1.5, "2"):
        with pytest.raises(fj.InputError, match="threads"):
            fj.inverse_dynamics(robot, *arrays, threads=threads)
    with pytest.raises(fj.InputError, match=r"out must be a float64 array of shape \(10, 4\)"):
        fj.inverse_dynamics(robot, *arrays, out=np.empty((11, 4)))


@algorithm("tau")
def differences(robot, q, *higher):
    """A stack of as many arrays as it takes, but for one."""
    return [k * y - x for k, (x, y) in enumerate(pairwise((q, *higher)))]


def test_more_than_64_arrays():
    """Their addresses are no longer on the stack."""
    robot = fj.random_robot(2, seed=4)
    stack = np.random.default_rng(0).integers(-1000, 1000, (70, 2)).astype(float)  # results are exact
    expected = [k * y - x for k, (x, y) in enumerate(pairwise(stack))]
    for _ in range(2):  # the second time without Python
        assert np.array_equal(differences(robot, *stack), expected)
    out = np.empty((69, 2))
    assert differences(robot, *stack, out=out) is out and np.array_equal(out, expected)
    for count in (3, 66):  # by the code for one row, and for several
        rows = stack[:, None] + np.arange(count)[:, None]
        expected = [k * y - x for k, (x, y) in enumerate(pairwise(rows))]
        assert np.array_equal(differences(robot, *rows), expected)
        assert np.array_equal(differences(robot, *rows, out=np.empty((69, count, 2))), expected)
    with pytest.raises(fj.NonFiniteError, match=r"q69\[1\] .*is nan"):
        differences(robot, *stack[:69], np.array([0.0, np.nan]))
