"""Calls with arrays that lie badly in memory: right results or a refusal that says why, never another's memory."""

import os
import platform
import re
import subprocess
import sys
import textwrap
from typing import NamedTuple

import casadi as ca
import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import flexjoint as fj
from flexjoint.algorithm.compile import kernel_of, program_of
from flexjoint.compiler import pipeline
from flexjoint.compiler.ir.program import Array
from flexjoint.compiler.ir.scan import scan
from flexjoint.compiler.llvm import jit
from flexjoint.compiler.llvm.stack import stack_bytes
from flexjoint.compiler.runtime import calling
from flexjoint.compiler.runtime.kernel import overlaps_itself
from support.marks import some_long

ROBOT = fj.random_robot(3, 1, name="robot")
KERNEL = fj.compile(fj.inverse_dynamics, ROBOT)
RNG = np.random.default_rng(0)
ONE = RNG.normal(size=(3, 3))
MANY = RNG.normal(size=(3, 70, 3))


def unaligned(x):
    """A copy that begins at an odd address."""
    memory = np.zeros(x.nbytes + 1, dtype=np.uint8)
    found = memory[1:].view(np.float64).reshape(x.shape)
    found[...] = x
    assert not found.flags.aligned
    return found


@pytest.mark.parametrize("x", [ONE, MANY, MANY[:, :5]], ids=["one", "many", "few"])
def test_unaligned_arrays(x):
    expected = KERNEL(*x)
    assert np.array_equal(KERNEL(*map(unaligned, x)), expected)
    assert np.array_equal(KERNEL(unaligned(x[0]), x[1], x[2].astype(">f8")), expected)
    out = unaligned(np.zeros_like(expected))
    assert np.array_equal(KERNEL(*x, out=out), expected) and np.array_equal(out, expected)


@pytest.mark.parametrize("depth", [31, 32, 33, 40, 63])
def test_batches_of_many_dimensions(depth):
    """NumPy arrays have up to 64; a scalar result has those of the batch alone."""
    wide = [x.reshape(*(1,) * depth, 3) for x in ONE]
    for arrays in (wide, [wide[0], ONE[1], ONE[2]], [wide[0].tolist() if depth < 32 else wide[0], *ONE[1:]]):
        found = KERNEL(*arrays)
        assert found.shape == (*(1,) * depth, 3) and np.array_equal(found.ravel(), KERNEL(*ONE))
    two = [np.concatenate([x, x]) for x in wide]
    out, finite = np.empty_like(two[0]), np.empty(two[0].shape[:-1], dtype=bool)
    assert KERNEL(*two, out=out, finite=finite) is out and finite.all()
    assert np.array_equal(out[0].ravel(), KERNEL(*ONE)) and np.array_equal(out[0], out[1])


def test_batches_of_more_dimensions_than_arrays_have():
    matrix = fj.compile(fj.mass_matrix, ROBOT)
    assert matrix(ONE[0].reshape(*(1,) * 62, 3)).shape == (*(1,) * 62, 3, 3)
    with pytest.raises(fj.InputError, match="the batch has 63 dimensions; arrays have 64, and 2 of them are taken"):
        matrix(ONE[0].reshape(*(1,) * 63, 3))


def test_a_batch_beyond_all_memory():
    """An array of no elements may have any number of rows; the results of so many have no place."""
    kernel = kernel_of("f", [Array("x", (0,))], lambda x: [(Array("y", (1000,)), ca.SX(1000, 1))], type=None)
    with pytest.raises(fj.InputError, match=rf"f: a batch of shape \({2**55},\) is more than memory can hold"):
        kernel(np.empty((2**55, 0)))


@pytest.mark.parametrize(
    "shape, strides",
    [((2, 3), (0, 8)), ((2, 3), (8, 8)), ((70, 3), (16, 8)), ((70, 3), (24, 0)), ((5, 3), (24, 4)), ((5, 3), (-8, 8))],
)
def test_out_that_overlaps_itself(shape, strides):
    memory = np.zeros(1000)
    out = as_strided(memory[500:], shape, strides)
    arrays = RNG.normal(size=(3, *shape))
    with pytest.raises(fj.InputError, match=r"elements of out share memory \(strides .*\); give an array such as np"):
        KERNEL(*arrays, out=out)
    assert not memory.any()


@pytest.mark.parametrize("rows", [1, 5, 70])
def test_out_with_gaps_and_backwards(rows):
    """Strides of any sign and size are taken where no element shares memory with another."""
    arrays = RNG.normal(size=(3, rows, 3))
    expected = KERNEL(*arrays)
    memory = np.zeros((2 * rows, 7))
    for out in (memory[::2, 1:4], memory[::-2, 1:4], memory[:rows, 5:2:-1], memory[:rows, ::3], memory.T[:3, :rows].T):
        memory[...] = np.pi
        assert not overlaps_itself(out)
        KERNEL(*arrays, out=out)
        assert np.array_equal(out, expected)
        assert np.sum(memory != np.pi) == expected.size


def test_finite_that_overlaps():
    out, finite = np.zeros((70, 3)), np.zeros(70, dtype=bool)
    with pytest.raises(fj.InputError, match="finite overlaps itself, an argument or out"):
        KERNEL(*MANY, out=out, finite=out.view(bool).ravel()[:70])
    with pytest.raises(fj.InputError, match="finite overlaps itself, an argument or out"):
        KERNEL(*MANY, finite=as_strided(finite, (70,), (0,)))
    arrays = MANY.copy()
    with pytest.raises(fj.InputError, match="finite overlaps itself, an argument or out"):
        KERNEL(*arrays, finite=arrays[0].view(bool).ravel()[:70])


def test_out_that_is_an_argument_of_an_evaluation_that_fails():
    """The argument stays as it was, and the message names what was wrong with it; another out becomes NaN."""
    for make in (np.copy, unaligned, lambda x: np.repeat(x, 2, axis=-1)[:, ::2], lambda x: x.astype(">f8")):
        arrays = make(ONE)
        arrays[1, 2] = np.inf
        before = arrays.copy()
        out = arrays[1] if arrays.dtype == np.float64 else None
        with pytest.raises(fj.NonFiniteError, match=r"v\[2\] \(.*\) is inf"):
            KERNEL(*arrays, out=out)
        assert np.array_equal(arrays, before)
    out = np.zeros(3)
    with pytest.raises(fj.NonFiniteError, match=r"v\[2\] \(.*\) is inf"):
        KERNEL(*before, out=out)
    assert np.isnan(out).all()
    rows = MANY.copy()
    rows[1, 3, 0] = np.nan  # in a batch the row is NaN, in whatever array
    expected = KERNEL(*rows)
    assert np.array_equal(KERNEL(*rows, out=rows[2]), expected, equal_nan=True) and np.isnan(expected[3]).all()


class Pair(NamedTuple):
    q: np.ndarray
    tau: np.ndarray


@pytest.mark.parametrize("rows", [2, 40, 70])
def test_a_stack_behind_a_plain_result(rows):
    """Layers come first in the array of a stack, wherever it stands among the results."""
    kernel = fj.compile(fj.algorithm.Algorithm(lambda robot, q, v: (q + v, [q, 2 * v]), Pair), ROBOT)
    q, v = RNG.normal(size=(2, rows, 3))
    found = kernel(q, v)
    assert np.array_equal(found.q, q + v) and np.array_equal(found.tau, [q, 2 * v])
    out = (np.empty((rows, 3)), np.empty((2, rows, 3)))
    kernel(q, v, out=out)
    assert np.array_equal(out[0], q + v) and np.array_equal(out[1], [q, 2 * v])


extension = pytest.mark.skipif(not calling.EXTENSION, reason="of the C extension")


@extension
@pytest.mark.parametrize("lanes", [2**30, 2**31 - 1, 65, 128, 0, -1, -(2**31)])
def test_blocks_of_too_many_rows(lanes):
    kernel = fj.compile(fj.gravity_torque, ROBOT)
    with pytest.raises(ValueError, match="a block has 1 to 64 rows"):
        kernel._use_block(1, lanes, False, 0)


@extension
@pytest.mark.parametrize(
    "shapes, layers, stacked",
    [
        ([(-1,)], (1,), False),
        ([(2**40, 2**40)], (1,), False),
        ([(2**62,)], (1,), False),
        ([()], (1,), True),
        ([(3,)], (2,), False),
        ([(3,)], (0,), False),
        ([(3,)] * 1025, (1,) * 1025, False),
        ([(1,) * 5], (1,), False),
    ],
)
def test_declarations_that_no_kernel_has(shapes, layers, stacked):
    with pytest.raises((ValueError, OverflowError)):
        calling.KernelBase(1, (), tuple(shapes), layers, None, stacked, 64, 0)


@extension
def test_a_kernel_is_set_up_once():
    """A second set-up is refused and changes nothing."""
    expected = KERNEL(*MANY)
    with pytest.raises(ValueError, match="set up once"):
        calling.KernelBase.__init__(KERNEL, 1, (), ((3,),), (1,), None, True, 0, 0)
    assert np.array_equal(KERNEL(*MANY), expected)


@extension
def test_rows_that_arrays_do_not_hold():
    """What `_run` is told is checked, whatever overflows."""
    out, rows = np.zeros((4, 3)), np.zeros((4, 3))
    steps, inputs = (3, 3, 3), (rows,) * 3
    for count in ((5, 0, 5), (2**61, 0, 4), (2**62, 2**62 - 1, 1), (-(2**63), 0, 1), (4, 3, 2), (4, 2**63 - 1, 1)):
        with pytest.raises(ValueError, match=r"rows"):
            KERNEL._run(inputs, steps, (out,), *count, None)
    with pytest.raises(ValueError, match="follow each other"):
        KERNEL._run(inputs, (3, 3, 4), (out,), 4, 0, 4, None)
    with pytest.raises(ValueError, match="finite must be"):
        KERNEL._run(inputs, steps, (out,), 4, 0, 4, np.zeros(3, dtype=bool))


SMALL_STACKS = """
    import sys, threading
    import numpy as np
    import flexjoint as fj

    robot = fj.random_robot(8, 1, elastic=1.0, name="long")
    kernel = fj.compile(fj.inverse_dynamics, robot)
    other = fj.random_robot(2, 7)
    many = np.random.default_rng(0).normal(scale=0.1, size=(5, 70, 8))
    one = many[:, 0].copy()
    assert kernel._code.stack > 2**16
    calls = {
        "one": lambda: kernel(*one),
        "lists": lambda: kernel(*one.tolist()),
        "few": lambda: kernel(*many[:, :20]),
        "many": lambda: kernel(*many),
        "threads": lambda: kernel(*many, threads=2),
        "compiled there": lambda: fj.compile(fj.mass_matrix, other)(np.zeros((70, 2))),
    }
    threading.stack_size(2**15)  # the least that Python takes
    found = {}
    for name, call in calls.items():
        thread = threading.Thread(target=lambda: found.update({name: call()}))
        thread.start()
        thread.join()
    for name, call in calls.items():
        assert np.array_equal(found[name], call()), name
    print("same", threading.stack_size())  # which sets it to 0
"""


@pytest.mark.parametrize("path", some_long({"extension": "", "ctypes": "1"}, "ctypes"))
def test_threads_with_small_stacks(path, tmp_path):
    """A kernel that needs more stack than its thread has left gets it elsewhere; so does the compiler."""
    found = run(SMALL_STACKS, FLEXJOINT_NO_EXTENSION=path, FLEXJOINT_CACHE=str(tmp_path))
    assert (found.returncode, found.stdout.strip()) == (0, "same 32768"), found.stderr[-2000:]


def run(program, **environment):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )


def frames_in(assembly):
    """Bytes of stack that each function takes, from its machine code, and whom it calls."""
    frames, calls, name = {}, {}, None
    for line in assembly.splitlines():
        if found := re.match(r"([A-Za-z_][\w.]*):", line):
            name = found[1]
            frames[name], calls[name] = 0, set()
        elif found := re.match(r"\s+subq\s+\$(\d+), %rsp", line):
            frames[name] += int(found[1])
        elif re.match(r"\s+pushq", line):
            frames[name] += 8
        elif found := re.match(r"\s+callq?\s+([\w.]+)", line):
            calls[name].add(found[1].removesuffix("@PLT"))
            frames[name] += 8

    def depth(name):
        return frames.get(name, 0) + max((depth(x) for x in calls.get(name, ()) if x in frames), default=0)

    return depth("kernel")


@pytest.mark.parametrize("rows", [1, 4])
def test_the_bound_of_the_stack(rows):
    """Machine code takes no more stack than the bound that is stored with it; it takes some."""
    if platform.machine() not in ("x86_64", "AMD64"):
        pytest.skip("reads x86-64 code")

    def swings(q, v, h):
        step = lambda x, _: ((x[0] + h * x[1], x[1] - h * fj.gravity_torque(ROBOT, x[0])), x[0])  # noqa: E731
        _, ys = scan(step, (q, v), [ca.SX(k) for k in range(20)])
        return [(Array("history", (20, 3)), ca.horzcat(*ys).T)]

    elastic, chain = fj.random_robot(2, 1, elastic=1.0), fj.random_robot(9, 1)
    programs = [
        fj.inverse_dynamics.trace(elastic, fj.inverse_dynamics.structure(elastic))[0],
        fj.mass_matrix.trace(chain, fj.mass_matrix.structure(chain))[0],
        program_of("swings", [Array("q", (3,)), Array("v", (3,)), Array("h", ())], swings),
    ]
    for program in programs:
        ir = pipeline.lower(program, rows)
        used, bound = frames_in(jit.assembly(ir)), jit.load_object(jit.compile_object(ir)).stack
        assert 0 < used <= bound, (program.name, used, bound)


def test_the_bound_counts_what_is_called():
    outer = "define i64 @kernel(ptr %in) {\n  %a = alloca [10 x <4 x double>], align 64\n  %b = call i64 @inner()\n}"
    inner = "define internal i64 @inner() {\n  %c = alloca i64\n}"
    buffers, lines = 10 * 4 * 8 + 8, 3 * 4 * 8 + 2 * 8
    assert stack_bytes([outer, inner], "kernel") == 2 * 256 + buffers + lines
