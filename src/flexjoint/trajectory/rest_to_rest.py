"""Rest-to-rest polynomials of any smoothness, as in [EJNEA sec. V]."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import comb, factorial

import numpy as np

from ..checks import duration as checked_duration, two_points, whole
from ..numerics import power
from ..types import FloatArray
from .base import Trajectory, empty_stack, set_fields
from .kinds import MotionTable, kind

MAX_SMOOTHNESS = 100


@dataclass(frozen=True, eq=False, repr=False)
class RestToRest(Trajectory):
    """A motion from rest to rest along a polynomial of degree 2·smoothness + 1.

    The first `smoothness` derivatives vanish at both ends.  All joints start and stop together: the path is straight.
    Before 0 and after `duration` the robot rests; at the ends themselves derivatives are those from inside.

    In files: `{kind = "rest_to_rest", goal = 0.8, duration = 2}`, also start and smoothness.

    Args:
        start: (n,), first position, in rad or m.
        goal: (n,), last position, in rad or m.
        duration: duration, in s.
        smoothness: number of continuous derivatives, at most 100; 3 by default, as elastic joints need.

    Raises:
        InputError: an argument has a wrong shape or is not finite, or the duration is not positive.

    Example:
        >>> import flexjoint as fj
        >>> motion = fj.trajectory.RestToRest(start=[0.0, 0.0], goal=[1.0, -0.5], duration=2.0)
        >>> motion(1.0)[0].tolist()
        [0.5, -0.25]
    """

    start: FloatArray
    goal: FloatArray
    duration: float
    smoothness: int = 3
    n: int = field(init=False)

    def __post_init__(self) -> None:
        start, goal = two_points("RestToRest", self.start, self.goal)
        duration = checked_duration("RestToRest", "duration", self.duration)
        smoothness = whole("RestToRest", "smoothness", self.smoothness, largest=MAX_SMOOTHNESS)
        set_fields(self, start=start, goal=goal, duration=duration, smoothness=smoothness, n=start.size)

    @property
    def peak_velocity(self) -> FloatArray:
        """Largest |q'| per joint, (n,), reached at half time: (2m+1)! / (m! 2ᵐ)² · |goal − start| / duration."""
        return peak_slope(self.smoothness) * np.abs(self.goal - self.start) / self.duration

    def derivatives(self, t: FloatArray, order: int) -> FloatArray:
        time = t / self.duration
        x = np.minimum(np.maximum(time, 0.0), 1.0)
        resting, late = time != x, x > 0.5
        step = self.goal - self.start
        stack = empty_stack(order, x.shape, self.n)
        rise = profile(np.minimum(x, 1.0 - x), self.smoothness)
        signed = np.where(late, -rise, rise)  # from the nearer end, so that both are exact
        np.take([self.start, self.goal], late.astype(np.intp), axis=0, out=stack[0], mode="clip")
        for i, way in enumerate(step):
            stack[0][..., i] += way * signed
        for k in range(1, order + 1):
            rate = profile_derivative(x, self.smoothness, k)
            outer(rate, step / power(self.duration, k), out=stack[k])
            stack[k][resting] = 0.0
        return stack

    def remedy(self, order: int) -> str:
        return f"give smoothness={order - 1} or more"


@kind("rest_to_rest", positions=("start", "goal"), others=("duration", "smoothness"))
def read(table: MotionTable) -> Trajectory:
    """The trajectory in a table of a file; `start` is 0 by default."""
    start, goal = table.per_joint("start", 0.0), table.per_joint("goal")
    return RestToRest(start, goal, table.number("duration"), table.smoothness())


def outer(x: FloatArray, step: FloatArray, out: FloatArray) -> None:
    """x · step, column by column: twice as fast as a broadcast product with rows as short as a robot has joints."""
    for i, size in enumerate(step):
        np.multiply(x, size, out=out[..., i])


def profile(x: FloatArray, m: int) -> FloatArray:
    """s(x) = xᵐ⁺¹ Σ_j C(m + j, j) (1 − x)ʲ, the polynomial of degree 2m + 1 that rises smoothly from 0 to 1."""
    y, total = 1.0 - x, np.full_like(x, comb(2 * m, m))
    for j in reversed(range(m)):
        total = total * y + comb(m + j, j)
    return power(x, m + 1) * total


def peak_slope(m: int) -> float:
    """Largest slope of `profile`, in the middle."""
    return (2 * m + 1) * comb(2 * m, m) / 4**m


def profile_derivative(x: FloatArray, m: int, k: int) -> FloatArray:
    """s⁽ᵏ⁾(x) from s' = (2m+1)!/(m!)² xᵐ(1 − x)ᵐ, whose derivatives Rodrigues' formula gives  [DLMF sec. 18.5].

    With a = |m − r|, the r-th derivative of xᵐ(1 − x)ᵐ is r! (x(1 − x))ᵃ P_r(1 − 2x) up to r = m and
    (−1)ᵃ r! P_{2m−r}(1 − 2x) beyond, P being Jacobi polynomials with both parameters a.  Nothing cancels.
    """
    r = k - 1
    if r > 2 * m:
        return np.zeros_like(x)
    a, u = abs(m - r), 1.0 - 2.0 * x
    factor = float(factorial(r) * (2 * m + 1) * comb(2 * m, m))
    if r <= m:
        return factor * power(x * (1.0 - x), a) * jacobi(u, r, a)
    return (-1) ** a * factor * jacobi(u, 2 * m - r, a)


def jacobi(u: FloatArray, degree: int, a: int) -> FloatArray:
    """The Jacobi polynomial with both parameters a, by its recurrence  [DLMF sec. 18.9]."""
    before, P = np.zeros_like(u), np.ones_like(u)
    for i in range(1, degree + 1):
        b = i + a
        before, P = P, ((2 * b - 1) * b * u * P - (b - 1) * b * before) / (i * (i + 2 * a))
    return P
