"""Short simulations of an arm with two elastic joints, alone and in batches, with second motors too."""

import numpy as np

import flexjoint as fj

ROBOT = fj.random_robot(2, 5, prismatic=0.0, elastic=1.0, name="arm")
SLIDING = ROBOT.replace(links=tuple(fj.random_robot(2, 4, prismatic=1.0, elastic=1.0).links))
NAMES = [joint.name for joint in ROBOT.joints]
SPRING = fj.springs.CubicSpring(300.0, 1e4)
TWO = ROBOT.with_drives(
    [ROBOT.joints[0].drive, fj.drives.AntagonisticDrive(SPRING, SPRING, fj.Motor(0.2), fj.Motor(0.2))]
)  # motors: of joint 1, of joint 2, of joint 2
LEVER = fj.drives.LeverDrive(1e5, 0.1, 0.03, 0.15, fj.Motor(0.5), fj.Motor(2.0))
PULLED = ROBOT.with_drives([LEVER, fj.load("vsa_3r").joints[0].drive])  # second motors: a sliding pivot, a spring's


def simulated(robot=ROBOT, rows=(), periods=20):
    start = fj.JointState(*np.random.default_rng(1).uniform(-0.2, 0.2, (4, *rows, 2)))
    law = fj.control.MotorPD(robot, [400.0, 40.0])
    return fj.simulate(robot, law, [0.4, -0.3], periods * 1e-3, start=start, period=1e-3, check=False)


def two_motors_run():
    start = fj.simulation.at_rest(TWO, [0.1, -0.2], 900.0)
    return fj.simulate(TWO, fj.control.OpenLoop(TWO), [0.0, 5.0, -5.0], 0.02, start=start, period=1e-3, check=False)


def pulled_run():
    start = fj.simulation.at_rest(PULLED, [0.2, 0.1], 1000.0)
    return fj.simulate(PULLED, fj.control.OpenLoop(PULLED), np.zeros(4), 0.02, start=start, check=False)
