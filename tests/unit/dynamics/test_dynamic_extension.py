"""Feedback linearization of the complete model: sizes, forms and refusals; `oracles/test_rotor_linearization.py`."""

import dataclasses

import numpy as np
import pytest

import flexjoint as fj
from support.rotors import coaxial, lbr, with_random_rotors

GENERAL = with_random_rotors(fj.random_robot(7, 1, prismatic=0.0), 1, elastic=1.0)
LBR_3, X = lbr(3), np.zeros(3)


@pytest.mark.parametrize(
    ("robot", "order", "size"),
    [
        (fj.load("kuka_lwr"), 4, 0),  # Spong's model
        (fj.load("dlr_lbr2"), 10, 42),
        (coaxial(fj.load("kuka_lwr")), 10, 42),
        (GENERAL, 16, 84),
        (lbr(2), 4, 0),
        (lbr(3), 6, 6),
    ],
)
def test_sizes(robot, order, size):
    """n chains of r integrators, of which the robot has four per elastic joint."""
    assert fj.dynamics.chain_length(robot) == order
    assert fj.dynamics.extension_size(robot) == size == robot.n * (order - 4)


def test_a_cycle_is_named():
    robot = with_random_rotors(fj.random_robot(3, 1, prismatic=0.0), 2, elastic=1.0, carriers="any")
    assert robot.carrier(0) >= 0  # link 1, or a link that it carries, has the motor of joint 1
    words = r"cycle, 'link1_joint' -> 'link1_joint': q is not a linearizing output \(another one may exist\)"
    for call in (
        lambda: fj.feedback_linearization(robot, X, X, X, X, X),
        lambda: fj.control.FeedbackLinearization(robot, [1.0] * 4, 1e-3),
        lambda: fj.control.sampling_period_limit(robot, X, [1.0] * 4),
    ):
        with pytest.raises(fj.InputError, match=words):
            call()


def test_refusals():
    damped = LBR_3.with_drives([dataclasses.replace(joint.drive, damping=1.0) for joint in LBR_3.joints])
    with pytest.raises(fj.InputError, match=r"damped spring of joint 'joint1'.*without_spring_damping"):
        fj.control.FeedbackLinearization(damped, fj.control.gains_from_poles([-5.0] * 4), 1e-3)
    with pytest.raises(fj.InputError, match=r"needs q, v, theta, theta_v, command, extension for 'lbr_3'"):
        fj.feedback_linearization(LBR_3, X, X, X, X, X)
    z = np.zeros(6)
    with pytest.raises(fj.InputError, match=r"use measured='q theta'"):
        fj.feedback_linearization(LBR_3, X, X, X, X, X, z, measured="q tau_e")
    base = fj.dynamics.BaseMotion(list(np.zeros((8, 3))), list(np.zeros((7, 3))))
    with pytest.raises(fj.InputError, match="base at rest"):
        fj.feedback_linearization(LBR_3, X, X, X, X, X, z, base=base)
    with pytest.raises(fj.InputError, match="chains of 6"):
        fj.control.FeedbackLinearization(LBR_3, [1.0, 2.0], 1e-3)
    with pytest.raises(fj.InputError, match=r"need q and its first 6 derivatives, 4 derivatives were given"):
        fj.dynamics.extension_state(LBR_3, *np.zeros((5, 3)))
    with pytest.raises(fj.InputError, match=r"no motor behind a spring.*'hua_3r'.*linearizing_control"):
        fj.dynamics.extension_state(fj.load("hua_3r"), *np.zeros((5, 3)))
    with pytest.raises(fj.InputError, match=r"measured is \['q', 'theta'\]; choose one of 'q theta'"):
        fj.control.FeedbackLinearization(LBR_3, [1.0] * 6, 1e-3, measured=["q", "theta"])
