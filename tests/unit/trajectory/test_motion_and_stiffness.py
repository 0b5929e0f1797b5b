"""Stiffnesses over time, from files, texts and numbers, and beside a motion: a column for each joint that has one."""

from __future__ import annotations

import numpy as np
import pytest

import flexjoint as fj

VSA = fj.load("vsa_3r")
MIXED = VSA.with_drives([VSA.joints[0].drive, fj.ElasticDrive(500.0, fj.Motor(1.0)), VSA.joints[2].drive])


@pytest.mark.parametrize("source", ["850", 850.0, 850])
def test_a_number_is_a_constant_of_them_all(source):
    found = fj.trajectory.load_stiffness(source, MIXED, 3.0)
    assert found.n == 2 and found.duration == 3.0
    assert found(1.0, order=2).tolist() == [[850.0, 850.0], [0.0, 0.0], [0.0, 0.0]]


def test_a_ramp_as_in_the_paper():
    """Of degree 3: smoothness 1 is enough, since two derivatives are needed."""
    text = "{kind = 'rest_to_rest', start = 850, goal = [1275, 1000, 900], duration = 4, smoothness = 1}"
    found = fj.trajectory.load_stiffness(text, VSA)
    assert found(0.0, order=2)[2] == pytest.approx(6 * np.array([425.0, 150.0, 50.0]) / 16)
    assert found(4.0, order=0)[0].tolist() == [1275.0, 1000.0, 900.0]


def test_samples_are_in_the_order_of_the_joints(tmp_path):
    t = np.linspace(0.0, 1.0, 50)
    table = np.column_stack([t, 900 + 10 * t, 1000 - 20 * t])
    np.savetxt(tmp_path / "sigma.csv", table, delimiter=",", header="t,joint3,joint1", comments="")
    found = fj.trajectory.load_stiffness(tmp_path / "sigma.csv", MIXED)
    assert found(0.5, order=1) == pytest.approx(np.array([[990.0, 905.0], [-20.0, 10.0]]), rel=1e-6)


@pytest.mark.parametrize(
    ("source", "robot", "words"),
    [
        ("850", fj.load("kuka_lwr"), "kuka_lwr has no joint whose stiffness could be set"),
        ("{kind = 'rest_to_rest', goal = [1, 2, 3], duration = 1}", MIXED, "one number for all joints or 2"),
        ("{kind = 'rest_to_rest', goal_deg = 3, duration = 1}", VSA, "goal_deg"),
        ("{kind = 'rest_to_rest', goal = 900, duration = 1, smoothness = 0}", VSA, "not smooth enough"),
        (-850.0, VSA, "source is -850.0; it must be a positive number, in Nm/rad or N/m"),
        ("nan", VSA, "source is nan"),
        ("sigma.txt", VSA, "a stiffness is a .toml, .csv or .npz file"),
    ],
)
def test_mistakes_are_named(source, robot, words):
    with pytest.raises(fj.InputError, match=words):
        fj.trajectory.load_stiffness(source, robot)


# Beside a motion --------------------------------------------------------------------------------------------------

MOTION = fj.trajectory.RestToRest(np.zeros(3), np.ones(3), 2.0)
RAMP = fj.trajectory.RestToRest([850.0, 900.0], [1275.0, 1000.0], 1.0, smoothness=1)


def test_columns_of_the_motion_then_of_the_stiffness():
    both = fj.trajectory.MotionAndStiffness(MOTION, RAMP)
    t = np.array([0.3, 0.9, 1.5])
    assert both.n == 5 and both.duration == 2.0 and both.smoothness == 3
    found = both(t)
    assert np.array_equal(found[..., :3], MOTION(t)) and np.array_equal(found[:3, :, 3:], RAMP(t, order=2))
    assert not np.any(found[3:, :, 3:])
    assert np.array_equal(both(0.3, order=1), found[:2, 0])


def test_what_is_too_rough_is_named():
    rough = fj.trajectory.MotionAndStiffness(MOTION, fj.trajectory.RestToRest([850.0], [900.0], 1.0, smoothness=0))
    with pytest.raises(fj.InputError, match="stiffness: give smoothness=1 or more"):
        fj.trajectory.require_smoothness(rough, 4)
    rough = fj.trajectory.MotionAndStiffness(fj.trajectory.RestToRest(np.zeros(3), np.ones(3), 2.0, smoothness=2), RAMP)
    with pytest.raises(fj.InputError, match="motion: give smoothness=3 or more"):
        fj.trajectory.require_smoothness(rough, 4)
    with pytest.raises(fj.InputError, match="MotionAndStiffness takes trajectories"):
        fj.trajectory.MotionAndStiffness(MOTION, 850.0)
