"""Filtered steps: the filter's differential equation, high precision, the paper's motion."""

from __future__ import annotations

from math import comb

import mpmath
import numpy as np
import pytest

import flexjoint as fj
from support.errors import relative_error

START, GOAL = np.array([0.0, 1.0]), np.array([2.0, -0.5])


@pytest.mark.parametrize("order", [1, 2, 5, 16, 40])
def test_satisfies_the_differential_equation_of_the_filter(order):
    """(T d/dt + 1)ⁿ q = goal for t > 0; the terms cancel where the filter is fast, so t stays within its delay."""
    T = 0.13
    t = T * np.linspace(0.0, min(order, 12), 25)
    stack = fj.trajectory.FilteredStep(START, GOAL, T, order)(t, order=order)
    terms = np.array([comb(order, k) * T**k * stack[k] for k in range(order + 1)])
    assert np.max(np.abs(terms.sum(axis=0) - GOAL)) <= 1e-14 * np.max(np.abs(terms).sum(axis=0))


@pytest.mark.parametrize("order", [1, 3, 16])
def test_agrees_with_high_precision(order):
    """Numerical differentiation of the incomplete gamma function in 80 digits, beyond the filter's order too."""
    trajectory = fj.trajectory.FilteredStep(START, GOAL, 0.05, order)
    times = 0.05 * order * np.array([0.01, 0.9, 1.4])
    stack = trajectory(times, order=order + 2)
    with mpmath.workdps(60):
        T = mpmath.mpf(0.05)
        taylor = [
            mpmath.taylor(lambda x: mpmath.gammainc(order, 0, x / T, regularized=True), mpmath.mpf(t), order + 2)
            for t in times
        ]
        for k in range(order + 3):
            rise = np.array([float(c[k] * mpmath.factorial(k)) for c in taylor])
            wanted = np.multiply.outer(rise, GOAL - START) + (START if k == 0 else 0.0)
            assert relative_error(stack[k], wanted) <= 1e-13


def test_small_beginnings_keep_their_digits():
    """At t = T/100 the response of order 16 is 5e-46 of the step, and still right to 13 digits."""
    q = fj.trajectory.FilteredStep([0.0], [1.0], 1.0)(0.01, order=0)[0, 0]
    assert q == pytest.approx(float(mpmath.gammainc(16, 0, mpmath.mpf(0.01), regularized=True)), rel=1e-13)
    assert 0 < q < 1e-45


def test_the_motion_of_the_paper():
    """2 rad in 2.5 s through order 16 = 2(N + 1): the derivatives that seven elastic joints with rotors can need."""
    trajectory = fj.trajectory.FilteredStep.settled(np.zeros(7), np.full(7, 2.0), 2.5)
    assert trajectory.order == 16
    assert trajectory.smoothness == 15
    assert trajectory.duration == 2.5
    assert np.allclose(trajectory(2.5, order=0)[0], 2.0 - 2e-6, rtol=0, atol=1e-12)
    t = np.linspace(0.0, 2.5, 501)
    assert np.all(np.diff(trajectory(t, order=0)[0], axis=0) >= 0)  # no overshoot
    assert not np.any(trajectory(-0.1, order=20)[1:])
    assert not np.any(trajectory(0.0, order=15))
    assert np.allclose(trajectory(0.0, order=16)[16], 2.0 / trajectory.time_constant**16, rtol=1e-13)
    assert np.allclose(trajectory(1e9)[0], 2.0, rtol=1e-15)
    assert not np.any(trajectory(1e9)[1:])


def test_cutoff_is_where_the_gain_is_root_half():
    trajectory = fj.trajectory.FilteredStep([0.0], [1.0], 0.2, order=7)
    gain = abs(1 / (1 + 2j * np.pi * trajectory.cutoff * 0.2) ** 7)
    assert gain == pytest.approx(np.sqrt(0.5), rel=1e-14)


def test_the_highest_order_is_finite():
    stack = fj.trajectory.FilteredStep([0.0], [1.0], 1.0, order=100)(np.array([0.0, 1.0, 100.0, 1e3, 1e6]), order=100)
    assert np.all(np.isfinite(stack))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fj.trajectory.FilteredStep([0.0], [1.0], 0.0), "time_constant is 0.0"),
        (lambda: fj.trajectory.FilteredStep([0.0], [1.0], 1.0, 0), "order is 0; it must be 1, 2, 3"),
        (lambda: fj.trajectory.FilteredStep([0.0], [1.0], 1.0, 101), "the largest is 100"),
        (lambda: fj.trajectory.FilteredStep([0.0], [1.0, 2.0], 1.0), "start has 1 joints and goal 2"),
        (lambda: fj.trajectory.FilteredStep([np.nan], [1.0], 1.0), "start is .*nan"),
        (lambda: fj.trajectory.FilteredStep([0.0], [1.0], 1.0, 4, -1.0), "duration is -1.0"),
        (lambda: fj.trajectory.FilteredStep.settled([0.0], [1.0], 1.0, remainder=1.5), "remainder is 1.5"),
        (lambda: fj.trajectory.FilteredStep.settled([0.0], [1.0], -1.0), "duration is -1.0"),
    ],
)
def test_bad_input_is_refused(make, message):
    with pytest.raises(fj.InputError, match=message):
        make()
