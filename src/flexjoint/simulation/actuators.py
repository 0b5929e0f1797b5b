"""What becomes of a torque that a controller asks for: delay, saturation, and a lag of first order.

The lag is exact for a command that is held, and the torque in a period is its mean there.
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
from ..robot import Robot
from ..spatial import ca, sx
from .sensors import check_size


@dataclass(frozen=True)
class Actuators:
    """`effort` bounds the torque of the motors, in Nm or N, one number or one a motor: by default the effort limits of
    their joints; infinite if unbounded.  `bandwidth` is 1/lag, rad/s.  `delay` is in whole periods.
    """

    effort: Any = None
    bandwidth: Any = np.inf
    delay: int = 0

    def __post_init__(self) -> None:
        for name in ("effort", "bandwidth"):
            object.__setattr__(self, name, bound("Actuators", name, getattr(self, name)))
        whole("Actuators", "delay", self.delay)

    @property
    def smooth(self) -> Actuators:
        """The same without bounds: what is left for a linear analysis."""
        return Actuators(np.inf, self.bandwidth, self.delay)

    @property
    def lags(self) -> bool:
        return bool(np.any(np.isfinite(self.bandwidth)))

    def memory(self, robot: Robot) -> list[int]:
        """Commands on their way, the newest first, and the torque behind the lag."""
        return [robot.motor_count] * (self.delay + self.lags)

    def start(self, robot: Robot, torque: Any = 0.0) -> list[np.ndarray]:
        """As if this torque had always been asked for; a run that begins at 0 s takes its first command instead."""
        for name in ("effort", "bandwidth"):
            check_size("Actuators", name, getattr(self, name), robot.motor_count)
        return [np.zeros(size) + torque for size in self.memory(robot)]

    def law(
        self, robot: Robot, period: float, memory: Sequence[Any], command: Any, first: Any
    ) -> tuple[list[Any], Any]:
        """What is on its way after a period, and the torque in it; `first` says that the run begins."""
        waiting = [ca.if_else(first, command, x) for x in memory[: self.delay]]
        queue = [command, *waiting]
        asked = bounded(queue[-1], self.efforts(robot))
        if not self.lags:
            return queue[:-1], asked
        behind = ca.if_else(first, asked, memory[-1])
        x = period * np.broadcast_to(self.bandwidth, robot.motor_count)
        left = np.array([exp(-y) for y in x.tolist()])  # of the difference, after a period
        mean = np.array([mean_decay(y) for y in x.tolist()])  # of the difference, in it
        return [*queue[:-1], asked + sx(left) * (behind - asked)], asked + sx(mean) * (behind - asked)

    def efforts(self, robot: Robot) -> np.ndarray:
        return np.broadcast_to(robot.motor_efforts if self.effort is None else self.effort, robot.motor_count)


def mean_decay(x: float) -> float:
    """(1 − e⁻ˣ)/x, for x > 0: with u = e⁻ˣ as it is rounded, (1 − u)/−log u has no cancellation  [Higham sec. 1.14]."""
    u = exp(-x)
    return 0.0 if u == 0.0 and math.isinf(x) else 1.0 if u == 1.0 else (1.0 - u) / (x if u == 0.0 else -log(u))


def bounded(torque: Any, efforts: np.ndarray) -> Any:
    """Torques cut off at the efforts of their motors."""
    return ca.vertcat(
        *[ca.fmin(ca.fmax(torque[k], -e), e) if np.isfinite(e) else torque[k] for k, e in enumerate(efforts.tolist())]
    )


def bound(owner: str, name: str, value: Any) -> Any:
    """Positive numbers, infinite ones too."""
    if value is None and name == "effort":
        return None
    try:
        array = np.asarray(value, dtype=float)
    except NOT_NUMBERS:
        array = np.array(np.nan)
    if array.ndim > 1 or not np.all(array > 0):
        raise InputError(f"{owner}: {name} is {value!r}; give positive numbers, one for all or one a motor")
    return float(array) if array.ndim == 0 else tuple(array.tolist())
