"""Noise of encoders, torque sensors and motor torques of a recording.

Encoders and torque sensors: from differences of high order, in which motion does not show.  Motor torques: from the
residuals of the least squares at low frequencies.
"""

from __future__ import annotations

import numpy as np

from ..types import FloatArray
from .corrected_simulation import CorrectedSimulation, Noise
from .identifiability import resolution
from .least_squares import Fit

DIFFERENCES = 4  # of positions, whose variance is that of noise: Σ of squared binomials times σ²
SQUARED_BINOMIALS = 70.0
SMALLEST = 1e-6  # noise relative to the signal: logs of simulations may have none
LOW = 0.4  # share of the bandwidth where the residual of a motor is noise of the torque
ITERATIONS = 20


def noise(simulation: CorrectedSimulation, start: Fit, first: int) -> Noise:
    """Noise of the instruments of a recording.

    Args:
        simulation: Of the recording.
        start: Result of the least squares.
        first: Place of the recording's first joint among `start.white`.
    """
    recording, model = simulation.recording, simulation.model
    outputs = np.concatenate(simulation.measured.transpose(1, 0, 2))
    instruments = np.array([instrument_noise(x) for x in outputs.T])
    n = model.robot.n
    torques = np.zeros(2 * n)
    assert recording.tau is not None
    for white in start.white[first:]:
        i, channels = white.equations.joint, white.equations.channels
        row = next((k for k, x in enumerate(channels) if x in ("motor", "rigid")), None)
        if row is None or torques[i]:
            continue
        omega = 2 * np.pi * recording.frequencies
        leverage = np.mean(white.leverage(start.inverse)[:, row].reshape(2, -1), axis=0)
        power = np.abs(white.equations.residual[:, row]) ** 2 / np.maximum(1 - leverage, 0.1) / recording.kept(i)
        B, K = (
            0.0 if k is None else start.values[k] for k in (model.unknowns.at(i, x) for x in ("inertia", "stiffness"))
        )
        link, motor = instruments[i], instruments[model.coordinate(i)]
        encoders = ((K - B * omega**2) * motor) ** 2 + (K * link) ** 2
        torques[i] = torque_noise(power / recording.period, encoders)
    floor = SMALLEST * np.maximum(np.std(recording.tau, axis=0), 1e-6)
    torques[:n] = np.maximum(torques[:n], floor)
    torques[n:] = SMALLEST * torques[:n]
    return Noise(instruments, torques)


def torque_noise(power: FloatArray, encoders: FloatArray) -> float:
    """Standard deviation of the noise of a motor torque.

    Args:
        power: Of the residual of the motor's equation, per frequency.
        encoders: What the noise of encoders has to do with it.
    """
    few = slice(2, max(8, int(LOW * len(power))))
    power, encoders = power[few], encoders[few]
    found = float(np.median(power)) / np.log(2)  # powers are exponential: their median is ln 2 of their mean
    for _ in range(ITERATIONS):
        found *= float(np.median(power / np.maximum(found + encoders, 1e-300))) / np.log(2)
    return float(np.sqrt(found))


def instrument_noise(x: FloatArray) -> float:
    """Standard deviation of the noise of a signal that changes slowly."""
    power = float(np.mean(np.diff(x, DIFFERENCES) ** 2)) / SQUARED_BINOMIALS
    return float(np.sqrt(max(power, resolution(x) ** 2 / 12, (SMALLEST * float(np.std(x))) ** 2, 1e-24)))
