"""Robot files with hysteresis and backlash on the command line: models without them, and a warning that says so."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import flexjoint as fj
from flexjoint.cli import app

MOTION = '{kind = "rest_to_rest", start = [0, 0], goal = [0.3, -0.2], duration = 0.2}'
SMOOTH = fj.random_robot(2, 5, prismatic=0.0).with_drives([fj.ElasticDrive(300.0, fj.Motor(0.5, 0.4))] * 2)
LAW = fj.drives.BoucWen(1.5, 400.0, exponent=2.0)
WARNING = "does not know the hysteresis and backlash of link1_joint: its model is without them"


@pytest.fixture
def files(tmp_path):
    worn = replace(SMOOTH.joints[0].drive, hysteresis=LAW, backlash=1e-3)
    fj.write_robot(SMOOTH.with_drives([worn, SMOOTH.joints[1].drive]), tmp_path / "worn.toml")
    return tmp_path


def run(*arguments):
    found = CliRunner().invoke(app, [str(x) for x in arguments])
    assert found.exit_code == 0, found.output
    assert WARNING in " ".join(found.stderr.split())
    return found


def test_simulate_and_detect(files):
    """The robot that moves has its gears, the controller and the residual do not know them."""
    robot, log = files / "worn.toml", files / "run.csv"
    law = ["--controller", "motor_pd", "--gains", "200,20", "--trajectory", MOTION]
    run("simulate", robot, *law, "-o", log, "--substeps", "4")
    columns = log.read_text().splitlines()[0].split(",")
    table = np.loadtxt(log, delimiter=",", skiprows=1)
    torque = np.max(np.abs(table[:, columns.index("hysteresis_torque.link1_joint [Nm]")]))
    assert 0.2 < torque <= 1.5
    found = json.loads(run("detect", robot, log, "--threshold", "0.1", "--json").stdout)
    assert found["detections"]  # what the model does not know looks like a collision
    study = ["--samples", "3", "--vary", "*.drive.backlash=20%"]
    found = json.loads(run("simulate", robot, *law, *study, "--json").stdout)
    assert found["samples"] == 3 and found["failed"] == 0


def test_torques_are_those_of_the_model(files):
    found = json.loads(run("torques", files / "worn.toml", MOTION, "--json").stdout)
    fj.write_robot(SMOOTH, files / "smooth.toml")
    smooth = CliRunner().invoke(app, ["torques", str(files / "smooth.toml"), MOTION, "--json"])
    assert found["joints"] == json.loads(smooth.stdout)["joints"]


def test_info(files):
    found = json.loads(CliRunner().invoke(app, ["info", str(files / "worn.toml"), "--json"]).stdout)["links"]
    wanted = {"kind": "bouc_wen", "torque": 1.5, "stiffness": 400.0, "exponent": 2.0}
    assert found[0]["hysteresis"] == wanted and found[0]["backlash"] == 1e-3
    assert found[1]["hysteresis"] is None and found[1]["backlash"] == 0.0
