"""What all commands share: tables that lose nothing, JSON, streams, pipes, warnings, exit codes, harmless names."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
import tarfile
import warnings
from io import BytesIO, StringIO
from pathlib import Path

import numpy as np
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import flexjoint as fj
from flexjoint.cli import app
from flexjoint.cli.command_result import CommandResult, plain
from flexjoint.cli.tables import Table, lines, screen_width
from flexjoint.cli.terminal_text import cells, harmless
from support.marks import long, some_long
from support.warned import with_limits

LONG = "a_joint_whose_name_is_longer_than_any_column_of_a_table_would_like_it_to_be"
MOTION = '{kind = "rest_to_rest", goal_deg = [20, 10, -10], duration = 0.1}'
STEP = '{kind = "filtered_step", goal = 0.5, time_constant = 0.02, order = 16}'
PD = ["simulate", "hua_3r", "--controller", "motor_pd", "--gains", "400,40", "--trajectory", MOTION]
ROTORS = ["rotors", "hua_3r", STEP, "--samples", "20"]
STUDIO = ["studio", "hua_3r", "--controller", "motor_pd", "--gains", "100,20", "--period", "0.02", "--no-browser"]
STUDIO += ["--duration", "0.1"]
PAGE = Path(__file__).parents[3] / "docs" / "command-line.md"
LAWLESS = ["hua_3r", "--controller", "motor_pd", "--trajectory", MOTION, "--vary", "payload=0..3"]
UNCERTAIN = {
    "sobol": ["study", "sobol", *LAWLESS, "--gains", "400,40", "--samples", "8"],
    "worst": ["study", "worst", *LAWLESS, "--gains", "400,40", "--runs", "16"],
    "gains": ["study", "gains", *LAWLESS, "--grid", "K_P=400", "--grid", "K_D=40,80", "--samples", "8"],
}
STUDY = ["--samples", "8", "--vary", "payload=0..3", "--limit", "0.001"]


@pytest.fixture
def run(monkeypatch):
    """A command, piped, or on a screen of some columns."""

    def invoke(*arguments, columns=None):
        monkeypatch.delenv("COLUMNS", raising=False)
        if columns:
            monkeypatch.setenv("COLUMNS", str(columns))
        return CliRunner().invoke(app, [str(x) for x in arguments])

    return invoke


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A robot with long names, a log of it, and a simulated one of a robot with springs."""
    folder = tmp_path_factory.mktemp("files")
    body = {"mass": 1.0, "com": [0.2, 0, 0], "inertia": 0.01 * np.eye(3)}
    parents = {"1": "base", "2": f"link1_{LONG}"}
    links = [fj.Link(f"link{k}_{LONG}", fj.Joint(f"joint{k}_{LONG}"), p, **body) for k, p in parents.items()]
    robot = fj.Robot("long", tuple(links))
    fj.write_robot(robot, folder / "long.toml")
    fj.write_robot(with_limits(robot, velocity=0.1, effort=500.0), folder / "limited.toml")
    t = np.arange(200) * 1e-2
    q = 0.1 * np.sin(t)[:, None] * np.ones(2)
    tau = fj.gravity_torque(robot, q)
    tau[100:120, 1] += 1.234e-5 + 40
    names = [f"{x}.{joint.name}" for x in ("q", "tau") for joint in robot.joints]
    table = np.column_stack([t, q, tau])
    np.savetxt(folder / "record.csv", table[:, :3], delimiter=",")
    np.savetxt(folder / "log.csv", table, delimiter=",", header=",".join(["t", *names]), comments="")
    write_identified(folder, robot)
    (folder / "samples.csv").write_text(f"largest.{LONG} [rad],diverged\n" + "0.1,\n0.2,\n" * 40)
    return folder


def write_identified(folder, robot):
    """A robot with rigid drives, and a log of it."""
    robot = robot.with_drives([fj.RigidDrive(fj.Motor(0.1, viscous_friction=0.5))] * 2)
    fj.write_robot(robot, folder / "identified.toml")
    t = np.arange(1500) * 1e-2
    motion = fj.trajectory.Sinusoid([[0.3, 0.2], [0.2, 0.3]], [[0.5], [0.9]], [[0.0, 1.0], [2.0, 0.5]])
    q, v, a = motion.derivatives(t, 2)
    names = [f"{x}.{joint.name}" for x in ("q", "tau") for joint in robot.joints]
    table = np.column_stack([t, q, fj.inverse_dynamics(robot, q, v, a)])
    np.savetxt(folder / "identified.csv", table, delimiter=",", header=",".join(["t", *names]), comments="")
    fj.write_robot(robot.with_drives([fj.ElasticDrive(300.0, fj.Motor(0.1))] * 2), folder / "elastic.toml")
    header = ",".join(["t", *names]).replace("q.", "theta.")
    np.savetxt(folder / "elastic.csv", table, delimiter=",", header=header, comments="")


def commands(files):
    """Every command, as few seconds of each as can be, and words that its text must not lose."""
    joints = [joint.name for joint in fj.load("hua_3r").joints]
    long = [f"joint1_{LONG}", f"joint2_{LONG}"]
    motion = '{kind = "rest_to_rest", goal = 0.1, duration = 1}'
    return {
        "robots": (["robots"], fj.builtin_robots()),
        "info": (["info", "hua_3r", "--parameters", "--operations"], [*fj.robot.robot_parameters(fj.load("hua_3r"))]),
        "info of long names": (["info", files / "long.toml", "--parameters"], [f"link2_{LONG}.inertia", *long]),
        "check": (["check", "hua_3r", "--rate", "500"], ["link2", "resonances", "bodies"]),
        "drives new": (["drives", "new", files / "long.toml"], [*long, "flexjoint-drives", "drive.stiffness"]),
        "config": (["config"], ["LLVM", "numpy"]),
        "export-urdf": (["export-urdf", files / "long.toml", files / "long.urdf"], ["long.urdf"]),
        "controllers": (["controllers"], ["variable_stiffness_tracking", "K_P,K_D,MOTOR_K_P,MOTOR_K_D,GAMMA"]),
        "torques": (["torques", files / "long.toml", motion, "--period", "0.1"], long),
        "fit": (["fit", files / "limited.toml", motion], [*long, "velocity", "shortest duration", "times the"]),
        "ik": (["ik", files / "long.toml", "{position = [0, 0, 0]}"], [*long, "solved", "after"]),
        "record": (["record", files / "long.toml", files / "record.csv", "--cutoff", "3"], [*long, "noise", "bias"]),
        "fastest": (
            ["fastest", files / "limited.toml", "--from", "-1.6,0", "--to", "-1.5,0.1", "--intervals", "6"],
            [*long, "velocity", "times faster", "limit within"],
        ),
        "linearize": (["linearize", "hua_3r", "--controller", "motor_pd", "--gains", "500,50"], ["stable", *joints]),
        "rotors": (ROTORS, ["joint3", "complete", "speed^", "errs by up to"]),
        "simulate": (PD, joints),
        "simulate many": ([*PD, *STUDY], [*joints, "payload.mass", "failed"]),
        "study summary": (["study", "summary", files / "samples.csv"], [LONG, "passed", "95", "confidence"]),
        "study sobol": ([*UNCERTAIN["sobol"]], ["payload.mass", "total", "base"]),
        "study worst": ([*UNCERTAIN["worst"]], ["payload.mass", "nominal", "free={'payload.mass':"]),
        "study gains": ([*UNCERTAIN["gains"]], ["K_P", "quantile_95", "--gains=400,"]),
        "detect": (
            ["detect", files / "long.toml", files / "log.csv", "--threshold", "1"],
            [long[1], f"link2_{LONG}", "load", "at"],
        ),
        "excite": (["excite", files / "long.toml", "--duration", "4", "--iterations", "1"], ["links", "condition"]),
        "log": (["log", files / "long.toml", files / "log.csv"], [f"q.{long[0]}", f"tau.{long[1]}", "differences"]),
        "identify": (
            ["identify", files / "identified.toml", files / "identified.csv", "--friction", "viscous"],
            [f"joint1_{LONG}.drive.motor.inertia", "like noise", "condition"],
        ),
        "resonances": (
            ["resonances", files / "elastic.toml", files / "elastic.csv"],
            [*long, "resonance, Hz", "chirp of"],
        ),
        "equations": (
            ["equations", files / "long.toml", "--quantity", "mass_matrix"],
            ["mass_matrix[1, 2]", "l_c2**2*m_2"],
        ),
        "kernel": (["kernel", "hua_3r", "gravity_torque"], ["gravity_torque", "joint1"]),
        "view": (["view", files / "long.toml", "--no-browser", "--duration", "0.1", "--port", "0"], ["2 joints"]),
        "studio": ([*STUDIO, "--port", "0"], ["motor_pd"]),
        "export-mjcf": (["export-mjcf", "hua_3r", files / "hua.xml"], ["joint3.motor", "approximate", "'link3'"]),
        "cache info": (["cache", "info"], ["kernels"]),
    }


NAMES = list(commands(Path()))


@pytest.fixture(autouse=True)
def own_cache(request, monkeypatch, tmp_path):
    """A cache to which no other process adds kernels, for commands that count them."""
    if "cache info" in request.node.name:
        monkeypatch.setenv("FLEXJOINT_CACHE", str(tmp_path / "cache"))


# Tables -----------------------------------------------------------------------------------------------------------


SLOW = ("studio", "linearize", "fastest", "simulate many", "resonances", "study sobol")


@pytest.mark.parametrize("name", some_long(NAMES, *SLOW))
def test_no_name_and_no_number_is_lost_in_any_width(run, files, name):
    arguments, needed = commands(files)[name]
    wide = run(*arguments)
    assert wide.exit_code == 0, wide.output
    assert "\x1b" not in wide.output and "…" not in wide.output
    words = set(wide.stdout.split())
    assert all(x in wide.stdout for x in needed)
    for columns in (80, 40):
        narrow = run(*arguments, columns=columns)
        text = narrow.stdout.replace(":\n", ": ")
        lost = {x for x in words if not set(x) <= {"─", "-"}} - {x for y in text.split() for x in (y, y.rstrip(":"))}
        assert not lost, f"{lost} at {columns} columns"
        assert "…" not in text and "\x1b" not in text


def test_a_table_fits_where_it_can():
    table = Table(["joint", "a long heading", "number"], [["one two three", "x", "1.5e-300 Nm"], ["b", "", "2 Nm"]])
    numbers = Table(table.headings, table.rows, numbers=["number"], title="of some width", note="a note that is long")
    for width in (60, 40, 33):
        assert all(cells(x) <= width for x in lines(numbers, width))
    assert any("1.5e-300 Nm" in x for x in lines(numbers, 33))
    assert any(x == "joint: one two" for x in lines(numbers, 16))
    assert list(lines(numbers, 60))[1].startswith("  joint           a long heading")


def test_a_word_is_never_broken():
    for width in range(1, 60):
        text = " ".join(lines(Table(["h" * 9, "n"], [["x" * 30, "1" * 25]], numbers=["n"]), width))
        assert "x" * 30 in text and "1" * 25 in text


def test_wide_characters_are_counted():
    found = list(lines(Table(["a", "b"], [["軸", "1"], ["xy", "2"]]), 80))
    assert found[2] == "  軸   1" and found[3] == "  xy   2"


def test_the_width_of_a_screen(monkeypatch):
    class Pipe:
        def isatty(self):
            return False

    monkeypatch.setenv("COLUMNS", "47")
    assert screen_width(Pipe()) == 47
    monkeypatch.delenv("COLUMNS")
    assert screen_width(Pipe()) == float("inf")


def test_a_terminal_has_a_width(tmp_path):
    """In a real one: 60 columns, and lines no longer than their words."""
    import fcntl
    import pty
    import struct
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    environment = {key: x for key, x in os.environ.items() if key != "COLUMNS"}
    done = subprocess.run([sys.executable, "-m", "flexjoint", "robots"], stdout=slave, env=environment)
    text = os.read(master, 10_000).decode()
    os.close(master), os.close(slave)
    assert done.returncode == 0 and "kuka_lwr" in text and max(map(len, text.splitlines())) <= 60


# JSON -------------------------------------------------------------------------------------------------------------


def keys(data):
    """Those that are always the same: of the object, and of objects in lists."""
    own = set(data)
    for value in data.values():
        own |= {key for x in value if isinstance(x, dict) for key in keys(x)} if isinstance(value, list) else set()
    return own


def strict(text):
    """JSON without the NaN that Python would take."""
    return json.loads(text, parse_constant=lambda x: pytest.fail(f"{x} is no JSON"))


@pytest.mark.parametrize("name", some_long(NAMES, "fastest", "linearize", "studio"))
def test_every_command_speaks_json(run, files, name):
    arguments, _ = commands(files)[name]
    before, after = run("--json", *arguments), run(*arguments, "--json")
    assert before.exit_code == after.exit_code == 0, before.output
    assert strict(before.stdout) == strict(after.stdout) and isinstance(strict(after.stdout), dict)
    assert after.stdout.isascii()
    shown = "simulate --samples" if name == "simulate many" else name.removesuffix(" of long names")
    row = next(x for x in PAGE.read_text().split("## JSON")[1].splitlines() if x.startswith(f"| `{shown}` |"))
    assert set(re.findall(r"`(\w+)`", row)) >= keys(strict(after.stdout)), "docs/command-line.md has them all"


def test_json_has_the_numbers_in_si_units(run, files):
    found = strict(run(*PD, "--json").stdout)
    robot = fj.load("hua_3r")
    motion = fj.trajectory.load_trajectory(MOTION, robot)
    wanted = fj.simulate(robot, fj.control.MotorPD(robot, [400.0, 40.0]), motion, period=1e-3)
    assert [x["largest_error"] for x in found["joints"]] == np.abs(wanted.error).max(axis=0).tolist()
    assert found["joints"][0]["error_unit"] == "rad" and found["diverged"] is False
    peak = strict(run("torques", "hua_3r", MOTION, "--json", "--rigid").stdout)["joints"][2]
    table = fj.motor_motion(robot, *motion(np.arange(101) * 1e-3))
    assert peak["largest"]["deflection"] == pytest.approx(np.abs(table.deflection[:, 2]).max(), rel=1e-12)
    assert peak["units"] == {"q": "rad", "theta": "rad", "deflection": "rad", "tau": "Nm", "tau_rigid": "Nm"}
    events = strict(run("detect", files / "long.toml", files / "log.csv", "--threshold", "1", "--json").stdout)
    (event,) = events["detections"][0]["events"]
    assert event["at"] == f"joint2_{LONG}" and event["threshold"] == 1.0 and event["unit"] == "Nm"
    assert events["detections"][0]["links_or_beyond"] == [f"link2_{LONG}"]


def test_json_lists_files_and_failures(run, tmp_path):
    found = strict(run(*PD, *STUDY, "--json", "-o", tmp_path / "samples").stdout)
    assert found["failed"] == len(found["failures"]) == 8 and found["complete"]
    assert str(tmp_path / "samples" / "samples.csv") in found["files"]
    exported = strict(run("export-c", "hua_3r", "gravity_torque", "-o", tmp_path / "c", "--json").stdout)
    assert all(os.path.isfile(x) for x in exported["files"]) and len(exported["files"]) == 4


def test_numbers_that_are_not_finite_are_null():
    data = {"a": [float("nan"), np.inf, -np.inf, np.float64(1.5)], "b": np.array([[1, 2]]), "c": np.int64(3)}
    assert plain(data) == {"a": [None, None, None, 1.5], "b": [[1, 2]], "c": 3}
    assert strict(CommandResult([], data).to_json())["a"] == [None, None, None, 1.5]


def test_mistakes_stay_on_stderr(run):
    result = run("--json", "info", "kuka_lvr")
    assert result.exit_code == 2 and result.stdout == "" and result.stderr.startswith("flexjoint: no built-in robot")


# Options of all commands ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [["-h"], ["--help"], ["info", "-h"], ["cache", "info", "-h"], ["cache", "-h"]])
def test_help(run, arguments):
    result = run(*arguments)
    assert result.exit_code == 0 and "Usage:" in result.stdout
    assert "..." not in result.stdout.replace("[ARGS]...", "")  # no summary is cut off


def test_help_lists_every_command_once(run):
    listed = re.findall(r"^  ([a-z][a-z-]*) {2,}[A-Z]", run("--help").output, re.MULTILINE)
    assert sorted(listed) == sorted(get_command(app).commands) and listed[0] == "robots"


def test_help_has_exit_codes_controllers_and_common_options(run):
    assert "3 the simulation diverged" in " ".join(run("-h").stdout.split())
    text = run("simulate", "-h", columns=200).stdout
    assert all(x in text for x in ("--json", "--quiet", "--strict", "--no-check", "adaptive_mixed_control"))


@pytest.mark.parametrize("place", [0, 2])
@pytest.mark.parametrize("option", ["--quiet", "-q"])
def test_quiet(run, option, place, tmp_path):
    arguments = ["torques", "hua_3r", MOTION, "-o", str(tmp_path / "x.csv")]
    arguments.insert(place, option)
    result = run(*arguments)
    assert result.exit_code == 0 and result.output == "" and (tmp_path / "x.csv").exists()


@pytest.fixture
def rough(tmp_path):
    """A robot whose torques come with a warning."""
    joint = {"coulomb_friction": 5.0, "coulomb_velocity": 0.01}
    drive = fj.ElasticDrive(1000.0, fj.Motor(1.0))
    robot = fj.from_dh("rough", [0.0], [0.5], [0.0], mass=[1.0], inertia=[0.01 * np.eye(3)], drives=[drive], **joint)
    fj.write_robot(robot, tmp_path / "rough.toml")
    return tmp_path / "rough.toml"


@pytest.mark.parametrize("before", [True, False])
def test_strict_takes_warnings_for_errors(run, rough, before):
    arguments = ["torques", rough, '{kind = "rest_to_rest", goal = 1, duration = 0.5}']
    well = run(*arguments)
    assert well.exit_code == 0 and well.stderr.count("\n") == 1 and ": warning: " in well.stderr
    result = run("--strict", *arguments) if before else run(*arguments, "--strict")
    assert result.exit_code == 2 and result.stdout == ""
    assert "Coulomb friction" in result.stderr and result.stderr.count("\n") == 1 and "--strict" in result.stderr


def test_strict_is_for_our_warnings_alone_and_for_every_command(run, monkeypatch):
    import flexjoint.formats as loading

    load = loading.load

    def warned(category):
        return lambda name, **_: (warnings.warn("odd\n\x1b[2J", category, stacklevel=2), load(name))[1]

    for category, code in ((fj.FlexjointWarning, 2), (RuntimeWarning, 0)):
        monkeypatch.setattr(loading, "load", warned(category))
        result = run("info", "hua_3r", "--strict")
        assert result.exit_code == code and result.stderr.startswith("flexjoint: ")
        assert "odd \\x1b[2J" in result.stderr and result.stderr.count("\n") == 1


def test_a_run_that_diverged_has_an_exit_code_of_its_own(run, tmp_path):
    wild = [*PD[:5], "40000,4000", *PD[6:], "--period", "0.02", "--no-check"]
    result = run(*wild, "--json", "-o", tmp_path / "run.csv")
    assert result.exit_code == 3 and strict(result.stdout)["diverged"] and (tmp_path / "run.csv").exists()
    assert strict(result.stdout)["diverged_joint"] in result.stderr
    assert run(*wild, "--strict").exit_code == 2


def test_mistakes_of_the_parser_are_one_line_too(run):
    for arguments, words in (
        (["simulate", "hua_3r", "--gain", "1"], "No such option"),
        (["info"], "Missing argument"),
        (["inof"], "No such command"),
        (["info", "hua_3r", "\x1b[31mred"], "\\x1b[31mred"),
        (["torques", "hua_3r", MOTION, "--period", "fast"], "--period"),
    ):
        result = run(*arguments)
        assert result.exit_code == 2 and result.stdout == "" and words in result.stderr
        assert result.stderr.startswith("flexjoint: ") and result.stderr.count("\n") == 1
        assert "--help' lists" in result.stderr and "\x1b" not in result.stderr


# Standard output --------------------------------------------------------------------------------------------------


def test_tables_go_to_standard_output(run, tmp_path, files):
    log = ["detect", files / "long.toml", files / "log.csv", "--threshold", "1"]
    for arguments, summary in ((["torques", "hua_3r", MOTION], "largest values"), (PD, "periods"), (log, "detections")):
        streamed = run(*arguments, "-o", "-")
        assert streamed.exit_code == 0 and summary in streamed.stderr
        run(*arguments, "-o", tmp_path / "x.csv")
        assert streamed.stdout_bytes == (tmp_path / "x.csv").read_bytes()
        assert run(*arguments, "-o", "-", "-q").stderr == ""
        assert run(*arguments, "-o", "-", "--json").exit_code == 2
    samples = run(*PD, *STUDY, "-o", "-").stdout.splitlines()
    assert samples[0].startswith("sample,payload.mass [kg]") and len(samples) == 9
    assert not os.path.exists("-")


def test_folders_go_to_standard_output(run, tmp_path):
    streamed = run("export-c", "hua_3r", "gravity_torque", "-o", "-")
    run("export-c", "hua_3r", "gravity_torque", "-o", tmp_path)
    with tarfile.open(fileobj=BytesIO(streamed.stdout_bytes)) as archive:
        sent = {x.name: archive.extractfile(x).read() for x in archive}
    assert sent == {x.name: x.read_bytes() for x in tmp_path.iterdir()}
    assert streamed.stdout_bytes == run("export-c", "hua_3r", "gravity_torque", "-o", "-").stdout_bytes


@pytest.mark.parametrize(
    "arguments",
    [
        ["info", "kuka_lwr", "--parameters"],
        long(["torques", "hua_3r", MOTION, "-o", "-"]),
        ["--help"],
        long(["robots", "--json"]),
    ],
)
def test_a_pipe_that_nobody_reads_is_no_trouble(arguments):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([sys.executable, "-m", "flexjoint", *arguments], stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert done.returncode == 141 and done.stderr == b""


def test_a_full_disk_behind_a_pipe_is_one_line():
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "flexjoint", "robots"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2 and done.stderr == "flexjoint: No space left on device\n"


# Names ------------------------------------------------------------------------------------------------------------

WILD = ("[/]", "[red]x", "\x1b[31mred\x1b[0m", "a\x07b", "right\u202eleft", "two\nlines", "\x9b2J", "軸")


@pytest.fixture
def wild(tmp_path):
    names = [f"{x}{k}" for k, x in enumerate(WILD)]
    parents = ["base", *names]
    body = {"mass": 1.0, "com": [0.2, 0, 0], "inertia": 0.01 * np.eye(3)}
    links = [fj.Link(x, fj.Joint(f"j{x}"), p, **body) for x, p in zip(names, parents)]
    fj.write_robot(fj.Robot("[/]\x1b]0;title\x07", tuple(links)), tmp_path / "wild.toml")
    return tmp_path / "wild.toml"


def test_names_are_shown_and_not_obeyed(run, wild, tmp_path):
    motion = '{kind = "rest_to_rest", goal = 0.1, duration = 0.1}'
    pd = ["simulate", wild, "--controller", "motor_pd", "--gains", "40,4", "--trajectory", motion, "--no-check"]
    for arguments in (
        ["info", wild, "--parameters"],
        ["torques", wild, motion],
        pd,
        ["kernel", wild, "gravity_torque"],
        ["view", wild, motion, "--no-browser", "--duration", "0.1", "--port", "0"],
        ["studio", wild, *STUDIO[2:], "--port", "0", "-o", tmp_path],
        ["torques", wild, motion, "--sensitivity", "\x1b[31m.mass=5%"],
        ["info", "\x1b[31m"],
        ["info", "[/].toml"],
    ):
        for columns in (None, 80):
            result = run(*arguments, columns=columns)
            assert result.exit_code in (0, 2) and isinstance(result.exception, SystemExit | None)
            assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\udc80-\udcff]", result.output)
    text = run("torques", wild, motion).stdout
    shown = ("j[/]0", "j[red]x1", "j\\x1b[31mred\\x1b[0m2", "right\\u202eleft", "two\\nlines", "軸")
    assert all(x in text for x in shown)
    assert strict(run("info", wild, "--json").stdout)["links"][2]["joint"] == "j\x1b[31mred\x1b[0m2"


def test_files_with_wild_names(run, tmp_path):
    (tmp_path / "[").mkdir()
    for name in ("[/].csv", "\x1b[31m.csv"):
        result = run("torques", "hua_3r", MOTION, "-o", tmp_path / name)
        assert result.exit_code == 0 and (tmp_path / name).exists() and "\x1b" not in result.output


@pytest.mark.long
def test_plots_show_dollar_signs(run, tmp_path):
    """Two of them would be mathematics, which matplotlib refuses to draw if it is wrong."""
    drive = fj.ElasticDrive(1000.0, fj.Motor(1.0, gear_ratio=50.0))
    link = fj.Link("link", fj.Joint("$\\frac{$", drive=drive), "base", 1.0, [0.2, 0, 0], 0.01 * np.eye(3))
    fj.write_robot(fj.Robot("a $\\frac{1$ b", (link,)), tmp_path / "robot.toml")
    motion = '{kind = "filtered_step", goal = 0.1, time_constant = 0.02, order = 16}'
    pd = ["--controller", "motor_pd", "--gains", "40,4", "--trajectory", motion, "--no-check", "--duration", "0.01"]
    for arguments in (["torques", "{}", motion], ["rotors", "{}", motion], ["simulate", "{}", *pd]):
        command = [tmp_path / "robot.toml" if x == "{}" else x for x in arguments]
        assert run(*command, "--plot", tmp_path / "x.svg").exit_code == 0
    study = ["--samples", "3", "--vary", "payload=0..1", "--plot", tmp_path / "x.png"]
    assert run("simulate", tmp_path / "robot.toml", *pd, *study).exit_code == 0
    log = ["-o", tmp_path / "log.csv", "--animate", tmp_path / "x.gif"]
    assert run("simulate", tmp_path / "robot.toml", *pd, *log).exit_code == 0
    found = ["detect", tmp_path / "robot.toml", tmp_path / "log.csv", "--threshold", "1", "--plot", tmp_path / "x.png"]
    assert run(*found).exit_code == 0


def test_progress_of_files_with_wild_names():
    from rich.console import Console
    from rich.text import Text

    from flexjoint.cli.progress import Silent, progress_bar, terminal_bar

    assert isinstance(progress_bar(), Silent)  # no terminal
    progress = terminal_bar()
    progress.add_task("writing [/]\x1b[31m.csv")
    shown = progress.columns[0].render(progress.tasks[0])
    assert isinstance(shown, Text) and shown.plain == "writing [/]\\x1b[31m.csv"
    Console(file=StringIO()).print(progress.get_renderable())


def test_reports_of_the_library(monkeypatch):
    """On a terminal a line for as long as the work lasts, or a row of the bar that is open."""
    from flexjoint.cli.app import CommonOptions
    from flexjoint.cli.progress import reports, terminal_bar
    from flexjoint.progress import LOGGER, activity, report

    class Terminal(StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    with reports(CommonOptions()):
        with activity("compiling\x1b arm"):
            assert sys.stderr.getvalue().endswith("compiling\\x1b arm")
        assert sys.stderr.getvalue().endswith("\x1b[2K")
        with terminal_bar() as bar:
            bar.add_task("simulating")
            with activity("compiling arm"):
                report("simulating arm: 3 %")
                report("simulating arm: 5 %")
                assert [x.description for x in bar.tasks] == ["simulating", "compiling arm", "simulating arm: 5 %"]
            assert [x.description for x in bar.tasks] == ["simulating", "simulating arm: 5 %"]
    before = sys.stderr.getvalue()
    with reports(CommonOptions(quiet=True)), activity("compiling arm"):
        assert sys.stderr.getvalue() == before
    monkeypatch.setattr(sys, "stderr", StringIO())
    with reports(CommonOptions()), activity("compiling arm"):
        assert not sys.stderr.getvalue()  # no terminal
    assert not logging.getLogger(LOGGER).handlers


def test_harmless():
    assert harmless("a\tb\nc", keep="\n\t") == "a\tb\nc" and harmless("a\tb") == "a\\tb"
    assert harmless("\udcff\x00\u2028") == "\\udcff\\x00\\u2028"
    assert harmless("θ − q, 1 m²\u00a0°") == "θ − q, 1 m²\u00a0°"


# Starting ---------------------------------------------------------------------------------------------------------


def test_python_m_flexjoint():
    done = subprocess.run([sys.executable, "-m", "flexjoint", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("flexjoint ")


def completed(line, folder="."):
    """What a shell would offer."""
    environment = {**os.environ, "_FLEXJOINT_COMPLETE": "complete_bash", "COMP_WORDS": line}
    environment["COMP_CWORD"] = str(len(line.split(" ")) - 1)
    code = "from flexjoint.cli import app; app(prog_name='flexjoint')"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, cwd=folder)
    return done.stdout.split("\n")


def test_shells_complete(tmp_path, monkeypatch):
    for name in ("move.toml", "log.csv", "log.nc", "notes.txt", "arm.urdf", "arm.urdf.xacro", "arm.drives.toml"):
        (tmp_path / name).touch()
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "one.csv").touch()
    assert "kuka_lwr" in completed("flexjoint info k", tmp_path)
    assert "structure_preserving" in completed("flexjoint simulate hua_3r --controller str")
    assert {"move.toml", "log.csv", "runs/"} <= set(found := completed("flexjoint torques hua_3r ", tmp_path))
    assert "notes.txt" not in found
    assert set(completed("flexjoint torques arm.urdf --drives a", tmp_path)) - {""} == {"arm.drives.toml"}
    monkeypatch.chdir(tmp_path)
    from flexjoint.cli import completion

    assert completion.trajectories("runs/o") == ["runs/one.csv"] and completion.trajectories("nowhere/x") == []
    assert completion.robots("k") == ["kuka_lwr"] and completion.robots("mo") == ["move.toml"]
    assert completion.robots("arm") == ["arm.urdf", "arm.urdf.xacro"]
    assert completion.drive_files("") == ["arm.drives.toml", "runs/"]
    assert completion.logs("log") == ["log.csv", "log.nc"]
    assert completion.algorithms("gravity_t") == ["gravity_torque"] and completion.integrators("e") == ["euler"]
    assert completion.controllers("motor")[0][0] == "motor_pd"
