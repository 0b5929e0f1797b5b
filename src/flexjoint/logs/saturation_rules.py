"""Torques that were limited: flat tops at the largest or least torque of a column."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..errors import listed
from ..findings import Finding
from ..types import FloatArray
from .log import Log
from .quantities import labels

Mask = NDArray[np.bool_]

SHORTEST = 5  # samples of a flat top
USUAL = 5.0  # a flat top is this many times as long as the usual run of equal numbers
SHARE = 0.001  # of all samples, that are on flat tops
STEP = 3.0  # a flat top is entered by this many of the smallest steps of the column; below it is rounding


def saturation_findings(log: Log) -> Iterator[Finding]:
    """Joints and motors whose torque stays exactly at its extreme while the joint moves."""
    for name in ("tau", "tau_e"):
        x = getattr(log, name)
        found: dict[str, str] = {}
        for i, label in enumerate(labels(log.robot, name) if x is not None else ()):
            flat = flat_tops(log, name, i)
            total = np.count_nonzero(flat)
            if total:
                levels = " and ".join(f"{top:.4g}" for top in sorted(set(x[flat, i].tolist()), reverse=True))
                found[label] = f"{label} ({total} samples at {levels} {log.robot.motor_kinds[i].unit('Nm | N')})"
        if found:
            reason = f"{name} is saturated, of {len(x)} samples: {listed(found.values())}"
            fix = "the motors could not follow the motion; use a slower one, or leave out these samples"
            yield Finding("warning", "saturation", next(iter(found)), reason, fix)


def saturated_samples(log: Log, name: str) -> Mask:
    """Whether each torque of a log is on a flat top, (m, joints or motors).

    Args:
        log: The log.
        name: tau or tau_e, which the log has.
    """
    return np.column_stack([flat_tops(log, name, i) for i in range(getattr(log, name).shape[1])])


def flat_tops(log: Log, name: str, i: int) -> Mask:
    """Samples of a torque that stay exactly at its largest or least number while its joint moves; none if too few."""
    x, motion = getattr(log, name)[:, i], log.q if log.q is not None else log.theta
    moves = np.zeros(x.size, dtype=bool)
    if motion is not None and i < motion.shape[1]:
        moves[1:] = np.diff(motion[:, i]) != 0.0
    found = flat_top(x, moves) | flat_top(-x, moves)
    return found if np.count_nonzero(found) >= max(2 * SHORTEST, SHARE * x.size) else np.zeros_like(found)


def flat_top(x: FloatArray, moves: Mask) -> Mask:
    """Samples on flat tops at the largest number of a column.

    Args:
        x: The column, (m,).
        moves: Whether its joint has moved since the sample before, (m,).
    """
    finite, found = np.isfinite(x), np.zeros(x.size, dtype=bool)
    if not finite.any():
        return found
    top = float(np.max(x[finite]))
    changes = np.flatnonzero(np.diff(x) != 0.0) + 1
    edges = np.concatenate([[0], changes, [x.size]])
    lengths = np.diff(edges)
    at_top = np.flatnonzero((x[edges[:-1]] == top) & (lengths >= SHORTEST))
    if not at_top.size or lengths[at_top].max() < USUAL * np.median(lengths):
        return found
    values = np.unique(x[finite])
    smallest = float(np.min(np.diff(values))) if values.size > 1 else 0.0
    into = [abs(x[edges[k]] - x[edges[k] - 1]) for k in at_top if edges[k] > 0]
    out = [abs(x[edges[k + 1]] - top) for k in at_top if edges[k + 1] < x.size]
    if not max([0.0, *into, *out]) > STEP * smallest:
        return found  # the rounded top of a smooth curve
    if any(moves[edges[k] : edges[k + 1]].any() for k in at_top):
        for k in at_top:
            found[edges[k] : edges[k + 1]] = True
    return found
