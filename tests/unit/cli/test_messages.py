"""Messages in the words of the command line, controllers and their gains, and files that go from command to command."""

from __future__ import annotations

import csv
import inspect
import json

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import flexjoint as fj
from flexjoint.cli import app
from flexjoint.cli.controllers import named_controller, registrations, usage
from flexjoint.cli.messages import with_options

MOTION = '{kind = "rest_to_rest", goal_deg = [20, 10, -10], duration = 0.1}'
PD = ["simulate", "hua_3r", "--controller", "motor_pd", "--gains", "400,40", "--trajectory", MOTION]


@pytest.fixture
def run():
    return lambda *arguments: CliRunner().invoke(app, [str(x) for x in arguments])


# Words ------------------------------------------------------------------------------------------------------------


def said(command, message, **aliases):
    return with_options(message, get_command(app).commands[command].params, aliases)


@pytest.mark.parametrize(
    ("command", "python", "shell"),
    [
        ("simulate", "simulate: period is 0; take more", "--period is 0; take more"),
        ("simulate", "check=False simulates all the same", "--no-check simulates all the same"),
        ("simulate", "with check=True, period=0.001 or gains=", "with --check, --period 0.001 or --gains"),
        ("simulate", "MotorPD: gains are 3; use FeedforwardPD", "motor_pd: --gains are 3; use feedforward_pd"),
        ("simulate", "fj.control.MotorPD(robot)", "fj.control.MotorPD(robot)"),
        ("simulate", "hua_3r: 'x.drive.stiffness=10%' and link1.stiffness=3", None),
        ("simulate", "simulate: this reference has no end", "this reference has no end"),
        ("simulate", "arm.toml: period is no key", None),
        ("simulate", "the robot= and the trajectory=", "the ROBOT and the --trajectory"),
        ("rotors", "give its gear ratio, gear_ratio=", "give its gear ratio, --gear-ratio"),
        ("info", "or pass allow_unphysical=True", "or write allow_unphysical = true in the robot file"),
        ("info", "or pass rotors_in_links=False", "or write rotors_in_links = false in the robot or drive file"),
        ("info", "11 more, see fj.robot.robot_parameters(robot)", "11 more, see 'flexjoint info ROBOT --parameters'"),
        ("detect", "detect: quiet=(begin, end), a part", "--quiet-part BEGIN:END, a part"),
        ("info", "a == b, x=3 and unknown=5", None),
    ],
)
def test_arguments_are_options(command, python, shell):
    assert said(command, python) == (python if shell is None else shell)


def test_arguments_of_other_names_are_options_too():
    assert said("detect", "thresholds are needed", thresholds="threshold") == "--threshold are needed"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rotors", "kuka_lwr", MOTION.replace("[20, 10, -10]", "20")], "for all such motors, --gear-ratio"),
        (["rotors", "dlr_lbr2", MOTION.replace("[20, 10, -10]", "20"), "--tolerance", "-1"], "--tolerance is -1; "),
        ([*PD, "--samples", "0", "--vary", "payload=0..3"], "flexjoint: --samples is 0; it must be 1, 2, 3, ..."),
        ([*PD, "--period", "0"], "flexjoint: --period is 0.0; "),
        ([*PD, "--period", "0.02"], "--no-check simulates all the same"),
        (["torques", "hua_3r", MOTION, "--period", "0"], "flexjoint: --period is 0.0; "),
        ([*PD[:3], "structure_preserving", "--gains", "1,1,1", *PD[6:]], "use motor_pd"),
        (["torques", "hua_3r", MOTION, "--sensitivity", "x=1"], "see 'flexjoint info ROBOT --parameters'"),
    ],
)
def test_messages_are_in_the_words_of_the_command(run, arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2 and message in result.stderr and result.stderr.count("\n") == 1


# Controllers ------------------------------------------------------------------------------------------------------


def test_every_law_is_listed_with_its_gains(run):
    """Those of the package but open loops, and those around another one."""
    from flexjoint.control import REGISTRY
    from flexjoint.control.base import Controller, ControllerWrapper

    classes = {name: x for name, x in vars(fj.control).items() if inspect.isclass(x) and issubclass(x, Controller)}
    own = {name for name, x in classes.items() if not issubclass(x, ControllerWrapper)}
    assert {kind.__name__ for kind in REGISTRY.values()} == own - {"Controller", "OpenLoop"}
    text, data = run("controllers").stdout, json.loads(run("controllers", "--json").stdout)["controllers"]
    assert all(usage(law) in text for law in registrations().values())
    assert [x["name"] for x in data] == sorted(REGISTRY)
    motor_pd = next(x for x in data if x["name"] == "motor_pd")
    assert motor_pd["numbers"] == ["K_P", "K_D"] and motor_pd["units"] == ["Nm/rad | N/m", "Nm s/rad | N s/m"]
    assert all(len(x["numbers"]) == len(x["units"]) == len(x["meanings"]) for x in data)


@pytest.mark.parametrize("name", [name for name, law in registrations().items() if law.gains])
def test_as_many_gains_as_are_listed(name):
    robot, law = fj.load("kuka_lwr"), registrations()[name]
    count = len(law.numbers)
    assert named_controller(name, robot, ",".join(["2"] * count), "", 1e-3) is not None
    for wrong in (count + 1, count - law.optional - 1):
        with pytest.raises(fj.InputError, match=f"{name} takes --gains "):
            named_controller(name, robot, ",".join(["2"] * wrong), "", 1e-3)


def test_a_misspelt_controller_is_asked_back(run):
    result = run(*PD[:3], "motorpd", *PD[4:])
    assert "did you mean 'motor_pd'?" in result.stderr and "'flexjoint controllers'" in result.stderr


# Files ------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A run, and the torques of a motion, in every format."""
    folder = tmp_path_factory.mktemp("files")
    for suffix in ("csv", "npz", "parquet", "nc"):
        for name, command in (("run", PD), ("torques", ["torques", "hua_3r", MOTION])):
            done = CliRunner().invoke(app, [*command, "-o", str(folder / f"{name}.{suffix}")])
            assert done.exit_code == (2 if (name, suffix) == ("torques", "nc") else 0)
    return folder


def test_columns_are_named_alike(written, run):
    headers = {}
    assert run("detect", "hua_3r", written / "run.csv", "--threshold", "50", "-o", written / "found.csv").exit_code == 0
    for name in ("run", "torques", "found"):
        with open(written / f"{name}.csv", newline="") as file:
            headers[name] = set(next(csv.reader(file)))
    assert {"t [s]", "q.joint1 [rad]", "theta.joint3 [rad]", "tau.joint2 [Nm]"} <= headers["run"] & headers["torques"]
    assert {"t [s]", "link.joint1 [Nm]", "motor.joint3 [Nm]"} <= headers["found"]
    with np.load(written / "run.npz") as one, np.load(written / "torques.npz") as two:
        assert {"t", "q", "theta", "tau", "joints"} <= set(one.files) & set(two.files)
    assert {"q", "theta", "tau"} <= set(fj.results.read_results(written / "run.nc").data_vars)


@pytest.mark.parametrize("suffix", ["csv", "npz", "parquet", "nc"])
def test_simulations_are_logs(run, written, suffix):
    result = run("detect", "hua_3r", written / f"run.{suffix}", "--threshold", "50", "--json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["samples"] == 101 and not found["differenced"] and not found["detections"]


@pytest.mark.parametrize("suffix", ["csv", "npz", "parquet"])
def test_torques_are_logs(run, written, suffix):
    found = json.loads(run("detect", "hua_3r", written / f"torques.{suffix}", "--threshold", "50", "--json").stdout)
    assert found["differenced"] == ["v", "theta_v"] and set(found["known"]) >= {"q", "theta", "tau"}


@pytest.mark.parametrize("name", ["run.csv", "run.npz", "torques.csv", "torques.npz"])
def test_simulations_and_torques_are_motions(written, name):
    robot = fj.load("hua_3r")
    again = fj.trajectory.load_trajectory(written / name, robot.rigid())
    wanted = fj.detection.read_log(written / name, robot)
    np.testing.assert_allclose(again(wanted.t, 0)[0], wanted.q, atol=1e-9)


def test_torques_of_both_motors_are_logs(run, tmp_path):
    motion = '{kind = "rest_to_rest", goal_deg = 40, duration = 0.5}'
    for suffix in ("csv", "npz"):
        path = tmp_path / f"both.{suffix}"
        assert run("torques", "vsa_3r", motion, "--stiffness", "900", "--period", "0.01", "-o", path).exit_code == 0
        log = fj.detection.read_log(path, fj.load("vsa_3r"))
        assert log.tau.shape == log.theta.shape == (51, 6) and np.abs(log.tau[:, 3:]).max() > 1


def test_damaged_netcdf_files_are_no_logs(tmp_path):
    for content in (b"", b"CDF", b"CDF\x02" + b"\xff" * 40):
        (tmp_path / "x.nc").write_bytes(content)
        with pytest.raises(fj.InputError, match=r"x\.nc: not a NetCDF file of a simulation"):
            fj.detection.read_log(tmp_path / "x.nc", fj.load("hua_3r"))


def test_a_motion_with_more_columns_than_joints_needs_names(tmp_path):
    table = np.column_stack([np.arange(20) / 20, np.zeros((20, 4))])
    np.savetxt(tmp_path / "x.csv", table, delimiter=",", header="t,a,b,c,d", comments="")
    with pytest.raises(fj.InputError, match=r"5 columns; there must be 4: .* if those are named, such as q\.joint1"):
        fj.trajectory.load_trajectory(tmp_path / "x.csv", fj.load("hua_3r"))


def test_units_on_the_screen_are_degrees(run):
    for arguments in (PD, [*PD, "--samples", "4", "--vary", "payload=0..3", "--limit", "0.001"]):
        text = run(*arguments).stdout
        assert " °" in text and " rad" not in text


def test_what_to_type_in_python_is_left_out():
    message = "log.csv: no column 't'; say --columns t=stamp (in Python columns={'t': 'stamp'}), or rename it"
    assert with_options(message, [], {}) == "log.csv: no column 't'; say --columns t=stamp, or rename it"
