"""Backlash and hysteresis are reported where a simulated gear has them, with their widths, and not elsewhere."""

import dataclasses

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.identification.gear_losses import deviations, gear_losses
from flexjoint.identification.recordings import recordings
from support.identification import bench, multisine, rough_bench, simulated, stiff_pd

K = 300.0
DAHL = fj.drives.Dahl(0.3, 300.0)


def log_of(seed=5, **losses):
    """A log of the bench with a worn gear; the controller does not know it."""
    robot = bench().with_drives([dataclasses.replace(bench().joints[0].drive, **losses)])
    law = stiff_pd(robot.without_gear_losses())
    return simulated(robot, multisine(0.8, 0, 12.0, count=30), seed, 0.05, controller=law)[1]


def reported(log, links="base"):
    """Widths by kind."""
    return {x.kind: x.width for x in gear_losses(rough_bench(), recordings(log, None), links, [log])}


@pytest.mark.parametrize("losses", [{}, {"stiffness": fj.springs.CubicSpring(250.0, 1.5e5)}])
def test_a_clean_gear_is_not_reported(losses):
    assert reported(log_of(**losses)) == {}


def test_the_width_of_a_gap_is_found():
    found = reported(log_of(backlash=3e-4))
    assert list(found) == ["backlash"]
    assert found["backlash"] == pytest.approx(3e-4, rel=0.03)


def test_gap_and_loop_are_told_apart():
    """A wide loop of Dahl's law is 2T high, and 2T/K wide."""
    log = log_of(backlash=1e-3, hysteresis=DAHL)
    sensed = K * (log.theta - log.q) - 0.5 * K * 1e-3 * np.sign(log.theta - log.q)  # a sensor that sees no loop
    for links in ("base", "known"):
        found = reported(log, links)
        assert found["backlash"] == pytest.approx(1e-3, rel=0.05)
        assert found["hysteresis"] == pytest.approx(2 * DAHL.torque / K, rel=0.05)
    found = reported(dataclasses.replace(log, tau_e=sensed))
    assert found["backlash"] == pytest.approx(1e-3, rel=0.1)
    assert "hysteresis" not in found


def test_identify_reports_it_and_takes_no_stiffening_spring_for_it():
    log = log_of(backlash=2e-3)
    one = fj.identification.identify(rough_bench(), log, delay=0.0)
    (loss,) = one.gear_losses
    assert (loss.kind, loss.name, loss.unit) == ("backlash", "hinge", "rad")
    assert any("hinge shows backlash: a gap of 0.002" in x for x in one.notes)
    assert "hinge.drive.stiffness" in one.values
    assert not one.passed
    assert np.isfinite(loss.deviation)


def test_deviations_weigh_products_by_their_lag():
    terms, lags = np.random.default_rng(1).normal(size=(50, 2)), 7
    direct = [
        sum(max(0.0, 1 - abs(j - k) / lags) * terms[j, c] * terms[k, c] for j in range(50) for k in range(50))
        for c in range(2)
    ]
    assert np.allclose(deviations(terms, lags), np.sqrt(direct), rtol=1e-12)
