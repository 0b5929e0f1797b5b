"""Figures of linear systems: curves, margins, limits of what is drawn."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import flexjoint as fj

ROBOT = fj.load("hua_3r")
Q = [0.2, 0.5, -0.4]
PD = fj.control.MotorPD(ROBOT, [500.0, 50.0])


@pytest.fixture(scope="module")
def alone():
    return fj.analysis.linearize(ROBOT, Q)


@pytest.fixture(scope="module")
def closed():
    return fj.analysis.linearize(ROBOT, Q, controller=PD)


@pytest.fixture(scope="module")
def loop():
    return fj.analysis.loop_gain(ROBOT, Q, PD, "joint3")


def test_bode_shows_the_response(alone, tmp_path):
    omega = np.geomspace(0.1, 1e3, 30)
    figure = fj.plots.plot_bode(alone, "tau.joint3", ["q.joint3", "theta.joint3"], omega, tmp_path / "bode.svg")
    magnitude, phase = figure.axes
    for line, output in zip(magnitude.lines, ("q.joint3", "theta.joint3")):
        wanted = alone.response(omega, "tau.joint3", output)[:, 0, 0]
        assert np.array_equal(line.get_ydata(), np.abs(wanted)) and line.get_label() == f"{output} / tau.joint3"
    turns = np.radians(phase.lines[0].get_ydata()) - np.angle(alone.response(omega, "tau.joint3", "q.joint3"))[:, 0, 0]
    assert np.allclose(turns / (2 * np.pi), np.round(turns / (2 * np.pi)))
    assert (tmp_path / "bode.svg").read_bytes().startswith(b"<?xml")


def test_bode_of_a_loop_marks_its_margins(loop):
    magnitude, phase = fj.plots.plot_bode(loop).axes
    margins = loop.margins()
    assert f"{np.degrees(margins.phase):.3g}°" in magnitude.get_title()
    marked = [line.get_xdata()[0] for line in phase.lines if line.get_linestyle() == "--"]
    assert np.allclose(marked, margins.gain_crossovers)
    with pytest.raises(fj.InputError, match="a loop gain has one input and one output"):
        fj.plots.plot_bode(loop, "tau.joint1")


def test_nyquist_keeps_its_distance(loop):
    (axis,) = fj.plots.plot_nyquist(loop).axes
    curve = axis.lines[0].get_xdata() + 1j * axis.lines[0].get_ydata()
    assert np.min(np.abs(curve + 1)) >= loop.margins().modulus - 1e-9
    with pytest.raises(fj.InputError, match="loop is 3"):
        fj.plots.plot_nyquist(3)


def test_step_shows_a_settled_response(closed):
    (axis,) = fj.plots.plot_step(closed, "reference.joint3", "q.joint3").axes
    line = axis.lines[0]
    final = closed.response(0.0, "reference.joint3", "q.joint3")[0, 0].real
    assert np.isclose(line.get_ydata()[-1], final, rtol=0.03) and line.get_ydata()[0] == 0


def test_axes_of_others_are_drawn_into(closed, loop):
    figure = Figure()
    left, right = figure.subplots(1, 2)
    assert fj.plots.plot_step(closed, ax=left) is figure and fj.plots.plot_nyquist(loop, ax=right) is figure
    assert left.lines and right.lines


def test_root_locus_passes_through_the_poles(closed):
    figure = fj.plots.plot_root_locus(ROBOT, Q, PD, "K_D", [0.5, 1.0, 2.0])
    points = figure.axes[0].collections[0].get_offsets()
    found = np.sort_complex(points[8:16, 0] + 1j * points[8:16, 1])
    assert np.allclose(found, np.sort_complex(closed.poles))
    with pytest.raises(fj.InputError, match="has no gain 'K_X'; it has K_P, K_D"):
        fj.plots.plot_root_locus(ROBOT, Q, PD, "K_X")


def test_eigenfrequencies_of_each_mode():
    figure = fj.plots.plot_eigenfrequencies(ROBOT, 1000.0)
    marked = figure.axes[0].lines[1].get_xdata()
    assert np.allclose(2 * np.pi * marked, fj.analysis.joint_eigenfrequencies(ROBOT, np.zeros(3)))
    with pytest.raises(fj.InputError, match="has a spring"):
        fj.plots.plot_eigenfrequencies(ROBOT.rigid())


def test_too_much_is_refused(alone):
    with pytest.raises(fj.InputError, match="at most 8 are drawn"):
        fj.plots.plot_bode(alone, "tau.*", "*")
    with pytest.raises(fj.InputError, match="ascending"):
        fj.plots.plot_bode(alone, omega=[2.0, 1.0])


def test_long_names_are_shortened():
    from flexjoint.plots.figures import LONGEST, shortened

    assert shortened("joint1") == "joint1"
    assert len(shortened("x" * 10**5)) == LONGEST
