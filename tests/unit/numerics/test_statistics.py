"""Quantiles and quadrature against SciPy and NumPy."""

import numpy as np
import pytest
from scipy.special import ndtri

from flexjoint.numerics import gauss_legendre, normal_quantile


def test_quantiles_of_the_normal_distribution():
    p = np.concatenate([np.linspace(1e-4, 1 - 1e-4, 2001), [1e-10, 1e-7, 0.5, 1 - 1e-7]])
    np.testing.assert_allclose(normal_quantile(p), ndtri(p), rtol=2e-15, atol=1e-16)


def test_quantiles_beyond_the_range_are_refused():
    with pytest.raises(ValueError, match="outside"):
        normal_quantile(np.array([0.5, 0.0]))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 20])
def test_quadrature(n):
    nodes, weights = gauss_legendre(n)
    expected = np.polynomial.legendre.leggauss(n)
    np.testing.assert_allclose(nodes, expected[0], atol=4e-16)
    np.testing.assert_allclose(weights, expected[1], rtol=1e-13)
