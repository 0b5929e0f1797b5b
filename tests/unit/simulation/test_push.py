"""A push on a link, and noise of sensors, as inputs of the kernel of a run."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.simulation import Push, Sensors
from flexjoint.simulation.loop_kernel import loop_kernel

ROBOT = fj.load("hua_3r")
LAW = fj.control.MotorPD(ROBOT, [400.0, 40.0])
GOAL = [0.1, 0.2, 0.3]


def test_a_push_gives_a_free_mass_the_momentum_of_a_half_sine():
    joint = fj.Joint("rail", "prismatic")
    mass = fj.Robot("mass", [fj.Link("body", joint, "base", 2.5)], allow_unphysical=True, gravity=(0.0, 0.0, 0.0))
    push = Push("body", [7.0, 0.0, 30.0], time=0.02, duration=0.05)
    run = fj.simulate(mass, fj.control.OpenLoop(mass), [0.0], 0.1, contact=push, check=False)
    speed = 30.0 * 0.05 * 2 / np.pi / 2.5
    assert np.allclose(run.v[-1], speed, rtol=1e-6), "∫ F sin(π t/d) dt = 2 F d/π"
    assert np.all(run.v[run.t <= 0.02] == 0) and np.ptp(run.v[run.t > 0.0701]) < 1e-12
    force = push.force_at(run.t)
    assert force.shape == (101, 3) and np.allclose(force[45], [7.0, 0.0, 30.0]) and np.all(force[:20] == 0)


def test_a_push_is_the_contact_that_a_function_would_be_and_its_numbers_need_no_other_kernel():
    def by_hand(t, state):
        phase = (t - 0.05) / 0.04
        size = ca.if_else(ca.logic_and(phase >= 0, phase <= 1), ca.sin(ca.pi * phase), 0)
        return {ROBOT.tool: ca.vertcat(12 * size, 0, -20 * size, 0, 0, 0)}

    def pushed(force, time, duration):
        return fj.simulate(ROBOT, LAW, GOAL, 0.15, contact=Push(ROBOT.tool, force, time, duration))

    found = pushed([12.0, 0.0, -20.0], 0.05, 0.04)
    wanted = fj.simulate(ROBOT, LAW, GOAL, 0.15, contact=by_hand)
    assert np.allclose(found.q, wanted.q, rtol=0, atol=1e-13) and np.ptp(found.q[:, 1]) > 1e-4
    before = loop_kernel.cache_info().misses
    others = [pushed([1.0, 2.0, 3.0], 0.01, 0.1), pushed([0.0, 0.0, 0.0], 0.0, 1.0)]
    assert loop_kernel.cache_info().misses == before
    assert not np.array_equal(others[0].q, found.q) and np.ptp(others[1].q[:, 1]) < np.ptp(found.q[:, 1])


@pytest.mark.parametrize(
    "given, message",
    [
        (("tool", [1.0, 2.0], 0.1), "force has shape"),
        (("tool", [1.0, 2.0, np.nan], 0.1), "force"),
        (("tool", [1.0, 2.0, 3.0], 0.1, 0.0), "duration"),
    ],
)
def test_wrong_pushes(given, message):
    with pytest.raises(fj.InputError, match=message):
        Push(*given)


def test_a_push_on_a_link_that_does_not_exist():
    with pytest.raises(fj.RobotError, match="nowhere"):
        fj.simulate(ROBOT, LAW, GOAL, 0.1, contact=Push("nowhere", [1.0, 0.0, 0.0], 0.0))


def test_free_noise_is_that_of_the_sensors_and_needs_no_other_kernel():
    def noisy(**noise):
        return fj.simulate(ROBOT, LAW, GOAL, 0.1, sensors=Sensors(), noise=noise, seed=3)

    same = Sensors(motor_noise=1e-4, velocity_noise=(1e-3, 2e-3, 3e-3))
    wanted = fj.simulate(ROBOT, LAW, GOAL, 0.1, sensors=same, seed=3)
    found = noisy(motor_noise=1e-4, velocity_noise=[1e-3, 2e-3, 3e-3])
    assert np.allclose(found.more["measured.theta_v"], wanted.more["measured.theta_v"], rtol=0, atol=1e-12)
    assert np.std(found.more["measured.theta"] - found.theta) > 5e-5 and "0.0001" in found.provenance["noise"]
    before = loop_kernel.cache_info().misses
    silent = noisy(motor_noise=0.0, velocity_noise=0.0)
    assert loop_kernel.cache_info().misses == before
    assert np.array_equal(silent.more["measured.theta"], silent.theta)
    both = fj.simulate(ROBOT, LAW, GOAL, 0.1, sensors=Sensors(), noise={"motor_noise": [[0.0], [1e-4]]}, row=[0, 0])
    assert both.q.shape == (2, 101, 3) and not np.array_equal(both.q[0], both.q[1]), "a batch over noise"


@pytest.mark.parametrize(
    "options, message",
    [
        ({"noise": {"motor_noise": 1.0}}, "belongs to sensors"),
        ({"noise": {"motor": 1.0}, "sensors": Sensors()}, "no noise 'motor'"),
        ({"noise": {"motor_noise": -1.0}, "sensors": Sensors()}, "none negative"),
        ({"noise": {"motor_noise": [1.0, 2.0]}, "sensors": Sensors()}, "one per joint"),
        ({"noise": 1.0, "sensors": Sensors()}, "by name"),
    ],
)
def test_wrong_noise(options, message):
    with pytest.raises(fj.InputError, match=message):
        fj.simulate(ROBOT, LAW, GOAL, 0.1, **options)


def test_springs_with_other_damping():
    robot = fj.load("kuka_lwr").with_spring_damping(3.0)
    assert [joint.drive.damping for joint in robot.joints] == [3.0] * 7
    assert robot.with_spring_damping([0.0] * 7) == fj.load("kuka_lwr")
    mixed = ROBOT.with_spring_damping([1.0, 2.0, 4.0])
    assert [x.drive for x in mixed.joints[:2]] == [x.drive for x in ROBOT.joints[:2]]
    assert mixed.joints[2].drive.damping == 4.0
    with pytest.raises(fj.RobotError, match="damping"):
        ROBOT.with_spring_damping([1.0, 2.0])
