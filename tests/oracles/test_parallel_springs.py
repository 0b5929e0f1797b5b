"""Parallel springs against MuJoCo (stiffness, springref) and Lagrange's equations by automatic differentiation.

Most checks are those of robots without parallel springs: their reference is Lagrange's, whose potential energy contains
these springs (`support/lagrange.py`).
"""

from dataclasses import replace

import casadi as ca
import mujoco
import numpy as np
import pytest
from scipy.linalg import eigh

import flexjoint as fj
from identities import (
    test_coupled_transmissions as coupled,
    test_elastic as elastic,
    test_elastic_dynamics as dynamics,
    test_mixed_control as mixed,
    test_passivity as passivity,
    test_spring_energy as energy,
    test_variable_stiffness as variable,
)
from oracles import test_rotor_damping as rotor_damping, test_rotor_linearization as linearization
from oracles.test_mujoco import mujoco_model
from support.errors import relative_error
from support.evaluate import evaluate
from support.explicit_plant import Plant
from support.lagrange import kinetic, lagrange, rate, stored
from support.marks import long, some_long
from support.motors import forward
from support.parallel import sprung
from support.rotors import explicit, lbr, with_random_rotors

TOLERANCE = 1e-12
RIGID = {
    "one": sprung(fj.random_robot(1, 3, friction=True)),
    "chain": sprung(fj.random_robot(6, 31, prismatic=0.4, friction=True)),
    "tree": sprung(fj.random_robot(5, 23, prismatic=0.4, tree=True, fixed=0.4, friction=True)),
}
COMPLETE = {
    "general": sprung(linearization.chain(3, elastic=1.0)),
    "mixed": sprung(with_random_rotors(fj.random_robot(4, 3, prismatic=0.2, friction=True), 3, elastic=0.5)),
    "orthogonal": sprung(lbr(4, stiffness=300.0)),
}


def each(robots, *long):
    return pytest.mark.parametrize("robot", some_long(robots, *long))


def some(robots, *names):
    """Robots of other tests with parallel springs."""
    return each({name: sprung(robots[name]) for name in names})


def numbers(expressions, given, values):
    found = ca.Function("f", given, [ca.densify(ca.SX(x)) for x in expressions]).call([ca.DM(x) for x in values])
    return [np.array(x) for x in found]


# Rigid joints -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "tree"), [(1, False), (7, False), (12, True), long(30, True)])
def test_joint_stiffness_of_mujoco(n, tree):
    """Inverse and forward dynamics with stiffness and springref of the joints."""
    robot = sprung(fj.random_robot(n, 40 + n, prismatic=0.3, tree=tree, friction=True), n, cubic=False)
    model = mujoco_model(robot)
    stiffness = [joint.parallel_spring.stiffness if joint.parallel_spring else 0.0 for joint in robot.joints]
    assert [model.joint(joint.name).stiffness[0] for joint in robot.joints] == stiffness
    data, rng = mujoco.MjData(model), np.random.default_rng(1)
    order = [model.joint(joint.name).id for joint in robot.joints]  # MuJoCo goes depth first
    q, v, a = rng.normal(size=(3, n))
    data.qpos[order], data.qvel[order], data.qacc[order] = q, v, a
    mujoco.mj_inverse(model, data)
    tau = evaluate(fj.inverse_dynamics, robot, q, v, a)
    assert relative_error(tau, data.qfrc_inverse[order]) < TOLERANCE
    data.qfrc_applied[order] = tau
    mujoco.mj_forward(model, data)
    found = evaluate(fj.forward_dynamics, robot, q, v, tau)
    assert relative_error(found, data.qacc[order]) < 1e-10
    assert relative_error(found, a) < 1e-10


@each(RIGID, "chain")
def test_torques_and_their_derivatives_are_lagranges(robot):
    n, rng = robot.n, np.random.default_rng(0)
    top = 4 if n == 1 else 3
    stack, values = [ca.SX.sym("q", n) for _ in range(top + 3)], rng.normal(size=(top + 3, n))
    expected = [lagrange(robot, *stack[:3])]
    for _ in range(top):
        expected.append(rate(expected[-1], stack))
    found = fj.torque_derivatives(robot, *stack, order=top)
    for k, (x, y) in enumerate(zip(numbers(found, stack, values), numbers(expected, stack, values))):
        assert relative_error(x, y) < TOLERANCE, f"order {k}"
    for algorithm, known in ((fj.bias_torque, 2), (fj.dynamics.static_torque, 1)):
        still = [*values[:known], *np.zeros((3 - known, n))]
        (x,) = numbers([algorithm(robot, *stack[:known])], stack[:known], values[:known])
        (y,) = numbers(expected[:1], stack[:3], still)
        assert relative_error(x, y) < TOLERANCE
    (g,) = numbers([fj.gravity_torque(robot, stack[0])], stack[:1], values[:1])
    (plain,) = numbers([fj.gravity_torque(robot.without_parallel_springs(), stack[0])], stack[:1], values[:1])
    assert np.array_equal(g, plain)
    assert relative_error(x, g) > 1e-3


@each(RIGID)
@pytest.mark.parametrize("variant", ["christoffel", "0001"])
def test_modified_newton_euler(robot, variant):
    """With equal velocities inverse dynamics; the second velocity does not reach the springs."""
    q, v, w, a = np.random.default_rng(2).normal(size=(4, robot.n))
    found = evaluate(fj.dynamics.modified_newton_euler, robot, q, v, v, a, variant=variant)
    assert relative_error(found, evaluate(fj.inverse_dynamics, robot, q, v, a)) < TOLERANCE
    without = robot.without_parallel_springs()
    pull = [
        evaluate(fj.dynamics.modified_newton_euler, robot, q, v, x, a)
        - evaluate(fj.dynamics.modified_newton_euler, without, q, v, x, a)
        for x in (v, w)
    ]
    assert relative_error(*pull) < TOLERANCE


def test_followers():
    """τ_y = Gᵀτ of the robot with free joints at q = G y + c, and the energy there; followers have springs too."""
    free = sprung(fj.random_robot(5, 8, prismatic=0.3, tree=True), share=1.0)
    names = [joint.name for joint in free.joints]
    follows = {names[3]: fj.robot.Mimic(names[1], -1.4, 0.3), names[4]: fj.robot.Mimic(names[3], 0.6, -0.2)}
    links = [replace(x, joint=replace(x.joint, mimic=follows.get(x.joint.name))) for x in free.links]
    robot = free.replace(links=links)
    G, c = robot.coupling
    y = np.random.default_rng(0).normal(size=(5, robot.n))
    q = [G @ y[0] + c, *(G @ x for x in y[1:])]
    found = evaluate(lambda *x: fj.torque_derivatives(*x, order=2), robot, *y)
    expected = evaluate(lambda *x: fj.torque_derivatives(*x, order=2), free, *q) @ G
    assert relative_error(found, expected) < TOLERANCE
    held = [evaluate(fj.dynamics.static_torque, *x) for x in ((robot, y[0]), (free, q[0]))]
    assert relative_error(held[0], held[1] @ G) < TOLERANCE
    stores = [evaluate(fj.dynamics.spring_energy, *x) for x in ((robot, y[0], y[0]), (free, q[0], q[0]))]
    assert relative_error(*stores) < TOLERANCE
    assert fj.control.joint_modes(robot, y[0]).frequencies[0] > 0


# Elastic joints -----------------------------------------------------------------------------------------------------


@each({robot.name: sprung(robot) for robot in elastic.ROBOTS})
def test_motor_motion(robot):
    """Motion and torque of the motors, with every derivative and with wrenches."""
    elastic.test_motor_motion_is_lagranges(robot)


@some(dynamics.ROBOTS, "springs in a tree", "damped", "every kind in a tree")
def test_forward_dynamics_and_feedback_linearization(robot):
    dynamics.test_accelerations_are_those_of_lagrange(robot)
    dynamics.test_link_motion_is_the_derivative_of_the_acceleration(robot)
    dynamics.test_every_mix_becomes_chains_of_integrators(robot)


def test_long_chains_take_articulated_bodies(monkeypatch):
    """M⁻¹b of N = 18 is without parallel springs."""
    plain = fj.random_robot
    monkeypatch.setattr(fj, "random_robot", lambda *x, **more: sprung(plain(*x, **more)))
    dynamics.test_long_chains_take_articulated_bodies()


@some(dynamics.ROBOTS, "damped", "every kind in a tree")
def test_damped_springs(robot):
    """A step of no time from any state: the torque brings about the motion."""
    rng = np.random.default_rng(4)
    motion, state = rng.normal(size=(5, robot.n)), rng.normal(size=(3, robot.n))
    found = evaluate(fj.inverse_dynamics_step, robot, *state, np.zeros(()), *motion)
    x = dynamics.symbols(robot, "q v theta theta_v tau")
    given = [*motion[:2], found.theta, found.theta_v, found.tau]
    a, theta_a = dynamics.value(dynamics.model(robot, *x), x, given)
    assert relative_error(a, motion[2]) < 1e-10
    assert relative_error(np.where(robot.compliant, theta_a, a), found.theta_a) < 1e-10


@each({x: sprung(variable.ROBOTS[x]) for x in ("three laws", "a lever and a rigid joint")}, "three laws")
def test_variable_stiffness(robot):
    variable.test_accelerations_are_those_of_lagrange(robot)
    variable.test_motions_obey_the_equations(robot)
    if all(robot.compliant):
        variable.test_feedback_linearization_brings_about_its_commands(robot)
    q = 0.1 * np.ones(robot.n)
    rest = fj.simulation.at_rest(robot, q, 900.0)
    tau = fj.motor_motion(robot, q, *np.zeros((4, robot.n)), stiffness=[np.full(robot.n, 900.0), 0 * q, 0 * q]).tau
    moved = evaluate(forward, robot, *rest, np.asarray(tau))
    assert max(np.max(np.abs(x)) for x in moved) < 1e-9 * np.max(np.abs(tau))


@pytest.mark.parametrize("name", ["differential wrist, springs at the joints", "branches", "branches, rigid"])
def test_coupled_transmissions(name, monkeypatch):
    robot = sprung(coupled.UNDAMPED[name])
    for robots in (coupled.UNDAMPED, coupled.ROBOTS):
        monkeypatch.setitem(robots, name, robot)
    monkeypatch.setattr(coupled, "model", lambda name, order=2: coupled.equations(robot, order))
    coupled.test_inverse_dynamics(name)
    coupled.test_forward_dynamics(name)


# Complete rotors ----------------------------------------------------------------------------------------------------


@each(COMPLETE)
def test_complete_rotors(robot):
    """The torques of inverse dynamics bring about the motion of links and rotors as bodies of their own."""
    order = fj.dynamics.derivative_orders(robot).motion
    stack = np.random.default_rng(1).normal(size=(order + 1, robot.n))
    found = evaluate(fj.motor_motion, robot, *stack)
    plant = Plant(robot)
    a, theta_a = plant(*stack[:2], found.theta, found.theta_v, found.tau)
    assert relative_error(a, stack[2]) < 1e-9
    assert relative_error(theta_a, found.theta_a) < 1e-9
    x = np.random.default_rng(2).normal(size=(5, robot.n))
    for y, z in zip(evaluate(forward, robot, *x), plant(*x)):
        assert relative_error(y, z) < 1e-11
    state = (*stack[:2], found.theta, found.theta_v, stack[2], found.theta_a)
    forces = evaluate(fj.dynamics.generalized_forces, robot, *state)
    assert relative_error(forces.tau, found.tau) < TOLERANCE
    assert relative_error(forces.tau_e, found.tau_e) < TOLERANCE


def test_damped_springs_of_the_complete_model(monkeypatch):
    monkeypatch.setitem(rotor_damping.ROBOTS, "the last", sprung(rotor_damping.ROBOTS["the last"]))
    rotor_damping.test_torques_bring_about_the_motion("the last")


@pytest.mark.parametrize("name", ["general 2R", "prismatic"])
def test_dynamic_extension(name, monkeypatch):
    robot, *sizes = linearization.ROBOTS[name]
    monkeypatch.setitem(linearization.ROBOTS, name, (sprung(robot), *sizes))
    linearization.test_derivatives_of_the_motion(name)


# Energy, modes, linear models ---------------------------------------------------------------------------------------


@each({name: sprung(robot) for name, robot in energy.CASES.items() if name in ("damped", "elastic", "complete")})
def test_power_becomes_energy_or_friction(robot):
    energy.test_the_power_of_the_motors_becomes_energy_or_friction(robot)


@each(RIGID)
def test_energy(robot):
    q = ca.SX.sym("q", robot.n)
    pull = fj.gravity_torque(robot, q) - fj.dynamics.static_torque(robot, q)
    given = [fj.dynamics.spring_energy(robot, q, q), stored(robot, q), pull, -ca.gradient(stored(robot, q), q)]
    x, y, torque, slope = numbers(given, [q], np.random.default_rng(0).normal(size=(1, robot.n)))
    assert relative_error(x, y) < TOLERANCE
    assert relative_error(torque, slope) < TOLERANCE


@each({**COMPLETE, "rigid": RIGID["tree"]})
def test_modes(robot):
    """Frequencies of the mass matrix and the second derivatives of the springs' energy, by Lagrange and SciPy."""
    q = np.linspace(-0.4, 0.7, robot.n)
    if any(robot.compliant):
        made, project = explicit(robot)
        kept = [*range(robot.n), *(robot.n + i for i in np.flatnonzero(robot.compliant))]
    else:
        made, project, kept = robot, np.eye(robot.n), list(range(robot.n))
    P, y = project[:, kept], ca.SX.sym("y", len(kept))
    x, dx = ca.SX.sym("x", made.n), ca.SX.sym("dx", made.n)
    M = ca.Function("M", [x], [ca.hessian(kinetic(made, x, dx), dx)[0]])
    deflections = (
        np.asarray(fj.simulation.at_rest(robot, q).theta)[np.flatnonzero(robot.compliant)] - q[list(robot.compliant)]
    )
    springs = [robot.joints[i].drive.stiffness for i in np.flatnonzero(robot.compliant)]
    U = stored(robot, y[: robot.n])
    for k, (i, K) in enumerate(zip(np.flatnonzero(robot.compliant), springs)):
        U += K * (y[robot.n + k] - y[int(i)]) ** 2 / 2
    at = np.concatenate([q, q[list(robot.compliant)] + deflections])
    K = np.array(ca.Function("K", [y], [ca.hessian(U, y)[0]])(at))
    expected = np.sqrt(np.maximum(eigh(K, P.T @ np.array(M(P @ at)) @ P, eigvals_only=True), 0.0))
    found = fj.control.joint_modes(robot, q).frequencies
    assert np.allclose(found, expected, rtol=1e-9, atol=1e-5 * expected[-1])
    assert np.count_nonzero(found > 1e-6 * found[-1]) == sum(robot.compliant) + len(robot.parallel_springs)
    assert np.allclose(fj.analysis.joint_eigenfrequencies(robot, q), found[found > 0], rtol=1e-10)


@each({"mixed": COMPLETE["mixed"], "general": COMPLETE["general"]}, "general")
def test_linearize(robot):
    """∂(q'', θ'')/∂(q, θ, q', θ', τ) = A⁻¹ ∂b/∂(...) at rest, from the terms A x'' = b of the explicit plant."""
    n, plant, q = robot.n, Plant(robot), np.linspace(-0.4, 0.7, robot.n)
    model, state, tau = (
        fj.analysis.linearize(robot, q),
        fj.simulation.at_rest(robot, q),
        fj.dynamics.static_torque(robot, q),
    )
    y, dy, u = (ca.SX.sym(name, k) for name, k in (("y", len(plant.kept)), ("dy", len(plant.kept)), ("u", n)))
    A, b = plant.terms(y, dy, u)
    f = ca.Function("f", [y, dy, u], [A, b, ca.jacobian(b, ca.vertcat(y, dy, u))])
    A, b, slopes = (np.array(x) for x in f(np.concatenate([q, state.theta])[plant.kept], 0, tau))
    assert np.max(np.abs(b)) < 1e-11 * np.max(np.abs(tau))  # it rests
    J = np.linalg.solve(A, slopes)
    p = len(plant.kept)
    assert relative_error(model.A[p:], J[:, : 2 * p]) < 1e-11
    assert relative_error(model.B[p:], J[:, 2 * p :]) < 1e-11


# Control laws -------------------------------------------------------------------------------------------------------


def test_passivity_based_laws():
    """Their Lyapunov functions fall as promised."""
    robot = sprung(passivity.ROBOTS[0])
    passivity.test_passivity_law(robot, "christoffel")
    passivity.test_adaptive_law(robot)


@each({robot.name: sprung(robot) for robot in mixed.ROBOTS[:2]})
def test_mixed_laws(robot):
    mixed.test_lyapunov_function(robot)
    mixed.test_lyapunov_algorithm(robot)


def test_adaptive_mixed_law():
    mixed.test_adaptive_law(sprung(mixed.UNKNOWN[0]))
