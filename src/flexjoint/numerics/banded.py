"""Banded systems solved without pivoting: those of splines are totally positive and need none  [DeBoor ch. 13].

A long system is cut into blocks with separators between them.  All blocks are eliminated at once, row by row, with the
blocks as vectors; the separators then form a shorter banded system.  So n rows take about √n steps of Python.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from ..types import FloatArray

if TYPE_CHECKING:
    from scipy.sparse import sparray

DIRECT = 128  # rows; a shorter system is eliminated in one piece


def banded_solve(A: sparray, b: FloatArray) -> FloatArray:
    """x with A x = b, for a banded SciPy sparse matrix A (n, n) and right-hand sides b (n, k)."""
    rows = A.tocoo()
    offset = rows.col.astype(int) - rows.row
    lower, upper = max(0, -int(offset.min(initial=0))), max(0, int(offset.max(initial=0)))
    band = np.zeros((A.shape[0], lower + 1 + upper))
    np.add.at(band, (rows.row, offset + lower), rows.data)
    return _solve(band, lower, np.array(b, dtype=float))


def _solve(band: FloatArray, lower: int, b: FloatArray) -> FloatArray:
    """The same with row i of A in band[i], its diagonal element at `lower`."""
    n, width = band.shape
    w = max(lower, width - 1 - lower, 1)
    length = max(4 * w, math.isqrt(n))
    blocks = -(-(n + w) // (length + w))
    if n <= DIRECT or blocks < 3:
        return _eliminated(band[None], lower, b[None])[0]

    # rows as blocks of `length`, each with a separator of w rows behind it; the last ones are filled up with x = 0
    whole = blocks * (length + w)
    filled = np.zeros((whole, width))
    filled[:n], filled[n:, lower] = band, 1.0
    right = np.zeros((whole, b.shape[1]))
    right[:n] = b
    filled, right = filled.reshape(blocks, length + w, width), right.reshape(blocks, length + w, -1)

    # interiors: x = y − U (separator before) − V (separator behind)
    inside = filled[:, :length].copy()
    before, behind = np.zeros((blocks, length, w)), np.zeros((blocks, length, w))
    for d in range(width):
        shift = d - lower  # column minus row
        if shift < 0:
            for i in range(-shift):
                before[:, i, w + i + shift] = inside[:, i, d]
                inside[:, i, d] = 0.0
        for i in range(length - shift, length) if shift > 0 else ():
            behind[:, i, i + shift - length] = inside[:, i, d]
            inside[:, i, d] = 0.0
    found = _eliminated(inside, lower, np.concatenate([before, behind, right[:, :length]], axis=2))
    U, V, y = found[..., :w], found[..., w : 2 * w], found[..., 2 * w :]

    # separators: their own block, what lies before it, and what lies behind it in the next block
    own, left, ahead = (np.zeros((blocks, w, w)) for _ in range(3))
    for d in range(width):
        shift = d - lower
        for i in range(w):
            j = i + shift
            target, column = (left, j + w) if j < 0 else (own, j) if j < w else (ahead, j - w)
            target[:, i, column] = filled[:, length + i, d]
    last = slice(length - w, length)
    next_U, next_V, next_y = (np.concatenate([x[1:, :w], np.zeros((1, w, x.shape[2]))]) for x in (U, V, y))
    diagonal = own - _times(left, V[:, last]) - _times(ahead, next_U)
    rest = right[:, length:] - _times(left, y[:, last]) - _times(ahead, next_y)
    reduced = np.zeros((blocks, w, 4 * w - 1))
    middle = 2 * w - 1
    for part, first in ((-_times(left, U[:, last]), -w), (diagonal, 0), (-_times(ahead, next_V), w)):
        for i in range(w):
            start = middle + first - i
            reduced[:, i, max(start, 0) : start + w] += part[:, i, max(-start, 0) :]
    at = _solve(reduced.reshape(blocks * w, -1), middle, rest.reshape(blocks * w, -1)).reshape(blocks, w, -1)
    at_before = np.concatenate([np.zeros((1, w, at.shape[2])), at[:-1]])
    x = np.concatenate([y - _times(U, at_before) - _times(V, at), at], axis=1)
    return x.reshape(whole, -1)[:n]


def _times(A: FloatArray, B: FloatArray) -> FloatArray:
    """Products of many small matrices, (m, i, j) and (m, j, k)."""
    total = A[:, :, :1] * B[:, :1]
    for j in range(1, A.shape[2]):
        total = total + A[:, :, j : j + 1] * B[:, j : j + 1]
    return total


def _eliminated(band: FloatArray, lower: int, b: FloatArray) -> FloatArray:
    """Solutions of many systems of one size at once, (m, n, width) and (m, n, k)."""
    band, x = band.copy(), b.copy()
    n, width = band.shape[1:]
    upper = width - 1 - lower
    for i in range(n):
        for r in range(1, min(lower, n - 1 - i) + 1):
            factor = (band[:, i + r, lower - r] / band[:, i, lower])[:, None]
            band[:, i + r, lower - r + 1 : width - r] -= factor * band[:, i, lower + 1 :]
            x[:, i + r] -= factor * x[:, i]
    for i in reversed(range(n)):
        for r in range(1, min(upper, n - 1 - i) + 1):
            x[:, i] -= band[:, i, lower + r, None] * x[:, i + r]
        x[:, i] /= band[:, i, lower, None]
    return x
