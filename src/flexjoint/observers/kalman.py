"""Position and velocity from a noisy position by a stationary Kalman filter; of a torque and its rate likewise.

The quantity is modelled as driven by white noise in its second derivative: x'' = w.  The gain is the stationary one, so
the filter is linear and constant, and its covariance says what noise reaches a control law (`output_covariance`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..checks import positive
from ..numerics import power, product, solve


class MotionEstimate(NamedTuple):
    """A quantity and its rate."""

    value: Any
    rate: Any


@dataclass(frozen=True)
class KalmanDifferentiator:
    """A filter called every `period` seconds with measurements of standard deviation `noise`.

    `agility` is the square root of the spectral density of x'', that is how far the rate wanders, per √s.  A small one
    smooths more and follows later.
    """

    period: float
    noise: float
    agility: float
    gain: np.ndarray = field(init=False, repr=False, compare=False)
    covariance: np.ndarray = field(init=False, repr=False, compare=False)  # of (value, rate) after a measurement

    def __post_init__(self) -> None:
        for name in ("period", "noise", "agility"):
            positive("KalmanDifferentiator", name, getattr(self, name))
        # in units of period and noise, where only agility² period³ / noise² is left
        index = power(self.agility, 2) * power(self.period, 3) / power(self.noise, 2)
        before = predicted_covariance(index)
        gain = before[:, 0] / (before[0, 0] + 1.0)
        after = before - np.multiply.outer(before[0], before[0]) / (before[0, 0] + 1.0)
        units = np.array([1.0, 1.0 / self.period])
        object.__setattr__(self, "gain", gain * units)
        object.__setattr__(self, "covariance", power(self.noise, 2) * after * np.multiply.outer(units, units))

    def start(self, measurement: Any, rate: Any = 0.0) -> MotionEstimate:
        x = np.asarray(measurement, dtype=float)
        return MotionEstimate(x, np.broadcast_to(np.asarray(rate, dtype=float), x.shape))

    def __call__(self, state: MotionEstimate, measurement: Any) -> tuple[MotionEstimate, MotionEstimate]:
        """The next state, which is the estimate: twice."""
        return self.law(state, np.asarray(measurement, dtype=float))

    def law(self, state: MotionEstimate, x: Any) -> tuple[MotionEstimate, MotionEstimate]:
        """The same of arrays or of SX."""
        ahead = state.value + self.period * state.rate
        surprise = x - ahead
        estimate = MotionEstimate(ahead + self.gain[0] * surprise, state.rate + self.gain[1] * surprise)
        return estimate, estimate


def predicted_covariance(index: float) -> np.ndarray:
    """Of (value, rate) before a measurement, in units of noise and period: the solution of the Riccati equation
    P = F (P − P Hᵀ (H P Hᵀ + 1)⁻¹ H P) Fᵀ + Q, by doubling  [Anderson sec. 6.7]."""
    A, G = np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([[1.0, 0.0], [0.0, 0.0]])  # Fᵀ, HᵀH
    P = index * np.array([[1 / 3, 1 / 2], [1 / 2, 1.0]])
    for _ in range(100):
        W = np.eye(2) + product(G, P)
        step = product(A.T, P, solve(W, A))
        A, G = product(A, solve(W, A)), G + product(A, solve(W, G), A.T)
        P = P + (step + step.T) / 2
        if not np.any(np.abs(step) > 1e-16 * np.abs(P)):
            return P
    return P
