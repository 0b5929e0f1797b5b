"""Laws for mixed robots: one joint in closed form, what they refuse, and how they are called."""

import dataclasses

import numpy as np
import pytest

import flexjoint as fj
from support.rotors import lbr

HUA = fj.load("hua_3r")
GAINS = [60.0, 12.0, 80.0, 8.0]


def one_joint(K=50.0, B=0.3, inertia=0.4, **motor):
    """A vertical axis: M is a number, and nothing else acts."""
    joint = fj.Joint("joint", drive=fj.ElasticDrive(K, fj.Motor(B, **motor)))
    return fj.Robot("one", (fj.Link("link", joint, mass=1.0, inertia=inertia * np.eye(3)),))


def test_one_joint_in_closed_form():
    """[Hua (37)-(50)] with numbers: M σ' = e_τ − K_D σ gives q'' and q''', and so the derivatives of θ_d."""
    M, K, B, D = 0.4, 50.0, 0.3, 0.2
    robot = one_joint(K, B, M, viscous_friction=D)
    K_P, K_D, P_m, D_m = GAINS
    L, L_m = K_P / K_D, P_m / D_m
    q, v, theta, theta_v = 0.1, -0.2, 0.3, 0.4
    d = [0.5, 0.3, -0.7, 1.1, -1.3]

    def command(k, stack):
        """k-th derivative of M v_r' + K_D σ."""
        e, e_v = d[k] - stack[k], d[k + 1] - stack[k + 1]
        return M * (d[k + 2] + L * e_v) + K_D * (e_v + L * e)

    a = K * (theta - q) / M
    jerk = K * (theta_v - v) / M
    stack = [q, v, a, jerk]
    theta_d = [stack[k] + command(k, stack) / K for k in range(3)]
    s = d[1] - v + L * (d[0] - q)
    e = theta_d[0] - theta
    theta_r_v = theta_d[1] + L_m * e + s
    theta_r_a = theta_d[2] + L_m * (theta_d[1] - theta_v) + (d[2] + L * (d[1] - v) - a)
    tau = B * theta_r_a + K * (theta_d[0] - q) + D_m * (theta_r_v - theta_v) + D * theta_r_v  # (49)
    tracking = {"reference": [[x] for x in d], "gains": [[x] for x in GAINS]}
    found = fj.control.laws.mixed_torque(robot, [q], [v], [theta], [theta_v], tracking=tracking)
    np.testing.assert_allclose(found.tau, [tau], rtol=1e-13)
    np.testing.assert_allclose([found.theta_d[0], found.theta_d_v[0]], theta_d[:2], rtol=1e-13)


def test_a_controller_is_its_kernel():
    robot = HUA.with_fidelity("complete")
    law = fj.control.MixedInverseDynamics(robot, GAINS)
    assert law.order == 4 and law.exact
    q, v, theta, theta_v = np.random.default_rng(0).normal(size=(4, 3))
    stack = np.random.default_rng(1).normal(size=(5, 3))
    _, tau = law((), stack, fj.JointState(q, v, theta, theta_v))
    tracking = {"reference": list(stack), "gains": list(law.gains)}
    np.testing.assert_allclose(
        tau, fj.control.laws.mixed_torque(robot, q, v, theta, theta_v, tracking=tracking).tau, rtol=1e-13
    )
    assert not fj.control.MixedInverseDynamics(lbr(5), GAINS, couplings="neglected").exact
    assert fj.control.MixedInverseDynamics(HUA.rigid(), GAINS).order == 2


def test_an_adaptive_controller_begins_with_its_own_links():
    """If it learns slowly it is at first the law that knows them."""
    law = fj.control.AdaptiveMixedControl(HUA, GAINS, 1e-8, 1e-3)
    now = fj.JointState(*np.random.default_rng(0).normal(size=(4, 3)))
    stack = np.random.default_rng(1).normal(size=(5, 3))
    state, tau = law(law.start(), stack, now)
    np.testing.assert_allclose(tau, fj.control.MixedInverseDynamics(HUA, GAINS)((), stack, now)[1], rtol=1e-5)
    pi = fj.base_parameters(HUA).of(HUA)
    q, v = now.q, now.v
    e, e_v = stack[0] - q, stack[1] - v
    L = GAINS[0] / GAINS[1]
    Y = fj.base_regressor(HUA, q, v, stack[1] + L * e, stack[2] + L * e_v)
    np.testing.assert_allclose(state.estimate - pi, 1e-11 * Y.T @ (e_v + L * e), atol=1e-15)


def refused(match, robot=HUA, gains=GAINS, law=fj.control.MixedInverseDynamics, *more):
    with pytest.raises(fj.InputError, match=match):
        law(robot, gains, *more)


def test_refusals():
    motor = HUA.joints[2].drive.motor
    damped, curved = (
        HUA.with_drives([*(x.drive for x in HUA.joints[:2]), drive])
        for drive in (
            fj.ElasticDrive(100.0, motor, damping=1.0),
            fj.ElasticDrive(fj.springs.CubicSpring(100.0, 10.0), motor),
        )
    )
    for robot in (damped, curved):
        refused("MixedInverseDynamics: the spring of joint 'joint3' is damped or not linear", robot)
    refused("has variable stiffness, which its two motors set", fj.load("vsa_3r"))
    refused(r"gains must be \[K_P, K_D, MOTOR_K_P, MOTOR_K_D\]", HUA, [1.0, 2.0])
    refused("K_D is .*at least", HUA, [1.0, 0.0, 1.0, 1.0])
    refused("robot must be a Robot", "hua_3r")
    refused("adaptation is", HUA, GAINS, fj.control.AdaptiveMixedControl, -1.0, 1e-3)
    refused("adaptation has shape", HUA, GAINS, fj.control.AdaptiveMixedControl, [1.0, 2.0], 1e-3)
    refused("period is 0", HUA, GAINS, fj.control.AdaptiveMixedControl, 1.0, 0)
    law = fj.control.MixedInverseDynamics(HUA, GAINS)
    with pytest.raises(fj.InputError, match="the law needs 4"):
        law((), np.zeros((3, 3)), fj.JointState(*np.zeros((4, 3))))
    with pytest.raises(fj.InputError, match=r"needs 5 arrays in 'reference' .*2 were given"):
        fj.control.laws.mixed_torque(
            HUA, *np.zeros((4, 3)), tracking={"reference": [np.zeros(3)] * 2, "gains": [np.ones(3)] * 4}
        )
    with pytest.raises(fj.InputError, match=r"needs 4 arrays in 'gains' .*motor K_D.*0 were given"):
        fj.control.laws.mixed_torque(HUA, *np.zeros((4, 3)), tracking={"reference": [np.zeros(3)] * 5})


def test_friction_at_motor_and_link_is_compensated():
    """At rest relative to the reference nothing but the model's own friction is in the torque."""
    links = [
        dataclasses.replace(x, joint=dataclasses.replace(x.joint, viscous_friction=0.5)) if x.joint.moves else x
        for x in HUA.links
    ]
    robot = HUA.replace(links=links)
    q, v = np.full(3, 0.2), np.full(3, 0.3)
    stack = [q, v, *[np.zeros(3)] * 3]
    motion = fj.motor_motion(robot, *stack)
    tracking = {"reference": stack, "gains": [np.full(3, x) for x in GAINS]}
    found = fj.control.laws.mixed_torque(robot, q, v, motion.theta, motion.theta_v, tracking=tracking)
    np.testing.assert_allclose(found.tau, motion.tau, rtol=1e-12)
    np.testing.assert_allclose(found.theta_d, motion.theta, rtol=1e-13)
