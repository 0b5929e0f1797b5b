"""Robots simulated by MuJoCo, written by hand: dry friction with stiction, slower loggers, torque sensors."""

from dataclasses import replace

import numpy as np
import pytest

import flexjoint as fj
from support.identification import bench, multisine, pulls, rough_bench
from support.recorded_runs import recorded_run

mujoco_logs = pytest.importorskip("support.mujoco_logs")

GAINS = np.array([[500.0], [20.0]])
LAW = fj.drives.Friction(viscous=0.8, coulomb=1.2, velocity=1e-3)


@pytest.fixture(scope="module")
def log():
    """20 s of a controller at 1 kHz; friction as MuJoCo's constraint solver has it, which is no law of the velocity."""
    plant = mujoco_logs.Plant.of_bench(timestep=2e-4)
    return recorded_run(plant, bench(law=LAW), multisine(0.8, 0, 20.0, count=30), GAINS, seed=1).log


def every(log, k):
    """Every k-th sample."""
    return replace(log, **{name: getattr(log, name)[::k] for name in ("t", "q", "theta", "tau")})


@pytest.mark.parametrize("k", [1, 2, 4])
def test_stiction_does_not_bias_and_is_named(log, k):
    """At 1000, 500 and 250 Hz: within three stated deviations, which stay small."""
    found = fj.identification.identify(rough_bench(), every(log, k))
    assert any("friction near reversals of hinge is none of the laws" in x for x in found.notes)
    errors = pulls(found, bench(law=LAW))
    for name, largest in (("stiffness", 0.01), ("motor.inertia", 0.013), ("motor.friction.viscous", 0.01)):
        one = found[f"hinge.drive.{name}"]
        assert abs(errors[one.name]) < 3 and one.deviation < largest * one.value, str(one)
    coulomb = found["hinge.drive.motor.friction.coulomb"]
    assert abs(coulomb.value - 1.2) < 3 * coulomb.deviation
    assert found["hinge.drive.motor.friction.velocity"].verdict == "unknown"


def test_a_torque_that_is_logged_less_often_than_it_changes_is_recognised(log):
    found = fj.identification.identify(rough_bench(), every(log, 4), friction="coulomb")
    assert any("tau changes more often than it is logged" in x for x in found.notes)
    delay = found["torque_delay"]
    assert abs(delay.value - 0.0005) < 2e-4, "half of the period of the controller"


def test_a_file_with_its_own_habits_is_identified(log, tmp_path):
    """Numbers from 1, degrees, mNm, milliseconds with jitter, semicolons; as a user would."""
    from typer.testing import CliRunner

    from flexjoint.cli import app

    rng = np.random.default_rng(0)
    part = every(log, 2)
    stamps = 1e3 * (part.t + 1e-4 * rng.uniform(-1, 1, part.t.size))
    columns = [stamps, np.rad2deg(part.q), np.rad2deg(part.theta), 1e3 * part.tau]
    header = "time [ms];actual_q_1 [deg];motor_position_1 [deg];motor_torque_1 [mNm]"
    at = tmp_path / "log.csv"
    np.savetxt(at, np.column_stack(columns), fmt="%.9g", delimiter=";", header=header, comments="")
    fj.write_robot(rough_bench(), tmp_path / "bench.toml")
    arguments = ["identify", tmp_path / "bench.toml", at, "-o", tmp_path / "found.drives.toml"]
    result = CliRunner().invoke(app, [str(x) for x in [*arguments, "--robot-output", tmp_path / "found.toml"]])
    assert result.exit_code == 0, result.output
    robot = fj.load(tmp_path / "found.toml")
    driven = fj.load(tmp_path / "bench.toml", drives=tmp_path / "found.drives.toml")
    assert robot.joints[0].drive == driven.joints[0].drive
    assert robot.joints[0].drive.stiffness == pytest.approx(300.0, rel=0.01)
    assert robot.joints[0].drive.motor.inertia == pytest.approx(0.12, rel=0.015)


# Series elastic actuators with torque sensors ------------------------------------------------------------------------


def regression(log, i):
    """Slope of the sensed torque over the deflection: stiffness times scale of the sensor."""
    return np.polyfit(log.theta[:, i] - log.q[:, i], log.tau_e[:, i], 1)[0]


def assert_honest(found, joints, scale=1.0):
    """Stiffness, motor inertia and sensor scale within three stated deviations where they are called identified."""
    for i, joint in enumerate(joints):
        for path, true in mujoco_logs.elastic_truth(joint, scale).items():
            x = found[f"joint{i + 1}.drive.{path}"]
            assert x.verdict != "identified" or abs(x.value - true) < 3 * x.deviation, str(x)


@pytest.mark.parametrize(
    ("name", "motion", "scale"),
    [
        ("knee", "fourier", 1.0),
        ("hip", "fourier", 0.9),
        ("scara", "chirp", 1.0),
        pytest.param("finger", "fourier", 1.1, marks=pytest.mark.long),
        pytest.param("slide", "steps", 1.0, marks=pytest.mark.long),
        pytest.param("arm", "fourier", 1.0, marks=pytest.mark.long),
    ],
)
def test_torque_sensors_do_not_draw_stiffness_to_zero(name, motion, scale):
    log, joints = mujoco_logs.elastic_log(name, motion, duration=8.0, scale=scale, noise=0.03), mujoco_logs.ROBOTS[name]
    found = fj.identification.identify(log.robot, log)
    assert found.fit.converged
    assert_honest(found, joints, scale)
    for i, joint in enumerate(joints):
        K, c = (found[f"joint{i + 1}.drive.{x}"] for x in ("stiffness", "sensor_scale"))
        assert K.verdict == c.verdict == "identified"
        assert abs(K.value / joint.K - 1) < 0.02
        assert abs(K.value * c.value / regression(log, i) - 1) < 1e-3


@pytest.mark.parametrize("scale", [1.0, 1.1])
def test_a_sensor_scale_that_the_motor_does_not_show_is_one(scale):
    """One sinusoid without gravity: inertias of motor and link are one number, with any scale of the sensor."""
    log = mujoco_logs.elastic_log("hip", "sine", duration=8.0, gravity=0.0, scale=scale)
    found = fj.identification.identify(log.robot, log)
    K, c = found["joint1.drive.stiffness"], found["joint1.drive.sensor_scale"]
    assert c.verdict == "unknown" and abs(c.value - 1) < 1e-3 and "taken as 1" in c.reason
    assert c.deviation > 0.05
    assert abs(K.value - regression(log, 0)) < 3 * K.deviation
    assert any("joint1 is taken as right" in x for x in found.notes)
    assert not any("kg held" in x.reason for x in found.estimates)


def test_without_motor_torque_the_sensor_decides():
    """The robot file has links 20 % too heavy and springs 40 % too stiff."""
    log = mujoco_logs.elastic_log("scara", duration=8.0)
    found = fj.identification.identify(log.robot, replace(log, tau=None))
    true = mujoco_logs.chain_robot(mujoco_logs.ROBOTS["scara"])
    for i, joint in enumerate(mujoco_logs.ROBOTS["scara"]):
        K = found[f"joint{i + 1}.drive.stiffness"]
        assert K.verdict == "identified" and abs(K.value - joint.K) < 3 * K.deviation
        assert abs(K.value / regression(log, i) - 1) < 1e-3
    for name, value in zip(fj.base_parameters(true).names, fj.base_parameters(true).of(true)):
        assert abs(found[name].value - value) < 4 * found[name].deviation
    bare = fj.identification.identify(log.robot, replace(log, tau=None, tau_e=None))["joint1.drive.stiffness"]
    assert bare.verdict == "weak" and "relative to the inertias" in bare.reason
