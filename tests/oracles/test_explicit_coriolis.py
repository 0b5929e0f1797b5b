"""Coriolis forces of the complete model against Pinocchio's Coriolis matrix of explicit rotors, projected on (q, θ).

The projection is constant, so Christoffel's matrix of the whole is that of the parts, projected.
"""

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.spatial import time_derivative
from support.errors import relative_error
from support.evaluate import Symbolic, evaluate
from support.marks import some_long
from support.pinocchio_model import pinocchio_coriolis, pinocchio_mass_matrix
from support.rotors import explicit, lbr, with_random_rotors

TOLERANCE = 1e-11  # a gear of 100 makes 1e4 of the rounding in the turning of a rotor
TREE = {"tree": True, "fixed": 0.4}
ROBOTS = {
    "chain": with_random_rotors(fj.random_robot(5, 1, prismatic=0.3), 1),
    "rigid chain": with_random_rotors(fj.random_robot(5, 3, prismatic=0.3), 3, elastic=0.0),
    "elastic tree": with_random_rotors(fj.random_robot(6, 4, prismatic=0.2, **TREE), 4, elastic=1.0),
    "motors anywhere": with_random_rotors(fj.random_robot(6, 5, **TREE), 5, carriers="any"),
    "rigid, motors anywhere": with_random_rotors(fj.random_robot(6, 6, **TREE), 6, elastic=0.0, carriers="any"),
    "lbr": lbr(4),
    "18 joints": with_random_rotors(fj.random_robot(18, 7, prismatic=0.2, **TREE), 7, carriers="any"),
    "30 joints": with_random_rotors(fj.random_robot(30, 8, prismatic=0.2), 8, elastic=0.3),
}
SMALL = [name for name, robot in ROBOTS.items() if robot.n < 10]


def each(names=ROBOTS):
    return pytest.mark.parametrize("robot", some_long({x: ROBOTS[x] for x in names}, "30 joints"))


def independent(robot):
    return np.array([*range(robot.n), *(robot.n + i for i in range(robot.n) if robot.compliant[i])])


def random_state(robot, count):
    """q, and velocities of links and motors; those of rigid joints' motors must not matter."""
    return np.random.default_rng(robot.n).normal(size=(count, robot.n))


def oracle(robot, q, v, theta_v):
    """C over the coordinates, its explicit state, and the columns of the projection."""
    made, P = explicit(robot)
    x, dx = P @ np.concatenate([q, 0 * q]), P @ np.concatenate([v, theta_v])
    columns = P[:, independent(robot)]
    return columns.T @ pinocchio_coriolis(made, x, dx) @ columns, made, x, columns


def stacked(robot, links, motors):
    return np.concatenate([links, motors])[independent(robot)]


@each()
def test_links_and_motors(robot):
    q, v, theta_v, v_a, theta_v_a = random_state(robot, 5)
    C, made, x, columns = oracle(robot, q, v, theta_v)
    assert relative_error(evaluate(fj.coriolis_matrix, robot, q, v, theta_v, motors=True), C) < TOLERANCE
    found = evaluate(fj.coriolis_product, robot, q, v, theta_v, v_a, theta_v_a, motors=True)
    assert relative_error(stacked(robot, *found), C @ stacked(robot, v_a, theta_v_a)) < TOLERANCE
    speeds = stacked(robot, v, theta_v)
    transposed = C.T @ speeds
    scale = max(1.0, np.abs(C).max() * np.abs(speeds).max())
    assert np.abs(transposed[robot.n :]).max(initial=0.0) < TOLERANCE * scale, "T does not depend on θ"
    found = evaluate(fj.coriolis_transpose_product, robot, q, v, theta_v, motors=True)
    assert relative_error(found.links, transposed[: robot.n]) < TOLERANCE and not np.any(found.motors)
    M = columns.T @ pinocchio_mass_matrix(made, x) @ columns
    found = evaluate(fj.generalized_momentum, robot, q, v, theta_v, motors=True)
    assert relative_error(stacked(robot, *found), M @ speeds) < TOLERANCE
    energy = evaluate(fj.kinetic_energy, robot, q, v, theta_v, motors=True)
    assert relative_error(energy, speeds @ M @ speeds / 2) < TOLERANCE


@each()
def test_rate_of_inertia(robot):
    q, v, theta_v = random_state(robot, 3)
    C, *_ = oracle(robot, q, v, theta_v)
    assert relative_error(evaluate(fj.mass_matrix_rate, robot, q, v, motors=True), C + C.T) < TOLERANCE


@each()
def test_inertia_changes_by_C_and_its_transpose(robot):
    q, v, theta_v = random_state(robot, 3)
    rate = evaluate(lambda r, q, v: time_derivative(fj.mass_matrix(r, q, motors=True), [q, v]), robot, q, v)
    for variant in ("christoffel", "0001", "1110"):
        C = evaluate(fj.coriolis_matrix, robot, q, v, theta_v, variant=variant, motors=True)
        assert relative_error(C + C.T, rate) < 1e-13, variant


@each(SMALL)
@pytest.mark.parametrize("variant", ["0001", "1110"])
def test_variants(robot, variant):
    """Matrix and product of one variant are one thing, and their torque is Christoffel's."""
    q, v, theta_v, v_a, theta_v_a = random_state(robot, 5)
    C = evaluate(fj.coriolis_matrix, robot, q, v, theta_v, variant=variant, motors=True)
    options = {"variant": variant, "motors": True}
    product = Symbolic(fj.coriolis_product, robot, q, v, theta_v, v_a, theta_v_a, **options)
    found = stacked(robot, *product(q, v, theta_v, v_a, theta_v_a))
    assert relative_error(found, C @ stacked(robot, v_a, theta_v_a)) < TOLERANCE
    expected = oracle(robot, q, v, theta_v)[0] @ stacked(robot, v, theta_v)
    assert relative_error(C @ stacked(robot, v, theta_v), expected) < TOLERANCE


RIGID = [name for name, robot in ROBOTS.items() if not any(robot.compliant)]


@each(RIGID)
def test_rigid_joints_geared_to_their_rotors(robot):
    """The functions of q alone, with θ tied to q."""
    q, v, v_a, a = random_state(robot, 4)
    C, made, x, columns = oracle(robot, q, v, v)
    assert relative_error(evaluate(fj.coriolis_matrix, robot, q, v), C) < TOLERANCE
    assert relative_error(evaluate(fj.coriolis_product, robot, q, v, v_a), C @ v_a) < TOLERANCE
    assert relative_error(evaluate(fj.coriolis_transpose_product, robot, q, v), C.T @ v) < TOLERANCE
    assert relative_error(evaluate(fj.mass_matrix_rate, robot, q, v), C + C.T) < TOLERANCE
    M = columns.T @ pinocchio_mass_matrix(made, x) @ columns
    torque = evaluate(fj.inverse_dynamics, robot, q, 0 * q, 0 * q) + M @ a + C @ v_a  # gravity by another sweep
    friction = np.array([joint.drive.motor.viscous_friction for joint in robot.joints])
    assert (
        relative_error(evaluate(fj.dynamics.modified_newton_euler, robot, q, v, v_a, a), torque + friction * v_a)
        < TOLERANCE
    )


@each(RIGID)
def test_adaptive_control_knows_the_rotors(robot):
    """With the true base parameters it is the passivity law, which goes through `modified_newton_euler`."""
    arrays = random_state(robot, 5)
    Lambda, K_D = np.full(robot.n, 3.0), np.full(robot.n, 7.0)
    base = fj.base_parameters(robot)
    Gamma = np.ones(len(base.names))
    known, _ = evaluate(fj.control.laws.adaptive_torque, robot, *arrays, Lambda, K_D, Gamma, base.of(robot))
    law = evaluate(fj.control.laws.passivity_torque, robot, *arrays, Lambda, Lambda * K_D, K_D)
    assert relative_error(known, law) < TOLERANCE


def test_the_gradient_of_the_energy():
    """Cᵀ(q', θ') by automatic differentiation of ½ (q', θ')ᵀ[[M, S], [Sᵀ, B]](q', θ')."""
    robot = ROBOTS["motors anywhere"]
    q, v, theta_v = random_state(robot, 3)

    def gradient(robot, q, v, theta_v):
        x = ca.vertcat(v, *[theta_v[i] for i in range(robot.n) if robot.compliant[i]])
        return ca.gradient(ca.dot(x, fj.mass_matrix(robot, q, motors=True) @ x) / 2, q)

    found = evaluate(fj.coriolis_transpose_product, robot, q, v, theta_v, motors=True).links
    assert relative_error(found, evaluate(gradient, robot, q, v, theta_v)) < TOLERANCE
