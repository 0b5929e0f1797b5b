"""Resonances from motor positions and torques alone."""

import numpy as np
import pytest

import flexjoint as fj
from support.identification import bench, multisine, resonances_of_bench, shaking, simulated

LAW = fj.drives.Friction(viscous=0.8, coulomb=0.3, velocity=0.05)


@pytest.fixture(scope="module")
def prior():
    return bench(400.0, 0.0, 0.2, fj.drives.Friction(viscous=0.5, coulomb=0.1, velocity=0.02))


def motor_only(log):
    return fj.logs.Log(log.robot, log.t, theta=log.theta, tau=log.tau)


def test_stiffness_and_resonances_from_the_motor_alone(prior, tmp_path):
    """Within two deviations of the closed form of the two-mass oscillator; tests/identification.py takes 100 logs."""
    _, logs = simulated(bench(law=LAW), shaking(), 3, rows=3)
    for log in logs:
        found = fj.identification.find_resonances(prior, motor_only(log))[0]
        assert found.seen
        low, high = resonances_of_bench()
        assert abs(found.antiresonance - low) < 2 * found.antiresonance_deviation < 0.005 * low
        assert abs(found.resonance - high) < 2 * found.resonance_deviation < 0.005 * high
        assert abs(found.stiffness - 300) < 2 * found.stiffness_deviation < 0.01 * 300
    figure = fj.plots.plot_resonances(prior, [found], tmp_path / "resonances.png")
    assert (tmp_path / "resonances.png").stat().st_size > 5000
    lines = {line.get_label(): line.get_ydata() for line in figure.axes[0].lines}
    near = (found.frequencies > 2) & (found.frequencies < 15)
    assert np.median(np.abs(np.log(lines["measured"] / lines["fitted"]))[near]) < 0.05
    with pytest.raises(fj.InputError, match="not empty"):
        fj.plots.plot_resonances(prior, [])


def test_slow_motion_shows_no_resonance(prior):
    _, log = simulated(bench(law=LAW), multisine(0.3, 0, 10.0, count=10), 3)
    found = fj.identification.find_resonances(prior, motor_only(log))[0]
    assert not found.seen
    assert "chirp of 'hinge' alone" in found.reason


def test_missing_columns_are_named(prior):
    t = np.arange(5000) * 1e-3
    with pytest.raises(fj.InputError, match="no tau"):
        fj.identification.find_resonances(prior, fj.logs.Log(prior, t, theta=np.sin(t)[:, None]))
