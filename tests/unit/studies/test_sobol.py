"""Sobol indices of functions and of a robot whose indices are known in closed form."""

from __future__ import annotations

import signal

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.studies.sobol_estimators import PickFreeze, base_samples, estimate, mixed_rows
from support.hoist import GOAL, STIFFNESS, hoist, hoist_law, sag_indices, sag_of


def indices_of(function, dimensions, samples, seed=0, groups=None):
    groups = groups or [[k] for k in range(dimensions)]
    a, b = base_samples(dimensions, seed, 0, samples)
    mixed = np.stack([function(x) for x in np.moveaxis(mixed_rows(a, b, groups), 1, 0)], axis=1)
    return estimate(PickFreeze(function(a), function(b), mixed), 0.95, seed)


# Ishigami: sin x1 + 7 sin² x2 + 0.1 x3⁴ sin x1 with x uniform in (−π, π); its indices are in every textbook.
V1, V2, V13 = 0.5 * (1 + np.pi**4 / 50) ** 2, 49 / 8, 8 * np.pi**8 / 22_500
ISHIGAMI = np.array([V1, V2, 0.0]) / (V1 + V2 + V13), np.array([V1 + V13, V2, V13]) / (V1 + V2 + V13)


def ishigami(u):
    x = np.pi * (2 * u - 1)
    return np.sin(x[:, 0]) * (1 + 0.1 * x[:, 2] ** 4) + 7 * np.sin(x[:, 1]) ** 2


A = np.array([0.0, 1.0, 4.5, 9.0, 99.0])


def g_function(u):
    return np.prod((np.abs(4 * u - 2) + A) / (1 + A), axis=1)


def test_ishigami():
    found = indices_of(ishigami, 3, 4096)
    assert np.allclose(found.first, ISHIGAMI[0], atol=0.01) and np.allclose(found.total, ISHIGAMI[1], atol=0.01)
    assert found.mean == pytest.approx(3.5, abs=0.01) and found.variance == pytest.approx(V1 + V2 + V13, rel=0.01)


def test_g_function_and_its_groups():
    parts = 1 / (3 * (1 + A) ** 2)
    variance = np.prod(1 + parts) - 1
    found = indices_of(g_function, 5, 4096)
    assert np.allclose(found.first, parts / variance, atol=0.01)
    assert np.allclose(found.total, 1 - (np.prod(1 + parts) / (1 + parts) - 1) / variance, atol=0.01)
    grouped = indices_of(g_function, 5, 4096, groups=[[0, 1], [2, 3, 4]])
    closed = np.array([np.prod(1 + parts[:2]) - 1, np.prod(1 + parts[2:]) - 1]) / variance
    assert np.allclose(grouped.first, closed, atol=0.01) and np.allclose(grouped.total, 1 - closed[::-1], atol=0.01)


def test_intervals_cover_the_indices():
    """100 seeds: at least 95 % within their intervals, up to the scatter of 600 dependent trials."""
    inside = []
    for seed in range(100):
        found = indices_of(ishigami, 3, 256, seed)
        for ends, true in zip((found.first_interval, found.total_interval), ISHIGAMI):
            inside.append((ends[:, 0] <= true) & (true <= ends[:, 1]))
    assert np.mean(inside) > 0.93


def test_samples_are_an_even_sequence_that_the_seed_shifts():
    """One point in each of 64 equal parts of every axis; parts of the sequence are those of the whole."""
    a, b = base_samples(4, 3, 0, 64)
    for column in np.hstack([a, b]).T:
        assert np.array_equal(np.sort((64 * column).astype(int)), np.arange(64))
    later = base_samples(4, 3, 16, 64)
    assert np.array_equal(later[0], a[16:]) and np.array_equal(later[1], b[16:])
    assert not np.any(base_samples(4, 4, 0, 64)[0] == a)
    assert np.all((a > 0) & (a < 1))


ROBOT = hoist()
LAW = hoist_law(ROBOT)
VARY = {"load.mass": "1..3", "rope.drive.stiffness": "-30%..30%"}
OPTIONS = {"period": 2e-3, "of": sag_of, "vary": VARY, "threads": 1, "check": False}


def test_a_robot_whose_indices_are_known():
    """Mass times compliance: 71 %, 28 %, and the rest together."""
    found = fj.studies.sobol_indices(ROBOT, LAW, GOAL, 1.0, samples=256, seed=2, **OPTIONS)
    first, total = sag_indices((1.0, 3.0), (0.7 * STIFFNESS, 1.3 * STIFFNESS))
    assert found.names == ("load.mass", "rope.drive.stiffness") and found.runs == 1024 and found.complete
    assert np.allclose(found.first, first, atol=0.02) and np.allclose(found.total, total, atol=0.02)
    assert np.all(found.first_interval[:, 0] <= first) and np.all(first <= found.first_interval[:, 1])
    assert found.interactions == pytest.approx(1 - first.sum(), abs=0.02)


def test_blocks_threads_and_interruptions_keep_the_bits(monkeypatch):
    """After Ctrl-C the indices are those of fewer base samples."""

    def run(samples=32, **changes):
        return fj.studies.sobol_indices(ROBOT, LAW, GOAL, 0.1, samples=samples, **OPTIONS | changes)

    whole = run()
    assert np.array_equal(run(threads=2).total, whole.total)
    assert [column.name for column in whole.columns()][:3] == ["parameter", "first", "first_low"]

    def interrupt(runs):
        signal.raise_signal(signal.SIGINT) if done else done.append(runs)

    done = []
    with pytest.raises(fj.Interrupted) as error:
        run(64, progress=interrupt)
    part = error.value.partial
    assert part.samples == 16 and not part.complete and part.wanted == 64
    assert np.array_equal(part.first, run(16).first)


def test_noise_is_an_input_without_an_index():
    """The share that the parameters do not explain is the sensors'."""
    sensors = fj.simulation.Sensors(motor_noise=2e-3)
    found = fj.studies.sobol_indices(ROBOT, LAW, GOAL, 0.4, samples=128, sensors=sensors, **OPTIONS)
    quiet = fj.studies.sobol_indices(ROBOT, LAW, GOAL, 0.4, samples=128, **OPTIONS)
    assert found.variance > quiet.variance and found.first.sum() < quiet.first.sum() - 0.01


def test_failures_have_indices():
    options = OPTIONS | {"of": "failed", "limit": 0.004}
    found = fj.studies.sobol_indices(ROBOT, LAW, GOAL, 0.1, samples=64, grouped=True, **options)
    assert 0 < found.mean < 1 and found.variance == pytest.approx(found.mean * (1 - found.mean))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"samples": 100}, "samples is 100; give a power of two, such as 64 or 128"),
        ({"samples": 4}, "samples is 4"),
        ({"of": "largest.rop"}, "there is no joint 'rop'"),
        ({"of": "biggest"}, "give largest, rms, final, failed"),
        ({"of": lambda run: 0.0}, r"gave an array of shape \(\); it must be"),
        ({"of": lambda run: np.full(len(run.joint), np.nan)}, "is NaN for run 0"),
        ({"of": lambda run: np.ones(len(run.joint))}, "is 1 for all samples"),
        ({"vary": {"load.mass": "1..3", "*.mass": "1..2"}}, "'load.mass' is selected twice"),
        ({"gains": [1.0]}, "sobol_indices has no option gains"),
        ({"confidence": 2.0}, "confidence is 2.0"),
        ({"substeps": 1, "integrator": "euler", "period": 0.1}, "too long for joint 'rope'"),
    ],
)
def test_mistakes(changes, message):
    given = {"samples": 8, **OPTIONS} | changes
    with pytest.raises(fj.InputError, match=message), np.errstate(all="ignore"):
        fj.studies.sobol_indices(ROBOT, LAW, GOAL, 0.1 if "substeps" not in changes else 1.0, **given)


def test_runs_that_diverge_are_refused():
    def away(t, state, reference, measurement):
        return state, 1e7 * measurement.theta

    with pytest.raises(fj.InputError, match=r"runs diverged, first at joint 'rope'.* take of='failed'"):
        fj.studies.sobol_indices(ROBOT, away, GOAL, 0.1, samples=8, **OPTIONS)
