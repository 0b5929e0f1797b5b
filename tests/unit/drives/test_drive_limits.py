"""Limits of motors and springs."""

import math

import numpy as np

from flexjoint.drives import AntagonisticDrive, ElasticDrive, LeverDrive, Motor, MotorLimits, SpringLimits
from flexjoint.robot import Joint, Limits, Link, Robot
from flexjoint.robot.parameters import robot_parameters
from flexjoint.springs import CubicSpring

CUBIC = CubicSpring(400.0, 2e3)


def pendulum(drive, **limits):
    body = {"mass": 1.0, "com": (0.3, 0.0, 0.0), "inertia": 0.02 * np.eye(3)}
    return Robot("pendulum", (Link("arm", Joint("hinge", limits=Limits(**limits), drive=drive), **body),))


def motor(**limits):
    return Motor(0.5, limits=MotorLimits(**limits))


def test_the_lesser_of_motor_and_joint_bounds_the_torque():
    assert pendulum(ElasticDrive(1e3, motor(torque=80.0)), effort=100.0).motor_efforts == (80.0,)
    assert pendulum(ElasticDrive(1e3, motor(torque=120.0)), effort=100.0).motor_efforts == (100.0,)
    assert pendulum(None, effort=100.0).motor_efforts == (100.0,)
    both = AntagonisticDrive(CUBIC, CUBIC, motor(torque=30.0), motor(torque=50.0))
    assert pendulum(both, effort=40.0).motor_efforts == (30.0, 40.0)


def test_the_effort_of_a_joint_does_not_bound_a_pivot_that_slides():
    lever = LeverDrive(1e4, 0.05, 0.01, 0.09, motor(), motor(torque=70.0))
    assert pendulum(lever, effort=40.0).motor_efforts == (40.0, 70.0)


def test_two_motors_made_one_add_their_torques_and_keep_the_lesser_speed():
    first, second = motor(torque=30.0, speed=2.0, power=9.0), motor(torque=50.0, speed=3.0, rms_torque=10.0)
    rigid = pendulum(AntagonisticDrive(CUBIC, CUBIC, first, second)).rigid()
    assert rigid.joints[0].drive.motor.limits == MotorLimits(torque=80.0, speed=2.0)


def test_limits_are_not_parameters_but_part_of_the_robot():
    plain, limited = (pendulum(ElasticDrive(1e3, motor(), spring_limits=SpringLimits(x))) for x in (math.inf, 9.0))
    assert plain != limited
    assert not [path for path in robot_parameters(limited) if "limit" in path]
