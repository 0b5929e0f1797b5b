"""Learning thresholds from a log, or a part of it, that is known to be free of faults.

Outliers are left out and reported.  A learnt threshold must be plausible: one above half of the torque that the joint
can give would hardly ever raise an alarm, and is refused.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from ..errors import NOT_NUMBERS, FlexjointWarning, InputError, shown
from ..logs import Log
from ..observers import MotorEncoderResidual
from ..observers.stamps import classify_stamps
from ..observers.thresholds import false_alarm_thresholds, spread_of_log
from ..observers.timed import TimedObserver
from ..robot import Robot
from ..types import FloatArray
from .outliers import (
    Outlier,
    describe_outliers,
    find_outliers,
    force_spikes,
    largest,
    locate_outliers,
    weight,
    without_outliers,
    without_samples,
)

MARGIN = 1.2  # a threshold is at least this many times the largest fault-free residual
LEAST = 1e-3  # a threshold is at least this share of the largest motor torque in the log
MOST = 0.5  # a threshold is at most this share of the torque that a joint can give
WEIGHT_SHARE = 0.2  # of the robot's weight at full reach: smaller torques in a log do not show what a joint can give
STRANGE = 10.0  # a fault-free residual this many times the noise threshold is reported
PASSES = 3  # rounds of removing outliers
LEAST_SAMPLES = 10

Run = Callable[[TimedObserver, Log], dict[str, FloatArray]]


class LearntThresholds(NamedTuple):
    """Thresholds by channel, (size,), Nm or N, and the outliers that were left out."""

    thresholds: dict[str, FloatArray]
    outliers: tuple[Outlier, ...]


def learn_thresholds(
    residual: TimedObserver, log: Log, watched: Log, quiet: tuple[float, float] | None, per_hour: float, run: Run
) -> LearntThresholds:
    """Thresholds for the log `watched`, learnt from `log`; infinite where a residual is zero by design.

    Args:
        residual: The observer.
        log: A fault-free log, or a log with a fault-free part.
        watched: The log to which the thresholds will be applied.
        quiet: Begin and end of the fault-free part of `log`, s; None for all of it.
        per_hour: Expected false alarms per hour by noise.
        run: Runs the observer along a log.

    Raises:
        InputError: There are too few samples, nothing can be learnt, or a threshold is implausible.
    """
    kept = quiet_samples(log, quiet)
    outliers = find_outliers(log) if log is not watched else ()  # outliers of the watched log are known already
    log = without_outliers(log, outliers)
    outputs = run(residual, log)
    for _ in range(PASSES):
        if not (bad := force_spikes(log, outputs, kept, filters(residual))):
            break
        outliers += locate_outliers(log, bad, needs(residual))
        log = without_samples(log, bad)
        outputs = run(residual, log)
    if outliers:
        text = f"in the fault-free part {describe_outliers(outliers, log.robot, int(np.count_nonzero(kept)))}"
        warnings.warn(f"detect: {text}; check that this part is free of faults", FlexjointWarning, stacklevel=4)
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
                f"detect: in the fault-free part residual and torque of '{silent}' are zero, so that no threshold "
                "can be learnt; take a part in which the robot moves, or give thresholds"
            )
        strange = (MARGIN * size.max(axis=0) > STRANGE * np.maximum(level, least)) & ~idle
        for i in np.flatnonzero(strange).tolist():
            k = int(np.argmax(size[:, i]))
            warnings.warn(
                f"detect: in the fault-free part the residual of '{robot.motor_names[i]}' is {size[k, i]:.3g} at "
                f"{log.t[kept][k]:.4f} s, {size[k, i] / level[i]:.0f} times its noise level, and so is the threshold; "
                "check that this part is free of faults",
                FlexjointWarning,
                stacklevel=4,
            )
    check_plausible(found, (log, watched), "learnt")
    return LearntThresholds(found, outliers)


def needs(residual: TimedObserver) -> tuple[str, ...]:
    """Quantities of a log that an observer reads."""
    return (*residual.reads, *["tau"] * residual.reads_torque)


def quiet_samples(log: Log, quiet: tuple[float, float] | None) -> np.ndarray:
    """Mask of the fault-free samples, (m,)."""
    begin, end = interval(quiet) if quiet is not None else (-np.inf, np.inf)
    stamps = classify_stamps(log.t)
    kept = stamps.kept & (log.t >= begin) & (log.t <= end)
    if np.count_nonzero(kept) < LEAST_SAMPLES:
        raise InputError(f"detect: there are {np.count_nonzero(kept)} samples from {begin:g} to {end:g} s; take more")
    if quiet is not None and np.unique(np.cumsum(stamps.clock_set)[kept]).size > 1:
        raise InputError(
            f"detect: the clock was set back, and the times from {begin:g} to {end:g} s occur more than once in the "
            "log; cut the log there, or give another fault-free log"
        )
    return kept


def interval(quiet: object) -> tuple[float, float]:
    """Begin and end of the fault-free part, s; raises InputError if they are not two increasing numbers."""
    try:
        begin, end = (float(x) for x in quiet)  # type: ignore[attr-defined]
    except NOT_NUMBERS:
        begin = end = math.nan
    if not begin < end:
        raise InputError(f"detect: quiet is {shown(quiet)}; give two times in s, such as (0.0, 2.5)")
    return begin, end


def filters(residual: TimedObserver) -> dict[str, list[float]]:
    """Cutoffs of the filters between force and residual, rad/s, by channel."""
    if isinstance(residual, MotorEncoderResidual):
        return {"link": [float(np.max(residual.link_cutoff)), residual.spring_cutoff]}
    cutoff = float(np.max(residual.gain))  # type: ignore[attr-defined]
    return {name: [cutoff] for name in residual.channels}


def largest_torques(log: Log) -> FloatArray:
    """Largest torque per motor, or per joint if no motor torque was logged, Nm or N."""
    tau = log.tau if log.tau is not None else log.tau_e
    return np.array([largest(x) for x in np.asarray(tau).T])


def capacity(robot: Robot, channel: str, logs: tuple[Log, ...]) -> FloatArray:
    """Torque that each joint or motor can give, (size,), Nm or N: its limit, else an estimate from the logs."""
    efforts = robot.motor_efforts if channel == "motor" else [joint.limits.effort for joint in robot.joints]
    shown = max(float(largest_torques(log).max(initial=0.0)) for log in logs)
    return np.array([x if math.isfinite(x) and x > 0 else max(shown, WEIGHT_SHARE * weight(robot)) for x in efforts])


def check_plausible(thresholds: Mapping[str, FloatArray], logs: tuple[Log, ...], how: str) -> None:
    """Refuse a learnt threshold, and warn of a given one, that hardly any residual can reach."""
    robot = logs[-1].robot
    for name, levels in thresholds.items():
        can = capacity(robot, name, logs)
        high = np.isfinite(levels) & (levels > MOST * can)
        if not np.any(high):
            continue
        i = int(np.argmax(np.where(high, levels / np.where(can > 0, can, 1.0), 0.0)))
        text = (
            f"the threshold of '{robot.motor_names[i]}' is {levels[i]:.3g}, more than half of the torque it can give, "
            f"{can[i]:.3g}: hardly anything would be detected"
        )
        if how == "learnt":
            raise InputError(
                f"detect: {text}; the fault-free part has a fault, or the model does not fit the robot: take another "
                "part, or give thresholds"
            )
        warnings.warn(f"detect: {text}; give a smaller one", FlexjointWarning, stacklevel=4)
