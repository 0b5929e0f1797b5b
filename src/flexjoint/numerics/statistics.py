"""Nodes of Gauss-Legendre quadrature, quantiles of the normal distribution."""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from .functions import cos, log

# Numerators and denominators of rational functions, ascending, in the middle and in the tails  [Wichura].
_MIDDLE = (
    (3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4)
    + (4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3),
    (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3)
    + (2.1213794301586595867e4, 3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3),
)
_TAIL = (
    (1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0)
    + (1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1)
    + (1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9),
)
LEAST_PROBABILITY = 1e-10  # beyond it the tail's rational function does not hold


def normal_quantile(p: np.ndarray) -> np.ndarray:
    """x with probability p of lying below it, for p from 1e-10 to 1 − 1e-10, to 1e-15 relative  [Wichura]."""
    p = np.asarray(p, dtype=float)
    if not np.all((p >= LEAST_PROBABILITY) & (p <= 1 - LEAST_PROBABILITY)):
        raise ValueError(f"a probability lies outside {LEAST_PROBABILITY:g} to 1 - {LEAST_PROBABILITY:g}")
    q = p - 0.5
    inner = np.abs(q) <= 0.425
    middle = q * _ratio(_MIDDLE, 0.180625 - q * q)
    tail = _ratio(_TAIL, np.sqrt(-log(np.minimum(p, 1 - p))) - 1.6)
    return np.where(inner, middle, np.where(q < 0, -tail, tail))


def _ratio(polynomials: tuple[tuple[float, ...], tuple[float, ...]], x: np.ndarray) -> np.ndarray:
    above, below = (_horner(c, x) for c in polynomials)
    return above / below


def _horner(coefficients: tuple[float, ...], x: np.ndarray) -> np.ndarray:
    total = np.full_like(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        total = total * x + c
    return total


@cache
def gauss_legendre(n: int) -> tuple[np.ndarray, np.ndarray]:
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
