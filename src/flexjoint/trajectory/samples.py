"""Recorded motions: a spline through samples, or through low-pass filtered samples.

With a cutoff ω the spline q of degree 2d − 1 minimizes  ∫ (q − samples)² dt + ω⁻²ᵈ ∫ (q⁽ᵈ⁾)² dt,  the smoothing spline
[DeBoor ch. 14]: a filter with the gain 1/(1 + (f/cutoff)²ᵈ) and no delay.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ..checks import frozen, increasing, positive, rows, seconds, whole
from ..errors import InputError, shown
from ..numerics import banded_solve, gauss_legendre
from ..types import FloatArray
from .base import Trajectory, set_fields
from .kinds import MotionTable, kind
from .sample_files import read_samples
from .spline import MAX_SMOOTHNESS, Curve, curve, solved

KNOTS_PER_CUTOFF = 2.0  # knots in 1/(2π cutoff) seconds
AUTO, OFF = "auto", "off"  # cutoffs that are no numbers
EDGE = 1e-9  # relative to the duration: times this close to an end count as the end


@dataclass(frozen=True, eq=False, repr=False)
class Samples(Trajectory):
    """A recorded motion, as a spline through its samples.

    The first time becomes t = 0.  Times outside the record are refused.

    In files: `{kind = "samples", file = "record.csv"}`, also order and cutoff; `cutoff = "auto"` selects the cutoff
    with the smallest torque error (`assess_record`).

    Args:
        times: (m,), increasing, in s.
        positions: (m, n), in rad or m.
        order: number of bounded derivatives, at most 16; 4 by default, as elastic joints need.
        cutoff: cutoff frequency of the noise filter, in Hz; by default none: the spline passes through every sample,
            and torque tables refuse a noisy record; "off": the same, but noisy records are accepted.

    Attributes:
        first_time: the first of `times`.
        max_error: (n,), largest distance of a sample from the spline.
        rms_error: (n,), root mean square of these distances.

    Raises:
        InputError: an argument has a wrong shape or size, the times do not increase, or the samples are too few.

    Example:
        >>> import numpy as np
        >>> import flexjoint as fj
        >>> t = 5.0 + np.linspace(0.0, 2.0, 41)
        >>> motion = fj.trajectory.Samples(t, np.sin(t)[:, None])
        >>> motion.first_time, motion
        (5.0, Samples(n=1, 2 s, C^4))
    """

    times: FloatArray
    positions: FloatArray
    order: int = 4
    cutoff: float | Literal["off"] | None = None
    n: int = field(init=False)
    duration: float = field(init=False)
    smoothness: int = field(init=False)
    first_time: float = field(init=False)
    max_error: FloatArray = field(init=False)
    rms_error: FloatArray = field(init=False)
    curve: Curve = field(init=False, repr=False)

    def __post_init__(self) -> None:
        order = whole("Samples", "order", self.order, largest=MAX_SMOOTHNESS + 1)
        degree = order | 1  # odd degrees interpolate at their knots
        positions = rows("Samples", "positions", self.positions, least=degree + 1)
        times = increasing("Samples", "times", self.times, len(positions))
        t = times - times[0]
        duration = seconds("Samples", "the duration", float(t[-1]))
        unit = duration / (len(t) - 1)
        if self.cutoff is None or self.cutoff == OFF:
            fitted = curve(solved("Samples", lambda u: interpolated(u, positions, degree), t / unit), unit)
        else:
            if isinstance(self.cutoff, str):
                raise InputError(
                    f"Samples: cutoff is {shown(self.cutoff)}; give a number in Hz, or 'off'; "
                    "fj.trajectory.assess_record(robot, samples).filtered finds one"
                )
            cutoff = positive("Samples", "cutoff", self.cutoff, ", in Hz")
            if not 0.1 / duration < cutoff < 0.5 / unit:
                raise InputError(
                    f"Samples: cutoff is {cutoff} Hz; it must lie between {0.1 / duration:.3g} Hz, 1/duration/10, and "
                    f"{0.5 / unit:.6g} Hz, half the mean sampling rate; leave it out to pass through every sample"
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

    def derivatives(self, t: FloatArray, order: int) -> FloatArray:
        edge = EDGE * self.duration
        outside = t[(t < -edge) | (t > self.duration + edge)]
        if outside.size:
            raise InputError(
                f"Samples: t = {outside[0]} lies outside the samples, which last from 0 to {self.duration} s"
            )
        return self.curve.derivatives(np.clip(t, 0.0, self.duration), order)

    def remedy(self, order: int) -> str:
        return f"give order={order}"


@kind("samples", others=("file", "order", "cutoff"))
def read(table: MotionTable) -> Trajectory:
    """The samples in a CSV or NPZ file that a table of a file names."""
    samples = read_samples(table.folder / table.text("file"), table.joints)
    order, chosen = table.data.get("order", table.joints.order), table.data.get("cutoff")
    if chosen == OFF:
        return Samples(*samples, order=order, cutoff="off")
    if chosen != AUTO:
        if isinstance(chosen, str):
            raise table.wrong("cutoff", f'a number in Hz, "{AUTO}" or "{OFF}"')
        return Samples(*samples, order=order, cutoff=table.optional_number("cutoff"))
    if table.joints.stiffnesses or table.joints.pose:
        raise table.wrong("cutoff", "a number in Hz; only for positions of joints one is found")
    from .record import assess_record

    return assess_record(table.joints.robot, Samples(*samples, order=order)).filtered


def interpolated(u: FloatArray, positions: FloatArray, p: int) -> Any:
    """The spline of odd degree p through all samples, without knots at the (p + 1)/2 samples closest to each end."""
    from scipy.interpolate import BSpline

    inner = u[(p + 1) // 2 : len(u) - (p + 1) // 2]
    knots = np.concatenate([np.full(p + 1, u[0]), inner, np.full(p + 1, u[-1])])
    return BSpline(knots, banded_solve(BSpline.design_matrix(u, knots, p), positions), p)


def smoothed(u: FloatArray, positions: FloatArray, p: int) -> Any:
    """The minimum of ∫ (q − samples)² du + ∫ (q⁽ᵈ⁾)² du, with time in units of 1/ω.

    The cutoff sets the density of the knots, not the samples: the equations stay small and well conditioned.
    """
    from scipy.interpolate import BSpline
    from scipy.sparse import diags_array

    d = (p + 1) // 2
    breaks = np.linspace(u[0], u[-1], math.ceil(KNOTS_PER_CUTOFF * (u[-1] - u[0])) + 1)
    knots = np.concatenate([np.full(p, u[0]), breaks, np.full(p, u[-1])])
    A = BSpline.design_matrix(u, knots, p)
    W = diags_array(np.gradient(u))  # the time that each sample represents
    x, w = gauss_legendre(d)  # exact for the square of a piece of degree p − d = d − 1
    half = np.diff(breaks)[:, None] / 2
    D = BSpline.design_matrix((breaks[:-1, None] + half * (1 + x)).ravel(), knots[d:-d], p - d)
    for k in range(d, 0, -1):
        D = D @ difference(knots[k - 1 : len(knots) - k + 1], p - k + 1)
    V = diags_array((half * w).ravel())
    return BSpline(knots, banded_solve(A.T @ W @ A + D.T @ V @ D, A.T @ (W @ positions)), p)


def difference(knots: FloatArray, p: int) -> Any:
    """The matrix from the coefficients of a spline of degree p to those of its derivative  [DeBoor ch. 10]."""
    from scipy.sparse import diags_array

    slope = p / (knots[p + 1 : -1] - knots[1 : -p - 1])
    return diags_array([-slope, slope], offsets=[0, 1], shape=(len(slope), len(slope) + 1))
