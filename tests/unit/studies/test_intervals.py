"""Intervals of quantiles and probabilities: SciPy's, closed forms, and coverage of known distributions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import flexjoint as fj
from flexjoint.results import write_table
from flexjoint.studies import (
    SampleTable,
    failure_probability,
    outcomes,
    probability_interval,
    quantile_interval,
    quantiles,
    read_samples,
    summarize,
)
from flexjoint.studies.intervals import ranks, samples_needed


@pytest.mark.parametrize(("k", "n"), [(0, 7), (1, 7), (3, 40), (40, 40), (12, 100_000)])
@pytest.mark.parametrize("confidence", [0.9, 0.99])
def test_probabilities_are_those_of_scipy(k, n, confidence):
    found, wanted = probability_interval(k, n, confidence), stats.binomtest(k, n)
    assert found[1:3] == pytest.approx(wanted.proportion_ci(confidence, "exact"), rel=1e-9)
    bound = stats.binomtest(k, n, alternative="less").proportion_ci(confidence, "exact").high
    assert found.bound == pytest.approx(bound, rel=1e-9)
    assert found.value == k / n


def test_rule_of_three():
    for n in (100, 1000, 10**6):
        assert probability_interval(0, n).bound == pytest.approx(3 / n, rel=0.02)
        assert probability_interval(0, n).bound == pytest.approx(1 - 0.05 ** (1 / n), rel=1e-8)
    assert str(probability_interval(0, 1000)) == "no failure in 1000 samples: at most 0.299 % with 95 % confidence"


@pytest.mark.parametrize("p", [0.001, 0.03, 0.3, 0.97])
def test_probability_intervals_cover_what_they_promise(p):
    """Exactly: summed over all numbers of failures, weighted by their probabilities."""
    n = 60
    found = [probability_interval(k, n, 0.9) for k in range(n + 1)]
    weights = stats.binom.pmf(np.arange(n + 1), n, p)
    assert sum(w for w, x in zip(weights, found) if x.low <= p <= x.high) >= 0.9
    assert sum(w for w, x in zip(weights, found) if p <= x.bound) >= 0.9


@pytest.mark.parametrize(("n", "p"), [(20, 0.5), (100, 0.95), (1000, 0.99), (37, 0.1)])
def test_order_statistics_enclose_and_are_the_closest_that_do(n, p):
    first, last = ranks(n, p, 0.95)
    below = stats.binom(n, p).cdf
    assert first == 0 or below(first - 1) <= 0.025
    assert below(first) > 0.025
    assert last == n + 1 or 1 - below(last - 1) <= 0.025
    assert 1 - below(last - 2) > 0.025


def test_quantiles_cover_those_of_a_skewed_distribution():
    """3000 studies of 150 samples each; coverage lies above what is promised, as ranks are whole numbers."""
    law, p = stats.lognorm(1.5), 0.9
    samples = np.sort(law.rvs((3000, 150), random_state=np.random.default_rng(4)), axis=1)
    first, last = ranks(150, p, 0.95)
    inside = (samples[:, first - 1] <= law.ppf(p)) & (law.ppf(p) <= samples[:, last - 1])
    exact = stats.binom.cdf(last - 1, 150, p) - stats.binom.cdf(first - 1, 150, p)
    assert exact >= 0.95 and abs(inside.mean() - exact) < 4 * np.sqrt(exact * (1 - exact) / 3000)
    found = quantile_interval(samples[0], p)
    assert (found.low, found.high) == (samples[0, first - 1], samples[0, last - 1])
    assert found.value == np.quantile(samples[0], p, method="inverted_cdf")


def test_too_few_samples_have_no_upper_end():
    assert samples_needed(0.95) == 72 and samples_needed(0.99) == 368
    assert np.isinf(quantile_interval(np.arange(71.0), 0.95).high)
    assert quantile_interval(np.arange(72.0), 0.95).high == 71.0
    assert quantile_interval([1.0], 0.5)[2:4] == (-np.inf, np.inf)


def test_unknown_samples_widen_intervals_to_both_sides():
    values, lost = np.arange(200.0), np.arange(200) % 20 == 0
    found = quantile_interval(values, 0.5, unknown=lost)
    for end in (-1.0, 1e9):  # whatever they were
        known = quantile_interval(np.where(lost, end, values), 0.5)
        assert found.low <= known.low and known.high <= found.high
    some = probability_interval(5, 200, unknown=10)
    assert some.value == 5 / 190
    assert some.low == probability_interval(5, 200).low and some.high == probability_interval(15, 200).high
    assert np.isnan(probability_interval(0, 3, unknown=3).value)


def test_values_that_diverged_are_infinite():
    table = {"largest.a [rad]": [0.1, 0.2, 5.0, 0.3], "diverged": ["", "", "a", ""], "step": [1, 2, 3, 4]}
    found = quantiles(table, levels=[0.5, 0.9])
    assert [x.value for x in found] == [0.2, np.inf]
    assert quantiles(table, "step", 0.5)[0].value == 2.0
    assert outcomes(table, limit=0.25).tolist() == ["passed", "passed", "control failed", "control failed"]


@pytest.fixture(scope="module")
def study():
    robot = fj.random_robot(2, 5, prismatic=0.0, elastic=1.0, name="arm")
    largest = np.random.default_rng(1).exponential(0.1, (200, 2))
    arrays = {"parameters": largest[:, :1], "largest": largest, "rms": largest / 2, "final": largest / 3}
    arrays |= {"ended": np.ones(200), "longest_step": np.full(200, np.inf), "stiff_joint": np.full(200, -1)}
    arrays["joint"] = np.where(np.arange(200) < 3, 1, -1)
    arrays["stiff_joint"][:7] = 0
    return fj.studies.MonteCarlo(robot, ("link1.mass",), np.arange(200), **arrays, wanted=200, step=1e-3, limit=0.3)


def test_a_study_and_its_files_say_the_same(study, tmp_path):
    whole = summarize(study, ["largest", "rms.link2_joint"])
    assert whole.outcomes == {
        "passed": 200 - int(study.failed.sum()),
        "control failed": int(study.control_failed.sum()),
        "integrator failed": 7,
    }
    assert whole.failures == failure_probability(study)
    for name in ("samples.csv", "samples.npz", "samples.parquet"):
        write_table(SampleTable(study), tmp_path / name)
        assert summarize(read_samples(tmp_path / name), [*whole.quantiles], limit=0.3).quantiles == whole.quantiles
        assert failure_probability(read_samples(tmp_path / name), 0.3) == whole.failures
    assert summarize(read_samples(tmp_path), limit=0.3).failures == whole.failures
    write_table(whole, tmp_path / "summary.csv")
    assert (tmp_path / "summary.csv").read_text().splitlines()[1].startswith("largest,rad,0.5,")


def test_tables_of_pandas(study):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(SampleTable(study).arrays())
    assert failure_probability(frame, 0.3) == failure_probability(study)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: quantile_interval([], 0.5), "0 values"),
        (lambda: quantile_interval([1.0, np.nan], 0.5), "a value is NaN"),
        (lambda: quantile_interval([1.0], 1.0), "level is 1.0; it must be a number above 0 and below 1"),
        (lambda: probability_interval(5, 4), "failures is 5; the largest is 4"),
        (lambda: probability_interval(1, 4, 95), "confidence is 95"),
        (lambda: quantiles({"largest.a": [1.0]}, "lagest"), "give largest, rms, final or a column: largest.a"),
        (lambda: quantiles({"largest.a": [1.0], "diverged": [""]}, "diverged"), "a column of texts"),
        (lambda: quantiles({"largest.a [rad]": [1.0], "largest.b [m]": [1.0]}), "m and rad do not compare"),
        (lambda: quantiles({"largest.a": [1.0, 2.0], "b": [1.0]}), r"shapes \(1,\), \(2,\)"),
        (lambda: quantiles({"largest.a": []}), "no sample"),
        (lambda: failure_probability({"outcome": ["lost"]}), "an outcome is 'lost'"),
        (lambda: failure_probability(7), "study is 7; give what monte_carlo returns"),
        (lambda: failure_probability({"largest.a": [1.0]}, limit=-1), "limit is -1"),
    ],
)
def test_mistakes(call, message):
    with pytest.raises(fj.InputError, match=message):
        call()


def test_files_that_are_no_tables(tmp_path):
    (tmp_path / "damaged.npz").write_bytes(b"PK no archive")
    (tmp_path / "short.csv").write_text("a,b\n1\n")
    (tmp_path / "notes.txt").write_text("x")
    for name, message in (
        ("damaged.npz", "not a table of samples"),
        ("short.csv", "a line has not the 2 cells"),
        ("notes.txt", "ends in .csv"),
        ("nowhere.csv", "no such file"),
    ):
        with pytest.raises(fj.InputError, match=message):
            read_samples(tmp_path / name)
