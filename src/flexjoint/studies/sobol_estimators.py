"""Sobol indices of a function of independent inputs, by pick-freeze  [Saltelli].

A and B are two matrices of inputs u in (0, 1), one row per base sample; A with column i of B gives another row for each
input i.  With f centred and V its variance,

    first order  S_i = E[f_B (f_ABi − f_A)] / V            [Saltelli]
    total        T_i = E[(f_A − f_ABi)²] / (2 V)           [Jansen]

S_i is the share of the variance that would vanish if input i were known, T_i the share that would remain if all others
were.  The rows are a scrambled Sobol sequence, computed with whole numbers: it has the same bits on every processor.
Intervals are percentiles of a bootstrap over the base samples; the sequence is more even than the independent samples
that a bootstrap assumes, so the intervals are wider than they need be.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..errors import InputError
from ..types import FloatArray

BITS = 30
RESAMPLES = 400  # of the bootstrap
CHUNK = 2_000_000  # numbers at once


class PickFreeze(NamedTuple):
    """Values of a function, one row per base sample: at A and B, (N,), and at A with each input from B, (N, d)."""

    at_a: FloatArray
    at_b: FloatArray
    mixed: FloatArray


class Estimates(NamedTuple):
    """First-order and total indices (d,), their intervals (d, 2), mean and variance of the function."""

    first: FloatArray
    total: FloatArray
    first_interval: FloatArray
    total_interval: FloatArray
    mean: float
    variance: float


def base_samples(dimensions: int, seed: int, first: int, last: int) -> tuple[FloatArray, FloatArray]:
    """Rows first, ..., last − 1 of A and B, each (rows, dimensions), in (0, 1)."""
    from scipy.stats.qmc import Sobol

    sequence = Sobol(2 * dimensions, scramble=False, bits=BITS)
    if first:
        sequence.fast_forward(first)
    points = np.rint(sequence.random(last - first) * 2.0**BITS).astype(np.int64)  # exact
    u = (scrambled(points, seed).astype(float) + 0.5) / 2.0**BITS
    return u[:, :dimensions], u[:, dimensions:]


def scrambled(points: np.ndarray, seed: int) -> np.ndarray:
    """Points (rows, columns) of BITS bits: a random linear map of the bits per column, and a random shift  [Matousek].

    Bit k goes to bit k and random lower ones, so that the points stay as even as they are; without the map some pairs
    of columns are uneven in short sequences.
    """
    generator = np.random.Generator(np.random.Philox(key=seed))
    found = np.broadcast_to(generator.integers(2**BITS, size=points.shape[1]), points.shape).copy()
    for k in range(BITS):
        column = 2**k + generator.integers(2**k, size=points.shape[1])
        found ^= np.where((points >> k) & 1, column, 0)
    return found


def mixed_rows(a: FloatArray, b: FloatArray, groups: list[list[int]]) -> FloatArray:
    """Rows of A with the columns of each group from B, (N, groups, dimensions)."""
    found = np.repeat(a[:, None, :], len(groups), axis=1)
    for k, columns in enumerate(groups):
        found[:, k, columns] = b[:, columns]
    return found


def estimate(values: PickFreeze, confidence: float, seed: int) -> Estimates:
    """Indices from values of a function.

    Args:
        values: Values of the function, all finite.
        confidence: Of the intervals.
        seed: Of the bootstrap.

    Raises:
        InputError: The function has the same value everywhere, so that no input has a share.
    """
    mean = float(np.mean([values.at_a, values.at_b]))
    a, b, mixed = (x - mean for x in values)
    spread = max(np.ptp(a), np.ptp(b))
    if spread <= 1e-12 * abs(mean) or spread == 0:
        raise InputError(
            f"sobol_indices: the figure of merit is {mean:.6g} for all samples, so no input has a share of its variance"
        )
    d = mixed.shape[1]
    terms = np.hstack([b[:, None] * (mixed - a[:, None]), 0.5 * (a[:, None] - mixed) ** 2])
    terms = np.column_stack([terms, 0.5 * (a + b), 0.5 * (a * a + b * b)])
    first, total, variance = indices(terms.mean(axis=0)[None], d)
    again = np.vstack([*resampled(terms, seed)])
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    ends = [np.quantile(x, tails, axis=0).T for x in indices(again, d)[:2]]
    return Estimates(first[0], total[0], ends[0], ends[1], mean, float(variance[0]))


def indices(means: FloatArray, d: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """First-order and total indices (rows, d) and variances (rows,) from means of the terms (rows, 2 d + 2)."""
    variance = means[:, -1] - means[:, -2] ** 2
    return means[:, :d] / variance[:, None], means[:, d : 2 * d] / variance[:, None], variance


def resampled(terms: FloatArray, seed: int) -> list[FloatArray]:
    """Means of the terms over base samples drawn again, with replacement, a part at a time."""
    count = len(terms)
    generator = np.random.Generator(np.random.Philox(key=seed, counter=1 << 128))
    rows = max(CHUNK // count, 1)
    found = []
    for first in range(0, RESAMPLES, rows):
        drawn = generator.integers(count, size=(min(rows, RESAMPLES - first), count))
        counts = np.stack([np.bincount(x, minlength=count) for x in drawn]).astype(float)
        found.append(counts @ terms / count)
    return found
