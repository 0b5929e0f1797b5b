"""Controllers that know wrenches and the motion of the base: with them they track exactly, without them they do not."""

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from support.rotors import lbr

MOTOR = fj.Motor(0.1)
ROBOT = fj.random_robot(2, 7, prismatic=0.0).with_drives([fj.RigidDrive(MOTOR), fj.ElasticDrive(100.0, MOTOR)])
RIGID = ROBOT.rigid()
MOTION = fj.trajectory.Sinusoid([0.3] * 2, 0.7, np.arange(2.0), duration=0.4)
SHIP = fj.trajectory.Sinusoid([0.05, 0.03, 0.1, 0.2, 0.1, 0.3], [0.5, 0.7, 0.9, 1.0, 0.6, 0.4], np.arange(6.0))
AMPLITUDE, RATE = np.array([5.0, 4.0, 3.0, 0.2, 0.3, 0.4]), 2 * np.pi
PUSH = fj.trajectory.Sinusoid(AMPLITUDE, 1.0, np.arange(6.0))
CONSTANT = np.array([1.0, 2.0, -3.0, 0.1, 0.2, 0.3])
REFERENCE = fj.trajectory.MotionAndSurroundings(MOTION, [PUSH])


def contact(t, state):
    """The wrench of PUSH, and a constant one; along the axes of the base."""
    return {"link2": AMPLITUDE * ca.sin(RATE * t + np.arange(6.0)), "link1": ca.SX(CONSTANT)}


def largest_error(robot, law, reference, **options):
    run = fj.simulate(robot, law, reference, hold=False, period=5e-4, contact=contact, **options)
    return np.abs(run.error).max()


def absolute(w, omega, alpha):
    """w, w' and w'' in a frame at rest from derivatives of components; for force and moment."""
    turn = lambda x, y: np.concatenate([np.cross(x, y[:3]), np.cross(x, y[3:])])  # noqa: E731
    twice = turn(alpha, w[0]) + 2 * turn(omega, w[1]) + turn(omega, turn(omega, w[0]))
    return [w[0], w[1] + turn(omega, w[0]), w[2] + twice]


def on_the_reference(base):
    """Motors of the elastic robot on its trajectory at t = 0."""
    q = MOTION(0.0, 4)
    carried = fj.dynamics.base_motion(ROBOT, *base(0.0, 4)) if base else None
    omega, alpha = carried.angular_velocity[:2] if carried else np.zeros((2, 3))
    still = np.stack([CONSTANT, *np.zeros((2, 6))])
    wrenches = {"link2": absolute(PUSH(0.0, 2), omega, alpha), "link1": absolute(still, omega, alpha)}
    return fj.motor_motion(ROBOT, *q, wrenches=wrenches, base=carried)


def beginning(base):
    motors = on_the_reference(base)
    return fj.JointState(*MOTION(0.0, 1), motors.theta, motors.theta_v)


def test_feedforward():
    start = beginning(SHIP)
    known = fj.control.FeedforwardPD(ROBOT, [500.0, 50.0], wrenches={"link2": None, "link1": CONSTANT}, base=True)
    assert known.width == 2 + 6 + 6
    assert largest_error(ROBOT, known, REFERENCE, base=SHIP, start=start) < 1e-9
    still = fj.trajectory.Sinusoid(np.zeros(6), 1.0)
    told = fj.trajectory.MotionAndSurroundings(MOTION, [PUSH], still)  # the law may be told another base than there is
    assert largest_error(ROBOT, known, told, base=SHIP, start=start) > 1e-3


def test_computed_torque():
    gains = fj.control.gains_from_poles([-20.0] * 2)
    known = fj.control.ComputedTorque(RIGID, gains, wrenches={"link2": None, "link1": CONSTANT}, base=True)
    q = MOTION(0.0, 1)
    start = fj.JointState(q[0], q[1], q[0], q[1])
    assert largest_error(RIGID, known, REFERENCE, base=SHIP, start=start) < 1e-9


def test_feedback_linearization():
    """On the reference its torque is that of inverse dynamics; the state of the rigid joint starts with it."""
    gains = fj.control.gains_from_poles([-20.0] * 4)
    law = fj.control.FeedbackLinearization(ROBOT, gains, 1e-4, wrenches={"link2": None, "link1": CONSTANT}, base=True)
    whole = fj.trajectory.MotionAndSurroundings(MOTION, [PUSH], SHIP)(0.0, 4)
    expected = on_the_reference(SHIP)
    _, tau = law(law.start(whole), whole, fj.JointState(*MOTION(0.0, 1), expected.theta, expected.theta_v))
    np.testing.assert_allclose(tau, expected.tau, rtol=1e-10)


@pytest.mark.long
def test_mixed_inverse_dynamics():
    known = fj.control.MixedInverseDynamics(
        ROBOT, [400.0, 40.0, 40.0, 8.0], wrenches={"link2": None, "link1": CONSTANT}
    )
    assert largest_error(ROBOT, known, REFERENCE, start=beginning(None)) < 1e-9


def test_mixed_inverse_dynamics_on_a_moving_base():
    """A rigid and an elastic joint: without an error only with base=True."""
    gains, known = [400.0, 40.0, 40.0, 8.0], {"link2": None, "link1": CONSTANT}
    start = beginning(SHIP)
    controller = fj.control.MixedInverseDynamics(ROBOT, gains, wrenches=known, base=True)
    assert largest_error(ROBOT, controller, REFERENCE, base=SHIP, start=start) < 1e-9
    ignorant = fj.control.MixedInverseDynamics(ROBOT, gains, wrenches=known)
    assert largest_error(ROBOT, ignorant, REFERENCE, base=SHIP, start=start) > 1e-3


@pytest.mark.long
def test_coupled_motors_on_a_moving_base():
    """Link equations of elastic joints with other motors, on a base that turns."""
    motor = fj.Motor.from_rotor(3e-4, 30.0, mass=0.2, transverse_inertia=2e-4, axis=[0.6, 0.0, 0.8])
    robot = ROBOT.with_drives([fj.ElasticDrive(300.0, motor)] * 2).replace(fidelity="complete", rotors_in_links=False)
    q = MOTION(0.0, 8)
    base = fj.dynamics.base_motion(robot, *SHIP(0.0, 8))
    motors = fj.motor_motion(robot, *q, base=base)
    start = fj.JointState(q[0], q[1], motors.theta, motors.theta_v)
    errors = []
    for known in (True, False):
        controller = fj.control.MixedInverseDynamics(robot, [40.0, 10.0, 80.0, 8.0], base=known)
        run = fj.simulate(robot, controller, MOTION, 0.2, base=SHIP, start=start, hold=False, period=5e-4)
        errors.append(np.abs(run.error).max())
    assert errors[0] < 1e-9
    assert errors[1] > 1e-3


def test_adaptive_law_takes_wrenches():
    law = fj.control.AdaptiveMixedControl(
        ROBOT, [200.0, 30.0, 200.0, 30.0], 0.5, 5e-4, wrenches={"link2": None, "link1": CONSTANT}
    )
    start = beginning(None)
    run = fj.simulate(ROBOT, law, REFERENCE, 0.1, contact=contact, start=start)
    assert np.abs(run.error).max() < 1e-4
    assert np.abs(run.memory[0] - law.start()[0]).max() < 1e-3  # there is nothing to learn


@pytest.mark.parametrize(
    ("wrenches", "message"),
    [
        ({"link9": None}, "no link 'link9'"),
        ({"link2": [1.0, 2.0]}, "must be"),
        ({"link2": [np.nan] * 6}, "link2"),
        (["link2"], "by names of links"),
    ],
)
def test_refused(wrenches, message):
    with pytest.raises(fj.FlexjointError, match=message):
        fj.control.FeedforwardPD(ROBOT, [500.0, 50.0], wrenches=wrenches)


def test_the_reference_lacks_columns():
    law = fj.control.FeedforwardPD(ROBOT, [500.0, 50.0], base=True)
    with pytest.raises(fj.InputError, match="moves 2 joints, the controller follows 8"):
        fj.simulate(ROBOT, law, MOTION)


def test_base_is_a_yes_or_no():
    with pytest.raises(fj.InputError, match=r"base is BaseMotion.*give True.*simulate\(\.\.\., base=\)"):
        fj.control.FeedforwardPD(ROBOT, [500.0, 50.0], base=fj.dynamics.base_motion(ROBOT, *SHIP(0.0)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (SHIP(0.0), "robot must be a Robot, not ndarray"),
        ([ROBOT, np.zeros(6), np.zeros(5), np.zeros(6)], r"shape \(5,\); it must be \(\.\.\., 6\): x, y, z"),
        ([ROBOT, *"xyz"], "the pose must be real numbers, not 'x'"),
    ],
)
def test_refused_poses(arguments, message):
    with pytest.raises(fj.InputError, match=message):
        fj.dynamics.base_motion(*arguments)


def test_feedforward_on_a_moving_base_in_the_complete_model():
    """On a base that turns a link equation may contain one motor more, and the law one derivative more."""
    robot = lbr(2)
    law = fj.control.FeedforwardPD(robot, [500.0, 50.0], base=True)
    assert (law.order, fj.control.FeedforwardPD(robot, [500.0, 50.0]).order) == (5, 4)
    q, pose = MOTION(0.1, 5), SHIP(0.1, 5)
    wanted = fj.motor_motion(robot, *q, base=fj.dynamics.base_motion(robot, *pose))
    state = fj.JointState(q[0], q[1], wanted.theta, wanted.theta_v)
    _, tau = law((), np.concatenate([q, pose], axis=-1), state)
    assert np.allclose(tau, wanted.tau, rtol=1e-12, atol=1e-12)
