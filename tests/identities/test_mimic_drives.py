"""Coupled coordinates behind springs and with rotors: followers are links and motors that their leaders' springs move.

Oracles: Lagrange's equations of the tree with all joints moving by themselves, by automatic differentiation, and for
rotors that tree with every rotor a body of its own, in Pinocchio.
"""

import dataclasses

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.robot import Mimic
from support.errors import relative_error
from support.evaluate import Symbolic, evaluate
from support.lagrange import lagrange, rate, smooth_friction
from support.marks import some_long
from support.mimics import coupling, independent, through, with_followers
from support.pinocchio_model import pinocchio_mass_matrix, pinocchio_rnea
from support.rotors import explicit

TIGHT = 1e-12
MOTOR = fj.Motor(0.7, 0.4, 0.3, coulomb_velocity=0.5)
SPRING = fj.ElasticDrive(200.0, MOTOR)


def coupled_tree(drives, n=5, seed=4):
    robot = with_followers(fj.random_robot(n, 3, prismatic=0.3, tree=True, friction=True), seed, motors=True)
    return robot.with_drives([drives[i % len(drives)] for i in range(robot.n)])


def links_of(robot, *stack):
    """Torque on the links, with followers and their motors, from Lagrange's equations."""
    return through(robot.with_drives([None] * robot.n), lagrange, *stack)


def expected_motors(robot, stack):
    """Motor torques, positions and velocities for a motion, from Lagrange's equations, in SX."""
    tau_e = links_of(robot, *stack[:3])
    jets = [tau_e, rate(tau_e, stack)]
    jets.append(rate(jets[1], stack))
    tau, theta, theta_v = [], [], []
    for i, joint in enumerate(robot.joints):
        motor = joint.drive.motor if joint.drive else None
        K = joint.drive.stiffness if isinstance(joint.drive, fj.ElasticDrive) else np.inf
        moved = [stack[k][i] + jets[k][i] / K for k in range(3)]
        B = motor.inertia if motor else 0.0
        tau.append(jets[0][i] + B * moved[2] + smooth_friction(motor, moved[1]))
        theta.append(moved[0])
        theta_v.append(moved[1])
    return [ca.vertcat(*x) for x in (tau, theta, theta_v)]


ROBOTS = {
    "springs": coupled_tree([SPRING]),
    "springs and rigid": coupled_tree([SPRING, fj.RigidDrive(MOTOR)]),
    "rigid and none": coupled_tree([fj.RigidDrive(MOTOR), None]),
}


@pytest.mark.parametrize("robot", ROBOTS.values(), ids=ROBOTS.keys())
def test_motor_torques_and_accelerations(robot):
    motion = np.random.default_rng(1).uniform(-1, 1, (5, robot.n))
    symbols = [ca.SX.sym(f"y{k}", robot.n) for k in range(5)]
    wanted = ca.Function("f", symbols, expected_motors(robot, symbols))(*map(ca.DM, motion))
    tau, theta, theta_v = (np.array(x)[:, 0] for x in wanted)
    needed = motion if any(robot.compliant) else motion[:3]
    found = evaluate(fj.motor_motion.function, robot, *needed)
    assert relative_error(found.tau, tau) < TIGHT
    assert relative_error(found.theta, theta) < TIGHT
    assert relative_error(found.theta_v, theta_v) < TIGHT
    state = (motion[0], motion[1], theta, theta_v) if any(robot.compliant) else motion[:2]
    a = evaluate(fj.forward_dynamics.function, robot, *state, tau)
    assert relative_error(a.a if any(robot.compliant) else a, motion[2]) < 1e-10
    if all(robot.compliant):
        law = evaluate(fj.feedback_linearization.function, robot, *state, motion[4])
        assert relative_error(law, tau) < 1e-10


@pytest.mark.long
def test_link_motion_and_linearization_of_a_long_coupled_chain_have_no_articulated_bodies():
    robot = with_followers(fj.random_robot(24, 1, prismatic=0.2), 2, share=0.25).with_drives([SPRING] * 18)
    motion = np.random.default_rng(2).uniform(-0.5, 0.5, (5, robot.n))
    moved = evaluate(fj.motor_motion.function, robot, *motion)
    law = Symbolic(fj.feedback_linearization.function, robot, *motion)
    assert relative_error(law(*motion[:2], moved.theta, moved.theta_v, motion[4]), moved.tau) < 1e-8


def test_damped_springs_step_with_followers_as_without_them():
    """A leader with a follower on the base is a leader with more load: the filter of its spring sees τ_e alone."""
    drive = dataclasses.replace(SPRING, damping=2.0)
    robot = coupled_tree([drive])
    motion = np.random.default_rng(3).uniform(-1, 1, (4, robot.n))
    symbols = [ca.SX.sym(f"y{k}", robot.n) for k in range(4)]
    tau_e = links_of(robot, *symbols[:3])
    wanted = ca.Function("f", symbols, [tau_e, rate(tau_e, symbols)])(*map(ca.DM, motion))
    rest = np.zeros(robot.n)
    found = evaluate(fj.inverse_dynamics_step.function, robot, rest, rest, rest, np.array([0.0]), *motion)
    assert relative_error(found.tau_e, wanted[0]) < TIGHT
    assert relative_error(found.tau_e_v, wanted[1]) < TIGHT


# Rotors -------------------------------------------------------------------------------------------------------------


def with_rotors(robot, compliant, seed=0):
    """A rotor in general position at every joint, on its parent link; springs at leaders that are `compliant`."""
    rng, links = np.random.default_rng(seed), list(robot.links)
    for x in robot.moving_joints:
        axis = rng.normal(size=3)
        motor = fj.Motor.from_rotor(
            float(rng.uniform(0.02, 0.1)),
            float(rng.choice([-1, 1]) * rng.uniform(2.0, 8.0)),
            transverse_inertia=float(rng.uniform(0.02, 0.1)),
            mass=float(rng.uniform(0.2, 1.0)),
            position=rng.uniform(-0.1, 0.1, 3),
            axis=axis / np.linalg.norm(axis),
        )
        springy = not x.follows and compliant[x.coordinate]
        drive = fj.ElasticDrive(300.0, motor) if springy else fj.RigidDrive(motor)
        links[x.link] = dataclasses.replace(links[x.link], joint=dataclasses.replace(x.joint, drive=drive))
    return robot.replace(links=links, fidelity="complete", rotors_in_links=False)


def outward_chain(compliant):
    """A chain whose last three joints follow the first three: finite inverse dynamics in the complete model."""
    robot = fj.random_robot(len(compliant) + 3, 9, prismatic=0.2)
    links = list(robot.links)
    for k in range(3):
        i = len(compliant) + k
        mimic = Mimic(links[k % len(compliant)].joint.name, (-0.7, 1.2, 0.5)[k], 0.3)
        links[i] = dataclasses.replace(links[i], joint=dataclasses.replace(links[i].joint, mimic=mimic))
    return with_rotors(robot.replace(links=links), compliant)


MIXED = [True, False, True]
COMPLETE = {
    "mixed tree": with_rotors(with_followers(fj.random_robot(6, 7, tree=True), 1), MIXED),
    "mixed chain": outward_chain(MIXED),
    "springs": outward_chain([True, True]),
    "rigid": outward_chain([False]),
}


def all_bodies(robot):
    """The explicit robot of links and rotors, and P, p with its coordinates P (y, θ) + p."""
    free, (G, c) = independent(robot), coupling(robot)
    made, project = explicit(free)
    E = np.zeros((2 * free.n, 2 * robot.n))
    E[: free.n, : robot.n] = G
    for k, x in enumerate(robot.moving_joints):
        E[free.n + k, robot.n + x.coordinate] = not x.follows
    P = project @ E
    keep = [*range(robot.n), *(robot.n + k for k in robot.motors_behind_springs)]
    return made, P[:, keep], project @ np.concatenate([c, np.zeros(free.n)])


@pytest.mark.parametrize("robot", some_long(COMPLETE, "mixed chain", "rigid"))
def test_rotors_of_leaders_and_followers_against_explicit_bodies(robot):
    rng, behind = np.random.default_rng(5), list(robot.motors_behind_springs)
    q, v, a, theta, theta_v, theta_a = rng.uniform(-1, 1, (6, robot.n))
    made, P, p = all_bodies(robot)

    def whole(x, y):
        return np.concatenate([x, y[behind]])

    M = P.T @ pinocchio_mass_matrix(made, P @ whole(q, theta) + p) @ P
    assert relative_error(np.atleast_2d(evaluate(fj.mass_matrix.function, robot, q, motors=True)), M) < TIGHT
    speed = whole(v, theta_v)
    energy = evaluate(fj.kinetic_energy.function, robot, q, v, theta_v, motors=True)
    assert relative_error(energy, speed @ M @ speed / 2) < TIGHT
    momentum = evaluate(fj.generalized_momentum.function, robot, q, v, theta_v, motors=True)
    assert relative_error(whole(momentum.links.ravel(), momentum.motors.ravel()), M @ speed) < TIGHT

    wanted = P.T @ pinocchio_rnea(made, P @ whole(q, theta) + p, P @ speed, P @ whole(a, theta_a))
    forces = evaluate(fj.dynamics.generalized_forces.function, robot, q, v, theta, theta_v, a, theta_a)
    springs = 300.0 * (theta - q)
    found = whole(forces.tau_e.ravel(), forces.tau.ravel() - springs)
    assert relative_error(found, wanted) < TIGHT

    weightless = made.with_gravity([0, 0, 0])
    c = P.T @ pinocchio_rnea(weightless, P @ whole(q, theta) + p, P @ speed, 0 * p)
    rate_of_M = Symbolic(fj.mass_matrix_rate.function, robot, q, v, motors=True)(q, v)
    for variant in ("christoffel", "1110"):
        C = evaluate(fj.coriolis_matrix.function, robot, q, v, theta_v, motors=True, variant=variant)
        C = np.atleast_2d(C)
        assert np.max(np.abs(C @ speed - c)) < TIGHT * np.max(np.abs(C))
        assert np.max(np.abs(C + C.T - rate_of_M)) < TIGHT * np.max(np.abs(C))

    tau = whole(forces.tau_e.ravel(), forces.tau.ravel())
    if any(robot.compliant):
        # at these deflections the springs do not give tau_e: solve the explicit equations for the accelerations
        K = np.array([300.0 if x else 0.0 for x in robot.compliant])
        motors = rng.uniform(-5, 5, robot.n)
        load = np.where(robot.compliant, K * (theta - q), motors)
        right = whole(load, motors - K * (theta - q)) - P.T @ pinocchio_rnea(
            made, P @ whole(q, theta) + p, P @ speed, 0 * p
        )
        x = np.linalg.solve(M, right)
        found = evaluate(fj.forward_dynamics.function, robot, q, v, theta, theta_v, motors)
        assert relative_error(whole(found.a, found.theta_a), x) < 1e-10
    else:
        assert relative_error(evaluate(fj.forward_dynamics.function, robot, q, v, tau), a) < 1e-10


@pytest.mark.parametrize("robot", some_long({x: COMPLETE[x] for x in ("mixed chain", "springs")}, "springs"))
def test_inverse_dynamics_of_the_complete_model_is_consistent_with_its_forces(robot):
    order = fj.dynamics.derivative_orders(robot).motion
    motion = np.random.default_rng(6).uniform(-1, 1, (order + 1, robot.n))
    symbols = [ca.SX.sym(f"y{k}", robot.n) for k in range(order + 1)]
    moved = fj.motor_motion.function(robot, *symbols)
    rates = [rate(moved.theta, symbols), rate(moved.theta_v, symbols)]
    found = ca.Function("f", symbols, [moved.theta, moved.theta_v, moved.theta_a, moved.tau, *rates])
    theta, theta_v, theta_a, tau, *rates = (np.array(x)[:, 0] for x in found(*map(ca.DM, motion)))
    assert relative_error(theta_v, rates[0]) < 1e-11 and relative_error(theta_a, rates[1]) < 1e-11
    q, v, a = motion[:3]
    forces = evaluate(fj.dynamics.generalized_forces.function, robot, q, v, theta, theta_v, a, theta_a)
    springy = np.array(robot.compliant)
    assert relative_error((300.0 * (theta - q))[springy], forces.tau_e.ravel()[springy]) < 1e-11
    assert relative_error(tau, forces.tau.ravel()) < 1e-11
    extension = fj.dynamics.extension_state.function(robot, *symbols) if order > 4 or not all(springy) else None
    if extension is not None:
        held = np.array(ca.Function("f", symbols, [extension])(*map(ca.DM, motion)))[:, 0]
        law = evaluate(fj.feedback_linearization.function, robot, q, v, theta, theta_v, motion[order], held)
        assert relative_error(law.tau, tau) < 1e-8


def test_a_follower_whose_links_carry_the_leaders_motor_is_refused_by_the_complete_inverse_dynamics():
    robot = fj.random_robot(2, 1, prismatic=0.0)
    first = dataclasses.replace(robot.links[0].joint, mimic=Mimic(robot.links[1].joint.name))
    robot = robot.replace(links=[dataclasses.replace(robot.links[0], joint=first), robot.links[1]])
    with pytest.raises(fj.InputError, match="'link2_joint' is in its own link equation"):
        fj.dynamics.derivative_orders(with_rotors(robot, [True]))


# What acts on followers ---------------------------------------------------------------------------------------------


def test_wrenches_on_followers_and_a_moving_base():
    robot = coupled_tree([None])
    rng = np.random.default_rng(8)
    motion = rng.uniform(-1, 1, (5, robot.n))
    free, (G, c) = independent(robot), coupling(robot)
    wrenches = {x.name: list(rng.uniform(-5, 5, (3, 6))) for x in robot.links if x.joint.mimic is not None}
    base = fj.BaseMotion(list(rng.uniform(-1, 1, (4, 3))), list(rng.uniform(-2, 2, (3, 3))))
    moved = [G @ x + (c if k == 0 else 0) for k, x in enumerate(motion)]
    options = {"order": 2, "wrenches": wrenches, "base": base}
    found = evaluate(fj.torque_derivatives.function, robot, *motion, **options)
    wanted = evaluate(fj.torque_derivatives.function, free, *moved, **options) @ G
    assert relative_error(found, wanted) < TIGHT
    tau = found[0]
    options = {"wrenches": {name: stack[:1] for name, stack in wrenches.items()}, "base": base}
    assert relative_error(evaluate(fj.forward_dynamics.function, robot, *motion[:2], tau, **options), motion[2]) < 1e-10
    rows = evaluate(fj.joint_wrenches.function, robot, *motion[:3], **options)
    assert relative_error(rows, evaluate(fj.joint_wrenches.function, free, *moved[:3], **options)) < TIGHT
    momentum = evaluate(fj.spatial_momentum.function, robot, *motion[:2])
    expected = evaluate(fj.spatial_momentum.function, free, *moved[:2])
    assert relative_error(np.concatenate(momentum), np.concatenate(expected)) < TIGHT


def test_a_leader_of_variable_stiffness_moves_its_followers():
    pair = fj.load("vsa_3r").joints[0].drive
    robot = coupled_tree([pair, fj.RigidDrive(MOTOR)])
    motion = 0.3 * np.random.default_rng(9).uniform(-1, 1, (5, robot.n))
    sigma = [np.array([3000.0, 0.0]), np.zeros(2), np.zeros(2)]
    moved = fj.motor_motion(robot, *motion, stiffness=sigma)
    symbols = [ca.SX.sym(f"y{k}", robot.n) for k in range(3)]
    links = ca.Function("f", symbols, [links_of(robot, *symbols)])(*map(ca.DM, motion[:3]))
    assert relative_error(moved.tau_e[0], np.ravel(links)[0]) < TIGHT and moved.tau_e[1] == moved.tau[1]
    assert relative_error(moved.spring_torque[1], np.ravel(links)[1]) < TIGHT
    found = fj.forward_dynamics(robot, motion[0], motion[1], moved.theta, moved.theta_v, moved.tau)
    assert relative_error(found.a, motion[2]) < 1e-9
    assert relative_error(found.theta_a[[0, 2]], moved.theta_a[[0, 2]]) < 1e-9


@pytest.mark.parametrize("springs", ["motor", "joint", None])
def test_a_coupled_transmission_of_two_leaders_with_followers(springs):
    T = np.array([[1.0, 1.0], [1.0, -0.6]])
    drive = fj.RigidDrive(fj.Motor(0.7)) if springs is None else fj.ElasticDrive(200.0, fj.Motor(0.7))
    robot = coupled_tree([drive])
    names = tuple(joint.name for joint in robot.joints)
    group = fj.drives.CoupledTransmission(names, T.tolist(), springs or "motor")
    robot = robot.replace(transmissions=(group,))
    motion = np.random.default_rng(10).uniform(-1, 1, (5, robot.n))
    symbols = [ca.SX.sym(f"y{k}", robot.n) for k in range(5)]
    bare = robot.replace(transmissions=()).with_drives([None] * 2)
    jets = [through(bare, lagrange, *symbols[:3])]
    jets += [rate(jets[0], symbols)]
    jets += [rate(jets[1], symbols)]
    if springs is None:  # Tᵀτ = links + Tᵀ B T q''
        tau = ca.DM(np.linalg.inv(T.T)) @ jets[0] + 0.7 * (ca.DM(T) @ symbols[2])
    elif springs == "motor":  # links get Tᵀτ_e, θ = T q + τ_e/K
        tau_e = [ca.DM(np.linalg.inv(T.T)) @ x for x in jets]
        tau = tau_e[0] + 0.7 * (ca.DM(T) @ symbols[2] + tau_e[2] / 200.0)
    else:  # motors feel T⁻ᵀτ_e, θ = T (q + τ_e/K)
        tau = ca.DM(np.linalg.inv(T.T)) @ jets[0] + 0.7 * (ca.DM(T) @ (symbols[2] + jets[2] / 200.0))
    wanted = np.array(ca.Function("f", symbols, [tau])(*map(ca.DM, motion)))[:, 0]
    needed = motion[:3] if springs is None else motion
    moved = evaluate(fj.motor_motion.function, robot, *needed)
    assert relative_error(moved.tau, wanted) < TIGHT
    state = motion[:2] if springs is None else (motion[0], motion[1], moved.theta, moved.theta_v)
    found = evaluate(fj.forward_dynamics.function, robot, *state, wanted)
    assert relative_error(found if springs is None else found.a, motion[2]) < 1e-10


def test_a_free_ratio_of_a_follower_with_friction():
    """Inverse dynamics with the ratio as an argument are those of the robot with that ratio."""
    robot = ROBOTS["springs"]
    link = robot.links[robot.followers[0].link]
    mimic = dataclasses.replace(link.joint.mimic, ratio=-0.35)
    joint = dataclasses.replace(link.joint, mimic=mimic)
    other = robot.replace(links=[dataclasses.replace(x, joint=joint) if x is link else x for x in robot.links])
    stack = np.random.default_rng(8).uniform(-1.0, 1.0, (5, robot.n))
    path = f"{joint.name}.mimic.ratio"
    symbols = [*(ca.SX.sym("q", robot.n) for _ in stack), ca.SX.sym("ratio")]
    tau = fj.inverse_dynamics(robot.with_symbols({path: symbols[-1]}), *symbols[:-1])
    found = np.array(ca.Function("f", symbols, [tau])(*stack, mimic.ratio))[:, 0]
    assert relative_error(found, evaluate(fj.inverse_dynamics, other, *stack)) < TIGHT
