"""Steps and periods that are too long are refused, with the joint and a period that would do."""

import re

import numpy as np
import pytest

import flexjoint as fj

LWR = fj.load("kuka_lwr")
ZERO = np.zeros(7)


def refused(**options):
    with pytest.raises(fj.InputError, match="unstable") as caught:
        fj.simulate(LWR, reference=ZERO, duration=0.01, **options)
    message = str(caught.value)
    return re.search(r"joint '(\w+)'", message)[1], float(re.search(r"at most ([\d.e-]+) s", message)[1])


def test_held_feedback_linearization():
    """Poles at −10 on the LWR: stable up to 60 µs, as the eigenvalues of the sampled linear robot say."""
    gains = fj.control.gains_from_poles([-10.0] * 4)
    joint, period = refused(controller=fj.control.FeedbackLinearization(LWR, gains, 1e-4))
    assert joint == "joint7"
    assert period == pytest.approx(fj.control.sampling_period_limit(LWR, ZERO, gains), rel=0.01)


def test_step_of_the_integrator():
    joint, period = refused(controller=fj.control.OpenLoop(LWR), period=2e-3)
    assert joint == "joint7"
    assert period == pytest.approx(fj.control.runge_kutta_limit(LWR, ZERO), rel=0.02)


def test_what_falls_over_by_itself_is_simulated():
    """A pendulum stood on its head is unstable whatever the step."""
    link = fj.Link("rod", fj.Joint("pivot", "revolute"), mass=1.0, com=(0.5, 0.0, 0.0), inertia=0.01 * np.eye(3))
    robot = fj.Robot("pendulum", (link,), gravity=(9.81, 0.0, 0.0))
    start = fj.JointState([np.pi - 1e-3], [0.0], [0.0], [0.0])
    run = fj.simulate(robot, fj.control.OpenLoop(robot), [0.0], 2.0, start=start)
    assert abs(run.q[-1, 0] - np.pi) > 0.5
