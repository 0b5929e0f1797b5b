"""A step through a low-pass filter of order n: the motion of [Hoepler sec. VI], where n = 16 and the step is 2 rad.

The paper names the order only.  Here the filter is 1/(Ts + 1)ⁿ, n equal real poles ("critical damping"): it does not
overshoot, and its response and all derivatives have closed forms without cancellation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from math import perm
from typing import Any

import numpy as np

from ..checks import duration as checked_duration, finite, two_points, whole
from ..errors import InputError
from ..numerics import exp, power
from .base import Trajectory, empty_stack, set_fields

MAX_FILTER_ORDER = 100
LAST = 2000.0  # time constants: e⁻ˣ is zero there and polynomials are finite
SETTLED = 1e-6  # of the step: what may be left of it at the end


@dataclass(frozen=True, eq=False)
class FilteredStep(Trajectory):
    """The step from `start` to `goal`, both (n,), at t = 0, through the filter 1/(time_constant·s + 1)^order.

    It rests before 0 and approaches the goal without end; without `duration` it lasts until a millionth of the step is
    left.  The first order − 1 derivatives are continuous; the next one jumps at 0.
    """

    start: np.ndarray
    goal: np.ndarray
    time_constant: float
    order: int = 16
    duration: float = None  # type: ignore[assignment]
    n: int = field(init=False)
    smoothness: int = field(init=False)

    def __post_init__(self) -> None:
        start, goal = two_points("FilteredStep", self.start, self.goal)
        T = checked_duration("FilteredStep", "time_constant", self.time_constant)
        order = whole("FilteredStep", "order", self.order, least=1, largest=MAX_FILTER_ORDER)
        duration = T * settling(order, SETTLED) if self.duration is None else self.duration
        duration = checked_duration("FilteredStep", "duration", duration)
        set_fields(self, start=start, goal=goal, time_constant=T, order=order)
        set_fields(self, duration=duration, n=start.size, smoothness=order - 1)

    @classmethod
    def settled(
        cls, start: Any, goal: Any, duration: float, order: int = 16, remainder: float = SETTLED
    ) -> FilteredStep:
        """The filtered step of which the part `remainder` is left after `duration` seconds."""
        order = whole("FilteredStep", "order", order, least=1, largest=MAX_FILTER_ORDER)
        left = finite("FilteredStep", "remainder", remainder)
        if left.ndim or not 0 < left < 1:
            raise InputError(f"FilteredStep: remainder is {remainder!r}; it must be a number between 0 and 1")
        duration = checked_duration("FilteredStep", "duration", duration)
        return cls(start, goal, duration / settling(order, float(left)), order, duration)

    @property
    def cutoff(self) -> float:
        """The frequency, in Hz, at which the filter's gain is 1/√2."""
        return math.sqrt(2 ** (1 / self.order) - 1) / (2 * math.pi * self.time_constant)

    def derivatives(self, t: np.ndarray, order: int) -> np.ndarray:
        x, step = t / self.time_constant, self.goal - self.start
        moving, x = x >= 0.0, np.maximum(x, 0.0)
        stack = empty_stack(order, x.shape, self.n)
        done, left = (y[..., None] for y in step_response(x, self.order))
        stack[0] = np.where(done < 0.5, self.start + step * done, self.goal - step * left)
        for k in range(1, order + 1):
            rate = np.where(moving, pulse_derivative(x, self.order - 1, k - 1), 0.0) / power(self.time_constant, k)
            stack[k] = step * rate[..., None]
        return stack

    def remedy(self, order: int) -> str:
        return f"give order={order} or more"


def settling(order: int, remainder: float) -> float:
    """The time, in time constants, after which so much of the step is left."""
    low, high = 0.0, 1.0
    while remainder_at(high, order) > remainder:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if remainder_at(middle, order) > remainder else (low, middle)
    return high


def remainder_at(x: float, order: int) -> float:
    """What is left of the step after x time constants: e⁻ˣ Σ xʲ/j!, j < order."""
    total = 1.0
    for j in range(order - 1, 0, -1):
        total = 1.0 + total * x / j
    return exp(-x) * total


def step_response(x: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
    """How much of the step is done at x ≥ 0 and how much is left, each without cancellation where it is the smaller.

    These are the regularised incomplete gamma functions P = xⁿe⁻ˣ/n! (1 + x/(n+1) + x²/((n+1)(n+2)) + ...) and
    Q = e⁻ˣ (1 + x + ... + xⁿ⁻¹/(n−1)!)  [DLMF sec. 8.7, 8.4].
    """
    x = np.minimum(x, LAST)
    total = np.ones_like(x)
    for j in range(order - 1, 0, -1):
        total = 1.0 + total * x / j
    left = exp(-x) * total
    early, late = x < order, np.ones_like(x)
    small = np.where(early, x, 0.0)
    for j in range(order + math.ceil(math.sqrt(90 * order)) + 60, order, -1):  # the first term left out is below 2⁻⁵³
        late = 1.0 + late * small / j
    done = power(small * exp(-small / order), order) / math.factorial(order) * late
    return np.where(early, done, 1.0 - left), np.where(early, 1.0 - done, left)


def pulse_derivative(x: np.ndarray, m: int, r: int) -> np.ndarray:
    """The r-th derivative of xᵐ e⁻ˣ/m!, the filter's impulse response, by Rodrigues' formula  [DLMF sec. 18.5].

    With a = |m − r| it is r!/m! xᵃ e⁻ˣ L_r(x) up to r = m and (−1)ᵃ e⁻ˣ L_m(x) beyond, L being Laguerre polynomials
    with the parameter a.  Differences of xʲ e⁻ˣ/j!, the textbook way, lose five digits at m = 15, r = 14.
    """
    a = abs(m - r)
    x = np.minimum(x, LAST)
    if r >= m:
        return (-1) ** a * exp(-x) * laguerre(x, m, a)
    return power(x * exp(-x / a), a) / perm(m, a) * laguerre(x, r, a)


def laguerre(x: np.ndarray, degree: int, a: int) -> np.ndarray:
    """The Laguerre polynomial with the parameter a, by its recurrence  [DLMF sec. 18.9]."""
    before, L = np.zeros_like(x), np.ones_like(x)
    for i in range(1, degree + 1):
        before, L = L, ((2 * i - 1 + a - x) * L - (i - 1 + a) * before) / i
    return L
