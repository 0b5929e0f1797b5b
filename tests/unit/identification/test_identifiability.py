"""What a log cannot tell is said: circular logs, deflections below an encoder step, missing columns, no motion."""

import re
from dataclasses import replace

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.identification.identifiability import of_links, positive_sums, resolution, with_wrong_models
from flexjoint.logs.circular_rules import circular_stiffness
from support.identification import STEP, bench, friction, logged, multisine, rough_bench, simulated, stiff_pd


@pytest.fixture(scope="module")
def run():
    return simulated(bench(), multisine(0.8, 1, 8.0, count=30), 5)[0]


@pytest.fixture(scope="module")
def log(run):
    return logged(bench(), run.t, run.q, run.theta, run.tau, 5, 0.05)


def identified(log, **options):
    return fj.identification.identify(rough_bench(), log, delay=0.0, **options)


def test_a_circular_log_is_recognised(run, log):
    sensed = bench().joints[0].drive.stiffness * (run.theta - run.q) + 0.1 * np.random.default_rng(0).normal(
        size=run.q.shape
    )
    computed = fj.logs.Log(bench(), log.t, q=log.theta - sensed / 321.0, theta=log.theta, tau=log.tau, tau_e=sensed)
    assert circular_stiffness(computed, 0) == pytest.approx(321.0, rel=1e-6)
    stiffness = identified(computed)["hinge.drive.stiffness"]
    assert stiffness.verdict == "unknown"
    assert "circular" in stiffness.reason and "321" in stiffness.reason
    honest = fj.logs.Log(bench(), log.t, q=log.q, theta=log.theta, tau=log.tau, tau_e=sensed)
    assert circular_stiffness(honest, 0) is None


def test_a_circular_log_rounded_to_six_digits_is_recognised(run, log):
    sensed = 300 * (run.theta - run.q) + 0.1 * np.random.default_rng(0).normal(size=run.q.shape)
    q = np.round(log.theta - sensed / 321.0, 7)
    computed = fj.logs.Log(bench(), log.t, q=q, theta=log.theta, tau=log.tau, tau_e=sensed)
    assert circular_stiffness(computed, 0) == pytest.approx(321.0, rel=1e-4)


def test_torque_sensors_give_gain_and_stiffness(run, log):
    sensed = 1.25 * (300 * (run.theta - run.q) + 0.5 * (run.theta_v - run.v)) + 0.7
    sensed += 0.05 * np.random.default_rng(0).normal(size=sensed.shape)
    found = identified(fj.logs.Log(bench(), log.t, q=log.q, theta=log.theta, tau=log.tau, tau_e=sensed))
    gain, offset = found["hinge.drive.sensor_scale"], found["hinge.drive.sensor_offset"]
    assert abs(gain.value - 1.25) < 4 * gain.deviation < 0.1
    assert abs(found["hinge.drive.stiffness"].value - 300) < 4 * found["hinge.drive.stiffness"].deviation
    assert abs(offset.value - 0.7 / 1.25) < 4 * offset.deviation


def light(stiffness, inertia, law):
    """A bench with an arm of 50 g."""
    robot = bench(stiffness, 0.0, inertia, law)
    body = {"mass": 0.05, "com": (0.1, 0.0, 0.0), "inertia": 1e-4 * np.eye(3)}
    return robot.replace(links=[fj.Link("arm", robot.joints[0], **body)])


def test_a_deflection_below_one_encoder_step_needs_a_payload_and_the_proposed_one_suffices():
    true, rough = light(2e4, 0.12, friction(0.8, 1.2)), light(3e4, 0.2, fj.drives.Friction(viscous=0.5))
    _, log = simulated(true, multisine(0.8, 1, 8.0, count=20), 5, substeps=16)
    found = fj.identification.identify(rough, log, delay=0.0)
    stiffness = found["hinge.drive.stiffness"]
    assert stiffness.verdict == "unknown"
    assert "needs payload or a torque sensor" in stiffness.reason
    assert found.robot.joints[0].drive.stiffness == 3e4  # as before
    mass, swing, frequency = map(
        float, re.search(r"example (\S+) kg .*±(\S+) rad at (\S+) Hz", stiffness.reason).groups()
    )
    loaded, known = (x.with_payload(mass, (0.2, 0.0, 0.0)) for x in (true, rough))
    _, log = simulated(loaded, fj.trajectory.Sinusoid([swing], [frequency], duration=20.0), 5, substeps=16)
    better = fj.identification.identify(known, log, delay=0.0, links="known")["hinge.drive.stiffness"]
    assert better.verdict == "identified"
    assert abs(better.value / 2e4 - 1) < 0.01


def test_without_motor_torque_stiffness_is_relative_to_the_links(log):
    bare = fj.logs.Log(bench(), log.t, q=log.q, theta=log.theta)
    found = identified(bare)
    assert any("relative to the inertias of the links" in x for x in found.notes)
    assert abs(found["hinge.drive.stiffness"].value / 300 - 1) < 0.02
    assert not any(x.kind == "inertia" for x in found.estimates)
    with pytest.raises(fj.InputError, match="homogeneous"):
        identified(bare, links="base")


def test_missing_columns_and_motion_are_named(log):
    with pytest.raises(fj.InputError, match="motor positions theta"):
        identified(fj.logs.Log(bench(), log.t, q=log.q, tau=log.tau))
    with pytest.raises(fj.InputError, match="link positions q"):
        identified(fj.logs.Log(bench(), log.t, theta=log.theta, tau=log.tau))
    rigid = fj.logs.Log(bench().rigid(), log.t, q=log.q, tau_e=log.tau)
    with pytest.raises(fj.InputError, match="rigid, which needs tau"):
        fj.identification.identify(bench().rigid(), rigid)
    with pytest.raises(fj.InputError, match="does not move"):
        identified(fj.logs.Log(bench(), log.t, q=0 * log.q, theta=0 * log.theta, tau=log.tau))
    with pytest.raises(fj.InputError, match="bandwidth is 400 Hz"):
        identified(log, bandwidth=400.0)
    with pytest.raises(fj.InputError, match="links is 'all'"):
        identified(log, links="all")
    with pytest.raises(fj.InputError, match="not finite"):
        identified(fj.logs.Log(bench(), log.t, q=np.nan * log.q, theta=log.theta, tau=log.tau))
    with pytest.raises(fj.InputError, match="400 samples"):
        identified(fj.logs.Log(bench(), log.t[:150], q=log.q[:150], theta=log.theta[:150], tau=log.tau[:150]))


def test_gaps_and_jitter_change_little(log):
    rng = np.random.default_rng(1)
    keep = np.ones(log.t.size, dtype=bool)
    keep[4000:4100] = False
    gap = fj.logs.Log(bench(), log.t[keep], q=log.q[keep], theta=log.theta[keep], tau=log.tau[keep])
    found = identified(gap)
    assert abs(found["hinge.drive.stiffness"].value / 300 - 1) < 0.02
    lost = log.q.copy()
    lost[rng.integers(0, log.t.size, 5)] = np.nan
    found = identified(fj.logs.Log(bench(), log.t, q=lost, theta=log.theta, tau=log.tau))
    assert abs(found["hinge.drive.stiffness"].value / 300 - 1) < 0.02


def test_saturated_torques_do_not_count_and_are_doubted(log):
    assert not identified(log).doubts
    clipped = identified(fj.logs.Log(bench(), log.t, q=log.q, theta=log.theta, tau=np.clip(log.tau, -5, 5)))
    assert any("saturated" in x for x in clipped.doubts) and not clipped.passed
    for name, true in (("stiffness", 300.0), ("motor.inertia", 0.12)):
        one = clipped[f"hinge.drive.{name}"]
        assert abs(one.value - true) < 4 * one.deviation < 0.08 * true


def test_wrong_signs_and_units_are_refused_before_the_estimation(log):
    flipped = fj.logs.Log(bench(), log.t, q=log.q, theta=-log.theta, tau=log.tau)
    with pytest.raises(fj.InputError, match=r"theta of hinge moves .* check=False"):
        identified(flipped)
    doubted = identified(flipped, check=False)
    assert any("signs" in x for x in doubted.doubts) and not doubted.passed
    for columns, reason in (
        ({"tau": -log.tau}, "opposite sign"),
        ({"tau": 1e3 * log.tau}, "mNm"),
        ({"q": np.rad2deg(log.q), "theta": np.rad2deg(log.theta)}, "degrees"),
        ({"tau": 0 * log.tau}, "never changes"),
    ):
        wrong = {"q": log.q, "theta": log.theta, "tau": log.tau} | columns
        with pytest.raises(fj.InputError, match=reason):
            identified(fj.logs.Log(bench(), log.t, **wrong))


def test_spikes_are_left_out(log):
    rng = np.random.default_rng(3)
    columns = {"q": log.q.copy(), "theta": log.theta.copy(), "tau": log.tau.copy()}
    for name, size in (("q", 0.3), ("theta", -0.2), ("tau", 40.0)):
        columns[name][rng.integers(50, log.t.size - 50, 4)] += size
    found = identified(fj.logs.Log(bench(), log.t, **columns))
    assert any("12 samples are far off their neighbours" in x for x in found.notes)
    assert found.passed
    for name, true in (("stiffness", 300.0), ("motor.inertia", 0.12)):
        one = found[f"hinge.drive.{name}"]
        assert abs(one.value - true) < 4 * one.deviation < 0.08 * true


def test_resolution_of_an_encoder():
    x = np.sin(np.linspace(0, 20, 5000))
    assert resolution(STEP * np.round(x / STEP)) == pytest.approx(STEP, rel=1e-3)
    assert resolution(x) == 0.0


def test_logs_that_were_not_used_are_predicted(log):
    _, other = simulated(bench(), multisine(0.8, 9, 6.0, count=30), 6)
    assert identified(log, validate=other).validation["hinge"] < 0.02
    wrong = identified(log, validate=other, friction="viscous").validation["hinge"]
    assert wrong > 0.05


def test_numbers_of_links_that_no_torque_tells_apart_are_unknown():
    """The rotor of a rigid joint and its link turn together: a log tells the sum of their inertias."""
    drive = fj.RigidDrive(fj.Motor(0.12, viscous_friction=0.8))
    true = bench().with_drives([drive])
    t = np.arange(0.0, 8.0, 1e-3)
    q, v, a = multisine(0.8, 0, 8.0, count=30)(t, 2)
    tau = fj.inverse_dynamics(true, q, v, a) + 0.01 * np.random.default_rng(0).normal(size=q.shape)
    found = fj.identification.identify(true, fj.logs.Log(true, t, q=q, tau=tau), friction="viscous", held=False)
    both = [found[name] for name in ("hinge.I_zz", "hinge.drive.motor.inertia")]
    assert [x.verdict for x in both] == ["unknown", "unknown"]
    assert "correlated -1.000 with hinge.I_zz" in both[1].reason
    assert sum(x.value for x in both) == pytest.approx(0.02 + 2 * (0.25**2 + 0.02**2) + 0.12, rel=1e-3)
    assert found["hinge.h_x"].verdict == "identified"


def test_rounding_of_a_simulation_is_no_wrong_model():
    """Without noise tiny residuals stand out at the frequencies of the motion; other masses are still noticed."""
    true = bench(law=fj.drives.Friction(0.8))
    run = fj.simulate(true, stiff_pd(true), multisine(0.8, 0, 6.0, count=10), substeps=4, check=False)
    for columns in ({"tau": run.tau}, {}):
        log = fj.logs.Log(true, run.t, q=run.q, theta=run.theta, **columns)
        found = fj.identification.identify(true, log, friction="viscous")
        assert found.passed and max(x.share for x in found.tests) < 1e-5
    other = fj.Robot("other", (replace(true.links[0], mass=2.1),))
    assert not fj.identification.identify(other, log, friction="viscous", check=False).passed


def test_parameters_that_all_bodies_make_positive_are_those_of_random_bodies():
    """Bodies of random point masses: a parameter may be negative if it is for one of them."""
    robot, rng = fj.load("kuka_lwr"), np.random.default_rng(0)
    table = fj.base_parameters(robot)
    least, count = np.full(len(table.names), np.inf), len(robot.links)
    for _ in range(4000):
        pi = np.zeros((count, 10))
        k = rng.integers(count)
        for x in rng.normal(scale=10 ** rng.uniform(-2, 1), size=(rng.integers(1, 3), 3)):
            I = x @ x * np.eye(3) - np.outer(x, x)
            pi[k] += [1, *x, I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]]
        least = np.minimum(least, table.matrix @ pi.ravel())
    names = {name for name, x in zip(table.names, least) if x > -1e-9}
    positive = positive_sums(robot)
    assert {x for x in positive if not x.startswith("payload")} == names and names
    assert {x for x in positive if x.startswith("payload")} == {f"payload.{x}" for x in ("m", "I_xx", "I_yy", "I_zz")}


def test_no_negative_inertia_and_nothing_without_convergence_is_identified(log):
    found = identified(log)
    inertia = next(x for x in found.estimates if x.name in positive_sums(found.prior) and x.verdict == "identified")
    negative = replace(inertia, value=-1e-3 * inertia.value, deviation=1e-6)
    assert of_links(negative, found.estimates, positive_sums(found.prior))[0] == "unknown"
    assert {x.verdict for x in with_wrong_models(found.estimates, found.tests, converged=False)} == {"unknown"}
