"""Small MJCF files against MuJoCo itself; those of two packages: tests/mjcf_packages.py."""

from __future__ import annotations

from pathlib import Path

import mujoco
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.formats import parse_mjcf, parse_urdf, read_mjcf
from support.evaluate import evaluate
from support.mjcf_models import MujocoModel, compare

FILES = Path(__file__).parents[1] / "data" / "mjcf"


@pytest.mark.parametrize("name", ["reference", "anchors", "actuators", "geoms"])
def test_torques_inertias_and_poses(name):
    found = read_mjcf(FILES / f"{name}.xml")
    errors = compare(mujoco.MjModel.from_xml_path(str(FILES / f"{name}.xml")), found.robot, found.root)
    assert found.root == "world" and errors.worst < 1e-12, errors


def test_a_root_keeps_gravity_and_its_frame():
    """Fixed in the pose of the file, a body below the world feels gravity in its own frame."""
    model = mujoco.MjModel.from_xml_path(str(FILES / "reference.xml"))
    found = read_mjcf(FILES / "reference.xml", root="boom", tip="slider")
    assert [x.name for x in found.robot.joints] == ["reach"] and found.root == "boom"
    assert compare(model, found.robot, found.root).worst < 1e-12


def test_locked_joints_stand_where_they_are_locked():
    found = read_mjcf(FILES / "anchors.xml", locked={"roll": 0.4, "pump": -0.03})
    model = mujoco.MjModel.from_xml_path(str(FILES / "anchors.xml"))
    assert found.robot.n == 4 and compare(model, found.robot).worst < 1e-12
    elsewhere = read_mjcf(FILES / "anchors.xml", locked={"roll": -0.7}).robot
    oracle = MujocoModel(model, elsewhere)
    oracle.place(*np.zeros((3, elsewhere.n)))
    oracle.data.qpos[model.joint("roll").qposadr] = -0.7
    mujoco.mj_inverse(model, oracle.data)
    assert oracle.pose_error(np.zeros(elsewhere.n), "world") < 1e-12


def test_a_site_as_tool():
    robot = read_mjcf(FILES / "reference.xml", tool="tip").robot
    model = mujoco.MjModel.from_xml_path(str(FILES / "reference.xml"))
    data, q = mujoco.MjData(model), np.array([0.3, -0.4, 0.2])
    data.qpos[:] = q
    mujoco.mj_kinematics(model, data)
    R, p = (np.asarray(x) for x in evaluate(lambda robot, q: fj.forward_kinematics(robot, q), robot, q))
    assert robot.tool == "tip"
    np.testing.assert_allclose(p.ravel(), data.site("tip").xpos, atol=1e-15)
    np.testing.assert_allclose(R, data.site("tip").xmat.reshape(3, 3), atol=1e-15)


def test_free_joints_are_locked_in_the_pose_of_the_file():
    xml = """<mujoco><worldbody><body name="torso" pos="0 0 1" euler="30 40 50"><freejoint name="float"/>
        <geom size="0.1"/><body name="leg" pos="0 0 -0.2"><joint name="hinge" axis="1 0 0"/>
        <geom size="0.05" pos="0 0 -0.1"/></body></body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(xml)
    for options in ({"locked": ["float"]}, {"root": "torso"}):
        found = parse_mjcf(xml.encode(), "float.xml", **options)
        assert compare(model, found.robot, found.root).worst < 1e-12


def test_the_same_robot_by_urdf_and_mjcf():
    numbers = [
        ("one", "z1", (0.1, 0.2, 0.3), (0.1, -0.2, 0.3), (0, 0, 1), 3.0, (0.01, 0.02, 0.1), (0.03, 0.04, 0.05), 0.2, 1),
        ("two", "z2", (0.0, 0.1, 0.4), (1.0, 0.5, -0.3), (1, 2, 2), 2.0, (0.05, 0, 0.1), (0.02, 0.03, 0.03), 0.0, 0.3),
        ("three", "z3", (0.2, 0, 0.1), (0, 0, 1.1), (0, 1, 0), 1.0, (0.02, 0, 0.03), (0.01, 0.01, 0.01), 0.5, 0.0),
    ]

    def words(x):
        return " ".join(map(repr, x))

    urdf = '<robot name="r"><link name="world"/>'
    mjcf = '<mujoco model="r"><compiler angle="radian" eulerseq="XYZ"/><worldbody>'
    parent, kinds = "world", ("revolute", "prismatic", "revolute")
    for (link, joint, xyz, rpy, axis, m, com, (ixx, iyy, izz), damping, rotor), kind in zip(numbers, kinds):
        urdf += f"""<link name="{link}"><inertial><origin xyz="{words(com)}"/><mass value="{m}"/>
            <inertia ixx="{ixx}" iyy="{iyy}" izz="{izz}" ixy="0.001"/></inertial></link>
            <joint name="{joint}" type="{kind}"><parent link="{parent}"/><child link="{link}"/>
            <origin xyz="{words(xyz)}" rpy="{words(rpy)}"/><axis xyz="{words(axis)}"/>
            <limit lower="-1" upper="1" effort="5" velocity="1"/><dynamics damping="{damping}"/></joint>
            <transmission name="t{joint}"><joint name="{joint}"/><actuator name="a{joint}">
            <mechanicalReduction>10</mechanicalReduction><motorInertia>{rotor / 100}</motorInertia></actuator>
            </transmission>"""
        mjcf += f"""<body name="{link}" pos="{words(xyz)}" euler="{words(rpy)}"><joint name="{joint}"
            type="{'slide' if kind == 'prismatic' else 'hinge'}" axis="{words(axis)}" range="-1 1" damping="{damping}"
            armature="{rotor}"/><inertial pos="{words(com)}" mass="{m}" fullinertia="{ixx} {iyy} {izz} 0.001 0 0"/>"""
        parent = link
    mjcf += "</body>" * len(numbers) + "</worldbody></mujoco>"
    one = parse_urdf(f"{urdf}</robot>".encode(), "r.urdf").robot
    two = parse_mjcf(mjcf.encode(), "r.xml").robot
    q, v, a = np.random.default_rng(3).normal(size=(3, 3))
    expected = np.asarray(evaluate(fj.inverse_dynamics, one, q, v, a))
    found = np.asarray(evaluate(fj.inverse_dynamics, two, q, v, a))
    assert np.max(np.abs(found - expected)) < 1e-12 * np.max(np.abs(expected))
    assert [x.name for x in one.links] == [x.name for x in two.links]
