"""Rest-to-rest polynomials: the motion of [EJNEA sec. V], of any smoothness."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from math import comb, perm
from typing import Any

import numpy as np

from ..errors import InputError

MAX_SMOOTHNESS = 20


@dataclass(frozen=True, eq=False)
class RestToRest:
    """From `start` to `goal`, both (n,), in `duration` seconds, along a polynomial of degree 2·smoothness + 1.

    The first `smoothness` derivatives vanish at both ends: velocity, acceleration and jerk for 3.  All joints start
    and stop together, so their paths are straight.  Called with t, a number or an array, it returns q and its first
    `order` derivatives as one array (order + 1, ..., n), the dimensions of t in the middle.  Before 0 and after
    `duration` it rests; at the ends themselves derivatives are those from inside.
    """

    start: np.ndarray
    goal: np.ndarray
    duration: float
    smoothness: int = 3

    def __post_init__(self) -> None:
        start, goal = point("start", self.start), point("goal", self.goal)
        if start.shape != goal.shape:
            raise InputError(f"RestToRest: start has {start.size} joints and goal {goal.size}; give both the same")
        duration = finite("duration", self.duration)
        if duration.ndim or duration <= 0:
            raise InputError(f"RestToRest: duration is {self.duration!r}; it must be a positive number of seconds")
        smoothness = whole("smoothness", self.smoothness)
        if smoothness > MAX_SMOOTHNESS:
            raise InputError(f"RestToRest: smoothness is {smoothness}; the largest is {MAX_SMOOTHNESS}")
        fields = {"start": start, "goal": goal, "duration": float(duration), "smoothness": smoothness}
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def peak_velocity(self) -> np.ndarray:
        """The largest |q'| of each joint, reached at half time: (2m+1)! / (m! 2ᵐ)² · |goal − start| / duration."""
        m = self.smoothness
        factor = (2 * m + 1) * comb(2 * m, m) / 4**m
        return factor * np.abs(self.goal - self.start) / self.duration

    def __call__(self, t: Any, order: int = 4) -> np.ndarray:
        order = whole("order", order)
        x = finite("t", t) / self.duration
        moving = (x >= 0.0) & (x <= 1.0)
        x = np.clip(x, 0.0, 1.0)
        step = self.goal - self.start
        stack = np.empty((order + 1, *x.shape, step.size))
        rise = step * profile(np.minimum(x, 1.0 - x), self.smoothness)[..., None]
        stack[0] = np.where(x[..., None] > 0.5, self.goal - rise, self.start + rise)  # both ends are met exactly
        for k in range(1, order + 1):
            rate = np.where(moving, profile_derivative(x, self.smoothness, k), 0.0) / self.duration**k
            stack[k] = step * rate[..., None]
        return stack


def profile(x: np.ndarray, m: int) -> np.ndarray:
    """s(x) = xᵐ⁺¹ Σ_j C(m + j, j) (1 − x)ʲ, the polynomial of degree 2m + 1 that rises smoothly from 0 to 1."""
    y = 1.0 - x
    return x ** (m + 1) * sum(float(comb(m + j, j)) * y**j for j in range(m + 1))


def profile_derivative(x: np.ndarray, m: int, k: int) -> np.ndarray:
    """s⁽ᵏ⁾(x) from s' = (2m+1)!/(m!)² xᵐ(1 − x)ᵐ by Leibniz' rule.

    In powers of x alone the terms cancel: at m = 10 five digits of s'''' are lost, here one.
    """
    y = 1.0 - x
    total = np.zeros_like(x)
    for l in range(max(0, k - 1 - m), min(k - 1, m) + 1):
        r = k - 1 - l
        factor = (-1) ** r * comb(k - 1, l) * perm(m, l) * perm(m, r) * (2 * m + 1) * comb(2 * m, m)
        total += float(factor) * x ** (m - l) * y ** (m - r)
    return total


def finite(what: str, value: Any) -> np.ndarray:
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"RestToRest: {what} must be real numbers, not {value!r}") from None
    if not np.all(np.isfinite(array)):
        raise InputError(f"RestToRest: {what} is {array.tolist()}; every number must be finite")
    return array


def point(what: str, value: Any) -> np.ndarray:
    array = finite(what, value)
    if array.ndim != 1:
        raise InputError(f"RestToRest: {what} has shape {array.shape}; it must be (n,), one number a joint")
    array.flags.writeable = False
    return array


def whole(what: str, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if number < 0:
        raise InputError(f"RestToRest: {what} is {value!r}; it must be 0, 1, 2, ...")
    return number
