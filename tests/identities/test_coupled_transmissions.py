"""Coupled transmissions against Lagrange's equations: both sides of the springs, any matrix, chains and trees."""

import dataclasses
from functools import cache

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from support.coupled import DIFFERENTIAL, coupled, equations, matrices, random_matrix, transmissions
from support.errors import recorded, relative_error
from support.evaluate import evaluate
from support.lagrange import rate
from support.marks import some_long
from support.motors import forward
from support.pinocchio_model import pinocchio_mass_matrix, pinocchio_rnea
from support.rotors import explicit, with_random_rotors

TOLERANCE = 1e-12
CHAIN = fj.random_robot(3, 11, prismatic=0.0, friction=True)
TREE = fj.random_robot(6, 12, prismatic=0.3, tree=True, fixed=0.3, friction=True)
TWO, THREE = random_matrix(2, 1), random_matrix(3, 2)
UNDAMPED = {
    "differential wrist": coupled(CHAIN, [((1, 2), DIFFERENTIAL)], ["spring"]),
    "differential wrist, springs at the joints": coupled(CHAIN, [((1, 2), DIFFERENTIAL)], ["cubic"], springs="joint"),
    "three joints in another order": coupled(CHAIN, [((2, 0, 1), THREE)], ["cubic", "spring"]),
    "rigid": coupled(CHAIN, [((2, 0, 1), THREE)], ["rigid"]),
    "branches": coupled(TREE, [((0, 5), TWO), ((4, 1, 3), THREE)], ["spring"]),
    "branches, springs at the joints": coupled(TREE, [((0, 5), TWO), ((4, 1, 3), THREE)], ["cubic"], springs="joint"),
    "branches, rigid": coupled(TREE, [((0, 5), TWO), ((4, 1, 3), THREE)], ["rigid", "rigid", "none"]),
    "rigid and elastic": coupled(TREE, [((0, 4), DIFFERENTIAL), ((5, 1), TWO)], ["spring", "rigid"], springs="joint"),
}
DAMPED = {
    "damped": coupled(CHAIN, [((2, 0), TWO)], ["damped"]),
    "damped, springs at the joints": coupled(TREE, [((0, 5), TWO), ((4, 1, 3), THREE)], ["damped"], springs="joint"),
    "damped and not": coupled(CHAIN, [((2, 0, 1), THREE)], ["damped", "spring", "spring"]),
    "damped and not, springs at the joints": coupled(CHAIN, [((0, 1), TWO)], ["damped", "spring"], springs="joint"),
}
ROBOTS = UNDAMPED | DAMPED


@cache
def model(name, order=2):
    return equations(ROBOTS[name], order)


def state(robot, seed=0, order=4):
    return np.random.default_rng(seed).normal(size=(order + 1, robot.n))


@pytest.mark.parametrize("name", UNDAMPED)
def test_inverse_dynamics(name):
    """θ and its derivatives fulfil the links' equations and their derivatives, τ those of the motors."""
    robot, (q, theta, links, motors) = UNDAMPED[name], model(name, 4)
    stack = state(robot)
    found = evaluate(fj.motor_motion, robot, *stack[: 5 if any(robot.compliant) else 3])
    given = [found.theta, found.theta_v, found.theta_a]
    levels = [links, rate(links, q, theta)]
    levels.append(rate(levels[1], q, theta))
    sizes = [np.max(np.abs(found.tau))] + [10 * np.max(np.abs(found.tau))] * 2
    f = ca.Function("f", [*q, *theta], [motors, *levels])
    torque, *missed = (np.array(x)[:, 0] for x in f(*stack, *given))
    assert relative_error(found.tau, torque) < TOLERANCE
    for x, size in zip(missed, sizes):
        assert recorded(np.max(np.abs(x)) / size) < TOLERANCE
    T_a, T_b = matrices(robot)
    elastic = np.array(robot.compliant)
    if any(elastic):
        phi = np.linalg.solve(T_b, found.theta) - T_a @ stack[0]
        assert np.allclose(found.deflection[elastic], phi[elastic], rtol=0, atol=1e-13)
    else:
        assert relative_error(found.theta, T_a @ T_b @ stack[0]) < TOLERANCE
    rigid = ~elastic
    bare = evaluate(fj.torque_derivatives, robot.without_drives(), *stack[:3])
    links = np.asarray(bare).ravel()  # what the links need, without motors
    assert relative_error(found.tau_e, np.where(elastic, np.linalg.solve(T_a.T, links), torque)) < TOLERANCE
    assert np.allclose(found.spring_torque[elastic], found.tau_e[elastic], rtol=1e-11, atol=1e-11)
    assert np.allclose((matrices(robot).T.T @ found.spring_torque)[rigid], links[rigid], rtol=1e-11, atol=1e-11)
    assert relative_error(evaluate(fj.inverse_dynamics, robot, *stack), found.tau) == 0.0


@pytest.mark.parametrize("name", ROBOTS)
def test_forward_dynamics(name):
    """Accelerations fulfil Lagrange's equations."""
    robot, (q, theta, links, motors) = ROBOTS[name], model(name)
    rng = np.random.default_rng(3)
    positions, v, theta_0, theta_v, tau = rng.normal(size=(5, robot.n))
    rigid = ~np.array(robot.compliant)
    T = matrices(robot).T
    theta_0, theta_v = (np.where(rigid, T @ x, y) for x, y in ((positions, theta_0), (v, theta_v)))
    found = evaluate(forward, robot, positions, v, theta_0, theta_v, tau)
    f = ca.Function("f", [*q, *theta], [motors, links])
    torque, missed = (np.array(x)[:, 0] for x in f(positions, v, found.a, theta_0, theta_v, found.theta_a))
    size = max(np.max(np.abs(tau)), np.max(np.abs(torque)), 50.0)
    assert recorded(np.max(np.abs(torque - tau)) / size) < TOLERANCE
    assert recorded(np.max(np.abs(missed)) / size) < TOLERANCE
    if any(rigid) and not all(rigid):
        assert np.allclose(found.theta_a[rigid], (T @ found.a)[rigid], rtol=1e-12, atol=1e-12)
    M = evaluate(fj.mass_matrix, robot, positions)
    B = np.array([joint.drive.motor.inertia if x and joint.drive else 0.0 for joint, x in zip(robot.joints, rigid)])
    bare = evaluate(fj.mass_matrix, robot.without_drives(), positions)
    assert relative_error(M, bare + T.T @ np.diag(B) @ T) < TOLERANCE
    energy = evaluate(fj.kinetic_energy, robot, positions, v)
    assert relative_error(energy, v @ M @ v / 2) < TOLERANCE
    assert relative_error(evaluate(fj.generalized_momentum, robot, positions, v), M @ v) < TOLERANCE


@pytest.mark.parametrize("name", DAMPED)
def test_damped_springs(name):
    """A sample of the filter fulfils the links' equations and their first derivative, and those of the motors."""
    robot, (q, theta, links, motors) = DAMPED[name], model(name, 4)
    stack = state(robot, 5)
    rates = np.random.default_rng(6).normal(size=robot.n)
    found = evaluate(fj.inverse_dynamics_step, robot, rates, *np.zeros((2, robot.n)), np.zeros(1), *stack)
    f = ca.Function("f", [*q, *theta], [motors, links, rate(links, q, theta)])
    torque, *missed = (np.array(x)[:, 0] for x in f(*stack, found.theta, found.theta_v, found.theta_a))
    assert relative_error(found.tau, torque) < TOLERANCE
    for x in missed:
        assert recorded(np.max(np.abs(x)) / np.max(np.abs(found.tau))) < 10 * TOLERANCE
    damped = np.array(robot.damped)
    assert np.allclose(found.deflection_v[damped], rates[damped], rtol=0, atol=1e-13)


SPRINGS = [name for name, robot in UNDAMPED.items() if all(robot.compliant)]


@pytest.mark.parametrize("name", some_long(SPRINGS, "branches", "differential wrist"))
def test_feedback_linearization(name):
    """At the state of a motion the law for its fourth derivative gives the torque of inverse dynamics."""
    robot = UNDAMPED[name]
    stack = state(robot, 7)
    found = evaluate(fj.motor_motion, robot, *stack)
    law = evaluate(fj.feedback_linearization, robot, *stack[:2], found.theta, found.theta_v, stack[4])
    assert relative_error(law, found.tau) < 1e-10
    torques = evaluate(fj.dynamics.spring_torques, robot, *stack[:2], found.theta, found.theta_v)
    assert relative_error(torques.tau_e, found.spring_torque) < 1e-11
    back = evaluate(fj.dynamics.link_state, robot, found.theta, found.theta_v, *torques)
    assert relative_error(back.q, stack[0]) < TOLERANCE
    assert relative_error(back.v, stack[1]) < TOLERANCE
    for measured, of in (("q tau_e", stack[:2]), ("theta tau_e", (found.theta, found.theta_v))):
        law = evaluate(fj.feedback_linearization, robot, *of, *torques, stack[4], measured=measured)
        assert relative_error(law, found.tau) < 1e-10


def test_linearization_of_rigid_and_elastic_groups():
    """Rigid groups beside elastic ones: the controller holds the torques of their motors."""
    robot = UNDAMPED["rigid and elastic"]
    stack = state(robot, 8)
    found = evaluate(fj.motor_motion, robot, *stack)
    on_links = np.asarray(evaluate(fj.torque_derivatives, robot, *stack, order=2))
    held = np.linalg.solve(matrices(robot).T.T, on_links.T).T

    def law(robot, *x):
        tracking = {"reference": list(x[6:]), "gains": [ca.SX.zeros(robot.n)] * 4}
        return fj.control.laws.linearizing_control(robot, *x[:6], tracking=tracking)

    torque = evaluate(law, robot, *stack[:2], found.theta, found.theta_v, held[0], held[1], *stack)
    rigid = ~np.array(robot.compliant)
    assert relative_error(torque.tau, found.tau) < 1e-10
    assert relative_error(torque.tau_e_top[rigid], held[2][rigid]) < 1e-10


@pytest.mark.parametrize("kinds", some_long({"rigid": ["rigid"], "elastic": ["spring"]}, "rigid"))
def test_thirty_joints(kinds):
    """A tree of 30 joints with three groups: what the bare links need, through whole matrices."""
    tree = fj.random_robot(30, 3, prismatic=0.2, tree=True, friction=True)
    groups = [((0, 29), DIFFERENTIAL), ((11, 4, 20), THREE), ((8, 9), TWO)]
    robot = coupled(tree, groups, kinds, springs="joint")
    (T_a, T_b), T = matrices(robot), matrices(robot).T
    stack = state(robot, 9)
    order = 2 if any(robot.compliant) else 0
    needed = np.asarray(evaluate(fj.torque_derivatives, robot.without_drives(), *stack[: order + 3], order=order))
    needed = needed.reshape(order + 1, -1)
    drives = [joint.drive for joint in robot.joints]
    theta = [T @ x for x in stack[:3]]
    if order:
        K = np.array([drive.stiffness for drive in drives])
        theta = [x + T_b @ (np.linalg.solve(T_a.T, tau) / K) for x, tau in zip(theta, needed)]
    expected = np.linalg.solve(T.T, needed[0]) + [
        drive.motor.inertia * a + drive.motor.viscous_friction * v + drive.motor.coulomb_friction * np.tanh(v / 0.5)
        for drive, v, a in zip(drives, theta[1], theta[2])
    ]
    assert relative_error(evaluate(fj.inverse_dynamics, robot, *stack[: order + 3]), expected) < TOLERANCE
    given = (*theta[:2], expected) if order else (expected,)
    found = evaluate(fj.forward_dynamics, robot, *stack[:2], *given)
    assert relative_error(found.a if order else found, stack[2]) < 1e-10


# Complete rotors ------------------------------------------------------------------------------------------------------


def projected(robot):
    """The explicit robot of links and rotors, and its coordinates from [q, θ]; rotors of rigid groups turn by η T q."""
    made, P = explicit(robot.replace(transmissions=()))
    P = P.copy()
    P[robot.n :, : robot.n] = P[robot.n :, : robot.n] @ matrices(robot).T
    return made, P


ROTORS = {
    "rigid": (0.0, "motor"),
    "elastic": (1.0, "motor"),
    "elastic, springs at the joints": (1.0, "joint"),
}


@pytest.mark.parametrize("case", ROTORS)
def test_complete_rotors(case):
    """Forces, mass matrix, accelerations, momentum and Coriolis matrix, with rotors as bodies of their own."""
    elastic, side = ROTORS[case]
    bare = fj.random_robot(6, 21, prismatic=0.2, tree=True, friction=True)
    made = with_random_rotors(bare, 4, elastic=elastic, carriers="any")
    robot = made.replace(transmissions=transmissions(made, [((1, 3), TWO), ((2, 5, 0), THREE)], side))
    other, P = projected(robot)
    n, (T_a, T_b), T = robot.n, matrices(robot), matrices(robot).T
    q, v, a, theta, theta_v, theta_a = np.random.default_rng(5).normal(size=(6, n))
    x, dx, ddx = (P @ np.concatenate(pair) for pair in ((q, theta), (v, theta_v), (a, theta_a)))
    forces = P.T @ pinocchio_rnea(other, x, dx, ddx)
    drag = np.array([joint.viscous_friction for joint in robot.joints]) * v
    rub = np.array([joint.drive.motor.viscous_friction for joint in robot.joints])
    if elastic:
        K = np.array([joint.drive.stiffness for joint in robot.joints])
        tau_e = K * (np.linalg.solve(T_b, theta) - T_a @ q)
        tau = forces[n:] + rub * theta_v + np.linalg.solve(T_b.T, tau_e)
        found = evaluate(fj.dynamics.generalized_forces, robot, q, v, theta, theta_v, a, theta_a)
        assert relative_error(found.tau_e, np.linalg.solve(T_a.T, forces[:n] + drag)) < 1e-11
        assert relative_error(found.tau, tau) < 1e-11
        # the same accelerations come back where the springs give the links what they need
        phi = np.linalg.solve(T_a.T, forces[:n] + drag) / K
        tau = forces[n:] + rub * theta_v + np.linalg.solve(T_b.T, K * phi)
        back = evaluate(fj.forward_dynamics, robot, q, v, T @ q + T_b @ phi, theta_v, tau)
        assert relative_error(back.a, a) < 1e-10
        assert relative_error(back.theta_a, theta_a) < 1e-10
        return
    tau = np.linalg.solve(T.T, forces[:n] + drag) + rub * (T @ v)
    assert relative_error(evaluate(fj.inverse_dynamics, robot, q, v, a), tau) < 1e-11
    assert relative_error(evaluate(fj.forward_dynamics, robot, q, v, tau), a) < 1e-10
    M = (P.T @ pinocchio_mass_matrix(other, x) @ P)[:n, :n]
    assert relative_error(evaluate(fj.mass_matrix, robot, q), M) < 1e-11
    assert relative_error(evaluate(fj.generalized_momentum, robot, q, v), M @ v) < 1e-11
    assert relative_error(evaluate(fj.kinetic_energy, robot, q, v), v @ M @ v / 2) < 1e-11
    C = evaluate(fj.coriolis_matrix, robot, q, v)
    assert relative_error(C @ v, evaluate(fj.coriolis_torque, robot, q, v)) < 1e-11
    assert relative_error(C + C.T, evaluate(fj.mass_matrix_rate, robot, q, v)) < 1e-11
    assert relative_error(evaluate(fj.coriolis_product, robot, q, v, a), C @ a) < 1e-11


@pytest.mark.parametrize("side", ["motor", "joint"])
def test_a_wrist_whose_motors_sit_in_the_forearm(side):
    """Elimination as one block: inverse dynamics and the linearizing law with complete rotors."""
    arm = with_random_rotors(fj.random_robot(3, 31, prismatic=0.0, friction=True), 6, elastic=1.0)
    motors = [dataclasses.replace(joint.drive.motor, carrier=None) for joint in arm.joints]
    motors[2] = dataclasses.replace(motors[2], carrier=arm.links[0].name)
    drives = [fj.ElasticDrive(joint.drive.stiffness, motor) for joint, motor in zip(arm.joints, motors)]
    robot = arm.with_drives(drives)
    robot = robot.replace(transmissions=transmissions(robot, [((1, 2), DIFFERENTIAL)], side))
    order = fj.dynamics.derivative_orders(robot).motion
    assert order == 6, "the shoulder contains both motors of the wrist, which is differentiated twice more for it"
    stack = state(robot, 10, order)
    symbols = [ca.SX.sym(f"q{k}", robot.n) for k in range(order + 1)]
    motion = fj.motor_motion(robot, *symbols)
    f = ca.Function("f", symbols, [*motion, rate(motion.theta, symbols), rate(motion.theta_v, symbols)])
    *values, theta_v, theta_a = (np.array(x)[:, 0] for x in f(*stack))
    found = type(motion)(*values)
    assert relative_error(found.theta_v, theta_v) < 1e-11
    assert relative_error(found.theta_a, theta_a) < 1e-11
    other, P = projected(robot)
    pairs = zip(stack, (found.theta, found.theta_v, found.theta_a))
    forces = P.T @ pinocchio_rnea(other, *(P @ np.concatenate(pair) for pair in pairs))
    n, (T_a, T_b) = robot.n, matrices(robot)
    K = np.array([joint.drive.stiffness for joint in robot.joints])
    tau_e = K * (np.linalg.solve(T_b, found.theta) - T_a @ stack[0])
    drag = np.array([joint.viscous_friction for joint in robot.joints]) * stack[1]
    rub = np.array([joint.drive.motor.viscous_friction for joint in robot.joints]) * found.theta_v
    assert relative_error(T_a.T @ tau_e, forces[:n] + drag) < 1e-11
    assert relative_error(found.tau, forces[n:] + rub + np.linalg.solve(T_b.T, tau_e)) < 1e-11
    extension = evaluate(fj.dynamics.extension_state, robot, *stack)
    law = evaluate(
        fj.feedback_linearization, robot, *stack[:2], found.theta, found.theta_v, stack[order], extension
    )  # fmt: skip
    assert relative_error(law.tau, found.tau) < 1e-9


def test_a_motor_carried_by_its_own_group_is_refused():
    """A differential whose second motor sits behind its first joint has no finite inverse dynamics."""
    arm = with_random_rotors(fj.random_robot(3, 31, prismatic=0.0), 6, elastic=1.0)
    robot = arm.replace(transmissions=transmissions(arm, [((1, 2), DIFFERENTIAL)]))
    with pytest.raises(fj.InputError, match="link3_joint"):
        fj.inverse_dynamics(robot, *np.zeros((9, 3)))
    assert np.all(np.isfinite(evaluate(fj.forward_dynamics, robot, *np.zeros((5, 3))).a))
