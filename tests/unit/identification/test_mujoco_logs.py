"""A bench simulated by MuJoCo, written by hand: dry friction with stiction, a fast controller and slower loggers."""

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
