"""Motion, wrenches and the pose of a base side by side."""

import numpy as np
import pytest

import flexjoint as fj

MOTION = fj.trajectory.RestToRest([0.0] * 2, [0.5, 1.0], duration=2.0)
PUSH = fj.trajectory.Sinusoid([5.0] * 6, 1.0)
STEPS = fj.trajectory.Samples(np.linspace(0.0, 2.0, 9), np.random.default_rng(0).normal(size=(9, 6)), order=2)


def test_columns():
    t = np.linspace(0.0, 2.0, 5)
    both = fj.trajectory.MotionAndSurroundings(MOTION, [PUSH], PUSH)
    found = both(t, 4)
    assert (both.n, both.duration, both.smoothness) == (14, 2.0, MOTION.smoothness)
    np.testing.assert_array_equal(found[..., :2], MOTION(t, 4))
    np.testing.assert_array_equal(found[:3, :, 2:8], PUSH(t, 2))
    np.testing.assert_array_equal(found[3:, :, 2:8], 0.0)
    np.testing.assert_array_equal(found[..., 8:], PUSH(t, 4))


def test_smoothness_and_remedy():
    """A wrench needs two derivatives less than the motion, a base as many."""
    assert fj.trajectory.MotionAndSurroundings(PUSH, [STEPS]).smoothness == STEPS.smoothness + 2
    rough = fj.trajectory.MotionAndSurroundings(MOTION, base=STEPS)
    with pytest.raises(fj.InputError, match=r"not smooth enough.*base: "):
        fj.trajectory.require_smoothness(rough, 4)


def test_refused():
    with pytest.raises(fj.InputError, match="base has 2 columns; it must have 6"):
        fj.trajectory.MotionAndSurroundings(MOTION, base=MOTION)
    with pytest.raises(fj.InputError, match="takes trajectories, not"):
        fj.trajectory.MotionAndSurroundings(MOTION, [np.zeros(6)])
