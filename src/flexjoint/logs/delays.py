"""Delays between the channels of a log, with a resolution far below the sampling period.

Each channel is compared with what the positions say it should be: velocities with the derivative of the positions,
motor with link positions, the torque of sensors with the deflection of the springs.  The delay d minimises the squared
residual of y(t) = a x(t − d) + b + Σ c_k z_k(t − d): cross-correlation finds the whole samples, Gauss-Newton steps on a
cubic spline through x and z the rest.  For motor positions z explains the deflection of the springs: the torque of the
links by the model, and the accelerations.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..checks import is_number
from ..errors import InputError, shown
from ..types import FloatArray
from .log import Log
from .model_rules import Model, Motion
from .quantities import RATES
from .sampling import SMOOTHING, Uniform, derivative, uniform
from .streams import at_stamps

LONGEST = 0.1  # s, of a delay
STEPS = 8  # of Gauss-Newton
PER_SMOOTHING = 4  # samples that are compared: more tell nothing more about smoothed signals
ALIKE = 0.5  # share of y that x must explain, for the delay to mean something


class Delay(NamedTuple):
    """How much later a channel of a log is than another.

    Args:
        quantity: The channel, such as "v".
        relative_to: What it is compared with, such as "q".
        entry: Joint or motor.
        seconds: The delay, s; negative if the channel is early.
        deviation: Its standard deviation, s.
    """

    quantity: str
    relative_to: str
    entry: int
    seconds: float
    deviation: float


def estimate_delays(log: Log) -> tuple[Delay, ...]:
    """Delays between channels of a log; only those that the data tell.

    Args:
        log: A log, such as `read_log` returns it.

    Returns:
        A Delay per channel and joint or motor: v relative to q, theta_v relative to theta, theta relative to q, and
        tau_e relative to theta − q; none for a joint that hardly moves.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> t, w = 1e-3 * np.arange(5000)[:, None], np.array([3.0, 4.0, 5.0])
        >>> log = fj.logs.Log(fj.load("hua_3r"), t[:, 0], q=np.sin(w * t), v=w * np.cos(w * (t - 0.0025)))
        >>> [round(1e3 * x.seconds, 2) for x in fj.logs.estimate_delays(log)]
        [2.5, 2.5, 2.5]
    """
    part = uniform(log)
    if part is None:
        return ()
    found = []
    few = slice(None, None, max(1, int(SMOOTHING / PER_SMOOTHING / part.period)))
    period = part.period * few.step
    for quantity, relative_to, y, x in pairs(log, part):
        loads = spring_loads(log, part, few) if quantity == "theta" else None
        for i in range(min(y.shape[1], x.shape[1])):
            more = None if loads is None else loads[i]
            if (measured := delay_of(y[few, i], x[few, i], period, more)) is not None:
                found.append(Delay(quantity, relative_to, i, *measured))
    return tuple(found)


def pairs(log: Log, part: Uniform) -> Iterator[tuple[str, str, FloatArray, FloatArray]]:
    """Channels to compare: names, the channel, and what it should be proportional to."""
    known, h, n = part.columns, part.period, log.robot.n
    for rate, of in (("v", "q"), ("theta_v", "theta")):
        if rate in known and of in known:
            yield rate, of, known[rate], derivative(known[of], h)
    if "q" in known and "theta" in known and not log.robot.transmissions:
        moving = [i for i in range(n) if log.robot.compliant[i]]
        if len(moving) == n:
            yield "theta", "q", known["theta"][:, :n], known["q"]
        if len(moving) == n and "tau_e" in known:
            yield "tau_e", "theta - q", known["tau_e"], known["theta"][:, :n] - known["q"]


def spring_loads(log: Log, part: Uniform, few: slice) -> list[FloatArray]:
    """What deflects the spring of each joint, (m, n + 2): its torque by the model, the rate of it, accelerations."""
    q, h = part.columns["q"], part.period
    v = derivative(q, h)
    q, v, a = q[few], v[few], derivative(v, h)[few]
    if log.robot.followers:
        return [a] * log.robot.n
    torque = Model(log.robot, motors=False).torque(Motion(q, v, a, q))
    rate = derivative(torque, h * few.step)  # springs have damping
    return [np.column_stack([torque[:, i], rate[:, i], a]) for i in range(log.robot.n)]


def delay_of(y: FloatArray, x: FloatArray, h: float, z: FloatArray | None = None) -> tuple[float, float] | None:
    """Delay of y (m,) relative to x (m,), s, and its deviation; None if it is unclear.

    Args:
        y, x: The channel, and what it should be proportional to, (m,).
        h: Sampling period, s.
        z: What adds to y with unknown factors, (m, k); by default nothing.
    """
    from scipy.interpolate import CubicSpline

    most = min(int(LONGEST / h) + 1, y.size // 4)
    if np.std(x) <= 1e-12 * (1 + np.max(np.abs(x))) or np.std(y) <= 1e-12 * (1 + np.max(np.abs(y))):
        return None
    inner = slice(most, y.size - most)
    whole = y[inner] - np.mean(y[inner])
    lags = range(-most, most + 1)
    likeness = [correlation(whole, x[inner.start - k : inner.stop - k]) for k in lags]
    best = int(np.argmax(np.abs(likeness)))
    if abs(likeness[best]) < np.sqrt(ALIKE) or best in (0, len(likeness) - 1):
        return None
    whole = np.column_stack([x] if z is None else [x, z])
    spline, t = CubicSpline(h * np.arange(x.size), whole), h * np.arange(x.size)[inner]
    slope, d = CubicSpline(h * np.arange(x.size), x).derivative(), h * lags[best]
    for _ in range(STEPS):
        shifted = t - d
        columns = np.column_stack([spline(shifted), np.ones(t.size), -slope(shifted)])
        size = np.sqrt(np.sum(columns * columns, axis=0))
        columns = columns / np.where(size > 0, size, 1.0)
        fit, *_ = np.linalg.lstsq(columns, y[inner], rcond=None)
        if abs(fit[0]) < 1e-300:
            return None
        second = size[0] / size[-1]  # columns have length 1
        d += float(np.clip(fit[-1] / fit[0] * second, -h, h))
        if abs(d) > LONGEST + h:
            return None
    residual = y[inner] - columns @ fit
    spread = np.sum(residual * residual) / max(t.size - 3, 1) * np.linalg.pinv(columns.T @ columns)[-1, -1]
    return d, float(np.sqrt(spread * inflation(residual)) / abs(fit[0]) * second)


def correlation(y: FloatArray, x: FloatArray) -> float:
    """Correlation of y, whose mean is zero, and x."""
    x = x - np.mean(x)
    size = np.sqrt(np.sum(x * x) * np.sum(y * y))
    return float(np.sum(x * y) / size) if size > 0 else 0.0


def inflation(residual: FloatArray) -> float:
    """Factor by which autocorrelated residuals inflate a variance: 1 + 2 Σ ρ_k, up to the first ρ_k below 0.05."""
    r = residual - np.mean(residual)
    total, found = float(np.sum(r * r)), 1.0
    for k in range(1, min(r.size // 4, 1000)):
        rho = float(np.sum(r[k:] * r[:-k])) / total if total > 0 else 0.0
        if rho < 0.05:
            break
        found += 2 * rho
    return found


def without_delays(log: Log, delays: Mapping[str, float]) -> Log:
    """The log with channels moved in time, by cubic splines through their samples.

    Args:
        log: The log.
        delays: Delay of each channel to correct, s, by its name, such as {"tau_e": 0.002}.

    Returns:
        A Log with the same times; NaN where a channel would need samples from before or after the log.

    Raises:
        InputError: A channel is not in the log, or a delay is no number.
    """
    arrays: dict[str, Any] = {}
    for name, delay in delays.items():
        if name not in (*log.known, *log.commands) and not (name == "current" and log.current is not None):
            raise InputError(
                f"without_delays: the log has no {name!r}; it has {', '.join((*log.known, *log.commands))}"
            )
        if not is_number(delay) or not abs(delay) < float("inf"):
            raise InputError(f"without_delays: the delay of {name} is {shown(delay)}; give a number of seconds")
        for moved in (name, *(x for x in log.differenced if RATES[x] == name)):
            arrays[moved] = at_stamps(log.t + delay, log.t, getattr(log, moved))
    return replace(log, **arrays)
