"""Trajectories one after another, and their smoothness where they meet."""

from __future__ import annotations

import numpy as np
import pytest

import flexjoint as fj

START, GOAL = np.array([0.3, -1.0]), np.array([-0.7, 1.5])
MOTION = fj.trajectory.RestToRest(START, GOAL, 2.0)


def test_one_after_another():
    back = fj.trajectory.RestToRest(GOAL, START, 1.0, smoothness=5)
    joined = MOTION.then(back, MOTION)
    assert joined.duration == 5.0
    assert joined.smoothness == 3
    t = np.array([-1.0, 0.5, 1.9, 2.3, 2.999, 3.0, 4.5, 5.0, 9.0])
    wanted = [MOTION(-1.0), MOTION(0.5), MOTION(1.9), back(0.3), back(0.999), MOTION(0.0), MOTION(1.5), MOTION(2.0)]
    assert np.allclose(joined(t), np.stack([*wanted, MOTION(9.0)], axis=1), rtol=1e-9, atol=1e-12)


def test_smoothness_at_the_joint_is_found():
    wave = fj.trajectory.Sinusoid([1.0], 0.5, duration=0.7)
    again = fj.trajectory.Sinusoid([1.0], 0.5, 2 * np.pi * 0.5 * 0.7)
    assert wave.then(again).smoothness == 20  # as far as it is looked
    kink = fj.trajectory.Sinusoid([2.0], 0.25, phase=np.pi / 2, duration=1.0)  # at 2, velocity 0, acceleration −
    assert fj.trajectory.RestToRest([0.0], [2.0], 1.0, smoothness=6).then(kink).smoothness == 1


def test_samples_can_be_joined():
    t = np.linspace(0.0, 1.0, 30)
    first = fj.trajectory.Samples(t, (t**3)[:, None])
    second = fj.trajectory.Samples(t, (1 + 3 * t)[:, None])
    joined = first.then(second)
    assert joined.smoothness == 1
    assert joined(2.0, order=0)[0, 0] == pytest.approx(4.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MOTION.then(MOTION), "joint 2 is at 1.5 at the end of trajectory 1 and at -1.0 at the start"),
        (lambda: MOTION.then(fj.trajectory.RestToRest([0.0], [1.0], 1.0)), r"trajectories of \[2, 1\] joints"),
        (lambda: fj.trajectory.Joined(()), "give one or more"),
        (lambda: MOTION.then(3), "Joined takes trajectories, not int"),
    ],
)
def test_bad_sequence_is_refused(make, message):
    with pytest.raises(fj.InputError, match=message):
        make()
