"""Trajectories along time laws, to any order, against multiprecision arithmetic."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import flexjoint as fj
from support.errors import relative_error

START, GOAL = np.array([0.3, -1.0]), np.array([-0.7, 1.5])
MOTION = fj.trajectory.RestToRest(START, GOAL, 2.0)


def test_a_time_law_of_any_order_against_high_precision():
    """sin(ω s(t)) with s of degree 9, differentiated ten times in 60 digits."""
    law = fj.trajectory.RestToRest([0.2], [1.9], 1.5, smoothness=4)
    motion = fj.trajectory.Sinusoid([1.3], 0.7, 0.4).retimed(law)
    coefficients = [0, 0, 0, 0, 0, 126, -420, 540, -315, 70]  # of the profile of degree 9
    t = np.array([0.1, 0.6, 0.75, 1.3])
    with mpmath.workdps(60):

        def path(x):
            s = 0.2 + mpmath.mpf(1.9 - 0.2) * sum(c * (x / 1.5) ** i for i, c in enumerate(coefficients))
            return mpmath.mpf(1.3) * mpmath.sin(2 * mpmath.pi * mpmath.mpf(0.7) * s + mpmath.mpf(0.4))

        wanted = [[float(c * mpmath.factorial(k)) for k, c in enumerate(mpmath.taylor(path, x, 10))] for x in t]
    stack = motion(t, order=10)[..., 0]
    for k in range(11):
        assert relative_error(stack[k], np.array(wanted)[:, k]) <= 1e-12


def test_a_uniform_law_is_scaling_and_a_backward_one_runs_back():
    back = MOTION.retimed(fj.trajectory.RestToRest([2.0], [0.0], 3.0, smoothness=0))  # smoothness 0: s = 2 − 2t/3
    stack, forth = back(np.linspace(0.1, 2.9, 15), order=4), MOTION(2.0 - np.linspace(0.1, 2.9, 15) * 2 / 3)
    for k in range(5):
        assert np.allclose(stack[k], forth[k] * (-2 / 3) ** k, rtol=1e-11, atol=1e-11)
    assert back.smoothness == 0
    assert back.duration == 3.0


def test_a_swing_that_begins_and_ends_at_rest():
    swing = fj.trajectory.Sinusoid([0.4, 0.2], [0.5, 1.0])
    motion = swing.retimed(fj.trajectory.RestToRest([0.0], [swing.duration], 3.0, smoothness=3))
    assert motion.smoothness == 3
    for t in (0.0, 3.0):
        assert not np.any(motion(t)[1:4])
    assert np.allclose(motion(3.0, order=0), swing(2.0, order=0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MOTION.retimed(MOTION), "the time law has 2 joints"),
        (lambda: MOTION.retimed(lambda t: t), "Retimed takes trajectories, not function"),
    ],
)
def test_bad_time_law_is_refused(make, message):
    with pytest.raises(fj.InputError, match=message):
        make()
