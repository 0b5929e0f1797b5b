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
| a position or velocity that the robot cannot have | ignored | INVALID, IMPLAUSIBLE |

An ignored sample leaves the states of all laws unchanged.  Instead of stamps a component may take the time since the
sample before, `elapsed`; in single precision it must, since stamps would lose their last digits.

A robot cannot have velocities above `FACTOR` times its limit, positions that are a fraction `MARGIN` of the range of a
joint outside this range, and changes of a position that need more than `FACTOR` times the limit of velocity.
"""

from __future__ import annotations

import functools
from enum import IntFlag
from typing import NamedTuple

import numpy as np

from ..compiler.ir.program import Array
from ..observers.residual import FINITE
from ..observers.stamps import RESTART
from ..robot import Robot
from ..spatial import ca, sx
from ..trajectory.limits import limited_quantities
from ..types import Expression, FloatArray

LATE = 1.5  # periods after which samples are missing
FACTOR, MARGIN = 2.0, 0.1  # of the limits of velocity, and of the range of a joint
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
    LIMITED = 256  # the torque is cut off at a limit of torque or torque rate
    IMPLAUSIBLE = 512  # ignored: the robot cannot have this position or velocity


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


# Plausibility ---------------------------------------------------------------------------------------------------------


class Gate(NamedTuple):
    """Bounds of a measured quantity, one per element, infinite where no limit is known."""

    lower: FloatArray
    upper: FloatArray
    speed: FloatArray  # of a position


def gates(robot: Robot) -> dict[str, Gate]:
    """The bounds of positions and velocities that samples of a robot can have, from its limits."""
    limits = limited_quantities(robot)
    n, m, free = robot.n, robot.motor_count, np.full(robot.motor_count, np.inf)
    lower, upper = (-free[:n], free[:n])
    if position := limits.get("position"):
        room = MARGIN * np.where(np.isfinite(position.upper - position.lower), position.upper - position.lower, 0.0)
        lower, upper = position.lower - room, position.upper + room
    speed = FACTOR * limits["velocity"].upper if "velocity" in limits else free[:n]
    motor_speed = FACTOR * limits["motor speed"].upper if "motor speed" in limits else free
    moved = [k for k in range(n) if not any(k in group for group in robot.transmission_joints)]
    motor_lower, motor_upper = -free, free.copy()  # θ is no joint position in coupled groups and at second motors
    motor_lower[moved], motor_upper[moved] = lower[moved], upper[moved]
    alone = np.where(np.isin(np.arange(m), moved), np.append(speed, free[n:]), np.inf)
    motor_speed = np.minimum(motor_speed, alone)
    return {
        "q": Gate(lower, upper, speed),
        "v": Gate(-speed, speed, free[:n]),
        "theta": Gate(motor_lower, motor_upper, motor_speed),
        "theta_v": Gate(-motor_speed, motor_speed, free),
    }


def is_plausible(gate: Gate, x: Expression, before: Expression, passed: Expression) -> Expression:
    """1 if x is within its bounds, and `passed` s after the position `before` within reach; 1 for NaN."""
    wrong = [sx(0)]
    for k, (lower, upper, speed) in enumerate(zip(*(bound.tolist() for bound in gate))):
        wrong += [x[k] < lower] if np.isfinite(lower) else []
        wrong += [x[k] > upper] if np.isfinite(upper) else []
        wrong += [ca.fabs(x[k] - before[k]) > speed * passed] if np.isfinite(speed) else []
    return ca.logic_not(functools.reduce(ca.logic_or, wrong))
