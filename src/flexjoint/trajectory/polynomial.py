"""Rest-to-rest polynomials: the motion of [EJNEA sec. V], of any smoothness."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import comb, factorial

import numpy as np

from ..checks import duration as checked_duration, two_points, whole
from ..numerics import power
from .base import Trajectory, empty_stack, set_fields

MAX_SMOOTHNESS = 100


@dataclass(frozen=True, eq=False)
class RestToRest(Trajectory):
    """From `start` to `goal`, both (n,), in `duration` seconds, along a polynomial of degree 2·smoothness + 1.

    The first `smoothness` derivatives vanish at both ends: velocity, acceleration and jerk for 3.  All joints start
    and stop together, so their paths are straight.  Before 0 and after `duration` it rests; at the ends themselves
    derivatives are those from inside.
    """

    start: np.ndarray
    goal: np.ndarray
    duration: float
    smoothness: int = 3
    n: int = field(init=False)

    def __post_init__(self) -> None:
        start, goal = two_points("RestToRest", self.start, self.goal)
        duration = checked_duration("RestToRest", "duration", self.duration)
        smoothness = whole("RestToRest", "smoothness", self.smoothness, largest=MAX_SMOOTHNESS)
        set_fields(self, start=start, goal=goal, duration=duration, smoothness=smoothness, n=start.size)

    @property
    def peak_velocity(self) -> np.ndarray:
        """The largest |q'| of each joint, reached at half time: (2m+1)! / (m! 2ᵐ)² · |goal − start| / duration."""
        m = self.smoothness
        factor = (2 * m + 1) * comb(2 * m, m) / 4**m
        return factor * np.abs(self.goal - self.start) / self.duration

    def derivatives(self, t: np.ndarray, order: int) -> np.ndarray:
        time = t / self.duration
        x = np.minimum(np.maximum(time, 0.0), 1.0)
        resting, late = time != x, x > 0.5
        step = self.goal - self.start
        stack = empty_stack(order, x.shape, self.n)
        rise = profile(np.minimum(x, 1.0 - x), self.smoothness)
        signed = np.where(late, -rise, rise)  # from the nearer end, so that both are met exactly
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


def outer(x: np.ndarray, step: np.ndarray, out: np.ndarray) -> None:
    """x · step, column by column: in half the time of a product whose rows are as short as robots have joints."""
    for i, size in enumerate(step):
        np.multiply(x, size, out=out[..., i])


def profile(x: np.ndarray, m: int) -> np.ndarray:
    """s(x) = xᵐ⁺¹ Σ_j C(m + j, j) (1 − x)ʲ, the polynomial of degree 2m + 1 that rises smoothly from 0 to 1."""
    y, total = 1.0 - x, np.full_like(x, comb(2 * m, m))
    for j in reversed(range(m)):
        total = total * y + comb(m + j, j)
    return power(x, m + 1) * total


def profile_derivative(x: np.ndarray, m: int, k: int) -> np.ndarray:
    """s⁽ᵏ⁾(x) from s' = (2m+1)!/(m!)² xᵐ(1 − x)ᵐ, whose derivatives Rodrigues' formula gives  [DLMF sec. 18.5].

    With a = |m − r|, the r-th derivative of xᵐ(1 − x)ᵐ is r! (x(1 − x))ᵃ P_r(1 − 2x) up to r = m and
    (−1)ᵃ r! P_{2m−r}(1 − 2x) beyond, P being Jacobi polynomials with both parameters a: no sum that cancels.
    """
    r = k - 1
    if r > 2 * m:
        return np.zeros_like(x)
    a, u = abs(m - r), 1.0 - 2.0 * x
    factor = float(factorial(r) * (2 * m + 1) * comb(2 * m, m))
    if r <= m:
        return factor * power(x * (1.0 - x), a) * jacobi(u, r, a)
    return (-1) ** a * factor * jacobi(u, 2 * m - r, a)


def jacobi(u: np.ndarray, degree: int, a: int) -> np.ndarray:
    """The Jacobi polynomial with both parameters a, by its recurrence  [DLMF sec. 18.9]."""
    before, P = np.zeros_like(u), np.ones_like(u)
    for i in range(1, degree + 1):
        b = i + a
        before, P = P, ((2 * b - 1) * b * u * P - (b - 1) * b * before) / (i * (i + 2 * a))
    return P
