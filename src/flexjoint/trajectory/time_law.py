"""Time laws whose inverse is a spline: how long a path takes, point by point."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import comb

import numpy as np

from ..checks import finite, frozen, increasing, seconds, whole
from ..errors import InputError
from ..spatial import total
from ..types import FloatArray
from .base import Trajectory, set_fields
from .kinds import MotionTable, kind
from .spline import MAX_SMOOTHNESS, Curve, curve

STEPS = 100  # of a search, which ends when nothing changes: Newton's method takes five or so


@dataclass(frozen=True, eq=False, repr=False)
class TimeLaw(Trajectory):
    """A time law s(t), one column: the inverse of t(s), whose slope dt/ds is a B-spline.

    `path.retimed(law)` is the path at these times.  The law does not start at rest: the path does.  Before 0 and after
    `duration` s keeps its first and last value.

    In files: `{kind = "time_law", breaks = [...], slopes = [...], degree = 4}`.

    Args:
        breaks: (m,), increasing from 0: values of s between which the slope is a polynomial, in s.
        slopes: (m − 1 + degree,), positive: coefficients of dt/ds.
        degree: degree of these polynomials, at most 15, and number of continuous derivatives of the law.

    Raises:
        InputError: an argument has a wrong shape or size, or a slope is not positive.

    Example:
        Half of a path takes three times as long as the other half:

        >>> import flexjoint as fj
        >>> law = fj.trajectory.TimeLaw(breaks=[0.0, 1.0, 2.0], slopes=[3.0, 3.0, 1.0, 1.0], degree=2)
        >>> law.duration, round(float(law(law.duration / 2)[0, 0]), 3)
        (4.0, 0.706)
    """

    breaks: FloatArray
    slopes: FloatArray
    degree: int
    n: int = field(init=False)
    duration: float = field(init=False)
    smoothness: int = field(init=False)
    inverse: Curve = field(init=False, repr=False)
    times: FloatArray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        from scipy.interpolate import BSpline

        degree = whole("TimeLaw", "degree", self.degree, least=1, largest=MAX_SMOOTHNESS)
        breaks = increasing("TimeLaw", "breaks", self.breaks, np.size(self.breaks))
        slopes = frozen(finite("TimeLaw", "slopes", self.slopes))
        if breaks.size < 2 or breaks[0] != 0.0:
            raise InputError(f"TimeLaw: breaks are {breaks.size}, from {breaks[:1]}; give two or more, from 0 on")
        if slopes.shape != (breaks.size - 1 + degree,):
            raise InputError(
                f"TimeLaw: slopes has shape {slopes.shape}; with {breaks.size} breaks and degree {degree} it must be "
                f"({breaks.size - 1 + degree},)"
            )
        if not np.all(slopes > 0):
            raise InputError(f"TimeLaw: slopes must be positive; the least is {slopes.min()}")
        unit = float(breaks[-1])
        knots = np.concatenate([np.zeros(degree), breaks / unit, np.ones(degree)])
        # t is the spline whose derivative has these coefficients: each adds slope · (width of its support)/(degree + 1)
        with np.errstate(over="ignore"):
            rises = unit * slopes * (knots[degree + 1 :] - knots[: -degree - 1]) / (degree + 1)
            heights = np.concatenate([[0.0], np.cumsum(rises)])[:, None]
        duration = seconds("TimeLaw", "the duration", float(heights[-1, 0]))
        inverse = curve(BSpline(np.concatenate([[0.0], knots, [1.0]]), heights, degree + 1), unit)
        set_fields(self, breaks=breaks, slopes=slopes, degree=degree, n=1, smoothness=degree, duration=duration)
        set_fields(self, inverse=inverse, times=frozen(inverse.derivatives(breaks, 0)[0, :, 0]))

    def derivatives(self, t: FloatArray, order: int) -> FloatArray:
        s = self.place(t)
        h = self.inverse.derivatives(s, order)[..., 0]
        stack = [s]
        B = {(0, 0): np.ones_like(s)} | {(k, 0): np.zeros_like(s) for k in range(1, order + 1)}
        for k in range(1, order + 1):  # derivative k of t(s(t)) is 1, 0, 0, ...  by Faà di Bruno [DLMF (1.4.13)]
            for j in range(2, k + 1):
                B[k, j] = total(comb(k - 1, i - 1) * stack[i] * B[k - i, j - 1] for i in range(1, k - j + 2))
            others = total(h[j] * B[k, j] for j in range(2, k + 1)) if k > 1 else np.zeros_like(s)
            stack.append(((k == 1) - others) / h[1])
            B[k, 1] = stack[k]
        found = np.stack(stack)[..., None]
        found[1:, (t < 0.0) | (t > self.duration)] = 0.0
        return found

    def place(self, t: FloatArray) -> FloatArray:
        """s at times t: Newton's method within the interval of breaks that holds t, and bisection where it leaves."""
        t = np.clip(t, 0.0, self.duration)
        i = np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, self.breaks.size - 2)
        low, high = self.breaks[i], self.breaks[i + 1]
        s = low + (high - low) * (t - self.times[i]) / (self.times[i + 1] - self.times[i])
        for _ in range(STEPS):
            value, slope = self.inverse.derivatives(s, 1)[..., 0]
            low, high = np.where(value <= t, s, low), np.where(value >= t, s, high)
            step = s - (value - t) / slope
            following = np.where((step >= low) & (step <= high), step, 0.5 * (low + high))
            done = np.all(np.abs(following - s) <= 4e-16 * self.breaks[-1])
            s = following
            if done:
                break
        return np.where(t >= self.duration, self.breaks[-1], s)

    def remedy(self, order: int) -> str:
        return f"give degree={order - 1} or more"


@kind("time_law", others=("breaks", "slopes", "degree"))
def read(table: MotionTable) -> Trajectory:
    """The time law in a table of a file."""
    breaks, slopes = table.array("breaks", "a list of numbers"), table.array("slopes", "a list of numbers")
    return TimeLaw(breaks, slopes, table.data.get("degree"))  # type: ignore[arg-type]
