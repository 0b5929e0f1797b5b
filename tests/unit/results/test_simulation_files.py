"""Simulations as Datasets and files: what is read back is what was simulated, and the same runs make the same file."""

from __future__ import annotations

import csv
import sys

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.results import files
from flexjoint.results.simulation_table import SimulationTable
from support.runs import NAMES, ROBOT, SLIDING, pulled_run, simulated, two_motors_run

ARRAYS = ("q", "v", "theta", "theta_v", "tau", "reference")


@pytest.fixture(scope="module")
def single():
    return simulated()


@pytest.fixture(scope="module")
def batch():
    return simulated(rows=(3,))


@pytest.fixture(scope="module")
def two_motors():
    return two_motors_run()


@pytest.fixture(scope="module")
def pulled():
    return pulled_run()


def test_a_dataset_has_names_units_and_provenance(batch):
    found = batch.to_dataset()
    assert found["q"].dims == ("run", "time", "joint") and found["tau"].dims == ("run", "time", "motor")
    assert found["reference"].dims == ("time", "joint")
    assert found["joint"].values.tolist() == NAMES
    assert [found[x].attrs["units"] for x in ("q", "v", "tau", "time")] == ["rad", "rad/s", "Nm", "s"]
    assert np.array_equal(found["theta"].sel(run=2, motor=NAMES[1]), batch.theta[2, :, 1])
    assert np.array_equal(found["q"].sel(time=0.01, method="nearest"), batch.q[:, 10])
    about = found.attrs
    assert (about["robot"], about["robot_digest"]) == ("arm", ROBOT.digest)
    assert (about["controller"], about["integrator"], about["period"]) == ("MotorPD", "runge_kutta", 1e-3)
    assert {"flexjoint_version", "casadi_version", "llvmlite_version"} <= about.keys()


def test_dimensions_of_one_run_and_of_several():
    assert simulated(periods=2).to_dataset()["q"].dims == ("time", "joint")
    assert simulated(rows=(2, 3), periods=2).to_dataset()["q"].dims == ("run_0", "run_1", "time", "joint")


def test_units_of_sliding_joints():
    found = simulated(SLIDING, periods=2).to_dataset()
    assert (found["q"].attrs["units"], found["tau"].attrs["units"]) == ("m", "N")
    mixed = ROBOT.replace(links=(ROBOT.links[0], SLIDING.links[1]))
    assert simulated(mixed, periods=2).to_dataset()["q"].attrs["units"] == "rad | m"


def test_the_name_of_a_python_controller():
    def nothing(t, state, reference, measurement):
        return state, np.zeros(2)

    assert fj.simulate(ROBOT, nothing, [0.0, 0.0], 2e-3).to_dataset().attrs["controller"] == "nothing"


@pytest.mark.parametrize("rows", [(), (3,)])
def test_netcdf_is_read_back_bit_by_bit(rows, tmp_path):
    run = simulated(rows=rows)
    fj.results.write_results(run, tmp_path / "run.nc")
    found = fj.results.read_results(tmp_path / "run.nc")
    assert all(np.array_equal(found[name], getattr(run, name)) for name in ARRAYS)
    assert found.identical(run.to_dataset())


@pytest.mark.parametrize("suffix", ["nc", "csv", "npz", "parquet"])
def test_the_same_run_makes_the_same_file(suffix, tmp_path):
    for name in ("one", "two"):
        fj.results.write_results(simulated(periods=5), tmp_path / f"{name}.{suffix}")
    assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"two.{suffix}").read_bytes()


def test_csv(single, batch, tmp_path):
    fj.results.write_results(single, tmp_path / "run.csv")
    with open(tmp_path / "run.csv", newline="", encoding="utf-8") as file:
        header, *lines = csv.reader(file)
    assert header[:3] == ["t [s]", f"q.{NAMES[0]} [rad]", f"q.{NAMES[1]} [rad]"]
    assert header[-1] == f"reference.{NAMES[1]}"
    wanted = np.column_stack([single.t, *(getattr(single, name) for name in ARRAYS)])
    assert np.array_equal(np.array(lines, dtype=float), wanted)
    fj.results.write_results(batch, tmp_path / "batch.csv")
    rows = np.loadtxt(tmp_path / "batch.csv", delimiter=",", skiprows=1)
    assert np.array_equal(rows[:, 0], np.repeat([0, 1, 2], 21))
    assert np.array_equal(rows[:, 2:4].reshape(3, 21, 2), batch.q)


def test_parquet_and_npz(batch, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    fj.results.write_results(batch, tmp_path / "x.parquet")
    read = parquet.read_table(tmp_path / "x.parquet")
    tau = read.column(f"tau.{NAMES[1]} [Nm]").to_numpy()
    assert np.array_equal(tau.reshape(3, 21), batch.tau[..., 1])
    assert read.schema.field(f"tau.{NAMES[1]} [Nm]").metadata == {b"unit": b"Nm"}
    fj.results.write_results(batch, tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as file:
        assert np.array_equal(file["tau"], batch.tau)
        assert file["joints"].tolist() == NAMES and str(file["digest"]) == ROBOT.digest


def test_what_sensors_and_actuators_gave(tmp_path):
    options = {
        "sensors": fj.simulation.Sensors(link_resolution=1e-3, motor_noise=1e-4),
        "actuators": fj.simulation.Actuators(effort=50.0),
    }
    start = fj.JointState(*np.zeros((4, 2)))
    law = fj.control.MotorPD(ROBOT, [400.0, 40.0])
    run = fj.simulate(ROBOT, law, [0.4, -0.3], 0.02, start=start, period=1e-3, check=False, seed=3, **options)
    found = run.to_dataset()
    assert found["command"].dims == ("time", "motor") and found["measured.q"].dims == ("time", "joint")
    assert found.attrs["seed"] == "3" and "motor_noise" in found.attrs["sensors"]
    fj.results.write_results(run, tmp_path / "run.nc")
    assert fj.results.read_results(tmp_path / "run.nc").identical(found)
    fj.results.write_results(run, tmp_path / "run.csv")
    header = (tmp_path / "run.csv").read_text().splitlines()[0].split(",")
    names = [joint.name for joint in run.robot.joints]
    wanted = ["command", *(f"measured.{x}" for x in ("q", "v", "theta", "theta_v", "tau_e", "tau_e_v"))]
    assert header[header.index(f"command.{names[0]}") :] == [f"{x}.{name}" for x in wanted for name in names]
    fj.results.write_results(run, tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as file:
        assert np.array_equal(file["measured.theta"], run.more["measured.theta"])


def test_two_motors_at_a_joint(two_motors, tmp_path):
    found = two_motors.to_dataset()
    assert found["motor"].values.tolist() == [*NAMES, f"{NAMES[1]}.second"]
    for suffix in ("nc", "csv", "npz"):
        fj.results.write_results(two_motors, tmp_path / f"x.{suffix}")
    assert fj.results.read_results(tmp_path / "x.nc").identical(found)


def test_units_of_a_pivot_that_slides(pulled):
    headers = [column.header for column in SimulationTable(pulled).columns()]
    pivot, spring = (f"{name}.second" for name in NAMES)
    for name in (f"theta.{pivot} [m]", f"theta_v.{pivot} [m/s]", f"tau.{pivot} [N]", f"theta.{spring} [rad]"):
        assert name in headers
    assert pulled.to_dataset()["theta"].attrs["units"] == "rad | m"


def test_mistakes(single, tmp_path, monkeypatch):
    with pytest.raises(fj.InputError, match=r"ends in \.nc, \.csv, \.npz, \.parquet"):
        fj.results.write_results(single, tmp_path / "x.mat")
    with pytest.raises(fj.InputError, match="no such file"):
        fj.results.read_results(tmp_path / "x.nc")
    (tmp_path / "text.nc").write_text("no NetCDF")
    with pytest.raises(fj.InputError, match="not a NetCDF file"):
        fj.results.read_results(tmp_path / "text.nc")
    fj.results.write_results(single, tmp_path / "whole.nc")
    for length in (500, -500):
        (tmp_path / "cut.nc").write_bytes((tmp_path / "whole.nc").read_bytes()[:length])
        with pytest.raises(fj.InputError, match="not a NetCDF file"):
            fj.results.read_results(tmp_path / "cut.nc")
    monkeypatch.setattr(files, "MOST_BYTES", 100)
    with pytest.raises(fj.InputError, match=r"NetCDF holds at most 4 per variable; write \.npz"):
        fj.results.write_results(single, tmp_path / "x.nc")


def test_without_xarray_the_error_says_what_to_install(single, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(fj.InputError, match=r"pip install 'flexjoint\[results\]'"):
        single.to_dataset()
    monkeypatch.setattr(files, "find_spec", lambda name: None)
    for use in (
        lambda: fj.results.write_results(single, tmp_path / "x.nc"),
        lambda: fj.results.read_results(tmp_path / "x.nc"),
    ):
        with pytest.raises(fj.InputError, match=r"pip install 'flexjoint\[results\]'"):
            use()


def test_a_folder_that_cannot_be_written_to(single, tmp_path, monkeypatch):
    """Refused before anything is computed, or if that cannot be known, with the name that was given."""
    with pytest.raises(OSError, match=r"run\.csv"), monkeypatch.context() as patch:
        patch.setattr("builtins.open", denied)
        fj.results.write_results(single, tmp_path / "run.csv")
    monkeypatch.setattr(files.os, "access", lambda *_: False)
    with pytest.raises(fj.InputError, match="is not writable; choose another"):
        files.check_results_path(tmp_path / "run.csv")


def denied(path, *_):
    raise PermissionError(13, "Permission denied", str(path))
