"""Learning thresholds from a log, or a part of it, that is known to be free of faults.

Outliers are left out and reported.  A learnt threshold must be plausible: one above half of the torque that the joint
can give would hardly ever raise an alarm, and is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from ..errors import NOT_NUMBERS, InputError, listed, shown, warn
from ..logs import Log
from ..observers import MotorEncoderResidual, Spread, Status
from ..observers.stamps import classify_stamps
from ..observers.thresholds import false_alarm_thresholds, spread_of_log
from ..observers.timed import TimedObserver
from ..robot import Robot
from ..types import FloatArray
from .outliers import (
    Outlier,
    bad_numbers,
    dead_encoders,
    describe_outliers,
    find_outliers,
    forces,
    lasting_disturbances,
    weight,
    without_outliers,
)

MARGIN = 1.2  # a threshold is at least this many times the largest fault-free residual
LEAST = 1e-3  # a threshold is at least this share of the largest motor torque in the log
MOST = 0.5  # a threshold is at most this share of the torque that a joint can give
WEIGHT_SHARE = 0.2  # of the robot's weight at full reach: smaller torques in a log do not show what a joint can give
MATTERS = 1.05  # outliers that raise no threshold by more than this factor are kept
ACTING = 0.1  # s for which the smallest detectable torque acts
ALLOWED = 0.25  # of the effort limit: collisions that need more to be detected are reported
STRANGE = 10.0  # a fault-free residual this many times the noise threshold is reported
NOISE = 11.0  # median residuals: 7.5 standard deviations of normal noise
BREAKDOWN = 0.06  # share of the samples that may be outliers, and that of good ones which are taken for outliers
UNCERTAIN = 30.0  # largest factor by which one standard error of the noise may change the rate of false alarms

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
    count = int(np.count_nonzero(kept))
    check_length(residual, count, per_hour)
    for encoder in dead_encoders(log):
        if np.any(kept[encoder.first : encoder.last + 1]):
            raise InputError(f"detect: in the fault-free part {encoder.text(log)}; take another part")
    outliers = find_outliers(log) if log is not watched else ()  # outliers of the watched log are known already
    clean = without_outliers(log, outliers)
    raw = outputs = run(residual, clean)
    bad: tuple[Outlier, ...] = ()
    for last in (False, False, True):  # large outliers hide others
        force = forces(outputs, kept, filters(residual), log.period)
        if last:
            scale = {
                name: np.maximum(
                    NOISE * np.median(np.abs(outputs[name][kept] - np.median(outputs[name][kept], axis=0)), axis=0),
                    LEAST * largest_torques(clean)[: outputs[name].shape[1]],
                )
                for name in force
            }
            more = lasting_disturbances(clean, force, kept, scale, slowest(residual))
        else:
            more = bad_numbers(clean, needs(residual), force, kept)
        clean = without_outliers(clean, more)
        outputs = run(residual, clean) if more else outputs
        bad += more
    learnt, noise = levels(residual, outputs, kept, per_hour, clean)
    if len({x.sample for x in bad}) <= BREAKDOWN * count:
        believed, believed_noise = levels(residual, raw, kept, per_hour, clean)
        if all(np.all(x <= MATTERS * learnt[name]) for name, x in believed.items()):
            learnt, noise, outputs, bad = believed, believed_noise, raw, ()
    if outliers := (*outliers, *bad):
        text = f"in the fault-free part {describe_outliers(outliers, log.robot, count)}"
        if len({x.sample for x in outliers if kept[x.sample]}) > BREAKDOWN * count:
            raise InputError(
                f"detect: {text}; they are more than {BREAKDOWN:.0%} of the samples, so that no threshold can be "
                "learnt: take another part, or give thresholds"
            )
        warn(f"detect: {text}; check that this part is free of faults")
    good = kept & (outputs["status"][:, 0] <= Status.SATURATED)
    check_length(residual, int(np.count_nonzero(good)), per_hour)
    for name, level in learnt.items():
        size = np.abs(outputs[name][kept])
        for i in np.flatnonzero(np.isfinite(level) & (level > STRANGE * noise[name])).tolist():
            k = int(np.argmax(size[:, i]))
            warn(
                f"detect: in the fault-free part the residual of '{log.robot.motor_names[i]}' is {size[k, i]:.3g} at "
                f"{log.t[kept][k]:.4f} s, {size[k, i] / noise[name][i]:.0f} times its noise level, and so is the "
                "threshold; check that this part is free of faults"
            )
    check_plausible(learnt, (clean, watched), "learnt")
    return LearntThresholds(learnt, outliers)


def levels(
    residual: TimedObserver, outputs: Mapping[str, FloatArray], kept: np.ndarray, per_hour: float, log: Log
) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
    """Thresholds of a fault-free part, infinite where a residual is zero by design, and those for noise alone.

    The largest residual is extrapolated to the wanted rate: by the ratio of the levels that normal noise of the same
    correlation exceeds as often, and once in this part.
    """
    least = LEAST * largest_torques(log)
    fault_free = {name: x[kept] for name, x in outputs.items()}
    spread = spread_of_log(residual, fault_free)
    noise = false_alarm_thresholds(spread, per_hour, residual.period)
    unit = {name: Spread(0 * x.mean, np.ones_like(x.mean), x.correlation) for name, x in spread.items()}
    once = 3600 / (np.count_nonzero(kept) * residual.period) * sum(x.mean.size for x in spread.values())
    rare, usual = (false_alarm_thresholds(unit, x, residual.period) for x in (per_hour, once))
    learnt = {}
    for name, level in noise.items():
        noise[name] = np.maximum(level, least[: level.size])
        largest_residuals = np.abs(fault_free[name]).max(axis=0)
        idle = residual.always_zero.get(name, np.zeros(level.size, dtype=bool))
        factor = np.maximum(MARGIN, rare[name] / usual[name])
        learnt[name] = np.where(idle, np.inf, np.maximum(noise[name], factor * largest_residuals))
        if not np.all(learnt[name] > 0):
            silent = residual.robot.motor_names[int(np.argmin(learnt[name]))]
            raise InputError(
                f"detect: in the fault-free part residual and torque of '{silent}' are zero, so that no threshold "
                "can be learnt; take a part in which the robot moves, or give thresholds"
            )
    return learnt, noise


def smallest_detectable(
    residual: TimedObserver, thresholds: Mapping[str, FloatArray], confirmation: float
) -> dict[str, FloatArray]:
    """Smallest torques that raise an alarm if they act for ACTING seconds, by channel, (size,), Nm or N.

    The residual is the torque times the step response 1 − Σ e^(−K_i t) Π_j K_j/(K_j − K_i), j ≠ i, of the filters.
    """
    time = max(ACTING - confirmation, 0.0)
    found = {}
    for name, level in thresholds.items():
        cutoffs = filters(residual)[name]
        decays = [math.exp(-K * time) * math.prod(L / (L - K) for L in cutoffs if L != K) for K in cutoffs]
        response = 1.0 - sum(decays)
        found[name] = level / response if response > 0 else np.full_like(level, np.inf)
    return found


def check_detectable(smallest: Mapping[str, FloatArray], robot: Robot, largest: float | None) -> None:
    """Warn where a torque must be larger to be detected than `largest`, or by default than a share of the limit."""
    for name, torques in smallest.items():
        limits = ALLOWED * np.array(efforts(robot, name)) if largest is None else np.full(torques.size, largest)
        high = np.flatnonzero(np.isfinite(torques) & (torques > limits) & (limits > 0)).tolist()
        reason = f"{ALLOWED:.0%} of its effort limit" if largest is None else "the torque that must be detected"
        if high:
            each = listed(f"{robot.motor_names[i]} {torques[i]:.3g}, {reason} is {limits[i]:.3g}" for i in high)
            warn(
                f"detect: the smallest detectable torques of '{name}' are too large ({each}); use better sensors or a "
                "better model, or a slower filter (cutoff)"
            )


def needs(residual: TimedObserver) -> tuple[str, ...]:
    """Quantities of a log that an observer reads."""
    return (*residual.reads, *["tau"] * residual.reads_torque)


def quiet_samples(log: Log, quiet: tuple[float, float] | None) -> np.ndarray:
    """Mask of the fault-free samples, (m,)."""
    begin, end = interval(quiet) if quiet is not None else (-np.inf, np.inf)
    stamps = classify_stamps(log.t)
    kept = stamps.kept & (log.t >= begin) & (log.t <= end)
    if not kept.any():
        raise InputError(f"detect: there are 0 samples from {begin:g} to {end:g} s; take others")
    if quiet is not None and np.unique(np.cumsum(stamps.clock_set)[kept]).size > 1:
        raise InputError(
            f"detect: the clock was set back, and the times from {begin:g} to {end:g} s occur more than once in the "
            "log; cut the log there, or give another fault-free log"
        )
    return kept


def check_length(residual: TimedObserver, count: int, per_hour: float) -> None:
    """Refuse a calibration from which the rate of false alarms cannot be estimated.

    The standard deviation of N independent normal samples has the relative standard error 1/√(2N), which changes the
    rate of alarms at a standard deviations by the factor exp(a²/√(2N)); this must be at most UNCERTAIN.  Residual
    samples h seconds apart with the correlation ρ = exp(−K h) count as (1 − ρ²)/(1 + ρ²) = tanh(K h) independent ones.
    """
    rate = slowest(residual)
    watched = [~residual.always_zero.get(name, np.zeros(size, bool)) for name, size in residual.channels.items()]
    size = sum(map(np.count_nonzero, watched))
    model = {"": Spread(np.zeros(size), np.ones(size), np.full(size, math.exp(-rate)))}
    level = float(false_alarm_thresholds(model, per_hour, residual.period)[""][0])
    needed = math.ceil((level * level / math.log(UNCERTAIN)) ** 2 / 2 / math.tanh(rate))
    if count < needed:
        raise InputError(
            f"detect: the fault-free part has {count} usable samples, {count * residual.period:.3g} s; a threshold for "
            f"{per_hour:g} false alarms per hour needs at least {needed} samples, {needed * residual.period:.3g} s: "
            "take a longer part, more false alarms per hour (per_hour), or give thresholds"
        )


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


def slowest(residual: TimedObserver) -> float:
    """Smallest cutoff of the filters, rad per sample."""
    return min(cutoff for cutoffs in filters(residual).values() for cutoff in cutoffs) * residual.period


def largest_torques(log: Log) -> FloatArray:
    """Largest torque per motor, or per joint if no motor torque was logged, Nm or N."""
    tau = log.tau if log.tau is not None else log.tau_e
    return np.array(
        [np.nanmax(np.abs(x), initial=0.0) for x in np.asarray(tau)[np.isfinite(np.diff(log.t, append=log.t[-1:]))].T]
    )


def capacity(robot: Robot, channel: str, logs: tuple[Log, ...]) -> FloatArray:
    """Torque that each joint or motor can give, (size,), Nm or N: its limit, else an estimate from the logs."""
    shown = max(float(largest_torques(log).max(initial=0.0)) for log in logs)
    usual = max(shown, WEIGHT_SHARE * weight(robot))
    return np.array([x if math.isfinite(x) and x > 0 else usual for x in efforts(robot, channel)])


def efforts(robot: Robot, channel: str) -> list[float]:
    """Effort limit of each joint or motor, Nm or N."""
    return list(robot.motor_efforts) if channel == "motor" else [joint.limits.effort for joint in robot.joints]


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
        warn(f"detect: {text}; give a smaller one")
