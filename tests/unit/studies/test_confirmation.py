"""Integrators that fail are told from control that fails by shorter steps, also where the linear limit says nothing."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.results import write_table
from support.hoist import GOAL, hoist, hoist_law

ROBOT = hoist()
LAW = hoist_law(ROBOT)
OPTIONS = {"period": 5e-3, "threads": 1, "check": False}
PASSED, CONTROL, INTEGRATOR = "passed", "control failed", "integrator failed"


def test_a_step_beyond_the_linear_limit(tmp_path):
    """Euler is unstable beyond h = 2/ω.  With shorter steps all robots pass but those beyond the error limit."""
    options = {**OPTIONS, "integrator": "euler"}
    vary, limit = {"rope.drive.stiffness": "3e3..4e5"}, 0.0025
    with pytest.warns(fj.FlexjointWarning, match="too long"):
        study = fj.studies.monte_carlo(ROBOT, LAW, GOAL, 0.1, samples=40, vary=vary, limit=limit, **options)
    found = fj.studies.confirm_outcomes(study, LAW, GOAL, 0.1, **options)
    stiffness = study.parameters[:, 0]
    undamped = np.sqrt(stiffness * (1 / 2.0 + 1 / 1.0))  # load and motor on the spring
    assert np.all(found.outcome[5e-3 * undamped > 2.3] == INTEGRATOR)
    assert np.all(found.outcome[5e-3 * undamped < 1.6] != INTEGRATOR)
    assert set(found.outcome) == {PASSED, CONTROL, INTEGRATOR}
    assert np.array_equal(found.outcome, fj.studies.outcomes(study))
    exact = fj.studies.monte_carlo(
        ROBOT, LAW, GOAL, 0.1, samples=40, vary=vary, limit=limit, **{**options, "substeps": 64}
    )
    assert np.array_equal(found.robot_fails == 1, exact.failed)
    before, after = fj.studies.failure_probability(study), fj.studies.failure_probability(found)
    assert before.unknown == np.count_nonzero(found.outcome == INTEGRATOR) and after.unknown == 0
    assert after.failures == exact.failed.sum() and after.high - after.low < before.high - before.low
    assert np.isfinite(fj.studies.quantiles(found, levels=0.9)[0].value)
    write_table(found, tmp_path / "outcomes.csv")
    again = fj.studies.read_samples(tmp_path / "outcomes.csv")
    assert again.outcomes.tolist() == found.outcome.tolist()
    assert repr(found).endswith(f"{np.count_nonzero(found.outcome == INTEGRATOR)} integrator failed>")


def test_a_run_with_a_step_that_is_too_long_counts_for_nothing():
    """Just beyond Euler's limit a short run passes by chance; two stable steps must agree all the same."""
    options = {**OPTIONS, "integrator": "euler"}
    with pytest.warns(fj.FlexjointWarning, match="too long for joint 'rope' .* in 8 of 8 runs"):
        study = fj.studies.monte_carlo(
            ROBOT, LAW, GOAL, 0.02, samples=8, vary={"rope.drive.stiffness": "1.0e5..1.03e5"}, **options
        )
    found = fj.studies.confirm_outcomes(study, LAW, GOAL, 0.02, **options)
    assert not study.diverged.any() and set(found.outcome) == {INTEGRATOR} and set(found.robot_fails) == {0}
    assert set(found.refined) == {8}, "4 makes the step half the longest stable one, 8 agrees"


def test_control_that_fails_is_confirmed():
    """Positive feedback diverges at every step."""

    def away(t, state, reference, measurement):
        return state, 1e6 * (measurement.theta - reference[0]) + 1.0

    vary = {"load.mass": "10%"}
    study = fj.studies.monte_carlo(ROBOT, away, GOAL, 0.3, samples=8, vary=vary, **OPTIONS)
    found = fj.studies.confirm_outcomes(study, away, GOAL, 0.3, **OPTIONS)
    assert set(found.outcome) == {CONTROL} and set(found.reason) == {"rope diverges"} and set(found.refined) == {8}


def floor(stiffness):
    """A floor below 0.29 m, which the linear limit at rest on 0.3 m does not know."""
    return lambda t, state: {"load": [0, 0, stiffness * ca.fmax(0.29 - state.q[0], 0), 0, 0, 0]}


def test_a_contact_that_the_linear_limit_does_not_know():
    """ω = √(3e7/m): h ω = 9 to 12 on the floor, Runge-Kutta is stable up to 2.83: half the step fails too."""
    vary, stiff = {"load.mass": "5..9"}, floor(3e7)
    study = fj.studies.monte_carlo(ROBOT, LAW, GOAL, 0.5, samples=8, vary=vary, contact=stiff, limit=0.05, **OPTIONS)
    assert study.failed.any() and not study.integrator_failed.any()
    assert CONTROL in fj.studies.outcomes(study), "by the linear limit alone"
    found = fj.studies.confirm_outcomes(study, LAW, GOAL, 0.5, contact=stiff, **OPTIONS)
    assert set(found.outcome[study.failed]) == {INTEGRATOR} and not np.any(found.robot_fails == 1)
    assert np.all(found.refined[study.failed] >= 8)
    assert all("only with this step" in x for x in found.reason[study.failed])


def hole(t, state):
    """A model that has no value below 0.296 m."""
    return {"load": [0, 0, ca.sqrt(state.q[0] - 0.296), 0, 0, 0]}


def test_a_model_without_a_finite_number():
    vary, options = {"load.mass": "2..9"}, {**OPTIONS, "contact": hole}
    study = fj.studies.monte_carlo(ROBOT, LAW, GOAL, 0.3, samples=8, vary=vary, **options)
    found = fj.studies.confirm_outcomes(study, LAW, GOAL, 0.3, **options)
    assert study.diverged.sum() > 0
    assert np.array_equal(found.outcome == INTEGRATOR, study.diverged)
    assert set(found.reason[study.diverged]) == {"the model gives no finite number"}
    assert np.all(found.robot_fails[study.diverged] == -1)


def test_samples_that_passed_are_checked_on_demand():
    """Control in continuous time: the period is the step, and shorter ones confirm it."""
    options = {**OPTIONS, "period": 2e-3, "hold": False}
    study = fj.studies.monte_carlo(ROBOT, LAW, GOAL, 0.1, samples=8, vary={"load.mass": "10%"}, limit=0.1, **options)
    found = fj.studies.confirm_outcomes(study, LAW, GOAL, 0.1, every=True, **options)
    assert set(found.outcome) == {PASSED} and set(found.refined) == {2}
    assert np.allclose(found.errors["largest"], study.largest, rtol=1e-4) and not np.any(
        found.errors["largest"] == study.largest
    )


def test_mistakes():
    study = fj.studies.monte_carlo(ROBOT, LAW, GOAL, 0.1, samples=8, vary={"load.mass": "2..9"}, limit=1e-3, **OPTIONS)
    with pytest.raises(fj.InputError, match=r"is not reproduced: its largest errors were .* give controller"):
        fj.studies.confirm_outcomes(study, hoist_law(ROBOT, 2000.0), GOAL, 0.1, **OPTIONS)
    with pytest.raises(fj.InputError, match="finest is 3; it must be a power of two"):
        fj.studies.confirm_outcomes(study, LAW, GOAL, 0.1, finest=3)
    with pytest.raises(fj.InputError, match="study is 7; give what monte_carlo returns"):
        fj.studies.confirm_outcomes(7, LAW, GOAL)
