"""Which samples a component on the robot can use, from their time stamps and values, in SX.

Nothing that arrives from outside can be trusted: a number may be NaN, a sample may be missing, a clock may be set back.
The rule, per step:

| sample | what happens | flag |
|---|---|---|
| the first | the laws start | FIRST |
| on time | h = t − t_before; within a millionth of the period it counts as the period | |
| more than 1.5 periods after the one before | used, with its h | MISSED |
| not later than the one before | ignored | STALE |
| `RESTART` of these in a row | the clock was set back: used, as if a period had passed | RESTARTED |
| a number that a law reads is not finite | ignored | INVALID |

An ignored sample leaves the states of all laws unchanged.  Instead of stamps a component may take the time since the
sample before, `elapsed`; in single precision it must, since stamps would lose their last digits.
"""

from __future__ import annotations

from enum import IntFlag
from typing import NamedTuple

from ..compiler.ir.program import Array
from ..observers.residual import FINITE
from ..observers.stamps import RESTART
from ..spatial import ca, sx
from ..types import Expression

LATE = 1.5  # periods after which samples are missing
EXACT = 1e-6  # share of the period by which stamps are rounded


class Flag(IntFlag):
    """Events of a step; the output `flags` is their sum."""

    FIRST = 1  # the laws started
    MISSED = 2  # samples are missing before this one
    STALE = 4  # ignored: not later than the one before
    INVALID = 8  # ignored: a number is not finite
    HELD = 16  # the torque is that of the step before
    RELEASED = 32  # the torque is zero: no usable sample for longer than `patience`
    RESTARTED = 64  # the clock was set back
    UNKNOWN = 128  # an output is not finite; the torque is


class Clock(NamedTuple):
    """Part of the state that remembers time stamps."""

    seen: Expression  # 1 after the first usable sample
    stamp: Expression  # of the last usable sample, s
    stale: Expression  # stale samples in a row


class Timing(NamedTuple):
    """Timing of a sample; conditions are 1 or 0."""

    first: Expression
    h: Expression  # time since the sample before, s; the period at the first
    later: Expression  # whether its time can be used
    missed: Expression
    restarted: Expression
    clock: Clock  # after this sample, if it is usable


CLOCK = (Array("seen", ()), Array("stamp", (), "s"), Array("stale", ()))
STAMP, ELAPSED = Array("t", (), "s"), Array("elapsed", (), "s")


def timing(before: Clock, t: Expression, elapsed: Expression | None, period: float) -> Timing:
    """Timing of a sample from its stamp t, s, or from the `elapsed` time, s, if that is given."""
    first = before.seen == 0
    raw = t - before.stamp if elapsed is None else elapsed
    exact = ca.fabs(raw - period) <= EXACT * period
    restarted = ca.logic_and(ca.logic_not(first), ca.logic_and(raw <= 0, before.stale >= RESTART))
    regular = ca.logic_or(ca.logic_or(first, restarted), exact)
    h = ca.if_else(regular, sx(period), raw)
    usable = ca.logic_and(ca.fabs(t) < FINITE, ca.logic_and(h > 0, h < FINITE))  # false for NaN
    missed = ca.logic_and(usable, h > LATE * period)
    return Timing(first, h, usable, missed, restarted, Clock(sx(1), t, sx(0)))
