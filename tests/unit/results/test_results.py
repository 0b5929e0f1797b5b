"""Tables of motor torques: numbers of a pendulum with an elastic joint, files of every kind, plots, and mistakes."""

from __future__ import annotations

import csv
import os

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.analysis import torque_table as table
from flexjoint.analysis.torque_table import motor_table, sample_times
from flexjoint.plots.figures import panels, plot_motors
from flexjoint.results import files, write_table
from support.errors import relative_error
from support.pendulum import GRAVITY, INERTIA, LEVER, MASS, pendulum

STIFFNESS, MOTOR = 400.0, 0.7
MOTION = fj.RestToRest([0.2], [1.4], 1.0)


def hinged(drive):
    return pendulum(drive, joint_names=["hinge, left"])


ELASTIC = hinged(fj.ElasticDrive(STIFFNESS, fj.Motor(MOTOR)))


def closed_form(t):
    """θ, θ − q and τ of the pendulum: J q'' + m g l cos q = τ_e = K (θ − q), B θ'' + τ_e = τ."""
    q, v, a, _, snap = MOTION(t)[..., 0]
    J, load = INERTIA + MASS * LEVER**2, MASS * GRAVITY * LEVER
    tau_e = J * a + load * np.cos(q)
    tau_e_a = J * snap - load * (np.cos(q) * v**2 + np.sin(q) * a)
    rigid = (J + MOTOR) * a + load * np.cos(q)
    return q + tau_e / STIFFNESS, tau_e / STIFFNESS, tau_e + MOTOR * (a + tau_e_a / STIFFNESS), rigid


@pytest.mark.parametrize("block", [7, 8192])
def test_the_table_is_the_pendulums(monkeypatch, block):
    monkeypatch.setattr(table, "BLOCK", block)
    done = []
    found = motor_table(ELASTIC, MOTION, 0.01, rigid=True, progress=done.append)
    assert found.t.tolist() == [round(0.01 * k, 2) for k in range(101)]
    assert sum(done) == 101 and max(done) <= block
    theta, deflection, tau, rigid = closed_form(found.t)
    for name, expected in {"theta": theta, "deflection": deflection, "tau": tau, "tau_rigid": rigid}.items():
        assert relative_error(found.quantities()[name][:, 0], expected) < 1e-13


def test_a_constant_wrench_on_the_tool():
    """A force along y at the tip, 0.5 m from the hinge, is borne by the spring with −0.5 cos q times it."""
    free, pushed = (motor_table(ELASTIC, MOTION, 0.01, wrench=w) for w in (None, [0.0, 30.0, 0.0, 0.0, 0.0, 0.0]))
    expected = -0.5 * 30.0 * np.cos(free.q) / STIFFNESS
    assert relative_error(pushed.deflection - free.deflection, expected) < 1e-12


def test_a_damped_spring_is_followed_through_the_whole_motion():
    """With little damping the torque is nearly that without; the deflection obeys K φ + D φ' = τ_e."""
    damping = 2.0
    found = motor_table(hinged(fj.ElasticDrive(STIFFNESS, fj.Motor(MOTOR), damping)), MOTION, 1e-3)
    _, deflection, _, _ = closed_form(found.t)
    phi = found.deflection[:, 0]
    rate = np.gradient(phi, found.t, edge_order=2)
    assert relative_error(STIFFNESS * phi + damping * rate, STIFFNESS * deflection) < 1e-5  # of differences at 1 ms
    assert relative_error(phi, deflection) > 1e-3


# Sampling -----------------------------------------------------------------------------------------------------


def test_samples_stay_within_the_motion():
    assert sample_times(1.0, 0.3).tolist() == [0.0, 0.3, 0.6, 0.9]
    assert sample_times(0.3, 0.1)[-1] == 0.3
    assert sample_times(4.0, 0.001).size == 4001


@pytest.mark.parametrize(
    ("duration", "period", "message"),
    [
        (1.0, 0.0, "positive"),
        (1.0, float("nan"), "positive"),
        (1.0, 1e-9, "5,000,000 are the most"),
        (1.0, 2.0, "longer than the motion"),
        (float("inf"), 0.1, "does not end"),
    ],
)
def test_impossible_samples_are_refused(duration, period, message):
    with pytest.raises(fj.InputError, match=message):
        sample_times(duration, period)


def test_a_motion_that_is_not_smooth_enough_is_refused():
    with pytest.raises(fj.InputError, match="not smooth enough"):
        motor_table(ELASTIC, fj.RestToRest([0.0], [1.0], 1.0, smoothness=2))


def test_a_torque_that_is_not_finite_names_column_and_time():
    huge = fj.RestToRest([0.0], [1e12], 1.0)  # angles beyond the range of sin and cos
    with pytest.raises(fj.NonFiniteError, match=r"theta\.hinge, left is not finite at t = "):
        motor_table(ELASTIC, huge, 0.01)


# Files --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def found():
    return motor_table(ELASTIC, MOTION, 0.01, rigid=True)


NAMES = {"q": "rad", "theta": "rad", "deflection": "rad", "tau": "Nm"}
HEADER = ["t [s]", *(f"{name}.hinge, left [{unit}]" for name, unit in NAMES.items())]


def test_csv_reads_back_to_the_same_numbers(found, tmp_path):
    write_table(found, tmp_path / "x.csv")
    with open(tmp_path / "x.csv", newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == [*HEADER, "tau_rigid.hinge, left [Nm]"]
    numbers = np.array(rows, dtype=float)
    assert np.array_equal(numbers, np.column_stack([found.t, *(x[:, 0] for x in found.quantities().values())]))


def test_npz_is_itself_a_motion(found, tmp_path):
    write_table(found, tmp_path / "x.npz")
    with np.load(tmp_path / "x.npz") as file:
        assert file["joints"].tolist() == ["hinge, left"]
        assert file["tau_unit"].tolist() == ["Nm"]
        assert np.array_equal(file["tau"], found.tau)
    again = fj.load_trajectory(tmp_path / "x.npz", ELASTIC)
    assert relative_error(again(found.t)[0], found.q) < 1e-12


def test_parquet_has_units_in_its_fields(found, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    write_table(found, tmp_path / "x.parquet")
    read = parquet.read_table(tmp_path / "x.parquet")
    assert read.column_names == [*HEADER, "tau_rigid.hinge, left [Nm]"]
    assert read.schema.field(4).metadata == {b"unit": b"Nm"}
    assert np.array_equal(read.column(4).to_numpy(), found.tau[:, 0])


def test_parquet_without_pyarrow_says_what_to_install(found, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "find_spec", lambda name: None)
    with pytest.raises(fj.InputError, match=r"pip install 'flexjoint\[results\]'"):
        write_table(found, tmp_path / "x.parquet")


def test_units_follow_the_joints():
    robot = fj.random_robot(3, seed=2, prismatic=1.0, elastic=1.0)
    found = motor_table(robot, fj.RestToRest([0.0] * 3, [0.1] * 3, 1.0), 0.1)
    assert {column.unit for column in found.columns()} == {"s", "m", "N"}
    assert [panel.units[0] for panel in panels(found)] == ["N", "mm"]
    assert np.array_equal(panels(found)[1].values, found.deflection * 1000)


@pytest.mark.parametrize(
    ("name", "message"), [("x.txt", "ends in .csv"), ("no/x.csv", "no folder"), ("f.csv", "folder")]
)
def test_places_where_no_table_can_be_are_refused(found, tmp_path, name, message):
    (tmp_path / "f.csv").mkdir()
    with pytest.raises(fj.InputError, match=message):
        write_table(found, tmp_path / name)


def test_what_fails_leaves_the_old_file_and_no_other(found, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("old")

    def fail(samples):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_table(found, path, fail)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["x.csv"]


# Plots --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_plots_are_written(found, tmp_path, suffix, start):
    plot_motors(found, tmp_path / f"x.{suffix}")
    assert (tmp_path / f"x.{suffix}").read_bytes().startswith(start)


def test_a_plot_shows_torque_deflection_and_difference(found):
    shown = {panel.title: panel for panel in panels(found)}
    assert list(shown) == ["motor torque", "deflection θ − q", "torque, elastic − rigid"]
    _, deflection, tau, rigid = closed_form(found.t)
    assert relative_error(shown["deflection θ − q"].values[:, 0], np.rad2deg(deflection)) < 1e-13
    assert relative_error(shown["torque, elastic − rigid"].values[:, 0], tau - rigid) < 1e-11
    assert shown["motor torque"].heading == "motor torque, Nm"


def test_rounding_is_not_drawn():
    """A rigid joint asks for the same torque in both, but for the last bits."""
    robot = fj.random_robot(4, seed=3, prismatic=0.5, elastic=0.5)
    found = motor_table(robot, fj.RestToRest([0.0] * 4, [0.5] * 4, 2.0), 0.01, rigid=True)
    shown = panels(found)[2].values
    assert np.any(found.tau != found.tau_rigid, axis=0).all(), "or there is nothing to leave out"
    assert np.any(shown, axis=0).tolist() == list(robot.compliant)


def test_no_text_of_a_plot_overlaps_another():
    """Names, units and numbers of a robot with both kinds of joints."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    from flexjoint.plots.figures import joint_figure

    robot = fj.random_robot(4, seed=3, prismatic=0.5, elastic=0.5)
    assert {joint.kind for joint in robot.joints} == {"revolute", "prismatic"}
    found = motor_table(robot, fj.RestToRest([0.0] * 4, [0.5] * 4, 2.0), 0.01, rigid=True)
    figure = joint_figure(found, "title")
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    texts = [
        text
        for axis in figure.axes
        for text in (axis.title, *axis.texts, axis.yaxis.label, axis.xaxis.label, axis.yaxis.get_offset_text())
        if text.get_visible() and text.get_text()
    ]
    assert len([text for text in texts if text.get_text() in ("Nm", "N", "°", "mm")]) == 12
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
    boxes += [(f"axis {i}", axis.get_window_extent()) for i, axis in enumerate(figure.axes)]
    assert [(a, b) for a, one in boxes for b, other in boxes if a < b and one.overlaps(other)] == []
