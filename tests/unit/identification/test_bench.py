"""A series elastic bench with realistic instruments: errors against stated deviations and the Cramér-Rao bound."""

import numpy as np
import pytest
from scipy.stats import chi2

import flexjoint as fj
from support.bench_information import bound
from support.identification import NOISE, STEP, bench, multisine, pulls, rough_bench, simulated, truth

REPETITIONS = 20
TORQUE_NOISE = 0.05


@pytest.fixture(scope="module")
def runs():
    """A run and logs with noise of their own."""
    return simulated(bench(), multisine(0.8, 0, 20.0, count=30), 77, TORQUE_NOISE, rows=REPETITIONS)


@pytest.fixture(scope="module")
def found(runs):
    return [fj.identification.identify(rough_bench(), log, delay=0.0) for log in runs[1]]


@pytest.mark.long
def test_errors_are_as_large_as_stated(found):
    """All 20 · 13 errors weighed by the stated covariances are a χ² of 260 degrees of freedom.

    The bounds fail for right covariances with a probability of 2e-4, and with deviations that are 1.3 times too small
    or too large.  The share of errors within two deviations says less: it is below 0.815 with a probability of 1e-4
    (bootstrap over 200 logs), since errors of one log are correlated.  tests/identification.py takes 200 logs.
    """
    total, freedom = 0.0, 0
    for one in found:
        errors = np.array([x.value - truth(bench(), x.name) for x in one.estimates])
        total += errors @ np.linalg.solve(one.covariance, errors)
        freedom += errors.size
    low, high = chi2.ppf([1e-4, 1 - 1e-4], freedom)
    assert freedom == 260 and low < total < high, total / freedom
    assert np.mean([abs(x) < 2 for one in found for x in pulls(one, bench()).values()]) > 0.815


def test_stated_deviations_reach_the_cramer_rao_bound(runs, found):
    run, _ = runs
    robot = bench()
    law = robot.joints[0].drive.motor.friction
    true = {"K": 300.0, "D": 0.5, "phi_0": 0.0, "B": 0.12, "tau_1": 0.0, "d": law.viscous, "F_c": law.coulomb}
    true |= {"v_c": law.velocity, "F_s": law.static, "v_s": law.stribeck_velocity}
    true |= {"h_x": 0.5, "h_y": 0.04, "I": 0.02 + 2 * (0.25**2 + 0.02**2)}
    states = np.concatenate([run.q[0], run.v[0], run.theta[0], run.theta_v[0]], axis=1)
    least = bound(states, run.tau[0, :, 0], true, run.period, STEP * np.sqrt(NOISE**2 + 1 / 12), TORQUE_NOISE)
    stated = {name: np.median([one[name].deviation for one in found]) for name in least}
    ratios = {name: stated[name] / least[name] for name in least}
    assert max(ratios.values()) < 1.5, ratios
    assert min(ratios.values()) > 0.8, ratios


def test_stiffness_and_inertia_are_accurate(found):
    for one in found:
        assert abs(one["hinge.drive.stiffness"].value / 300 - 1) < 0.005
        assert abs(one["hinge.drive.motor.inertia"].value / 0.12 - 1) < 0.003


def test_the_right_model_passes_the_tests_of_the_residuals(found):
    assert all(one.passed and one.fit.converged for one in found)
    assert all(x.verdict == "identified" for one in found for x in one.estimates), [
        str(x) for one in found for x in one.estimates if x.verdict != "identified"
    ]


def test_the_drive_file_loads_as_it_is(found, tmp_path):
    found[0].write_drives(tmp_path / "bench.drives.toml")
    fj.write_robot(rough_bench(), tmp_path / "bench.toml")
    robot = fj.load(tmp_path / "bench.toml", drives=tmp_path / "bench.drives.toml")
    assert robot == found[0].robot
    drive = robot.joints[0].drive
    assert drive.stiffness == found[0]["hinge.drive.stiffness"].value
    assert drive.motor.friction.static == found[0]["hinge.drive.motor.friction.static"].value
    assert fj.robot.source_of(robot, "hinge.drive.stiffness").trust == "identified"


def test_a_delay_of_the_torque_is_found(runs):
    log = runs[1][0]
    late = fj.logs.Log(log.robot, log.t[2:], q=log.q[:-2], theta=log.theta[:-2], tau=log.tau[2:])  # positions come late
    one = fj.identification.identify(rough_bench(), late)
    delay = one["torque_delay"]
    assert abs(delay.value - 0.002) < 4 * delay.deviation
    assert delay.deviation < 5e-5
    assert abs(one["hinge.drive.stiffness"].value / 300 - 1) < 0.005


# Wrong models -----------------------------------------------------------------------------------------------------


def test_missing_static_friction_is_noticed(runs):
    one = fj.identification.identify(rough_bench(), runs[1][0], friction="coulomb")
    assert not one.passed
    assert any(x.what.startswith("Stribeck") for x in one.scores if x.asked)


def test_an_unmodelled_payload_is_noticed(runs):
    light = rough_bench().replace(
        links=[fj.Link("arm", rough_bench().joints[0], mass=1.6, com=(0.25, 0.02, 0.0), inertia=0.02 * np.eye(3))]
    )
    one = fj.identification.identify(light, runs[1][0], links="known")
    assert not one.passed
    assert any("payload" in x.what for x in one.scores if x.asked)
    K = one["hinge.drive.stiffness"]
    assert K.verdict == "weak" and "the model is wrong" in K.reason
    payload = fj.identification.identify(light, runs[1][0], links="payload")
    assert payload.passed
    x = payload["payload.h_x"]
    assert abs(x.value - 0.1) < 4 * x.deviation  # 0.4 kg at 0.25 m


def test_truth_of_every_estimate_is_known():
    assert truth(bench(), "hinge.drive.motor.friction.static") == pytest.approx(1.68)
    assert truth(bench(), "hinge.drive.stiffness") == 300.0
