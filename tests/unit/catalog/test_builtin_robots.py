"""The robots of the papers are the papers' tables, as the reference cases hold them."""

import dataclasses

import numpy as np
import pytest

from flexjoint.catalog import builtin_robots
from flexjoint.drives import ElasticDrive, Motor, RigidDrive
from flexjoint.dynamics.inertia import mass_matrix
from flexjoint.dynamics.recursion.kinematics import forward_kinematics
from flexjoint.formats import load
from flexjoint.robot import Robot
from support.cases import load_case, robot_of_case
from support.evaluate import evaluate
from support.paper_robots import PAPER_ROBOTS
from support.pinocchio_model import pinocchio_mass_matrix

CASE_OF = {
    "kuka_lwr": "ejnea_lwr",
    "vsa_3r": "vsa_table1_cubic",
    "hua_3r": "mixed003_table1",
}
LWR_MOTORS = [3.20, 3.05, 1.98, 2.06, 0.801, 0.48, 0.381]


def assert_same_links(robot: Robot, expected: Robot, rtol: float) -> None:
    assert len(robot.links) == len(expected.links)
    for link, wanted in zip(robot.links, expected.links):
        for x, y in ((link, wanted), (link.joint, wanted.joint)):
            for field in dataclasses.fields(x):
                value, goal = getattr(x, field.name), getattr(y, field.name)
                if isinstance(goal, np.ndarray | float):
                    np.testing.assert_allclose(value, goal, rtol=rtol, atol=0, err_msg=f"{link.name} {field.name}")
                elif field.name in ("name", "kind", "parent", "limits"):
                    assert value == goal


def test_every_robot_has_a_case():
    """But those whose links are chosen: `test_uniform_links_of_dlr_lwr3`, `papers/test_paper_001.py`."""
    assert set(PAPER_ROBOTS) == {*CASE_OF, "dlr_lwr3", "dlr_lbr2"}


@pytest.mark.parametrize("name", CASE_OF)
def test_links_are_those_of_the_case(name):
    robot = load(name)
    expected = robot_of_case(load_case(CASE_OF[name]), allow_unphysical=name == "hua_3r")
    assert robot.name == name
    assert_same_links(robot, expected, rtol=4e-16 if name == "kuka_lwr" else 0)  # the case has 2.6958 / 100
    assert np.array_equal(robot.gravity, expected.gravity)


def test_uniform_links_of_dlr_lwr3():
    """Table I as the case has it; stretched out at q = 0, cylinders along the arm, a ball, and a cylinder across."""
    robot, case = load("dlr_lwr3"), robot_of_case(load_case("modne004_lwr3"))
    for joint, wanted in zip(robot.joints, case.joints):
        assert np.array_equal(joint.position, wanted.position) and np.array_equal(joint.rotation, wanted.rotation)
    centres = [(0, 0, 0.1), (0, 0, 0.3), (0, 0, 0.5), (0, 0, 0.7), (0, 0, 0.9), (0, 0, 1.0), (0.04, 0, 1.0)]
    along, ball, across = [0.06**2 / 4, 0.06**2 / 4, 0.2**2 / 12], 3 * [0.06**2 / 5], [0.08**2 / 12, 4e-4, 4e-4]
    for link, centre, moments in zip(robot.links, centres, [*5 * [along], ball, across]):
        R, p = evaluate(forward_kinematics, robot, np.zeros(7), link=link.name)
        np.testing.assert_allclose(p + R @ link.com, centre, atol=1e-15)
        expected = link.mass * np.diag(sum(moments) - np.array(moments))  # from mean squares of the coordinates
        np.testing.assert_allclose(R @ link.inertia @ R.T, expected, rtol=1e-12, atol=1e-18)


def test_only_the_published_unphysical_inertias_are_let_through():
    assert [name for name in builtin_robots() if load(name).allow_unphysical] == ["hua_3r"]


def test_drives():
    assert [j.drive for j in load("kuka_lwr").joints] == [ElasticDrive(1000.0, Motor(b)) for b in LWR_MOTORS]
    assert [j.drive for j in load("kuka_lwr").joints] == [j.drive for j in robot_of_case(load_case("ejnea_lwr")).joints]
    assert [j.drive for j in load("dlr_lwr3").joints] == [RigidDrive(Motor(b)) for b in LWR_MOTORS]
    case = robot_of_case(load_case("vsa_table1_cubic"))
    assert [j.drive for j in load("vsa_3r").joints] == [j.drive for j in case.joints]


def test_rotors_of_hua_3r():
    """Those of the case, about whose links nothing else is known; the coupled mass matrix depends on all of them."""
    case = load_case("mixed003_table1")
    robot = load("hua_3r").with_fidelity("complete")
    assert robot.compliant == tuple(case["elastic"].tolist())
    assert robot.joints[2].drive.stiffness == 100.0
    for joint, rotor in zip(robot.joints, case["robot"]["rotors"]):
        motor = joint.drive.motor
        assert motor.inertia == pytest.approx(rotor["eta"] ** 2 * rotor["Iax"], rel=1e-15)
        assert (motor.gear_ratio, motor.mass, motor.transverse_inertia) == (rotor["eta"], rotor["m"], rotor["Itr"])
    for q, A in zip(case["q"], case["A"]):
        np.testing.assert_allclose(evaluate(mass_matrix, robot, q, motors=True), A, rtol=0, atol=1e-14)


def test_mass_matrix_of_the_kuka_lwr():
    case = load_case("fblin_lwr")
    for q, M in zip(case["q"], case["M"]):
        np.testing.assert_allclose(pinocchio_mass_matrix(load("kuka_lwr"), q), M, atol=1e-14)


@pytest.mark.parametrize("name", PAPER_ROBOTS)
def test_quarter_turns_are_structural(name):
    for link in load(name).links:
        assert set(np.unique(link.joint.rotation)) <= {-1.0, 0.0, 1.0}
