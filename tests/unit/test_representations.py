"""Results in a console and in a notebook: one short line with robot and key figure, and a table with escaped names."""

from __future__ import annotations

import dataclasses
import re

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.analysis import Band, motor_table, stiffness_table
from flexjoint.analysis.rotor_models import RotorComparison
from flexjoint.detection import Log
from support.runs import ROBOT

EVIL = "<script>alert('x')</script>"
NAMED = ROBOT.replace(
    name=EVIL,
    links=tuple(
        dataclasses.replace(link, joint=dataclasses.replace(link.joint, name=f"{EVIL}{i}"))
        for i, link in enumerate(ROBOT.links)
    ),
)
MOTION = fj.trajectory.RestToRest([0.0, 0.0], [0.4, -0.3], 0.5)


def study(robot):
    errors = np.arange(1.0, 9.0)[:, None] * 1e-3 * np.ones(2)
    arrays = {"parameters": errors[:, :1], "largest": errors, "rms": errors / 2, "final": errors / 4}
    arrays |= {"ended": np.full(8, 0.5), "joint": np.full(8, -1), "longest_step": np.full(8, np.inf)}
    arrays |= {"stiff_joint": np.full(8, -1), "samples": np.arange(8)}
    return fj.studies.MonteCarlo(robot, ("link1.mass",), **arrays, wanted=8, step=1e-3, limit=6.5e-3)


def comparison(robot):
    t, torque, speeds = np.linspace(0.0, 1.0, 3), np.ones((3, 2)), np.array([1.0, 2.0])
    growth, peaks = {"armature": np.full((2, 2), 0.5)}, np.ones((2, 2))
    return RotorComparison(robot, t, {"armature": 1.5 * torque, "complete": torque}, speeds, growth, peaks)


def log(robot):
    t = np.arange(200) / 100
    tau = np.where(t > 1.0, 30.0, 0.1)[:, None] * np.ones(2)
    still = np.zeros((200, 2))
    return Log(robot, t, q=still, v=still, tau=tau, differenced=("v",))


def detections(robot):
    light = robot.rigid().with_gravity([0.0, 0.0, 0.0])
    return fj.detection.detect(log(light), thresholds=1.0)


CASES = {
    "LinearModel": (lambda robot: fj.analysis.linearize(robot, [0.1, 0.2]), "8 states, 2 motors; natural frequencies"),
    "MotorTable": (lambda robot: motor_table(robot, MOTION, 0.1), "6 samples in 0.5 s; largest motor torque"),
    "MonteCarlo": (study, r"8 samples, 2 failed; median of the largest error 0\.004 rad"),
    "RotorComparison": (comparison, "use the complete model"),
    "Log": (log, "200 samples from 0 to 1.99 s; q, v, tau"),
    "DetectionReport": (detections, r"1 detection in 200 samples; largest residual \S+ Nm"),
}


@pytest.mark.parametrize("kind", CASES)
def test_one_line_with_robot_and_key_figure(kind):
    make, told = CASES[kind]
    text = repr(make(ROBOT))
    assert text.startswith(f"<{kind} ") and ROBOT.name in text and re.search(told, text)
    assert "\n" not in text and len(text) < 240


@pytest.mark.parametrize("kind", CASES)
def test_names_are_escaped_in_notebooks(kind):
    make, _ = CASES[kind]
    text = make(NAMED)._repr_html_()
    assert text.startswith("<table>") and "<script>" not in text and "&lt;script&gt;" in text


def test_error_bands():
    band = Band(np.array([[0.1, 0.2]]), np.array([[0.3, 0.5]]))
    assert repr(band) == "<Band (1, 2): standard deviation up to 0.2, bound up to 0.5>"
    assert "<td>bound</td><td>0.5</td>" in band._repr_html_()


def test_both_motors_of_a_joint():
    robot = fj.load("vsa_3r")
    goal, sigma = (
        fj.trajectory.RestToRest([0.0] * 3, [0.5] * 3, 2.0),
        fj.trajectory.RestToRest([900.0] * 3, [1100.0] * 3, 2.0),
    )
    found = stiffness_table(robot, goal, sigma, 0.1)
    largest = max(np.abs(found.tau_1).max(), np.abs(found.tau_2).max())
    assert f"largest motor torque {largest:.4g} Nm" in repr(found)
    assert f"{np.abs(found.tau_2[:, 0]).max():.4g} Nm" in found._repr_html_()
