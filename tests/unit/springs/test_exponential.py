"""The exponential spring to the last digit, against multiprecision arithmetic."""

import math

import mpmath
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.algorithm.compile import kernel_of
from flexjoint.compiler.ir.program import Array
from support.springs import inverse


@pytest.mark.parametrize("tau", [1e-300, 1e-12, -1e-9, 1e-4, -0.3, 1.0, -49.9, 37.0, 1e4, 1e9])
def test_exponential_deflections_have_all_their_digits(tau):
    """ln(1 + bτ/K)/b as it stands loses them all for small torques."""
    with mpmath.workdps(60):
        x = mpmath.mpf(tau) / 50
        exact = float(mpmath.log1p(x) / 6)
        condition = float(x / ((1 + x) * mpmath.log1p(x)))
    assert inverse(fj.springs.ExponentialSpring(300.0, 6.0), tau) == pytest.approx(
        exact, rel=1e-15 * (1 + condition), abs=0
    )


@pytest.mark.parametrize("rate", [6.0, -6.0, 1e-3, 1e-12, -1e-15])
def test_exponential_torques_have_all_their_digits(rate):
    """e^(bφ) − 1 as it stands is 11 % off at bφ = 1e-12 and 0 at 1e-17; stiffness and slope as CasADi derives them."""
    K, phi = 300.0, np.concatenate([side * np.geomspace(1e-17, 3.0, 60) for side in (-1, 1)])
    found = fj.springs.ExponentialSpring(K, rate).curve(phi)
    with mpmath.workdps(60):
        x = [mpmath.mpf(rate) * mpmath.mpf(y) for y in phi]
        exact = (
            [float(K / mpmath.mpf(rate) * mpmath.expm1(y)) for y in x],
            [float(K * mpmath.exp(y)) for y in x],
            [float(K * mpmath.mpf(rate) * mpmath.exp(y)) for y in x],
        )
    condition = 1 + np.abs(rate * phi)  # of the exponential: its argument is rounded
    for values, wanted in zip(found, exact):
        assert np.all(np.abs(values / wanted - 1) < 6e-16 * condition)


def test_exponential_torques_have_all_their_digits_in_a_kernel():
    spring, x = fj.springs.ExponentialSpring(300.0, 1e-3), Array("x", (), "")
    kernel = kernel_of("law", [x], lambda phi: [(x, spring.torque(phi))], type=None)
    for phi in (1e-15, -1e-12, 1e-9, 1e-3, -0.5):
        assert float(kernel(phi)) == pytest.approx(3e5 * math.expm1(1e-3 * phi), rel=1e-15, abs=0)
