"""Command `info`: what it shows of a robot with everything, section by section."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import flexjoint as fj
from flexjoint.cli import app
from flexjoint.cli.robot_cells import axis_text, roll_pitch_yaw
from flexjoint.cli.robot_tables import SECTIONS
from flexjoint.drives import BoucWen, CoupledTransmission, Friction, MotorLimits, SpringLimits
from flexjoint.robot import Mimic, Source
from flexjoint.springs import CubicSpring, ParallelSpring

URDF = Path(__file__).parents[2] / "data" / "urdf"
BODY = {"mass": 1.5, "com": [0.1, 0.0, 0.02], "inertia": np.diag([0.01, 0.02, 0.02])}


def everything():
    """Trees, followers, coupled joints, laws of springs, friction, hysteresis, limits and sources."""
    motor = fj.Motor(0.31, gear_ratio=-101.0, limits=MotorLimits(torque=77.0, power=151.0))
    rubbing = fj.Motor(0.32, friction=Friction(2.5, 5.5, 0.015, static=6.5, stribeck_velocity=0.125))
    worn = fj.ElasticDrive(
        CubicSpring(811.0, 17.0), motor, 0.75, SpringLimits(torque=66.0), BoucWen(3.5, 411.0), backlash=0.00125
    )
    two_ways = Friction(1.25, 4.5, 0.035, backward=Friction(1.75, 4.75))
    joints = [
        fj.Joint("yaw", limits=fj.Limits(-2.25, 2.0, velocity=3.25), friction=two_ways, drive=worn),
        fj.Joint("lift", "prismatic", parallel_spring=ParallelSpring(43.0, 0.375), axis=[0.0, -1.0, 0.0]),
        fj.Joint("pitch", drive=fj.ElasticDrive(501.0, rubbing), rotation=[[1, 0, 0], [0, 0, -1], [0, 1, 0]]),
        fj.Joint("roll", drive=fj.ElasticDrive(502.0, rubbing)),
        fj.Joint("finger", "prismatic", mimic=Mimic("lift", ratio=-0.5, offset=0.0625)),
    ]
    parents = ["base", "body1", "body2", "body3", "body2"]
    links = tuple(fj.Link(f"body{k}", x, y, **BODY) for k, (x, y) in enumerate(zip(joints, parents), 1))
    differential = CoupledTransmission(["pitch", "roll"], [[1, 1], [1, -1]])
    sources = [Source(of=("*.mass",), trust="estimated", origin="weighed")]
    return fj.Robot("everything", links, transmissions=(differential,), sources=tuple(sources))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    path = tmp_path_factory.mktemp("robots") / "everything.toml"
    fj.write_robot(everything(), path)

    def invoke(*arguments, robot=path):
        found = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["info", str(robot), *map(str, arguments)])
        assert found.exit_code == 0, found.output
        return found.stdout

    return invoke


EXPECTED = {
    "links": ["body5", "body2", "finger", "prismatic = -0.5 · lift + 0.0625", "1.5"],
    "frames": ["90, 0, 0", "-y"],
    "bodies": ["0.1, 0, 0.02", "0.01, 0.02, 0.02"],
    "limits": ["-2.25 to 2", "3.25", "77", "151", "66", "rad (m)"],
    "drives": [
        "-101",
        "0.31",
        "CubicSpring: stiffness 811, cubic 17",
        "0.75",
        "BoucWen: torque 3.5",
        "411",
        "501",
        "0.375",
    ],
    "friction": ["yaw, forward", "1.25", "0.035", "yaw, backward", "1.75", "pitch motor", "6.5", "0.125", "Nm s/rad"],
    "transmissions": ["pitch, roll", "1, 1; 1, -1", "motor"],
    "frequencies": ["mode"],
    "sources": ["*.mass", "estimated", "weighed"],
    "file": [],
}


@pytest.mark.parametrize("section", SECTIONS)
def test_sections(run, section):
    text = run("--section", section)
    assert all(x in text for x in EXPECTED[section])
    assert sum("──" in line for line in text.splitlines()) == (section != "file")  # one table


def test_the_whole_page(run):
    text = run()
    assert all(x in text for name, words in EXPECTED.items() for x in words if name != "frequencies")
    assert "RPRR" in text and "order 4" in text and "worst trust" in text


def test_json(run):
    data = json.loads(run("--json"))
    yaw, lift, *_ = data["links"]
    assert yaw["limits"]["lower"] == -2.25 and yaw["limits"]["effort"] is None and yaw["gear_ratios"] == [-101.0]
    assert yaw["motor_limits"][0]["torque"] == 77.0 and yaw["spring_limits"]["torque"] == 66.0
    assert yaw["damping"] == 0.75 and yaw["friction_law"]["backward"]["viscous"] == 1.75
    assert lift["axis"] == [0.0, -1.0, 0.0] and lift["com_m"] == [0.1, 0.0, 0.02]
    assert len(data["eigenfrequencies"]["at_zero"]) == 4 and max(data["orders"]) == 4


def test_no_columns_of_nothing(run):
    text = run(robot="kuka_lwr")
    assert not any(x in text for x in ("friction", "damping", "hysteresis", "K_p", "coupled", "(m)"))


@pytest.mark.filterwarnings("ignore::flexjoint.FlexjointWarning")
def test_the_report_of_a_file(run):
    text = run("--section", "file", robot=URDF / "motors.urdf")
    assert "<dynamics mu_viscous>" in text and "53" in text


@pytest.mark.filterwarnings("ignore::flexjoint.FlexjointWarning")
def test_rigid_joints_that_are_coupled_have_no_springs(run):
    text = run("--section", "transmissions", robot=URDF / "wrist.urdf")
    assert "roll, pitch" in text and "springs" not in text


def test_a_picture(run, tmp_path):
    data = json.loads(run("--section", "links", "--plot", tmp_path / "x.svg", "--json"))
    assert data["files"] == [str(tmp_path / "x.svg")] and "</svg>" in (tmp_path / "x.svg").read_text()


def test_a_section_that_is_none():
    found = CliRunner().invoke(app, ["info", "hua_3r", "--section", "frame"])
    assert found.exit_code == 2 and "frames" in found.stderr


def test_axes_and_angles():
    assert [axis_text(np.array(x)) for x in ([1.0, 0, 0], [0, 0, -1.0], [0.6, 0, 0.8])] == ["x", "-z", "0.6, 0, 0.8"]
    pinocchio = pytest.importorskip("pinocchio")
    for angles in ([0.3, -0.4, 2.5], [-2.0, 1.2, -0.1], [0.7, math.pi / 2, 0.0], [0.7, -math.pi / 2, 0.0]):
        R = pinocchio.rpy.rpyToMatrix(np.array(angles))
        assert np.radians(roll_pitch_yaw(R)) == pytest.approx(angles, abs=1e-8)
