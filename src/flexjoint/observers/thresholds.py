"""Thresholds of residuals for a chosen rate of false alarms.

A residual without faults is taken as normal and stationary, with a deviation σ and a correlation ρ from one sample to
the next: measured in a log without faults, or computed from the noise of the sensors.  It rises through a level a σ
between two samples with the probability

    P = 1/2π ∫ exp(−a²/(1 + cos u)) du,  u = 0 ... arccos ρ

and an alarm is such a rise, or a fall through −a σ.  Hysteresis and confirmation (`Detector`) only make alarms fewer.

What a log tells must not depend on a few samples that are wrong: σ is the larger of what the median and the quantile of
90 % of |r − median| say of a normal distribution, ρ that of samples within TRIM σ.  Less than a tenth of the samples,
however large, move σ by a bounded amount; without them it is that of all samples, to 2 % from some thousand on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..checks import positive
from ..errors import NOT_NUMBERS, InputError
from ..numerics import atan2, cos, evaluate, exp, gauss_legendre, product, stationary_covariance
from ..spatial import ca
from .base import Measurement
from .residual import Status
from .timed import TimedObserver

NODES = 64  # of the integral
HIGHEST = 38.0  # standard deviations: beyond, a normal density is zero in double precision
SETTLED = 1e-12
QUANTILES = {0.5: 0.6744897501960817, 0.9: 1.6448536269514722}  # of |x|, x normal with deviation 1
RARE = (0.99, 2.5758293035489004)  # where nine tenths of a residual are the same number
TRIM = 4.0  # deviations: samples beyond tell nothing of the correlation


class Spread(NamedTuple):
    """Of a residual without faults, an entry a channel: mean, standard deviation, correlation from sample to sample.

    From a log they are robust estimates: the mean is the median, see `spread_of_log`.
    """

    mean: np.ndarray
    deviation: np.ndarray
    correlation: np.ndarray


def spread_of_log(residual: TimedObserver, outputs: Mapping[str, np.ndarray]) -> dict[str, Spread]:
    """From what `residual.run` gave for logs without faults; samples that were not good do not count.

    Robust: up to a tenth of the samples may be far off.
    """
    good = np.asarray(outputs["status"])[..., 0] <= Status.SATURATED
    both = good[..., 1:] & good[..., :-1]
    if np.count_nonzero(both) < 2:
        raise InputError("spread_of_log: the log has no two good samples in a row; nothing can be learnt from it")
    found = {}
    for name in residual.channels:
        r = np.asarray(outputs[name])
        center = np.median(r[good], axis=0)
        deviation = robust_deviation(r[good] - center)
        x, y = r[..., 1:, :][both] - center, r[..., :-1, :][both] - center
        usual = (np.abs(x) <= TRIM * deviation) & (np.abs(y) <= TRIM * deviation)
        x, y = np.where(usual, x, 0.0), np.where(usual, y, 0.0)
        square = np.sum(x * x + y * y, axis=0) / 2
        found[name] = Spread(center, deviation, np.sum(x * y, axis=0) / np.where(square > 0, square, 1.0))
    return found


def robust_deviation(x: np.ndarray) -> np.ndarray:
    """The standard deviation of samples (m, size) around 0, whatever a tenth of them are."""
    sizes = np.abs(x)
    found = np.max([np.quantile(sizes, share, axis=0) / normal for share, normal in QUANTILES.items()], axis=0)
    return np.where(found > 0, found, np.quantile(sizes, RARE[0], axis=0) / RARE[1])


def spread_of_noise(
    residual: TimedObserver, measurement: Measurement, noise: Measurement, torque: Any = 0.0, torque_noise: Any = 0.0
) -> dict[str, Spread]:
    """From white noise of the sensors, to first order, around a state of motion that lasts.

    `noise` has the standard deviations of what the residual reads, a number or one an entry each.  The residual is
    linearized as it is computed, with its state, and the covariance solves Lyapunov's equation.
    """
    given = [*residual.fields(measurement), np.broadcast_to(torque, residual.robot.motor_count)]
    deviations = [*residual.fields(noise), torque_noise]
    x, w = ca.SX.sym("x", residual.memory[0]), [ca.SX.sym(array.name, array.size) for array in residual.arrays]
    h = ca.SX.sym("h")
    after, outputs = residual.step(x, h, residual.sensed(w[:-1]), w[-1])
    r = ca.vertcat(*(outputs[name] for name in residual.channels))
    sensed = ca.vertcat(*w)
    now = [checked(array.name, y, array.size) for array, y in zip(residual.arrays, given)]
    spreads = np.concatenate([checked(array.name, y, array.size) for array, y in zip(residual.arrays, deviations)])
    if np.any(spreads < 0):
        raise InputError("spread_of_noise: a standard deviation is negative")
    W = spreads * spreads
    at = [[residual.period], [settled(residual, now)], [np.concatenate(now)]]
    jacobians = [ca.jacobian(y, z) for y in (after, r) for z in (x, sensed)]
    A, B, C, D = (y[0] for y in evaluate([h, x, sensed], at, jacobians))
    X = stationary_covariance(A, product(B * W, B.T))
    now_now = product(C, X, C.T) + product(D * W, D.T)
    next_now = product(C, product(A, X, C.T) + product(B * W, D.T))
    variance = np.diag(now_now)
    correlation = np.diag(next_now) / np.where(variance > 0, variance, 1.0)
    edges = np.cumsum(list(residual.channels.values()))[:-1]
    parts = (np.split(y, edges) for y in (np.zeros(len(variance)), np.sqrt(variance), correlation))
    return {name: Spread(*part) for name, *part in zip(residual.channels, *parts)}


def settled(residual: TimedObserver, now: Sequence[np.ndarray]) -> np.ndarray:
    """The state after many equal samples."""
    state = residual.blank[0]
    for _ in range(100_000):
        state, before = residual.kernel(state, residual.period, *now)[0], state
        if np.max(np.abs(state - before)) <= SETTLED * np.max(np.abs(state)):
            return state
    return state


def checked(name: str, value: Any, size: int) -> np.ndarray:
    try:
        found = np.broadcast_to(np.asarray(value, dtype=float), size)
    except NOT_NUMBERS:
        found = np.array(np.nan)
    if not np.all(np.isfinite(found)):
        raise InputError(f"spread_of_noise: {name} must be a number or {size} finite numbers, not {value!r}")
    return found


def crossings(level: Any, correlation: Any) -> np.ndarray:
    """The probability that a normal sequence of deviation 1 rises through a level between two samples."""
    nodes, weights = gauss_legendre(NODES)
    a, rho = np.asarray(level, dtype=float)[..., None], np.clip(np.asarray(correlation, dtype=float), -1.0, 1.0)
    end = np.reshape([atan2(math.sqrt(1 - x * x), x) for x in rho.ravel().tolist()], rho.shape)  # arccos ρ
    u = end[..., None] / 2 * (1 + nodes)
    return np.sum(weights * exp(-(a * a) / (1 + cos(u))), axis=-1) * end / 2 / (2 * np.pi)


def false_alarm_thresholds(
    spread: Mapping[str, Spread], per_hour: float = 1.0, period: float = 1e-3
) -> dict[str, np.ndarray]:
    """Thresholds at which all channels together raise at most so many false alarms an hour, an equal share each.

    A mean that is not zero, as models that are not exact leave it, is added to the threshold.
    """
    positive("false_alarm_thresholds", "per_hour", per_hour)
    positive("false_alarm_thresholds", "period", period)
    moving = sum(np.count_nonzero(x.deviation > 0) for x in spread.values())
    share = per_hour * period / 3600 / max(2 * moving, 1)  # a sample, an entry and a sign
    found = {}
    for name, (mean, deviation, correlation) in spread.items():
        low, high = np.zeros_like(deviation), np.full_like(deviation, HIGHEST)
        for _ in range(60):
            middle = (low + high) / 2
            often = crossings(middle, correlation) > share
            low, high = np.where(often, middle, low), np.where(often, high, middle)
        found[name] = np.abs(mean) + high * deviation
    return found
