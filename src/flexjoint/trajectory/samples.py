"""Recorded motions: a spline smooth enough for the robot through samples, or through what a low-pass leaves of them.

With a cutoff ω the spline q of degree 2d − 1 minimizes  ∫ (q − samples)² dt + ω⁻²ᵈ ∫ (q⁽ᵈ⁾)² dt,  the smoothing spline
[DeBoor ch. 14]: a filter with the gain 1/(1 + (f/cutoff)²ᵈ) and no delay.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..checks import frozen, increasing, positive, rows, seconds, whole
from ..errors import InputError
from ..numerics import banded_solve, gauss_legendre
from .base import Trajectory, set_fields
from .spline import MAX_SMOOTHNESS, Curve, curve, solved

KNOTS_PER_CUTOFF = 2.0  # knots in 1/(2π cutoff) seconds
EDGE = 1e-9  # of the duration: times beyond the ends by less count as the ends


@dataclass(frozen=True, eq=False)
class Samples(Trajectory):
    """A motion through `positions`, (m, n), recorded at increasing `times`, (m,), with `order` bounded derivatives.

    The first time becomes t = 0 and is kept as `first_time`; before it and after the last one there is no motion, and
    a call is refused.  Without `cutoff` every sample is met; with it, in Hz, faster motion is filtered out as noise.
    `max_error` and `rms_error`, (n,), tell how far the samples lie from the spline.
    """

    times: np.ndarray
    positions: np.ndarray
    order: int = 4
    cutoff: float | None = None
    n: int = field(init=False)
    duration: float = field(init=False)
    smoothness: int = field(init=False)
    first_time: float = field(init=False)
    max_error: np.ndarray = field(init=False)
    rms_error: np.ndarray = field(init=False)
    curve: Curve = field(init=False, repr=False)

    def __post_init__(self) -> None:
        order = whole("Samples", "order", self.order, largest=MAX_SMOOTHNESS + 1)
        degree = order | 1  # odd degrees interpolate at their knots
        positions = rows("Samples", "positions", self.positions, least=degree + 1)
        times = increasing("Samples", "times", self.times, len(positions))
        t = times - times[0]
        duration = seconds("Samples", "the duration", float(t[-1]))
        unit = duration / (len(t) - 1)
        if self.cutoff is None:
            fitted = curve(solved("Samples", lambda u: interpolated(u, positions, degree), t / unit), unit)
        else:
            cutoff = positive("Samples", "cutoff", self.cutoff, ", in Hz")
            if not 0.1 / duration < cutoff < 0.5 / unit:
                raise InputError(
                    f"Samples: cutoff is {cutoff} Hz; it must lie between {0.1 / duration:.3g} Hz, 1/duration/10, and "
                    f"{0.5 / unit:.6g} Hz, half the mean sampling rate; leave it out to meet every sample"
                )
            unit = 1.0 / (2.0 * math.pi * cutoff)
            fitted = curve(solved("Samples", lambda u: smoothed(u, positions, degree), t / unit), unit)
            set_fields(self, cutoff=cutoff)
        with np.errstate(over="ignore"):
            error = np.abs(fitted.derivatives(t, 0)[0] - positions)
            rms = np.sqrt(np.mean(error**2, axis=0))
        set_fields(self, times=times, positions=positions, order=order, n=positions.shape[1], duration=duration)
        set_fields(self, smoothness=degree - 1, first_time=float(times[0]), curve=fitted)
        set_fields(self, max_error=frozen(error.max(axis=0)), rms_error=frozen(rms))

    def derivatives(self, t: np.ndarray, order: int) -> np.ndarray:
        edge = EDGE * self.duration
        outside = t[(t < -edge) | (t > self.duration + edge)]
        if outside.size:
            raise InputError(
                f"Samples: t = {outside[0]} lies outside the samples, which last from 0 to {self.duration} s"
            )
        return self.curve.derivatives(np.clip(t, 0.0, self.duration), order)

    def remedy(self, order: int) -> str:
        return f"give order={order}"


def interpolated(u: np.ndarray, positions: np.ndarray, p: int) -> Any:
    """The spline of odd degree p through all samples, without knots at the (p + 1)/2 samples next to the ends."""
    from scipy.interpolate import BSpline

    inner = u[(p + 1) // 2 : len(u) - (p + 1) // 2]
    knots = np.concatenate([np.full(p + 1, u[0]), inner, np.full(p + 1, u[-1])])
    return BSpline(knots, banded_solve(BSpline.design_matrix(u, knots, p), positions), p)


def smoothed(u: np.ndarray, positions: np.ndarray, p: int) -> Any:
    """The minimum of ∫ (q − samples)² du + ∫ (q⁽ᵈ⁾)² du, time being measured in 1/ω.

    Knots are as dense as the cutoff asks, not as the samples are: the equations stay small and well conditioned.
    """
    from scipy.interpolate import BSpline
    from scipy.sparse import diags_array

    d = (p + 1) // 2
    breaks = np.linspace(u[0], u[-1], math.ceil(KNOTS_PER_CUTOFF * (u[-1] - u[0])) + 1)
    knots = np.concatenate([np.full(p, u[0]), breaks, np.full(p, u[-1])])
    A = BSpline.design_matrix(u, knots, p)
    W = diags_array(np.gradient(u))  # the time each sample stands for
    x, w = gauss_legendre(d)  # exact for the square of a piece of degree p − d = d − 1
    half = np.diff(breaks)[:, None] / 2
    D = BSpline.design_matrix((breaks[:-1, None] + half * (1 + x)).ravel(), knots[d:-d], p - d)
    for k in range(d, 0, -1):
        D = D @ difference(knots[k - 1 : len(knots) - k + 1], p - k + 1)
    V = diags_array((half * w).ravel())
    return BSpline(knots, banded_solve(A.T @ W @ A + D.T @ V @ D, A.T @ (W @ positions)), p)


def difference(knots: np.ndarray, p: int) -> Any:
    """The matrix that takes the coefficients of a spline of degree p to those of its derivative  [DeBoor ch. 10]."""
    from scipy.sparse import diags_array

    slope = p / (knots[p + 1 : -1] - knots[1 : -p - 1])
    return diags_array([-slope, slope], offsets=[0, 1], shape=(len(slope), len(slope) + 1))
