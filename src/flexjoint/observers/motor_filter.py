"""The Kalman filter of one motor: its motion and the torque of its spring, from the encoder and the motor torque.

    B θ'' = τ − τ_f − τ_e + e,    τ_e'' = w

The torque of the spring is an integrated random walk: w is white noise, as is the disturbance e of the motor.  The
state (θ, θ', τ_e, τ_e') is observable from θ alone; a torque sensor measures τ_e as well.  In units of the encoder
noise σ, the period h and B the filter depends on three numbers, so that one Riccati equation fits motors of any size.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..numerics import power, product
from ..types import Expression, FloatArray
from .kalman import stationary_filter

SETTLED = 1e-3  # what is left of an initial error, in units of the filter
TRANSITION = np.array([[1, 1, -1 / 2, -1 / 6], [0, 1, -1, -1 / 2], [0, 0, 1, 1], [0, 0, 0, 1.0]])
RESPONSE = np.array([-1 / 6, -1 / 2, 1.0, 1.0])  # of the state to w, times s³, s², s and 1 a time s later
POWERS = np.array([3, 2, 1, 0])


class MotorNoise(NamedTuple):
    """Noise of a motor and its sensors, and the inertia that they act on.

    Args:
        inertia: B, kg m² or kg.
        encoder: Standard deviation of the measured position, rad or m.
        spring: Square root of the spectral density of τ_e'', Nm/s^1.5 or N/s^1.5.
        motor: Square root of the spectral density of the disturbing torque, Nm √s or N √s.
        sensor: Standard deviation of the torque sensor, Nm or N; None without one.
    """

    inertia: float
    encoder: float
    spring: float
    motor: float
    sensor: float | None


class MotorFilter(NamedTuple):
    """The filter of a motor.

    Args:
        gain: (4, 2): what the innovations of encoder and torque sensor add to (θ, θ', τ_e, τ_e').
        covariance: Covariance (4, 4) of (θ, θ', τ_e, τ_e') after a measurement.
        settling: Periods until an initial error is forgotten.
    """

    gain: FloatArray
    covariance: FloatArray
    settling: int


@lru_cache(maxsize=1024)
def motor_filter(noise: MotorNoise, period: float) -> MotorFilter:
    """The stationary filter of a motor that is sampled every `period` seconds."""
    force = power(noise.inertia * noise.encoder, 2)
    walk = power(noise.spring, 2) * power(period, 7) / force
    disturbance = power(noise.motor, 2) * power(period, 3) / force
    Q = walk * np.multiply.outer(RESPONSE, RESPONSE) / (np.add.outer(POWERS, POWERS) + 1)
    Q[:2, :2] += disturbance * np.array([[1 / 3, 1 / 2], [1 / 2, 1.0]])
    H, R = np.eye(4)[:1], np.ones(1)
    if noise.sensor is not None:
        H = np.eye(4)[[0, 2]]
        R = np.array([1.0, power(noise.sensor, 2) * power(period, 4) / force])
    gain, covariance = stationary_filter(TRANSITION, H, Q, R)
    torque = noise.inertia * noise.encoder / power(period, 2)
    units = np.array([noise.encoder, noise.encoder / period, torque, torque / period])
    full = np.zeros((4, 2))
    full[:, : len(H)] = units[:, None] * gain / np.array([noise.encoder, torque])[: len(H)]
    settling = periods_to_settle(product(np.eye(4) - product(gain, H), TRANSITION))
    return MotorFilter(full, covariance * np.multiply.outer(units, units), settling)


def periods_to_settle(A: FloatArray) -> int:
    """The power of two k from which on Aᵏ, a stable matrix, is small."""
    for k in range(40):
        if np.max(np.abs(A)) < SETTLED:
            return 1 << k
        A = product(A, A)
    return 1 << 40


class MotorState(NamedTuple):
    """Motion of the motors and torques that their springs exert on them, columns (m,)."""

    theta: Expression
    theta_v: Expression
    tau: Expression
    tau_v: Expression

    def after(self, h: Expression, torque: Expression, inertia: Expression) -> MotorState:
        """The state h seconds later under a held torque, without that of the spring."""
        a, jerk = (torque - self.tau) / inertia, self.tau_v / inertia
        theta = self.theta + h * (self.theta_v + h * (a / 2 - h * jerk / 6))
        return MotorState(theta, self.theta_v + h * (a - h * jerk / 2), self.tau + h * self.tau_v, self.tau_v)
