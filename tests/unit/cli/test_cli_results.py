"""`flexjoint torques`: what it writes, prints and refuses."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

import flexjoint as fj
from flexjoint.cli import app
from support.motors import paired_motion


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


# Torques ----------------------------------------------------------------------------------------------------------

TURN = '{kind = "rest_to_rest", goal_deg = 40, duration = 0.5}'


def test_torques_are_written_and_plotted(run, tmp_path):
    table, plot = tmp_path / "torques.csv", tmp_path / "torques.png"
    result = run("torques", "hua_3r", TURN, "-o", str(table), "--plot", str(plot), "--period", "0.05", "--rigid")
    assert result.exit_code == 0, result.output
    robot = fj.load("hua_3r")
    assert all(joint.name in result.stdout for joint in robot.joints) and "elastic − rigid" in result.stdout
    rows = np.loadtxt(table, delimiter=",", skiprows=1)
    stack = fj.trajectory.RestToRest(np.zeros(3), np.deg2rad([40.0] * 3), 0.5)(rows[:, 0])
    assert rows[:, 0].tolist() == [0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5]
    assert np.array_equal(rows[:, 10:13], fj.inverse_dynamics(robot, *stack))
    assert np.array_equal(rows[:, 13:], fj.inverse_dynamics(robot.rigid(), *stack))
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert sorted(tmp_path.iterdir()) == [table, plot]


RAMP = '{kind = "rest_to_rest", start = 900, goal = 1100, duration = 0.5}'


def test_torques_of_both_motors(run, tmp_path):
    table, plot = tmp_path / "both.npz", tmp_path / "both.png"
    options = ["--stiffness", RAMP, "--sensitivity", "link?.mass=5%", "--period", "0.05"]
    result = run("torques", "vsa_3r", TURN, *options, "-o", str(table), "--plot", str(plot))
    assert result.exit_code == 0, result.output
    for words in ("joint3", "motor torques", "deflections", "1100 Nm/rad", "error of torque 2"):
        assert words in result.stdout
    robot, found = fj.load("vsa_3r"), np.load(table)
    q = fj.trajectory.RestToRest(np.zeros(3), np.deg2rad([40.0] * 3), 0.5)(found["t"])
    sigma = fj.trajectory.RestToRest(np.full(3, 900.0), np.full(3, 1100.0), 0.5)(found["t"], order=2)
    motors = paired_motion(robot, *q, *sigma)
    for name in ("tau_1", "tau_2", "theta_1", "theta_2", "phi_1", "phi_2", "tau_e"):
        assert np.array_equal(found[name], getattr(motors, name))
    band = fj.analysis.sensitivity(robot, q, {"link?.mass": "5%"}, sigma)["tau"]
    assert np.array_equal(found["tau_2_bound"], band.bound[:, 3:]) and found["sigma_unit"][0] == "Nm/rad"
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_torques_of_every_damped_robot(run, tmp_path):
    """Springs of any law and joints of variable stiffness, from robot files."""
    motor, spring = fj.Motor(0.4), fj.springs.CubicSpring(400.0, 2e3)
    pair = fj.drives.AntagonisticDrive(spring, spring, motor, motor, damping=3.0)
    for drives, options in (
        (
            [
                fj.ElasticDrive(spring, motor, 3.0),
                None,
                fj.ElasticDrive(fj.springs.HardeningSpring(300.0, 0.3), motor, 1.0),
            ],
            [],
        ),
        ([pair, fj.ElasticDrive(spring, motor, 3.0), None], ["--stiffness", "1100"]),
    ):
        fj.write_robot(fj.load("hua_3r").with_drives(drives), tmp_path / "robot.toml")
        result = run("torques", str(tmp_path / "robot.toml"), TURN, "--period", "0.05", *options)
        assert result.exit_code == 0 and "joint3" in result.output
    result = run("torques", str(tmp_path / "robot.toml"), TURN, *options, "--sensitivity", "*.mass=5%")
    assert result.exit_code != 0 and "'joint1' is damped" in result.output and "damping = 0" in result.output


def test_torques_without_files_are_a_table(run):
    result = run("torques", "hua_3r", TURN, "--period", "0.1", "--wrench", "0", "0", "-10", "0", "0", "0")
    assert result.exit_code == 0
    assert "6 samples" in result.stdout and "wrote" not in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["hua_4r", TURN], "hua_3r"),
        (["hua_3r", "motion.csv"], "no such file"),
        (["hua_3r", "{kind = 'rest_to_rest', goal = [1, 2], duration = 1}"], "one number for all joints or 3"),
        (["hua_3r", "{kind = 'rest_to_rest', goal = 1, duration = 1, smoothness = 1}"], "not smooth enough"),
        (["hua_3r", TURN, "--period", "0"], "positive"),
        (["hua_3r", TURN, "--wrench", "0", "0", "nan", "0", "0", "0"], "wrench is [0.0, 0.0, nan, 0.0, 0.0, 0.0]"),
        (["hua_3r", TURN, "-o", "x.doc"], "ends in .csv, .npz, .parquet"),
        (["hua_3r", TURN, "--plot", "x.doc"], "ends in .png"),
        (["hua_3r", TURN, "-o", "x.csv", "--plot", "nowhere/x.png"], "no folder nowhere"),
        (["hua_3r", TURN, "--stiffness", "900"], "no joint whose stiffness"),
        (["vsa_3r", TURN], "give their stiffness with --stiffness"),
        (["vsa_3r", TURN, "--stiffness", "900", "--rigid"], "leave it out with --stiffness"),
        (["vsa_3r", TURN, "--stiffness", "810"], "at t = 0 s: "),
        (["vsa_3r", TURN, "--stiffness", "810"], "'joint2' cannot have the stiffness 810 Nm/rad"),
        (["hua_3r", TURN, "--sensitivity", "*.mass"], "give a path and a value, each path once, such as '*.mass=5%'"),
        (["hua_3r", TURN, "--sensitivity", "*.weight=5%"], "no parameter '*.weight'"),
        (["hua_3r", TURN, "--sensitivity", "*.mass=5%", "--sensitivity", "link1.mass=1"], "selected twice"),
    ],
)
def test_mistakes_in_torques_are_one_line_and_write_nothing(run, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    result = run("torques", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr and result.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_full_disk_is_one_line_and_leaves_nothing(run, tmp_path, monkeypatch):
    from flexjoint.results import files

    def full(table, file, progress):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(files.WRITERS, ".csv", full)
    result = run("torques", "hua_3r", TURN, "-o", str(tmp_path / "x.csv"))
    assert result.exit_code == 2
    assert result.stderr == f"flexjoint: {tmp_path / 'x.csv'}: No space left on device\n"
    assert not list(tmp_path.iterdir())


def test_a_warning_is_one_line(run, tmp_path):
    """Coulomb friction on the link of an elastic joint is computed, and commented on."""
    joint = {"coulomb_friction": 5.0, "coulomb_velocity": 0.01}
    drive = fj.ElasticDrive(1000.0, fj.Motor(1.0))
    robot = fj.from_dh("rough", [0.0], [0.5], [0.0], mass=[1.0], inertia=[0.01 * np.eye(3)], drives=[drive], **joint)
    fj.write_robot(robot, tmp_path / "rough.toml")
    result = run("torques", str(tmp_path / "rough.toml"), TURN)
    assert result.exit_code == 0
    assert result.stderr.startswith("flexjoint: warning: rough: the Coulomb friction")
    assert result.stderr.count("\n") == 1
