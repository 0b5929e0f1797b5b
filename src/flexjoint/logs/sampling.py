"""Samples of a log at a constant rate, smoothed and differentiated, for checks and delays.

The longest part of the log without a gap is interpolated to its median period.  All columns are smoothed by the same
symmetric filter, two moving averages of SMOOTHING, which delays nothing; positions are differentiated after it.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..observers.stamps import classify_stamps
from ..types import FloatArray
from .log import Log
from .quantities import QUANTITIES

MOST = 60_000  # samples that are looked at
GAP = 5.0  # periods; more without a sample divide the log
SMOOTHING = 0.02  # s, of a moving average
LEAST = 20  # samples; with fewer nothing is checked


class Uniform(NamedTuple):
    """Part of a log at a constant rate.

    Args:
        t: Times, (m,), s.
        period: Time between samples, s.
        columns: Smoothed quantities by name, (m, joints or motors).
    """

    t: FloatArray
    period: float
    columns: dict[str, FloatArray]


def uniform(log: Log, smoothing: float = SMOOTHING) -> Uniform | None:
    """The longest part of a log without gaps at a constant rate, smoothed over a time in s; None if it is too short."""
    period = log.period
    kept = np.flatnonzero(classify_stamps(log.t).kept)
    t = log.t[kept]
    names = [name for name in QUANTITIES if name in log.known and name not in log.differenced]
    usable = np.ones(kept.size, dtype=bool)
    for name in names:
        usable &= np.all(np.isfinite(getattr(log, name)[kept]), axis=1)
    kept, t = kept[usable], t[usable]
    steps = np.diff(t)
    breaks = np.flatnonzero((steps > GAP * period) | (steps <= 0)) + 1
    edges = [0, *breaks.tolist(), t.size]
    first, last = max(pairwise(edges), key=lambda x: x[1] - x[0])
    last = min(last, first + MOST)
    if last - first < LEAST:
        return None
    t = t[first:last]
    grid = t[0] + period * np.arange(int((t[-1] - t[0]) / period * (1 + 1e-12)) + 1)
    width = max(1, round(smoothing / period)) | 1
    if grid.size < 4 * width + LEAST:
        width = 1
    columns = {}
    for name in names:
        x = getattr(log, name)[kept[first:last]]
        even = np.column_stack([np.interp(grid, t, x[:, i]) for i in range(x.shape[1])])
        columns[name] = smoothed(even, width)
    return Uniform(grid[width - 1 : grid.size - width + 1], period, columns)


def smoothed(x: FloatArray, width: int) -> FloatArray:
    """Two moving averages of an odd number of samples, one after the other; width − 1 samples fewer at both ends."""
    for _ in range(2):
        added = np.cumsum(np.vstack([np.zeros(x.shape[1]), x]), axis=0)
        x = (added[width:] - added[:-width]) / width
    return x


def derivative(x: FloatArray, period: float) -> FloatArray:
    """Central differences of all columns, one-sided at both ends, (m, ...)."""
    return np.gradient(x, period, axis=0)
