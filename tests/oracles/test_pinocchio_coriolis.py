"""Coriolis matrices and regressors against Pinocchio, on chains and trees with fixed joints."""

import numpy as np
import pinocchio as pin
import pytest

import flexjoint as fj
from support.errors import relative_error
from support.evaluate import evaluate
from support.marks import some_long
from support.pinocchio_model import pinocchio_coriolis, pinocchio_model

ROBOTS = [
    fj.load("kuka_lwr"),
    fj.load("dlr_lwr3"),
    fj.random_robot(5, 3, prismatic=0.4, name="chain_5"),
    fj.random_robot(8, 2, prismatic=0.3, tree=True, fixed=0.4, name="tree_8"),
    fj.random_robot(30, 3, prismatic=0.2, tree=True, fixed=0.3, name="tree_30"),
    fj.random_robot(30, 4, prismatic=0.2, name="chain_30"),
]
LINKS = [robot for robot in ROBOTS if robot.n < 10 and all(link.joint.moves for link in robot.links)]


def each(robots=ROBOTS):
    return pytest.mark.parametrize("robot", some_long(robots, "chain_30"))


def random_state(robot, count):
    return np.random.default_rng(robot.n).normal(size=(count, robot.n))


@each()
def test_christoffel_is_pinocchios(robot):
    q, v, v_a = random_state(robot, 3)
    C = pinocchio_coriolis(robot, q, v)
    assert relative_error(evaluate(fj.coriolis_matrix, robot, q, v), C) < 1e-13
    assert relative_error(evaluate(fj.coriolis_product, robot, q, v, v_a), C @ v_a) < 1e-12
    assert relative_error(evaluate(fj.coriolis_transpose_product, robot, q, v), C.T @ v) < 1e-12
    assert relative_error(evaluate(fj.mass_matrix_rate, robot, q, v), C + C.T) < 1e-13


@each(LINKS)
def test_regressor_is_pinocchios(robot):
    """Same parameters, same order of parameters."""
    q, v, a = random_state(robot, 3)
    model = pinocchio_model(robot)
    expected = pin.computeJointTorqueRegressor(model, model.createData(), q, v, a)
    assert relative_error(evaluate(fj.regressor, robot, q, v, v, a), expected) < 1e-13
    values = np.concatenate([model.inertias[i].toDynamicParameters() for i in range(1, model.njoints)])
    assert relative_error(fj.dynamics.standard_parameters(robot), values) < 1e-14
