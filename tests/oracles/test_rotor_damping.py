"""Damped springs in the complete model: torques along a motion, replayed on explicit bodies by SciPy."""

import dataclasses

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.interpolate import make_interp_spline

import flexjoint as fj
from support.explicit_plant import Plant
from support.marks import some_long
from support.rotors import lbr, with_random_rotors


def damped(robot, *damping):
    return robot.with_drives(
        [dataclasses.replace(joint.drive, damping=D) if D else joint.drive for joint, D in zip(robot.joints, damping)]
    )


GENERAL = with_random_rotors(fj.random_robot(3, 14, prismatic=0.0, friction=True), 3, elastic=1.0)
ROBOTS = {
    "every joint": damped(GENERAL, 4.0, 6.0, 5.0),
    "the first": damped(GENERAL, 4.0, 0.0, 0.0),
    "the last": damped(GENERAL, 0.0, 0.0, 5.0),
    "orthogonal": damped(lbr(4, stiffness=200.0), 3.0, 0.0, 4.0, 2.0),
    "a rigid joint": damped(
        GENERAL.with_drives([*(j.drive for j in GENERAL.joints[:2]), fj.RigidDrive(GENERAL.joints[2].drive.motor)]),
        4.0, 6.0, 0.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", some_long([*ROBOTS], "orthogonal", "the last"))
def test_torques_bring_about_the_motion(name):
    robot, T = ROBOTS[name], 0.5
    n, order = robot.n, fj.dynamics.derivative_orders(robot).motion
    motion = fj.trajectory.RestToRest(np.zeros(n), np.linspace(0.3, -0.4, n), T, smoothness=order + 2)
    t = np.linspace(0.0, T, 1001)
    found, plant = fj.inverse_dynamics_along(robot, motion, t), Plant(robot)
    q, v, a = motion(t, order=2)
    for k in range(0, len(t), 100):
        accelerations = plant(q[k], v[k], found.theta[k], found.theta_v[k], found.tau[k])
        for one, other in zip(accelerations, (a, found.theta_a)):
            assert np.max(np.abs(one - other[k])) < 1e-12 * np.max(np.abs(other))
    torque = make_interp_spline(t, found.tau, k=5)

    def moving(time, x):
        q, v, theta, theta_v = x.reshape(4, n)
        a, theta_a = plant(q, v, theta, theta_v, torque(time))
        return np.concatenate([v, a, theta_v, theta_a])

    start = np.concatenate([q[0], v[0], found.theta[0], found.theta_v[0]])
    done = solve_ivp(moving, (0.0, T), start, method="DOP853", t_eval=t[::50], rtol=1e-11, atol=1e-12)
    y = done.y.T.reshape(-1, 4, n)
    assert np.max(np.abs(y[:, 0] - q[::50])) < 1e-9
    assert np.max(np.abs(y[:, 2] - found.theta[::50])) < 1e-9
    assert np.max(np.abs(found.deflection_v)) > 1e-2  # damping counts


@pytest.mark.parametrize(("robot", "orders"), [(GENERAL, (1, 3, 5)), (lbr(4), (1, 1, 3, 4))])
def test_orders(robot, orders):
    """One differentiation less for the motors themselves, and so for all that they need."""
    found = fj.dynamics.derivative_orders(damped(robot, *[1.0] * robot.n))
    assert tuple(joint.differentiations for joint in found.joints) == orders
    assert found.motion == max(orders) + 2


@pytest.mark.long
def test_without_damping_in_the_limit():
    """The distance to the undamped torque falls as D, and rounding does not grow at K/D = 5e8/s."""
    robot = lbr(4, stiffness=500.0)
    motion = fj.trajectory.RestToRest(np.zeros(4), np.array([0.3, -0.4, 0.2, 0.5]), 1.0, smoothness=12)
    t = np.linspace(0.0, 1.0, 2001)
    undamped = fj.inverse_dynamics_along(robot, motion, t).tau
    gaps = [
        np.max(np.abs(fj.inverse_dynamics_along(damped(robot, *[D] * 4), motion, t).tau - undamped))
        for D in (1e-1, 1e-2, 1e-6)
    ]
    assert gaps[0] / gaps[1] == pytest.approx(10, rel=0.05)
    assert gaps[2] < 1e-5 * np.max(np.abs(undamped))  # the error of the steps, where D/K is much shorter


def test_step_by_step():
    """The state is in the result; a step of no time changes nothing."""
    robot, rng = ROBOTS["every joint"], np.random.default_rng(1)
    order = fj.dynamics.derivative_orders(robot).motion
    state, motion, none = rng.normal(size=(3, 3)), rng.normal(size=(order + 1, 3)), np.array(0.0)
    once = fj.inverse_dynamics_step(robot, *state, none, *motion)
    assert isinstance(once, fj.dynamics.FilteredMotion)
    again = fj.inverse_dynamics_step(robot, once.deflection_top, once.tau_e_low, once.tau_e_top, none, *motion)
    assert np.array_equal(once.tau, again.tau)
    assert np.array_equal(once.deflection_top, state[0])


def test_other_springs_where_others_need_the_motor():
    hard = fj.springs.CubicSpring(100.0, 4e3)
    drives = [fj.ElasticDrive(hard, joint.drive.motor, damping=2.0) for joint in GENERAL.joints]
    robot, x = GENERAL.with_drives(drives), np.zeros(3)
    with pytest.raises(fj.InputError, match=r"other joints need 3 derivatives of the motor of joint 'link2_joint'"):
        fj.inverse_dynamics_step(robot, x, x, x, np.array(0.0), *np.zeros((8, 3)))
