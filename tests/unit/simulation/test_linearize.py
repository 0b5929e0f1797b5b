"""The linear model against differences of the forward dynamics, its modes against those of the springs."""

import numpy as np
import pytest

import flexjoint as fj

MOTOR = fj.Motor(0.5, 0.3)
MIXED = fj.random_robot(3, 21, prismatic=0.3, friction=True).with_drives(
    [fj.ElasticDrive(300.0, MOTOR), fj.RigidDrive(MOTOR), fj.ElasticDrive(200.0, MOTOR, damping=2.0)]
)


def test_matrices():
    rng = np.random.default_rng(3)
    q, v, theta, theta_v, tau = rng.uniform(-1.0, 1.0, (5, 3))
    model = fj.linearize(MIXED, fj.JointState(q, v, theta, theta_v), tau)
    kept, n = [0, 1, 2, 3, 5], 3

    def flow(x, tau):
        full = np.zeros(12)
        full[[*kept, *(6 + k for k in kept)]] = x
        a, theta_a = fj.elastic_forward_dynamics(MIXED, full[:3], full[3:6], full[6:9], full[9:], tau)
        return np.concatenate([full[[6 + k for k in kept]], np.concatenate([a, theta_a])[kept]])

    x = np.concatenate([q, theta, v, theta_v])[[*kept, *(6 + k for k in kept)]]
    step = 1e-6
    for matrix, slope in (
        (model.A, [(flow(x + step * e, tau) - flow(x - step * e, tau)) / (2 * step) for e in np.eye(10)]),
        (model.B, [flow(x, tau + e) - flow(x, tau) for e in np.eye(n)]),
    ):
        assert np.max(np.abs(matrix - np.transpose(slope))) < 1e-8 * np.max(np.abs(matrix))
    names = [joint.name for joint in MIXED.joints]
    assert model.states[3:5] == (f"theta.{names[0]}", f"theta.{names[2]}")


def test_modes_of_the_lwr():
    robot = fj.load("kuka_lwr").with_gravity([0.0, 0.0, 0.0])
    q = np.linspace(-0.5, 0.7, 7)
    model = fj.linearize(robot, q)
    modes = fj.joint_modes(robot, q).frequencies
    assert np.allclose(model.frequencies[-14::2], modes[7:], rtol=1e-9)
    assert np.max(np.abs(model.damping[-14:])) < 1e-9


def test_response_of_motor_and_wheel():
    """q/τ = K/(s² (I B s² + K (I + B)))."""
    link = fj.Link(
        "wheel",
        fj.Joint("axis", "revolute", drive=fj.ElasticDrive(80.0, fj.Motor(0.3))),
        mass=1.0,
        inertia=0.2 * np.eye(3),
    )
    robot = fj.Robot("wheel", (link,), gravity=(0.0, 0.0, 0.0))
    s = 1j * np.array([1.0, 10.0, 100.0])
    wanted = 80.0 / (s**2 * (0.2 * 0.3 * s**2 + 80.0 * 0.5))
    assert np.allclose(fj.linearize(robot, [0.0]).response([1.0, 10.0, 100.0])[:, 0, 0], wanted, rtol=1e-12)


def test_what_is_refused():
    with pytest.raises(fj.InputError, match="configuration"):
        fj.linearize(MIXED, [0.0])
    with pytest.raises(fj.InputError, match="JointState"):
        fj.linearize(MIXED, (np.zeros(3), np.zeros(3)))
