"""Thresholds from a log, or a part of it, that is known to be without faults.

Samples that cannot be are left out and named.  What is learnt must be plausible: a threshold beyond half of what the
joint can give would hardly ever raise an alarm, and is refused.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from ..errors import NOT_NUMBERS, FlexjointWarning, InputError, shown
from ..observers import MotorEncoderResidual
from ..observers.stamps import classify_stamps
from ..observers.thresholds import false_alarm_thresholds, spread_of_log
from ..observers.timed import TimedObserver
from ..robot import Robot
from .logs import Log
from .outliers import Outlier, around, impossible, largest, named, said, spikes, weight, without

MARGIN = 1.2  # of the largest residual seen without faults: a threshold is no smaller than that
LEAST = 1e-3  # of the largest motor torque in the log: nor smaller than that
MOST = 0.5  # of what a joint can give: a threshold is no larger than that
WEIGHT_SHARE = 0.2  # of the robot's weight at arm's length: torques in a log below that say nothing of what it can give
STRANGE = 10.0  # times the threshold that noise asks for: a residual so large needs an explanation
PASSES = 3
LEAST_SAMPLES = 10

Run = Callable[[TimedObserver, Log], dict[str, np.ndarray]]


class Learnt(NamedTuple):
    """Thresholds by channel, and the samples that were left out."""

    thresholds: dict[str, np.ndarray]
    outliers: tuple[Outlier, ...]


def learnt(
    residual: TimedObserver, log: Log, watched: Log, quiet: tuple[float, float] | None, per_hour: float, run: Run
) -> Learnt:
    """Thresholds from `log` for what is to be `watched`; infinite where a residual is zero by design."""
    kept = quiet_samples(log, quiet)
    outliers = impossible(log) if log is not watched else ()  # those of the watched one are known already
    log = without(log, outliers)
    outputs = run(residual, log)
    for _ in range(PASSES):
        if not (bad := spikes(log, outputs, kept, filters(residual))):
            break
        outliers += named(log, bad, (*residual.reads, *["tau"] * residual.reads_torque))
        log = around(log, bad)
        outputs = run(residual, log)
    if outliers:
        text = f"in the part without faults {said(outliers, log.robot, int(np.count_nonzero(kept)))}"
        warnings.warn(f"detect: {text}; see whether this part is without faults", FlexjointWarning, stacklevel=4)
    outputs = {name: x[kept] for name, x in outputs.items()}
    spread = spread_of_log(residual, outputs)
    noise = false_alarm_thresholds(spread, per_hour, residual.period)
    robot, torque = log.robot, LEAST * largest_torques(log)
    found = {}
    for name, level in noise.items():
        size = np.abs(outputs[name])
        least = torque[: level.size]
        levels = np.maximum(level, np.maximum(MARGIN * size.max(axis=0), least))
        idle = residual.always_zero.get(name, np.zeros(level.size, dtype=bool))
        found[name] = levels = np.where(idle, np.inf, levels)
        if not np.all(levels > 0):
            silent = robot.motor_names[int(np.argmin(levels))]
            raise InputError(
                f"detect: in the part without faults residual and torque of '{silent}' are zero, so that no threshold "
                "can be learnt; take one in which the robot moves, or give thresholds"
            )
        strange = (MARGIN * size.max(axis=0) > STRANGE * np.maximum(level, least)) & ~idle
        for i in np.flatnonzero(strange).tolist():
            k = int(np.argmax(size[:, i]))
            warnings.warn(
                f"detect: in the part without faults the residual of '{robot.motor_names[i]}' is {size[k, i]:.3g} at "
                f"{log.t[kept][k]:.4f} s, {size[k, i] / level[i]:.0f} times what its noise explains; the threshold is "
                "that high: see whether this part is without faults",
                FlexjointWarning,
                stacklevel=4,
            )
    check_plausible(found, (log, watched), "learnt")
    return Learnt(found, outliers)


def quiet_samples(log: Log, quiet: tuple[float, float] | None) -> np.ndarray:
    """Which samples are without faults."""
    begin, end = interval(quiet) if quiet is not None else (-np.inf, np.inf)
    stamps = classify_stamps(log.t)
    kept = stamps.kept & (log.t >= begin) & (log.t <= end)
    if np.count_nonzero(kept) < LEAST_SAMPLES:
        raise InputError(f"detect: there are {np.count_nonzero(kept)} samples from {begin:g} to {end:g} s; take more")
    if quiet is not None and np.unique(np.cumsum(stamps.clock_set)[kept]).size > 1:
        raise InputError(
            f"detect: the clock was set back, and the times from {begin:g} to {end:g} s are in the log more than once; "
            "cut the log there, or give another log without faults"
        )
    return kept


def interval(quiet: object) -> tuple[float, float]:
    try:
        begin, end = (float(x) for x in quiet)  # type: ignore[attr-defined]
    except NOT_NUMBERS:
        begin = end = math.nan
    if not begin < end:
        raise InputError(f"detect: quiet is {shown(quiet)}; give two times in s, such as (0.0, 2.5)")
    return begin, end


def filters(residual: TimedObserver) -> dict[str, list[float]]:
    """Cutoffs of the filters from a force to the residual, by channel."""
    if isinstance(residual, MotorEncoderResidual):
        return {"link": [float(np.max(residual.link_cutoff)), residual.spring_cutoff]}
    cutoff = float(np.max(residual.gain))  # type: ignore[attr-defined]
    return {name: [cutoff] for name in residual.channels}


def largest_torques(log: Log) -> np.ndarray:
    """Of each motor, or of each joint where no motor torque was logged."""
    tau = log.tau if log.tau is not None else log.tau_e
    return np.array([largest(x) for x in np.asarray(tau).T])


def capacity(robot: Robot, channel: str, logs: tuple[Log, ...]) -> np.ndarray:
    """What each joint or motor can give, Nm or N: its limit, or about what the logs show; (size,)."""
    efforts = robot.motor_efforts if channel == "motor" else [joint.limits.effort for joint in robot.joints]
    shown = max(float(largest_torques(log).max(initial=0.0)) for log in logs)
    return np.array([x if math.isfinite(x) and x > 0 else max(shown, WEIGHT_SHARE * weight(robot)) for x in efforts])


def check_plausible(thresholds: Mapping[str, np.ndarray], logs: tuple[Log, ...], how: str) -> None:
    """Refuse thresholds that were learnt and warn of given ones, where nothing would ever reach them."""
    robot = logs[-1].robot
    for name, levels in thresholds.items():
        can = capacity(robot, name, logs)
        high = np.isfinite(levels) & (levels > MOST * can)
        if not np.any(high):
            continue
        i = int(np.argmax(np.where(high, levels / np.where(can > 0, can, 1.0), 0.0)))
        text = (
            f"the threshold of '{robot.motor_names[i]}' is {levels[i]:.3g}, more than half of what it can give, "
            f"{can[i]:.3g}: hardly anything would be detected"
        )
        if how == "learnt":
            raise InputError(
                f"detect: {text}; something happens in the part without faults, or the model is not that of this "
                "robot: take another part, or give thresholds"
            )
        warnings.warn(f"detect: {text}; give a smaller one", FlexjointWarning, stacklevel=4)
