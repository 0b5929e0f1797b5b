"""The command line: what it prints, and what a mistake gets."""

from __future__ import annotations

import subprocess
import sys

import pytest
from typer.testing import CliRunner

import flexjoint as fj
from flexjoint.cli import app


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def test_lists_the_built_in_robots(run):
    result = run("robots")
    assert result.exit_code == 0
    assert all(name in result.output for name in fj.builtin_robots())
    assert "RRRRRRR" in result.output


def test_info_shows_links_and_drives(run):
    result = run("info", "kuka_lwr")
    assert result.exit_code == 0
    robot = fj.load("kuka_lwr")
    assert all(link.name in result.output and link.joint.name in result.output for link in robot.links)
    for text in ("RRRRRRR", "14.4 kg", "elastic", "1000", "3.05", "0.381"):
        assert text in result.output
    assert "N s/m" not in result.output  # no joint has friction


def test_info_shows_both_motors(run):
    result = run("info", "vsa_3r")
    assert result.exit_code == 0
    for text in ("antagonistic", "3.2, 3.2", "CubicSpring"):
        assert text in result.output


def test_info_reads_a_file(run, tmp_path):
    robot = fj.random_robot(3, seed=1, friction=True, prismatic=1.0)
    fj.write_robot(robot, tmp_path / "mine.toml")
    result = run("info", str(tmp_path / "mine.toml"))
    assert result.exit_code == 0
    assert "PPP" in result.output and "N s/m" in result.output and "prismatic" in result.output


def test_info_of_springs_and_damping(run, tmp_path):
    motor, law = fj.Motor(0.4), fj.springs.CubicSpring(100.0, 900.0)
    drives = [fj.RigidDrive(motor), fj.ElasticDrive(law, motor), fj.ElasticDrive(80.0, motor, damping=2.0)]
    fj.write_robot(fj.load("hua_3r").with_drives(drives), tmp_path / "robot.toml")
    text = run("info", str(tmp_path / "robot.toml"), "--operations").output
    assert "CubicSpring" in text
    assert "inverse_dynamics_step" in text


def test_info_counts_operations(run):
    result = run("info", "kuka_lwr", "--operations")
    assert result.exit_code == 0
    program, _ = fj.mass_matrix.trace(lwr := fj.load("kuka_lwr"), fj.mass_matrix.structure(lwr))
    assert str(program.operations) in result.output
    assert "forward_dynamics" in result.output


def test_info_lists_parameters(run):
    result = run("info", "kuka_lwr", "--parameters")
    assert result.exit_code == 0
    for text in ("joint3.position", "0, 0, 0.4", "joint7.drive.motor.inertia", "0.381", "gravity", "m/s²"):
        assert text in result.output
    assert "tool.mass" not in run("info", "kuka_lwr").output


def test_exported_c_may_keep_parameters_free(run, tmp_path):
    command = f"export-c hua_3r gravity_torque -o {tmp_path} --free tool.mass --free gravity"
    result = run(*command.split())
    assert result.exit_code == 0
    header = next(tmp_path.glob("*.h")).read_text()
    assert "tool_mass" in header and "gravity.z" in header
    result = run(*command.split()[:-1], "gravty")
    assert result.exit_code == 2 and "did you mean gravity" in result.stderr


@pytest.mark.parametrize("robot, message", [("kuka_lvr", "kuka_lwr"), ("missing.toml", "no such file")])
def test_a_mistake_is_one_line_and_exit_code_2(run, robot, message):
    result = run("info", robot)
    assert result.exit_code == 2
    assert result.stderr.startswith("flexjoint: ") and message in result.stderr
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.output


def test_config(run):
    result = run("config")
    assert result.exit_code == 0
    assert "calls:" in result.output and "LLVM" in result.output


def test_version(run):
    result = run("--version")
    assert result.exit_code == 0
    assert result.output.split()[0] == "flexjoint"


def test_help_names_the_commands(run):
    result = run("--help")
    assert result.exit_code == 0
    assert all(name in result.output for name in ("robots", "info", "torques", "detect", "config", "--version"))


def test_help_imports_neither_casadi_nor_llvm():
    code = (
        "import sys\n"
        "from typer.testing import CliRunner\n"
        "from flexjoint.cli import app\n"
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0\n"
        "assert not {'casadi', 'llvmlite', 'matplotlib', 'scipy'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_cache_commands(run, tmp_path, monkeypatch):
    monkeypatch.setenv("FLEXJOINT_CACHE", str(tmp_path / "kernels"))
    (tmp_path / "kernels").mkdir(mode=0o700)
    (tmp_path / "kernels" / "0.kernel").write_bytes(b"x" * 1000)
    assert "1 kernels, 0.0 MB" in run("cache", "info").output
    assert "removed 1 kernels" in run("cache", "clear").output
    assert "0 kernels" in run("cache", "info").output
    monkeypatch.setenv("FLEXJOINT_CACHE", "off")
    assert "no kernels are kept" in run("cache", "info").output
    (tmp_path / "file").touch()
    monkeypatch.setenv("FLEXJOINT_CACHE", str(tmp_path / "file"))
    refused = run("cache", "info")
    assert refused.stderr.startswith("flexjoint: warning: kernels are not kept") and refused.stderr.count("\n") == 1


def test_kernel_describes_itself_and_shows_its_code(run):
    described = run("kernel", "hua_3r", "gravity_torque")
    assert described.exit_code == 0
    assert described.output.rstrip("\n") == fj.compile(fj.gravity_torque, fj.load("hua_3r")).describe()
    listed = run("kernel", "hua_3r", "torque_derivatives", "--order", "1", "--program").output
    assert "%0 = " in listed and listed.count("out tau[3]") == 2
    assert "define i64 @kernel" in run("kernel", "hua_3r", "gravity_torque", "--ir").output
    assert "ret" in run("kernel", "hua_3r", "gravity_torque", "--assembly").output
    mistake = run("kernel", "hua_3r", "gravity").stderr
    assert "no algorithm 'gravity'; there are " in mistake and "bias_torque" in mistake


MOTION = '{kind = "rest_to_rest", start_deg = [0, 0, 0], goal_deg = [20, 10, -10], duration = 0.2}'


def test_simulate(run, tmp_path):
    arguments = ["simulate", "hua_3r", "--trajectory", MOTION, "--controller", "feedback_linearization"]
    result = run(*arguments, "--poles", "-10", "--output", str(tmp_path / "run.csv"))
    assert result.exit_code == 0, result.output
    assert "200 periods of 0.001 s" in result.output
    assert len((tmp_path / "run.csv").read_text().splitlines()) == 202


def test_simulate_with_a_law_for_mixed_robots(run):
    arguments = ["simulate", "hua_3r", "--trajectory", MOTION, "--controller", "mixed_inverse_dynamics"]
    result = run(*arguments, "--gains", "100,20,100,20")
    assert result.exit_code == 0, result.output
    assert "200 periods of 0.001 s" in result.output


@pytest.mark.parametrize(
    ("controller", "options", "message"),
    [
        ("magic", [], "no controller 'magic'; known are: adaptive_control, "),
        ("motor_pd", [], "motor_pd takes --gains K_P,K_D, which is missing"),
        ("motor_pd", ["--gains", "1,2,3"], "motor_pd takes --gains K_P,K_D, not '1,2,3'"),
        ("computed_torque", ["--poles", "-1,-2"], "computed_torque takes --poles POLE, not '-1,-2'"),
        ("computed_torque", ["--poles", "3"], "left half plane"),
        ("motor_pd", ["--gains", "1,1", "--output", "run.txt"], "ends in .nc, .csv, .npz, .parquet"),
    ],
)
def test_simulate_refuses(run, controller, options, message):
    result = run("simulate", "hua_3r", "--trajectory", MOTION, "--controller", controller, *options)
    assert result.exit_code == 2
    assert message in result.stderr
