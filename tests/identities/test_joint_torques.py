"""τ_e has one meaning: the torque of the spring, at a rigid joint that of the motor; each verb starts from another's.

A linearizing controller that starts from the output of `motor_motion` and the rate of `inverse_dynamics_step` keeps the
motion that its command belongs to; SciPy integrates robot and controller.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexjoint as fj
from support.errors import relative_error
from support.evaluate import evaluate
from support.lagrange import lagrange, rate
from support.rotors import with_random_rotors

MOTOR = fj.Motor(0.4, viscous_friction=0.3)
SPRING, RIGID = fj.ElasticDrive(400.0, MOTOR), fj.RigidDrive(fj.Motor(2.0, viscous_friction=0.7))
PAIR = fj.drives.AntagonisticDrive(*[fj.springs.CubicSpring(400.0, 2000.0)] * 2, MOTOR, MOTOR)
WRIST = ((1.0, 1.0), (-1.2, 0.9))
DURATION = 0.7


def mixed(*drives, tree=False):
    return fj.random_robot(len(drives), 8, prismatic=0.0, tree=tree, friction=True).with_drives(drives)


def coupled(robot, *group):
    names = [robot.joints[i].name for i in group]
    return robot.replace(transmissions=[fj.drives.CoupledTransmission(names, WRIST)])


ROBOTS = {
    "elastic and rigid": mixed(SPRING, RIGID, SPRING, RIGID, tree=True),
    "a rigid transmission among springs": coupled(mixed(RIGID, SPRING, RIGID), 0, 2),
    "variable stiffness, rigid": mixed(RIGID, PAIR, RIGID),
    "variable stiffness, rigid, elastic": mixed(PAIR, RIGID, SPRING, tree=True),
}
COMPLETE = with_random_rotors(fj.random_robot(3, 3), 5, elastic=1.0)
FIRST, SECOND, THIRD = (joint.drive for joint in COMPLETE.joints)
COMPLETE = COMPLETE.with_drives([FIRST, fj.RigidDrive(SECOND.motor), THIRD])


def motion(robot, t, order):
    """[q, q', ...] of q = Σ c_k t^k, with random coefficients."""
    c = np.random.default_rng(2).uniform(-0.4, 0.4, (6, robot.n))
    powers = [np.polynomial.Polynomial(x) for x in c.T]
    return np.array([[p.deriv(k)(t) if k else p(t) for p in powers] for k in range(order + 1)])


def stiffness(robot):
    rest = np.zeros(robot.n)
    return {"stiffness": [rest + 1200.0, rest, rest]} if any(robot.variable_stiffness) else {}


def law(robot, q, v, theta, theta_v, held, held_v, command):
    """Torque and its rate of change that the controller integrates."""
    if any(robot.variable_stiffness):
        state = (q, v, theta, theta_v, held, held_v, command)
        return fj.feedback_linearization(robot, *state, stiffness_command=ca.SX.zeros(robot.n))
    none = [ca.SX.zeros(robot.n)] * 4
    tracking = {"reference": [*none, command], "gains": none}
    return fj.control.laws.linearizing_control(robot, q, v, theta, theta_v, held, held_v, tracking=tracking)


def drift(robot, rates, start):
    """Largest error of q after a run along the motion; rates(t, x) are those of robot and controller."""
    run = solve_ivp(rates, (0.0, DURATION), start, method="DOP853", rtol=1e-11, atol=1e-11)
    return np.max(np.abs(run.y[: robot.n, -1] - motion(robot, DURATION, 0)[0]))


@pytest.mark.parametrize("name", ROBOTS)
def test_linearization_starts_from_motor_motion(name):
    robot = ROBOTS[name]
    n, m = robot.n, robot.motor_count
    x = [ca.SX.sym("x", size) for size in (n, n, m, m, n, n, n)]
    tau, top = law(robot, *x)
    accelerations = fj.forward_dynamics(robot, *x[:4], tau)
    f = ca.Function("f", x, [ca.vertcat(x[1], accelerations.a, x[3], accelerations.theta_a, x[5], top)])
    ends = np.cumsum([n, n, m, m, n])

    stack = motion(robot, 0.0, 4)
    found = fj.motor_motion(robot, *stack, **stiffness(robot))
    begin = np.zeros(m), np.zeros(n), np.zeros(n), np.array(0.0)
    step = fj.inverse_dynamics_step(robot, *begin, *stack, **stiffness(robot))
    assert relative_error(step.tau_e, found.tau_e) < 1e-13
    start = np.concatenate([stack[0], stack[1], found.theta, found.theta_v, found.tau_e, step.tau_e_v])

    def rates(t, y):
        return np.array(f(*np.split(y, ends), motion(robot, t, 4)[4]))[:, 0]

    assert drift(robot, rates, start) < 1e-8
    old = start.copy()  # without inertia and friction of the motors at rigid joints
    old[ends[3] : ends[4]] = np.where(robot.compliant, found.tau_e, found.spring_torque[:n])
    assert drift(robot, rates, old) > 1e-2


@pytest.mark.parametrize("name", ROBOTS)
def test_every_verb_has_the_same_torque(name):
    robot = ROBOTS[name]
    stack = motion(robot, 0.3, 4)
    found = fj.motor_motion(robot, *stack, **stiffness(robot))
    rigid = ~np.array(robot.compliant)
    assert np.array_equal(found.tau_e[rigid], found.tau[: robot.n][rigid])
    state = stack[0], stack[1], found.theta, found.theta_v
    springs = fj.dynamics.spring_torques(robot, *state).tau_e if not any(robot.variable_stiffness) else found.tau_e
    assert relative_error(found.tau_e, np.where(rigid, found.tau_e, springs)) < 1e-12
    forces = fj.dynamics.generalized_forces(robot, *state, stack[2], found.theta_a)
    assert relative_error(forces.tau_e, found.tau_e) < 1e-12
    plant, tau = fj.simulation.Plant(robot), ca.DM(found.tau)
    sensed = plant.measurement(fj.simulation.PlantState(*map(ca.DM, state)), tau).tau_e
    assert relative_error(np.array(ca.DM(sensed))[:, 0], found.tau_e) < 1e-12
    if not robot.transmissions:  # Lagrange's equations hold the motors of rigid joints
        q = [ca.SX.sym("q", robot.n) for _ in range(4)]
        tau = lagrange(robot, *q[:3])
        both = ca.Function("f", q, [ca.horzcat(tau, rate(tau, q))])
        torque, torque_rate = np.array(both(*stack[:4])).T
        assert relative_error(found.tau_e, torque) < 1e-12
        begin = np.zeros(robot.motor_count), np.zeros(robot.n), np.zeros(robot.n), np.array(0.0)
        step = fj.inverse_dynamics_step(robot, *begin, *stack, **stiffness(robot))
        assert relative_error(step.tau_e_v, torque_rate) < 1e-11


def test_complete_rotors():
    """generalized_forces and motor_motion agree, and a dynamic law that starts from their motion keeps it."""
    robot = COMPLETE
    order = fj.dynamics.chain_length(robot)
    stack = motion(robot, 0.0, order)
    found = fj.motor_motion(robot, *stack)
    forces = fj.dynamics.generalized_forces(robot, *stack[:2], found.theta, found.theta_v, stack[2], found.theta_a)
    assert relative_error(forces.tau_e, found.tau_e) < 1e-12
    assert found.tau_e[1] == found.tau[1]
    held = evaluate(fj.dynamics.extension_state, robot, *stack)
    n, size = robot.n, held.size
    x = [ca.SX.sym("x", k) for k in (n, n, n, n, size, n)]
    tau, top = fj.feedback_linearization(robot, *x[:4], x[5], x[4])
    a, theta_a = fj.forward_dynamics(robot, *x[:4], tau)
    f = ca.Function("f", x, [ca.vertcat(x[1], a, x[3], theta_a, top)])
    ends = np.cumsum([n, n, n, n])

    def rates(t, y):
        return np.array(f(*np.split(y, ends), motion(robot, t, order)[order]))[:, 0]

    start = np.concatenate([stack[0], stack[1], found.theta, found.theta_v, held])
    assert drift(robot, rates, start) < 1e-7
