"""How derivatives are asked for and described; their values are judged in tests/oracles/test_derivative_kernels.py."""

import sys

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.algorithm.derivatives import Output, at_values, derivative
from flexjoint.compiler.ir.program import Array

TWO = fj.random_robot(2, 11, prismatic=0.0, name="two")


def test_matrices_are_stored_by_rows():
    x = ca.SX.sym("x", 2)
    y = ca.vertcat(ca.horzcat(x[0], x[1] ** 2), ca.horzcat(0, 3 * x[0]))
    found = derivative(Output(Array("y", (2, 2), "N"), [y], False), Array("x", (2,), "m/s", ("a", "b")), x)
    assert found.array == ("dy/dx", (2, 2, 2), "N / (m/s)", ())
    numbers = np.array(ca.evalf(ca.substitute(found.layers[0], x, ca.DM([5.0, 7.0])))).reshape(found.array.shape)
    assert np.array_equal(numbers[..., 0], [[1.0, 0.0], [0.0, 3.0]])
    assert np.array_equal(numbers[..., 1], [[0.0, 14.0], [0.0, 0.0]])


def test_elements_of_derivatives_have_names_where_both_sides_have():
    x = ca.SX.sym("x")
    y = Output(Array("y", (2,), "N", ("u", "v")), [ca.vertcat(x, 2 * x)], False)
    found = derivative(y, Array("x", (), "kg"), x)
    assert found.array == ("dy/dx", (2,), "N / kg", ("u / x", "v / x"))


def test_numbers_take_the_place_of_symbols():
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    outputs = [Output(Array("f", ()), [x * y, x + y], True), Output(Array("g", ()), [x - y], False)]
    found = at_values(outputs, [(y, 3.0)])
    assert all(ca.is_equal(a, b, 2) for a, b in zip(found[0].layers, [x * 3.0, x + 3.0]))
    assert ca.symvar(found[1].layers[0])[0].name() == "x" and len(ca.symvar(found[1].layers[0])) == 1


def test_one_is_an_array_and_several_are_a_tuple():
    q = np.array([0.3, -0.7])
    one = fj.compile(fj.gravity_torque, TWO, derivatives=[("tau", "q")])(q)
    two = fj.compile(fj.gravity_torque, TWO, derivatives=[("tau", "q"), ("tau", "gravity")])(q)
    assert one.shape == (2, 2) and type(two) is tuple
    assert np.allclose(one, two[0], rtol=1e-14) and two[1].shape == (2, 3)
    out = tuple(np.empty_like(x) for x in two)
    kernel = fj.compile(fj.gravity_torque, TWO, derivatives=[("tau", "q"), ("tau", "gravity")])
    assert kernel(q, out=out)[1] is out[1] and np.array_equal(out[1], two[1])


def test_fields_of_a_tuple_and_members_of_groups():
    q = np.array([0.3, -0.7])
    J = fj.compile(fj.forward_kinematics, TWO, derivatives=[("position", "q")])(q)
    assert np.allclose(J, fj.jacobian(TWO, q)[:3], rtol=1e-14, atol=1e-15)
    kernel = fj.compile(fj.bias_torque, TWO, wrenches={"link2": 1}, derivatives=[("tau", "wrenches.link2[0]")])
    assert np.allclose(kernel(q, q, np.zeros(6)), -fj.jacobian(TWO, q).T, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("torque", "q")], "no output 'torque'; it gives tau"),
        ([("tau", "p")], "no input 'p', it takes q, v, a; and two: no parameter 'p'"),
        ([("tau", "link2.mas")], "did you mean link2.mass"),
        (["tau"], r"pairs of names such as \[\('tau', 'q'\)\], not \('tau',\)"),
        (("tau", "q"), r"pairs of names such as \[\('tau', 'q'\)\], not \('tau',\)"),
        ([("tau", 1)], "pairs of names"),
        ("tau", "pairs of names"),
        (1, "pairs of names"),
        ([("tau", "joint1.rotation")], "rotation cannot be free"),
    ],
)
def test_a_mistake_is_named(pairs, message):
    with pytest.raises(fj.InputError, match=message):
        fj.compile(fj.inverse_dynamics, TWO, derivatives=pairs)


def test_several_results_written_to_out():
    """Overlapping memory of any kind, wrong containers and results that are not finite."""
    kernel = fj.compile(fj.gravity_torque, TWO, derivatives=[("tau", "q"), ("tau", "gravity")])
    q = np.array([0.3, -0.7])
    expected = kernel(q)
    memory = np.full(20, 5.0)
    for start in range(6):  # the second array behind the first, ever less inside it
        out = memory[:4].reshape(2, 2), memory[start : start + 6].reshape(2, 3)
        if start < 4:
            with pytest.raises(fj.InputError, match="overlap"):
                kernel(q, out=out)
        else:
            found = kernel(q, out=out)
            assert all(x is y for x, y in zip(found, out))
            assert all(np.array_equal(x, y) for x, y in zip(found, expected))
    for start in range(8):  # the argument inside one result, between both, inside the other
        memory[start : start + 2] = q
        found = kernel(memory[start : start + 2], out=(memory[:4].reshape(2, 2), memory[4:10].reshape(2, 3)))
        assert all(np.array_equal(x, y) for x, y in zip(found, expected))
    for wrong in ([*expected, expected[0]], expected[:1], expected[0], (expected[1], expected[0])):
        with pytest.raises(fj.InputError, match="out must be"):
            kernel(q, out=wrong)
    out = np.zeros((2, 2)), np.zeros((2, 3))
    with pytest.raises(fj.NonFiniteError, match=r"q\[1\]"):
        kernel(np.array([0.0, np.inf]), out=out)
    assert all(np.isnan(x).all() for x in out)


def test_out_of_several_results_holds_no_references():
    kernel = fj.compile(fj.gravity_torque, TWO, derivatives=[("tau", "q"), ("tau", "gravity")])
    q, out = np.array([0.3, -0.7]), (np.empty((2, 2)), np.empty((2, 3)))
    before = [sys.getrefcount(x) for x in (out, *out)]
    for _ in range(100):
        kernel(q, out=out)
    assert [sys.getrefcount(x) for x in (out, *out)] == before
