"""A step through a low-pass filter of order n, as in [Hoepler sec. VI], where n = 16 and the step is 2 rad.

The paper gives only the order.  Here the filter is 1/(Ts + 1)ⁿ, with n equal real poles (critical damping): it does not
overshoot, and its response and all derivatives have closed forms without cancellation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from math import perm

import numpy as np
from numpy.typing import ArrayLike

from ..checks import duration as checked_duration, finite, two_points, whole
from ..errors import InputError
from ..numerics import exp, power
from ..types import FloatArray
from .base import Trajectory, empty_stack, set_fields
from .kinds import MotionTable, kind

DEFAULT_FILTER_ORDER = 16
MAX_FILTER_ORDER = 100
LAST = 2000.0  # time constants: e⁻ˣ is zero there and polynomials are finite
SETTLED = 1e-6  # remainder of the step at the end, relative


@dataclass(frozen=True, eq=False, repr=False)
class FilteredStep(Trajectory):
    """A step at t = 0 through the filter 1/(time_constant·s + 1)^order.

    The motion rests before 0 and approaches the goal asymptotically.  Its first order − 1 derivatives are continuous;
    the next one jumps at 0.

    In files: `{kind = "filtered_step", goal = 0.8, duration = 2}`, also start and order, and time_constant in place of
    duration.

    Args:
        start: (n,), position before the step, in rad or m.
        goal: (n,), position after the step, in rad or m.
        time_constant: T of the filter, in s.
        order: order of the filter, 1 to 100; 16 by default.
        duration: duration, in s; by default until 1e-6 of the step remains.

    Raises:
        InputError: an argument has a wrong shape, sign or size.

    Example:
        >>> import flexjoint as fj
        >>> fj.trajectory.FilteredStep(start=[0.0], goal=[2.0], time_constant=0.05)
        FilteredStep(n=1, 2.13079 s, C^15)
    """

    start: FloatArray
    goal: FloatArray
    time_constant: float
    order: int = DEFAULT_FILTER_ORDER
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
        cls,
        start: ArrayLike,
        goal: ArrayLike,
        duration: float,
        order: int = DEFAULT_FILTER_ORDER,
        remainder: float = SETTLED,
    ) -> FilteredStep:
        """The filtered step of which a given part remains after a given time.

        Args:
            start: (n,), position before the step, in rad or m.
            goal: (n,), position after the step, in rad or m.
            duration: duration, in s.
            order: order of the filter, 1 to 100; 16 by default.
            remainder: part of the step that remains, between 0 and 1; 1e-6 by default.

        Raises:
            InputError: an argument has a wrong shape, sign or size.

        Example:
            >>> import flexjoint as fj
            >>> fj.trajectory.FilteredStep.settled([0.0], [2.0], duration=1.0)
            FilteredStep(n=1, 1 s, C^15)
        """
        order = whole("FilteredStep", "order", order, least=1, largest=MAX_FILTER_ORDER)
        left = finite("FilteredStep", "remainder", remainder)
        if left.ndim or not 0 < left < 1:
            raise InputError(f"FilteredStep: remainder is {remainder!r}; it must be a number between 0 and 1")
        duration = checked_duration("FilteredStep", "duration", duration)
        first, last = two_points("FilteredStep", start, goal)
        return cls(first, last, duration / settling(order, float(left)), order, duration)

    @property
    def cutoff(self) -> float:
        """Frequency at which the gain of the filter is 1/√2, in Hz."""
        return math.sqrt(2 ** (1 / self.order) - 1) / (2 * math.pi * self.time_constant)

    def derivatives(self, t: FloatArray, order: int) -> FloatArray:
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


@kind("filtered_step", positions=("start", "goal"), others=("duration", "time_constant", "order"))
def read(table: MotionTable) -> Trajectory:
    """The filtered step in a table of a file; `start` is 0 by default."""
    start, goal = table.per_joint("start", 0.0), table.per_joint("goal")
    order = table.data.get("order", max(DEFAULT_FILTER_ORDER, table.joints.order))
    if "time_constant" in table.data:
        duration = table.optional_number("duration")
        return FilteredStep(start, goal, table.number("time_constant"), order, duration)  # type: ignore[arg-type]
    return FilteredStep.settled(start, goal, table.number("duration"), order)


def settling(order: int, remainder: float) -> float:
    """Time after which a given part of the step remains, in time constants."""
    low, high = 0.0, 1.0
    while remainder_at(high, order) > remainder:
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if remainder_at(middle, order) > remainder else (low, middle)
    return high


def remainder_at(x: float, order: int) -> float:
    """Part of the step that remains after x time constants: e⁻ˣ Σ xʲ/j!, j < order."""
    total = 1.0
    for j in range(order - 1, 0, -1):
        total = 1.0 + total * x / j
    return exp(-x) * total


def step_response(x: FloatArray, order: int) -> tuple[FloatArray, FloatArray]:
    """Parts of the step that are done and that remain at x ≥ 0; the smaller one has no cancellation.

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
    for j in range(order + math.ceil(math.sqrt(90 * order)) + 60, order, -1):  # the first neglected term is below 2⁻⁵³
        late = 1.0 + late * small / j
    done = power(small * exp(-small / order), order) / math.factorial(order) * late
    return np.where(early, done, 1.0 - left), np.where(early, 1.0 - done, left)


def pulse_derivative(x: FloatArray, m: int, r: int) -> FloatArray:
    """The r-th derivative of xᵐ e⁻ˣ/m!, the filter's impulse response, by Rodrigues' formula  [DLMF sec. 18.5].

    With a = |m − r| it is r!/m! xᵃ e⁻ˣ L_r(x) up to r = m and (−1)ᵃ e⁻ˣ L_m(x) beyond, L being Laguerre polynomials
    with the parameter a.  The textbook's differences of xʲ e⁻ˣ/j! lose five digits at m = 15, r = 14.
    """
    a = abs(m - r)
    x = np.minimum(x, LAST)
    if r >= m:
        return (-1) ** a * exp(-x) * laguerre(x, m, a)
    return power(x * exp(-x / a), a) / perm(m, a) * laguerre(x, r, a)


def laguerre(x: FloatArray, degree: int, a: int) -> FloatArray:
    """The Laguerre polynomial with the parameter a, by its recurrence  [DLMF sec. 18.9]."""
    before, L = np.zeros_like(x), np.ones_like(x)
    for i in range(1, degree + 1):
        before, L = L, ((2 * i - 1 + a - x) * L - (i - 1 + a) * before) / i
    return L
