"""Overviews of robots, against closed forms and Pinocchio."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.analysis import robot_overview

URDF = Path(__file__).parents[2] / "data" / "urdf"
BODY = {"mass": 2.0, "com": [0.3, 0.0, 0.0], "inertia": np.diag([0.02, 0.04, 0.05])}


def one_joint(drive, **more):
    return fj.Robot("one", (fj.Link("arm", fj.Joint("hinge", drive=drive, **more), **BODY),))


def test_the_eigenfrequency_of_one_joint():
    """ω² = K (1/M + 1/B), M = I_zz + m c², the same everywhere."""
    K, B, M = 500.0, 0.4, 0.05 + 2.0 * 0.3**2
    found = robot_overview(one_joint(fj.ElasticDrive(K, fj.Motor(B)))).frequencies
    wanted = math.sqrt(K * (1 / M + 1 / B))
    assert np.concatenate(found[:3]) == pytest.approx([wanted] * 3, rel=1e-12)
    assert found.configurations > 10


def test_gear_losses_do_not_enter_eigenfrequencies():
    worn = fj.ElasticDrive(500.0, fj.Motor(0.4), hysteresis=fj.drives.Dahl(2.0, 300.0), backlash=1e-3)
    smooth = fj.ElasticDrive(500.0, fj.Motor(0.4))
    frequencies = [robot_overview(one_joint(drive)).frequencies.at_zero for drive in (worn, smooth)]
    assert np.array_equal(*frequencies)


def test_frequencies_within_the_limits():
    """Two joints, closed form of the second one's inertia; joint 2 may only move by ±0.1 rad around 1 rad."""
    drive, limits = fj.ElasticDrive(500.0, fj.Motor(0.4)), fj.Limits(0.9, 1.1)
    links = (
        fj.Link("a", fj.Joint("one"), **BODY),
        fj.Link("b", fj.Joint("two", position=[0.5, 0, 0], limits=limits, drive=drive), "a", **BODY),
    )
    found = robot_overview(fj.Robot("two", links)).frequencies

    def frequency(angle):
        c = math.cos(angle)
        M22 = 0.05 + 2 * 0.3**2
        M12 = M22 + 2 * 0.5 * 0.3 * c
        M11 = 0.05 + 2 * 0.3**2 + M22 + 2 * (0.5**2 + 2 * 0.5 * 0.3 * c)
        return math.sqrt(500.0 * (1 / (M22 - M12**2 / M11) + 1 / 0.4))

    low, high = sorted([frequency(0.9), frequency(1.1)])
    assert found.at_zero[0] == pytest.approx(frequency(0.0), rel=1e-12)
    assert low <= found.least[0] < found.greatest[0] <= high
    assert found.greatest[0] - found.least[0] > 0.8 * (high - low)


@pytest.mark.parametrize("name", ["tree.urdf", "rotated.urdf", "motors.urdf", "gripper.urdf"])
@pytest.mark.filterwarnings("ignore::flexjoint.FlexjointWarning")
def test_poses_and_centre_of_mass_against_pinocchio(name):
    pinocchio = pytest.importorskip("pinocchio")
    model = pinocchio.buildModelFromXML((URDF / name).read_text())
    data, q = model.createData(), pinocchio.neutral(model)
    if name == "gripper.urdf":
        q[model.joints[model.getJointId("thumb_joint")].idx_q] = 0.1  # 20 · right + 0.1
    pinocchio.framesForwardKinematics(model, data, q)
    found = robot_overview(fj.load(URDF / name))
    placed = [(model.getFrameId(x.name, pinocchio.FrameType.BODY), at) for x, at in zip(found.robot.links, found[3])]
    known = [(data.oMf[k], at) for k, at in placed if k < model.nframes]  # a link 'base' had to be renamed
    assert len(known) >= found.robot.n
    for frame, at in known:
        assert at.position == pytest.approx(frame.translation, abs=1e-14)
        assert at.rotation == pytest.approx(frame.rotation, abs=1e-14)
    assert found.centre_of_mass == pytest.approx(pinocchio.centerOfMass(model, data, q), abs=1e-14)


def test_orders():
    motor = fj.Motor(0.4)
    drives = [fj.RigidDrive(motor), fj.ElasticDrive(80.0, motor), fj.ElasticDrive(80.0, motor, damping=2.0)]
    assert [robot_overview(one_joint(drive)).orders for drive in drives] == [(2,), (4,), (3,)]
    assert robot_overview(fj.load("hua_3r")).orders == (2, 2, 4)


def test_what_there_is_not():
    rigid = robot_overview(one_joint(None))
    assert rigid.frequencies is None and rigid.frequency_note == "" and rigid.stiffness is None
    variable = robot_overview(fj.load("vsa_3r"))
    assert variable.frequencies is None and "second motors" in variable.frequency_note
    assert variable.stiffness.lower == pytest.approx([800.0] * 3)  # two springs of 400 Nm/rad
    frame = robot_overview(fj.Robot("frame", (fj.Link("tool", fj.Joint("mount", "fixed")),)))
    assert frame.mass == 0 and frame.centre_of_mass is None and frame.orders == ()
    long = robot_overview(fj.random_robot(31, seed=1).with_drives([fj.ElasticDrive(100.0, fj.Motor(1.0))] * 31))
    assert long.frequencies is None and "31 joints" in long.frequency_note
    with pytest.raises(fj.InputError, match="robot_overview"):
        robot_overview("kuka_lwr")
