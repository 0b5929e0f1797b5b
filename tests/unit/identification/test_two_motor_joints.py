"""Spring laws of joints of variable stiffness from logs; what a log does not show is named."""

import dataclasses
import json

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.identification.estimates import Estimate
from flexjoint.identification.transmission_result import without_wrong_laws
from support.identification import FLIPPED, NOISE, STEP, multisine

T = 1e-3 * np.arange(12000)
MOTION = multisine(0.5, 0, 12.0, count=20)
PAIRS = {
    "sinh": (fj.springs.SinhSpring(1.0, 6.7), fj.springs.SinhSpring(1.2, 6.0)),
    "mixed": (fj.springs.ExponentialSpring(5.0, 3.0), fj.springs.QuadraticSpring(22.0, -25.0)),
}


def device(one, two, inertia=0.02, viscous=0.05):
    """A link behind an antagonistic pair."""
    motor = fj.Motor(inertia, viscous_friction=viscous)
    joint = fj.Joint("hinge", rotation=FLIPPED, drive=fj.drives.AntagonisticDrive(one, two, motor, motor))
    arm = fj.Link("arm", joint, mass=0.5, com=(0.15, 0.01, 0.0), inertia=0.003 * np.eye(3))
    return fj.Robot("device", (arm,))


def log_of(robot, middle, swing, sensor=0.0, motion=MOTION):
    """A log with noisy instruments: stiffness middle (1 + swing sin) along the motion."""
    rng = np.random.default_rng(11)
    sizes = middle * swing * np.array([[0.6], [0.4]])
    sigma = fj.trajectory.Sinusoid(sizes, [[0.3], [0.7]], [[0.0], [1.0]], offset=[middle], duration=12.0)
    q = motion(T)
    found = fj.motor_motion(robot, *q[:5], stiffness=sigma(T)[:3])

    def encoded(x):
        return STEP * np.round(x / STEP + NOISE * rng.normal(size=x.shape))

    sensed = {"tau_e": found.tau_e + sensor * rng.normal(size=found.tau_e.shape)} if sensor else {}
    tau = found.tau + 0.005 * rng.normal(size=found.tau.shape)
    return fj.logs.Log(robot, T, q=encoded(q[0]), theta=encoded(found.theta), tau=tau, **sensed)


def scaled(spring, factor):
    """A law of the same form with other numbers."""
    return dataclasses.replace(spring, **{x.name: factor * getattr(spring, x.name) for x in dataclasses.fields(spring)})


@pytest.mark.parametrize("name", PAIRS)
def test_laws_of_an_antagonistic_pair_are_found(name):
    pair = PAIRS[name]
    least = fj.dynamics.feasible_stiffness(device(*pair), [1.5]).lower[0]
    log = log_of(device(*pair), 1.6 * least, 0.25)
    rough = device(scaled(pair[0], 1.4), scaled(pair[1], 0.7), 0.03, 0.02)
    one = fj.identification.identify_variable_stiffness(rough, log, friction="viscous", held=False)
    assert one.passed and one.fit.converged
    for k, spring in enumerate(pair, 1):
        for x in dataclasses.fields(spring):
            found = one[f"hinge.drive.spring_{k}.{x.name}"]
            true = getattr(spring, x.name)
            assert abs(found.value - true) < 4 * found.deviation < 0.05 * abs(true), found
            assert found.verdict == "identified"
            assert getattr(one.robot.joints[0].drive.springs[k - 1], x.name) == found.value
        inertia = one[f"hinge.drive.motor_{k}.inertia"]
        assert abs(inertia.value - 0.02) < 4 * inertia.deviation < 1e-4
    assert one.robot.joints[0].drive.motor_1.friction.viscous == pytest.approx(0.05, rel=0.01)


def test_a_lever_and_a_torque_sensor():
    motor = fj.Motor(0.02, viscous_friction=0.05)
    drive = fj.drives.LeverDrive(
        spring=2000.0, arm=0.1, least_arm=0.02, greatest_arm=0.2, motor_1=motor, motor_2=fj.Motor(1.0)
    )
    true = device(*PAIRS["sinh"]).with_drives([drive])
    log = log_of(true, 15.0, 0.3, sensor=0.01)
    rough = true.with_drives([dataclasses.replace(drive, spring=1500.0, arm=0.12)])
    one = fj.identification.identify_variable_stiffness(rough, log, friction="viscous", held=False)
    for name, value in (("spring", 2000.0), ("arm", 0.1)):
        found = one[f"hinge.drive.{name}"]
        assert abs(found.value - value) < 4 * found.deviation < 0.05 * value, found


def test_what_the_deflections_do_not_show_is_named():
    """Springs that hardly change their deflection look linear: neither stiffness at rest nor rate is seen."""
    pair = PAIRS["mixed"]
    small = multisine(0.005, 0, 12.0, offset=np.pi / 2, count=20)
    least = fj.dynamics.feasible_stiffness(device(*pair), [1.5]).lower[0]
    log = log_of(device(*pair), 1.6 * least, 1e-4, motion=small)
    one = fj.identification.identify_variable_stiffness(device(*pair), log, friction="viscous", held=False)
    rate = one["hinge.drive.spring_1.rate"]
    assert rate.verdict == "unknown"
    assert "the deflections reach only" in rate.reason
    assert "tighten the motors against each other" in rate.reason
    assert one.robot.joints[0].drive.spring_1.rate == pair[0].rate


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder with a rough robot, and a log of the true one by the command line."""
    folder, pair = tmp_path_factory.mktemp("pair"), PAIRS["sinh"]
    fj.write_robot(device(*pair), folder / "true.toml")
    fj.write_robot(device(scaled(pair[0], 1.4), scaled(pair[1], 0.7), 0.03, 0.02), folder / "rough.toml")
    motion = '{kind = "sinusoid", amplitude = [[0.3], [0.1]], frequency = [[0.4], [1.1]], duration = 6}'
    stiffness = '{kind = "sinusoid", amplitude = [[8.0]], frequency = [[0.3]], offset = [45.0], duration = 6}'
    law = ["--controller", "variable_stiffness_tracking", "--poles=-20", "--period", "0.002", "--substeps", "2"]
    run = ["simulate", folder / "true.toml", *law, "--trajectory", motion, "--stiffness", stiffness]
    assert called(*run, "-o", folder / "log.csv").exit_code == 0
    return folder


def called(*arguments):
    """The command line."""
    from typer.testing import CliRunner

    from flexjoint.cli import app

    return CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(x) for x in arguments])


def test_a_simulated_log_is_identified_from_the_command_line(files):
    command = ["identify", files / "rough.toml", files / "log.csv", "--friction", "viscous"]
    wanted = ["-o", files / "found.drives.toml", "--plot", files / "fit.png", "--validate", files / "log.csv"]
    result = called(*command, *wanted, "--json", "--report", files / "fit.html")
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert set(data["validation"]) == {"hinge", "hinge.second"} and max(data["validation"].values()) < 1e-4
    assert all((files / name).stat().st_size > 10_000 for name in ("fit.png", "fit.html"))
    robot = fj.load(files / "rough.toml", drives=files / "found.drives.toml")
    drive = robot.joints[0].drive
    for spring, true in zip(drive.springs, PAIRS["sinh"]):
        for x in dataclasses.fields(true):
            assert getattr(spring, x.name) == pytest.approx(getattr(true, x.name), rel=1e-3), x.name
    for motor in drive.motors:
        assert motor.inertia == pytest.approx(0.02, rel=1e-3)
        assert motor.friction.viscous == pytest.approx(0.05, rel=1e-3)
    source = fj.robot.source_of(robot, "hinge.drive.spring_1.rate")
    assert source.trust == "identified" and "drive.spring_1.rate" in source.note
    shown = called(*command)
    row = next(x for x in shown.stdout.splitlines() if "spring_2.rate" in x)
    assert "±" in row and "4.2" in row and "identified" in row  # the prior, 0.7 times 6


def test_options_of_other_joints_are_refused(files):
    for wrong in (["--links", "base"], ["--spring", "cubic"], ["--robot-output", files / "x.toml"], ["--use-priors"]):
        result = called("identify", files / "rough.toml", files / "log.csv", *wrong)
        assert result.exit_code == 2 and f"leave out {wrong[0]}, which is for rigid and elastic" in result.stderr
    result = called("identify", files / "rough.toml", files / "log.csv", "--friction", "stribeck_by_direction")
    assert result.exit_code == 2 and "one of viscous, coulomb, stribeck" in result.stderr


def test_rigid_joints_beside_stay_as_they_are():
    pair = device(*PAIRS["sinh"])
    base = fj.Joint("base", drive=fj.RigidDrive(fj.Motor(0.3)))
    mixed = fj.Robot("mixed", (fj.Link("column", base, mass=1.0, inertia=0.01 * np.eye(3)), *pair.links))
    log = log_of(pair, 45.0, 0.25)
    still = np.zeros((T.size, 1))
    both = fj.logs.Log(
        mixed, T, q=np.hstack([still, log.q]), theta=np.hstack([still, log.theta]), tau=np.hstack([still, log.tau])
    )
    one = fj.identification.identify_variable_stiffness(mixed, both, friction="viscous", held=False, check=False)
    assert "joints without two motors are left as they are: base" in one.notes and one.rows == ["hinge", "hinge.second"]
    assert one["hinge.drive.spring_1.rate"].value == pytest.approx(6.7, rel=0.01)
    assert one.robot.joints[0].drive == base.drive
    assert fj.formats.DriveFile(one.drive_file.text).applied(mixed).joints[1].drive == one.robot.joints[1].drive


def test_numbers_that_make_no_law_are_unknown():
    pair = device(fj.springs.CubicSpring(100.0, 0.0), fj.springs.CubicSpring(100.0, 50.0))
    names = ("spring_1.stiffness", "spring_1.cubic", "motor_1.inertia")
    values = {"log ": 110.0, "law ": -5.0, "inertia": 0.03}
    estimates = [
        Estimate(f"hinge.drive.{name}", f"{kind}{name}" if kind[-1] == " " else kind, 0, "", value, 0.01, 1.0)
        for name, (kind, value) in zip(names, values.items())
    ]
    found = without_wrong_laws(pair, estimates)
    assert [x.verdict for x in found] == ["unknown", "unknown", "identified"]
    assert "the numbers make no law: " in found[1].reason and "cubic" in found[1].reason


def test_refusals():
    pair = device(*PAIRS["sinh"])
    with pytest.raises(fj.InputError, match="no joint of variable stiffness"):
        fj.identification.identify_variable_stiffness(fj.load("kuka_lwr"), [])
    blind = fj.logs.Log(pair, T, q=np.zeros((T.size, 1)), theta=np.zeros((T.size, 2)))
    with pytest.raises(fj.InputError, match="a log has no tau"):
        fj.identification.identify_variable_stiffness(pair, blind)
    with pytest.raises(fj.InputError, match="identify_variable_stiffness estimates the laws"):
        fj.identification.identify(pair, blind)
