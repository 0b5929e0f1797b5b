"""Figures of simulations: curves of one run, bands of a batch, second motors."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

import flexjoint as fj
from flexjoint.plots import simulation_panels
from support.runs import pulled_run, simulated, two_motors_run


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


def test_two_motors_at_a_joint(two_motors):
    position, torque, deflection, stiffness = simulation_panels(two_motors)  # a torque is no reference
    assert np.isnan(stiffness.values[:, 0]).all() and np.isclose(stiffness.values[0, 1], 900.0, rtol=1e-9)
    second = position.others[1].values
    assert np.all(np.isnan(second[:, 0])) and np.allclose(second[:, 1], np.rad2deg(two_motors.theta[:, 2]))
    assert np.allclose(torque.others[0].values[:, 1], -5.0)
    assert np.allclose(deflection.others[0].values[:, 1], np.rad2deg(two_motors.theta[:, 2] - two_motors.q[:, 1]))


def test_a_pivot_is_not_drawn_as_a_motor_beside_the_link(pulled):
    position, torque, deflection, stiffness = simulation_panels(pulled)
    assert np.allclose(stiffness.values[0], 1000.0, rtol=1e-9)
    assert [curve.label for curve in position.others] == ["motor θ", "second motor"]
    for curve in (position.others[1], torque.others[0], deflection.others[0]):
        assert np.all(np.isnan(curve.values[:, 0])) and np.all(np.isfinite(curve.values[:, 1]))
    assert np.allclose(deflection.others[0].values[:, 1], np.rad2deg(pulled.theta[:, 3] - pulled.q[:, 1]))


def test_plots_are_written(single, batch, two_motors, tmp_path):
    for name, run, panels in (("single", single, 4), ("batch", batch, 4), ("two", two_motors, 4)):
        figure = fj.plots.plot_simulation(run, tmp_path / f"{name}.png")
        assert isinstance(figure, Figure) and len(figure.axes) == 2 * panels
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")


def test_a_figure_needs_no_file(single):
    titles = [axis.get_title() for axis in fj.plots.plot_simulation(single).axes[:4]]
    assert titles == ["position, °", "error q_d − q, °", "motor torque, Nm", "deflection θ − q, °"]
