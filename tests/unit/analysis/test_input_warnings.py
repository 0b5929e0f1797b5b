"""Warnings of torque tables: noise of a record, links without mass, limits; and nothing where all is well."""

import dataclasses

import numpy as np
import pytest
from typer.testing import CliRunner

import flexjoint as fj
from flexjoint.analysis.torque_table import motor_table
from flexjoint.analysis.variable_stiffness_table import stiffness_table
from flexjoint.cli import app
from support.warned import said, with_limits

T = np.arange(0.0, 1.0005, 2e-3)
GOAL = fj.trajectory.RestToRest([0.0, 0.0], [0.8, -0.5], 1.0)
RECORD = GOAL(T, 0)[0]
NOISE = np.random.default_rng(3).normal(size=RECORD.shape)


@pytest.fixture(scope="module")
def robot():
    return fj.random_robot(2, 1, prismatic=0.0, elastic=1.0, name="springy")


def test_noise_of_a_record_is_refused_with_its_torque(robot):
    """1e-4 rad of noise made 1e7 Nm and more in silence."""
    noisy = RECORD + 1e-4 * NOISE
    kept = motor_table(robot, fj.trajectory.Samples(T, noisy, cutoff="off"))
    peak = np.abs(kept.tau).max()
    assert peak > 1e4
    with pytest.raises(fj.InputError) as caught:
        motor_table(robot, fj.trajectory.Samples(T, noisy))
    message = str(caught.value)
    assert "springy: the recorded positions of joint 'link" in message and "type cutoff=" in message
    number = float(message.split("which makes ")[1].split(" Nm")[0])
    assert 0.1 * peak < number < peak
    smooth = fj.trajectory.Samples(T, noisy, cutoff=10.0)
    tables = []
    assert said(lambda: tables.append(motor_table(robot, smooth))) == []
    assert np.abs(tables[0].tau).max() < 1e-2 * peak


def test_noise_that_passes_a_filter_is_named(robot):
    (message,) = said(lambda: motor_table(robot, fj.trajectory.Samples(T, RECORD + 1e-4 * NOISE, cutoff=150.0)))
    assert "noise or jumps of the recorded positions" in message and "a cutoff lower than 150 Hz" in message


def test_a_record_without_noise_is_silent(robot):
    assert said(lambda: motor_table(robot, fj.trajectory.Samples(T, RECORD))) == []
    assert said(lambda: motor_table(robot, fj.trajectory.Samples(T[::20], RECORD[::20]))) == []
    assert said(lambda: motor_table(robot, fj.trajectory.Samples(T, 0 * RECORD))) == []
    assert said(lambda: motor_table(robot.rigid(), fj.trajectory.Samples(T, RECORD + 1e-7 * NOISE, order=2))) == []


def test_a_rounded_record_is_noisy(robot):
    """Five decimals, as spreadsheets write them."""
    with pytest.raises(fj.InputError, match="an encoder with steps of 1e-05 rad"):
        motor_table(robot, fj.trajectory.Samples(T, np.round(RECORD, 5)))


def test_joints_without_mass_beyond_them_are_named(robot):
    links = [dataclasses.replace(link, mass=0.0, com=[0, 0, 0], inertia=np.zeros((3, 3))) for link in robot.links]
    last, bare = robot.replace(links=[robot.links[0], links[1]]), robot.replace(links=links)
    (message,) = said(lambda: motor_table(last.without_drives(), GOAL, 0.1))
    assert "no link beyond the joints 'link2_joint' has a mass" in message and "give link 'link2' a mass" in message
    (message,) = said(lambda: motor_table(bare.without_drives(), GOAL, 0.1))
    assert "'link1_joint', 'link2_joint'" in message


def test_limits_along_a_table(robot):
    limited = with_limits(robot, lower=-0.4, upper=0.4, velocity=0.1, effort=1.0)
    position, velocity, torque = said(lambda: motor_table(limited, GOAL))
    assert "the motion exceeds position limits" in position
    assert "the motion exceeds velocity limits" in velocity
    assert "the motion exceeds torque limits" in torque


def test_limits_of_both_motors():
    vsa = fj.load("vsa_3r")
    motion, stiffness = fj.trajectory.RestToRest([0.0] * 3, [0.5] * 3, 1.0), fj.trajectory.load_stiffness(1000, vsa)
    (message,) = said(lambda: stiffness_table(with_limits(vsa, effort=0.5), motion, stiffness, 0.01))
    assert "torque limits" in message and "more joints" in message
    assert said(lambda: stiffness_table(vsa, motion, stiffness, 0.01)) == []


ARM = """
name = "arm"
convention = "modified_dh"
[[link]]
mass = 2.0
com = [0.5, 0.0, 0.0]
inertia = {xx = 0.01, yy = 0.02, zz = 0.02}
limits = {lower = -3.2, upper = 3.2, velocity = 2.0, effort = 15.0}
"""


def test_the_command_line_prints_each_doubt_on_one_line(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_text(ARM)
    result = CliRunner().invoke(app, ["torques", str(path), '{kind = "rest_to_rest", goal_deg = 200, duration = 0.5}'])
    assert result.exit_code == 0
    told = [line for line in result.stderr.splitlines() if "arm: the motion exceeds" in line]
    assert ["position" in told[0], "velocity" in told[1], "torque" in told[2], len(told)] == [True, True, True, 3]
    assert "joint 'joint1' reaches 3.491 rad at t = 0.5 s (limit 3.2 rad" in told[0]
    result = CliRunner().invoke(app, ["torques", str(path), '{kind = "rest_to_rest", goal_deg = 45, duration = 3}'])
    assert result.exit_code == 0 and result.stderr == ""
