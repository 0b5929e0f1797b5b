"""Samples that do not count: spikes, saturated torques, and reversals whose friction no law describes.

An equation of motion holds at every sample, so it may be multiplied by a window before it is transformed.  The window
of a joint is zero at its bad samples and rises smoothly beside them, so that noise above the bandwidth stays there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..detection.outliers import find_outliers, without_outliers
from ..errors import listed
from ..logs import Log
from ..logs.quantities import labels
from ..logs.saturation_rules import saturated_samples
from ..types import FloatArray
from .signals import Signals

SPIKE = 10.0  # times the usual distance from the neighbours
USUAL = 0.995  # quantile of the distances that is usual
LEAST = 0.01  # of the deviation of a column: a smaller spike is none
MOST = 0.01  # share of the samples that may be spikes; more are noise
SLOW = 0.3  # of the rms speed: below, a reversal is left out
FEWEST = 0.3  # share of the samples that must not be saturated
STAYING = 0.2  # share of the samples that must stay without reversals


def without_spikes(log: Log) -> tuple[Log, str]:
    """The log with NaN at single samples far off their neighbours, and a sentence about them; "" without any."""
    outliers = find_outliers(log)
    found = without_outliers(log, outliers)
    columns = list(dict.fromkeys(f"{x.quantity} of {labels(log.robot, x.quantity)[x.entry]}" for x in outliers))
    count = len({x.sample for x in outliers})
    arrays = {}
    for name in ("q", "theta", "tau", "tau_e"):
        x = getattr(found, name)
        if x is None:
            continue
        places = {i: rows for i in range(x.shape[1]) if (rows := spikes(x[:, i])).size}
        if places:
            arrays[name] = x.copy()
            for i, rows in places.items():
                arrays[name][rows, i] = np.nan
                columns.append(f"{name} of {labels(log.robot, name)[i]}")
                count += rows.size
    if not columns:
        return log, ""
    return replace(found, **arrays), f"{count} samples are far off their neighbours and left out: {listed(columns)}"


def spikes(x: FloatArray) -> NDArray[np.int64]:
    """Single samples of a column that do not lie between their neighbours: rows.

    A spike leaves the cubic through its four neighbours by d, and makes these leave theirs by −2d/3; a step does not.
    """
    if x.size < 20:
        return np.zeros(0, dtype=int)
    d = np.zeros_like(x)
    d[2:-2] = x[2:-2] - (4 * (x[1:-3] + x[3:-1]) - x[:-4] - x[4:]) / 6
    d = np.where(np.isfinite(d), d, 0.0)
    size = np.abs(d)
    limit = max(SPIKE * float(np.quantile(size, USUAL)), LEAST * float(np.nanstd(x)))
    alone = np.zeros(x.size, dtype=bool)
    for side in (d[:-2], d[2:]):
        alone[1:-1] |= (side * d[1:-1] > 0) | (np.abs(side) > 0.85 * size[1:-1]) | (np.abs(side) < 0.4 * size[1:-1])
    rows = np.flatnonzero((size > limit) & ~alone)
    return rows if 0 < rows.size <= max(1.0, MOST * x.size) else np.zeros(0, dtype=int)


def unsaturated(log: Log) -> NDArray[np.bool_]:
    """Whether the torque of each joint is not at its limit, (m, n); True for a joint that is there most of the time."""
    found = np.ones((log.t.size, log.robot.n), dtype=bool)
    for name in ("tau", "tau_e"):
        if getattr(log, name) is not None and not log.robot.transmissions:
            found &= ~saturated_samples(log, name)[:, : log.robot.n]
    return np.where(found.mean(axis=0) < FEWEST, True, found)


def smooth_windows(kept: NDArray[np.bool_], period: float, bandwidth: float) -> FloatArray:
    """Windows (m, n) that are zero where samples are not kept and rise within a period of the bandwidth."""
    from scipy.ndimage import convolve1d, minimum_filter1d

    width = 2 * int(0.5 / (bandwidth * period)) + 1
    shape = np.hanning(width + 2)[1:-1]
    inner = minimum_filter1d(kept.astype(float), width, axis=0, mode="nearest")
    found = np.asarray(convolve1d(inner, shape / shape.sum(), axis=0, mode="nearest"))
    return np.where(found > 1 - 1e-9, 1.0, found)  # rounding; `Recording.whole` asks for ones


def slow_samples(v: FloatArray, share: float = SLOW) -> NDArray[np.bool_]:
    """Whether motors are slow, near a reversal: velocities (m, ...) below a share of their root mean square."""
    return np.asarray(np.abs(v) < share * np.sqrt(np.mean(v * v, axis=0)))


def without_reversals(
    signals: Sequence[Signals], joints: Collection[int], shares: Sequence[float]
) -> tuple[list[FloatArray], set[int]]:
    """Windows of recordings that are zero where motors are slow, and the joints of which enough samples stay.

    Args:
        signals: Of each recording.
        joints: Whose reversals are left out, as far as enough samples stay.
        shares: Of the rms speed, below which a motor is slow: the first with which enough samples stay is taken.
    """
    found = [np.ones_like(x.motor[1]) if x.recording.windows is None else x.recording.windows.copy() for x in signals]
    done: set[int] = set()
    for share in shares:
        windows = [
            smooth_windows(~slow_samples(x.motor[1], share), x.recording.period, x.recording.bandwidth) for x in signals
        ]
        for i in set(joints) - done:
            if all(np.mean(x[:, i] * w[:, i]) > STAYING for x, w in zip(found, windows)):
                done.add(i)
                for x, w in zip(found, windows):
                    x[:, i] *= w[:, i]
    return found, done
