"""Bad samples of a calibration are left out or refused, and thresholds hold what they claim."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import median_abs_deviation, norm

import flexjoint as fj
from flexjoint.detection.calibration import learn_thresholds
from flexjoint.detection.detection import residual_of, run
from flexjoint.detection.outliers import deviations
from flexjoint.logs import Log

H, COUNT = 1e-3, 5000
DRIVE, LIMITS = fj.ElasticDrive(300.0, fj.Motor(0.3)), fj.Limits(effort=40.0)
KNEE = fj.Joint("knee", axis=[0, 0, 1], drive=DRIVE, limits=LIMITS)
SEA = fj.Robot("sea", (fj.Link("shank", KNEE, "base", 2.0, [0.3, 0, 0], np.diag([0.01, 0.1, 0.1])),))
RIGID = SEA.rigid()


def logged(robot, seed=0, noise=1e-3, count=COUNT, loss=1.0, push=0.0):
    """A motion in a horizontal plane; `push` Nm act for 0.1 s from 3 s on, the motor gives `loss` of its command."""
    t, rng = H * np.arange(count), np.random.default_rng(seed)
    motion = fj.trajectory.Sinusoid([0.5], [0.7], duration=H * count)
    half = motion(t + H / 2, 2)
    tau = fj.inverse_dynamics(RIGID, *half)
    q, v = motion(t, 1)
    tau[(t >= 3.0) & (t < 3.1)] -= push
    v = v + noise * rng.normal(size=v.shape)
    return Log(robot, t, q, v, tau=tau / loss)


CALM, WATCHED, WEAK = logged(RIGID), logged(RIGID, 1), logged(RIGID, 2, loss=0.8)
RESIDUAL = residual_of(CALM, 30.0)


def learn(log, watched=WATCHED, per_hour=1.0):
    """Thresholds of a calibration and its warnings, without the detector."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = learn_thresholds(RESIDUAL, log, watched, None, per_hour, lambda x, y: run(x, y, True))
    return found.thresholds["residual"][0], found.outliers, " ".join(str(x.message) for x in said)


CLEAN = learn(CALM)[0]


def spoilt(log, count, size, name="tau", burst=1, seed=0):
    rng = np.random.default_rng(seed)
    rows = (rng.choice(COUNT // burst, count // burst, replace=False)[:, None] * burst + np.arange(burst)).ravel()
    x = getattr(log, name).copy()
    x[rows, 0] += size * rng.choice([-1, 1], (count // burst, 1)).repeat(burst, 1).ravel()
    return replace(log, **{name: x}), set(rows.tolist())


@pytest.mark.parametrize("size", [20.0, 50.0, 150.0, 300.0])
@pytest.mark.parametrize(("count", "burst"), [(1, 1), (10, 1), (100, 1), (250, 1), (250, 25), (250, 250)])
def test_a_twentieth_of_bad_samples_of_any_size_raises_no_threshold(count, burst, size):
    log, rows = spoilt(CALM, count, size, burst=burst)
    level, outliers, said = learn(log)
    assert 0.8 * CLEAN < level < 1.25 * CLEAN
    listed = {x.sample for x in outliers}
    assert len(rows - listed - {x - 1 for x in listed}) <= 0.1 * len(rows), "a sample acts until the next one"
    assert re.search(rf"{len(listed)} of {COUNT} samples w.* left out: .*knee", said)


@pytest.mark.parametrize("count", [400, 1000, 2000])
@pytest.mark.parametrize("size", [20.0, 50.0, 1e4])
def test_more_are_refused(count, size):
    with pytest.raises(fj.InputError, match=r"tau.knee: \d+ from .* outliers|samples.* take another part"):
        learn(spoilt(CALM, count, size)[0])


def test_bad_velocities():
    log, rows = spoilt(CALM, 100, 3.0, "v")
    level, outliers, said = learn(log)
    assert 0.8 * CLEAN < level < 1.25 * CLEAN and "v.knee" in said
    assert {x.sample for x in outliers if x.quantity == "v"} >= {x for x in rows if 3 < x < COUNT - 3}


def test_a_weak_motor_is_detected_after_a_bad_calibration():
    with pytest.warns(fj.FlexjointWarning, match=r"100 of 5000 samples .* tau.knee: 100 from"):
        found = fj.detection.detect(WEAK, calibration=spoilt(CALM, 100, 200.0)[0])
    assert found.detections and len(found.calibration_outliers) == 100


@pytest.mark.parametrize("noise", [1e-4, 1e-2])
def test_thresholds_of_clean_logs_hold_the_claimed_rate(noise):
    """60 per hour, so that 100 s may have some; nothing is left out of a clean log."""
    level, outliers, said = learn(logged(RIGID, 3, noise), per_hour=60.0)
    assert outliers == () and said == ""
    r = run(RESIDUAL, logged(RIGID, 4, noise, 100_000), True)["residual"][:, 0]
    assert np.count_nonzero((np.abs(r[1:]) > level) & (np.abs(r[:-1]) <= level)) <= 8


def test_short_calibrations_are_refused():
    def part(count):
        return replace(CALM, **{x: getattr(CALM, x)[:count] for x in ("t", "q", "v", "tau")})

    with pytest.raises(
        fj.InputError, match=r"has 9 usable samples, 0.009 s; .* 1 false .* at least (\d+) samples"
    ) as e:
        learn(part(9))
    least = int(re.search(r"at least (\d+)", str(e.value)).group(1))
    assert 0.5 < least * H < 2.0
    with pytest.raises(fj.InputError, match="at least"):
        learn(part(least - 1))
    assert learn(part(least + 1))[0] == pytest.approx(CLEAN, rel=0.5)
    with pytest.raises(fj.InputError, match="at least"):  # a rarer alarm needs a longer calibration
        learn(part(least + 1), per_hour=1e-3)


def test_residual_samples_count_as_fewer_independent_ones():
    """The variance of first-order noise has the standard error of m tanh(K h) independent samples."""
    K, m = 30.0, 20_000
    rho = np.exp(-K * H)
    x = lfilter([np.sqrt(1 - rho**2)], [1, -rho], np.random.default_rng(0).normal(size=(400, m + 1000)))[:, 1000:]
    error = np.std(np.sqrt(np.mean(x * x, axis=1)))
    assert error == pytest.approx(1 / np.sqrt(2 * m * np.tanh(K * H)), rel=0.1)


def test_deviations_follow_the_noise():
    """Normal noise of unit standard deviation: outliers from seven on, none below four, whatever moves slowly."""
    rng, t = np.random.default_rng(1), np.arange(20_000)
    x = 3.0 * np.sin(1e-3 * t) + rng.normal(size=t.size)
    assert not deviations(x).any()
    assert median_abs_deviation(x - 3.0 * np.sin(1e-3 * t), scale="normal") == pytest.approx(1.0, abs=0.03)
    assert 2 * norm.sf(6.0) * t.size < 1e-3
    rows = rng.choice(t.size, 1000, replace=False)
    x[rows] += 40.0
    assert np.count_nonzero(deviations(x)[rows] > 0) >= 980
    assert np.count_nonzero(deviations(x)) < 1010
    assert not deviations(np.round(5.0 * np.sin(1e-3 * t))).any(), "quantization is no outlier"


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("how", ["lost numbers", "lost rows"])
def test_a_third_of_the_samples_missing_at_random_raises_no_alarm(seed, how):
    lost = np.random.default_rng(seed).random(COUNT) < 1 / 3
    names = ("q", "v", "tau")
    if how == "lost rows":
        log = replace(WATCHED, **{x: getattr(WATCHED, x)[~lost] for x in ("t", *names)})
    else:
        log = replace(WATCHED, **{x: np.where(lost[:, None], np.nan, getattr(WATCHED, x)) for x in names})
    r = np.abs(run(RESIDUAL, log, True)["residual"])
    assert r.max() < CLEAN


def test_the_smallest_detectable_torque():
    """... is detected if it acts for 0.1 s, and what is clearly smaller is not; its warning names the joint."""
    found = fj.detection.detect(WATCHED, calibration=CALM)
    smallest = found.smallest["residual"][0]
    peaks = [np.abs(run(RESIDUAL, logged(RIGID, 5, push=x * smallest), True)["residual"]).max() for x in (0.6, 1.3)]
    assert peaks[0] < found.thresholds["residual"][0] < peaks[1]
    with pytest.warns(fj.FlexjointWarning, match=r"'residual' are too large \(knee .* must be detected is 0.001\)"):
        fj.detection.detect(WATCHED, calibration=CALM, detectable=1e-3)
    with pytest.warns(fj.FlexjointWarning, match=r"knee 21, 25% of its effort limit is 10"):
        fj.detection.detect(WATCHED, thresholds=20.0)
    with pytest.raises(fj.InputError, match="detectable"):
        fj.detection.detect(WATCHED, thresholds=1.0, detectable=-1.0)


@pytest.mark.parametrize("first", [0, 2000])
@pytest.mark.parametrize("differenced", [True, False])
def test_a_dead_encoder_is_named(first, differenced):
    q = WATCHED.q.copy()
    q[first:] = q[first]
    log = replace(WATCHED, q=q)
    if differenced:
        log = replace(log, v=np.gradient(q, H, axis=0), differenced=("v",))
    with pytest.warns(
        fj.FlexjointWarning, match=r"the encoder q of 'knee' is dead: it stays at .* from .* to 4.9990 s"
    ):
        found = fj.detection.detect(log, thresholds=0.5)
    (encoder,) = found.dead_encoders
    assert (encoder.quantity, encoder.entry, encoder.first) == ("q", 0, first)
    if found.events:
        assert found.cause(found.events[-1]) == "dead encoder q of knee, or collision, load or actuator"
    if not differenced:
        with pytest.raises(fj.InputError, match="in the fault-free part the encoder q of 'knee' is dead"):
            fj.detection.detect(WATCHED, calibration=log)


def test_a_dead_motor_encoder_is_named():
    theta = WATCHED.q + 0.01
    theta[1500:] = theta[1500]
    tau = 3.0 * np.ones_like(theta)
    log = Log(SEA, WATCHED.t, WATCHED.q, WATCHED.v, theta, np.zeros_like(theta), None, tau)
    with pytest.warns(fj.FlexjointWarning, match=r"the encoder theta of 'knee' is dead: .* while q moves"):
        fj.detection.detect(log, thresholds=1e3)


def test_a_joint_that_stands_still_has_no_dead_encoder():
    still = Log(
        RIGID, WATCHED.t, 0 * WATCHED.q, 1e-3 * np.random.default_rng(0).normal(size=(COUNT, 1)), tau=0 * WATCHED.q
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fj.detection.detect(still, thresholds=1.0).dead_encoders == ()
