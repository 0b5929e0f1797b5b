"""The complete model: its limits, its bookkeeping, and torques that bring about the motion they are for."""

import dataclasses
from functools import partial

import casadi as ca
import mpmath
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexjoint as fj
from flexjoint.compiler.ir.reference import MpmathArithmetic, interpret
from flexjoint.dynamics.recursion.articulated_body import by_articulated_bodies
from flexjoint.dynamics.recursion.bodies import rotors
from flexjoint.dynamics.recursion.composite_bodies import by_factorization
from flexjoint.robot import Link
from support.errors import recorded, relative_error
from support.evaluate import Symbolic, evaluate
from support.marks import long, some_long
from support.multiprecision import PRECISION, normwise_error
from support.rotors import coaxial, explicit, with_random_rotors

CHAIN = with_random_rotors(fj.random_robot(3, 11, prismatic=0.0), 1, elastic=1.0)
MIXED = with_random_rotors(fj.random_robot(5, 12, prismatic=0.2, friction=True), 3, elastic=0.5)


def with_motors(robot, change):
    """The robot with every motor changed."""
    drives = [dataclasses.replace(joint.drive, motor=change(joint.drive.motor)) for joint in robot.joints]
    return robot.with_drives(drives)


def states(robot, order, seed=1):
    return np.random.default_rng(seed).normal(size=(order + 1, robot.n))


# Limits -----------------------------------------------------------------------------------------------------------


def test_large_ratios_give_spong():
    """At a given B the coupling is B/η: the difference to Spong's model falls in proportion to 1/η."""
    order = fj.dynamics.derivative_orders(CHAIN).motion
    stack = states(CHAIN, order)
    differences = []
    for ratio in (1e4, 1e5, 1e6):
        robot = with_motors(CHAIN, lambda motor, ratio=ratio: dataclasses.replace(motor, gear_ratio=ratio))
        robot = robot.replace(rotors_in_links=True)
        spong = evaluate(fj.inverse_dynamics, robot.with_fidelity("spong"), *stack[:5])
        differences.append(relative_error(evaluate(fj.inverse_dynamics, robot, *stack), spong))
    assert 1e-9 < differences[-1] < 1e-4
    assert differences[0] / differences[1] == pytest.approx(10, rel=1e-2)
    assert differences[1] / differences[2] == pytest.approx(10, rel=1e-2)


def test_stiff_springs_give_the_rigid_geared_robot():
    """K → ∞ ties θ to q: M + S + Sᵀ + B, and the torques of the robot with rigid drives."""
    order = fj.dynamics.derivative_orders(CHAIN).motion
    stack = states(CHAIN, order)
    q = stack[0]
    A, n = evaluate(fj.mass_matrix, CHAIN, q, motors=True), CHAIN.n
    M, S, B = A[:n, :n], A[:n, n:], A[n:, n:]
    assert relative_error(evaluate(fj.mass_matrix, CHAIN.rigid(), q), M + S + S.T + B) < 1e-14
    assert relative_error(S + S.T, M) > 1e-3
    rigid = evaluate(fj.inverse_dynamics, CHAIN.rigid(), *stack[:3])
    errors = []
    for K in (1e8, 1e9):
        stiff = CHAIN.with_drives([fj.ElasticDrive(K, joint.drive.motor) for joint in CHAIN.joints])
        errors.append(relative_error(evaluate(fj.inverse_dynamics, stiff, *stack), rigid))
    assert errors[1] < 1e-6
    assert errors[0] / errors[1] == pytest.approx(10, rel=1e-2)


def test_schur_complement_is_the_inertia_without_axial_parts():
    """M − S B⁻¹ Sᵀ is the mass matrix of links that carry their rotors as Spong's model has it."""
    q = states(CHAIN, 0)[0]
    A, n = evaluate(fj.mass_matrix, CHAIN, q, motors=True), CHAIN.n
    M, S, B = A[:n, :n], A[:n, n:], A[n:, n:]
    without = evaluate(fj.mass_matrix, CHAIN.with_fidelity("spong"), q)
    assert relative_error(M - S @ np.linalg.solve(B, S.T), without) < 1e-13
    assert relative_error(M, without) > 1e-3


# Bookkeeping --------------------------------------------------------------------------------------------------------


def augmented(robot):
    """The links with the rotors they carry added by hand, and told so."""
    made, _ = explicit(robot)
    links = []
    for link in robot.links:
        parts = [(link.mass, np.array(link.com), np.array(link.inertia))]
        for rotor in made.links[len(robot.links) :]:
            if rotor.parent == link.name:
                R = np.array(rotor.joint.rotation)
                parts.append((rotor.mass, np.array(rotor.joint.position), R @ np.array(rotor.inertia) @ R.T))
        mass = sum(m for m, _, _ in parts)
        com = sum((m * c for m, c, _ in parts), np.zeros(3)) / (mass or 1.0)
        inertia = np.zeros((3, 3))
        for m, c, I in parts:
            d = c - com
            inertia += I + m * (d @ d * np.eye(3) - np.outer(d, d))
        links.append(Link(link.name, link.joint, link.parent, mass, com, (inertia + inertia.T) / 2))
    return robot.replace(links=links, rotors_in_links=True)


@pytest.mark.parametrize("fidelity", ["complete", "spong"])
@pytest.mark.parametrize("seed", range(3))
def test_links_with_and_without_rotors_are_one_robot(fidelity, seed):
    chain = fj.random_robot(5, seed, tree=True, fixed=0.4)
    robot = with_random_rotors(chain, seed, carriers="any", coupling=0.3).with_fidelity(fidelity)
    lumped = augmented(robot)
    assert sum(x.mass for x in lumped.links) > sum(x.mass for x in robot.links)
    x = states(robot, 5, seed)
    over_all = partial(fj.mass_matrix, motors=True)
    for function, arrays in ((fj.dynamics.generalized_forces, 6), (over_all, 1), (fj.gravity_energy, 1)):
        one, other = evaluate(function, robot, *x[:arrays]), evaluate(function, lumped, *x[:arrays])
        for a, b in zip(*((one, other) if isinstance(one, tuple) else ([one], [other]))):
            assert relative_error(a, b) < 1e-12


def test_spong_has_the_axial_inertia_in_B_alone():
    lighter = with_motors(CHAIN, lambda motor: dataclasses.replace(motor, inertia=motor.inertia / 2))
    q, n = states(CHAIN, 0)[0], CHAIN.n
    heavy, light = (evaluate(fj.mass_matrix, x.with_fidelity("spong"), q, motors=True) for x in (CHAIN, lighter))
    assert np.array_equal(heavy[:n, :n], light[:n, :n])
    assert np.array_equal(heavy[n:, n:], 2 * light[n:, n:])
    assert not np.any(heavy[:n, n:])


def test_a_motor_known_by_its_reflected_inertia_changes_no_link():
    robot = fj.load("kuka_lwr")
    q = states(robot, 0)[0]
    same = robot.replace(rotors_in_links=False)
    assert np.array_equal(evaluate(fj.mass_matrix, robot, q), evaluate(fj.mass_matrix, same, q))


# Motions ------------------------------------------------------------------------------------------------------------


def polynomial(coefficients, t, order):
    """[q, q', ...] of q(t) = Σ c_k t^k/k!."""
    powers = [t**k / float(mpmath.factorial(k)) for k in range(len(coefficients))]
    return np.array(
        [sum(coefficients[k + l] * powers[l] for l in range(len(coefficients) - k)) for k in range(order + 1)]
    )


def replayed(robot, inverse, forward, coefficients, torque, rtol=1e-10, max_step=np.inf, T=0.5):
    """How far, relatively, the torque leads links and motors from a polynomial motion, open loop; and their way."""
    order = fj.dynamics.derivative_orders(robot).motion

    def state(t):
        stack = polynomial(coefficients, t, order)
        motors = inverse(*stack)
        return np.concatenate([stack[0], motors.theta, stack[1], motors.theta_v])

    def rate(t, y):
        q, theta, v, theta_v = y.reshape(4, robot.n)
        a, theta_a = forward(q, v, theta, theta_v, torque(polynomial(coefficients, t, order)))
        return np.concatenate([v, theta_v, a, theta_a])

    end = solve_ivp(rate, (0.0, T), state(0.0), method="DOP853", rtol=rtol, atol=rtol / 100, max_step=max_step).y[:, -1]
    return relative_error(end, state(T)), relative_error(end, state(0.0))


@pytest.mark.parametrize(("n", "elastic"), [(2, 1.0), (3, 1.0), long(3, 0.5)])
def test_torques_bring_about_their_motion(n, elastic):
    """Inverse dynamics replayed open loop through forward dynamics: positions, velocities, and the motors'."""
    robot = with_random_rotors(fj.random_robot(n, 21, prismatic=0.0, friction=True), 5, elastic=elastic)
    order = fj.dynamics.derivative_orders(robot).motion
    coefficients = states(robot, order + 2, 3)
    inverse = Symbolic(fj.motor_motion, robot, *coefficients[: order + 1])
    forward = Symbolic(fj.forward_dynamics, robot, *coefficients[:5])
    error, way = replayed(robot, inverse, forward, coefficients, lambda stack: inverse(*stack).tau)
    assert error < 1e-8
    assert way > 0.1, "a motion that goes nowhere shows nothing"


@pytest.mark.parametrize("n", some_long([4, 7], "7"))
def test_torques_of_compiled_kernels_bring_about_their_motion(n):
    """Four joints in general position, and the LBR with modes up to 2700 rad/s; Spong's torques lead elsewhere."""
    general = with_random_rotors(fj.random_robot(4, 21, prismatic=0.0, friction=True), 5, elastic=1.0)
    robot = general if n == 4 else fj.load("dlr_lbr2")
    assert fj.dynamics.derivative_orders(robot).differentiations == 8
    coefficients = states(robot, 12, 3)
    inverse, forward = fj.compile(fj.motor_motion, robot), fj.compile(fj.forward_dynamics, robot)
    simpler = fj.compile(fj.inverse_dynamics, robot.with_fidelity("spong"))
    arm = (robot, inverse, forward, coefficients)
    step = np.inf if n == 4 else 2e-3  # s: trial steps of an explicit method must not leave its region of stability
    error, way = replayed(*arm, lambda stack: inverse(*stack).tau, max_step=step)
    elsewhere, _ = replayed(*arm, lambda stack: simpler(*stack[:5]), rtol=1e-6, max_step=step)
    assert error < 1e-9
    assert way > 0.1 and elsewhere > 1e-3


@pytest.mark.long
def test_seven_joints_compiled():
    """The 7R with orthogonal axes at order 8: rounding, derivatives in time, and forward dynamics back, in a batch."""
    robot = coaxial(fj.load("kuka_lwr"))
    order = fj.dynamics.derivative_orders(robot).motion
    coefficients = states(robot, order + 3, 5)
    h = 1e-3
    times = h * np.arange(-2, 3)
    stacks = np.stack([polynomial(coefficients, t, order) for t in times], axis=1)
    motion = fj.motor_motion(robot, *stacks)
    stencil = np.array([1.0, -8.0, 0.0, 8.0, -1.0]) / (12 * h)
    assert relative_error(stencil @ motion.theta, motion.theta_v[2]) < 1e-9
    assert relative_error(stencil @ motion.theta_v, motion.theta_a[2]) < 1e-9

    program, _ = fj.motor_motion.trace(robot, fj.motor_motion.structure(robot))
    with mpmath.workprec(PRECISION):
        exact = interpret(program, [[mpmath.mpf(float(x)) for x in row] for row in stacks[:, 0]], MpmathArithmetic())
    for field, found in zip(exact, motion):
        if found is not motion.deflection and found is not motion.deflection_v:
            assert recorded(normwise_error(found[0], field)) < 2e-15

    back = evaluate(
        fj.forward_dynamics,
        with_soft_rounding(robot),
        stacks[0, 0],
        stacks[1, 0],
        stacks[0, 0] + motion.deflection[0] * 1e4,
        motion.theta_v[0],
        motion.tau[0],
    )
    assert relative_error(back.a, stacks[2, 0]) < 1e-11
    assert relative_error(back.theta_a, motion.theta_a[0]) < 1e-11


def with_soft_rounding(robot):
    """Springs ten thousand times softer: θ − q = 10⁴ φ gives the same torques without losing digits."""
    drives = [fj.ElasticDrive(joint.drive.stiffness / 1e4, joint.drive.motor) for joint in robot.joints]
    return robot.with_drives(drives)


def test_both_ways_of_forward_dynamics():
    """Articulated bodies and factorization carry the same spins, in a tree with sliding joints."""
    tree = fj.random_robot(6, 51, tree=True, fixed=0.4, prismatic=0.3)
    robot = with_random_rotors(tree, 6, elastic=1.0, carriers="any")
    momenta = np.random.default_rng(1).normal(size=(robot.n, 2))

    def by(way):
        def function(robot, q, v, tau):
            spins = [(rotor, list(momenta[rotor.coordinate])) for rotor in rotors(robot)]
            return way(robot, q, v, tau, None, None, spins)

        return evaluate(function, robot, *states(robot, 2))

    assert sum(rotor.body >= 0 for rotor in rotors(robot)) > 2
    assert relative_error(by(by_articulated_bodies), by(by_factorization)) < 1e-12


def test_moving_base():
    """A base that turns about an axis is a further joint whose motion is known."""
    n, order = 3, 8
    arm = with_random_rotors(fj.random_robot(n, 31, prismatic=0.0), 7, elastic=1.0)
    stand = Link("stand", fj.Joint("stand_joint"), mass=1.0, inertia=0.1 * np.eye(3))
    links = [dataclasses.replace(x, parent="stand" if x.parent == "base" else x.parent) for x in arm.links]

    def on_stand(link):
        drive = link.joint.drive
        motor = dataclasses.replace(
            drive.motor, carrier="stand" if drive.motor.carrier == "base" else drive.motor.carrier
        )
        joint = dataclasses.replace(link.joint, drive=dataclasses.replace(drive, motor=motor))
        return dataclasses.replace(link, joint=joint)

    carried = arm.replace(links=[stand, *map(on_stand, links)])
    stack = states(carried, fj.dynamics.derivative_orders(carried).motion, 9)
    stack[0, 0] = 0.0
    z = np.array([0.0, 0.0, 1.0])
    base = fj.BaseMotion([x * z for x in stack[1 : order + 1, 0]], [np.zeros(3)] * (order - 1))
    found = evaluate(fj.motor_motion, arm, *stack[: order + 1, 1:], base=base)
    expected = evaluate(fj.motor_motion, carried, *stack)
    still = evaluate(fj.motor_motion, arm, *stack[: order + 1, 1:])
    for mine, theirs, other in zip(found, expected, still):
        assert relative_error(mine, theirs[1:]) < 1e-12
        assert relative_error(other, theirs[1:]) > 1e-4
    q, v, a = stack[:3, 1:]
    forces = evaluate(
        fj.dynamics.generalized_forces, arm, q, v, found.theta, found.theta_v, a, found.theta_a, base=base
    )
    assert relative_error(forces.tau_e, found.tau_e) < 1e-12
    back = evaluate(fj.forward_dynamics, arm, q, v, found.theta, found.theta_v, found.tau, base=base)
    assert relative_error(back.a, a) < 1e-11
    assert relative_error(back.theta_a, found.theta_a) < 1e-11


def test_wrenches_enter_with_all_their_derivatives():
    """Inverse dynamics with a wrench, then forward with the same one; a shorter stack is refused."""
    robot = with_random_rotors(fj.random_robot(3, 41, prismatic=0.0), 2, elastic=1.0)
    orders = fj.dynamics.derivative_orders(robot)
    stack = states(robot, orders.motion)
    w = list(np.random.default_rng(3).normal(size=(orders.differentiations + 1, 6)))
    motion = evaluate(fj.motor_motion, robot, *stack, wrenches={robot.tool: w})
    back = evaluate(
        fj.forward_dynamics,
        robot,
        *(stack[0], stack[1], motion.theta, motion.theta_v, motion.tau),
        wrenches={robot.tool: w[:1]},
    )
    assert relative_error(back.a, stack[2]) < 1e-11
    assert relative_error(back.theta_a, motion.theta_a) < 1e-11
    with pytest.raises(fj.InputError, match="needs its first 6 derivatives"):
        evaluate(fj.motor_motion, robot, *stack, wrenches={robot.tool: w[:3]})


def test_power_of_a_mixed_robot():
    """The energy of links and motors changes by what motors, friction and springs do."""
    robot = MIXED.with_gravity([0.0, 0.0, 0.0])
    robot = with_motors(robot, lambda motor: dataclasses.replace(motor, viscous_friction=0.0))
    links = [dataclasses.replace(x, joint=dataclasses.replace(x.joint, viscous_friction=0.0)) for x in robot.links]
    robot = robot.replace(links=links)
    springs = [i for i in range(robot.n) if robot.compliant[i]]
    assert 0 < len(springs) < robot.n
    q, v, a, theta_v, theta_a = (ca.SX.sym(name, robot.n) for name in ("q", "v", "a", "tv", "ta"))
    y = ca.vertcat(v, theta_v[springs])
    energy = ca.dot(y, fj.mass_matrix(robot, q, motors=True) @ y) / 2
    power = ca.jtimes(energy, q, v) + ca.jtimes(energy, v, a) + ca.jtimes(energy, theta_v, theta_a)
    x = states(robot, 4)
    value = float(ca.Function("power", [q, v, a, theta_v, theta_a], [power])(*x))
    forces = evaluate(
        fj.dynamics.generalized_forces, robot, x[0], x[1], x[0], x[3], x[2], x[4]
    )  # θ = q: the springs are at rest
    done = forces.tau_e @ x[1] + forces.tau[springs] @ x[3][springs]
    assert value == pytest.approx(done, rel=1e-12)
