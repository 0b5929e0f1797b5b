"""The hardening spring near its stop."""

import numpy as np

import flexjoint as fj
from support.springs import inverse

TAN = fj.springs.HardeningSpring(700.0, 0.2)


def test_large_torques_stay_inside_the_stop():
    assert np.all(np.abs(inverse(TAN, [-1e9, 1e9])) <= TAN.limit)
    assert np.all(np.isnan(TAN.curve([-0.2, 0.2, 0.3, -5.0]).torque))
