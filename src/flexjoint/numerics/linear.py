"""Small matrices: products, equations and least squares, each sum in a fixed order."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from ..types import FloatArray


def product(*factors: ArrayLike) -> FloatArray:
    """The product of matrices, from left to right; the last one may be a vector."""
    found, *rest = (np.asarray(x, dtype=float) for x in factors)
    for B in rest:
        columns = B.reshape(len(B), -1)
        total = found[:, :1] * columns[0]
        for k in range(1, len(columns)):
            total = total + found[:, k : k + 1] * columns[k]
        found = total.reshape(len(found), *B.shape[1:])
    return found


def solve(A: ArrayLike, b: ArrayLike) -> FloatArray:
    """x with A x = b, for one right-hand side (n,) or several (n, k), by Gaussian elimination with partial pivoting."""
    A = np.array(A, dtype=float)
    b = np.asarray(b, dtype=float)
    n = len(A)
    work = np.hstack([A, b.reshape(n, -1)])
    for k in range(n):
        best = k + int(np.argmax(np.abs(work[k:, k])))
        if work[best, k] == 0.0:
            raise InputError(f"a system of {n} equations is singular: column {k + 1} depends on those before it")
        work[[k, best]] = work[[best, k]]
        work[k + 1 :, k:] -= (work[k + 1 :, k] / work[k, k])[:, None] * work[k, k:]
    x = work[:, n:]
    for k in reversed(range(n)):
        x[k] = x[k] / work[k, k]
        x[:k] -= work[:k, k, None] * x[k]
    return x.reshape(b.shape)


def solve_each(A: FloatArray, b: FloatArray) -> FloatArray:
    """x with A x = b for many systems at once, A (..., n, n) and b (..., n, k), by elimination with partial pivoting.

    A singular system gives numbers that are not finite; the bits of each are those it has alone.
    """
    n = A.shape[-1]
    work = np.concatenate([A, b], axis=-1).reshape(-1, n, n + b.shape[-1])
    each = np.arange(len(work))
    with np.errstate(all="ignore"):
        for k in range(n):
            best = k + np.argmax(np.abs(work[:, k:, k]), axis=1)
            first = work[each, best]
            work[each, best] = work[:, k]
            work[:, k] = first
            work[:, k + 1 :, k:] -= (work[:, k + 1 :, k] / first[:, None, k])[..., None] * first[:, None, k:]
        x = work[..., n:]
        for k in reversed(range(n)):
            x[:, k] = x[:, k] / work[:, k, None, k]
            x[:, :k] -= work[:, :k, k, None] * x[:, None, k]
    return x.reshape(b.shape)


def column_basis(Y: FloatArray, tolerance: float) -> tuple[list[int], list[int], FloatArray]:
    """The columns of Y outside the span of those before them, the others, and X with Y[:, kept] X = Y[:, others].

    By modified Gram-Schmidt orthogonalisation: a column of length 1 of which at most `tolerance` is left is dependent.
    """
    Q = np.array(Y.T, dtype=float)  # a column of Y is a row here, contiguous
    R = np.zeros((len(Q), len(Q)))
    kept: list[int] = []
    for k in range(len(Q)):
        length = float(np.sqrt(np.sum(Q[k] * Q[k])))
        if length <= tolerance:
            continue
        kept.append(k)
        R[k, k], Q[k] = length, Q[k] / length
        for j in range(k + 1, len(Q)):
            R[k, j] = np.sum(Q[k] * Q[j])
            Q[j] -= R[k, j] * Q[k]
    others = [k for k in range(len(Q)) if k not in set(kept)]
    X = R[np.ix_(kept, others)]
    for i in reversed(range(len(kept))):
        X[i] = X[i] / R[kept[i], kept[i]]
        X[:i] -= R[kept[:i], kept[i]][:, None] * X[i]
    return kept, others, X


def nonnegative_least_squares(A: FloatArray, b: FloatArray, free: int = 0) -> FloatArray:
    """x that minimizes |A x − b| with x ≥ 0, except for its first `free` elements  [LawsonHanson ch. 23].

    The normal equations are solved: for well-conditioned A with few columns.
    """
    n = A.shape[1]
    G = np.array([[np.sum(A[:, i] * A[:, j]) for j in range(n)] for i in range(n)])
    r = np.array([np.sum(A[:, i] * b) for i in range(n)])
    x, active = np.zeros(n), np.arange(n) < free
    small = 1e-12 * float(np.max(np.abs(r), initial=0.0))
    for _ in range(10 * n):
        slope = np.where(active, -np.inf, r - product(G, x))
        candidate = int(np.argmax(slope))
        if active.all() or slope[candidate] <= small:
            return x
        active[candidate] = True
        while True:
            chosen = np.flatnonzero(active)
            wanted = np.zeros(n)
            wanted[chosen] = solve(G[np.ix_(chosen, chosen)], r[chosen])
            beyond = active & (np.arange(n) >= free) & (wanted <= 0.0)
            if not beyond.any():
                break
            share = np.min(x[beyond] / (x[beyond] - wanted[beyond]))
            x = x + share * (wanted - x)
            active &= (np.arange(n) < free) | ~(beyond & (x <= 1e-15 * np.max(np.abs(x), initial=0.0)))
            x = np.where(active, x, 0.0)
        x = wanted
    return x


def stationary_covariance(A: FloatArray, Q: FloatArray) -> FloatArray:
    """X = A X Aᵀ + Q, what white noise of covariance Q accumulates to in x⁺ = A x + noise, by doubling.

    A must be stable.
    """
    X, A = np.array(Q, dtype=float), np.array(A, dtype=float)
    for _ in range(64):  # 2⁶⁴ steps
        more = product(A, X, A.T)
        if not np.any(np.abs(more) > 1e-17 * np.max(np.abs(X))):
            break
        X, A = X + more, product(A, A)
    return (X + X.T) / 2
