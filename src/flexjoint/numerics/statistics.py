"""Nodes of Gauss-Legendre quadrature, quantiles of the normal distribution."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from ..types import FloatArray
from .functions import cos, log

# Numerators and denominators of rational functions, ascending, in the middle and in the tails  [Wichura].
_MIDDLE = (
    (
        3.3871328727963665, 133.14166789178438, 1971.5909503065513, 13731.69376550946,
        45921.95393154987, 67265.7709270087, 33430.57558358813, 2509.0809287301227,
    ),
    (
        1.0, 42.31333070160091, 687.1870074920579, 5394.196021424751,
        21213.794301586597, 39307.89580009271, 28729.085735721943, 5226.495278852854,
    ),
)  # fmt: skip
_TAIL = (
    (
        1.4234371107496835, 4.630337846156546, 5.769497221460691, 3.6478483247632045,
        1.2704582524523684, 0.2417807251774506, 0.022723844989269184, 0.0007745450142783414,
    ),
    (
        1.0, 2.053191626637759, 1.6763848301838038, 0.6897673349851,
        0.14810397642748008, 0.015198666563616457, 0.0005475938084995345, 1.0507500716444169e-09,
    ),
)  # fmt: skip
LEAST_PROBABILITY = 1e-10  # beyond it the tail's rational function does not hold


def normal_quantile(p: FloatArray) -> FloatArray:
    """x with probability p of lying below it, for p from 1e-10 to 1 − 1e-10, to 1e-15 relative  [Wichura]."""
    p = np.asarray(p, dtype=float)
    if not np.all((p >= LEAST_PROBABILITY) & (p <= 1 - LEAST_PROBABILITY)):
        raise ValueError(f"a probability lies outside {LEAST_PROBABILITY:g} to 1 - {LEAST_PROBABILITY:g}")
    q = p - 0.5
    inner = np.abs(q) <= 0.425
    middle = q * _ratio(_MIDDLE, 0.180625 - q * q)
    tail = _ratio(_TAIL, np.sqrt(-log(np.minimum(p, 1 - p))) - 1.6)
    return np.where(inner, middle, np.where(q < 0, -tail, tail))


def _ratio(polynomials: tuple[tuple[float, ...], tuple[float, ...]], x: FloatArray) -> FloatArray:
    above, below = (_horner(c, x) for c in polynomials)
    return above / below


def _horner(coefficients: tuple[float, ...], x: FloatArray) -> FloatArray:
    total = np.full_like(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        total = total * x + c
    return total


@cache
def gauss_legendre(n: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights (n,) on [−1, 1], exact for polynomials of degree 2n − 1  [DLMF sec. 3.5]."""
    nodes, weights = np.zeros(n), np.zeros(n)
    for i in range((n + 1) // 2):
        x = cos(math.pi * (i + 0.75) / (n + 0.5))
        for _ in range(100):
            value, slope = _legendre(n, x)
            step = value / slope
            x -= step
            if abs(step) < 1e-15:
                break
        x = 0.0 if 2 * i + 1 == n else x
        slope = _legendre(n, x)[1]
        nodes[i], nodes[n - 1 - i] = -x, x
        weights[i] = weights[n - 1 - i] = 2.0 / ((1.0 - x * x) * slope * slope)
    return nodes, weights


def _legendre(n: int, x: float) -> tuple[float, float]:
    """P_n(x) and its slope, by the recurrence."""
    before, P = 1.0, x
    for k in range(2, n + 1):
        before, P = P, ((2 * k - 1) * x * P - (k - 1) * before) / k
    return P, n * (x * P - before) / (x * x - 1.0)
