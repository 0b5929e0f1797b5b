"""Priors of drives: against Bayesian linear regression, coverage, disagreement, deviations read back from files."""

import dataclasses

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.identification.drive_priors import deviation_in, deviation_note, independent_growth, with_priors
from flexjoint.identification.estimates import Estimate
from flexjoint.identification.identifiability import by_deviation
from support.identification import bench, multisine, pulls, simulated

PATHS = [f"hinge.drive.{x}" for x in ("stiffness", "damping", "motor.inertia", "motor.friction")]


def test_estimates_are_those_of_a_bayesian_regression():
    rng = np.random.default_rng(3)
    A, y, p0, sigma = rng.normal(size=(9, 3)), rng.normal(size=9), rng.normal(size=3), np.array([0.2, 0.5, np.inf])
    normal, P = A.T @ A, np.diag([25.0, 4.0, 0.0])
    told = with_priors(np.linalg.solve(normal, A.T @ y), np.linalg.inv(normal), p0, sigma)
    assert np.allclose(told.values, np.linalg.solve(normal + P, A.T @ y + P @ p0), rtol=1e-10)
    assert np.allclose(told.covariance, np.linalg.inv(normal + P), rtol=1e-10)
    for k in range(2):
        without = P - np.diag(P[k])  # the regression without this prior
        C = np.linalg.inv(normal + without)
        assert told.alone[k] == pytest.approx((C @ (A.T @ y + without @ p0))[k], rel=1e-10)
        assert told.alone_covariance[k, k] == pytest.approx(C[k, k], rel=1e-10)
        assert told.shares[k] == pytest.approx(P[k, k] / (P[k, k] + 1 / C[k, k]), rel=1e-10)
    assert told.shares[2] == 0 and told.alone[2] == told.values[2]


def test_priors_remain_where_logs_say_nothing():
    told = with_priors(
        np.array([1e9, 2.0]), np.array([[1e20, 3e7], [3e7, 1.0]]), np.array([5.0, 0.0]), np.array([0.1, np.inf])
    )
    assert told.values[0] == pytest.approx(5.0) and told.covariance[0, 0] == pytest.approx(0.01)
    assert told.shares[0] > 0.99999 and np.linalg.eigvalsh(told.covariance).min() > 0


def known_bench(trust="data_sheet", note="", paths=PATHS, **numbers):
    """The bench with a source of its drive."""
    return bench(**numbers).with_sources([fj.robot.Source(paths, trust, "test", note)])


@pytest.fixture(scope="module")
def short_logs():
    return simulated(bench(), multisine(0.1, 0, 4.0, count=10), 11, 0.3, rows=10)[1]


HOW = {"friction": "stribeck", "delay": 0.0, "check": False}


def test_estimates_are_products_of_densities():
    log = simulated(bench(), multisine(0.3, 0, 10.0, count=20), 11, 0.1)[1]
    vague = fj.identification.identify(bench(), log, **HOW, links="known")
    names, C = [x.name for x in vague.estimates], vague.covariance
    prior = {f"hinge.drive.{x}": y for x, y in (("stiffness", 1.0), ("motor.inertia", -1.5), ("damping", 0.7))}
    P, p0 = np.zeros(len(names)), np.zeros(len(names))
    for name, pull in prior.items():  # priors as sharp as the log, some deviations off
        k = names.index(name)
        P[k], p0[k] = 1 / C[k, k], vague[name].value + pull * np.sqrt(C[k, k])
    note = deviation_note([vague[name] for name in prior])
    numbers = {name.rpartition(".")[2]: p0[names.index(name)] for name in prior}
    robot = known_bench("identified", note, [*prior], **numbers)
    found = fj.identification.identify(robot, log, **HOW, links="known", priors="drives")
    both = np.linalg.inv(np.linalg.inv(C) + np.diag(P))
    expected = both @ (np.linalg.solve(C, [x.value for x in vague.estimates]) + P * p0)
    for k, x in enumerate(found.estimates):
        assert x.deviation == pytest.approx(np.sqrt(both[k, k]), rel=0.03), x.name
        assert abs(x.value - expected[k]) < 0.05 * x.deviation, x.name


def test_right_priors_keep_the_coverage(short_logs):
    rng, inside = np.random.default_rng(5), []
    for log in short_logs:
        robot = known_bench("identified", stiffness=300 * (1 + 0.05 * rng.normal()), paths=PATHS[:1])
        found = fj.identification.identify(robot, log, **HOW, priors="drives")
        inside += [abs(x) < 2 for name, x in pulls(found, bench()).items() if "friction" not in name]
    assert 0.88 < np.mean(inside) <= 1


def test_a_prior_makes_no_verdict_and_is_named():
    log = simulated(bench(), multisine(0.01, 0, 4.0, count=10), 11, 0.3)[1]
    found = fj.identification.identify(known_bench("identified"), log, **HOW, spring="linear", priors="drives")
    K = found["hinge.drive.stiffness"]
    assert K.deviation < 0.051 * K.value and K.verdict == "unknown"
    assert K.reason.startswith("mostly from the robot file (") and "needs payload" in K.reason
    assert any(x.startswith("mostly from the robot file: ") and K.name in x for x in found.notes)
    assert found.robot.joints[0].drive.stiffness == 300.0


def test_a_wrong_number_of_the_file_is_named(short_logs):
    wrong = known_bench("data_sheet", stiffness=600.0)
    found = fj.identification.identify(wrong, short_logs[0], **HOW, priors="drives")
    said = [x for x in found.notes if "deviations apart" in x]
    assert len(said) == 1 and said[0].startswith("hinge.drive.stiffness: the logs say 3") and "600 ± 60" in said[0]
    right = fj.identification.identify(known_bench(), short_logs[0], **HOW, priors="drives")
    assert not any("deviations apart" in x for x in right.notes)


@pytest.mark.parametrize("trust", ["placeholder", None])
def test_numbers_without_trust_stay_vague(short_logs, trust):
    robot = known_bench(trust) if trust else bench()
    vague, found = (fj.identification.identify(robot, short_logs[0], **HOW, priors=x) for x in ("vague", "drives"))
    assert found.values == vague.values and found.deviations == vague.deviations


def test_the_deviations_of_a_drive_file_are_read_back(short_logs, tmp_path):
    first = fj.identification.identify(bench(), short_logs[0], **HOW)
    path = tmp_path / "identified.drives.toml"
    first.write_drives(path)
    robot, K = fj.formats.DriveFile.read(path).applied(bench()), "hinge.drive.stiffness"
    source = fj.robot.source_of(robot, K)
    stated = deviation_in(source.note, K)
    assert 1.2 < stated / first[K].deviation < np.sqrt(8)  # correlated with damping and inertia
    robot = bench(robot.joints[0].drive.stiffness).with_sources([dataclasses.replace(source, of=(K,))])
    vague, second = (fj.identification.identify(robot, short_logs[1], **HOW, priors=x) for x in ("vague", "drives"))
    expected = 1 / np.hypot(1 / stated, 1 / vague[K].deviation)
    assert second[K].deviation == pytest.approx(expected, rel=0.03)


def test_correlated_numbers_are_not_counted_twice():
    rng = np.random.default_rng(4)
    own, log = (np.diag(x) @ np.cov(rng.normal(size=(3, 5))) @ np.diag(x) for x in rng.uniform(1, 2, (2, 3)))
    scale = 1 / np.sqrt(np.diag(own))
    estimates = [Estimate(f"j.{k}", "stiffness", 0, "", 1.0, 1 / scale[k], 1.0) for k in range(3)]
    growth = independent_growth(estimates, own * scale * scale[:, None])
    told = with_priors(np.zeros(3), log, np.zeros(3), growth / scale)
    exact = np.linalg.inv(np.linalg.inv(own) + np.linalg.inv(log))
    assert np.linalg.eigvalsh(told.covariance - exact).min() > -1e-12 and growth < np.sqrt(3)


def test_notes_hold_deviations():
    numbers = [Estimate(f"a.drive.{x}", "", 0, "Nm", 1.0, s, 1.0) for x, s in (("motor.inertia", 2e-5), ("b", 30.0))]
    note = deviation_note(numbers)
    assert [deviation_in(note, x.name) for x in numbers] == [2e-5, 30.0]
    assert deviation_in(deviation_note(numbers, 1.5), "a.drive.b") == 45.0
    assert deviation_in(note, "a.drive.inertia") is None and deviation_in("deviation 3 %", "a.drive.b") is None


@pytest.mark.parametrize("kind", ["inertia", "stiffness", "damping", "viscous", "coulomb", "viscous_backward"])
def test_no_number_is_negative_without_a_word(kind):
    verdict, reason = by_deviation(Estimate("x", kind, 0, "", -1.0, 0.01, 1.0))
    assert verdict == "unknown" and ("negative" in reason or "not positive" in reason)
    assert by_deviation(dataclasses.replace(Estimate("x", kind, 0, "", 1.0, 0.01, 1.0)))[0] == "identified"


def test_an_unknown_word_is_refused(short_logs):
    with pytest.raises(fj.InputError, match="priors is 'file'; it must be one of vague, drives"):
        fj.identification.identify(bench(), short_logs[0], priors="file")
