"""Residuals: the unknown input of a momentum or energy balance, through a first-order filter  [DeLuca (6)].

The momentum p obeys p' = β + τ + u with the known rate β, the motor torque τ and the unknown input u.  The residual
follows u by r' = K (u − r).  From sample to sample, h seconds apart,

    r⁺ = e^(−K h) r + (1 − e^(−K h)) [(p⁺ − p)/h − τ_held − (β + β⁺)/2]

which is exact for the filter; its only error is that of the trapezoid.  The paper integrates instead: it must subtract
p(0), and errors accumulate.  Here only differences of p enter, so nothing accumulates, and the robot may already be
moving at the first sample.

The law also decides what happens to samples that cannot be used: see `Status`.  They leave the residual unchanged.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from enum import IntEnum
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..checks import positive, positive_numbers
from ..robot import Robot, a_robot
from ..spatial import ca, sx
from ..types import Expression, FloatArray
from .base import Measurement
from .timed import StepResult, TimedObserver

FINITE = 1e30  # a sum of absolute values beyond it, or NaN, is not a measurement; also in single precision


class Status(IntEnum):
    """What happened to a sample.  All but GOOD and SATURATED leave the residual unchanged."""

    GOOD = 0  # used
    SATURATED = 1  # used, with the motor limit in place of a torque beyond it
    FIRST = 2  # there is no earlier sample to compare it with
    GAP = 3  # more than `max_gap` after the last usable sample: the comparison starts again
    INVALID = 4  # a sensor, a torque or the time is not a finite number
    STALE = 5  # not later than the sample before: ignored
    SETTLING = 6  # used by filters that still depend on their initial state


class TransferFunction(NamedTuple):
    """A linear filter as a quotient of polynomials in s.

    Args:
        numerator: Coefficients, the highest power first.
        denominator: Coefficients, the highest power first.
    """

    numerator: FloatArray
    denominator: FloatArray

    @property
    def order(self) -> int:
        """The degree of the denominator."""
        return len(self.denominator) - 1


class Balance(NamedTuple):
    """A momentum balance at one sample, columns in SX.

    Args:
        p: Momenta, one entry per channel entry.
        rate: Their known rates β, without the motor torques.
        position: Positions that the unknown input is computed with, of the size `position_count`.
    """

    p: Expression
    rate: Expression
    position: Expression


class ResidualState(NamedTuple):
    """The state of a residual, as columns."""

    seen: Any  # 0: no sample yet, 1: one sample to compare with, 2: and a residual
    elapsed: Any  # time since that sample, s
    blind: Any  # time since the last new residual, s
    impulse: Any  # of the motor torques since that sample
    p: Any
    rate: Any
    position: Any
    r: Any


class Residual(TimedObserver):
    """A filtered balance.  Subclasses are frozen dataclasses.

    Attributes:
        robot: The model of the balance.
        period: Time between two calls, s.
        cutoff: K, rad/s, a number or one per channel entry.
        max_gap: Longest time between two samples, s, that is bridged with the motor torques of that time.
        starts_at_zero: Whether the filter starts at 0, as by default, or at the first input it finds.
    """

    cutoff: Any
    max_gap: float
    starts_at_zero: ClassVar[bool] = True

    @property
    def position_count(self) -> int:
        """The number of positions in a balance."""
        return 0

    @property
    def gain(self) -> FloatArray:
        """K of every channel entry, 1/s: `cutoff`, unless a subclass has several."""
        return np.full(self.size, self.cutoff)

    @abstractmethod
    def balance(self, measurement: Measurement) -> Balance:
        """Momenta and known rates of all channels, in SX."""

    @abstractmethod
    def motor_input(self, torque: Expression) -> Expression:
        """The input of the motor torques to each channel, linear in them, in SX."""

    def unknown_input(self, h: Expression, before: Balance, now: Balance, impulse: Expression) -> Expression:
        """The mean unknown input over h seconds, in SX."""
        return (now.p - before.p - self.motor_input(impulse)) / h - (before.rate + now.rate) / 2

    def transfer_function(self, channel: int = 0) -> TransferFunction:
        """The filter from the unknown input to the residual, K/(s + K), of one channel entry."""
        K = float(self.gain[channel])
        return TransferFunction(np.array([K]), np.array([1.0, K]))

    # State and outputs ------------------------------------------------------------------------------------------------

    @cached_property
    def size(self) -> int:
        """The number of channel entries."""
        return sum(self.channels.values())

    @cached_property
    def sizes(self) -> ResidualState:
        """Sizes of the parts of the state."""
        return ResidualState(1, 1, 1, self.robot.motor_count, self.size, self.size, self.position_count, self.size)

    @cached_property
    def memory(self) -> tuple[int, ...]:
        return (sum(self.sizes),)

    @cached_property
    def outputs(self) -> dict[str, int]:
        return {**self.channels, "status": 1, "blind": 1}

    # The law ----------------------------------------------------------------------------------------------------------

    def step(self, state: Expression, h: Expression, measurement: Measurement, torque: Expression) -> StepResult:
        before, now = ResidualState(*split(state, self.sizes)), self.balance(measurement)
        acting, saturated = limited(self.robot, torque)
        later, timed, driven = h > 0, ca.fabs(h) <= FINITE, is_finite(torque)
        known = ca.logic_and(ca.logic_and(later, timed), driven)
        usable = ca.logic_and(known, is_finite(*now))
        elapsed, impulse = before.elapsed + h, before.impulse + h * acting
        begun = before.seen > 0.5  # and not > 0: the stability check moves every number of a state a little
        good = ca.logic_and(ca.logic_and(usable, begun), elapsed <= self.max_gap)
        stale = ca.logic_and(h <= 0, timed)

        decay = ca.exp(-sx(self.gain) * elapsed)
        decay = decay if self.starts_at_zero else ca.if_else(before.seen == 1, 0, decay)
        u = self.unknown_input(elapsed, Balance(before.p, before.rate, before.position), now, impulse)
        r = ca.if_else(good, decay * before.r + (1 - decay) * u, before.r)
        blind = ca.if_else(good, 0, before.blind + time_passed(h, self.period))
        waiting = ca.logic_and(known, ca.logic_not(usable))  # the torque is counted, the sample is lost
        after = ResidualState(
            ca.if_else(usable, 1 + good, ca.if_else(ca.logic_or(waiting, stale), before.seen, 0)),
            ca.if_else(waiting, elapsed, ca.if_else(stale, before.elapsed, 0)),
            blind,
            ca.if_else(waiting, impulse, ca.if_else(stale, before.impulse, 0)),
            ca.if_else(usable, now.p, before.p),
            ca.if_else(usable, now.rate, before.rate),
            ca.if_else(usable, now.position, before.position) if self.position_count else before.position,
            r,
        )
        restarted = ca.if_else(begun, sx(Status.GAP), sx(Status.FIRST))
        bad = ca.if_else(stale, sx(Status.STALE), ca.if_else(usable, restarted, sx(Status.INVALID)))
        status = ca.if_else(good, ca.if_else(saturated, sx(Status.SATURATED), sx(Status.GOOD)), bad)
        found = dict(zip(self.channels, split(r, self.channels.values())))
        return ca.vertcat(*after), {**found, "status": status, "blind": blind}


def limited(robot: Robot, torque: Expression) -> tuple[Expression, Expression]:
    """Motor torques clipped to their limits, and whether any was clipped."""
    clipped, saturated = [], sx(0)
    for i, limit in enumerate(robot.motor_efforts):
        if np.isfinite(limit):
            clipped.append(ca.fmin(ca.fmax(torque[i], -limit), limit))
            saturated = ca.logic_or(saturated, ca.fabs(torque[i]) > limit)
        else:
            clipped.append(torque[i])
    return ca.vertcat(*clipped), saturated


def split(column: Expression, sizes: Iterable[int]) -> list[Expression]:
    """A column, split into parts of these sizes."""
    return ca.vertsplit(column, [0, *np.cumsum(list(sizes)).tolist()])


def is_finite(*columns: Expression) -> Expression:
    """Whether all numbers of the columns are finite, in SX."""
    return ca.sum1(ca.fabs(ca.vertcat(*columns))) <= FINITE


def time_passed(h: Expression, period: float) -> Expression:
    """h, or the period where the time stamp is missing."""
    return ca.if_else(ca.fabs(h) <= FINITE, ca.fmax(h, 0), period)


def check_residual(observer: Any, *gains: str) -> None:
    """Checks the times of a residual and makes the named gains arrays (n,) of positive numbers."""
    owner = type(observer).__name__
    n = a_robot(owner, observer.robot).n
    for name in ("period", "max_gap"):
        positive(owner, name, getattr(observer, name))
    for name in gains:
        object.__setattr__(observer, name, positive_numbers(owner, name, getattr(observer, name), n))
