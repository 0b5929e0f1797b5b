"""Elementary functions: near mpmath, and the same bits for a float and in an array."""

import mpmath
import numpy as np
import pytest

from flexjoint import numerics

X = np.concatenate([np.linspace(-9.0, 9.0, 401), [1e-300, 1e-9, 0.5, 700.0]])


@pytest.mark.parametrize("name", ["sin", "cos", "exp", "log"])
def test_a_float_and_an_array_have_the_same_bits(name):
    x = np.abs(X) + 1e-12 if name == "log" else X
    function = getattr(numerics, name)
    alone = np.array([function(float(y)) for y in x])
    assert np.array_equal(function(x), alone)
    exact = np.array([float(getattr(mpmath, name)(float(y))) for y in x])
    np.testing.assert_allclose(alone, exact, rtol=4e-16)


def test_sines_and_cosines_together():
    x = X.reshape(5, -1)
    sines, cosines = numerics.sin_cos(x)
    assert np.array_equal(sines, numerics.sin(x)) and np.array_equal(cosines, numerics.cos(x))
    assert sines.shape == x.shape


@pytest.mark.parametrize(("y", "x"), [(1.0, 2.0), (-1.0, 0.5), (0.3, -2.0), (0.0, -1.0), (-3.0, -4.0)])
def test_angle_of_a_point(y, x):
    assert numerics.atan2(y, x) == pytest.approx(float(mpmath.atan2(y, x)), rel=4e-16)


@pytest.mark.parametrize("k", range(12))
def test_powers(k):
    x = np.array([-2.0, 0.5, 3.0])
    assert np.array_equal(numerics.power(x, k), [y**k for y in (-2.0, 0.5, 3.0)])
    assert numerics.power(3.0, k) == 3.0**k


def test_angles_of_arrays_have_the_bits_of_single_ones():
    y, x = np.random.default_rng(0).normal(size=(2, 3, 40))
    single = [[numerics.atan2(a, b) for a, b in zip(*rows)] for rows in zip(y, x)]
    assert np.array_equal(numerics.atan2(y, x), single)
    assert numerics.atan2(y, np.array(1.0)).shape == (3, 40)
