"""Resonances from motor positions and torques alone."""

import numpy as np
import pytest

import flexjoint as fj
from support.identification import bench, multisine, simulated

LAW = fj.drives.Friction(viscous=0.8, coulomb=0.3, velocity=0.05)


@pytest.fixture(scope="module")
def prior():
    return bench(400.0, 0.0, 0.2, fj.drives.Friction(viscous=0.5, coulomb=0.1, velocity=0.02))


def motor_only(log):
    return fj.logs.Log(log.robot, log.t, theta=log.theta, tau=log.tau)


def test_stiffness_from_the_motor_alone(prior):
    f = 0.35 * np.arange(1, 61)[:, None]
    phase = np.random.default_rng(0).uniform(0, 2 * np.pi, f.shape)
    motion = fj.trajectory.Sinusoid(np.full(f.shape, 0.06 / np.sqrt(60)), f, phase, duration=20.0)
    _, log = simulated(bench(law=LAW), motion, 3)
    found = fj.identification.find_resonances(prior, motor_only(log))[0]
    J = 0.02 + 2 * (0.25**2 + 0.02**2)  # closed form of the two-mass oscillator
    assert found.antiresonance == pytest.approx(np.sqrt(300 / J) / (2 * np.pi), rel=0.01)
    assert found.resonance == pytest.approx(np.sqrt(300 / J + 300 / 0.12) / (2 * np.pi), rel=0.01)
    assert found.seen
    assert abs(found.stiffness - 300) < 4 * found.stiffness_deviation < 15


def test_slow_motion_shows_no_resonance(prior):
    _, log = simulated(bench(law=LAW), multisine(0.3, 0, 10.0, count=10), 3)
    found = fj.identification.find_resonances(prior, motor_only(log))[0]
    assert not found.seen
    assert "chirp of 'hinge' alone" in found.reason


def test_missing_columns_are_named(prior):
    t = np.arange(5000) * 1e-3
    with pytest.raises(fj.InputError, match="no tau"):
        fj.identification.find_resonances(prior, fj.logs.Log(prior, t, theta=np.sin(t)[:, None]))
