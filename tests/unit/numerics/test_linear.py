"""Products, equations and least squares against NumPy and SciPy, which order their sums otherwise."""

import numpy as np
import pytest
from scipy.interpolate import BSpline, make_interp_spline
from scipy.linalg import solve_discrete_lyapunov
from scipy.optimize import nnls
from scipy.sparse import diags_array

from flexjoint import numerics
from flexjoint.errors import InputError
from flexjoint.trajectory.spline import cyclic_solve

rng = np.random.default_rng(3)


def test_products():
    A, B, C, x = rng.normal(size=(2, 3)), rng.normal(size=(3, 4)), rng.normal(size=(4, 4)), rng.normal(size=4)
    np.testing.assert_allclose(numerics.product(A, B, C), A @ B @ C, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(numerics.product(B, x), B @ x, rtol=1e-13)
    assert numerics.product(B, x).shape == (3,)


@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_equations(n):
    A, b, B = rng.normal(size=(n, n)), rng.normal(size=n), rng.normal(size=(n, 3))
    A[0, 0] = 0.0 if n > 1 else 2.0  # needs a pivot
    np.testing.assert_allclose(numerics.solve(A, b), np.linalg.solve(A, b), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(A @ numerics.solve(A, B), B, rtol=1e-9, atol=1e-10)


def test_singular_equations_are_refused():
    with pytest.raises(InputError, match="singular: column 2"):
        numerics.solve([[1.0, 2.0], [2.0, 4.0]], [1.0, 1.0])


@pytest.mark.parametrize("degree", [1, 3, 5, 9])
@pytest.mark.parametrize("n", [20, 129, 500, 3000])
def test_banded_equations(degree, n):
    """The systems of splines, short enough for one block and long enough for several levels of blocks."""
    u = np.cumsum(rng.uniform(0.2, 1.8, n))
    points = rng.normal(size=(n, 3))
    ends = degree + 1
    knots = np.concatenate([[u[0]] * ends, u[ends // 2 : -(ends // 2)], [u[-1]] * ends])
    A = BSpline.design_matrix(u, knots, degree)
    expected = make_interp_spline(u, points, k=degree).c
    size = np.abs(expected).max()
    np.testing.assert_allclose(numerics.banded_solve(A, points), expected, rtol=0, atol=1e-11 * size)


@pytest.mark.parametrize("n", [7, 60, 700])
def test_cyclic_equations(n):
    bands = [np.full(n, x) for x in (0.3, 4.0, -0.5)]
    A = diags_array(bands, offsets=[-1, 0, 1], shape=(n, n)).tolil()
    A[0, n - 1], A[n - 1, 0] = 0.3, -0.5
    b = rng.normal(size=(n, 2))
    np.testing.assert_allclose(cyclic_solve(A.tocsr(), b, width=2), np.linalg.solve(A.toarray(), b), atol=1e-14)


def test_columns_in_the_span_of_those_before():
    Y = rng.normal(size=(40, 6))
    Y[:, 2] = 2 * Y[:, 0] - 0.5 * Y[:, 1]
    Y[:, 4] = Y[:, 3]
    Y /= np.linalg.norm(Y, axis=0)
    kept, others, X = numerics.column_basis(Y, 1e-9)
    assert (kept, others) == ([0, 1, 3, 5], [2, 4])
    np.testing.assert_allclose(Y[:, kept] @ X, Y[:, others], atol=1e-13)


@pytest.mark.parametrize("seed", range(20))
def test_nonnegative_least_squares(seed):
    random = np.random.default_rng(seed)
    A, b = random.normal(size=(30, 6)), random.normal(size=30)
    np.testing.assert_allclose(numerics.nonnegative_least_squares(A, b), nnls(A, b)[0], atol=1e-10)


def test_free_elements_may_be_negative():
    A = rng.normal(size=(50, 4))
    x = np.array([-3.0, 1.0, 0.0, 2.0])
    np.testing.assert_allclose(numerics.nonnegative_least_squares(A, A @ x, free=1), x, atol=1e-9)


def test_stationary_covariance():
    A = rng.normal(size=(5, 5))
    A *= 0.97 / np.abs(np.linalg.eigvals(A)).max()
    B = rng.normal(size=(5, 5))
    np.testing.assert_allclose(
        numerics.stationary_covariance(A, B @ B.T), solve_discrete_lyapunov(A, B @ B.T), rtol=1e-10
    )


def test_many_systems_at_once_have_the_bits_of_each_alone():
    rng = np.random.default_rng(3)
    A, b = rng.normal(size=(4, 3, 7, 7)), rng.normal(size=(4, 3, 7, 2))
    A[1, 1, 0, 0] = 0.0  # needs a pivot
    x = numerics.solve_each(A, b)
    assert np.allclose(x, np.linalg.solve(A, b), rtol=1e-10)
    assert all(np.array_equal(x[i], numerics.solve_each(A[i], b[i])) for i in np.ndindex(4, 3))
    A[2, 2, :, 3] = 0.0
    assert not np.isfinite(numerics.solve_each(A, b)[2, 2]).all() and np.array_equal(numerics.solve_each(A, b)[0], x[0])
