"""Simulations on a moving base against SciPy over Pinocchio: six joints carry the base there, and rotors are bodies.

The base follows its trajectory whatever the robot does; what is left of the equations of motion is integrated.
"""

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

import flexjoint as fj
from support.errors import relative_error
from support.evaluate import evaluate
from support.marks import some_long
from support.moving_base import carried_base
from support.pinocchio_model import pinocchio_model, pinocchio_order
from support.rotors import explicit, with_random_rotors

CHAIN = with_random_rotors(fj.random_robot(3, 1, prismatic=0.3, friction=True), 3)
TREE = with_random_rotors(fj.random_robot(4, 6, tree=True, prismatic=0.2), 6, carriers="any")
SHIP = fj.trajectory.Sinusoid(
    [[0.1, 0.05, 0.2, 0.3, 0.2, 0.4]], [0.9, 1.3, 0.7, 1.1, 0.8, 0.6], np.arange(6.0), 0.2 * np.arange(6.0)
)
DURATION = 0.25
PERMUTED = [0, 1, 2, 5, 4, 3]  # x, y, z, yaw, pitch, roll: the order of the six joints


def pinocchio_motion(robot, torque, start, t):
    """Links and motors (m, 2n) at times t under a constant torque."""
    made, P = explicit(robot)
    whole = carried_base(made)
    model, order = pinocchio_model(whole), pinocchio_order(whole)
    data = model.createData()
    n, elastic = robot.n, np.array(robot.compliant)
    free = np.concatenate([np.ones(n, dtype=bool), elastic])  # θ of rigid joints has no column in P
    K = np.array([x.drive.stiffness if isinstance(x.drive, fj.ElasticDrive) else 0.0 for x in robot.joints])
    D = np.array([x.viscous_friction for x in robot.joints])
    D_m = np.array([x.drive.motor.viscous_friction for x in robot.joints])

    def rates(now, x):
        y, w = np.zeros(2 * n), np.zeros(2 * n)
        y[free], w[free] = np.split(x, 2)
        pose = SHIP(now, 2)[:, PERMUTED]
        stages = [np.concatenate([b, P @ z])[order] for b, z in zip(pose, (y, w, np.zeros(2 * n)))]
        bias, M = np.empty(whole.n), np.empty((whole.n, whole.n))
        upper = np.triu(pin.crba(model, data, stages[0]))
        bias[order], M[np.ix_(order, order)] = pin.rnea(model, data, *stages), upper + np.triu(upper, 1).T
        M = P.T @ M[6:, 6:] @ P
        spring = K * (y[n:] - y[:n]) * elastic
        links = spring - D * w[:n] + np.where(elastic, 0.0, torque - D_m * w[:n])
        motors = torque - spring - D_m * w[n:]
        force = np.concatenate([links, motors]) - P.T @ bias[6:]
        return np.concatenate([w[free], np.linalg.solve(M[np.ix_(free, free)], force[free])])

    x0 = np.concatenate([np.concatenate(pair)[free] for pair in ((start.q, start.theta), (start.v, start.theta_v))])
    found = solve_ivp(rates, (0.0, t[-1]), x0, "DOP853", t, rtol=1e-11, atol=1e-11)
    assert found.success
    y = np.zeros((len(t), 2 * n))
    y[:, free] = found.y[: free.sum()].T
    return y


@pytest.mark.parametrize("robot", some_long({"chain": CHAIN, "tree": TREE}, "chain"))
def test_simulated_on_a_moving_base(robot):
    """Complete rotors, rigid and elastic joints, friction; gravity turns with the base."""
    rng = np.random.default_rng(2)
    q, v, theta, theta_v = 0.3 * rng.normal(size=(4, robot.n))
    start = fj.JointState(q, v, q + 0.1 * theta, theta_v)
    torque = rng.normal(size=robot.n)
    law = fj.control.OpenLoop(robot)
    run = fj.simulate(robot, law, torque, DURATION, period=1e-3, substeps=5, start=start, base=SHIP, check=False)
    expected = pinocchio_motion(robot, torque, start, run.t)
    assert relative_error(run.q, expected[:, : robot.n]) < 1e-8
    elastic = np.array(robot.compliant)
    assert 0 < elastic.sum() < robot.n
    assert relative_error(run.theta[:, elastic], expected[:, robot.n :][:, elastic]) < 1e-8
    np.testing.assert_array_equal(run.more["base"], SHIP(run.t, 0)[0])


def test_base_motion_of_a_pose():
    """ω₀, ω₀' and a₀ are those of a frame on six joints of Pinocchio's."""
    robot = fj.random_robot(1, 0)
    whole = carried_base(robot)
    model, order = pinocchio_model(whole), pinocchio_order(whole)
    data = model.createData()
    pose = SHIP(0.37, 2)
    full = [np.append(x[PERMUTED], 0.0)[order] for x in pose]
    pin.forwardKinematics(model, data, *full)
    carrier = model.getJointId("carrier5_joint")
    v, a = (f(model, data, carrier, pin.LOCAL_WORLD_ALIGNED) for f in (pin.getVelocity, pin.getClassicalAcceleration))
    R = home_rotation(pose[0, 3:])
    found = fj.dynamics.base_motion(robot, *pose)
    g = robot.gravity
    assert relative_error(found.angular_velocity[0], R.T @ v.angular) < 1e-14
    assert relative_error(found.angular_velocity[1], R.T @ a.angular) < 1e-14
    assert relative_error(found.acceleration[0] - g, R.T @ (a.linear - g)) < 1e-14


def home_rotation(angles):
    return pin.rpy.rpyToMatrix(*angles)


def test_torque_derivatives_on_a_moving_base():
    """Higher derivatives of the base: τ_e' and τ_e'' are the time derivatives of τ_e along a motion."""
    robot = fj.random_robot(3, 5, prismatic=0.3)
    t = ca.SX.sym("t")

    def stack(x, count):
        found = [x]
        for _ in range(count):
            found.append(ca.jacobian(found[-1], t))
        return found

    q = stack(0.5 * ca.sin(1.5 * t + np.arange(3)), 4)
    pose = stack(0.3 * ca.sin((1 + 0.2 * np.arange(6)) * t + np.arange(6)), 4)
    first = fj.torque_derivatives(robot, *q[:3], base=fj.dynamics.base_motion(robot, *pose[:3]))[0]
    expected = ca.Function("f", [t], stack(first, 2))(0.4)
    now = [np.array(x)[:, 0] for x in ca.Function("f", [t], [*q, *pose])(0.4)]
    base = fj.dynamics.base_motion(robot, *now[5:])
    found = evaluate(fj.torque_derivatives, robot, *now[:5], order=2, base=base)
    for x, y in zip(found, expected):
        assert relative_error(x, np.array(y)[:, 0]) < 1e-12
