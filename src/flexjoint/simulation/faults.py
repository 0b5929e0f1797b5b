"""Motors that give another torque than the one commanded  [DeLuca (5)].

    τ = e τ_c + b   from `begin` to `end`,   τ = τ_c   before and after

e = 1 and b = 0 is a sound motor; e < 1 a loss of efficiency, e = 0 one of all torque, or a torque stuck at b; b a bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import gain_rows, positive
from ..control.base import Controller, ControllerWrapper, JointState
from ..spatial import ca

ROWS = ("efficiency", "bias", "begin", "end")


@dataclass(frozen=True, eq=False)
class FaultyActuators(ControllerWrapper):
    """A controller whose torque reaches the motors changed; a Simulation of it holds the torque that they gave.

    Each of `efficiency`, `bias`, `begin` and `end` is a number or one a motor.  They are the last four rows of `gains`,
    so that a batch may have a fault a row; where there are more motors than columns, each goes on in a row of its own.
    """

    controller: Controller
    efficiency: Any = 1.0
    bias: Any = 0.0
    begin: Any = 0.0
    end: Any = 1e9
    period: float = 1e-3

    def __post_init__(self) -> None:
        positive("FaultyActuators", "period", self.period)
        self.check_period(self.period)
        motors, columns = self.robot.motor_count, self.controller.gains.shape[-1]
        faults = [getattr(self, name) for name in ROWS]
        rows = np.zeros((len(ROWS), self.lines * columns))
        rows[:, :motors] = gain_rows("FaultyActuators", ROWS, faults, motors, least=-np.inf)
        object.__setattr__(self, "gains", np.vstack([self.controller.gains, rows.reshape(-1, columns)]))

    @property
    def lines(self) -> int:
        """How many rows of gains one number a motor takes."""
        return -(-self.robot.motor_count // self.controller.gains.shape[-1])

    @property
    def memory_sizes(self) -> tuple[int, ...]:
        """Of the controller, and the time."""
        return *self.controller.memory_sizes, 1

    def start(self, reference: Sequence[Any]) -> tuple:
        return *self.controller.start(reference), np.zeros(1)

    def law(self, gains: Sequence[Any], state: Any, reference: Sequence[Any], measurement: JointState) -> tuple:
        *inner, t = state
        own = len(gains) - len(ROWS) * self.lines
        after, commanded = self.controller.checked_law(gains[:own], inner, reference, measurement)
        efficiency, bias, begin, end = (
            ca.vertcat(*gains[k : k + self.lines])[: self.robot.motor_count] for k in range(own, len(gains), self.lines)
        )
        now = ca.logic_and(t >= begin - self.period / 2, t < end - self.period / 2)
        return (*after, t + self.period), ca.if_else(now, efficiency * commanded + bias, commanded)

    def commanded(self, reference: Any, states: JointState) -> np.ndarray:
        """The torque that was asked for in these states, of a controller without memory."""
        return self.controller((), reference, states)[1]
