"""Outliers of a log: impossible samples are found, reported and left out, so that they do not mislead a detector.

In a watched log only physically impossible numbers are left out, since a collision must stay in: at most three samples
in a row that the joint could only reach from its neighbours faster than FASTEST, or torques above TORQUES times the
effort limit, or without a limit the torque that holds the robot's weight.  A fault-free part is judged more strictly,
by the force that each sample would need: a few samples in a row far above the usual force.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..logs import Log
from ..logs.quantities import labels
from ..robot import Robot
from ..types import FloatArray

FASTEST = 100.0  # rad/s or m/s; in a fast log FASTER times the usual speed
FASTER = 20.0
USUAL = 0.995  # quantile of a column that is its usual size
UNUSUAL = 4.0  # a single sample this many times its neighbours and the usual size does not count as the largest
TORQUES = 10.0  # a torque this many times what the joint can give is impossible
WINDOW = 3  # samples to both sides
GRAVITY = 9.81  # m/s²
FORCES, FORCE_SHARE = 30.0, 0.95  # a force this many times the given quantile is an outlier
LEAST = 0.01  # of the largest torque: a smaller force is no outlier
LONGEST_SPIKE = 4  # samples
MOST_SHOWN = 3  # outliers in a message


class Outlier(NamedTuple):
    """An impossible number of a log.

    Args:
        sample: Row in the log.
        t: Time, s.
        quantity: Q, v, theta, theta_v, tau_e or tau.
        entry: Joint or motor.
        value: The number, in SI units.
    """

    sample: int
    t: float
    quantity: str
    entry: int
    value: float


def find_outliers(log: Log) -> tuple[Outlier, ...]:
    """Physically impossible numbers of a log, in the order of time."""
    found: list[Outlier] = []
    for name in log.known:
        x = getattr(log, name)
        for i in range(x.shape[1]):
            limit = speed_limit(log, name, i) if name not in ("tau", "tau_e") else torque_limit(log, name, i)
            if name in ("q", "theta"):
                limit *= (WINDOW + 2) * log.period
            found += [Outlier(k, float(log.t[k]), name, i, float(x[k, i])) for k in isolated_samples(x[:, i], limit)]
    return tuple(sorted(found))


def speed_limit(log: Log, name: str, i: int) -> float:
    """Speed above which a sample is impossible, rad/s or m/s."""
    rates = log.v if name in ("q", "v") else log.theta_v
    return max(FASTEST, FASTER * usual(rates[:, i]) if rates is not None else 0.0)


def torque_limit(log: Log, name: str, i: int) -> float:
    """Torque above which a sample is impossible, Nm or N."""
    efforts = [joint.limits.effort for joint in log.robot.joints] if name == "tau_e" else log.robot.motor_efforts
    scale = efforts[i] if math.isfinite(efforts[i]) else weight(log.robot)
    return TORQUES * max(scale, usual(getattr(log, name)[:, i]))


def usual(x: FloatArray) -> float:
    """Usual size of a column: a high quantile of its absolute values."""
    sizes = np.abs(x[np.isfinite(x)])
    return float(np.quantile(sizes, USUAL)) if sizes.size else 0.0


def weight(robot: Robot) -> float:
    """Torque that holds the robot's weight at full reach, about, Nm; for prismatic joints taken as N."""
    reach = sum(math.sqrt(sum(x * x for x in link.joint.position.tolist())) for link in robot.links)
    return GRAVITY * sum(link.mass for link in robot.links) * max(reach, 1.0)


def largest(x: FloatArray) -> float:
    """Largest absolute value of a column, without single samples far above their neighbours and the usual size."""
    sizes = np.pad(np.where(np.isfinite(x), np.abs(x), 0.0), 1)
    beside = np.maximum(np.maximum(sizes[:-2], sizes[2:]), usual(x))
    return float(np.max(sizes[1:-1], where=sizes[1:-1] <= UNUSUAL * beside, initial=0.0))


def isolated_samples(x: FloatArray, limit: float) -> list[int]:
    """Samples that differ by more than a limit from the median of their neighbours."""
    if not limit > 0:
        return []
    known = np.flatnonzero(np.isfinite(x))
    with np.errstate(over="ignore"):
        jumps = np.flatnonzero(np.abs(np.diff(x[known])) > limit / 2)
    near = known[np.union1d(jumps, jumps + 1)]
    around = near[:, None] + np.arange(-WINDOW, WINDOW + 1)
    inside = (around >= 0) & (around < x.size)
    values = np.where(inside, x[np.clip(around, 0, x.size - 1)], np.nan)
    values = np.where(np.isfinite(values), values, np.nan)
    there = np.sum(np.isfinite(values), axis=1) > 2
    near, values = near[there], values[there]
    if not near.size:
        return []
    with np.errstate(invalid="ignore", over="ignore"):
        return near[np.abs(x[near] - np.nanmedian(values, axis=1)) > limit].tolist()


def without_outliers(log: Log, outliers: Sequence[Outlier]) -> Log:
    """The log with NaN in place of the outliers."""
    arrays = {}
    for name in {outlier.quantity for outlier in outliers}:
        arrays[name] = getattr(log, name).copy()
        for outlier in outliers:
            if outlier.quantity == name:
                arrays[name][outlier.sample, outlier.entry] = np.nan
    return replace(log, **arrays)


# Fault-free parts ---------------------------------------------------------------------------------------------------


def force_spikes(
    log: Log, outputs: Mapping[str, FloatArray], kept: np.ndarray, cutoffs: Mapping[str, Sequence[float]]
) -> list[int]:
    """First sample of each short run of samples of a fault-free part whose force is far above the usual force.

    Args:
        log: The log.
        outputs: Residuals by channel, (m, size), Nm or N.
        kept: Mask of the fault-free samples, (m,).
        cutoffs: Cutoffs of the filters between force and residual, rad/s, by channel.
    """
    tau = log.tau if log.tau is not None else log.tau_e
    torques = np.zeros(1) if tau is None else np.array([usual(x) for x in tau[kept].T])
    beyond = np.zeros(kept.size, dtype=bool)
    for name, filters in cutoffs.items():
        force = outputs[name]
        for cutoff in filters:
            fade = math.exp(-cutoff * log.period)
            force = np.concatenate([force[:1], (force[1:] - fade * force[:-1]) / (1 - fade)])
        size = np.abs(force - np.median(force[kept], axis=0))
        least = np.maximum(torques[: size.shape[1]], LEAST * torques.max())
        limit = np.maximum(FORCES * np.quantile(size[kept], FORCE_SHARE, axis=0), least)
        beyond |= np.any((size > limit) & (limit > 0), axis=1)
    beyond &= kept
    return [first for first, last in stretches(beyond) if last - first < LONGEST_SPIKE]


def stretches(mask: np.ndarray) -> list[tuple[int, int]]:
    """First and last index of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(int)))
    return [(int(first), int(last) - 1) for first, last in edges.reshape(-1, 2)]


def locate_outliers(log: Log, samples: Sequence[int], reads: Sequence[str]) -> tuple[Outlier, ...]:
    """For each bad sample the number, in it or beside it, that fits its neighbours worst in units of the usual step."""
    columns = {name: getattr(log, name) for name in reads}
    steps = {
        name: np.quantile(np.nan_to_num(np.abs(np.diff(x, axis=0))), FORCE_SHARE, axis=0) for name, x in columns.items()
    }
    found = []
    for sample in samples:
        near = [k for k in (sample - 1, sample, sample + 1) if 0 <= k < log.t.size]
        misfits = [(*misfit(x, k, steps[name]), k, name) for name, x in columns.items() for k in near]
        _, i, k, name = max(misfits)
        found.append(Outlier(k, float(log.t[k]), name, i, float(columns[name][k, i])))
    return tuple(found)


def misfit(x: FloatArray, k: int, step: FloatArray) -> tuple[float, int]:
    """Distance of row k from the line through its neighbours, in usual steps, at the worst entry, and that entry."""
    if 0 < k < len(x) - 1:
        expected, slope = (x[k - 1] + x[k + 1]) / 2, np.abs(x[k + 1] - x[k - 1])
    else:  # at the ends the line through the next two
        near, far = (x[1], x[2]) if k == 0 else (x[-2], x[-3])
        expected, slope = 2 * near - far, np.abs(near - far)
    off = np.abs(x[k] - expected) / np.maximum(slope + step, 1e-12 + 1e-9 * np.abs(x[k]))
    off = np.where(np.isfinite(off), off, -1.0)
    i = int(np.argmax(off))
    return float(off[i]), i


def without_samples(log: Log, samples: Sequence[int]) -> Log:
    """The log with NaN in these samples and the ones beside them."""
    rows = np.unique(np.clip(np.add.outer(samples, [-1, 0, 1]).ravel(), 0, log.t.size - 1))
    arrays = {name: getattr(log, name).copy() for name in log.known}
    for x in arrays.values():
        x[rows] = np.nan
    return replace(log, **arrays)


def describe_outliers(outliers: Sequence[Outlier], robot: Robot, samples: int) -> str:
    """Text of a message: the number of outliers, and some of them with column, value and time."""
    rows = len({outlier.sample for outlier in outliers})
    columns = list(dict.fromkeys(f"{x.quantity}.{labels(robot, x.quantity)[x.entry]}" for x in outliers))
    each = [
        f"{x.quantity}.{labels(robot, x.quantity)[x.entry][:80]} = {x.value:.4g} at {x.t:.4f} s"
        for x in outliers[:MOST_SHOWN]
    ]
    more = f", and others in {len(columns)} columns" if len(outliers) > MOST_SHOWN else ""
    were = "was" if rows == 1 else "were"
    return f"{rows} of {samples} samples {were} impossible and left out: {'; '.join(each)}{more}"
