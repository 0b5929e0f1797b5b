"""Motions with constant velocity between smooth ramps, as a path at a given speed needs them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from math import comb

import numpy as np
from numpy.typing import ArrayLike

from ..checks import duration as checked_duration, number, positive_numbers, two_points, whole
from ..errors import InputError
from ..numerics import power
from ..spatial import total
from ..types import FloatArray
from .base import Trajectory, empty_stack, set_fields
from .kinds import MotionTable, kind
from .rest_to_rest import MAX_SMOOTHNESS, outer, peak_slope, profile, profile_derivative


@dataclass(frozen=True, eq=False, repr=False)
class SmoothTrapezoid(Trajectory):
    """A motion from rest to rest whose velocity rises smoothly, stays constant, and falls smoothly.

    The velocity rises along the polynomial of `RestToRest`.  All joints start and stop together: the path is straight.
    `SmoothTrapezoid.limited` takes limits of speed and acceleration instead of the duration.

    In files: `{kind = "trapezoid", goal = 0.8, duration = 2}`, also start, ramp and smoothness.

    Args:
        start: (n,), first position, in rad or m.
        goal: (n,), last position, in rad or m.
        duration: duration, in s.
        ramp: duration of each ramp relative to the whole, above 0 and at most 0.5; 0.25 by default.
        smoothness: number of continuous derivatives, from 1 to 100; 3 by default, as elastic joints need.

    Raises:
        InputError: an argument has a wrong shape or is not finite, or the duration is not positive.

    Example:
        >>> import flexjoint as fj
        >>> motion = fj.trajectory.SmoothTrapezoid([0.0], [0.6], duration=2.0)
        >>> motion(1.0)[1].round(12).tolist()
        [0.4]
    """

    start: FloatArray
    goal: FloatArray
    duration: float
    ramp: float = 0.25
    smoothness: int = 3
    n: int = field(init=False)

    def __post_init__(self) -> None:
        start, goal = two_points("SmoothTrapezoid", self.start, self.goal)
        duration = checked_duration("SmoothTrapezoid", "duration", self.duration)
        smoothness = whole("SmoothTrapezoid", "smoothness", self.smoothness, least=1, largest=MAX_SMOOTHNESS)
        ramp = number("SmoothTrapezoid", "ramp", self.ramp)
        if not 1e-9 <= ramp <= 0.5:
            raise InputError(
                f"SmoothTrapezoid: ramp is {ramp:g}; it must lie between 1e-9 and 0.5, relative to the duration"
            )
        set_fields(self, start=start, goal=goal, duration=duration, ramp=ramp, smoothness=smoothness, n=start.size)

    @classmethod
    def limited(
        cls, start: ArrayLike, goal: ArrayLike, speed: ArrayLike, acceleration: ArrayLike, smoothness: int = 3
    ) -> SmoothTrapezoid:
        """The shortest motion of this kind within limits of speed and acceleration.

        Args:
            start, goal: (n,), first and last position, in rad or m.
            speed: largest speed, rad/s or m/s: a number or (n,).
            acceleration: largest acceleration, rad/s² or m/s²: a number or (n,).
            smoothness: as above.

        Raises:
            InputError: an argument is wrong, or start and goal are equal.
        """
        first, last = two_points("SmoothTrapezoid", start, goal)
        way = np.abs(last - first)
        if not np.any(way):
            raise InputError("SmoothTrapezoid: start and goal are equal, so no speed gives a duration; give `duration`")
        v = least_share(positive_numbers("SmoothTrapezoid", "speed", speed, way.size, infinite=True), way)
        a = least_share(positive_numbers("SmoothTrapezoid", "acceleration", acceleration, way.size, infinite=True), way)
        if not math.isfinite(a):
            raise InputError("SmoothTrapezoid: acceleration must be finite: a speed cannot be reached at once")
        steepness = peak_slope(whole("SmoothTrapezoid", "smoothness", smoothness, least=1, largest=MAX_SMOOTHNESS) - 1)
        v = min(v, math.sqrt(a / steepness))
        ramp = steepness * v / a  # s
        whole_time = 1.0 / v + ramp
        return cls(first, last, whole_time, min(ramp / whole_time, 0.5), smoothness)

    @property
    def peak_velocity(self) -> FloatArray:
        """Largest |q'| per joint, (n,): that between the ramps."""
        return np.abs(self.goal - self.start) / (self.duration * (1.0 - self.ramp))

    @property
    def peak_acceleration(self) -> FloatArray:
        """Largest |q''| per joint, (n,): in the middle of the ramps."""
        return self.peak_velocity * peak_slope(self.smoothness - 1) / (self.ramp * self.duration)

    def derivatives(self, t: FloatArray, order: int) -> FloatArray:
        time = t / self.duration
        x = np.minimum(np.maximum(time, 0.0), 1.0)
        late, m, ramp = x > 0.5, self.smoothness - 1, self.ramp
        near = np.minimum(x, 1.0 - x)  # from the nearer end, so that both are exact
        y = np.minimum(near / ramp, 1.0)
        v = 1.0 / (1.0 - ramp)
        rise = v * (ramp * profile_integral(y, m) + np.maximum(near - ramp, 0.0))
        signed = np.where(late, -rise, rise)
        step = self.goal - self.start
        stack = empty_stack(order, x.shape, self.n)
        np.take([self.start, self.goal], late.astype(np.intp), axis=0, out=stack[0], mode="clip")
        for i, way in enumerate(step):
            stack[0][..., i] += way * signed
        for k in range(1, order + 1):
            rate = v * (profile(y, m) if k == 1 else profile_derivative(y, m, k - 1) / power(ramp, k - 1))
            if k > 1:
                rate = np.where(near > ramp, 0.0, np.where(late & (k % 2 == 0), -rate, rate))
            outer(rate, step / power(self.duration, k), out=stack[k])
            stack[k][time != x] = 0.0
        return stack

    def remedy(self, order: int) -> str:
        return f"give smoothness={order - 1} or more"


@kind("trapezoid", positions=("start", "goal"), others=("duration", "ramp", "smoothness"))
def read(table: MotionTable) -> Trajectory:
    """The trajectory in a table of a file; `start` is 0 by default."""
    start, goal = table.per_joint("start", 0.0), table.per_joint("goal")
    return SmoothTrapezoid(start, goal, table.number("duration"), table.number("ramp", 0.25), table.smoothness())


def least_share(limits: FloatArray, way: FloatArray) -> float:
    """The least limit relative to the way; infinite where nothing moves."""
    with np.errstate(divide="ignore"):
        return float(np.min(np.where(way > 0, limits / way, np.inf)))


def profile_integral(x: FloatArray, m: int) -> FloatArray:
    """∫ of `profile` from 0 to x, in Bernstein form: its coefficients rise from 0 to 1/2, so nothing cancels."""
    degree, y = 2 * m + 2, 1.0 - x
    coefficients = [max(0, j - m - 1) / degree for j in range(degree + 1)]
    return total(c * comb(degree, j) * (power(x, j) * power(y, degree - j)) for j, c in enumerate(coefficients))
