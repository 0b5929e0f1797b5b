"""Denavit-Hartenberg chains against homogeneous transforms composed from their definition."""

import math

import numpy as np
import pytest

from flexjoint.drives import ElasticDrive, Motor
from flexjoint.errors import RobotError
from flexjoint.formats.dh import from_dh
from flexjoint.robot import Limits
from flexjoint.robot.random_robots import random_body
from support.kinematics import link_poses, shift, turn

HALF = math.pi / 2


def random_parameters(kinds, seed):
    rng = np.random.default_rng(seed)
    n = len(kinds)
    alpha, theta = rng.uniform(-3, 3, size=(2, n))
    a, d = rng.uniform(-0.5, 0.5, size=(2, n))
    mass, com, inertia = zip(*(random_body(rng) for _ in range(n)))
    return {"alpha": alpha, "a": a, "d": d, "theta": theta, "kinds": kinds}, {
        "mass": mass,
        "com": com,
        "inertia": inertia,
    }


def dh_frames(convention, alpha, a, d, theta, kinds, q):
    """Poses of DH frames 1..N, straight from the definition."""
    T, frames = np.eye(4), []
    for i, kind in enumerate(kinds):
        angle, distance = (theta[i] + q[i], d[i]) if kind == "R" else (theta[i], d[i] + q[i])
        if convention == "standard":
            T = T @ turn("z", angle) @ shift("z", distance) @ shift("x", a[i]) @ turn("x", alpha[i])
        else:
            T = T @ turn("x", alpha[i]) @ shift("x", a[i]) @ turn("z", angle) @ shift("z", distance)
        frames.append(T)
    return frames


@pytest.mark.parametrize("convention", ["standard", "modified"])
@pytest.mark.parametrize("kinds", ["R", "P", "RRR", "PPP", "RPRPR", "PRRPRP", "RRRRRRR"])
def test_bodies_and_tool_follow_the_dh_frames(kinds, convention):
    for seed in range(5):
        geometry, bodies = random_parameters(kinds, seed)
        robot = from_dh("x", **geometry, **bodies, convention=convention)
        q = np.random.default_rng(100 + seed).uniform(-2, 2, size=len(kinds))
        frames = dh_frames(convention, **geometry, q=q)
        poses = link_poses(robot, q)
        np.testing.assert_allclose(poses[-1], frames[-1], atol=1e-14)
        for i, (link, T, F) in enumerate(zip(robot.links, poses, frames)):
            com = F @ [*bodies["com"][i], 1.0]
            inertia = F[:3, :3] @ bodies["inertia"][i] @ F[:3, :3].T
            np.testing.assert_allclose(T @ [*link.com, 1.0], com, atol=1e-14)
            np.testing.assert_allclose(T[:3, :3] @ link.inertia @ T[:3, :3].T, inertia, atol=1e-15)
            assert link.mass == bodies["mass"][i]


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_body_frames_sit_on_their_joint_axes(convention):
    """Moving joint i alone leaves its axis, as a line, where it is."""
    geometry, _ = random_parameters("RPRRP", 7)
    robot = from_dh("x", **geometry, convention=convention)
    q = np.random.default_rng(0).uniform(-1, 1, size=5)
    for i, kind in enumerate(geometry["kinds"]):
        moved = link_poses(robot, q + 0.7 * np.eye(5)[i])[i]
        still = link_poses(robot, q)[i]
        np.testing.assert_allclose(moved[:3, 2], still[:3, 2], atol=1e-14)
        along = 0.7 * still[:3, 2] if kind == "P" else 0.0
        np.testing.assert_allclose(moved[:3, 3], still[:3, 3] + along, atol=1e-14)


@pytest.mark.parametrize(("kind", "before", "after"), [("R", 0.0, 0.5), ("P", 0.5, 0.0)])
def test_the_offset_d_precedes_a_slide_and_follows_a_turn(kind, before, after):
    """The frame of a revolute link is where the DH frame before it is; a sliding one starts at d."""
    robot = from_dh("x", 0.0, 0.3, 0.5, 0.0, kinds=kind)
    link, tool = robot.links
    assert link.joint.position.tolist() == [0.0, 0.0, before]
    assert tool.joint.position.tolist() == [0.3, 0.0, after]


def test_the_two_conventions_describe_the_same_arm():
    """Modified DH is standard DH with α and a moved one row down, up to the last frame."""
    geometry, _ = random_parameters("RRPR", 3)
    alpha, a, d, theta, kinds = geometry.values()
    modified = from_dh("x", [0.0, *alpha[:-1]], [0.0, *a[:-1]], d, theta, kinds=kinds, convention="modified")
    standard = from_dh("x", **geometry)
    q = np.array([0.3, -0.4, 0.2, 1.1])
    F = link_poses(modified, q)[-1] @ shift("x", a[-1]) @ turn("x", alpha[-1])
    np.testing.assert_allclose(F, link_poses(standard, q)[-1], atol=1e-14)


@pytest.mark.parametrize("convention", ["standard", "modified"])
def test_quarter_turns_are_exact(convention):
    angles = [HALF, -HALF, math.pi, 0.0, 3 * HALF, -math.pi]
    robot = from_dh(
        "x", angles, 0.0, 0.5, angles[::-1], convention=convention, mass=1.0, inertia=np.diag([1.0, 2.0, 2.5])
    )
    for link in robot.links:
        assert set(np.unique(link.joint.rotation)) <= {-1.0, 0.0, 1.0}
        assert set(np.unique(np.abs(link.joint.position))) <= {0.0, 0.5}
        assert np.count_nonzero(link.inertia) in (0, 3)


def test_defaults_and_broadcasting():
    robot = from_dh("x", 0.0, 0.3, 0.0, kinds="RRP", mass=2.0, inertia=np.eye(3), com=[0.1, 0.0, 0.0])
    assert robot.n == 3
    assert [x.name for x in robot.links] == ["link1", "link2", "link3", "tool"]
    assert [x.joint.name for x in robot.links] == ["joint1", "joint2", "joint3", "tool_mount"]
    assert [x.mass for x in robot.links] == [2.0, 2.0, 2.0, 0.0]
    assert [x.kind.name for x in robot.joints] == ["revolute", "revolute", "prismatic"]
    assert robot.tool == "tool"
    assert from_dh("x", 0.0, 1.0, 0.0).n == 1
    assert from_dh("x", 0.0, [1.0, 1.0], 0.0).n == 2


def test_joint_data_reach_their_joints():
    drive = ElasticDrive(100.0, Motor(0.1))
    robot = from_dh(
        "x",
        [0.0, 0.0],
        1.0,
        0.0,
        kinds=["revolute", "prismatic"],
        limits=[None, Limits(upper=2.0)],
        drives=[drive, None],
        viscous_friction=[0.5, 0.25],
        coulomb_friction=[0.0, 3.0],
        coulomb_velocity=0.1,
        gravity=[1.0, 2.0, 3.0],
        joint_names=["shoulder", "rail"],
        link_names=["upper", "lower"],
    )
    first, second = robot.joints
    assert (first.name, first.drive, first.viscous_friction, first.limits) == ("shoulder", drive, 0.5, Limits())
    assert (second.name, second.drive, second.viscous_friction, second.limits.upper) == ("rail", None, 0.25, 2.0)
    assert [(j.coulomb_friction, j.coulomb_velocity) for j in (first, second)] == [(0.0, 0.1), (3.0, 0.1)]
    assert [x.parent for x in robot.links] == ["base", "upper", "lower"]
    assert robot.gravity.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"a": [0.1, 0.2]}, ["arm", "a has shape (2,)", "3 joints"]),
        ({"mass": [1.0, 2.0, 3.0, 4.0]}, ["mass", "(4,)"]),
        ({"com": np.zeros((2, 3))}, ["com", "(2, 3)", "(3, 3)"]),
        ({"inertia": np.zeros((3, 3, 2))}, ["inertia", "(3, 3, 2)"]),
        ({"kinds": "RRX"}, ["joint3", "'X'", "P or R"]),
        ({"kinds": ["revolute", "fixed", "revolute"]}, ["joint2", "'fixed'"]),
        ({"kinds": "RRRR", "alpha": [0.0, 0.0, 0.0]}, ["alpha", "4 joints"]),
        ({"theta": [0.0, math.nan, 0.0]}, ["theta", "joint2", "nan"]),
        ({"d": [0.0, 0.0, math.inf]}, ["d of joint 'joint3'", "inf"]),
        ({"alpha": ["a", 0.0, 0.0]}, ["alpha", "numbers"]),
        ({"alpha": [[1.0], 0.0, 0.0]}, ["alpha", "numbers"]),
        ({"convention": "craig"}, ["'craig'", "standard, modified"]),
        ({"drives": [None]}, ["drives", "1 entries", "3 joints"]),
        ({"limits": Limits()}, ["limits", "sequence"]),
        ({"joint_names": ["a"]}, ["joint_names", "1 entries"]),
        ({"alpha": [], "kinds": ""}, ["empty"]),
    ],
)
def test_errors_name_argument_and_joint(changes, words):
    arguments = {"alpha": [0.0, 0.0, 0.0], "a": 0.3, "d": 0.0, **changes}
    with pytest.raises(RobotError) as error:
        from_dh("arm", **arguments)
    for word in words:
        assert word in str(error.value)
