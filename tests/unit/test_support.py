"""The oracles themselves: a wrong one would hide errors or invent them."""

import numpy as np
import pinocchio as pin
import pytest

from flexjoint.robot.random_robots import random_robot
from support.cases import case_names, load_case, robot_of_case
from support.kinematics import gravity_energy, link_poses
from support.pinocchio_model import pinocchio_mass_matrix, pinocchio_model, pinocchio_order, pinocchio_rnea

ROBOTS = [
    random_robot(n, seed, tree=tree, fixed=0.4, prismatic=0.3)
    for n, seed, tree in [(1, 0, False), (5, 1, False), (6, 2, True), (9, 3, True), (12, 4, True)]
]
IDS = [robot.name for robot in ROBOTS]


def random_motion(robot, seed=0):
    return np.random.default_rng(seed).normal(size=(3, robot.n))


def test_some_tree_is_not_depth_first():
    assert any(np.any(pinocchio_order(robot) != np.arange(robot.n)) for robot in ROBOTS)


@pytest.mark.parametrize("robot", ROBOTS, ids=IDS)
def test_link_frames(robot):
    q, _, _ = random_motion(robot)
    model = pinocchio_model(robot)
    data = model.createData()
    pin.framesForwardKinematics(model, data, q[pinocchio_order(robot)])
    for link, T in zip(robot.links, link_poses(robot, q)):
        np.testing.assert_allclose(data.oMf[model.getFrameId(link.name)].homogeneous, T, atol=1e-13)


@pytest.mark.parametrize("robot", ROBOTS, ids=IDS)
def test_gravity_torques_are_the_gradient_of_the_potential(robot):
    q, _, _ = random_motion(robot)
    h = 1e-5
    slope = [(gravity_energy(robot, q + h * e) - gravity_energy(robot, q - h * e)) / (2 * h) for e in np.eye(robot.n)]
    g = pinocchio_rnea(robot, q, 0 * q, 0 * q)
    np.testing.assert_allclose(g, slope, atol=1e-7 * np.max(np.abs(g)))


@pytest.mark.parametrize("robot", ROBOTS, ids=IDS)
def test_mass_matrix_is_the_derivative_of_the_torques(robot):
    q, v, a = random_motion(robot)
    M = pinocchio_mass_matrix(robot, q)
    change = pinocchio_rnea(robot, q, v, a) - pinocchio_rnea(robot, q, v, 0 * a)
    np.testing.assert_allclose(M @ a, change, atol=1e-11 * np.max(np.abs(M)))


@pytest.mark.parametrize("name", case_names())
def test_cases_become_robots(name):
    case = load_case(name)
    robot = robot_of_case(case, allow_unphysical=name == "mixed003_table1")
    assert "".join(j.kind.letter for j in robot.joints) == case["robot"]["type"]
    assert robot.tool == "tool"


@pytest.mark.parametrize("name", ["modne004_lwr3", "modne004_randRPRPR"])
def test_links_of_a_case_in_pinocchio(name):
    """Robot of the case, our loader and Pinocchio agree with a reference that knows none of them."""
    case = load_case(name)
    robot = robot_of_case(case)
    for q, M, g in zip(case["q"], case["M"], case["g"]):
        np.testing.assert_allclose(pinocchio_mass_matrix(robot, q), M, atol=1e-12 * np.max(np.abs(M)))
        np.testing.assert_allclose(pinocchio_rnea(robot, q, 0 * q, 0 * q), g, atol=1e-12 * np.max(np.abs(g)))
