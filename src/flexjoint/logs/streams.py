"""Quantities of a file with stamps of their own, such as two recorders merged by time, brought to common stamps.

Each row of such a file has the numbers of one recorder; the cells of the others are empty.  The stamps of the slowest
quantity are kept, and cubic splines through the samples of the others are evaluated there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ..observers.stamps import classify_stamps
from ..types import FloatArray
from .quantities import QUANTITIES

FEW = 0.5  # share of rows with all quantities: with fewer they come from several recorders
GAP = 5.0  # periods of a quantity; longer intervals are not bridged


class Aligned(NamedTuple):
    """Times (m,), quantities by name (m, joints or motors), and the names of those that were interpolated."""

    t: FloatArray
    arrays: dict[str, FloatArray]
    interpolated: tuple[str, ...]


def aligned(t: FloatArray, arrays: Mapping[str, FloatArray]) -> Aligned:
    """The quantities at common stamps, unchanged if most rows have all of them.

    Args:
        t: Times of the rows, (m,), s.
        arrays: Quantities by name, (m, joints or motors), NaN where a row has none.
    """
    there = {name: np.any(np.isfinite(x), axis=1) for name, x in arrays.items()}
    sampled = {name: rows for name, rows in there.items() if name in QUANTITIES and rows.any()}
    if not sampled or np.mean(np.all([*sampled.values()], axis=0)) >= FEW:
        return Aligned(t, dict(arrays), ())
    slowest = min(sampled, key=lambda name: int(np.count_nonzero(sampled[name])))
    rows = sampled[slowest]
    others = [name for name, own in there.items() if not np.all(own[rows])]
    found = {name: at_stamps(t[rows], t, x) if name in others else x[rows] for name, x in arrays.items()}
    return Aligned(t[rows], found, tuple(others))


def at_stamps(wanted: FloatArray, t: FloatArray, x: FloatArray) -> FloatArray:
    """The columns x (m, k) with times t (m,) at other times; NaN outside and within gaps."""
    from scipy.interpolate import CubicSpline

    found = np.full((wanted.size, x.shape[1]), np.nan)
    known = np.flatnonzero(np.all(np.isfinite(x), axis=1) & np.isfinite(t))
    known = known[classify_stamps(t[known]).kept]
    stamps = t[known]
    if stamps.size < 4 or np.any(np.diff(stamps) <= 0):
        return found
    after = np.clip(np.searchsorted(stamps, wanted), 1, stamps.size - 1)
    step = stamps[after] - stamps[after - 1]
    inside = (wanted >= stamps[0]) & (wanted <= stamps[-1]) & (step <= GAP * np.median(np.diff(stamps)))
    found[inside] = CubicSpline(stamps, x[known])(wanted[inside])
    return found
