"""Thresholds of residuals for a chosen rate of false alarms.

The residual without faults is modelled as normal and stationary, with standard deviation σ and correlation ρ from one
sample to the next.  Both come from a log without faults, or from the noise of the sensors.  The residual crosses a
level a σ upwards between two samples with the probability

    P = 1/2π ∫ exp(−a²/(1 + cos u)) du,  u = 0 ... arccos ρ

and an alarm is such a crossing, or a downward one of −a σ.  Hysteresis and confirmation (`Detector`) only reduce the
number of alarms.

The estimates from a log are robust: σ is the larger of two estimates for a normal distribution, from the median and
from the 90 % quantile of |r − median|; ρ uses samples within TRIM σ.  Outliers, less than a tenth of the samples,
change σ by a bounded amount; without outliers σ is the standard deviation to 2 % from some thousand samples on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..checks import finite_numbers, positive
from ..errors import InputError
from ..numerics import atan2, cos, evaluate, exp, gauss_legendre, product, stationary_covariance
from ..spatial import ca
from ..types import FloatArray
from .base import Measurement
from .residual import Status
from .timed import TimedObserver

NODES = 64  # of the quadrature
HIGHEST = 38.0  # standard deviations beyond which a normal density is zero in double precision
SETTLED = 1e-12  # relative change of the state per sample
QUANTILES = {0.5: 0.6744897501960817, 0.9: 1.6448536269514722}  # of |x|, x normal with standard deviation 1
RARE = (0.99, 2.5758293035489004)  # the quantile to use if nine tenths of a residual are the same number
TRIM = 4.0  # standard deviations beyond which a sample does not count for the correlation


class Spread(NamedTuple):
    """Distribution of a residual without faults, one entry per entry of its channel.

    Args:
        mean: Mean (size,), Nm or N; from a log, the median.
        deviation: Standard deviation (size,), Nm or N.
        correlation: Correlation (size,) of successive samples, −1 to 1.
    """

    mean: FloatArray
    deviation: FloatArray
    correlation: FloatArray


def spread_of_log(residual: TimedObserver, outputs: Mapping[str, FloatArray]) -> dict[str, Spread]:
    """Robust distribution of a residual along logs without faults; up to a tenth of the samples may be outliers.

    Args:
        residual: The residual.
        outputs: What `residual.run` returned.  Only samples with status GOOD or SATURATED count.

    Returns:
        The distribution by channel.

    Raises:
        InputError: No two successive samples are good.
    """
    if missing := sorted({"status", *residual.channels} - set(outputs)):
        raise InputError(f"spread_of_log: outputs lacks {', '.join(missing)}; give what residual.run returned")
    good = np.asarray(outputs["status"])[..., 0] <= Status.SATURATED
    both = good[..., 1:] & good[..., :-1]
    if np.count_nonzero(both) < 2:
        raise InputError("spread_of_log: the log has no two good samples in a row; give a longer log")
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


def robust_deviation(x: FloatArray) -> FloatArray:
    """Standard deviation (size,) of samples (m, size) around 0; up to a tenth of them may be outliers."""
    sizes = np.abs(x)
    found = np.max([np.quantile(sizes, share, axis=0) / normal for share, normal in QUANTILES.items()], axis=0)
    return np.where(found > 0, found, np.quantile(sizes, RARE[0], axis=0) / RARE[1])


def spread_of_noise(
    residual: TimedObserver,
    measurement: Measurement,
    noise: Measurement,
    torque: ArrayLike = 0.0,
    torque_noise: ArrayLike = 0.0,
) -> dict[str, Spread]:
    """Distribution of a residual from white sensor noise, to first order, around a constant measurement.

    The residual is linearized with its state, and the covariance solves the Lyapunov equation.

    Args:
        residual: The residual.
        measurement: The constant measurement; fields that the residual does not read may be None.
        noise: Standard deviations of the same fields, each a number or one per entry.
        torque: Constant motor torque, Nm or N, a number or one per motor; 0 by default.
        torque_noise: Its standard deviation, a number or one per motor; 0 by default.

    Returns:
        The distribution by channel, with mean 0.

    Raises:
        InputError: A standard deviation is negative, or an array has a wrong shape.
    """
    given = [*residual.read_fields(measurement), np.broadcast_to(torque, residual.robot.motor_count)]
    deviations = [*residual.read_fields(noise), torque_noise]
    x, w = ca.SX.sym("x", residual.memory[0]), [ca.SX.sym(array.name, array.size) for array in residual.sample_arrays]
    h = ca.SX.sym("h")
    after, outputs = residual.step(x, h, residual.as_measurement(w[:-1]), w[-1])
    r = ca.vertcat(*(outputs[name] for name in residual.channels))
    sensed = ca.vertcat(*w)
    now = [
        finite_numbers("spread_of_noise", array.name, y, array.size) for array, y in zip(residual.sample_arrays, given)
    ]
    spreads = np.concatenate(
        [
            finite_numbers("spread_of_noise", array.name, y, array.size)
            for array, y in zip(residual.sample_arrays, deviations)
        ]
    )
    if np.any(spreads < 0):
        raise InputError("spread_of_noise: a standard deviation is negative; give 0 or more")
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


def settled(residual: TimedObserver, now: Sequence[FloatArray]) -> FloatArray:
    """The state of a residual after many equal samples."""
    state = residual.initial_state[0]
    for _ in range(100_000):
        state, before = residual.kernel(state, residual.period, *now)[0], state
        if np.max(np.abs(state - before)) <= SETTLED * np.max(np.abs(state)):
            return state
    return state


def crossings(level: ArrayLike, correlation: ArrayLike) -> FloatArray:
    """Probability that a normal sequence with standard deviation 1 crosses a level upwards between two samples."""
    nodes, weights = gauss_legendre(NODES)
    a, rho = np.asarray(level, dtype=float)[..., None], np.clip(np.asarray(correlation, dtype=float), -1.0, 1.0)
    end = np.reshape([atan2(math.sqrt(1 - x * x), x) for x in rho.ravel().tolist()], rho.shape)  # arccos ρ
    u = end[..., None] / 2 * (1 + nodes)
    return np.sum(weights * exp(-(a * a) / (1 + cos(u))), axis=-1) * end / 2 / (2 * np.pi)


def false_alarm_thresholds(
    spread: Mapping[str, Spread], per_hour: float = 1.0, period: float = 1e-3
) -> dict[str, FloatArray]:
    """Thresholds at which noise raises at most `per_hour` false alarms, shared equally by all entries of all channels.

    A mean other than zero, as a wrong model leaves it, is added to the threshold.

    Args:
        spread: Distribution of the residual by channel, from `spread_of_noise` or `spread_of_log`.
        per_hour: False alarms per hour of all channels together; 1 by default.
        period: Time between two samples, s; 1e-3 by default.

    Returns:
        Thresholds (size,) by channel, Nm or N, as `Detector` takes them.

    Raises:
        InputError: A number is not positive.

    Example:
        >>> import numpy as np
        >>> from flexjoint.observers import Spread, false_alarm_thresholds
        >>> spread = {"link": Spread(np.zeros(1), np.array([0.1]), np.array([0.9]))}
        >>> false_alarm_thresholds(spread, per_hour=1.0)["link"].round(2)
        array([0.51])
    """
    positive("false_alarm_thresholds", "per_hour", per_hour)
    positive("false_alarm_thresholds", "period", period)
    moving = sum(np.count_nonzero(x.deviation > 0) for x in spread.values())
    share = per_hour * period / 3600 / max(2 * moving, 1)  # per sample, entry and sign
    found = {}
    for name, (mean, deviation, correlation) in spread.items():
        low, high = np.zeros_like(deviation), np.full_like(deviation, HIGHEST)
        for _ in range(60):
            middle = (low + high) / 2
            often = crossings(middle, correlation) > share
            low, high = np.where(often, middle, low), np.where(often, high, middle)
        found[name] = np.abs(mean) + high * deviation
    return found
