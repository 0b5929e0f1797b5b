"""No single sample silences a detector: thresholds, stamps and what is printed stay right, and it is said."""

import re
import warnings
from dataclasses import replace

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.detection.calibration import learn_thresholds
from flexjoint.detection.detection import residual_of, run
from flexjoint.detection.outliers import find_outliers
from flexjoint.logs import Log

H, COUNT, STRUCK = 1e-3, 3000, 2000


def arm(effort=np.inf):
    """Moves in a horizontal plane: gravity asks for no torque."""
    limits, one, two = fj.Limits(effort=effort), np.diag([0.02, 0.1, 0.1]), np.diag([0.01, 0.05, 0.05])
    upper = fj.Link("upper", fj.Joint("shoulder", limits=limits), "base", 4.0, [0.3, 0, 0], one)
    elbow = fj.Joint("elbow", position=[0.6, 0, 0], limits=limits)
    return fj.Robot("arm", (upper, fj.Link("fore", elbow, "upper", 2.0, [0.2, 0, 0], two)))


ARM = arm()
WHERE = [0, 1, 700, 1499]  # of the bad sample: first, second, in the middle and last in the quiet part


def logged(kick=3.0, seed=0):
    """A motion with noise; from STRUCK on, for 0.1 s, the elbow is pushed by `kick` Nm."""
    t = H * np.arange(COUNT)
    rng = np.random.default_rng(seed)
    q = np.column_stack([0.5 * np.sin(2 * t), 0.4 * np.sin(3 * t)])
    v = np.column_stack([np.cos(2 * t), 1.2 * np.cos(3 * t)])
    middle = (t + H / 2)[:, None]
    half = [np.sin(2 * middle), np.cos(2 * middle), np.sin(3 * middle), np.cos(3 * middle)]
    tau = fj.inverse_dynamics(
        ARM,
        np.hstack([0.5 * half[0], 0.4 * half[2]]),
        np.hstack([half[1], 1.2 * half[3]]),
        np.hstack([-2 * half[0], -3.6 * half[2]]),
    )
    tau[STRUCK : STRUCK + 100, 1] -= kick
    return Log(ARM, t, q, v + 1e-4 * rng.normal(size=v.shape), tau=tau)


LOG, CALM = logged(), logged(0.0, 1)
QUIET = (0.0, 1.5)


def spoilt(log, name, sample, entry, value):
    changed = getattr(log, name).copy()
    changed[sample, entry] = value
    return replace(log, **{name: changed})


def learn(log, **source):
    """DetectionReport, and what was said."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = fj.detection.detect(log, **source)
    assert all(issubclass(x.category, fj.FlexjointWarning) for x in said)
    return found, [str(x.message) for x in said]


BASE = fj.detection.detect(LOG, quiet=QUIET)


def test_without_bad_samples_nothing_is_said():
    found, said = learn(LOG, quiet=QUIET)
    assert said == [] and found.outliers == found.calibration_outliers == ()
    (event,) = found.detections
    assert STRUCK * H < event.begin < STRUCK * H + 0.02


TURN = 2 * np.pi
BAD = [("tau", 1, 1e5), ("tau", 0, -300.0), ("q", 1, 1000 * TURN), ("q", 1, TURN), ("v", 1, 40.0), ("q", 1, 1e200)]
RESIDUAL = residual_of(LOG, 30.0)


def taught(log, watched, quiet=None):
    """Thresholds and outliers, and what was said; without the detector, which is compiled for its thresholds."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = learn_thresholds(RESIDUAL, log, watched, quiet, 1.0, lambda x, y: run(x, y, True))
    return found, " ".join(str(x.message) for x in said)


@pytest.mark.parametrize("sample", WHERE)
@pytest.mark.parametrize(("name", "entry", "value"), BAD)
def test_one_bad_sample_raises_no_threshold(name, entry, value, sample):
    """... of what is learnt, and it is named."""
    found, said = taught(spoilt(CALM, name, sample, entry, value), LOG, QUIET)
    ratio = found.thresholds["residual"] / BASE.thresholds["residual"]
    assert np.all((ratio > 0.7) & (ratio < 1.4)), ratio
    if not (name == "tau" and abs(value) < 1e4 and sample == WHERE[-1]):  # it acts after the quiet part
        assert (sample, name, entry, value) in [(x.sample, x.quantity, x.entry, x.value) for x in found.outliers]
        joint = ARM.joints[entry].name
        assert re.search(rf"1 of \d+ samples was impossible .*{name}\.{joint} = .* at {sample * H:.4f} s", said)


@pytest.mark.parametrize(("name", "entry", "value"), BAD[1:3])
@pytest.mark.parametrize("how", ["quiet", "calibration"])
def test_the_collision_is_found_all_the_same(name, entry, value, how):
    if how == "quiet":
        found, said = learn(spoilt(LOG, name, 700, entry, value), quiet=QUIET)
    else:
        found, said = learn(LOG, calibration=spoilt(CALM, name, 700, entry, value))
    begin = next(x for x in found.detections if x.begin > STRUCK * H).begin
    assert begin == pytest.approx(BASE.detections[0].begin, abs=2e-3) and len(said) == 1
    assert len({x.sample for x in (*found.outliers, *found.calibration_outliers)}) == 1


@pytest.mark.parametrize(("name", "entry", "value"), [BAD[0], BAD[2], BAD[3], BAD[5]])
def test_an_impossible_sample_of_the_watched_log_is_lost_not_an_alarm(name, entry, value):
    """... nor does it stay in the filter; where nothing could be told is said."""
    found, said = learn(spoilt(LOG, name, 1800, entry, value), quiet=QUIET)
    assert len(found.detections) == 1 and len(said) == 1 and f"{name}.{ARM.joints[entry].name} = " in said[0]
    (blind,) = found.blind
    assert "outlier" in blind.why and blind.samples <= 3 and blind.begin <= 1.8 <= blind.end
    later = np.r_[1804:COUNT]
    assert np.abs(found.outputs["residual"] - BASE.outputs["residual"])[later].max() < 0.02


def test_a_blow_is_not_taken_for_a_bad_sample():
    """At rest, samples 10 ms apart: a blow that lasts two samples, many times all else, stays in the log."""
    t = 0.01 * np.arange(300)
    rng = np.random.default_rng(3)
    v = 1e-5 * rng.normal(size=(300, 2))
    v[200:202] = [[0.5, -1.0], [-0.4, 0.8]]
    q = 0.01 * np.cumsum(v, axis=0)
    tau = 1e-4 * rng.normal(size=(300, 2))
    tau[200:202, 1] = 20.0
    log = Log(ARM, t, q, v, tau=tau)
    assert find_outliers(log) == ()
    found, said = learn(log, quiet=(0.0, 1.5))
    assert said == [] and found.detections[0].begin == pytest.approx(2.0, abs=0.011)


def test_a_collision_in_the_calibration_is_left_out():
    """... and named, with joint and times."""
    found, said = learn(LOG, calibration=logged(2.0, 1))
    assert np.all(found.thresholds["residual"] < 1.4 * learn(LOG, calibration=CALM)[0].thresholds["residual"])
    assert any(re.search(r"residual.elbow: 1\d\d from 2.00\d+ to 2.10\d+ s", x) for x in said)
    assert len(found.detections) == 1


def loaded(size):
    """An unmodelled torque on the elbow through all of the calibration, which is no outlier."""
    return replace(CALM, tau=CALM.tau + size * np.sin(7 * CALM.t)[:, None] * [0.0, 1.0])


def test_what_lasts_is_no_outlier():
    found, said = learn(LOG, calibration=loaded(1.0))
    assert found.thresholds["residual"][1] > 1.0 and found.calibration_outliers == () and said == []


def test_implausible_thresholds_are_refused():
    high = r"the threshold of 'elbow' is 2\d\d.* more than half of the torque it can give, 6"
    with pytest.raises(fj.InputError, match=high):
        taught(loaded(60.0), LOG)
    weak = [replace(x, robot=arm(3.0)) for x in (loaded(0.4), LOG)]
    with pytest.raises(fj.InputError, match=r"the threshold of 'elbow' is 1\.\d+, more than half .* can give, 3: "):
        taught(*weak)


def test_a_given_threshold_that_nothing_reaches():
    _, said = learn(LOG, thresholds=1e4)
    assert len(said) == 1 and "hardly anything would be detected; give a smaller one" in said[0]
    for wrong in (np.inf, np.nan):
        with pytest.raises(fj.InputError, match=r"nothing is ever detected|must be positive"):
            fj.detection.detect(LOG, thresholds=wrong)


@pytest.mark.parametrize("sample", [3, 1700])
@pytest.mark.parametrize("stamp", [1e9, np.inf, -5.0])
def test_a_bad_time_stamp_blinds_two_samples(stamp, sample):
    t = LOG.t.copy()
    t[sample] = stamp
    found, said = learn(replace(LOG, t=t), thresholds=0.5)
    assert said == [] and sum(x.samples for x in found.blind) <= 3
    assert [x.begin for x in found.detections] == pytest.approx([2.007], abs=1e-9)
    assert np.all(np.isfinite(found.t)) and np.all(np.diff(found.t) >= 0)


def test_a_clock_set_back():
    t = np.where(np.arange(COUNT) < 1700, LOG.t, LOG.t - 1.6)
    found, _ = learn(replace(LOG, t=t), calibration=CALM)
    (event,) = found.detections
    assert event.begin == pytest.approx(BASE.detections[0].begin - 1.6, abs=2e-3)
    assert found.clock_changes == [pytest.approx((1.699, 0.1))]
    (blind,) = found.blind
    assert "clock set back" in blind.why and blind.samples == 2 and blind.seconds == pytest.approx(3e-3)
    with pytest.raises(fj.InputError, match=r"the times from 0 to 1.5 s occur more than once in the log"):
        fj.detection.detect(replace(LOG, t=t), quiet=QUIET)


def test_the_largest_residual_is_the_largest():
    """... over all joints and samples, not relative to thresholds, nor only while an alarm lasts."""
    found = fj.detection.detect(LOG, thresholds={"residual": [0.001, 2.0]}, confirmation=0.02)
    r, top = np.abs(found.outputs["residual"]), found.largest()
    assert abs(top.value) == r.max() and (top.entry, top.t) == (1, found.t[np.argmax(r.max(axis=1))])
    for x in found.detections:
        first, last = min(event.first for event in x.events), max(event.last for event in x.events)
        assert abs(found.largest(x).value) >= r[first : last + 1].max()
    struck = next(x for x in found.detections if x.begin <= 2.09 <= x.end)
    assert abs(found.largest(struck).value) == r.max() and found.largest(struck).entry == 1
    assert {event.entry for event in struck.events} >= {0}, "the shoulder is far beyond its own threshold"


def test_a_peak_before_an_alarm_is_confirmed():
    """A residual that has been falling for long when its alarm begins."""
    t = H * np.arange(400)
    tau = np.where(t < 0.1, 0.0, np.where(t < 0.15, -8.0, -2.0))[:, None] * [0.0, 1.0]
    still = np.zeros((400, 2))
    found = fj.detection.detect(Log(ARM, t, still, still, tau=tau), thresholds=1.0, cutoff=100.0, confirmation=0.15)
    (detection,) = found.detections
    peak = np.abs(found.outputs["residual"]).max()
    assert peak > 7.0 and detection.begin > 0.24
    assert abs(found.largest(detection).value) == abs(detection.events[0].peak) == peak


@pytest.mark.parametrize("quiet", [(5,), 3, (1.0, 0.5), (0.0, np.nan), ("a", "b"), "xy"])
def test_quiet_must_be_two_times(quiet):
    with pytest.raises(fj.InputError, match="give two times in s"):
        fj.detection.detect(LOG, quiet=quiet)
