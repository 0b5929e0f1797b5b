"""Roots of the cubic law, against multiprecision arithmetic."""

import mpmath
import pytest

import flexjoint as fj
from support.springs import inverse

CUBIC = fj.springs.CubicSpring(900.0, 4.0e4)


@pytest.mark.parametrize("tau", [1e-300, 1e-12, 1e-3, 1.0, 37.0, 1e4, 1e9])
def test_cubic_roots_have_all_their_digits(tau):
    """Cardano's formula as printed in books loses them all for small torques."""
    with mpmath.workdps(60):
        K, Kc = mpmath.mpf(900), mpmath.mpf(40000)
        guess = min(tau / K, mpmath.cbrt(tau / Kc))
        exact = mpmath.findroot(lambda x: K * x + Kc * x**3 - mpmath.mpf(tau), guess)
        for sign in (1, -1):
            found = float(inverse(CUBIC, sign * tau))
            assert abs((mpmath.mpf(found) - sign * exact) / exact) < 1e-15
