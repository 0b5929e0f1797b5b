"""Stationary Kalman filters, and the one of a signal and its rate from noisy measurements.

The second derivative of the signal is modelled as white noise: x'' = w.  The gain is the stationary one, so the filter
is linear and time-invariant, and its covariance tells which noise reaches a control law (`output_covariance`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..checks import positive
from ..numerics import power, product, solve
from ..types import FloatArray, Signal
from .differentiator import Differentiator


class MotionEstimate(NamedTuple):
    """State and estimate of a `KalmanDifferentiator`.

    Args:
        value: The estimated signal, any shape.
        rate: Its rate, of the same shape, per s.
    """

    value: Signal
    rate: Signal


@dataclass(frozen=True)
class KalmanDifferentiator(Differentiator):
    """A stationary Kalman filter of position and velocity, or of torque and torque rate.

    Args:
        period: Time between two samples, s.
        noise: Standard deviation of the measurements, in their unit.
        process_noise: Square root of the spectral density of x'', in the unit of the signal per s^1.5.  A smaller one
            smooths more and follows with a longer delay.

    Attributes:
        gain: Kalman gain (2,) of value and rate.
        covariance: Covariance (2, 2) of (value, rate) after a measurement.

    Raises:
        InputError: A number is not positive.

    Example:
        >>> import flexjoint as fj
        >>> kalman = fj.observers.KalmanDifferentiator(period=1e-3, noise=1e-5, process_noise=1.0)
        >>> state = kalman.start([0.0], rate=2.0)
        >>> state, estimate = kalman(state, [0.002])
        >>> estimate.rate
        array([2.])
    """

    period: float
    noise: float
    process_noise: float
    state: ClassVar[Any] = MotionEstimate
    gain: FloatArray = field(init=False, repr=False, compare=False)
    covariance: FloatArray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("period", "noise", "process_noise"):
            positive("KalmanDifferentiator", name, getattr(self, name))
        # in units of period and noise only process_noise² period³ / noise² is left
        index = power(self.process_noise, 2) * power(self.period, 3) / power(self.noise, 2)
        F, H = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[1.0, 0.0]])
        gain, after = stationary_filter(F, H, index * np.array([[1 / 3, 1 / 2], [1 / 2, 1.0]]), np.ones(1))
        units = np.array([1.0, 1.0 / self.period])
        object.__setattr__(self, "gain", gain[:, 0] * units)
        object.__setattr__(self, "covariance", power(self.noise, 2) * after * np.multiply.outer(units, units))

    def law(self, state: MotionEstimate, x: Signal) -> tuple[MotionEstimate, MotionEstimate]:
        """The next state and the estimate, which is the state, one period later, for arrays or SX."""
        ahead = state.value + self.period * state.rate
        innovation = x - ahead
        estimate = MotionEstimate(ahead + self.gain[0] * innovation, state.rate + self.gain[1] * innovation)
        return estimate, estimate


class StationaryFilter(NamedTuple):
    """A Kalman filter in its stationary state.

    Args:
        gain: Kalman gain (n, k).
        covariance: Covariance (n, n) of the state after a measurement.
    """

    gain: FloatArray
    covariance: FloatArray


def stationary_filter(F: FloatArray, H: FloatArray, Q: FloatArray, R: FloatArray) -> StationaryFilter:
    """The stationary Kalman filter of x⁺ = F x + w, y = H x + e.

    Args:
        F: State transition (n, n).
        H: Measurement matrix (k, n).
        Q: Covariance (n, n) of w.
        R: Variances (k,) of e, positive.
    """
    P = predicted_covariance(F, H, Q, R)
    HP = product(H, P)
    gain = solve(product(HP, H.T) + np.diag(R), HP).T
    after = P - product(gain, HP)
    return StationaryFilter(gain, (after + after.T) / 2)


def predicted_covariance(F: FloatArray, H: FloatArray, Q: FloatArray, R: FloatArray) -> FloatArray:
    """The stationary covariance (n, n) before a measurement; arguments as of `stationary_filter`.

    The solution of the Riccati equation P = F (P − P Hᵀ (H P Hᵀ + R)⁻¹ H P) Fᵀ + Q, by doubling  [Anderson sec. 6.7].
    """
    A, G, P = F.T, product(H.T, H / R[:, None]), Q
    n = len(F)
    for _ in range(100):
        found = solve(np.eye(n) + product(G, P), np.hstack([A, G]))
        WA, WG = found[:, :n], found[:, n:]
        step = product(A.T, P, WA)
        A, G = product(A, WA), G + product(A, WG, A.T)
        P = P + (step + step.T) / 2
        if not np.any(np.abs(step) > 1e-16 * np.abs(P)):
            return P
    return P
