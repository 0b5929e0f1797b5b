"""The operators between SX that flexjoint replaces give what CasADi's functions give."""

import operator
import threading

import casadi as ca
import numpy as np
import pytest

from flexjoint.lazy import ca as lazy, use_direct_operators

CASES = [(operator.add, ca.plus), (operator.sub, ca.minus), (operator.mul, ca.times), (operator.truediv, ca.rdivide)]
X, Y = ca.SX.sym("x"), ca.SX.sym("y")
ROW, MATRIX = ca.SX.sym("r", 1, 3), ca.SX.sym("m", 3, 3)
SPARSE = ca.SX(ca.Sparsity.lower(3), ca.SX.sym("s", 6))
PAIRS = [
    (X, Y),
    (X, X),  # x − x and x / x are simplified
    (X, 2.5),
    (2.5, X),
    (X, 0),
    (0.0, X),
    (X, 1),
    (1, X),
    (X, -1.0),
    (X, True),
    (X, np.float64(0.5)),
    (np.float64(0.5), X),
    (X, np.inf),
    (X, MATRIX),
    (MATRIX, X),
    (MATRIX, MATRIX),
    (ROW, ROW),
    (SPARSE, MATRIX),
    (SPARSE, 3.0),
    (0.0, SPARSE),
    (SPARSE, SPARSE.T),
    (ca.SX(2.0), ca.SX(3.0)),
    (MATRIX, ca.DM.eye(3)),  # left to CasADi, as are the rest
    (ca.DM.eye(3), MATRIX),
    (MATRIX, np.eye(3)),
    (np.eye(3), MATRIX),
]


@pytest.mark.parametrize(("symbol", "function"), CASES, ids=lambda x: x.__name__)
def test_operators_give_the_expressions_of_casadi(symbol, function):
    assert "__mul__" in vars(lazy.SX)  # replaced, or there is nothing to compare
    for x, y in PAIRS:
        found, expected = symbol(x, y), function(x, y)
        assert type(found) is ca.SX and found.sparsity() == expected.sparsity()
        assert str(found) == str(expected)
        assert ca.is_equal(found, expected, 10)


@pytest.mark.parametrize(("symbol", "function"), CASES, ids=lambda x: x.__name__)
def test_operators_refuse_what_casadi_refuses(symbol, function):
    for y in (ca.MX.sym("y"), "y", None):
        for pair in ((X, y), (y, X)):
            with pytest.raises(TypeError, match=r"unsupported|concatenate|can't multiply"):
                symbol(*pair)
    with pytest.raises(RuntimeError, match="Dimension mismatch"):
        symbol(ROW, MATRIX[:2, :2])


def test_operators_are_replaced_once():
    before = {name: vars(ca.SX)[name] for name in ("__add__", "__rsub__", "__truediv__")}
    threads = [threading.Thread(target=use_direct_operators, args=(ca,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(vars(ca.SX)[name] is method for name, method in before.items())
