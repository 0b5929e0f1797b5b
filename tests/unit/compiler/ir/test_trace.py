"""Every traced output has the size it declares: kernels write as many numbers as were traced."""

from typing import NamedTuple

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.algorithm.compile import kernel_of
from flexjoint.compiler.ir.program import Array
from flexjoint.compiler.pipeline import trace

ROBOT = fj.random_robot(2, 0, name="two")
Q = np.array([0.1, 0.2])


class Both(NamedTuple):
    tau: np.ndarray
    mass_matrix: np.ndarray


def user_written(answer, outputs="tau"):
    def law(robot, q):
        return answer(q)

    return fj.algorithm.Algorithm(law, outputs)


@pytest.mark.parametrize(
    "shape, expression, given",
    [
        ((2,), ca.SX(3, 1), r"\(3,\)"),
        ((2,), ca.SX(1, 1), r"\(1,\)"),
        ((2,), ca.SX(0, 1), r"\(0,\)"),
        ((), ca.SX(2, 1), r"\(2,\)"),
        ((2, 3), ca.SX(3, 2), r"\(3, 2\)"),
        ((2, 3), ca.SX(6, 2), r"\(6, 2\)"),
        ((2, 3, 4), ca.SX(4, 6), r"\(4, 6\)"),
        ((0,), ca.SX(1, 1), r"\(1,\)"),
    ],
)
def test_another_shape_than_declared(shape, expression, given):
    x = ca.SX.sym("x", 2)
    with pytest.raises(fj.InputError, match=rf"f returned y with shape {given}; it must have shape \("):
        trace("f", [(Array("x", (2,)), x)], [(Array("y", shape), expression + x[0])])


@pytest.mark.parametrize("matrix", [(2, 12), (6, 4), (24, 1), (1, 24)])
def test_an_array_may_be_given_as_any_matrix_of_its_rows(matrix):
    rows = np.arange(24.0).reshape(matrix)
    kernel = kernel_of("f", [Array("x", ())], lambda x: [(Array("y", (2, 3, 4)), ca.SX(ca.DM(rows)) + x)], type=None)
    assert np.array_equal(kernel(0.0), np.arange(24.0).reshape(2, 3, 4))


@pytest.mark.parametrize(
    "outputs, answer, message",
    [
        ("tau", lambda q: ca.vertcat(q, q), r"law returned tau with shape \(4,\); it must have shape \(2,\), one"),
        ("tau", lambda q: ca.repmat(q, 50, 1), r"law returned tau with shape \(100,\)"),
        ("tau", lambda q: q[0], r"law returned tau with shape \(1,\)"),
        ("tau", lambda q: None, "law returned NoneType for tau"),
        ("tau", lambda q: np.zeros(3), r"law returned tau with shape \(3,\)"),
        ("tau", lambda q: (q, q), r"law returned tau with shape \(4,\)"),
        ("tau", lambda q: [q[0], q[1]], r"law \(a list is a stack of derivatives\) returned tau\[0\] .*\(1,\)"),
        ("tau", lambda q: [], "law returned an empty list for tau"),
        ("mass_matrix", lambda q: q, r"law returned mass_matrix with shape \(2,\); it must have shape \(2, 2\)"),
        (Both, lambda q: q, "law returned SX as its outputs; it must be a tuple of 2: tau, mass_matrix"),
        (Both, lambda q: (q,), "law returned tuple of 1 as its outputs"),
        (Both, lambda q: (q, q), r"law returned mass_matrix with shape \(2,\)"),
        ("torque", lambda q: q, "law: there is no signal 'torque'; there are q, v"),
    ],
)
@pytest.mark.parametrize("how", ["called", "compiled", "differentiated"])
def test_an_algorithm_that_returns_another_size(outputs, answer, message, how):
    law = user_written(answer, outputs)
    pairs = {"derivatives": [(law.form(ROBOT, ()).fields[0], "q")]} if how == "differentiated" else {}
    with pytest.raises(fj.InputError, match=message):
        law(ROBOT, Q) if how == "called" else fj.compile(law, ROBOT, **pairs)


def test_an_algorithm_may_return_numbers_and_write_into_its_arguments():
    def writing(q):
        found = 2 * q
        q[:] = 7.0
        return found

    assert np.array_equal(user_written(lambda q: np.array([1.0, 2.0]))(ROBOT, Q), [1.0, 2.0])
    assert np.array_equal(user_written(lambda q: ca.DM([1.0, 2.0]))(ROBOT, Q), [1.0, 2.0])
    assert np.array_equal(user_written(lambda q: q.T)(ROBOT, Q), Q)
    assert np.array_equal(user_written(writing)(ROBOT, Q), 2 * Q)
    symbols = ca.SX.sym("q", 2)
    before = str(symbols)
    user_written(writing)(ROBOT, symbols)
    assert str(symbols) == before


def test_a_symbol_that_is_no_argument():
    stranger = ca.SX.sym("stranger")
    with pytest.raises(fj.InputError, match=r"law of two: the symbol .stranger. in its result is none of its"):
        user_written(lambda q: q * stranger)(ROBOT, Q)
