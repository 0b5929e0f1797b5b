"""Motions made of motions: scaling, time laws of any order, one after another."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

import flexjoint as fj
from support.errors import relative_error

START, GOAL = np.array([0.3, -1.0]), np.array([-0.7, 1.5])
MOTION = fj.RestToRest(START, GOAL, 2.0)
T = np.linspace(0.0, 2.0, 21)


def test_scaling_is_a_longer_motion():
    longer = fj.RestToRest(START, GOAL, 5.0)
    for scaled in (MOTION.scaled(2.5), MOTION.lasting(5.0)):
        assert scaled.duration == 5.0
        assert scaled.smoothness == 3
        assert np.allclose(scaled(2.5 * T, order=6), longer(2.5 * T, order=6), rtol=1e-12, atol=1e-12)
    assert np.array_equal(MOTION.scaled(1 / 3)(2 / 3, order=4), MOTION.scaled(1 / 3)(MOTION.scaled(1 / 3).duration))


def test_a_time_law_of_any_order_against_high_precision():
    """sin(ω s(t)) with s of degree 9, differentiated ten times in 60 digits."""
    law = fj.RestToRest([0.2], [1.9], 1.5, smoothness=4)
    motion = fj.Sinusoid([1.3], 0.7, 0.4).retimed(law)
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
    back = MOTION.retimed(fj.RestToRest([2.0], [0.0], 3.0, smoothness=0))  # smoothness 0: s = 2 − 2t/3
    stack, forth = back(np.linspace(0.1, 2.9, 15), order=4), MOTION(2.0 - np.linspace(0.1, 2.9, 15) * 2 / 3)
    for k in range(5):
        assert np.allclose(stack[k], forth[k] * (-2 / 3) ** k, rtol=1e-11, atol=1e-11)
    assert back.smoothness == 0
    assert back.duration == 3.0


def test_a_swing_that_begins_and_ends_at_rest():
    swing = fj.Sinusoid([0.4, 0.2], [0.5, 1.0])
    motion = swing.retimed(fj.RestToRest([0.0], [swing.duration], 3.0, smoothness=3))
    assert motion.smoothness == 3
    for t in (0.0, 3.0):
        assert not np.any(motion(t)[1:4])
    assert np.allclose(motion(3.0, order=0), swing(2.0, order=0))


def test_one_after_another():
    back = fj.RestToRest(GOAL, START, 1.0, smoothness=5)
    joined = MOTION.then(back, MOTION)
    assert joined.duration == 5.0
    assert joined.smoothness == 3
    t = np.array([-1.0, 0.5, 1.9, 2.3, 2.999, 3.0, 4.5, 5.0, 9.0])
    wanted = [MOTION(-1.0), MOTION(0.5), MOTION(1.9), back(0.3), back(0.999), MOTION(0.0), MOTION(1.5), MOTION(2.0)]
    assert np.allclose(joined(t), np.stack([*wanted, MOTION(9.0)], axis=1), rtol=1e-9, atol=1e-12)


def test_smoothness_at_the_joint_is_found():
    wave = fj.Sinusoid([1.0], 0.5, duration=0.7)
    again = fj.Sinusoid([1.0], 0.5, 2 * np.pi * 0.5 * 0.7)
    assert wave.then(again).smoothness == 20  # as far as it is looked
    kink = fj.Sinusoid([2.0], 0.25, phase=np.pi / 2, duration=1.0)  # at 2, velocity 0, acceleration −
    assert fj.RestToRest([0.0], [2.0], 1.0, smoothness=6).then(kink).smoothness == 1


def test_samples_can_be_joined():
    t = np.linspace(0.0, 1.0, 30)
    first = fj.Samples(t, (t**3)[:, None])
    second = fj.Samples(t, (1 + 3 * t)[:, None])
    joined = first.then(second)
    assert joined.smoothness == 1
    assert joined(2.0, order=0)[0, 0] == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MOTION.scaled(0.0), "factor is 0.0; it must be a positive number"),
        (lambda: MOTION.lasting(-1.0), "duration is -1.0"),
        (lambda: MOTION.scaled(np.nan), "factor is nan"),
        (lambda: MOTION.retimed(MOTION), "the time law has 2 joints"),
        (lambda: MOTION.retimed(lambda t: t), "Retimed takes trajectories, not function"),
        (lambda: MOTION.then(MOTION), "joint 2 is at 1.5 at the end of trajectory 1 and at -1.0 at the beginning"),
        (lambda: MOTION.then(fj.RestToRest([0.0], [1.0], 1.0)), r"trajectories of \[2, 1\] joints"),
        (lambda: fj.Joined(()), "give one or more"),
        (lambda: MOTION.then(3), "Joined takes trajectories, not int"),
    ],
)
def test_bad_input_is_refused(make, message):
    with pytest.raises(fj.InputError, match=message):
        make()
