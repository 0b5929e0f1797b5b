"""The complete model against Pinocchio, where every rotor is a body on a joint of its own, projected on (q, θ)."""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest
from scipy.linalg import eigh

import flexjoint as fj
from support.errors import relative_error
from support.evaluate import Symbolic, evaluate
from support.motors import forward
from support.multiprecision import normwise_error
from support.pinocchio_model import pinocchio_mass_matrix, pinocchio_model, pinocchio_order, pinocchio_rnea
from support.rotors import eliminated_exactly, explicit, lbr, with_random_rotors

TOLERANCE = 1e-11
ROBOTS = {
    "chain": with_random_rotors(fj.random_robot(5, 1, prismatic=0.3, friction=True), 1),
    "elastic chain": with_random_rotors(fj.random_robot(4, 2, prismatic=0.0), 2, elastic=1.0),
    "rigid chain": with_random_rotors(fj.random_robot(5, 3, prismatic=0.3), 3, elastic=0.0),
    "tree": with_random_rotors(fj.random_robot(7, 4, prismatic=0.2, tree=True, fixed=0.5), 4),
    "motors anywhere": with_random_rotors(fj.random_robot(6, 5, tree=True, fixed=0.4), 5, carriers="any"),
    "rigid, motors anywhere": with_random_rotors(fj.random_robot(6, 6, tree=True), 6, elastic=0.0, carriers="any"),
    "lbr": lbr(4, stiffness=50.0),  # θ − q keeps its digits
}


@pytest.fixture(params=ROBOTS)
def robot(request):
    return ROBOTS[request.param]


def independent(robot):
    """Columns of [q, θ] that are coordinates: all of q, and θ behind springs."""
    return np.array([*range(robot.n), *(robot.n + i for i in range(robot.n) if robot.compliant[i])])


def projected(robot, q, v, a, theta, theta_v, theta_a):
    """Forces on (q, θ) that the motion needs, without springs and friction."""
    made, P = explicit(robot)
    x, dx, ddx = (P @ np.concatenate(pair) for pair in ((q, theta), (v, theta_v), (a, theta_a)))
    forces = P.T @ pinocchio_rnea(made, x, dx, ddx)
    return forces[: robot.n], forces[robot.n :]


def friction(robot, v, theta_v):
    """On links, rigidly coupled motors included, and on motors behind springs."""
    links = np.array([joint.viscous_friction for joint in robot.joints]) * v
    motors = np.array([joint.drive.motor.viscous_friction for joint in robot.joints])
    elastic = np.array(robot.compliant)
    return links + np.where(elastic, 0.0, motors * v), np.where(elastic, motors * theta_v, 0.0)


def test_mass_matrix(robot):
    made, P = explicit(robot)
    rng = np.random.default_rng(1)
    columns = P[:, independent(robot)]
    for _ in range(2):
        q = rng.normal(size=robot.n)
        M = columns.T @ pinocchio_mass_matrix(made, P @ np.concatenate([q, rng.normal(size=robot.n)])) @ columns
        assert relative_error(evaluate(fj.mass_matrix, robot, q, motors=True), M) < TOLERANCE
        assert relative_error(evaluate(fj.mass_matrix, robot, q), M[: robot.n, : robot.n]) < TOLERANCE


def test_generalized_forces_and_forward_dynamics(robot):
    rng = np.random.default_rng(2)
    elastic = np.array(robot.compliant)
    K = np.array([joint.drive.stiffness if springy else 0.0 for joint, springy in zip(robot.joints, elastic)])
    state = rng.normal(size=(7, robot.n))
    inverse = Symbolic(fj.dynamics.generalized_forces, robot, *state[:6])
    accelerations = Symbolic(forward, robot, *state[:5])
    for _ in range(3):
        q, theta, v, theta_v, a, theta_a = rng.normal(size=(6, robot.n))
        on_links, on_motors = projected(robot, q, v, a, theta, theta_v, theta_a)
        at_links, at_motors = friction(robot, v, theta_v)
        spring = np.where(elastic, K * (theta - q), 0.0)
        found = inverse(q, v, theta, theta_v, a, theta_a)
        tau = np.where(elastic, on_motors + at_motors + spring, on_links + at_links)
        assert relative_error(found.tau_e, on_links + at_links) < TOLERANCE
        assert relative_error(found.tau, tau) < TOLERANCE
        # the same accelerations come back when the springs' torques are those the links need
        theta = np.where(elastic, q + (on_links + at_links) / np.where(elastic, K, 1.0), q)
        tau = np.where(elastic, on_motors + at_motors + on_links + at_links, tau)
        back = accelerations(q, v, theta, theta_v, tau)
        assert relative_error(back.a, a) < TOLERANCE
        assert not any(elastic) or relative_error(back.theta_a[elastic], theta_a[elastic]) < TOLERANCE


def test_operators(robot):
    """S, C_rotor, C_carrier where all motors are free to turn, those of rigid joints too."""
    free = robot.with_drives([fj.ElasticDrive(1.0, joint.drive.motor) for joint in robot.joints])
    rng = np.random.default_rng(3)
    q, v, theta_v, zero = *rng.normal(size=(3, robot.n)), np.zeros(robot.n)
    made, P = explicit(free)
    M = P.T @ pinocchio_mass_matrix(made, P @ np.concatenate([q, zero])) @ P
    assert relative_error(evaluate(fj.dynamics.rotor_coupling, robot, q), M[: robot.n, robot.n :]) < TOLERANCE
    spinning = projected(free, q, v, zero, zero, theta_v, zero)
    still = projected(free, q, v, zero, zero, zero, zero)
    assert relative_error(evaluate(fj.dynamics.rotor_torque, robot, q, v, theta_v), spinning[0] - still[0]) < TOLERANCE
    assert relative_error(evaluate(fj.dynamics.carrier_torque, robot, q, v), still[1]) < TOLERANCE
    assert relative_error(spinning[1], still[1]) < TOLERANCE, "C_carrier does not depend on θ'"


@pytest.mark.parametrize("name", [x for x in ROBOTS if not any(ROBOTS[x].compliant)])
def test_rigid_joints(name):
    """θ tied to q: inverse dynamics, bias, forward dynamics, energy and momentum of the rigid geared robot."""
    robot = ROBOTS[name]
    q, v, a = np.random.default_rng(4).normal(size=(3, robot.n))
    zero = np.zeros(robot.n)
    drag, _ = friction(robot, v, v)
    tau = projected(robot, q, v, a, zero, zero, zero)[0] + drag
    assert relative_error(evaluate(fj.inverse_dynamics, robot, q, v, a), tau) < TOLERANCE
    bias = projected(robot, q, v, zero, zero, zero, zero)[0] + drag
    assert relative_error(evaluate(fj.bias_torque, robot, q, v), bias) < TOLERANCE
    assert relative_error(evaluate(fj.forward_dynamics, robot, q, v, tau), a) < TOLERANCE
    made, P = explicit(robot)
    x, dx = (P @ np.concatenate([y, zero]) for y in (q, v))
    M = P.T @ pinocchio_mass_matrix(made, x) @ P
    p = (M[: robot.n, : robot.n] @ v).ravel()
    assert relative_error(evaluate(fj.generalized_momentum, robot, q, v), p) < TOLERANCE
    assert relative_error(evaluate(fj.kinetic_energy, robot, q, v), p @ v / 2) < TOLERANCE
    for mine, theirs in zip(evaluate(fj.spatial_momentum, robot, q, v), evaluate(fj.spatial_momentum, made, x, dx)):
        assert relative_error(mine, theirs) < TOLERANCE


def test_joint_wrenches(robot):
    """Force and moment at every link, as those of the explicit robot."""
    rng = np.random.default_rng(5)
    made, P = explicit(robot)
    q, theta, v, theta_v, a, theta_a = rng.normal(size=(6, robot.n))
    x, dx, ddx = (P @ np.concatenate(pair) for pair in ((q, theta), (v, theta_v), (a, theta_a)))
    w = {"wrenches": {robot.tool: [rng.normal(size=6)]}}
    found = evaluate(fj.dynamics.generalized_forces, robot, q, v, theta, theta_v, a, theta_a, **w).joint_wrenches
    expected = evaluate(fj.joint_wrenches, made, x, dx, ddx, **w)[: len(robot.links)]
    assert relative_error(found, expected) < TOLERANCE


def test_the_explicit_model_is_one_of_gears():
    """Pinocchio's own kinetic energy of the explicit bodies is ½ [q', θ']ᵀ[[M, S], [Sᵀ, B]][q', θ']."""
    robot = ROBOTS["elastic chain"]
    made, P = explicit(robot)
    q, theta, v, theta_v = np.random.default_rng(6).normal(size=(4, robot.n))
    model, order = pinocchio_model(made), pinocchio_order(made)
    x, dx = (P @ np.concatenate(pair) for pair in ((q, theta), (v, theta_v)))
    energy = pin.computeKineticEnergy(model, model.createData(), x[order], dx[order])
    y = np.concatenate([v, theta_v])
    assert relative_error(y @ evaluate(fj.mass_matrix, robot, q, motors=True) @ y / 2, energy) < TOLERANCE


def test_modes():
    """Frequencies of springs between links and explicit rotors."""
    robot = ROBOTS["chain"]
    springs = np.flatnonzero(robot.compliant)
    made, P = explicit(robot)
    columns = P[:, independent(robot)]
    q = np.random.default_rng(8).normal(size=robot.n)
    M = columns.T @ pinocchio_mass_matrix(made, P @ np.concatenate([q, q])) @ columns
    K = np.zeros_like(M)
    for k, i in enumerate(springs, start=robot.n):
        K[np.ix_([i, k], [i, k])] = robot.joints[i].drive.stiffness * np.array([[1.0, -1.0], [-1.0, 1.0]])
    frequencies = np.sqrt(eigh(K, M, eigvals_only=True)[-len(springs) :])
    assert relative_error(fj.control.joint_modes(robot, q).frequencies[-len(springs) :], frequencies) < TOLERANCE


@pytest.mark.parametrize("robot", [with_random_rotors(fj.random_robot(3, 5, prismatic=0.0), 1, elastic=1.0), lbr(4)])
def test_elimination_in_200_bits(robot):
    """All orders, against explicit bodies in multiple precision."""
    motors = [dataclasses.replace(joint.drive.motor, viscous_friction=0.0) for joint in robot.joints]
    robot = robot.with_drives([fj.ElasticDrive(j.drive.stiffness, m) for j, m in zip(robot.joints, motors)])
    orders = fj.dynamics.derivative_orders(robot)
    stack = np.random.default_rng(7).normal(size=(orders.motion + 1, robot.n))
    exact = eliminated_exactly(robot, stack, orders)
    assert normwise_error(evaluate(fj.inverse_dynamics, robot, *stack), exact) < 1e-14
