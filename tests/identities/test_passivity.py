"""Lyapunov functions of the passivity-based laws along simulations: what they lose is what the laws say.

The loss is integrated with the motion, by SciPy; mass matrix and forward dynamics share nothing with the laws.
"""

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import flexjoint as fj
from papers.two_velocity_recursions import modified_recursion
from support.errors import relative_error
from support.evaluate import evaluate
from support.marks import some_long
from support.mimics import with_followers

ROBOTS = [
    fj.random_robot(3, 3, prismatic=0.0, friction=True, name="turning_3"),
    fj.random_robot(4, 8, prismatic=0.4, friction=True, name="sliding_4"),
    fj.random_robot(4, 6, prismatic=0.2, tree=True, fixed=0.5, name="tree_4"),
    with_followers(fj.random_robot(5, 9, prismatic=0.3, name="coupled_5"), 2),
]
ROBOTS = [robot.with_drives([fj.RigidDrive(fj.Motor(0.1))] * robot.n) for robot in ROBOTS]
DURATION = 1.0


def each(*long):
    return pytest.mark.parametrize("robot", some_long(ROBOTS, *long))


def gains(robot):
    rng = np.random.default_rng(robot.n)
    return [rng.uniform(low, 2 * low, robot.n) for low in (3.0, 20.0, 6.0)]  # Λ, K_P, K_D


def friction(robot):
    return np.array([joint.viscous_friction for joint in robot.joints])


def reference(t, n):
    """q_d and two derivatives."""
    phase = np.arange(n)
    return ca.sin(2 * t + phase), 2 * ca.cos(2 * t + phase), -4 * ca.sin(2 * t + phase)


def follow(x0, t, x, rates, observed):
    """The observed expressions at the start and at the end of the motion x' = rates."""
    rhs = ca.Function("rhs", [t, x], [rates])
    done = solve_ivp(lambda t, x: np.array(rhs(t, x))[:, 0], (0.0, DURATION), x0, "DOP853", rtol=1e-11, atol=1e-11)
    assert done.success
    f = ca.Function("f", [t, x], observed)
    return [[float(y) for y in f(time, state)] for time, state in ((0.0, x0), (DURATION, done.y[:, -1]))]


def lost_and_predicted(robot, law):
    """V(T) − V(0) of the passivity law, and the integral of the V' it promises."""
    n = robot.n
    Lambda, K_P, K_D = gains(robot)
    t, x = ca.SX.sym("t"), ca.SX.sym("x", 2 * n + 1)
    q, v = x[:n], x[n : 2 * n]
    q_d, v_d, a_d = reference(t, n)
    e, de = q_d - q, v_d - v
    s = de + Lambda * e
    tau = law(robot, q, v, q_d, v_d, a_d, Lambda, K_P, K_D)
    V = ca.dot(s, fj.mass_matrix(robot, q) @ s) / 2 + ca.dot(e, (K_P + Lambda * K_D) * e) / 2
    rate = -ca.dot(de, K_D * de) - ca.dot(e, Lambda * K_P * e) - ca.dot(s, friction(robot) * s)
    rates = ca.vertcat(v, fj.forward_dynamics(robot, q, v, tau), rate)
    x0 = np.concatenate([np.random.default_rng(0).normal(size=2 * n), [0.0]])
    (start, _), (end, predicted) = follow(x0, t, x, rates, [V, x[-1]])
    return end - start, predicted, start


@each("sliding_4")
@pytest.mark.parametrize("variant", ["christoffel", "0001", "1110"])
def test_passivity_law(robot, variant):
    def law(*arguments):
        return fj.control.laws.passivity_torque(*arguments, variant=variant)

    lost, predicted, start = lost_and_predicted(robot, law)
    assert predicted < -0.1 * start
    assert abs(lost - predicted) < 1e-8 * start


def test_other_factorizations_do_not_keep_the_promise():
    def law(robot, q, v, q_d, v_d, a_d, Lambda, K_P, K_D):
        e, de = q_d - q, v_d - v
        v_r, a_r = v_d + Lambda * e, a_d + Lambda * de
        tau = modified_recursion(robot, q, v, v_r, a_r, variant="0000", gravity=robot.gravity)
        return tau + 0.1 * a_r + friction(robot) * v_r + K_P * e + K_D * de

    lost, predicted, start = lost_and_predicted(ROBOTS[0], law)
    assert abs(lost - predicted) > 1e-5 * start


@each("sliding_4")
def test_adaptive_law(robot):
    """V = ½ sᵀM s + ½ (π − π̂)ᵀΓ⁻¹(π − π̂) falls by ∫ sᵀ(K_D + D) s, whatever the estimate begins with."""
    n = robot.n
    Lambda, _, K_D = gains(robot)
    pi = fj.base_parameters(robot).of(robot)
    Gamma = np.random.default_rng(1).uniform(0.1, 1.0, len(pi))
    t, x = ca.SX.sym("t"), ca.SX.sym("x", 2 * n + len(pi) + 1)
    q, v, estimate = x[:n], x[n : 2 * n], x[2 * n : -1]
    motion = reference(t, n)
    s = motion[1] - v + Lambda * (motion[0] - q)
    tau, rate = fj.control.laws.adaptive_torque(robot, q, v, *motion, ca.SX(Lambda), ca.SX(K_D), ca.SX(Gamma), estimate)
    error = pi - estimate
    V = ca.dot(s, fj.mass_matrix(robot, q) @ s) / 2 + ca.dot(error, error / Gamma) / 2
    loss = -ca.dot(s, (K_D + friction(robot)) * s)
    rates = ca.vertcat(v, fj.forward_dynamics(robot, q, v, tau), rate, loss)
    x0 = np.concatenate([np.random.default_rng(0).normal(size=2 * n), 0 * pi, [0.0]])
    (start, _), (end, predicted) = follow(x0, t, x, rates, [V, x[-1]])
    assert predicted < -0.1 * start
    assert abs(end - start - predicted) < 1e-8 * start


@each()
def test_adaptive_law_is_regressor_and_update(robot):
    """τ = Y π̂ + D v_r + B a_r + K_D s and Γ Yᵀs, with Y itself; the true parameters give the passivity law."""
    n = robot.n
    rng = np.random.default_rng(0)
    q, v, q_d, v_d, a_d = rng.normal(size=(5, n))
    Lambda, _, K_D = gains(robot)
    base = fj.base_parameters(robot)
    estimate, Gamma = rng.normal(size=len(base.names)), rng.uniform(1.0, 2.0, len(base.names))
    e, de = q_d - q, v_d - v
    v_r, a_r, s = v_d + Lambda * e, a_d + Lambda * de, de + Lambda * e
    Y = evaluate(fj.base_regressor, robot, q, v, v_r, a_r)
    arrays = (q, v, q_d, v_d, a_d, Lambda, K_D, Gamma)
    tau, rate = evaluate(fj.control.laws.adaptive_torque, robot, *arrays, estimate)
    assert relative_error(tau, Y @ estimate + friction(robot) * v_r + 0.1 * a_r + K_D * s) < 1e-13
    assert relative_error(rate, Gamma * (Y.T @ s)) < 1e-13
    known, _ = evaluate(fj.control.laws.adaptive_torque, robot, *arrays, base.of(robot))
    law = evaluate(fj.control.laws.passivity_torque, robot, q, v, q_d, v_d, a_d, Lambda, Lambda * K_D, K_D)
    assert relative_error(known, law) < 1e-13


@pytest.mark.parametrize("law", [fj.control.laws.passivity_torque, fj.control.laws.adaptive_torque])
def test_elastic_joints_are_refused(law):
    robot = fj.load("kuka_lwr")
    arrays = [np.ones(7)] * 7 + [np.ones(43)] * 2 if law is fj.control.laws.adaptive_torque else [np.ones(7)] * 8
    with pytest.raises(fj.InputError, match="is elastic, the law is for rigid ones"):
        law(robot, *arrays)
