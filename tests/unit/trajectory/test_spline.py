"""Splines through waypoints: against SciPy's cubic splines and known polynomials, at the points and at the ends."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import flexjoint as fj

RNG = np.random.default_rng(11)
POINTS = RNG.normal(size=(7, 3))
TIMES = np.array([0.0, 0.5, 0.9, 1.7, 2.0, 2.6, 3.3])


@pytest.mark.parametrize(
    ("smoothness", "degree"),
    [(0, 1), (1, 2), (1, 3), (2, 3), (3, 4), (3, 5), (3, 7), (4, 6), (6, 7), (9, 11), (15, 17)],
)
@pytest.mark.parametrize("count", [2, 3, 4, 7])
def test_points_are_met_and_ends_are_at_rest(smoothness, degree, count):
    spline = fj.trajectory.Spline(POINTS[:count], TIMES[:count], smoothness, degree=degree)
    assert np.allclose(spline(TIMES[:count], order=0)[0], POINTS[:count], rtol=0, atol=1e-9)
    for t, q in ((0.0, POINTS[0]), (spline.duration, POINTS[count - 1])):
        stack = spline(t, order=smoothness)
        assert np.array_equal(stack[0], q)
        assert not np.any(stack[1:])
    for t, q in ((-1.0, POINTS[0]), (spline.duration + 1.0, POINTS[count - 1])):
        stack = spline(t, order=degree + 2)
        assert np.array_equal(stack[0], q)
        assert not np.any(stack[1:])


def test_the_cubic_one_is_the_clamped_cubic_spline():
    ours, scipy = fj.trajectory.Spline(POINTS, TIMES, smoothness=1), CubicSpline(TIMES, POINTS, bc_type="clamped")
    assert ours.degree == 3
    t = np.linspace(0.01, 3.29, 50)
    for k in range(4):
        assert np.allclose(ours(t, order=k)[k], scipy(t, k), rtol=0, atol=1e-12 * 10**k)


def test_the_periodic_cubic_one_is_the_periodic_cubic_spline():
    loop = np.vstack([POINTS[:-1], POINTS[:1]])
    ours, scipy = fj.trajectory.Spline(loop, TIMES, 2, "periodic"), CubicSpline(TIMES, loop, bc_type="periodic")
    assert ours.degree == 3
    t = np.linspace(-5.0, 9.0, 90)
    for k in range(4):
        assert np.allclose(ours(t, order=k)[k], scipy(np.mod(t, 3.3), k), rtol=0, atol=1e-12 * 10**k)


@pytest.mark.parametrize("smoothness", range(6))
def test_two_points_and_the_highest_degree_give_the_polynomial(smoothness):
    spline = fj.trajectory.Spline(POINTS[:2], 1.7, smoothness, degree=2 * smoothness + 1)
    polynomial = fj.trajectory.RestToRest(POINTS[0], POINTS[1], 1.7, smoothness)
    t = np.linspace(0.0, 1.7, 33)
    for x, wanted in zip(spline(t), polynomial(t)):
        assert np.max(np.abs(x - wanted)) <= 1e-13 * np.max(np.abs(wanted))


def test_the_highest_degree_moves_with_the_least_snap():
    """Among all motions through the points at rest, degree 2s + 1 minimizes ∫ (q⁽ˢ⁺¹⁾)² dt."""
    t = (np.arange(20000) + 0.5) * 3.3 / 20000
    least = fj.trajectory.Spline(POINTS, TIMES, 3, degree=7)(t)[4]
    other = fj.trajectory.Spline(POINTS, TIMES, 3, degree=5)(t)[4]
    assert np.all(np.mean(least**2, axis=0) < np.mean(other**2, axis=0))
    assert np.allclose(np.mean(least * (other - least), axis=0), 0.0, atol=1e-5 * np.mean(other**2))  # orthogonality


@pytest.mark.parametrize("smoothness", [3, 5])
def test_seam_of_periodic_motions(smoothness):
    loop = np.vstack([POINTS[:-1], POINTS[:1]])
    spline = fj.trajectory.Spline(loop, TIMES, smoothness, "periodic")
    assert spline.smoothness == spline.degree - 1 >= smoothness
    before, after = spline(3.3 * (1 - 1e-15), order=smoothness), spline(3.3, order=smoothness)
    assert np.allclose(before, after, rtol=1e-8, atol=1e-8)
    assert np.allclose(spline(TIMES, order=0)[0], loop, atol=1e-13)


def test_chord_length():
    points = np.array([[0.0, 0.0], [3.0, 4.0], [3.0, 5.0], [9.0, 13.0]])
    assert np.allclose(fj.trajectory.Spline(points, 8.0).times, [0.0, 2.5, 3.0, 8.0], rtol=1e-15)


def test_units_of_time_do_not_matter():
    slow, fast = fj.trajectory.Spline(POINTS, TIMES), fj.trajectory.Spline(POINTS, 1e-6 * TIMES)
    t = np.linspace(0.0, 3.3, 20)
    for k in range(5):
        assert np.allclose(slow(t)[k], fast(1e-6 * t)[k] * 1e-6**k, rtol=1e-9, atol=1e-9)


def test_is_its_own_copy():
    points = POINTS.copy()
    spline = fj.trajectory.Spline(points, TIMES)
    points[:] = 0.0
    assert np.array_equal(spline.points, POINTS)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"times": TIMES[:-1]}, r"times has shape \(6,\); it must be \(7,\)"),
        ({"times": TIMES[::-1]}, r"times\[1\] = 2.6 does not come after times\[0\] = 3.3"),
        ({"times": TIMES + 1.0}, "times start at 1.0"),
        ({"times": np.where(TIMES == 2.0, np.nan, TIMES)}, "times is .*nan"),
        ({"times": -1.0}, "times is -1.0; it must be a positive number"),
        ({"points": POINTS[:1], "times": 1.0}, "points has 1 rows; 2 are the least"),
        ({"points": POINTS[0], "times": 1.0}, r"points has shape \(3,\)"),
        ({"points": np.full((7, 3), np.inf)}, "points.* is inf"),
        ({"points": POINTS[[0, 1, 1, 2]], "times": 1.0}, "points 1 and 2 are equal"),
        ({"ends": "free"}, "ends is 'free'"),
        ({"ends": "periodic"}, "a periodic motion ends where it starts"),
        ({"smoothness": -1}, "smoothness is -1"),
        ({"smoothness": 16}, "the largest is 15"),
        ({"degree": 3}, "degree is 3; with 3 continuous derivatives and ends='rest' it must be from 4 to 7"),
        ({"degree": 8}, "degree is 8"),
        ({"degree": 4.5}, "degree is 4.5"),
    ],
)
def test_bad_input_is_refused(keywords, message):
    with pytest.raises(fj.InputError, match=message):
        fj.trajectory.Spline(**({"points": POINTS, "times": TIMES} | keywords))
