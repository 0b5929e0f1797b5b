"""Times and positions near the ends of the doubles: errors of ours that name them, no warning and no raw exception."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import flexjoint as fj

STEPS = np.arange(50.0)
MAKERS = {
    "RestToRest": lambda x: fj.trajectory.RestToRest([0.0], [1.0], x),
    "FilteredStep": lambda x: fj.trajectory.FilteredStep([0.0], [1.0], x),
    "settled": lambda x: fj.trajectory.FilteredStep.settled([0.0], [1.0], x),
    "Sinusoid": lambda x: fj.trajectory.Sinusoid([1.0], [1.0], duration=x),
    "Spline": lambda x: fj.trajectory.Spline([[0.0], [1.0], [3.0], [2.0]], x),
    "Spline times": lambda x: fj.trajectory.Spline([[0.0], [1.0], [3.0], [2.0]], [0.0, *(x * k for k in (1, 2, 3))]),
    "Samples": lambda x: fj.trajectory.Samples([x * k for k in range(50)], np.sin(STEPS)[:, None]),
    "Scaled": lambda x: fj.trajectory.RestToRest([0.0], [1.0], 1.0).scaled(x),
}


@pytest.mark.parametrize("value", [5e-324, 1e-320, 1e-200, 1e200, 1e306, pytest.param(10**400, id="10**400")])
@pytest.mark.parametrize("kind", MAKERS)
def test_times_beyond_all_measure(kind, value):
    with warnings.catch_warnings(), pytest.raises((fj.InputError, fj.NonFiniteError)):
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", fj.FlexjointWarning)  # derivative 100 is asked for on purpose
        made = MAKERS[kind](value)
        made(0.5 * made.duration, 4)
        made(0.5 * made.duration, 100)


@pytest.mark.parametrize("value", [1e-12, 1e12])
@pytest.mark.parametrize("kind", ["RestToRest", "Sinusoid", "Spline", "Samples"])
def test_the_shortest_and_longest_times(kind, value):
    made = MAKERS[kind](value / 49 * (1 + 1e-9 if value < 1 else 1) if kind == "Samples" else value)
    assert np.isfinite(made(0.5 * made.duration, 4)).all()


def test_messages_name_value_and_range():
    with pytest.raises(fj.InputError, match=r"duration is 1e\+200 s; it must lie between 1e-12 and 1e\+12 s"):
        fj.trajectory.RestToRest([0.0], [1.0], 1e200)
    with pytest.raises(fj.InputError, match=r"start must be real numbers, not .an integer of about 400 digits"):
        fj.trajectory.RestToRest([10**400], [1.0], 1.0)


def test_times_too_close():
    for times in ([0.0, 5e-324, 2.0, 3.0], [0.0, 1e-320, 2.0, 3.0]):
        with pytest.raises(fj.InputError, match=r"from point 1 to point 2 is .*e-32\d of the mean one"):
            fj.trajectory.Spline([[0.0], [1.0], [3.0], [2.0]], times)


def test_positions_beyond_the_doubles():
    huge = 1.7e308 * np.where(STEPS % 2, 1.0, -1.0)[:, None]
    with warnings.catch_warnings(), pytest.raises((fj.InputError, fj.NonFiniteError)):
        warnings.simplefilter("error")
        fj.trajectory.Samples(STEPS, huge)(STEPS, 4)
    with pytest.raises(fj.InputError, match="distances between the points"):
        fj.trajectory.Spline(huge[:4], 1.0)
