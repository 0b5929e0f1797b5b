"""One bad time stamp costs a few samples, not the rest of a log."""

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.observers.stamps import RESTART, classify_stamps

H = 1e-3
T = 5.0 + H * np.arange(1000)
ARM = fj.random_robot(1, 3, prismatic=0.0)
RESIDUAL = fj.observers.MomentumResidual(ARM, 30.0)


def changed(places, values):
    t = T.copy()
    t[places] = values
    return t


def statuses(t):
    zero = np.zeros((t.size, 1))
    return RESIDUAL.run(t, fj.observers.Measurement(zero, zero, None, None, None), zero)["status"][:, 0]


@pytest.mark.parametrize("value", [1e9, -1e9, np.inf, -np.inf, np.nan, 1e300, 5.6, 5.2])
@pytest.mark.parametrize("place", [2, 400, 998])
def test_one_bad_stamp_is_dropped(value, place):
    t = changed(place, value)
    found = classify_stamps(t)
    assert np.flatnonzero(~found.kept).tolist() == [place] and not found.clock_set.any()
    blind = np.flatnonzero(statuses(t) > fj.observers.Status.SATURATED)
    assert set(blind) <= {0, place, place + 1, place + 2}


def test_a_bad_first_stamp():
    found = classify_stamps(changed(0, 1e9))
    assert not found.kept[0] and found.kept[1:].all()
    assert np.all(statuses(changed(0, 1e9))[3:] == fj.observers.Status.GOOD)


def test_several_bad_stamps_in_a_row():
    t = changed(slice(300, 305), [1e9, 2e9, 3e9, -5.0, 7e9])
    assert np.flatnonzero(~classify_stamps(t).kept).tolist() == [300, 301, 302, 303, 304]
    assert np.all(statuses(t)[307:] == fj.observers.Status.GOOD)


@pytest.mark.parametrize("back", [0.2, 3.0, 1e6])
def test_a_clock_that_is_set_back(back):
    t = changed(slice(500, None), T[500:] - back)
    found = classify_stamps(t)
    assert found.kept.all() and np.flatnonzero(found.clock_set).tolist() == [500]
    assert np.flatnonzero(statuses(t) > fj.observers.Status.SATURATED).tolist() == [0, 500, 501]


def test_a_clock_that_is_set_back_twice():
    t = changed(slice(300, None), T[300:] - 2.0)
    t[700:] -= 2.0
    found = classify_stamps(t)
    assert found.kept.all() and np.flatnonzero(found.clock_set).tolist() == [300, 700]


def test_gaps_are_kept():
    t = changed(slice(500, None), T[500:] + 3600.0)
    found = classify_stamps(t)
    assert found.kept.all() and not found.clock_set.any()
    assert np.flatnonzero(statuses(t) > fj.observers.Status.SATURATED).tolist() == [0, 500]


def test_late_and_repeated_samples_are_ignored():
    t = changed([400, 600], [T[395], T[599]])
    assert np.flatnonzero(~classify_stamps(t).kept).tolist() == [400, 600]
    found = statuses(t)
    assert np.flatnonzero(found == fj.observers.Status.STALE).tolist() == [400, 600]
    assert np.flatnonzero(found > fj.observers.Status.SATURATED).tolist() == [0, 400, 600]


def longest(t):
    """By comparing all pairs: samples kept, less what restarts cost."""
    best = []
    for k, now in enumerate(t):
        rising = [best[j] for j in range(k) if t[j] < now]
        best.append(1 + max([0, *rising, *(x - RESTART for x in best)]))
    return max(best)


@pytest.mark.parametrize("seed", range(8))
def test_nothing_is_dropped_that_could_be_kept(seed):
    rng = np.random.default_rng(seed)
    t = np.concatenate([x + np.arange(rng.integers(1, 90)) * 0.5 for x in rng.uniform(0, 60, 6)])
    t += rng.normal(scale=rng.choice([0.0, 0.3, 1.0]), size=t.size)
    found = classify_stamps(t)
    kept = t[found.kept]
    assert np.all((np.diff(kept) > 0) | found.clock_set[found.kept][1:]), "stamps rise wherever the clock was not set"
    assert found.kept.sum() - RESTART * found.clock_set.sum() == longest(t)


def test_many_samples_in_little_time():
    t = np.arange(300_000) // 2 * H  # every stamp twice
    assert classify_stamps(t).kept.sum() == 150_000
