"""Time laws whose inverse is a spline, and trajectories as files."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.interpolate import BSpline

import flexjoint as fj
from flexjoint.trajectory import RestToRest, Samples, Sinusoid, Spline, TimeLaw, load_trajectory, save_trajectory

BREAKS, SLOPES = np.array([0.0, 0.4, 1.0, 1.7]), np.array([1.0, 0.6, 2.0, 0.3, 1.2, 0.9, 0.8])
LAW = TimeLaw(BREAKS, SLOPES, degree=4)


def test_the_time_is_the_integral_of_the_slopes():
    slope = BSpline(np.concatenate([np.zeros(4), BREAKS, np.full(4, 1.7)]), SLOPES, 4)
    for s in (0.1, 0.4, 0.9, 1.7):
        t = sum(quad(slope, a, min(b, s), epsabs=1e-13)[0] for a, b in pairwise(BREAKS) if a < s)
        t = min(t, LAW.duration * (1 - 1e-15))  # the slope behind the end is 0
        assert LAW(t)[0, 0] == pytest.approx(s, rel=1e-11)
        assert LAW(t)[1, 0] == pytest.approx(1 / float(slope(s)), rel=1e-11)
    assert LAW(LAW.duration)[0, 0] == 1.7
    assert LAW(-1.0)[:, 0].tolist() == [0.0] * 5 and LAW(99.0)[:, 0].tolist() == [1.7, 0.0, 0.0, 0.0, 0.0]


def test_steep_and_flat_laws_are_inverted():
    law = TimeLaw([0.0, 1e-6, 1.0, 2.0], [1e-9, 1e6, 1e-9, 1e6, 1e-9, 1.0, 1e3], degree=4)
    t = np.linspace(0.0, law.duration, 2001)
    s = law(t, order=0)[0, :, 0]
    assert np.all(np.diff(s) >= 0)
    assert np.abs(law.inverse.derivatives(s, 0)[0, :, 0] - t).max() <= 1e-9 * law.duration


@pytest.mark.parametrize(
    ("breaks", "slopes", "degree", "message"),
    [
        ([0.0], [1.0], 1, "two or more"),
        ([0.5, 1.0], [1.0, 1.0], 1, "from 0 on"),
        ([0.0, 1.0], [1.0], 1, r"it must be \(2,\)"),
        ([0.0, 1.0], [1.0, 0.0], 1, "slopes must be positive"),
        ([0.0, 1.0], [1.0, np.nan], 1, "finite"),
        ([0.0, 0.0], [1.0, 1.0], 1, "breaks"),
        ([0.0, 1.0], [1.0, 1.0], 0, "degree is 0"),
    ],
)
def test_wrong_laws_are_refused(breaks, slopes, degree, message):
    with pytest.raises(fj.InputError, match=message):
        TimeLaw(breaks, slopes, degree)


MOTIONS = [
    RestToRest([0.1, 0.2, 0.3], [1.0, 0.0, -1.0], 1.3, 5),
    Spline(np.random.default_rng(0).normal(size=(5, 3)), 2.0, degree=6),
    Spline([[0.0] * 3, [1.0] * 3, [0.5] * 3, [0.0] * 3], 2.0, ends="periodic"),
    Sinusoid([0.1, 0.2, 0.3], [[0.5], [1.5]], 0.4, 0.2, 1.9),
    Sinusoid([0.1, 0.2, 0.3], 0.5, duration=1.7).retimed(LAW),
]


@pytest.mark.parametrize("motion", MOTIONS, ids=repr)
def test_a_file_gives_the_same_bits(motion, tmp_path):
    save_trajectory(motion, tmp_path / "m.toml")
    again = load_trajectory(tmp_path / "m.toml", fj.load("hua_3r"))
    t = np.linspace(0.0, motion.duration, 33)
    assert type(again) is type(motion) and again.duration == motion.duration
    assert np.array_equal(again(t), motion(t))


def test_what_cannot_be_written_is_refused(tmp_path):
    recorded = Samples(np.arange(9.0), np.zeros((9, 3)))
    for motion, path, message in (
        (recorded, tmp_path / "m.toml", "a Samples has no form in files; sample it first"),
        (MOTIONS[0], tmp_path / "m.csv", "written as a .toml file"),
        (MOTIONS[0], tmp_path / "none" / "m.toml", "the folder does not exist"),
    ):
        with pytest.raises(fj.InputError, match=message):
            save_trajectory(motion, path)
    assert not list(tmp_path.iterdir())
