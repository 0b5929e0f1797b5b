"""Actuators: delay, limits of rate and torque, and a lag of first order between a command and the torque of a motor.

The lag is exact for a command that is held; the torque in a period is the mean over it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import whole
from ..errors import NOT_NUMBERS, InputError
from ..numerics import exp, log
from ..reprs import repr_without_defaults
from ..robot import Robot
from ..spatial import ca, sx
from ..types import Expression, FloatArray, Scalar
from .sensors import check_size

BOUNDS = ("effort", "bandwidth", "torque_rate")


@dataclass(frozen=True, repr=False)
class Actuators:
    """Motors with bounded torque, a lag of first order and a delay.

    Args:
        effort: Bounds of the torques, in Nm or N, one number or one per motor; infinite without a bound.  By default
            the effort limits of the joints.
        bandwidth: 1/lag, in rad/s, one number or one per motor; by default infinite, without a lag.
        delay: Whole periods from a command to its torque, by default 0.
        torque_rate: Greatest rates of the torques, in Nm/s or N/s, one number or one per motor; infinite without a
            bound.  By default the torque-rate limits of the motors.

    Raises:
        InputError: A number is not positive, or `delay` is not a whole number.

    Example:
        >>> import flexjoint as fj
        >>> fj.simulation.Actuators(effort=100.0, bandwidth=500.0, delay=1)
        Actuators(effort=100.0, bandwidth=500.0, delay=1)
    """

    effort: float | tuple[float, ...] | None = None
    bandwidth: float | tuple[float, ...] = np.inf
    delay: int = 0
    torque_rate: float | tuple[float, ...] | None = None

    __repr__ = repr_without_defaults

    def __post_init__(self) -> None:
        for name in BOUNDS:
            object.__setattr__(self, name, bound("Actuators", name, getattr(self, name)))
        whole("Actuators", "delay", self.delay)

    @property
    def smooth(self) -> Actuators:
        """The same actuators without bounds: what a linear analysis can see."""
        return Actuators(np.inf, self.bandwidth, self.delay, np.inf)

    @property
    def lags(self) -> bool:
        """Whether any motor has a lag."""
        return bool(np.any(np.isfinite(self.bandwidth)))

    def memory(self, robot: Robot) -> list[int]:
        """Sizes of the state: commands on their way, the newest first, the limited torque, and that behind the lag."""
        return [robot.motor_count] * (self.delay + bool(np.isfinite(self.torque_rates(robot)).any()) + self.lags)

    def start(self, robot: Robot, torque: Any = 0.0) -> list[FloatArray]:
        """The state as if this torque had always been commanded; a run that begins at 0 s takes its first command."""
        for name in BOUNDS:
            check_size("Actuators", name, getattr(self, name), robot.motor_count)
        return [np.zeros(size) + torque for size in self.memory(robot)]

    def law(
        self, robot: Robot, period: float, memory: Sequence[Expression], command: Expression, first: Scalar
    ) -> tuple[list[Expression], Expression]:
        """The state after a period, and the torque in it; `first` says that the run begins."""
        waiting = [ca.if_else(first, command, x) for x in memory[: self.delay]]
        queue = [command, *waiting]
        command = queue.pop()
        asked = bounded(command, self.efforts(robot))
        if np.isfinite(self.torque_rates(robot)).any():
            asked = ca.if_else(first, asked, self.limited(robot, period, command, memory[self.delay]))
            queue.append(asked)
        if not self.lags:
            return queue, asked
        behind = ca.if_else(first, asked, memory[-1])
        x = period * np.broadcast_to(self.bandwidth, robot.motor_count)
        left = np.array([exp(-y) for y in x.tolist()])  # of the difference, after a period
        mean = np.array([mean_decay(y) for y in x.tolist()])  # of the difference, in it
        return [*queue, asked + sx(left) * (behind - asked)], asked + sx(mean) * (behind - asked)

    def limited(self, robot: Robot, period: float, command: Expression, before: Expression) -> Expression:
        """The command within the limits of torque and torque rate; `before`: the torque a period ago."""
        steps = self.torque_rates(robot) * period
        return rate_limited(bounded(command, self.efforts(robot)), before, steps)

    def efforts(self, robot: Robot) -> FloatArray:
        """The bound of each motor."""
        return np.broadcast_to(robot.motor_efforts if self.effort is None else self.effort, robot.motor_count)

    def torque_rates(self, robot: Robot) -> FloatArray:
        """The greatest rate of each motor's torque."""
        rates = robot.motor_torque_rates if self.torque_rate is None else self.torque_rate
        return np.broadcast_to(rates, robot.motor_count)


def mean_decay(x: float) -> float:
    """(1 − e⁻ˣ)/x, for x > 0: with u = e⁻ˣ as it is rounded, (1 − u)/−log u has no cancellation  [Higham sec. 1.14]."""
    u = exp(-x)
    return 0.0 if u == 0.0 and math.isinf(x) else 1.0 if u == 1.0 else (1.0 - u) / (x if u == 0.0 else -log(u))


def bounded(torque: Expression, efforts: FloatArray) -> Expression:
    """Torques cut off at the efforts of their motors."""
    pairs = enumerate(efforts.tolist())
    return ca.vertcat(*[clipped(torque[k], -x, x) if np.isfinite(x) else torque[k] for k, x in pairs])


def rate_limited(torque: Expression, before: Expression, steps: FloatArray) -> Expression:
    """Torques cut off at these steps from those of the period before."""
    return ca.vertcat(
        *[
            clipped(torque[k], before[k] - step, before[k] + step) if np.isfinite(step) else torque[k]
            for k, step in enumerate(steps.tolist())
        ]
    )


def clipped(x: Scalar, lower: Scalar, upper: Scalar) -> Scalar:
    return ca.fmin(ca.fmax(x, lower), upper)


def bound(owner: str, name: str, value: Any) -> float | tuple[float, ...] | None:
    """Positive numbers, which may be infinite."""
    if value is None and name in ("effort", "torque_rate"):
        return None
    try:
        array = np.asarray(value, dtype=float)
    except NOT_NUMBERS:
        array = np.array(np.nan)
    if array.ndim > 1 or not np.all(array > 0):
        raise InputError(f"{owner}: {name} is {value!r}; give positive numbers, one for all or one per motor")
    return float(array) if array.ndim == 0 else tuple(array.tolist())
