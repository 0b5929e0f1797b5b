"""All Coriolis matrices with C v = c and Ṁ = C + Cᵀ: Christoffel's plus a totally antisymmetric tensor, no others."""

from itertools import combinations
from math import comb

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.spatial import time_derivative
from papers.two_velocity_recursions import by_sweeps
from support.errors import relative_error
from support.evaluate import evaluate
from support.pinocchio_model import pinocchio_coriolis

ROBOTS = [
    fj.random_robot(3, 1, prismatic=0.0, name="turning_3"),
    fj.random_robot(5, 8, prismatic=0.4, friction=True, name="chain_5"),
    fj.random_robot(7, 3, prismatic=0.3, tree=True, fixed=0.4, name="tree_7"),
    fj.load("dlr_lwr3"),
]
factorization, parameters = fj.dynamics.coriolis_factorization, fj.dynamics.factorization_parameters


def each():
    return pytest.mark.parametrize("robot", ROBOTS, ids=[robot.name for robot in ROBOTS])


def random_omega(n, seed=0):
    return np.random.default_rng(seed).normal(size=comb(n, 3))


@each()
def test_every_omega_is_admissible(robot):
    q, v = np.random.default_rng(robot.n).normal(size=(2, robot.n))
    omega = random_omega(robot.n)
    rate = evaluate(lambda r, q, v: time_derivative(fj.mass_matrix(r, q), [q, v]), robot, q, v)
    C = evaluate(factorization, robot, q, v, omega)
    assert relative_error(C + C.T, rate) < 1e-12
    assert relative_error(C @ v, evaluate(fj.coriolis_torque, robot, q, v)) < 1e-12
    assert relative_error(C, evaluate(fj.coriolis_matrix, robot, q, v)) > 0.1


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_there_are_no_others(n):
    """Of the n³ numbers of a tensor the two conditions leave n(n − 1)(n − 2)/6, and those are ours."""
    conditions = []
    for i, j, k in np.ndindex(n, n, n):
        for other in ((j, i, k), (i, k, j)):  # A + Aᵀ = 0, and Σ A_ijk v_j v_k = 0 for every v
            row = np.zeros((n, n, n))
            row[i, j, k] += 1
            row[other] += 1
            conditions.append(row.ravel())
    _, sizes, directions = np.linalg.svd(np.array(conditions))
    free = directions[np.sum(sizes > 1e-9) :]
    assert len(free) == comb(n, 3)
    if n < 3:
        return
    robot = fj.random_robot(n, n, prismatic=0.3)
    q, v = np.random.default_rng(n).normal(size=(2, n))
    tensor = (np.random.default_rng(1).normal(size=len(free)) @ free).reshape(n, n, n)  # a random admissible one
    omega = np.array([tensor[triple] for triple in combinations(range(n), 3)])
    expected = pinocchio_coriolis(robot, q, v) + tensor @ v
    assert relative_error(evaluate(factorization, robot, q, v, omega), expected) < 1e-12


@each()
@pytest.mark.parametrize("variant", ["0001", "1110"])
def test_the_papers_two(robot, variant):
    """Against the printed recursions, one sweep per column."""
    q, v = np.random.default_rng(robot.n).normal(size=(2, robot.n))
    omega = np.atleast_1d(evaluate(parameters, robot, q, variant=variant)).ravel()
    found = evaluate(factorization, robot, q, v, omega)
    assert relative_error(found, evaluate(by_sweeps, robot, q, v, variant=variant)) < 1e-12
    mirrored = np.atleast_1d(evaluate(parameters, robot, q, variant="1110" if variant == "0001" else "0001")).ravel()
    assert np.array_equal(omega, -mirrored) and np.abs(omega).max() > 1e-3


def test_kernels():
    """From Python, in batches, and for robots with no triple of joints."""
    q, v = np.random.default_rng(0).normal(size=(2, 4, 3))
    robot = ROBOTS[0]
    omega = parameters(robot, q)
    assert omega.shape == (4, 1)
    C = factorization(robot, q, v, omega)
    np.testing.assert_allclose(C, fj.coriolis_matrix(robot, q, v, variant="0001"), rtol=0, atol=1e-12)
    two = fj.random_robot(2, 1)
    assert parameters(two, q[:, :2]).shape == (4, 0)
    found = factorization(two, q[0, :2], v[0, :2], np.zeros(0))
    np.testing.assert_allclose(found, fj.coriolis_matrix(two, q[0, :2], v[0, :2]), rtol=0, atol=1e-13)


def test_robots_without_freedom_in_the_papers_two():
    """Parallel axes: no body turns about three independent axes, and all three matrices are equal  [DeLuca sec. IV]."""
    bodies = {"mass": 1.0, "com": [-0.2, 0.1, 0.05], "inertia": np.diag([0.03, 0.02, 0.04])}
    scara = fj.from_dh("scara", np.zeros(4), [0.4, 0.3, 0.0, 0.1], np.zeros(4), kinds="RRPR", **bodies)
    q, v = np.random.default_rng(0).normal(size=(2, 4))
    assert not evaluate(parameters, scara, q).any()
    assert np.array_equal(
        evaluate(fj.coriolis_matrix, scara, q, v, variant="0001"), evaluate(fj.coriolis_matrix, scara, q, v)
    )
