"""Simulated robots whose joints follow others: energy, replayed torques, residuals, and a push on a follower."""

import dataclasses

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.logs import Log
from flexjoint.robot import Mimic
from support.lagrange import smooth_friction
from support.marks import some_long

BODY = {"mass": 0.8, "com": (0.05, 0.02, 0.1), "inertia": 0.01 * np.eye(3)}
MOTOR = fj.Motor(0.2, 0.3, 0.2, coulomb_velocity=0.3)


def gripper(finger_drive, arm_drive):
    """An arm with a hand and two fingers: the right one turns by −3 rad per metre that the left one slides."""
    arm = fj.Link("arm", fj.Joint("shoulder", drive=arm_drive, viscous_friction=0.2), **BODY)
    hand = fj.Link("hand", fj.Joint("mount", "fixed", position=(0.3, 0.0, 0.0)), "arm", **BODY)
    joint = fj.Joint(
        "right",
        rotation=np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]]),
        mimic=Mimic("left", -3.0, 0.2),
        viscous_friction=0.1,
        coulomb_friction=0.2,
        coulomb_velocity=0.5,
        drive=fj.RigidDrive(fj.Motor(0.02, 0.05)),
    )
    left = fj.Joint("left", "prismatic", drive=finger_drive, viscous_friction=0.4)
    links = (arm, hand, fj.Link("right_finger", joint, "hand", **BODY), fj.Link("left_finger", left, "hand", **BODY))
    return fj.Robot("gripper", links, gravity=(0.0, -9.81, 0.0))


ELASTIC = gripper(fj.ElasticDrive(900.0, MOTOR), fj.ElasticDrive(300.0, MOTOR))
MIXED = gripper(fj.RigidDrive(MOTOR), fj.ElasticDrive(300.0, MOTOR))
RIGID = ELASTIC.rigid()
MOTION = fj.trajectory.Sinusoid([0.3, 0.1], [0.5, 0.7], duration=1.0)


def energy(robot, run):
    moving = [fj.kinetic_energy(robot, q, v, w, motors=True) for q, v, w in zip(run.q, run.v, run.theta_v)]
    springs = [fj.dynamics.spring_energy(robot, q, x) for q, x in zip(run.q, run.theta)]
    return np.array(moving) + fj.gravity_energy(robot, run.q) + np.array(springs)


def test_energy_grows_by_the_work_of_the_motors_less_that_of_all_friction():
    start = fj.JointState(np.array([0.3, 0.1]), np.array([1.0, -0.5]), np.array([0.4, 0.1]), np.array([0.5, -0.5]))
    tau = np.array([0.5, -2.0])
    run = fj.simulation.reference_solution(MIXED, fj.control.OpenLoop(MIXED), tau, 0.3, period=5e-4, start=start)
    lost = np.zeros(len(run.t))
    for x in MIXED.moving_joints:
        rate = x.ratio * run.v[:, x.coordinate]
        motor = x.joint.drive.motor
        behind = isinstance(x.joint.drive, fj.ElasticDrive)
        turned = run.theta_v[:, x.coordinate] if behind else rate
        for item, speed in ((x.joint, rate), (motor, turned)):
            lost += np.array([float(smooth_friction(item, y)) * y for y in speed])
    h = run.t[1] - run.t[0]
    spent = h / 3 * np.sum(lost[:-1:2] + 4 * lost[1::2] + lost[2::2])  # Simpson
    work = tau @ (run.theta[-1] - run.theta[0])
    E = energy(MIXED, run)
    assert spent > 0.05 and abs(E[-1] - E[0] - work + spent) < 1e-8 * E.max()


@pytest.mark.parametrize("robot", some_long({"elastic": ELASTIC, "rigid": RIGID}, "rigid"))
def test_replayed_torques_give_the_motion(robot):
    law = fj.control.FeedforwardPD(robot, [1e-3, 1e-3])
    moved = fj.inverse_dynamics_along(robot, MOTION, [0.0])
    q, v = MOTION(0.0, order=1)
    start = fj.JointState(q, v, moved.theta[0], moved.theta_v[0])
    run = fj.simulate(robot, law, MOTION, hold=False, start=start, period=5e-4)
    assert np.max(np.abs(run.q - MOTION(run.t)[0])) < 1e-8


def pushed(t, state):
    on = ca.logic_and(t > 0.5, t < 0.7)
    return {"right_finger": on * ca.SX([6.0, 5.0, -4.0, 0.3, 0.2, -0.5])}


def test_residuals_are_zero_without_a_push_and_find_one_on_a_follower():
    law = fj.control.FeedforwardPD(RIGID, [300.0, 30.0])
    watched = {
        "momentum": fj.observers.MomentumResidual(RIGID, 60.0),
        "energy": fj.observers.EnergyResidual(RIGID, 60.0),
    }
    free = fj.simulate(RIGID, law, MOTION, observers=watched)
    assert np.max(np.abs(free.more["momentum.residual"])) < 2e-3
    assert np.max(np.abs(free.more["energy.power"])) < 2e-3
    run = fj.simulate(RIGID, law, MOTION, observers=watched, contact=pushed)
    at = int(np.searchsorted(run.t, 0.69))
    w = np.array([6.0, 5.0, -4.0, 0.3, 0.2, -0.5])
    before = int(np.searchsorted(run.t, 0.69 - 1 / 60.0))  # the lag of the filter
    wanted = fj.jacobian(RIGID, run.q[before], link="right_finger").T @ w
    np.testing.assert_allclose(run.more["momentum.residual"][at], wanted, rtol=0.01)
    alarms = np.abs(run.more["momentum.residual"][at]) > 0.1
    assert fj.observers.struck_links(RIGID, alarms) == ["right_finger", "left_finger"]


def test_detection_names_both_fingers_and_an_elastic_leader_feels_its_follower():
    law = fj.control.FeedforwardPD(ELASTIC, [300.0, 30.0])
    run = fj.simulate(ELASTIC, law, MOTION, contact=pushed)
    rng = np.random.default_rng(0)
    noisy = {x: getattr(run, x) + 1e-4 * rng.normal(size=run.q.shape) for x in ("v", "theta_v")}
    log = Log(ELASTIC, run.t, run.q, noisy["v"], run.theta, noisy["theta_v"], None, run.tau)
    found = fj.detection.detect(log, quiet=(0.05, 0.45), cutoff=60.0, per_hour=3600.0)
    first = found.detections[0]
    assert 0.5 < first.begin < 0.53
    assert found.struck(first) == ["right_finger", "left_finger"]


def test_end_stops_hold_a_leader_where_its_follower_has_its_limit():
    joint = dataclasses.replace(RIGID.links[2].joint, limits=fj.Limits(-0.1, 0.35))
    links = [dataclasses.replace(x, joint=joint) if x.name == "right_finger" else x for x in RIGID.links]
    robot = RIGID.replace(links=links, gravity=(0.0, 0.0, 0.0))
    assert robot.joints[1].limits.upper == pytest.approx(0.1)
    run = fj.simulate(
        robot,
        fj.control.OpenLoop(robot),
        np.array([0.0, 5.0]),
        1.5,
        start=fj.JointState(*np.zeros((4, 2))),
        stops=fj.simulation.EndStops(2e4, 0.5),
        substeps=4,
    )
    assert run.q[-1, 1] == pytest.approx(0.1 + 5.0 / 2e4, abs=3e-4)
    assert robot.joint_positions(run.q[-1])[1] == pytest.approx(-0.1, abs=2e-3)
