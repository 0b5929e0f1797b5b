"""What every residual is: a force missing in a balance of momentum, or of energy, through a filter  [DeLuca (6)].

With the momentum p, what is known to change it at a rate β, and motor torques τ, p' = β + τ + u: the residual follows
the unknown u by r' = K (u − r).  From sample to sample, h seconds apart,

    r⁺ = e^(−K h) r + (1 − e^(−K h)) [(p⁺ − p)/h − τ_held − (β + β⁺)/2]

which is exact for the filter, and has no other error than that of the trapezoid.  The paper integrates instead; there
p(0) must be taken off, and errors add up.  Here nothing adds up: only differences of p enter, so a robot that moves at
the first sample is none other than one at rest.

What happens to samples that cannot be used is part of the law: see `Status`.  The residual then stays as it was.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from enum import IntEnum
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..checks import gain_rows, positive
from ..errors import InputError
from ..spatial import ca, sx
from .base import Measurement
from .timed import TimedObserver

FINITE = 1e300  # sums of absolute values beyond it, or NaN, are no measurements


class Status(IntEnum):
    """What became of a sample; all but GOOD and SATURATED leave the residual as it was."""

    GOOD = 0
    SATURATED = 1  # used, with the limit of the motors in place of a torque beyond it
    FIRST = 2  # nothing before it to compare it with
    GAP = 3  # later than `longest` after the last one that could be used: begun anew
    INVALID = 4  # a sensor, a torque or the time is no finite number
    STALE = 5  # not later than the one before: ignored
    SETTLING = 6  # used by filters that have not yet forgotten how they were begun


class TransferFunction(NamedTuple):
    """Of a filter, by the coefficients of polynomials in s, the highest power first."""

    numerator: np.ndarray
    denominator: np.ndarray

    @property
    def order(self) -> int:
        return len(self.denominator) - 1


class Balance(NamedTuple):
    """Momenta, and the rates at which they change by what is known, motor torques apart; and what else is kept."""

    p: Any
    rate: Any
    place: Any


class Memory(NamedTuple):
    """The state, as columns."""

    seen: Any  # 0: nothing, 1: one sample to compare with, 2: and a residual
    gone: Any  # time since it
    blind: Any  # time since the residual was last good
    impulse: Any  # of the motor torques since that sample
    p: Any
    rate: Any
    place: Any
    r: Any


class Residual(TimedObserver):
    """A filtered balance; subclasses are frozen dataclasses with `robot`, `period` and `longest`.

    `longest` is the longest time between two samples that is bridged, with the motor torques that were given meanwhile.
    """

    longest: float
    from_zero: ClassVar[bool] = True  # whether the filter begins at 0, or at the first force that is found

    @property
    def places(self) -> int:
        """How many numbers are kept of a sample beside momenta and rates."""
        return 0

    @property
    @abstractmethod
    def gain(self) -> np.ndarray:
        """K of every channel, 1/s."""

    @abstractmethod
    def balance(self, measurement: Measurement) -> Balance:
        """Momenta and known rates of all channels, in SX."""

    @abstractmethod
    def driving(self, torque: Any) -> Any:
        """What motor torques do in each channel, linear in them, in SX."""

    def force(self, h: Any, before: Balance, now: Balance, impulse: Any) -> Any:
        """The mean of what is missing over h seconds."""
        return (now.p - before.p - self.driving(impulse)) / h - (before.rate + now.rate) / 2

    def transfer_function(self, channel: int = 0) -> TransferFunction:
        """From what is missing to the residual: K/(s + K)."""
        K = float(self.gain[channel])
        return TransferFunction(np.array([K]), np.array([1.0, K]))

    # State and outputs ------------------------------------------------------------------------------------------------

    @cached_property
    def size(self) -> int:
        return sum(self.channels.values())

    @cached_property
    def sizes(self) -> Memory:
        return Memory(1, 1, 1, self.robot.motor_count, self.size, self.size, self.places, self.size)

    @cached_property
    def memory(self) -> tuple[int, ...]:
        return (sum(self.sizes),)

    @cached_property
    def outputs(self) -> dict[str, int]:
        return {**self.channels, "status": 1, "blind": 1}

    # The law ----------------------------------------------------------------------------------------------------------

    def step(self, state: Any, h: Any, measurement: Measurement, torque: Any) -> tuple[Any, dict[str, Any]]:
        before, now = Memory(*split(state, self.sizes)), self.balance(measurement)
        given, saturated = self.limited(torque)
        later, timed, driven = h > 0, ca.fabs(h) <= FINITE, is_finite(torque)
        known = ca.logic_and(ca.logic_and(later, timed), driven)
        usable = ca.logic_and(known, is_finite(*now))
        gone, impulse = before.gone + h, before.impulse + h * given
        good = ca.logic_and(ca.logic_and(usable, before.seen > 0), gone <= self.longest)
        stale = ca.logic_and(h <= 0, timed)

        fade = ca.exp(-sx(self.gain) * gone)
        fade = fade if self.from_zero else ca.if_else(before.seen == 1, 0, fade)
        u = self.force(gone, Balance(before.p, before.rate, before.place), now, impulse)
        r = ca.if_else(good, fade * before.r + (1 - fade) * u, before.r)
        blind = ca.if_else(good, 0, before.blind + time_passed(h, self.period))
        waiting = ca.logic_and(known, ca.logic_not(usable))  # the torque goes on, the sample is lost
        after = Memory(
            ca.if_else(usable, 1 + good, ca.if_else(ca.logic_or(waiting, stale), before.seen, 0)),
            ca.if_else(waiting, gone, ca.if_else(stale, before.gone, 0)),
            blind,
            ca.if_else(waiting, impulse, ca.if_else(stale, before.impulse, 0)),
            ca.if_else(usable, now.p, before.p),
            ca.if_else(usable, now.rate, before.rate),
            ca.if_else(usable, now.place, before.place) if self.places else before.place,
            r,
        )
        begun = ca.if_else(before.seen > 0, sx(Status.GAP), sx(Status.FIRST))
        bad = ca.if_else(stale, sx(Status.STALE), ca.if_else(usable, begun, sx(Status.INVALID)))
        status = ca.if_else(good, ca.if_else(saturated, sx(Status.SATURATED), sx(Status.GOOD)), bad)
        found = dict(zip(self.channels, split(r, self.channels.values())))
        return ca.vertcat(*after), {**found, "status": status, "blind": blind}

    def limited(self, torque: Any) -> tuple[Any, Any]:
        """Motor torques within their limits, and whether they had to be brought there."""
        given, saturated = [], sx(0)
        for i, limit in enumerate(self.robot.motor_efforts):
            if np.isfinite(limit):
                given.append(ca.fmin(ca.fmax(torque[i], -limit), limit))
                saturated = ca.logic_or(saturated, ca.fabs(torque[i]) > limit)
            else:
                given.append(torque[i])
        return ca.vertcat(*given), saturated


def split(column: Any, sizes: Iterable[int]) -> list[Any]:
    """A column cut into parts of these sizes, in SX."""
    return ca.vertsplit(column, [0, *np.cumsum(list(sizes)).tolist()])


def is_finite(*columns: Any) -> Any:
    """Whether all numbers are, in SX."""
    return ca.sum1(ca.fabs(ca.vertcat(*columns))) <= FINITE


def time_passed(h: Any, period: float) -> Any:
    """h where that is a time; without a time stamp, at a guess, the period."""
    return ca.if_else(ca.fabs(h) <= FINITE, ca.fmax(h, 0), period)


def checked_residual(observer: Any, *gains: str) -> None:
    """The numbers of a residual; the named gains become one a joint or motor."""
    owner, n = type(observer).__name__, observer.robot.n
    for name in ("period", "longest"):
        positive(owner, name, getattr(observer, name))
    for name in gains:
        (row,) = gain_rows(owner, [name], [getattr(observer, name)], n)
        object.__setattr__(observer, name, row)
        if not np.all(row > 0):
            raise InputError(f"{owner}: {name} is {row.tolist()}; every number must be positive")
