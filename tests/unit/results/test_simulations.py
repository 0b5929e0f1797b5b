"""Simulations as Datasets and files: what is read back is what was simulated, and the same runs make the same file."""

from __future__ import annotations

import csv
import json
import re
import sys

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.analysis.variable_stiffness_table import stiffness_table
from flexjoint.plots.figures import panels
from flexjoint.plots.simulations import simulation_panels
from flexjoint.results import files
from flexjoint.viewer import animation
from flexjoint.viewer.skeleton import skeleton

ROBOT = fj.random_robot(2, 5, prismatic=0.0, elastic=1.0, name="arm")
SLIDING = ROBOT.replace(links=tuple(fj.random_robot(2, 4, prismatic=1.0, elastic=1.0).links))
NAMES = [joint.name for joint in ROBOT.joints]
ARRAYS = ("q", "v", "theta", "theta_v", "tau", "reference")


def simulated(robot=ROBOT, rows=(), periods=20):
    start = fj.JointState(*np.random.default_rng(1).uniform(-0.2, 0.2, (4, *rows, 2)))
    law = fj.MotorPD(robot, [400.0, 40.0])
    return fj.simulate(robot, law, [0.4, -0.3], periods * 1e-3, start=start, period=1e-3, check=False)


@pytest.fixture(scope="module")
def single():
    return simulated()


@pytest.fixture(scope="module")
def batch():
    return simulated(rows=(3,))


# Datasets ---------------------------------------------------------------------------------------------------------


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


# Files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [(), (3,)])
def test_netcdf_is_read_back_bit_by_bit(rows, tmp_path):
    run = simulated(rows=rows)
    fj.write_results(run, tmp_path / "run.nc")
    found = fj.read_results(tmp_path / "run.nc")
    assert all(np.array_equal(found[name], getattr(run, name)) for name in ARRAYS)
    assert found.identical(run.to_dataset())


@pytest.mark.parametrize("suffix", ["nc", "csv", "npz", "parquet"])
def test_the_same_run_makes_the_same_file(suffix, tmp_path):
    for name in ("one", "two"):
        fj.write_results(simulated(periods=5), tmp_path / f"{name}.{suffix}")
    assert (tmp_path / f"one.{suffix}").read_bytes() == (tmp_path / f"two.{suffix}").read_bytes()


def test_csv(single, batch, tmp_path):
    fj.write_results(single, tmp_path / "run.csv")
    with open(tmp_path / "run.csv", newline="", encoding="utf-8") as file:
        header, *lines = csv.reader(file)
    assert header[:3] == ["t [s]", f"q.{NAMES[0]} [rad]", f"q.{NAMES[1]} [rad]"]
    assert header[-1] == f"reference.{NAMES[1]}"
    wanted = np.column_stack([single.t, *(getattr(single, name) for name in ARRAYS)])
    assert np.array_equal(np.array(lines, dtype=float), wanted)
    fj.write_results(batch, tmp_path / "batch.csv")
    rows = np.loadtxt(tmp_path / "batch.csv", delimiter=",", skiprows=1)
    assert np.array_equal(rows[:, 0], np.repeat([0, 1, 2], 21))
    assert np.array_equal(rows[:, 2:4].reshape(3, 21, 2), batch.q)


def test_parquet_and_npz(batch, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    fj.write_results(batch, tmp_path / "x.parquet")
    read = parquet.read_table(tmp_path / "x.parquet")
    tau = read.column(f"tau.{NAMES[1]} [Nm]").to_numpy()
    assert np.array_equal(tau.reshape(3, 21), batch.tau[..., 1])
    assert read.schema.field(f"tau.{NAMES[1]} [Nm]").metadata == {b"unit": b"Nm"}
    fj.write_results(batch, tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as file:
        assert np.array_equal(file["tau"], batch.tau)
        assert file["joints"].tolist() == NAMES and str(file["digest"]) == ROBOT.digest


def test_what_sensors_and_actuators_gave(tmp_path):
    options = {"sensors": fj.Sensors(link_resolution=1e-3, motor_noise=1e-4), "actuators": fj.Actuators(effort=50.0)}
    start = fj.JointState(*np.zeros((4, 2)))
    law = fj.MotorPD(ROBOT, [400.0, 40.0])
    run = fj.simulate(ROBOT, law, [0.4, -0.3], 0.02, start=start, period=1e-3, check=False, seed=3, **options)
    found = run.to_dataset()
    assert found["command"].dims == ("time", "motor") and found["measured.q"].dims == ("time", "joint")
    assert found.attrs["seed"] == "3" and "motor_noise" in found.attrs["sensors"]
    fj.write_results(run, tmp_path / "run.nc")
    assert fj.read_results(tmp_path / "run.nc").identical(found)
    fj.write_results(run, tmp_path / "run.csv")
    header = (tmp_path / "run.csv").read_text().splitlines()[0].split(",")
    assert header.index("command.1") == len(header) - 2 - 10
    fj.write_results(run, tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as file:
        assert np.array_equal(file["measured.theta"], run.more["measured.theta"])


def test_mistakes(single, tmp_path, monkeypatch):
    with pytest.raises(fj.InputError, match=r"ends in \.nc, \.csv, \.npz, \.parquet"):
        fj.write_results(single, tmp_path / "x.mat")
    with pytest.raises(fj.InputError, match="no such file"):
        fj.read_results(tmp_path / "x.nc")
    (tmp_path / "text.nc").write_text("no NetCDF")
    with pytest.raises(fj.InputError, match="no NetCDF file"):
        fj.read_results(tmp_path / "text.nc")
    fj.write_results(single, tmp_path / "whole.nc")
    for length in (500, -500):
        (tmp_path / "cut.nc").write_bytes((tmp_path / "whole.nc").read_bytes()[:length])
        with pytest.raises(fj.InputError, match="no NetCDF file"):
            fj.read_results(tmp_path / "cut.nc")
    monkeypatch.setattr(files, "MOST_BYTES", 100)
    with pytest.raises(fj.InputError, match=r"NetCDF holds 4; use \.npz"):
        fj.write_results(single, tmp_path / "x.nc")


def test_without_xarray_the_error_says_what_to_install(single, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xarray", None)
    with pytest.raises(fj.InputError, match=r"pip install 'flexjoint\[results\]'"):
        single.to_dataset()
    monkeypatch.setattr(files, "find_spec", lambda name: None)
    for use in (lambda: fj.write_results(single, tmp_path / "x.nc"), lambda: fj.read_results(tmp_path / "x.nc")):
        with pytest.raises(fj.InputError, match=r"pip install 'flexjoint\[results\]'"):
            use()


# Plots and animations ---------------------------------------------------------------------------------------------

SPRING = fj.CubicSpring(300.0, 1e4)
TWO = ROBOT.with_drives(
    [ROBOT.joints[0].drive, fj.AntagonisticDrive(SPRING, SPRING, fj.Motor(0.2), fj.Motor(0.2))]
)  # motors: of joint 1, of joint 2, of joint 2


@pytest.fixture(scope="module")
def two_motors():
    start = fj.at_rest(TWO, [0.1, -0.2], 900.0)
    return fj.simulate(TWO, fj.OpenLoop(TWO), [0.0, 5.0, -5.0], 0.02, start=start, period=1e-3, check=False)


def test_curves_of_a_run(single):
    position, error, torque, deflection = simulation_panels(single)
    assert np.array_equal(position.values, np.rad2deg(single.q))
    assert [curve.label for curve in position.others] == ["reference", "motor θ"]
    assert np.array_equal(position.others[1].values, np.rad2deg(single.theta))
    assert np.allclose(error.values, np.rad2deg(single.reference - single.q))
    assert torque.values is single.tau or np.array_equal(torque.values, single.tau)
    assert np.allclose(deflection.values, np.rad2deg(single.theta - single.q))
    assert torque.heading == "motor torque, Nm" and error.heading == "error q_d − q, °"


def test_bands_of_a_batch():
    batch = simulated(rows=(41,), periods=5)
    _, error, torque, _ = simulation_panels(batch)
    wanted = np.sort(batch.tau, axis=0)  # of 41 runs, the 3rd, 21st and 39th
    assert np.allclose(torque.band[0], wanted[2]) and np.allclose(torque.band[1], wanted[38])
    assert np.allclose(torque.values, wanted[20])
    assert np.all(error.band[0] <= error.values) and np.all(error.values <= error.band[1])


def test_two_motors_at_a_joint(two_motors, tmp_path):
    found = two_motors.to_dataset()
    assert found["motor"].values.tolist() == [*NAMES, f"{NAMES[1]}.second"]
    position, _, torque, deflection = simulation_panels(two_motors)
    second = position.others[2].values
    assert np.all(np.isnan(second[:, 0])) and np.allclose(second[:, 1], np.rad2deg(two_motors.theta[:, 2]))
    assert np.allclose(torque.others[0].values[:, 1], -5.0)
    assert np.allclose(deflection.others[0].values[:, 1], np.rad2deg(two_motors.theta[:, 2] - two_motors.q[:, 1]))
    for suffix in ("nc", "csv", "npz"):
        fj.write_results(two_motors, tmp_path / f"x.{suffix}")
    assert fj.read_results(tmp_path / "x.nc").identical(found)


def test_plots_are_written(single, batch, two_motors, tmp_path):
    for name, run in {"single": single, "batch": batch, "two": two_motors}.items():
        fj.plot_simulation(run, tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_points_of_the_animation_are_those_of_the_links(tmp_path):
    """A tree with sliding and turning joints: frames of links at their poses, motors at those of the motors' angles."""
    robot = fj.random_robot(5, seed=2, prismatic=0.4, elastic=1.0)
    law = fj.MotorPD(robot, [400.0, 40.0])
    run = fj.simulate(
        robot, law, np.full(5, 0.3), 0.1, start=fj.JointState(*np.zeros((4, 5))), period=1e-3, check=False
    )
    shown = animation.scene(run, 100.0, magnify=3.0)
    assert len(shown.t) == 11 and np.allclose(np.diff(shown.t), 0.01)
    bent = run.q + 3.0 * (run.theta - run.q)
    for i, link in enumerate(robot.links):
        for points, q in ((shown.links, run.q), (shown.motors, bent)):
            wanted = fj.forward_kinematics(robot, q[::10], link=link.name).position
            assert np.allclose(points[:, 3 * i + 2], wanted, atol=1e-12)
    assert shown.tip == 3 * robot.link_index(robot.tool) + 2
    numbers = {k for pair in shown.segments for k in pair}
    joined = {0}
    for a, b in shown.segments:
        assert a in joined, "every segment goes on from what is there"
        joined.add(b)
    assert numbers == joined


def test_the_page_is_self_contained_and_has_the_points(single, tmp_path):
    fj.animate(single, tmp_path / "run.html", frames=200.0)
    text = (tmp_path / "run.html").read_text()
    assert "http" not in text and "src=" not in text and "<title>arm</title>" in text
    data = json.loads(re.search(r"const data = (\{.*\});", text).group(1))
    assert data["t"] == [0.0, 0.005, 0.01, 0.015, 0.02]
    points = np.reshape(data["links"], (5, -1, 3)) / 1000
    wanted = fj.forward_kinematics(ROBOT, single.q[::5]).position
    assert np.allclose(points[:, data["tip"]], wanted, atol=1e-4)


def test_a_gif_has_its_frames_and_stops_where_a_run_diverged(tmp_path):
    image = pytest.importorskip("PIL.Image")
    with pytest.warns(UserWarning, match="diverged"):
        run = fj.simulate(ROBOT, fj.OpenLoop(ROBOT), [5e6, 0.0], 1.0, period=1e-3, check=False)
    fj.animate(run, tmp_path / "run.gif", frames=20.0, speed=0.01)
    with image.open(tmp_path / "run.gif") as found:
        durations = []
        for k in range(found.n_frames):  # what does not move is one longer frame
            found.seek(k)
            durations.append(found.info["duration"])
    assert sum(durations) == 50 * (round(run.ended * 20 / 0.01) + 1)
    assert 1 < len(durations) < 100


def test_mistakes_in_animations(single, batch, tmp_path, monkeypatch):
    from matplotlib.animation import FFMpegWriter

    for run, name, options, message in (
        (batch, "x.gif", {}, "shows one run"),
        (single, "x.avi", {}, r"ends in \.gif, \.mp4, \.html"),
        (single, "x.gif", {"speed": 0.0}, "speed is 0.0"),
        (single, "x.gif", {"frames": 1e6}, "2000 are the most"),
    ):
        with pytest.raises(fj.InputError, match=message):
            fj.animate(run, tmp_path / name, **options)
    monkeypatch.setattr(FFMpegWriter, "isAvailable", classmethod(lambda cls: False))
    with pytest.raises(fj.InputError, match="MP4 needs the program ffmpeg"):
        fj.animate(single, tmp_path / "x.mp4")
    assert not list(tmp_path.iterdir())


# A second motor with units of its own -----------------------------------------------------------------------------

LEVER = fj.LeverDrive(1e5, 0.1, 0.03, 0.15, fj.Motor(0.5), fj.Motor(2.0))
PULLED = ROBOT.with_drives([LEVER, fj.load("vsa_3r").joints[0].drive])


@pytest.fixture(scope="module")
def pulled():
    start = fj.at_rest(PULLED, [0.2, 0.1], 1000.0)
    return fj.simulate(PULLED, fj.OpenLoop(PULLED), np.zeros(4), 0.02, start=start, check=False)


def test_units_of_a_pivot_that_slides(pulled):
    headers = [column.header for column in files.RunTable(pulled).columns()]
    pivot, spring = (f"{name}.second" for name in NAMES)
    for name in (f"theta.{pivot} [m]", f"theta_v.{pivot} [m/s]", f"tau.{pivot} [N]", f"theta.{spring} [rad]"):
        assert name in headers
    assert pulled.to_dataset()["theta"].attrs["units"] == "rad | m"
    goal, sigma = fj.RestToRest([0.0, 0.0], [0.2, 0.1], 1.0), fj.RestToRest([950.0] * 2, [1000.0] * 2, 1.0)
    table = stiffness_table(PULLED, goal, sigma, 0.1, uncertain={"*.mass": "5%"})
    headers = [column.header for column in table.columns()]
    for name in (f"theta.{pivot} [m]", f"phi.{pivot} [m]", f"tau.{pivot} [N]", f"tau_bound.{pivot} [N]"):
        assert name in headers
    assert f"tau.{NAMES[0]} [Nm]" in headers and f"phi.{spring} [rad]" in headers
    torques, deflections, *_ = panels(table)
    for panel, second in ((torques, table.tau_2), (deflections, np.rad2deg(table.phi_2))):
        assert np.all(np.isnan(panel.others[0].values[:, 0]))
        assert np.array_equal(panel.others[0].values[:, 1], second[:, 1])


def test_a_pivot_is_not_drawn_as_a_motor_beside_the_link(pulled):
    position, _, torque, deflection = simulation_panels(pulled)
    assert [curve.label for curve in position.others] == ["reference", "motor θ", "second motor"]
    for curve in (position.others[2], torque.others[0], deflection.others[0]):
        assert np.all(np.isnan(curve.values[:, 0])) and np.all(np.isfinite(curve.values[:, 1]))
    assert np.allclose(deflection.others[0].values[:, 1], np.rad2deg(pulled.theta[:, 3] - pulled.q[:, 1]))
    shown = animation.scene(pulled, 1000.0)
    held = np.stack([pulled.theta[:, 0], (pulled.theta[:, 1] + pulled.theta[:, 3]) / 2], axis=1)
    assert np.allclose(shown.motors, skeleton(PULLED, held).points, atol=1e-15)


def test_a_folder_that_cannot_be_written_to(single, tmp_path, monkeypatch):
    """Refused before anything is computed, or if that cannot be known, with the name that was given."""
    with pytest.raises(OSError, match=r"run\.csv"), monkeypatch.context() as patch:
        patch.setattr("builtins.open", denied)
        fj.write_results(single, tmp_path / "run.csv")
    monkeypatch.setattr(files.os, "access", lambda *_: False)
    with pytest.raises(fj.InputError, match="nothing can be written to the folder"):
        files.check_results_path(tmp_path / "run.csv")


def denied(path, *_):
    raise PermissionError(13, "Permission denied", str(path))
