"""Thresholds raise as many false alarms as they promise, and the noise of residuals is what sensors make of it."""

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.observers.thresholds import crossings

H, CUTOFF = 1e-3, 40.0
ROBOT = fj.random_robot(2, 7, prismatic=0.0, elastic=0.5)


def sequence(rho, count, seed=0):
    """Normal, of deviation 1, with the correlation ρ."""
    from scipy.signal import lfilter

    rng = np.random.default_rng(seed)
    return lfilter([np.sqrt(1 - rho**2)], [1, -rho], rng.normal(size=count), zi=[rho * rng.normal()])[0]


def test_crossings_of_independent_samples():
    from scipy.stats import norm

    a = np.array([0.0, 1.0, 3.0, 5.0])
    assert np.allclose(crossings(a, np.zeros(4)), norm.cdf(a) * norm.sf(a), rtol=1e-12)


@pytest.mark.parametrize("rho", [0.5, 0.95])
def test_crossings_of_correlated_samples(rho):
    from scipy.stats import multivariate_normal, norm

    both = multivariate_normal([0, 0], [[1, rho], [rho, 1]]).cdf([1.5, 1.5])
    assert crossings(1.5, rho) == pytest.approx(norm.cdf(1.5) - both, rel=1e-5)


def test_false_alarms_are_as_rare_as_asked_for():
    count, per_hour = 2_000_000, 3600.0 * 0.3  # 600 alarms in 2000 s, by two entries
    r = np.stack([2.0 * sequence(0.95, count, 1), 0.5 * sequence(0.8, count, 2)], axis=-1)
    spread = {"residual": fj.observers.Spread(np.zeros(2), np.array([2.0, 0.5]), np.array([0.95, 0.8]))}
    above = np.abs(r) > fj.observers.false_alarm_thresholds(spread, per_hour, H)["residual"]
    alarms = np.count_nonzero(above[1:] & ~above[:-1], axis=0)
    assert np.all(np.abs(alarms - 300) < 4 * np.sqrt(300)), alarms  # four standard deviations of a count


def test_a_log_tells_its_spread():
    residual = fj.observers.MomentumResidual(ROBOT.rigid(), CUTOFF)
    r = np.stack([3.0 + 2.0 * sequence(0.9, 200_000, 3), sequence(0.5, 200_000, 4)], axis=-1)
    status = np.zeros((len(r), 1))
    status[100:200], r[100:200] = fj.observers.Status.INVALID, 1e6
    found = fj.observers.spread_of_log(residual, {"residual": r, "status": status})["residual"]
    assert np.allclose(found.mean, [3.0, 0.0], atol=0.1)
    assert np.allclose(found.deviation, [2.0, 1.0], rtol=0.02)
    assert np.allclose(found.correlation, [0.9, 0.5], atol=0.01)
    with pytest.raises(fj.InputError, match="no two good samples"):
        fj.observers.spread_of_log(residual, {"residual": r, "status": np.full((len(r), 1), 4.0)})


@pytest.mark.parametrize("share", [0.0002, 0.05])
def test_bad_samples_do_not_move_a_spread(share):
    """... however large; up to a twentieth of all samples change it by little."""
    residual = fj.observers.MomentumResidual(ROBOT.rigid(), CUTOFF)
    r = np.stack([3.0 + 2.0 * sequence(0.9, 5000, 3), sequence(0.5, 5000, 4)], axis=-1)
    good = fj.observers.spread_of_log(residual, {"residual": r, "status": np.zeros((5000, 1))})["residual"]
    bad = r.copy()
    bad[2000 : 2000 + round(share * 5000)] = 1e6
    found = fj.observers.spread_of_log(residual, {"residual": bad, "status": np.zeros((5000, 1))})["residual"]
    for wanted, other in zip(good, found):
        assert np.allclose(other, wanted, rtol=0.4 if share > 0.01 else 0.002, atol=0.3 if share > 0.01 else 0.002)


def test_a_residual_that_is_mostly_zero_still_spreads():
    residual = fj.observers.MomentumResidual(ROBOT.rigid(), CUTOFF)
    r = np.where(np.arange(5000) < 4800, 0.0, sequence(0.5, 5000, 4))[:, None] * [1.0, 0.0]
    found = fj.observers.spread_of_log(residual, {"residual": r, "status": np.zeros((5000, 1))})["residual"]
    assert 0.1 < found.deviation[0] < 1.0 and found.deviation[1] == 0.0


@pytest.mark.parametrize("kind", ["momentum", "joint torque"])
def test_noise_of_sensors_spreads_as_computed(kind):
    """... against many noisy logs; the motion is one whose velocity matters."""
    robot = ROBOT.rigid() if kind == "momentum" else ROBOT
    residual = (
        fj.observers.MomentumResidual(robot, 400.0)
        if kind == "momentum"
        else fj.observers.JointTorqueResidual(robot, 300.0, 400.0)
    )
    q, v, theta_v = np.array([0.3, -0.5]), np.array([1.0, -2.0]), np.array([0.5, 1.0])
    base = fj.observers.Measurement(q, v, q, theta_v, np.array([1.0, 2.0]), np.zeros(2))
    noise = fj.observers.Measurement(1e-4, 2e-3, None, np.array([1e-3, 3e-3]), 0.05)
    wanted = fj.observers.spread_of_noise(residual, base, noise, torque_noise=0.1)
    rng = np.random.default_rng(5)
    shape = (200, 640, 2)
    noisy = [x + (0.0 if s is None else s) * rng.normal(size=shape) for x, s in zip(base, noise)]
    found = residual.run(H * np.arange(640), fj.observers.Measurement(*noisy), 0.1 * rng.normal(size=shape))
    late = {name: x[:, 128:] for name, x in found.items()}
    for name, measured in fj.observers.spread_of_log(residual, late).items():
        there = wanted[name].deviation > 0
        assert np.any(there)
        assert np.allclose(measured.deviation[there], wanted[name].deviation[there], rtol=0.02)
        assert np.allclose(measured.correlation[there], wanted[name].correlation[there], atol=0.01)
        assert np.all(measured.deviation[~there] == 0)


@pytest.mark.parametrize("wrong", [np.inf, [1.0, np.inf], np.nan])
def test_a_detector_takes_no_threshold_that_detects_nothing(wrong):
    with pytest.raises(fj.InputError, match=r"nothing is ever detected|must be positive"):
        fj.observers.Detector(fj.observers.MomentumResidual(ROBOT.rigid(), CUTOFF), {"residual": wrong})
    mixed = fj.observers.JointTorqueResidual(ROBOT, CUTOFF, CUTOFF)
    zero = mixed.always_zero["motor"]
    assert zero.any() and not zero.all()
    fj.observers.Detector(mixed, {"motor": np.where(zero, np.inf, 1.0)})
    with pytest.raises(fj.InputError, match="nothing is ever detected"):
        fj.observers.Detector(mixed, {"motor": np.where(zero, 1.0, np.inf)})


def test_noise_that_is_missing_is_named():
    residual = fj.observers.MomentumResidual(ROBOT.rigid(), CUTOFF)
    here = fj.observers.Measurement(np.zeros(2), np.zeros(2), None, None, None)
    with pytest.raises(fj.InputError, match="spread_of_noise: v must be a number or 2 numbers, not None"):
        fj.observers.spread_of_noise(residual, here, fj.observers.Measurement(0.1, None, None, None, None))
    with pytest.raises(fj.InputError, match="a standard deviation is negative"):
        fj.observers.spread_of_noise(residual, here, fj.observers.Measurement(0.1, -0.1, None, None, None))


def test_thresholds_of_a_robot_with_rigid_joints_are_those_a_detector_takes():
    """The motor of a rigid joint has no residual of its own: noise gives 0 there, which means no alarm."""
    residual = fj.observers.JointTorqueResidual(fj.load("hua_3r"), 50.0, 50.0)
    level = fj.observers.Spread(np.zeros(3), np.array([0.0, 0.0, 0.1]), np.full(3, 0.9))
    thresholds = fj.observers.false_alarm_thresholds({"motor": level})
    kept = fj.observers.Detector(residual, thresholds).thresholds["motor"]
    assert np.array_equal(kept[:2], [np.inf, np.inf]) and kept[2] == thresholds["motor"][2]
    with pytest.raises(fj.InputError, match="positive"):
        fj.observers.Detector(residual, {"link": [0.0, 1.0, 1.0]})
