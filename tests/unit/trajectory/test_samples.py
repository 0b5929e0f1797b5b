"""Recorded motions: what is met, what is filtered, and what the fit error says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import make_smoothing_spline

import flexjoint as fj

RNG = np.random.default_rng(3)


def test_polynomials_come_back_whole():
    """A polynomial of the spline's degree is recovered with its derivatives, whatever the time stamps."""
    stamps = 100.0 + np.sort(RNG.uniform(0.0, 2.0, 30))
    polynomial = np.polynomial.Polynomial([0.3, -1.0, 2.0, 0.5, -0.7, 0.2])
    samples = fj.trajectory.Samples(stamps, polynomial(stamps - 100.0)[:, None])
    assert samples.first_time == stamps[0]
    t = np.linspace(0.0, samples.duration, 50)
    stack = samples(t, order=5)
    for k in range(6):
        wanted = polynomial.deriv(k)(t + stamps[0] - 100.0) if k else polynomial(t + stamps[0] - 100.0)
        assert np.allclose(stack[k, :, 0], wanted, rtol=0, atol=1e-10 * 30**k)
    assert not np.any(samples(t, order=7)[6:])


@pytest.mark.parametrize("order", [0, 1, 2, 3, 4, 8])
def test_samples_are_met(order):
    t = np.linspace(0.0, 3.0, 61)
    samples = fj.trajectory.Samples(t, RNG.normal(size=(61, 4)), order)
    assert samples.smoothness >= order - 1
    assert samples.max_error.shape == samples.rms_error.shape == (4,)
    assert np.all(samples.max_error < 1e-11)


@pytest.mark.parametrize("order", [2, 4, 10])
@pytest.mark.parametrize("ratio", [0.5, 1.0, 1.5])
def test_the_gain_is_that_of_the_filter(order, ratio):
    """A sine of `ratio` times the cutoff comes out with the gain 1/(1 + ratio²ᵈ), and no delay."""
    cutoff, d = 2.0, {2: 2, 4: 3, 10: 6}[order]
    t = np.arange(0.0, 10.0, 0.01)
    wave = np.sin(2 * np.pi * ratio * cutoff * t)
    samples = fj.trajectory.Samples(t, wave[:, None], order, cutoff)
    middle = slice(300, 700)
    assert np.allclose(samples(t[middle], order=0)[0, :, 0], wave[middle] / (1 + ratio ** (2 * d)), rtol=0, atol=1e-3)


def test_the_cubic_one_is_the_smoothing_spline():
    t = np.sort(RNG.uniform(0.0, 5.0, 400))
    t[0], t[-1] = 0.0, 5.0
    noisy = np.sin(2 * t) + 0.1 * RNG.normal(size=400)
    cutoff = 1.5
    ours = fj.trajectory.Samples(t, noisy[:, None], order=2, cutoff=cutoff)
    scipy = make_smoothing_spline(t, noisy, w=np.gradient(t), lam=(2 * np.pi * cutoff) ** -4)
    x = np.linspace(0.0, 5.0, 300)
    assert np.allclose(ours(x, order=0)[0, :, 0], scipy(x), rtol=0, atol=2e-3)
    error = noisy - ours(t, order=0)[0, :, 0]
    assert ours.max_error[0] == pytest.approx(np.abs(error).max())
    assert ours.rms_error[0] == pytest.approx(np.sqrt(np.mean(error**2)))
    assert 0.08 < ours.rms_error[0] < 0.12  # the noise


def test_smoothing_saves_the_derivatives():
    """Noise of 1e-4 rad at 1 kHz: without cutoff the fourth derivative is useless, with it within some per cent."""
    t = np.arange(0.0, 4.0, 1e-3)
    clean = 0.5 * np.sin(2 * t)
    noisy = (clean + 1e-4 * RNG.normal(size=t.size))[:, None]
    wanted = 16 * clean[1000:3000]
    error = [
        np.abs(fj.trajectory.Samples(t, noisy, cutoff=cutoff)(t[1000:3000])[4, :, 0] - wanted).max()
        for cutoff in (None, 2.0)
    ]
    assert error[0] > 1e6
    assert error[1] < 0.1 * 8


def test_there_is_no_motion_outside():
    samples = fj.trajectory.Samples(np.linspace(0.0, 1.0, 20), RNG.normal(size=(20, 2)))
    for t in (-0.01, 1.01, [0.5, 2.0]):
        with pytest.raises(fj.InputError, match=r"outside the samples, which last from 0 to 1.0 s"):
            samples(t)
    assert np.array_equal(samples(np.nextafter(1.0, 2.0)), samples(1.0))
    for factor in (0.1, 1 / 3, 7.7):
        scaled = samples.scaled(factor)
        assert np.array_equal(scaled(scaled.duration, order=0), samples(1.0, order=0))


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"times": np.zeros(20)}, r"times\[1\] = 0.0 does not come after"),
        ({"times": np.arange(19)}, r"times has shape \(19,\)"),
        ({"times": np.full(20, np.nan)}, r"times\[0\] is nan"),
        ({"positions": np.full((20, 2), np.nan)}, r"positions\[0, 0\] is nan"),
        ({"positions": np.zeros(20)}, r"positions has shape \(20,\)"),
        ({"positions": np.zeros((5, 2)), "times": np.arange(5)}, "positions has 5 rows; 6 are the least"),
        ({"order": -1}, "order is -1"),
        ({"order": 17}, "the largest is 16"),
        ({"cutoff": 0.0}, "cutoff is 0.0; it must be a positive number, in Hz"),
        ({"cutoff": 0.6}, "cutoff is 0.6 Hz; .* half the mean sampling rate"),
        ({"cutoff": 1e-3}, "cutoff is 0.001 Hz"),
    ],
)
def test_bad_input_is_refused(keywords, message):
    given = {"times": np.arange(20.0), "positions": np.zeros((20, 2))} | keywords
    with pytest.raises(fj.InputError, match=message):
        fj.trajectory.Samples(**given)
