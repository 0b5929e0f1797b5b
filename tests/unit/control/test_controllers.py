"""Every law does on its robot what its theory says."""

import dataclasses
from functools import partial

import numpy as np
import pytest
from scipy.linalg import expm

import flexjoint as fj

LWR = fj.load("kuka_lwr")
ARM = fj.random_robot(3, 8, prismatic=0.0, elastic=1.0)
GOAL = np.array([0.5, -0.4, 0.3, 0.6, -0.2, 0.4, 0.1])
OFFSET = np.array([0.1, -0.2, 0.15, 0.05, -0.1, 0.2, -0.3])


def resting(robot, q):
    """At rest, the springs carrying the links."""
    g = fj.gravity_torque(robot, q)
    K = [d.stiffness if isinstance(d, fj.ElasticDrive) else np.inf for d in drives(robot)]
    return fj.JointState(q, np.zeros(robot.n), q + g / K, np.zeros(robot.n))


def drives(robot):
    return [joint.drive for joint in robot.joints]


def test_feedback_linearization_decays_with_its_poles():
    """Released at rest, e = e₀ e^(−pt) Σ (pt)ᵏ/k!, k < 4."""
    p = 12.0
    law = fj.control.FeedbackLinearization(LWR, fj.control.gains_from_poles([-p] * 4), 2e-4)
    run = fj.simulate(LWR, law, GOAL, 1.0, start=resting(LWR, GOAL + OFFSET), hold=False, check=False)
    x = p * run.t
    wanted = np.exp(-x) * (1 + x + x**2 / 2 + x**3 / 6)
    assert np.max(np.abs((run.q - GOAL) / OFFSET - wanted[:, None])) < 1e-6


def test_computed_torque_decays_with_its_poles():
    robot = ARM.rigid()
    law = fj.control.ComputedTorque(robot, fj.control.gains_from_poles([-8.0, -8.0]))
    goal, offset = GOAL[:3], OFFSET[:3]
    run = fj.simulate(robot, law, goal, 1.0, start=resting(robot, goal + offset), hold=False, period=1e-3, check=False)
    x = 8.0 * run.t
    assert np.max(np.abs((run.q - goal) / offset - (np.exp(-x) * (1 + x))[:, None])) < 1e-6


def test_computed_torque_refuses_springs():
    with pytest.raises(fj.InputError, match=r"joint 'joint1' is elastic; give the law robot.rigid\(\)"):
        fj.control.ComputedTorque(LWR, [1.0, 1.0])


def test_motor_pd_reaches_the_goal_and_its_energy_never_grows():
    """V = T + U(q) + ½ φᵀKφ + ½ (θ_d − θ)ᵀK_P(θ_d − θ) − θᵀg(q_d), V' = −θ'ᵀK_D θ'  [Tomei]."""
    K, B = np.array([d.stiffness for d in drives(LWR)]), np.array([d.motor.inertia for d in drives(LWR)])
    K_P, K_D = 800.0, 60.0
    law = fj.control.MotorPD(LWR, [K_P, K_D])
    run = fj.simulate(LWR, law, GOAL, 4.0, start=resting(LWR, GOAL + OFFSET), hold=False, period=2e-4, check=False)
    g = fj.gravity_torque(LWR, GOAL)
    motion = fj.kinetic_energy(LWR, run.q, run.v) + 0.5 * np.sum(B * run.theta_v**2, axis=-1)
    springs = 0.5 * np.sum(K * (run.theta - run.q) ** 2 + K_P * (GOAL + g / K - run.theta) ** 2, axis=-1)
    V = motion + fj.gravity_energy(LWR, run.q) + springs - run.theta @ g
    assert np.max(np.diff(V)) < 1e-9 * np.ptp(V)
    power = K_D * np.sum(run.theta_v**2, axis=-1)
    spent = np.sum((power[1:] + power[:-1]) / 2) * 2e-4
    assert V[0] - V[-1] == pytest.approx(spent, rel=1e-4)
    assert np.max(np.abs(run.theta[-1] - GOAL - g / K)) < 0.01
    assert np.max(np.abs(run.theta[0] - GOAL - g / K)) > 0.1


def test_torque_feedback_makes_motors_lighter():
    """The links move as under MotorPD with motors of the inertia B/(1 + K_T)."""
    robot = fj.random_robot(2, 5, prismatic=0.0, elastic=1.0)
    light = robot.with_drives([fj.ElasticDrive(d.stiffness, fj.Motor(d.motor.inertia / 3.0)) for d in drives(robot)])
    goal, start = np.array([0.3, -0.2]), resting(robot, np.array([0.1, 0.1]))
    options = {"start": start, "hold": False, "period": 1e-3, "check": False}
    ours = fj.simulate(robot, fj.control.FullStateFeedback(robot, [150.0, 20.0, 2.0, 0.0]), goal, 0.5, **options)
    lighter = fj.simulate(light, fj.control.MotorPD(light, [150.0, 20.0]), goal, 0.5, **options)
    assert np.max(np.abs(ours.q - lighter.q)) < 1e-11
    heavy = fj.simulate(robot, fj.control.MotorPD(robot, [150.0, 20.0]), goal, 0.5, **options)
    assert np.max(np.abs(ours.q - heavy.q)) > 1e-3


def test_full_state_feedback_of_motor_and_wheel():
    """One joint is linear: x(t) = e^(At) x(0)."""
    I, B, K, K_P, K_D, K_T, K_S = 0.2, 0.3, 80.0, 50.0, 4.0, 1.5, 0.05
    joint = fj.Joint("axis", "revolute", drive=fj.ElasticDrive(K, fj.Motor(B)))
    robot = fj.Robot("wheel", (fj.Link("wheel", joint, mass=1.0, inertia=I * np.eye(3)),), gravity=(0.0, 0.0, 0.0))
    pull, push = (1 + K_T) * K, K_S * K
    A = np.array([[0, 0, 1, 0], [0, 0, 0, 1], [-K / I, K / I, 0, 0], np.zeros(4)])
    A[3] = np.array([pull, -pull - (1 + K_T) * K_P, push, -push - (1 + K_T) * K_D]) / B
    law = fj.control.FullStateFeedback(robot, [K_P, K_D, K_T, K_S])
    start = fj.JointState([0.1], [0.0], [-0.05], [0.3])
    run = fj.simulate(robot, law, [0.0], 0.5, start=start, hold=False, period=1e-3, check=False)
    wanted = expm(0.5 * A) @ [0.1, -0.05, 0.0, 0.3]
    assert np.allclose([run.q[-1, 0], run.theta[-1, 0], run.v[-1, 0], run.theta_v[-1, 0]], wanted, atol=1e-8, rtol=0)


@pytest.mark.long
def test_structure_preserving_control_puts_dampers_at_the_links():
    """The links move as those of a robot with that friction under MotorPD."""
    goal, damping = GOAL[:3], np.array([3.0, 2.0, 1.0])
    links = [
        dataclasses.replace(link, joint=dataclasses.replace(link.joint, viscous_friction=d))
        for link, d in zip(ARM.links, damping)
    ]
    damped = ARM.replace(links=tuple(links))
    options = {"start": resting(ARM, goal + OFFSET[:3]), "hold": False, "period": 5e-4, "check": False}
    ours = fj.simulate(ARM, fj.control.StructurePreserving(ARM, [150.0, 20.0, damping]), goal, 0.4, **options)
    wanted = fj.simulate(damped, fj.control.MotorPD(damped, [150.0, 20.0]), goal, 0.4, **options)
    assert np.max(np.abs(ours.q - wanted.q)) < 1e-8
    bare = fj.simulate(ARM, fj.control.MotorPD(ARM, [150.0, 20.0]), goal, 0.4, **options)
    assert np.max(np.abs(ours.q - bare.q)) > 1e-3
    with pytest.raises(fj.InputError, match="no linear, undamped spring"):
        fj.control.StructurePreserving(ARM.rigid(), [1.0, 1.0, 1.0])


def test_a_linear_spring_is_a_number():
    """As a stiffness, or as the law of a spring."""
    laws = [fj.ElasticDrive(fj.springs.LinearSpring(d.stiffness), d.motor) for d in drives(ARM)]
    state = fj.JointState(*np.random.default_rng(1).normal(size=(4, 3)))
    ours, same = (
        fj.control.StructurePreserving(robot, [150.0, 20.0, 2.0])((), [GOAL[:3]], state)[1]
        for robot in (ARM.with_drives(laws), ARM)
    )
    assert np.array_equal(ours, same)


def test_the_energy_of_structure_preserving_control_never_grows():
    """That of MotorPD in η = θ + K⁻¹ D q', with V' = −η'ᵀK_D η' − q'ᵀD q'  [Keppler]."""
    goal, D, K_P, K_D, h = GOAL[:3], np.array([3.0, 2.0, 1.0]), 150.0, 20.0, 2e-4
    K, B = (np.array(x) for x in zip(*[(d.stiffness, d.motor.inertia) for d in drives(ARM)]))
    law = fj.control.StructurePreserving(ARM, [K_P, K_D, D])
    run = fj.simulate(ARM, law, goal, 2.0, start=resting(ARM, goal + OFFSET[:3]), hold=False, period=h, check=False)
    a = fj.forward_dynamics(ARM.without_drives(), run.q, run.v, K * (run.theta - run.q))
    eta, eta_v = run.theta + D / K * run.v, run.theta_v + D / K * a
    g = fj.gravity_torque(ARM, goal)
    motion = fj.kinetic_energy(ARM.without_drives(), run.q, run.v) + 0.5 * np.sum(B * eta_v**2, axis=-1)
    springs = 0.5 * np.sum(K * (eta - run.q) ** 2 + K_P * (goal + g / K - eta) ** 2, axis=-1)
    V = motion + fj.gravity_energy(ARM, run.q) + springs - eta @ g
    assert np.max(np.diff(V)) < 1e-9 * np.ptp(V)
    power = np.sum(K_D * eta_v**2 + D * run.v**2, axis=-1)
    assert V[0] - V[-1] == pytest.approx(np.sum((power[1:] + power[:-1]) / 2) * h, rel=1e-4)
    assert np.max(np.abs(run.q[-1] - goal)) < 0.02 < np.max(np.abs(run.q[0] - goal))


# Models that are wrong --------------------------------------------------------------------------------------------


long = partial(pytest.param, marks=pytest.mark.long)


@pytest.mark.parametrize(
    ("law", "period", "bound"),
    [
        (fj.control.MotorPD(LWR, [2000.0, 100.0]), 5e-4, 0.05),
        long(fj.control.FullStateFeedback(LWR, [2000.0, 100.0, 1.0, 0.002]), 5e-4, 0.05),
        long(fj.control.StructurePreserving(LWR, [2000.0, 100.0, [5.0, 5.0, 5.0, 5.0, 2.0, 1.0, 0.5]]), 1e-4, 0.06),
        long(fj.control.FeedforwardPD(LWR, [2000.0, 100.0]), 5e-4, 0.03),
        long(fj.control.PassivityControl(LWR.rigid(), 20.0, 40.0), 1e-3, 0.01),
        long(fj.control.ComputedTorque(LWR.rigid(), fj.control.gains_from_poles([-20.0] * 2)), 1e-3, 0.005),
    ],
    ids=lambda x: type(x).__name__ if isinstance(x, fj.control.Controller) else "",
)
def test_bounds_where_masses_and_stiffnesses_are_off_by_a_fifth(law, period, bound):
    """All up, all down and five mixes, for 4 s: as docs/control.md says; and an exact model does better."""
    robot = law.robot
    signs = np.random.default_rng(1).choice([-1.0, 1.0], (8, 14))
    signs[:3] = np.array([[0.0], [1.0], [-1.0]])
    free = {f"link{k + 1}.mass": link.mass * (1 + 0.2 * signs[:, k]) for k, link in enumerate(robot.links[:7])}
    if any(robot.compliant):
        free["*.drive.stiffness"] = 1000.0 * (1 + 0.2 * signs[:, 7:])
    motion = fj.trajectory.RestToRest(np.zeros(7), GOAL, 2.0)
    run = fj.simulate(robot, law, motion, 4.0, period=period, free=free, check=False)
    errors = np.max(np.abs(run.q - run.reference), axis=(1, 2))
    assert not run.diverged.any()
    assert errors.max() < bound
    assert np.max(np.abs(run.q[0, -1] - GOAL)) < 1e-3 < np.max(np.abs(run.q[1:, -1] - GOAL))


@pytest.mark.long
def test_feedback_linearization_does_not_survive_such_errors():
    law = fj.control.FeedbackLinearization(LWR, fj.control.gains_from_poles([-20.0] * 4), 1e-4)
    factors = np.array([1.0, 0.8])
    free = {f"link{k + 1}.mass": link.mass * factors for k, link in enumerate(LWR.links[:7])}
    free["*.drive.stiffness"] = 1000.0 * factors[:, None] * np.ones(7)
    with pytest.warns(UserWarning, match="1 of 2 runs diverged"):
        run = fj.simulate(
            LWR, law, fj.trajectory.RestToRest(np.zeros(7), GOAL, 2.0), 0.1, period=1e-4, free=free, check=False
        )
    assert run.diverged.tolist() == [False, True]


def test_feedforward_follows_the_reference():
    trajectory = fj.trajectory.RestToRest(GOAL[:3], GOAL[:3] + OFFSET[:3], 0.5)
    law = fj.control.FeedforwardPD(ARM, [1000.0, 100.0])
    run = fj.simulate(ARM, law, trajectory, hold=False, period=2e-4, check=False)
    assert np.max(np.abs(run.q - run.reference)) < 1e-7


def test_a_mixed_robot_under_every_law():
    motor = fj.Motor(0.5)
    robot = fj.random_robot(2, 3, prismatic=0.0).with_drives([fj.ElasticDrive(500.0, motor), fj.RigidDrive(motor)])
    goal = np.array([0.2, -0.1])
    for law in (
        fj.control.MotorPD(robot, [200.0, 50.0]),
        fj.control.FeedforwardPD(robot, [200.0, 50.0]),
        fj.control.FullStateFeedback(robot, [200.0, 50.0, 0.5, 0.001]),
        fj.control.FeedbackLinearization(robot, fj.control.gains_from_poles([-8.0] * 4), 1e-3),
    ):
        start = fj.JointState(*(x + d for x, d in zip(resting(robot, goal), (0.05, 0.0, 0.05, 0.0))))
        run = fj.simulate(robot, law, goal, 5.0, start=start, period=1e-3)
        assert np.max(np.abs(run.q[-1] - goal)) < 2e-3, law


@pytest.mark.parametrize(
    ("gains", "message"),
    [([1.0], "gains must be"), ([1.0, -2.0], "K_D is"), ([np.nan, 1.0], "K_P is"), ("x", "gains must be")],
)
def test_gains(gains, message):
    with pytest.raises(fj.InputError, match=message):
        fj.control.MotorPD(LWR, gains)


ONE_MOTOR = (
    lambda robot: fj.control.MotorPD(robot, [1.0, 1.0]),
    lambda robot: fj.control.FullStateFeedback(robot, [1.0, 1.0, 1.0, 1.0]),
    lambda robot: fj.control.FeedforwardPD(robot, [1.0, 1.0]),
    lambda robot: fj.control.FeedbackLinearization(robot, fj.control.gains_from_poles([-1.0] * 4), 1e-3),
)
OTHERS = (
    lambda robot: fj.control.ComputedTorque(robot, [1.0, 1.0]),
    lambda robot: fj.control.StructurePreserving(robot, [1.0, 1.0, 1.0]),
    lambda robot: fj.control.MixedInverseDynamics(robot, [1.0, 1.0, 1.0, 1.0]),
    fj.control.OpenLoop,
)


@pytest.mark.parametrize("make", ONE_MOTOR)
def test_laws_for_one_motor_per_joint_say_so(make):
    message = "joint 'joint1' has variable stiffness, which its two motors set; use VariableStiffnessTracking"
    with pytest.raises(fj.InputError, match=message):
        make(fj.load("vsa_3r"))


@pytest.mark.parametrize("make", [*ONE_MOTOR, *OTHERS])
def test_a_name_is_no_robot(make):
    with pytest.raises(fj.InputError, match="robot must be a Robot, not str"):
        make("kuka_lwr")
