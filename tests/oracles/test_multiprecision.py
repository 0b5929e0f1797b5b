"""Compiled kernels against 200-bit arithmetic: how much of a double's accuracy is left."""

import mpmath
import numpy as np
import pytest

import flexjoint as fj
from support.cases import load_case, robot_of_case
from support.errors import recorded, relative_error
from support.marks import some_long
from support.multiprecision import PRECISION, link_torques, motor_torques, normwise_error

TOLERANCE = 1e-14
STATES = 30
LWR = fj.load("kuka_lwr")


def test_the_reference_agrees_with_the_cases():
    """... which come from elsewhere, to the digits they have."""
    case = load_case("ejnea_randRP4")
    robot = robot_of_case(case)
    for b in range(2):
        stack = case["D"][:, b]
        with mpmath.workprec(PRECISION):
            found = link_torques(robot, stack, 2)
        for row, key in zip(found, ("tau_e", "tau_e_d", "tau_e_dd")):
            assert relative_error([float(x) for x in row], case[key][b]) < 1e-12
        assert relative_error([float(x) for x in motor_torques(robot, stack)], case["tau"][b]) < 1e-12


ROBOTS = {
    "lwr_links": (LWR.without_drives(), 3),
    "lwr_rigid": (LWR.rigid(), 3),
    "lwr_elastic": (LWR, 5),
    "random_rigid": (fj.random_robot(5, 3, prismatic=0.4, friction=True), 3),
    "random_elastic": (fj.random_robot(5, 3, prismatic=0.4, elastic=1.0, friction=True), 5),
}


@pytest.mark.parametrize(("robot", "arrays"), some_long(ROBOTS, "lwr_rigid", "random_rigid", "random_elastic"))
def test_inverse_dynamics(robot, arrays):
    rng = np.random.default_rng(11)
    kernel = fj.compile(fj.inverse_dynamics, robot)
    assert len(kernel.inputs) == arrays
    worst = 0.0
    for _ in range(STATES):
        stack = rng.normal(size=(arrays, robot.n))
        stack[0] = rng.uniform(-np.pi, np.pi, robot.n)
        worst = max(worst, normwise_error(kernel(*stack), motor_torques(robot, stack)))
    assert recorded(worst) < TOLERANCE


def test_the_random_chain_has_both_kinds_of_joints():
    assert {joint.kind.name for joint in fj.random_robot(5, 3, prismatic=0.4).joints} == {"revolute", "prismatic"}
