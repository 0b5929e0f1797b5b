"""Noise level of recorded positions: white noise, encoder steps, outliers and gaps.

The k-th divided difference of a smooth motion is tiny, and that of white noise is not.  Scaled to weights wⱼ with
Σ wⱼ² = 1 it has the standard deviation of the noise itself, whatever the time stamps:

    r = Σⱼ wⱼ x(tⱼ),    wⱼ ∝ Πₗ≠ⱼ 1/(tⱼ − tₗ)

Their root mean square is the noise level, without the differences that an outlier spoils: those far above the median.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..checks import increasing, rows
from ..types import FloatArray

ORDER = 10  # of the differences: 3 Hz sampled at 50 Hz leaves 1e-7 of its amplitude
FEWEST = 20  # samples from which a noise level is estimated
FAR = 8.0  # noise levels: a difference beyond this is spoilt by an outlier
OFF = 6.0  # noise levels: a sample this far from the curve through its neighbours is an outlier
LONG = 3.0  # median steps: a longer one is a gap
MEDIAN = 0.6744897501960817  # of the absolute value of a standard normal variable
BENT = 5.0  # differences: a spike is 1.7 of its largest one, a run 3.4; what is farther off is a bent motion
NEIGHBOURS = 6  # samples on both sides that tell where an outlier should be
DIVISORS = 4  # the smallest step between samples may be some encoder steps
STEP_ERROR = 1e-3  # of an encoder step
LEAST_STEP = 1e-6  # of the step: smaller differences are those of a motion that happens to lie on a grid
ROUNDING = 1e-15  # of the largest position: less noise than that is rounding


class RecordOutlier(NamedTuple):
    """A recorded position far from the curve through its neighbours.

    Args:
        sample: its row.
        joint: its column.
        t: its time, in s.
        value: the position, in rad or m.
        distance: from the curve, in rad or m.
    """

    sample: int
    joint: int
    t: float
    value: float
    distance: float


class NoiseLevel(NamedTuple):
    """Noise of recorded positions, per joint.

    Args:
        sigma: (n,), standard deviation of white noise, in rad or m; at least step/√12 for an encoder.
        step: (n,), encoder step in rad or m if all positions are multiples of it, otherwise 0.
        outliers: positions far from their neighbours, in the order of time.
        gaps: (g, 2), times between which samples are missing, in s.
    """

    sigma: FloatArray
    step: FloatArray
    outliers: tuple[RecordOutlier, ...]
    gaps: FloatArray


def noise_level(times: FloatArray, positions: FloatArray) -> NoiseLevel:
    """Noise level, encoder steps, outliers and gaps of a record.

    Args:
        times: (m,), increasing, in s.
        positions: (m, n), in rad or m.

    Returns:
        A NoiseLevel; all zero for fewer than 20 samples.

    Example:
        >>> import numpy as np
        >>> from flexjoint.trajectory.noise_level import noise_level
        >>> t = np.arange(0.0, 4.0, 1e-3)
        >>> noise = 1e-4 * np.random.default_rng(1).normal(size=t.size)
        >>> noise_level(t, (np.sin(2 * t) + noise)[:, None]).sigma.round(5).tolist()
        [0.0001]
    """
    positions = rows("noise_level", "positions", positions, 1)
    times = increasing("noise_level", "times", times, len(positions))
    m, n = positions.shape
    steps = np.diff(times)
    wide = steps > LONG * np.median(steps)
    gaps = np.column_stack([times[:-1][wide], times[1:][wide]])
    sigma, step, outliers = np.zeros(n), np.zeros(n), []
    if m < FEWEST:
        return NoiseLevel(sigma, step, (), gaps)
    order = min(ORDER, m // 4)
    whole = ~np.lib.stride_tricks.sliding_window_view(wide, order).any(axis=1)  # differences without a gap
    largest = np.maximum(np.abs(positions).max(axis=0), 1e-300)  # squares of huge numbers would overflow
    r = differences(times, positions / largest, order) * largest
    r = r[whole] if np.count_nonzero(whole) > FEWEST - ORDER else r
    middles = (np.flatnonzero(whole) if len(r) == np.count_nonzero(whole) else np.arange(m - order)) + order // 2
    for i in range(n):
        size = np.abs(r[:, i])
        step[i] = encoder_step(positions[:, i], root_mean_square(size))
        usual = max(float(np.median(size)) / MEDIAN, step[i] / 12**0.5, ROUNDING * np.abs(positions[:, i]).max())
        spoilt = size > FAR * usual
        if np.count_nonzero(spoilt) > len(size) / 4:  # no outliers: the motion itself
            spoilt[:] = False
        sigma[i] = max(root_mean_square(size[~spoilt]), step[i] / 12**0.5)
        where = Spoilt(middles[spoilt], size[spoilt], order)
        outliers += outliers_of(times, positions[:, i], i, where, max(sigma[i], usual))
    return NoiseLevel(sigma, step, tuple(sorted(outliers)), gaps)


def root_mean_square(x: FloatArray) -> float:
    """Root mean square of numbers, however large."""
    largest = max(float(np.abs(x).max(initial=0.0)), 1e-300)
    return largest * float(np.sqrt(np.mean((x / largest) ** 2))) if x.size else 0.0


def differences(times: FloatArray, positions: FloatArray, order: int) -> FloatArray:
    """Divided differences of the positions, (m − order, n), with weights of unit length."""
    t = np.lib.stride_tricks.sliding_window_view(times, order + 1)
    t = (t - t[:, :1]) / (t[:, -1:] - t[:, :1])
    weights = np.ones_like(t)
    for shift in range(1, order + 1):
        weights /= t - np.roll(t, shift, axis=1)
    weights /= np.sqrt(np.sum(weights**2, axis=1, keepdims=True))
    x = np.lib.stride_tricks.sliding_window_view(positions, order + 1, axis=0)
    return np.einsum("wj,wnj->wn", weights, x)


def encoder_step(x: FloatArray, size: float) -> float:
    """Step of which all numbers are multiples; 0 if there is none, or if the differences, of this size, vanish."""
    values = np.unique(x)
    if values.size < 2:
        return 0.0
    smallest = float(np.diff(values).min())
    for divisor in range(1, DIVISORS + 1):
        step = smallest / divisor
        if step < 1e3 * np.spacing(np.abs(values).max()) or size < LEAST_STEP * step:
            return 0.0
        counts = (values - values[0]) / step
        step *= counts[-1] / np.round(counts[-1])  # the whole range tells it better than one difference
        counts = (values - values[0]) / step
        if np.all(np.abs(counts - np.round(counts)) < STEP_ERROR):
            return float(step)
    return 0.0


class Spoilt(NamedTuple):
    """Differences far above the noise: their middle samples, their sizes, their order."""

    middles: np.ndarray
    sizes: FloatArray
    order: int


def outliers_of(times: FloatArray, x: FloatArray, joint: int, spoilt: Spoilt, sigma: float) -> list[RecordOutlier]:
    """Samples that spoil differences: far from a cubic through their neighbours, by what the differences say."""
    found: list[RecordOutlier] = []
    order, breaks = spoilt.order, np.flatnonzero(np.diff(spoilt.middles) > spoilt.order) + 1
    groups = zip(np.split(spoilt.middles, breaks), np.split(spoilt.sizes, breaks))
    for group, sizes in groups if spoilt.middles.size else ():
        first, last = max(int(group[0]) - order // 2, 0), min(int(group[-1]) + order // 2, x.size - 1)
        around = np.r_[max(first - NEIGHBOURS, 0) : first, last + 1 : min(last + 1 + NEIGHBOURS, x.size)]
        inside = np.arange(first, last + 1)
        if around.size < NEIGHBOURS:
            continue
        middle, half = (times[around[0]] + times[around[-1]]) / 2, (times[around[-1]] - times[around[0]]) / 2
        cubic = np.polynomial.Polynomial.fit((times[around] - middle) / half, x[around], 3)
        off = x[inside] - cubic((times[inside] - middle) / half)
        limit = OFF * max(sigma, float(np.abs(x[around] - cubic((times[around] - middle) / half)).max()))
        found += [
            RecordOutlier(int(k), joint, float(times[k]), float(x[k]), float(d))
            for k, d in zip(inside, off)
            if limit < abs(d) < BENT * sizes.max()
        ]
    return found
