"""Friction laws on trees of 1 to 30 joints: link torques of Pinocchio and the formula of docs/friction.md in NumPy."""

import numpy as np
import pytest

import flexjoint as fj
from support.errors import relative_error
from support.evaluate import evaluate
from support.friction import law, supplied, with_friction
from support.pinocchio_model import pinocchio_rnea


def tree(n):
    """Rigid and elastic joints, every law on links and motors; on both sides of springs it depends on their torque."""
    links = fj.random_robot(n, n, prismatic=0.3, tree=True)
    drives = [
        fj.ElasticDrive(400.0 + 10.0 * k, fj.Motor(0.3)) if (k + n) % 2 else fj.RigidDrive(fj.Motor(0.2))
        for k in range(n)
    ]
    return with_friction(links.with_drives(drives), n)


@pytest.fixture(scope="module", params=[1, 2, 7, 30])
def robot(request):
    return tree(request.param)


def on_links(robot, v, tau_e):
    return np.array([float(law(joint.friction, *given, m=np)) for joint, *given in zip(robot.joints, v, tau_e)])


def on_motors(robot, theta_v, tau_e):
    laws = [joint.drive.motor.friction for joint in robot.joints]
    return np.array([float(law(x, *given, m=np)) for x, *given in zip(laws, theta_v, tau_e)])


def test_inverse_dynamics(robot):
    stack = 0.5 * np.random.default_rng(robot.n).normal(size=(5, robot.n))
    found = fj.dynamics.MotorMotion(*map(np.ravel, evaluate(fj.motor_motion, robot, *stack)))
    needed = pinocchio_rnea(robot, *stack[:3])
    tau_e = np.array([float(supplied(j.friction, *given, m=np)) for j, *given in zip(robot.joints, stack[1], needed)])
    assert relative_error(tau_e - on_links(robot, stack[1], tau_e), needed) < 1e-12
    rigid = ~np.array(robot.compliant)
    inertia = np.array([joint.drive.motor.inertia for joint in robot.joints])
    theta_v, theta_a = (np.where(rigid, y, x) for x, y in zip((found.theta_v, found.theta_a), stack[1:3]))
    tau = tau_e + inertia * theta_a + on_motors(robot, theta_v, tau_e)
    assert relative_error(found.tau, tau) < 1e-12
    assert relative_error(found.tau_e, np.where(rigid, tau, tau_e)) < 1e-12
    springs = [i for i in range(robot.n) if robot.compliant[i]]
    if springs:
        stiffness = np.array([robot.joints[i].drive.stiffness for i in springs])
        assert relative_error(found.theta[springs] - stack[0][springs], tau_e[springs] / stiffness) < 1e-12


def test_forward_dynamics(robot):
    """The accelerations that are found, given to Pinocchio, need the torques there are."""
    rng = np.random.default_rng(robot.n + 1)
    q, v, theta_v, tau = rng.normal(size=(4, robot.n))
    theta = q + 0.02 * rng.normal(size=robot.n)
    springs = np.array(robot.compliant)
    stiffness = np.array([getattr(joint.drive, "stiffness", 0.0) for joint in robot.joints])
    tau_e = stiffness * (theta - q)
    inertia = np.array([joint.drive.motor.inertia for joint in robot.joints])
    if any(springs):
        a, theta_a = evaluate(fj.forward_dynamics, robot, q, v, theta, theta_v, tau)
    else:
        a = theta_a = np.ravel(evaluate(fj.forward_dynamics, robot, q, v, tau))
    rubbed = on_motors(robot, np.where(springs, theta_v, v), tau_e)
    driving = np.where(springs, tau_e, tau - rubbed - inertia * np.ravel(a))
    assert relative_error(pinocchio_rnea(robot, q, v, np.ravel(a)) + on_links(robot, v, tau_e), driving) < 1e-12
    if any(springs):
        assert relative_error(np.ravel(theta_a)[springs], ((tau - rubbed - tau_e) / inertia)[springs]) < 1e-12
