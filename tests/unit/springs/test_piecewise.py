"""Piecewise linear stiffness, against numerical integration."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

import flexjoint as fj

POINTS = ((0.0, 0.01, 0.03, 0.1), (500.0, 400.0, 2000.0, 1500.0))
PIECES = fj.springs.PiecewiseSpring(*POINTS)


def test_piecewise_torque_is_the_integral_of_the_stiffness():
    for phi in (-0.25, -0.1, -0.02, -0.004, 0.0, 0.003, 0.01, 0.015, 0.03, 0.07, 0.4):
        knots = [x for x in POINTS[0] if x < abs(phi)]
        expected = quad(lambda x: np.interp(x, *POINTS), 0.0, abs(phi), points=knots, epsabs=1e-13)[0]
        curve = PIECES.curve(phi)
        assert curve.torque == pytest.approx(math.copysign(expected, phi), rel=1e-13, abs=1e-15)
        assert curve.stiffness == pytest.approx(np.interp(abs(phi), *POINTS), rel=1e-13)


def test_piecewise_stiffness_is_continuous():
    for x in POINTS[0]:
        left, right = PIECES.curve([x - 1e-12, x + 1e-12]).stiffness
        assert left == pytest.approx(right, rel=1e-6)
