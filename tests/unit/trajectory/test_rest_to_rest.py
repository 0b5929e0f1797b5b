"""Rest-to-rest polynomials: end conditions, derivatives, symmetry, shapes and what bad input gets."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from flexjoint import InputError
from flexjoint.trajectory import RestToRest
from flexjoint.trajectory.rest_to_rest import MAX_SMOOTHNESS

START = np.array([0.3, -1.0, 2.0])
GOAL = np.array([-0.7, 1.5, 2.0])


def exact_profile(smoothness: int, derivative: int = 0) -> list[Fraction]:
    """Coefficients of s⁽ᵏ⁾, where s' is proportional to xᵐ(1 − x)ᵐ, s(0) = 0 and s(1) = 1, by integration."""
    m = smoothness
    rate = [Fraction(0)] * m + [Fraction((-1) ** j * math.comb(m, j)) for j in range(m + 1)]
    s = [Fraction(0)] + [c / (i + 1) for i, c in enumerate(rate)]
    s = [c / sum(s) for c in s]
    return [c * math.perm(i, derivative) for i, c in enumerate(s)][derivative:]


def value(polynomial: list[Fraction], x: Fraction) -> Fraction:
    return sum((c * x**i for i, c in enumerate(polynomial)), Fraction(0))


def test_degree_7_is_the_known_polynomial():
    assert exact_profile(3) == [0, 0, 0, 0, 35, -84, 70, -20]


@pytest.mark.parametrize("smoothness", [0, 1, 2, 3, 5, 10, 20])
def test_agrees_with_rational_arithmetic(smoothness):
    duration = 2.5
    t = np.random.default_rng(1).uniform(0.0, duration, 100)
    stack = RestToRest(START, GOAL, duration, smoothness)(t, order=5)
    step = [Fraction(b) - Fraction(a) for a, b in zip(START, GOAL)]
    for k in range(6):
        s = exact_profile(smoothness, k)
        rates = [value(s, Fraction(x) / Fraction(duration)) / Fraction(duration) ** k for x in t]
        origin = START if k == 0 else np.zeros(3)
        wanted = np.array([[float(Fraction(o) + d * r) for o, d in zip(origin, step)] for r in rates])
        assert np.max(np.abs(stack[k] - wanted)) <= 1e-13 * np.max(np.abs(wanted))


@pytest.mark.parametrize("smoothness", range(5))
def test_is_flat_at_both_ends(smoothness):
    motion = RestToRest(START, GOAL, 0.7, smoothness)
    for end in motion([0.0, 0.7], order=smoothness + 1).swapaxes(0, 1):
        assert not np.any(end[1:-1])
        assert np.all(end[-1, :2])  # the next derivative jumps


def test_ends_are_met_exactly_and_held():
    motion = RestToRest(START, GOAL, 4.0)
    for t, q in ((-1.0, START), (0.0, START), (4.0, GOAL), (9.0, GOAL)):
        stack = motion(t)
        assert np.array_equal(stack[0], q)
        assert not np.any(stack[1:4])
    assert not np.any(motion(-1.0, order=6)[1:])
    assert not np.any(motion(4.5, order=6)[1:])


def test_each_row_is_the_derivative_of_the_row_before():
    motion = RestToRest(START, GOAL, 2.5)
    t, h = np.linspace(0.2, 2.3, 9), 1e-5
    slope = (motion(t + h, order=6) - motion(t - h, order=6)) / (2 * h)
    stack = motion(t, order=7)
    for k in range(7):
        assert np.allclose(slope[k], stack[k + 1], rtol=1e-7, atol=1e-7 * np.max(np.abs(stack[k + 1])))


def test_peak_velocity_is_reached_at_half_time():
    motion = RestToRest(START, GOAL, 4.0)
    velocity = np.abs(motion(np.linspace(0.0, 4.0, 401), order=1)[1])
    assert np.allclose(velocity.max(axis=0), motion.peak_velocity, rtol=1e-14)
    assert np.allclose(motion.peak_velocity, 35 / 16 * np.abs(GOAL - START) / 4.0, rtol=1e-15)


def test_dimensions_of_t_become_batch_dimensions():
    motion = RestToRest(START, GOAL, 4.0)
    assert motion(1.0).shape == (5, 3)
    assert motion(np.linspace(0, 4, 6), order=2).shape == (3, 6, 3)
    grid = np.linspace(-1, 5, 12).reshape(3, 4)
    stack = motion(grid)
    assert stack.shape == (5, 3, 4, 3)
    assert np.array_equal(stack[:, 1, 2], motion(grid[1, 2]))
    assert motion(np.zeros(0)).shape == (5, 0, 3)


def test_orders_beyond_the_degree_are_zero():
    assert not np.any(RestToRest(START, GOAL, 4.0)(1.7, order=9)[8:])


def test_is_frozen_and_keeps_its_own_copy():
    start = START.copy()
    motion = RestToRest(start, GOAL, 4.0)
    start[0] = 99.0
    assert motion.start[0] == START[0]
    with pytest.raises(AttributeError):
        motion.duration = 1.0
    with pytest.raises(ValueError, match="read-only"):
        motion.start[0] = 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0, np.nan], [1.0, 1.0], 1.0), "start is .*nan.* finite"),
        (([0.0], [np.inf], 1.0), "goal is .*inf.* finite"),
        (([0.0], [1.0, 2.0], 1.0), "start has 1 joints and goal 2"),
        (([[0.0]], [[1.0]], 1.0), r"start has shape \(1, 1\)"),
        ((0.0, 1.0, 1.0), r"start has shape \(\)"),
        (("here", [1.0], 1.0), "real numbers"),
        (([0.0], [1.0], 0.0), "duration is 0.0"),
        (([0.0], [1.0], -2.0), "duration is -2.0"),
        (([0.0], [1.0], np.nan), "duration is nan"),
        (([0.0], [1.0], [1.0]), "duration is"),
        (([0.0], [1.0], 1.0, -1), "smoothness is -1"),
        (([0.0], [1.0], 1.0, 2.5), "smoothness is 2.5"),
        (([0.0], [1.0], 1.0, MAX_SMOOTHNESS + 1), "the largest is"),
    ],
)
def test_bad_input_is_refused_by_name(arguments, message):
    with pytest.raises(InputError, match=message):
        RestToRest(*arguments)


@pytest.mark.parametrize(
    ("t", "order", "message"), [(np.nan, 4, "t is nan"), (1.0, -1, "order is -1"), (1.0, 1.5, "order is 1.5")]
)
def test_bad_calls_are_refused_by_name(t, order, message):
    with pytest.raises(InputError, match=message):
        RestToRest(START, GOAL, 1.0)(t, order=order)
