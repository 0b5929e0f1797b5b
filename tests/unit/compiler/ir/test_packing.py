"""Packed values: what they mean, the code made of them, and where they are allowed."""

import ctypes
import math

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.algorithm.algorithm import algorithm
from flexjoint.compiler import pipeline
from flexjoint.compiler.ir import packing
from flexjoint.compiler.ir.program import LANES, Array
from flexjoint.compiler.ir.reference import evaluate
from flexjoint.compiler.llvm import jit, outlining
from flexjoint.compiler.pipeline import trace
from support.programs import inputs_of, kernel_of, same_bits

WIDE = pytest.mark.skipif(jit.simd_lanes() < len(LANES), reason="no vector register holds a pack")


def traced(function, inputs, outputs):
    x = ca.SX.sym("x", inputs)
    with packing.recording() as definitions:
        y = ca.vertcat(*function(*ca.vertsplit(x)))
    return trace("f", [(Array("x", (inputs,)), x)], [(Array("y", (outputs,)), y)], packs=definitions)


def lanes(x):
    return [packing.lane(x, k) for k in range(4)]


def by_lanes(a, b, c, d, e):
    """A few packed operations on numbers: with plain ones, constants, shuffles of one register and of two."""
    x, y = packing.pack(a, b, c, d), packing.pack(e, 0.0, -a, 2.5)
    turned = packing.shuffled(x, (2, 0, 3, 3))
    both = packing.pack(packing.lane(x, 3), packing.lane(y, 0), packing.lane(x, 1), e)
    return [*lanes(x * y + turned), *lanes(e * both - 3 * packing.pack(0, 1, 2, 3)), *lanes(ca.sqrt(x * x) / 7)]


def by_numbers(a, b, c, d, e):
    x, y, turned, both = [a, b, c, d], [e, 0.0, -a, 2.5], [c, a, d, d], [d, e, b, e]
    return [
        *(p * q + r for p, q, r in zip(x, y, turned)),
        *(e * p - 3.0 * k for k, p in enumerate(both)),
        *(math.sqrt(p * p) / 7 for p in x),
    ]


@pytest.mark.parametrize(
    "numbers", [(1.5, -2.0, 0.3, 7.0, 11.0), (0.1, 0.2, 0.3, 0.4, -1e5), (0.0, -0.0, 0.0, 1.0, -3.0)]
)
def test_meaning(numbers):
    program = traced(by_lanes, 5, 12)
    expected = by_numbers(*numbers)
    np.testing.assert_allclose(evaluate(program, numbers)[0], expected, rtol=4e-16)
    np.testing.assert_allclose(pipeline.compile(program)(np.array(numbers)), expected, rtol=4e-16)


def inexact(a, b, c, d, e):
    """What could round differently in lanes: division by constants, sines of packed values beside plain ones."""
    x = packing.pack(a, b, c, d)
    turned = ca.sin(x) * ca.cos(e) + ca.cos(x * x) * ca.sin(a)
    return [*lanes(x / packing.pack(3, 7, 0.3, e)), *lanes(turned), *lanes(ca.sin(turned))]


def test_packed_code_has_the_bits_of_plain_code():
    program = traced(inexact, 5, 12)
    kernel, rng = pipeline.compile(program), np.random.default_rng(8)
    for _ in range(50):
        x = rng.uniform(-4.0, 4.0, 5)
        assert same_bits(kernel(x), evaluate(program, x)[0])


def test_plain_program_has_no_packs():
    program = traced(by_lanes, 5, 12)
    assert not program.packs
    assert program.packed.packs
    assert not {"pack", *LANES} & set(program.counts)


def test_lanes_that_constants_make_trivial_cost_nothing():
    def scaled(a, b):
        x = packing.pack(a, 0, b, 0) * packing.pack(1, 5, 0, 0) + packing.pack(0, 2, a, 0)
        return lanes(x)

    program = traced(scaled, 2, 4)
    assert program.counts == {"add": 3}  # the results' zeros made positive
    np.testing.assert_array_equal(evaluate(program, (3.0, 4.0))[0], [3.0, 2.0, 3.0, 0.0])


@WIDE
def test_code_for_one_row_uses_packs():
    program = traced(by_lanes, 5, 12)
    assert pipeline.compile(program).ir == pipeline.lower(program.packed)
    assert "<4 x double>" in pipeline.compile(program).ir


def test_zeros_are_positive():
    def sums(a, b):
        return lanes(packing.pack(a, -b, a, 0) * packing.pack(b, b, 0, 0))

    program = traced(sums, 2, 4)
    for x in ((-0.0, 1.0), (0.0, -1.0), (0.0, 0.0)):
        for found in (evaluate(program, x)[0], pipeline.compile(program)(np.array(x))):
            assert not np.any(np.signbit(found[found == 0.0]))


@WIDE
@pytest.mark.parametrize("robot", ["lwr", "chain"])
def test_packed_code_in_chunks_gives_the_same_bits(robot, monkeypatch):
    program = kernel_of("inverse_dynamics", robot).program
    monkeypatch.setattr(outlining, "PACKED_WHOLE", 50)
    monkeypatch.setattr(outlining, "PACKED_CHUNK", 50)
    ir = pipeline.lower(program.packed)
    assert ir.count("define internal") >= 5
    code = jit.load_object(jit.compile_object(ir))
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(code.address)
    for arrays in inputs_of(program, 10):
        (expected,) = evaluate(program, *arrays)
        found = np.empty_like(expected)
        status = function(
            (ctypes.c_void_p * len(arrays))(*(x.ctypes.data for x in arrays)),
            ctypes.byref(ctypes.c_void_p(found.ctypes.data)),
        )
        assert status == (not np.all(np.isfinite(expected)))
        assert status or same_bits(found, expected)


def test_expressions_stay_plain():
    """CasADi differentiates what an algorithm returns for SX, in another algorithm's kernel too."""
    robot = fj.load("kuka_lwr")
    arrays = [np.full(7, 0.1 * k) for k in range(1, 6)]

    @algorithm("mass_matrix")
    def snap_gain(robot, q, v, a, *higher):
        return ca.jacobian(fj.inverse_dynamics(robot, q, v, a, *higher), higher[1])  # ∂τ/∂q'''' = B K⁻¹ M

    found = snap_gain(robot, *arrays)
    B = [joint.drive.motor.inertia / joint.drive.stiffness for joint in robot.joints]
    np.testing.assert_allclose(found, np.diag(B) @ fj.mass_matrix(robot.without_drives(), arrays[0]), atol=1e-15)
    with pytest.raises(AssertionError):
        packing.pack(ca.SX.sym("x"), 0, 0, 0)
