"""SX expressions in numbers, rows at once, loops included."""

import casadi as ca
import numpy as np

from flexjoint.compiler.ir.scan import scan, tracing
from flexjoint.numerics import evaluate


def test_rows_of_a_matrix_expression():
    x, y = ca.SX.sym("x", 2), ca.SX.sym("y")
    expression = ca.vertcat(ca.horzcat(x[0] * y, ca.exp(x[1])), ca.horzcat(3.0, ca.sin(y)))
    values = np.array([[1.0, 2.0], [0.5, -1.0]]), np.array([2.0, 3.0])
    (found,) = evaluate([x, y], values, [expression])
    expected = np.stack([[[2.0, np.exp(2.0)], [3.0, np.sin(2.0)]], [[1.5, np.exp(-1.0)], [3.0, np.sin(3.0)]]])
    np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_loops():
    x = ca.SX.sym("x")
    with tracing() as definitions:
        root, _ = scan(lambda y, _: ((y + x / y) / 2, ()), x, [()] * 8)
    (found,) = evaluate([x], [[2.0, 9.0]], [root], definitions)
    np.testing.assert_allclose(found[:, 0, 0], np.sqrt([2.0, 9.0]), rtol=1e-15)
