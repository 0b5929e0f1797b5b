"""Differentiators and the noise they pass on."""

import numpy as np
import pytest
from scipy.linalg import solve_discrete_lyapunov

import flexjoint as fj

H = 1e-3


def run(observer, measurements):
    state, found = observer.start(measurements[0]), []
    for x in measurements:
        state, estimate = observer(state, x)
        found.append(estimate)
    return np.array(found)


def test_the_filtered_derivative_of_a_ramp_is_its_slope():
    """... approached as 1 − e^(−ωt), exactly."""
    observer = fj.observers.FilteredDerivative(H, 50.0)
    t = H * np.arange(100)
    found = run(observer, np.outer(t, [2.0, -3.0]))
    assert np.allclose(found, np.outer(1 - np.exp(-50.0 * t), [2.0, -3.0]), rtol=1e-12)


def test_the_delay_of_the_filtered_derivative():
    observer = fj.observers.FilteredDerivative(H, 50.0)
    t = H * np.arange(2000)
    found = run(observer, t**2 / 2)
    assert np.isclose(t[-1] - found[-1], 1 / 50, rtol=1e-3)


def test_the_kalman_filter_follows_a_ramp():
    observer = fj.observers.KalmanDifferentiator(H, 1e-3, 1.0)
    t = H * np.arange(4000)
    found = run(observer, np.outer(t, [2.0, -3.0]))
    assert np.allclose(found[-1], [[2.0 * t[-1], -3.0 * t[-1]], [2.0, -3.0]], rtol=1e-9)


@pytest.mark.parametrize(("noise", "process_noise"), [(1e-3, 1.0), (1e-6, 10.0), (1.0, 0.01)])
def test_the_covariance_of_the_kalman_filter(noise, process_noise):
    """Of the error of any filter with this gain, driven by both noises, by Lyapunov's equation; and it is the least."""
    observer = fj.observers.KalmanDifferentiator(H, noise, process_noise)
    F = np.array([[1, H], [0, 1]])
    Q = process_noise**2 * np.array([[H**3 / 3, H**2 / 2], [H**2 / 2, H]])

    def covariance(gain):
        rest = np.eye(2) - np.outer(gain, [1, 0])
        return solve_discrete_lyapunov(rest @ F, rest @ Q @ rest.T + noise**2 * np.outer(gain, gain))

    assert np.allclose(covariance(observer.gain), observer.covariance, rtol=1e-7)
    for factors in ([1.05, 1.0], [0.95, 1.0], [1.0, 1.05], [1.0, 0.95]):
        assert covariance(observer.gain * factors)[1, 1] > observer.covariance[1, 1]


def test_the_covariance_of_the_filtered_derivative():
    observer = fj.observers.FilteredDerivative(H, 200.0)
    alpha = np.exp(-200.0 * H)
    weights = (1 - alpha) / H * np.concatenate([[1.0], -(1 - alpha) * alpha ** np.arange(2000)])
    impulse = np.zeros(2001)
    impulse[0] = 1.0
    state, found = observer.start(0.0), []
    for x in impulse:
        state, rate = observer(state, x)
        found.append(rate)
    assert np.allclose(found, weights, rtol=1e-9, atol=1e-12)
    C = observer.covariance([1e-3, 2e-3])
    assert C.shape == (2, 2, 2)
    assert np.allclose(C[1, 1], np.array([1e-6, 4e-6]) * np.sum(weights**2), rtol=1e-9)
    assert np.allclose(C[0, 1], np.array([1e-6, 4e-6]) * weights[0], rtol=1e-9)


def test_noise_of_the_sensors_reaches_the_torque():
    """Motor encoders and torque sensors, differentiated; against 20 000 draws of the same noise."""
    robot = fj.load("vsa_3r").with_drives([fj.ElasticDrive(500.0, fj.Motor(0.4))] * 3)
    rng = np.random.default_rng(0)
    arrays = rng.normal(size=(5, 3))
    encoder, sensor = fj.observers.KalmanDifferentiator(H, 1e-6, 0.1), fj.observers.FilteredDerivative(H, 100.0)
    covariance = np.zeros((5, 5, 3))
    covariance[:2, :2] = encoder.covariance[:, :, None]
    covariance[2:4, 2:4] = sensor.covariance(np.full(3, 1e-3))
    found = fj.observers.output_covariance(fj.feedback_linearization, robot, arrays, covariance, measured="theta tau_e")
    draws = np.array([rng.multivariate_normal(np.zeros(5), covariance[:, :, i], size=20_000) for i in range(3)])
    noisy = np.array(arrays)[:, None] + draws.transpose(2, 1, 0)
    tau = fj.feedback_linearization(robot, *noisy, measured="theta tau_e")
    sampled = np.cov(tau.T)
    scale = np.sqrt(np.outer(np.diag(sampled), np.diag(sampled)))
    assert np.max(np.abs(found - sampled) / scale) < 0.03


def test_noise_through_the_whole_tracking_law():
    robot = fj.load("vsa_3r").with_drives([fj.ElasticDrive(500.0, fj.Motor(0.4))] * 3)
    rng = np.random.default_rng(1)
    arrays = rng.normal(size=(6, 3)) * 0.1
    gains = np.broadcast_to(fj.control.gains_from_poles([-10] * 4)[:, None], (4, 3))
    tracking = {"reference": list(np.zeros((5, 3))), "gains": list(gains)}
    covariance = np.zeros((6, 6, 3))
    covariance[0, 0] = 1e-12
    found = fj.observers.output_covariance(
        fj.control.laws.linearizing_control, robot, arrays, covariance, tracking=tracking
    )
    steps = 1e-6 * np.eye(3)
    J = [(torque(robot, arrays, d, tracking) - torque(robot, arrays, -d, tracking)) / 2e-6 for d in steps]
    assert np.allclose(found, 1e-12 * np.array(J).T @ np.array(J), rtol=1e-5)


def torque(robot, arrays, step, tracking):
    return fj.control.laws.linearizing_control(robot, arrays[0] + step, *arrays[1:], tracking=tracking).tau


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: fj.observers.FilteredDerivative(0.0, 10.0), "period is 0.0"),
        (lambda: fj.observers.FilteredDerivative(1e-3, np.nan), "cutoff is nan"),
        (lambda: fj.observers.KalmanDifferentiator(1e-3, -1.0, 1.0), "noise is -1.0"),
        (lambda: fj.observers.KalmanDifferentiator(1e-3, 1.0, "much"), "process_noise is 'much'"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(fj.InputError, match=message):
        make()


@pytest.mark.parametrize("covariance", [np.zeros((5, 5, 2)), -np.ones((5, 5, 3)), np.full((5, 5, 3), np.nan)])
def test_bad_covariances(covariance):
    robot = fj.load("vsa_3r").with_drives([fj.ElasticDrive(500.0, fj.Motor(0.4))] * 3)
    with pytest.raises(fj.InputError, match="covariance"):
        fj.observers.output_covariance(fj.feedback_linearization, robot, np.zeros((5, 3)), covariance)


@pytest.mark.parametrize(("arrays", "message"), [([np.full(3, np.nan)], "finite"), ([np.zeros(2)], r"shape \(2,\)")])
def test_bad_arrays(arrays, message):
    with pytest.raises(fj.InputError, match=message):
        fj.observers.output_covariance(fj.gravity_torque, fj.load("hua_3r"), arrays, np.zeros((1, 1, 3)))
