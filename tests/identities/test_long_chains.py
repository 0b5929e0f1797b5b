"""A hundred joints: the cost grows as it should, and the compiler keeps up."""

import time

import numpy as np
import pytest

import flexjoint as fj
from support.errors import relative_error
from support.pinocchio_model import pinocchio_mass_matrix, pinocchio_rnea


def chain(n, elastic=0.0):
    return fj.random_robot(n, 100, prismatic=0.1, elastic=elastic)


def operations(algorithm, robot, **options):
    return algorithm.trace(robot, algorithm.structure(robot, **options))[0].operations


@pytest.mark.parametrize(
    ("algorithm", "options"),
    [(fj.inverse_dynamics, {}), (fj.forward_dynamics, {}), (fj.generalized_momentum, {})],
    ids=["inverse_dynamics", "forward_dynamics", "generalized_momentum"],
)
def test_operations_grow_linearly(algorithm, options):
    """A joint more costs the same in a long chain as in a short one, within what sliding joints save."""
    counts = {n: operations(algorithm, chain(n), **options) for n in (20, 30, 40)}
    each = [(counts[30] - counts[20]) / 10, (counts[40] - counts[30]) / 10]
    assert each[1] == pytest.approx(each[0], rel=0.1)


@pytest.mark.long
def test_operations_of_elastic_joints_grow_linearly():
    counts = {n: operations(fj.inverse_dynamics, chain(n, elastic=1.0)) for n in (10, 25, 40)}
    each = [(counts[25] - counts[10]) / 15, (counts[40] - counts[25]) / 15]
    assert each[1] == pytest.approx(each[0], rel=0.1)


@pytest.mark.long
def test_a_mass_matrix_of_a_hundred_joints():
    robot = chain(100)
    started = time.process_time()
    kernel = fj.compile(fj.mass_matrix, robot)
    assert time.process_time() - started < 60
    q = np.random.default_rng(0).normal(size=100)
    assert relative_error(kernel(q), pinocchio_mass_matrix(robot, q)) < 1e-12


@pytest.mark.long
def test_inverse_dynamics_of_a_hundred_joints():
    robot = chain(100)
    q, v, a = np.random.default_rng(1).normal(size=(3, 100))
    assert relative_error(fj.inverse_dynamics(robot, q, v, a), pinocchio_rnea(robot, q, v, a)) < 1e-12
