"""Figures of motor torques: their curves, units, texts and files."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from matplotlib.figure import Figure

import flexjoint as fj
from flexjoint.analysis.torque_table import motor_table
from flexjoint.analysis.variable_stiffness_table import stiffness_table
from flexjoint.plots import panels, plot_motors
from support.errors import relative_error
from support.pendulum import ELASTIC, MOTION, closed_form
from support.runs import PULLED
from support.warned import with_limits


@pytest.fixture(scope="module")
def found():
    return motor_table(ELASTIC, MOTION, 0.01, rigid=True)


def test_units_follow_the_joints():
    robot = fj.random_robot(3, seed=2, prismatic=1.0, elastic=1.0)
    found = motor_table(robot, fj.trajectory.RestToRest([0.0] * 3, [0.1] * 3, 1.0), 0.1)
    assert {column.unit for column in found.columns()} == {"s", "m", "N"}
    assert [panel.units[0] for panel in panels(found)] == ["N", "mm"]
    assert np.array_equal(panels(found)[1].values, found.deflection * 1000)


@pytest.mark.parametrize(("suffix", "start"), [("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")])
def test_plots_are_written(found, tmp_path, suffix, start):
    figure = plot_motors(found, tmp_path / f"x.{suffix}")
    assert isinstance(figure, Figure) and len(figure.axes) == 3
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
    found = motor_table(robot, fj.trajectory.RestToRest([0.0] * 4, [0.5] * 4, 2.0), 0.01, rigid=True)
    shown = panels(found)[2].values
    assert np.any(found.tau != found.tau_rigid, axis=0).all(), "or there is nothing to leave out"
    assert np.any(shown, axis=0).tolist() == list(robot.compliant)


def test_no_text_of_a_plot_overlaps_another():
    """Names, units and numbers of a robot with both kinds of joints."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    robot = fj.random_robot(4, seed=3, prismatic=0.5, elastic=0.5)
    assert {joint.kind.name for joint in robot.joints} == {"revolute", "prismatic"}
    found = motor_table(robot, fj.trajectory.RestToRest([0.0] * 4, [0.5] * 4, 2.0), 0.01, rigid=True)
    figure = plot_motors(found)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    texts = [
        text
        for axis in figure.axes
        for text in (axis.title, *axis.texts, axis.yaxis.label, axis.xaxis.label, axis.yaxis.get_offset_text())
        if text.get_visible() and text.get_text()
    ]
    assert len([text for text in texts if text.get_text() in ("Nm", "N", "°", "mm")]) == 4 + 2 * sum(robot.compliant)
    boxes = [(text.get_text(), text.get_window_extent()) for text in texts]
    boxes += [(f"axis {i}", axis.get_window_extent()) for i, axis in enumerate(figure.axes)]
    assert [(a, b) for a, one in boxes for b, other in boxes if a < b and one.overlaps(other)] == []


def test_a_pivot_has_no_curve_beside_the_other_motors():
    goal, sigma = (
        fj.trajectory.RestToRest([0.0, 0.0], [0.2, 0.1], 1.0),
        fj.trajectory.RestToRest([950.0] * 2, [1000.0] * 2, 1.0),
    )
    table = stiffness_table(PULLED, goal, sigma, 0.1, uncertain={"*.mass": "5%"})
    torques, deflections, *_ = panels(table)
    for panel, second in ((torques, table.tau_2), (deflections, np.rad2deg(table.phi_2))):
        assert np.all(np.isnan(panel.others[0].values[:, 0]))
        assert np.array_equal(panel.others[0].values[:, 1], second[:, 1])


def test_a_figure_needs_no_file(found, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert [axis.get_title() for axis in plot_motors(found).axes] == [
        "motor torque, Nm",
        "deflection θ − q, °",
        "torque, elastic − rigid, Nm",
    ]
    assert not list(tmp_path.iterdir())
    with pytest.raises(fj.InputError, match=r"a plot is written to a file that ends in \.png, \.pdf, \.svg"):
        plot_motors(found, "x.jpg")


def test_limits_are_drawn_where_a_curve_comes_near(found):
    torque, deflection = float(np.abs(found.tau).max()), float(np.abs(found.deflection).max())
    limits = fj.drives.SpringLimits(deflection=100 * deflection)
    drive = dataclasses.replace(ELASTIC.joints[0].drive, spring_limits=limits)
    robot = with_limits(ELASTIC.with_drives([drive]), effort=0.9 * torque)
    axes = plot_motors(dataclasses.replace(found, robot=robot)).axes
    dashed = [[line.get_ydata()[0] for line in axis.lines if line.is_dashed()] for axis in axes]
    sign = 1 if found.tau.max() == torque else -1
    assert np.isclose(sign * 0.9 * torque, dashed[0]).any()
    assert dashed[1] == []  # the deflection is far from its limit
