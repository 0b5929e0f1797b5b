"""Worst cases and gains of a robot whose errors are known in closed form; the search on functions with known maxima."""

from __future__ import annotations

import signal

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.results import write_table
from flexjoint.studies.global_search import maximize
from support.hoist import GOAL, K_P, STIFFNESS, hoist, hoist_law, sag, sag_of

ROBOT = hoist()
LAW = hoist_law(ROBOT)
VARY = {"load.mass": "1..3", "rope.drive.stiffness": "10%"}
OPTIONS = {"period": 2e-3, "of": sag_of, "vary": VARY, "threads": 1, "check": False}


# Functions --------------------------------------------------------------------------------------------------------


def ripples(u):
    """Rastrigin's function upside down: one of 6³ maxima is the largest, 0 at (0.7, 0.2, 0.45)."""
    x = 6 * (u - np.array([0.7, 0.2, 0.45]))
    return -np.sum(x * x + 3 * (1 - np.cos(2 * np.pi * x)), axis=1)


@pytest.mark.parametrize("seed", range(3))
def test_the_largest_of_many_maxima(seed):
    found = maximize(ripples, 3, 3000, seed)
    assert np.allclose(found.point, [0.7, 0.2, 0.45], atol=1e-3) and found.value > -1e-3
    random = ripples(np.random.default_rng(seed).random((3000, 3))).max()
    assert random < -0.5
    assert np.all(np.diff(found.history[:, 1]) >= 0) and found.history[-1, 0] <= 3000


def test_a_corner_of_many_dimensions_is_found_exactly():
    signs = np.where(np.arange(12) % 3 == 0, -1.0, 1.0)
    found = maximize(lambda u: (u @ signs) + 0.1 * np.prod(u + 1, axis=1), 12, 1500, 1)
    assert np.array_equal(found.point[signs > 0], np.ones(8))
    assert maximize(lambda u: u @ signs, 12, 1500, 1).point.tolist() == (signs > 0).tolist()


def test_points_that_are_not_allowed_and_short_searches():
    found = maximize(lambda u: np.where(u[:, 0] > 0.6, -np.inf, u[:, 0]), 2, 600, 0)
    assert 0.59 < found.point[0] <= 0.6
    for evaluations in (1, 3, 17):
        assert maximize(lambda u: u[:, 0], 2, evaluations, 0).history[-1, 0] <= evaluations


# Worst case -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def worst():
    return fj.studies.worst_case(ROBOT, LAW, GOAL, 2.0, runs=200, seed=3, **OPTIONS)


def test_the_worst_robot_is_the_heaviest_on_the_softest_spring(worst):
    assert worst.parameters.tolist() == [3.0, pytest.approx(0.7 * STIFFNESS, rel=1e-15)]
    assert worst.value == pytest.approx(sag(3.0, 0.7 * STIFFNESS), rel=1e-4)
    assert worst.nominal_value == pytest.approx(0.0, abs=1e-12) and worst.complete and worst.runs <= 200


def test_the_nominal_robot_may_lie_outside_the_ranges():
    found = fj.studies.worst_case(ROBOT, LAW, GOAL, 2.0, runs=24, **OPTIONS | {"vary": {"load.mass": "3..4"}})
    assert found.nominal_value == pytest.approx(0.0, abs=1e-12) and found.nominal.tolist() == [2.0]
    assert found.value == pytest.approx(sag(4.0, STIFFNESS), rel=1e-4) and found.runs <= 24


def test_the_worst_robot_is_worse_than_any_of_as_many_random_ones(worst):
    study = fj.studies.monte_carlo(
        ROBOT, LAW, GOAL, 2.0, samples=worst.runs, vary=VARY, seed=3, period=2e-3, threads=1, check=False
    )
    assert study.final.max() < 0.9 * worst.value


def test_the_worst_robot_can_be_simulated_again(worst, tmp_path):
    run = fj.simulate(worst.robot, LAW, GOAL, 2.0, period=2e-3, check=False, free=worst.free, seed=worst.seed, row=0)
    assert run.error[-1, 0] == worst.value
    write_table(worst, tmp_path / "worst.csv")
    header, first, *_ = (tmp_path / "worst.csv").read_text().splitlines()
    assert header == "parameter,unit,nominal,low,high,worst" and first == "load.mass,kg,2.0,1.0,3.0,3.0"


def test_the_seed_decides_and_ctrl_c_keeps_the_worst_so_far(worst):
    again = fj.studies.worst_case(ROBOT, LAW, GOAL, 2.0, runs=200, seed=3, **OPTIONS | {"threads": 2})
    assert np.array_equal(again.history, worst.history)
    done = []

    def interrupt(runs):
        done.append(runs)
        if len(done) == 3:  # the nominal robot, a generation, another
            signal.raise_signal(signal.SIGINT)

    with pytest.warns(fj.FlexjointWarning, match="interrupted after 17 of 200 runs: a worse robot may exist"):
        part = fj.studies.worst_case(ROBOT, LAW, GOAL, 2.0, runs=200, seed=3, **OPTIONS, progress=interrupt)
    assert "complete=False" in repr(part)
    assert not part.complete and part.runs == sum(done[:2]) and part.value == worst.history[0, 1]


def test_a_robot_that_diverges_is_the_worst():
    """Positive feedback that a heavy load withstands for longer: the lightest diverges first."""

    def away(t, state, reference, measurement):
        return state, 3e5 * (measurement.theta - reference[0]) + 1.0

    vary = {"rope.drive.motor.inertia": "0.5..2"}
    found = fj.studies.worst_case(ROBOT, away, GOAL, 0.1, runs=24, **OPTIONS | {"vary": vary})
    assert found.joint == 0 and np.isinf(found.value) and found.parameters.tolist() == [0.5]
    assert "rope diverged at" in found.text and np.isinf(found.history[-1, 1])


def test_robots_whose_step_is_too_long_are_left_out():
    """Euler is stable up to h = 2/ω: stiffer springs than that are not the controller's fault."""
    options = {"period": 5e-3, "integrator": "euler", "threads": 1, "check": False, "vary": {"*.stiffness": "4e3..4e5"}}
    options["of"] = lambda run: np.abs(run.q).max(axis=(1, 2))
    with pytest.warns(fj.FlexjointWarning, match="too long for joint 'rope'.*; they were left out of the search"):
        found = fj.studies.worst_case(ROBOT, LAW, GOAL, 0.1, runs=40, **options)
    assert 0 < found.unknown < found.runs and found.parameters[0] < 1.2e5
    too_long = r"worst_case: hoist: a step of 0\.005 s"
    with pytest.raises(fj.InputError, match=too_long), pytest.warns(fj.FlexjointWarning):
        fj.studies.worst_case(ROBOT, LAW, GOAL, 0.1, runs=8, **options | {"vary": {"*.stiffness": "3e5..4e5"}})


# Gains ------------------------------------------------------------------------------------------------------------

GRID = {"proportional": [1200.0, K_P, 1e7], "derivative": [140.0, 200.0]}


def law(proportional, derivative):
    return hoist_law(ROBOT, proportional, derivative)


@pytest.fixture(scope="module")
def search():
    options = OPTIONS | {"vary": {"load.mass": "2..3"}}
    return fj.studies.gain_search(ROBOT, law, GOAL, 2.5, grid=GRID, samples=60, seed=5, limit=0.006, **options)


def drawn():
    variations = fj.studies.variation.Variations.of(ROBOT, {"load.mass": "2..3"})
    return np.sort(variations.draw(5, 0, 60)[:, 0])


def test_quantiles_over_the_grid_are_those_of_the_loads(search):
    """The sag grows with the load, so its quantile is the sag of the quantile; the samples are the same for all."""
    mass = drawn()[int(np.ceil(0.95 * 60)) - 1]
    for k, proportional in enumerate(GRID["proportional"][:2]):
        assert np.allclose(search.quantile[k], sag(mass, STIFFNESS, proportional), rtol=1e-3)
    options = {"vary": {"load.mass": "2..3"}, "period": 2e-3, "threads": 1, "check": False, "limit": 0.006}
    study = fj.studies.monte_carlo(ROBOT, law(1200.0, 140.0), GOAL, 2.5, samples=60, seed=5, **options)
    assert np.mean(study.failed) == search.failures[0, 0] > search.failures[1, 0] > 0


def test_gains_that_make_the_loop_unstable_fail(search):
    assert np.all(np.isinf(search.quantile[2])) and np.all(search.failures[2] == 1.0)


def test_the_best_gains_are_ready_to_paste(search, tmp_path):
    assert search.best["proportional"] == K_P and search.paste.startswith("proportional=3000.0, derivative=")
    assert search.complete and search.edges == ["derivative"]
    assert search.low[search.place] <= search.quantile[search.place]
    assert isinstance(law(**search.best), fj.control.MotorPD)
    write_table(search, tmp_path / "gains.csv")
    header = "proportional,derivative,quantile_95,failures,objective_low,objective_high"
    assert (tmp_path / "gains.csv").read_text().splitlines()[0] == header


def test_failures_as_the_objective(search):
    options = OPTIONS | {"vary": {"load.mass": "2..3"}}
    found = fj.studies.gain_search(
        ROBOT, law, GOAL, 2.5, grid=GRID, samples=60, seed=5, limit=0.006, objective="failures", **options
    )
    assert np.array_equal(found.failures, search.failures) and found.best["proportional"] == K_P
    assert found.aim == "failure probability" and found.low[2, 0] == pytest.approx(0.025 ** (1 / 60))


def test_ctrl_c_keeps_the_gains_that_were_tried():
    done = []

    def interrupt(runs):
        done.append(runs)
        if len(done) == 3:
            signal.raise_signal(signal.SIGINT)

    options = OPTIONS | {"vary": {"load.mass": "2..3"}}
    with pytest.warns(fj.FlexjointWarning, match="interrupted after 2 of 6 gains: better ones may exist"):
        part = fj.studies.gain_search(ROBOT, law, GOAL, 0.1, grid=GRID, samples=8, progress=interrupt, **options)
    assert "complete=False" in repr(part)
    assert not part.complete and np.isnan(part.failures).sum() == 4 and not np.isnan(part.quantile[part.place])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"grid": {}}, "grid is {}; give values by name"),
        ({"grid": {"proportional": [1.0, 1.0], "derivative": [1.0]}}, "each once"),
        ({"grid": {"K_P": [1.0]}}, "controller does not take the gains K_P of the grid"),
        ({"objective": 95}, "objective is 95"),
        ({"controller": LAW}, "give a function from the gains"),
        ({"controller": lambda **gains: 7}, "controller gave 7"),
        ({"samples": 0}, "samples is 0"),
    ],
)
def test_mistakes(changes, message):
    given = {"controller": law, "grid": GRID, "samples": 8, **OPTIONS} | changes
    with pytest.raises(fj.InputError, match=message):
        fj.studies.gain_search(ROBOT, reference=GOAL, duration=0.1, **given)
