"""Samples of a log that cannot be: found, named, and left out, so that one of them neither blinds nor fools a detector.

In a log that is watched only what no robot can do is left out, for a collision must not be: at most three samples in a
row that lie where the joint could not have gone from its neighbours' place, at FASTEST, or torques TORQUES times what
the joint can give, or what holds the robot's weight.  A part known to be without faults is judged more strictly, by
the force that each sample asks for: few samples in a row beyond all that is usual there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..robot import Robot
from .log_columns import labels
from .logs import Log

FASTEST = 100.0  # rad/s or m/s; or FASTER times what is usual in the log
FASTER = 20.0
USUAL = 0.995  # share of the samples that are taken as usual
UNUSUAL = 4.0
TORQUES = 10.0
WINDOW = 3  # samples to both sides
GRAVITY = 9.81
FORCES, FORCE_SHARE = 30.0, 0.95  # a force so many times that of this share of the samples is none
LEAST = 0.01  # of the largest torque: nor is one that is smaller
LONGEST_SPIKE = 4  # samples
MOST_SHOWN = 3


class Outlier(NamedTuple):
    """A number of a log that cannot be: which sample and time, s, of which quantity and joint or motor."""

    sample: int
    t: float
    quantity: str
    entry: int
    value: float


def impossible(log: Log) -> tuple[Outlier, ...]:
    """What no robot can do, in the order of time."""
    found: list[Outlier] = []
    for name in log.known:
        x = getattr(log, name)
        for i in range(x.shape[1]):
            limit = speed_limit(log, name, i) if name not in ("tau", "tau_e") else torque_limit(log, name, i)
            if name in ("q", "theta"):
                limit *= (WINDOW + 2) * log.period
            found += [Outlier(k, float(log.t[k]), name, i, float(x[k, i])) for k in alone(x[:, i], limit)]
    return tuple(sorted(found))


def speed_limit(log: Log, name: str, i: int) -> float:
    rates = log.v if name in ("q", "v") else log.theta_v
    return max(FASTEST, FASTER * usual(rates[:, i]) if rates is not None else 0.0)


def torque_limit(log: Log, name: str, i: int) -> float:
    efforts = [joint.limits.effort for joint in log.robot.joints] if name == "tau_e" else log.robot.motor_efforts
    scale = efforts[i] if math.isfinite(efforts[i]) else weight(log.robot)
    return TORQUES * max(scale, usual(getattr(log, name)[:, i]))


def usual(x: np.ndarray) -> float:
    sizes = np.abs(x[np.isfinite(x)])
    return float(np.quantile(sizes, USUAL)) if sizes.size else 0.0


def weight(robot: Robot) -> float:
    """What holds the robot's weight at arm's length, about: Nm, and N."""
    reach = sum(math.sqrt(sum(x * x for x in link.joint.position.tolist())) for link in robot.links)
    return GRAVITY * sum(link.mass for link in robot.links) * max(reach, 1.0)


def largest(x: np.ndarray) -> float:
    """The largest size in a column, but for single samples many times as large as those beside them and as usual."""
    sizes = np.pad(np.where(np.isfinite(x), np.abs(x), 0.0), 1)
    beside = np.maximum(np.maximum(sizes[:-2], sizes[2:]), usual(x))
    return float(np.max(sizes[1:-1], where=sizes[1:-1] <= UNUSUAL * beside, initial=0.0))


def alone(x: np.ndarray, limit: float) -> list[int]:
    """Samples further than a limit from the median of their neighbourhood."""
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


def without(log: Log, outliers: Sequence[Outlier]) -> Log:
    """The log in which these numbers are lost."""
    arrays = {}
    for name in {outlier.quantity for outlier in outliers}:
        arrays[name] = getattr(log, name).copy()
        for outlier in outliers:
            if outlier.quantity == name:
                arrays[name][outlier.sample, outlier.entry] = np.nan
    return replace(log, **arrays)


# Parts without faults -----------------------------------------------------------------------------------------------


def spikes(
    log: Log, outputs: Mapping[str, np.ndarray], kept: np.ndarray, cutoffs: Mapping[str, Sequence[float]]
) -> list[int]:
    """Samples of a part without faults that ask for forces beyond all others, few in a row; the first of each row.

    `cutoffs` has the cutoffs of the filters, rad/s, from the force to the residual, for each channel.
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
    edges = np.flatnonzero(np.diff(np.concatenate([[False], beyond, [False]]).astype(int))).reshape(-1, 2)
    return [int(begin) for begin, end in edges if end - begin <= LONGEST_SPIKE]


def named(log: Log, samples: Sequence[int], reads: Sequence[str]) -> tuple[Outlier, ...]:
    """Of each bad sample, or of those beside it, the number that fits its neighbours least, as usual steps go."""
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


def misfit(x: np.ndarray, k: int, step: np.ndarray) -> tuple[float, int]:
    """How far row k is from the line through its neighbours, in steps, at its worst entry; and which one that is."""
    if 0 < k < len(x) - 1:
        expected, slope = (x[k - 1] + x[k + 1]) / 2, np.abs(x[k + 1] - x[k - 1])
    else:  # at the ends the line through the next two
        near, far = (x[1], x[2]) if k == 0 else (x[-2], x[-3])
        expected, slope = 2 * near - far, np.abs(near - far)
    off = np.abs(x[k] - expected) / np.maximum(slope + step, 1e-12 + 1e-9 * np.abs(x[k]))
    off = np.where(np.isfinite(off), off, -1.0)
    i = int(np.argmax(off))
    return float(off[i]), i


def around(log: Log, samples: Sequence[int]) -> Log:
    """The log in which these samples and the ones beside them are lost altogether."""
    rows = np.unique(np.clip(np.add.outer(samples, [-1, 0, 1]).ravel(), 0, log.t.size - 1))
    arrays = {name: getattr(log, name).copy() for name in log.known}
    for x in arrays.values():
        x[rows] = np.nan
    return replace(log, **arrays)


def said(outliers: Sequence[Outlier], robot: Robot, samples: int) -> str:
    """How many there are, of which columns and when; some of them in full."""
    rows = len({outlier.sample for outlier in outliers})
    columns = list(dict.fromkeys(f"{x.quantity}.{labels(robot, x.quantity)[x.entry]}" for x in outliers))
    each = [
        f"{x.quantity}.{labels(robot, x.quantity)[x.entry][:80]} = {x.value:.4g} at {x.t:.4f} s"
        for x in outliers[:MOST_SHOWN]
    ]
    more = f", and others in {len(columns)} columns" if len(outliers) > MOST_SHOWN else ""
    were = "was" if rows == 1 else "were"
    return f"{rows} of {samples} samples cannot be and {were} left out: {'; '.join(each)}{more}"
