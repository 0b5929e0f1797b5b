"""Trajectories slowed down or sped up."""

from __future__ import annotations

import numpy as np
import pytest

import flexjoint as fj

START, GOAL = np.array([0.3, -1.0]), np.array([-0.7, 1.5])
MOTION = fj.trajectory.RestToRest(START, GOAL, 2.0)
T = np.linspace(0.0, 2.0, 21)


def test_scaling_is_a_longer_motion():
    longer = fj.trajectory.RestToRest(START, GOAL, 5.0)
    for scaled in (MOTION.scaled(2.5), MOTION.lasting(5.0)):
        assert scaled.duration == 5.0
        assert scaled.smoothness == 3
        assert np.allclose(scaled(2.5 * T, order=6), longer(2.5 * T, order=6), rtol=1e-12, atol=1e-12)
    assert np.array_equal(MOTION.scaled(1 / 3)(2 / 3, order=4), MOTION.scaled(1 / 3)(MOTION.scaled(1 / 3).duration))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MOTION.scaled(0.0), "factor is 0.0; it must be a positive number"),
        (lambda: MOTION.lasting(-1.0), "duration is -1.0"),
        (lambda: MOTION.scaled(np.nan), "factor is nan"),
    ],
)
def test_bad_scaling_is_refused(make, message):
    with pytest.raises(fj.InputError, match=message):
        make()
