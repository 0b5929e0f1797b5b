"""`flexjoint simulate`: files, plots, animations, Monte-Carlo, and what is refused."""

from __future__ import annotations

import csv
import re
import signal

import numpy as np
import pytest
from typer.testing import CliRunner

import flexjoint as fj
from flexjoint.cli import app
from flexjoint.cli.controllers import named_controller

MOTION = '{kind = "rest_to_rest", goal_deg = [20, 10, -10], duration = 0.1}'
BASE = ["simulate", "hua_3r", "--trajectory", MOTION, "--period", "1e-3", "--no-check"]
PD = [*BASE, "--controller", "motor_pd", "--gains", "400,40"]
STUDY = [*PD, "--samples", "70", "--vary", "*.drive.stiffness=10%", "--vary", "payload=0..3", "--seed", "5"]


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setenv("COLUMNS", "250")
    return lambda *arguments: CliRunner().invoke(app, [str(x) for x in arguments])


def test_a_run_is_written_plotted_and_animated(run, tmp_path):
    paths = [tmp_path / name for name in ("run.nc", "run.png", "run.html")]
    result = run(*PD, "-o", paths[0], "--plot", paths[1], "--animate", paths[2])
    assert result.exit_code == 0, result.output
    assert all(f"wrote {path}" in result.stdout for path in paths)
    found = fj.results.read_results(paths[0])
    assert found.attrs["controller"] == "MotorPD" and found.sizes["time"] == 101
    assert f"{np.abs(found['tau'].values[:, 0]).max():.3g} Nm" in result.stdout
    assert paths[1].read_bytes().startswith(b"\x89PNG") and b"<canvas" in paths[2].read_bytes()


@pytest.mark.parametrize(
    ("law", "name", "gains", "poles", "first"),
    [
        (fj.control.MotorPD, "motor_pd", "400,40", "", 400.0),
        (fj.control.FullStateFeedback, "full_state_feedback", "400,40,1,0.001", "", 400.0),
        (fj.control.FeedforwardPD, "feedforward_pd", "400,40", "", 400.0),
        (fj.control.PassivityControl, "passivity_control", "10,40", "", 10.0),
        (fj.control.AdaptiveControl, "adaptive_control", "10,40,0.01", "", 10.0),
        (fj.control.MixedInverseDynamics, "mixed_inverse_dynamics", "20,10,10,10", "", 20.0),
        (fj.control.AdaptiveMixedControl, "adaptive_mixed_control", "20,10,10,10,0.01", "", 20.0),
        (fj.control.ComputedTorque, "computed_torque", "", "-10", 10.0**2),
        (fj.control.FeedbackLinearization, "feedback_linearization", "", "-10", 10.0**4),
        (fj.control.MidPeriod, "feedforward_pd+mid_period", "400,40", "", 400.0),
    ],
)
def test_controllers_by_name(law, name, gains, poles, first):
    found = named_controller(name, fj.load("hua_3r"), gains, poles, 1e-3)
    assert type(found) is law and found.gains.flat[0] == pytest.approx(first, rel=1e-15)


def test_sensors_and_what_a_law_measures(run, tmp_path):
    path = tmp_path / "run.nc"
    law = ["--controller", "feedback_linearization", "--poles=-20", "--duration", "0.01"]
    sensors = ["--sensor", "torque_noise=0.02,0,0", "--sensor", "every=2", "--sensor", "torque_rates=differenced"]
    result = run(*BASE, *law, "--measured", "theta,tau_e", *sensors, "--seed", "3", "-o", path)
    assert result.exit_code == 0, result.output
    robot, period = fj.load("hua_3r"), 1e-3
    sensors = fj.simulation.Sensors(torque_noise=(0.02, 0.0, 0.0), every=2, torque_rates="differenced")
    controller = named_controller("feedback_linearization", robot, "", "-20", period, "theta tau_e")
    assert controller.measured == "theta tau_e"
    middle = named_controller("feedback_linearization+mid_period", robot, "", "-20", period, "q theta")
    assert middle.controller.measured == "q theta" and middle.period == period
    motion = fj.trajectory.RestToRest(np.zeros(3), np.deg2rad([20, 10, -10]), 0.1)
    wanted = fj.simulate(robot, controller, motion, 0.01, sensors=sensors, seed=3, check=False)
    found = fj.results.read_results(path)
    assert np.array_equal(found["measured.tau_e"].values, wanted.more["measured.tau_e"])
    assert np.array_equal(found["tau"].values, wanted.tau)


def test_a_file_with_samples_of_sensors_says_which_columns_commands_read(run, tmp_path):
    path, short = tmp_path / "run.csv", [*PD, "--duration", "0.01", "-o", tmp_path / "run.csv"]
    note = "log, detect and identify read the true values beside them: q, v"
    assert note not in " ".join(run(*short).stdout.split())
    assert note in " ".join(run(*short, "--sensor", "link_noise=0.01").stdout.split())
    with path.open() as file:
        rows = list(csv.DictReader(file))
    true, measured = ([float(row[x]) for row in rows] for x in ("q.joint1 [rad]", "measured.q.joint1"))
    assert fj.logs.read_log(path, fj.load("hua_3r")).q[:, 0].tolist() == true != measured


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--measured", "q tau"], "--measured is 'q tau'; choose one of 'q theta', 'q tau_e', 'theta tau_e'"),
        (["--sensor", "torque=1"], "--sensor: there is no 'torque'; did you mean"),
        (["--sensor", "torque_noise=1,x"], "--sensor: torque_noise is '1,x'; give a number"),
        (["--sensor", "torque_noise"], "--sensor is 'torque_noise'; give a name and a value"),
        (["--sensor", "torque_noise=-1"], "--sensor: torque_noise is -1.0; give"),
        (["--sensor", "delay=1.5"], "--sensor: delay is '1.5'; give a whole number of periods"),
    ],
)
def test_sensors_that_do_not_exist_are_refused(run, arguments, message):
    result = run(*BASE, "--controller", "feedback_linearization", "--poles=-20", *arguments)
    assert result.exit_code == 2 and message in " ".join(result.stderr.split())


def test_a_law_with_one_set_of_sensors_has_no_choice(run):
    result = run(*PD, "--measured", "q theta")
    assert result.exit_code == 2 and "--measured belongs to feedback_linearization" in result.stderr


def test_a_controller_of_its_name_runs(run):
    result = run(*BASE, "--controller", "adaptive_control", "--gains=10,40,0.01", "--duration", "0.01")
    assert result.exit_code == 0, result.output
    assert "10 periods" in result.stdout


def test_friction_is_compensated(run, tmp_path):
    """The same run as from Python, of a law that contains friction by itself; and what is refused."""
    path = tmp_path / "arm.toml"
    motor = "motor_inertia = 0.2, motor_viscous_friction = 1, motor_coulomb_friction = 2, motor_coulomb_velocity = 0.05"
    path.write_text(
        'name = "arm"\nconvention = "standard_dh"\n[[link]]\na = 0.5\nmass = 2.0\ncom = [-0.2, 0.0, 0.0]\n'
        f'inertia = {{xx = 0.05, yy = 0.05, zz = 0.05}}\ndrive = {{kind = "rigid", {motor}}}\n'
    )
    motion = '{kind = "rest_to_rest", goal_deg = 20, duration = 0.1}'
    words = ["simulate", path, "--controller", "computed_torque", "--poles", "-10", "--trajectory", motion]
    written = tmp_path / "run.nc"
    result = run(*words, "--compensate-friction", "desired", "--friction-share", "0.9", "-o", written)
    assert result.exit_code == 0, result.output
    robot = fj.load(path)
    law = fj.control.ComputedTorque(robot.without_friction(), fj.control.gains_from_poles([-10.0] * 2))
    expected = fj.simulate(
        robot, fj.control.FrictionCompensation(law, "desired", 0.9, robot), fj.trajectory.load_trajectory(motion, robot)
    )
    assert np.array_equal(fj.results.read_results(written)["tau"].values, expected.tau)
    for more, message in (
        (["--compensate-friction", "no"], "takes desired or measured"),
        (["--friction-share", "0.9"], "belongs to --compensate-friction"),
        (["--compensate-friction", "desired", "--friction-share", "-1"], "--friction-share is "),
    ):
        assert message in run(*words, *more).output
    assert "has no friction to compensate" in run(*PD, "--compensate-friction", "desired").output


def test_a_run_that_diverged_shows_how_far_it_was(run):
    result = run(*BASE[:-2], "0.02", "--no-check", "--controller", "motor_pd", "--gains", "40000,4000")
    assert result.exit_code == 3 and "warning: hua_3r: the run diverged" in result.stderr
    assert "error when it diverged" in result.stdout and "nan" not in result.stdout
    when = float(re.search(r"at t = (\S+) s", result.stderr)[1])
    assert f"hua_3r: {round(when / 0.02) - 1} periods of 0.02 s" in result.stdout


def test_samples(run, tmp_path):
    folder = tmp_path / "samples"
    result = run(*STUDY, "-o", folder, "--limit", "0.315")
    assert result.exit_code == 0, result.output
    robot = fj.load("hua_3r")
    motion, law = fj.trajectory.load_trajectory(MOTION, robot), fj.control.MotorPD(robot, [400.0, 40.0])
    vary = {"*.drive.stiffness": "10%", "payload": "0..3"}
    study = fj.studies.monte_carlo(
        robot, law, motion, samples=70, vary=vary, seed=5, period=1e-3, check=False, limit=0.315
    )
    failed = np.count_nonzero(study.failed)
    assert 0 < failed < 70, "or the limit shows nothing"
    assert f"70 samples, {failed} failed" in result.stdout
    assert f"{np.rad2deg(study.quantiles([0.95])[0, 0]):.3g} °" in result.stdout
    first = study.largest[study.failed][0]
    assert f"joint{first.argmax() + 1} off by {np.rad2deg(first.max()):.3g} °" in result.stdout
    with open(folder / "samples.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(x["payload.mass [kg]"]) for x in rows] == study.parameters[:, -1].tolist()
    with open(folder / "failures.csv", newline="") as file:
        assert len(list(csv.DictReader(file))) == failed
    assert (folder / "errors.png").read_bytes().startswith(b"\x89PNG")
    alone = run(*PD, *STUDY[-6:], "--sample", "69", "-o", tmp_path / "69.npz")
    assert alone.exit_code == 0, alone.output
    with np.load(tmp_path / "69.npz") as file:
        assert np.array_equal(np.abs(file["q"] - file["reference"]).max(axis=0), study.largest[69])
    kept = run(*STUDY, "-o", folder, "--limit", "0.315", "--keep", "worst=2")
    assert kept.exit_code == 0 and len(list((folder / "worst").iterdir())) == 2
    again = run(*STUDY, "-o", folder, "--limit", "0.315")
    assert again.stdout == result.stdout


def test_a_step_too_long_for_some_samples(run):
    """The joint is named that is too stiff for the step, not the one that leaves its bounds first."""
    many = [*PD, "--samples", "16", "--vary", "joint3.drive.stiffness=1e5..3e6", "--seed", "5"]
    result = run(*many)
    assert result.exit_code == 0, result.output
    count = int(re.search(r"hua_3r: 16 samples, 0 failed, step too long for (\d+)\n", result.stdout)[1])
    assert 0 < count < 16
    assert len(re.findall(r"step too long for joint3, stable up to 0\.000\d+ s", result.stdout)) == min(count, 10)
    assert "diverged" not in result.stdout and " inf " not in result.stdout
    assert "∞, in the remaining runs: step too long\n" in result.stdout
    message = "hua_3r: a step of 0.001 s (runge_kutta) is too long for joint 'joint3' with the parameters given"
    assert f"warning: {message} in {count} of 16 runs: it is stable up to 0.000" in result.stderr
    assert "; take --substeps 2; the errors of these runs are not those" in result.stderr
    cured = run(*many, "--substeps", "2")
    assert "hua_3r: 16 samples, 0 failed\n" in cured.stdout and not cured.stderr


def test_stiffness_is_followed_too(run, tmp_path):
    arm = ["simulate", "vsa_3r", "--controller", "variable_stiffness_tracking", "--poles=-10"]
    arm += ["--trajectory", '{kind = "rest_to_rest", goal_deg = [20, 10, -10], duration = 1}']
    ramp = '{kind = "rest_to_rest", start = 900, goal = 1000, duration = 1}'
    result = run(*arm, "--stiffness", ramp, "-o", tmp_path / "run.nc")
    assert result.exit_code == 0, result.output
    found = fj.results.read_results(tmp_path / "run.nc")
    phi = found["theta"].values[-1] - np.tile(found["q"].values[-1], 2)
    drives = [joint.drive for joint in fj.load("vsa_3r").joints]
    springs = [spring for k in (0, 1) for spring in (drive.springs[k] for drive in drives)]
    each = np.array([x.stiffness + 3 * x.cubic * y**2 for x, y in zip(springs, phi)])
    sigma = each[:3] + each[3:]
    np.testing.assert_allclose(sigma, 1000, rtol=0.01)
    for arguments in (arm, [*PD, "--stiffness", "900"]):
        refused = run(*arguments)
        assert refused.exit_code == 2 and "--stiffness belongs to" in refused.stderr


def test_interrupted_samples_go_on(run, tmp_path, monkeypatch):
    from flexjoint.cli.progress import Silent

    def interrupt(self, task, samples=1):
        if samples:
            signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        with monkeypatch.context() as patch:
            patch.setattr(Silent, "advance", interrupt)
            first = run(*STUDY, "-o", tmp_path / "samples")
    finally:
        signal.signal(signal.SIGINT, before)
    assert first.exit_code == 130
    assert "interrupted after 64 of 70 samples; the same command resumes" in first.stderr
    second = run(*STUDY, "-o", tmp_path / "samples")
    assert second.exit_code == 0 and "70 samples" in second.stdout
    other = run(*STUDY[:-1], "6", "-o", tmp_path / "samples")
    assert other.exit_code == 2 and "seed was 5, now it is 6" in other.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--samples", "10"], "--samples and --vary belong together"),
        (["--sample", "10"], "--samples and --vary belong together"),
        (["--sample", "1", "--samples", "2", "--vary", "payload=0..3"], "give one of them"),
        (["--workers", "2"], "--workers, --cluster and --keep belong to --samples"),
        (["--samples", "10", "--vary", "payload=0..3", "--workers", "2", "--threads", "2"], "exclude each other"),
        (["--samples", "10", "--vary", "payload=0..3", "--keep", "worst=2"], "--keep writes into the folder of -o"),
        (["--samples", "10", "--vary", "payload=0..3", "--keep", "best=2", "-o", "x"], "give worst and a number"),
        (["--vary", "payload=0..3"], "--samples and --vary belong together"),
        (["--samples", "10", "--vary", "payload=0..3", "--animate", "x.gif"], "--animate shows a single run"),
        (["--samples", "10", "--vary", "payload"], "--vary is 'payload'; give a path and a value"),
        (["--samples", "10", "--vary", "payload=0..3", "--vary", "payload=0..2"], "each path once"),
        (["--samples", "10", "--vary", "nothing.mass=10%"], "no parameter 'nothing.mass'"),
        (["--samples", "0", "--vary", "payload=0..3"], "samples is 0"),
        (["-o", "x.doc"], "ends in .nc"),
        (["--plot", "x.doc"], "ends in .png"),
        (["--animate", "x.doc"], "ends in .gif, .mp4, .html"),
    ],
)
def test_mistakes_are_one_line_and_write_nothing(run, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    result = run(*PD, *arguments)
    assert result.exit_code == 2
    assert message in result.stderr and result.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "gains"), [("passivity_control", "LAMBDA,K_D[,K_P]"), ("adaptive_control", "LAMBDA,K_D,GAMMA")]
)
def test_gains_are_counted(run, name, gains):
    result = run(*BASE, "--controller", name, "--gains", "1")
    assert result.exit_code == 2 and f"{name} takes --gains {gains}, not '1'" in result.stderr


SHIP = '{kind = "sinusoid", amplitude = [0, 0, 0.1, 0.1, 0, 0], frequency = 1}'
AROUND = ["--base", SHIP, "--wrench", 0, 0, -10, 0, 0, 0, "--payload", 1]


def test_base_wrench_and_payload(run, tmp_path):
    """The same as in Python, known to the controller or not."""
    feedforward = [*BASE, "--controller", "feedforward_pd", "--gains", "400,40", *AROUND, "-o", tmp_path / "run.npz"]
    robot, tool = fj.load("hua_3r"), np.array([0.0, 0.0, -10.0, 0.0, 0.0, 0.0])
    loaded, motion = robot.with_payload(1.0), fj.trajectory.load_trajectory(MOTION, robot)
    laws = {
        "": fj.control.FeedforwardPD(robot, [400.0, 40.0]),
        "--known": fj.control.FeedforwardPD(loaded, [400.0, 40.0], wrenches={"tool": tool}, base=True),
    }
    errors = []
    for option, law in laws.items():
        result = run(*feedforward, *option.split())
        assert result.exit_code == 0, result.output
        found = np.load(tmp_path / "run.npz", allow_pickle=False)
        expected = fj.simulate(
            loaded,
            law,
            motion,
            check=False,
            base=fj.trajectory.load_base(SHIP, robot),
            contact=lambda t, state: {"tool": tool},
        )
        np.testing.assert_array_equal(found["q"], expected.q)
        np.testing.assert_array_equal(found["base"], expected.more["base"])
        errors.append(np.abs(expected.error).max())
    assert errors[1] < 0.3 * errors[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--base", SHIP, "--known"], "motor_pd cannot know --base"),
        (["--wrench", 0, 0, 1, 0, 0, 0, "--known"], "motor_pd cannot know --wrench"),
        (["--known"], "--known belongs to --base, --wrench or --payload"),
        (
            ["--base", '{kind = "sinusoid", amplitude = [0, 0, 1], frequency = 1}'],
            "base: amplitude must be .*6 numbers",
        ),
        (["--base", '{kind = "rest_to_rest", goal_deg = 3, duration = 1}'], "base: goal_deg .* column 'x' is a length"),
        (["--wrench", "nan", 0, 0, 0, 0, 0], r"--wrench is \[nan, .* must be finite"),
    ],
)
def test_surroundings_refused(run, options, message):
    result = run(*PD, *options)
    assert result.exit_code == 2
    assert re.search(message, " ".join(result.stderr.split())), result.stderr


@pytest.mark.long
def test_a_study_on_a_moving_base():
    robot = fj.load("hua_3r")
    law, motion = fj.control.FeedforwardPD(robot, [400.0, 40.0]), fj.trajectory.load_trajectory(MOTION, robot)
    ship = fj.trajectory.load_base(SHIP, robot)
    study = fj.studies.monte_carlo(robot, law, motion, samples=8, vary={"link3.mass": "10%"}, base=ship, threads=1)
    runs = fj.simulate(robot, law, motion, free={"link3.mass": study.parameters[:, 0]}, base=ship)
    np.testing.assert_array_equal(study.largest, np.abs(runs.error).max(axis=1))
