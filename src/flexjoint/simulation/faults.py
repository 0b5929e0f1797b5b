"""Actuator faults: motors whose torque is not the commanded one  [DeLuca (5)].

    τ = e τ_c + b   from `begin` to `end`,   τ = τ_c   before and after

e = 1 and b = 0 is a sound motor; e < 1 is a loss of efficiency, e = 0 a total loss or a torque stuck at b; b is a bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import gain_rows, positive
from ..control.base import Controller, ControllerWrapper, JointState, LawResult
from ..spatial import ca
from ..types import Expression, FloatArray, Stack

ROWS = ("efficiency", "bias", "begin", "end")


@dataclass(frozen=True, eq=False)
class FaultyActuators(ControllerWrapper):
    """A controller with faulty motors; `Simulation.tau` is the torque that actually acts.

    Efficiency, bias, begin and end are the last rows of `gains`, so that each run of a batch may have its own fault.
    Each takes one row, or more if there are more motors than columns.

    Args:
        controller: The controller that commands the motors.
        efficiency: e, one number or one per motor; by default 1.
        bias: b, in Nm or N, one number or one per motor; by default 0.
        begin, end: Times in s, one number or one per motor; by default from 0 on.
        period: Of the controller, in s; by default 1e-3.

    Raises:
        InputError: The period is not the controller's, or a number is not finite.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("kuka_lwr")
        >>> law = fj.control.MotorPD(robot, [1000.0, 50.0])
        >>> fj.simulation.FaultyActuators(law, efficiency=0.8, begin=0.5).gains.shape
        (6, 7)
    """

    controller: Controller
    efficiency: ArrayLike = 1.0
    bias: ArrayLike = 0.0
    begin: ArrayLike = 0.0
    end: ArrayLike = 1e9
    period: float = 1e-3

    def __post_init__(self) -> None:
        self.check_controller()
        positive("FaultyActuators", "period", self.period)
        self.check_period(self.period)
        motors, columns = self.robot.motor_count, self.controller.gains.shape[-1]
        faults = [getattr(self, name) for name in ROWS]
        rows = np.zeros((len(ROWS), self.lines * columns))
        rows[:, :motors] = gain_rows("FaultyActuators", ROWS, faults, motors, least=-np.inf)
        object.__setattr__(self, "gains", np.vstack([self.controller.gains, rows.reshape(-1, columns)]))

    @property
    def lines(self) -> int:
        """How many rows of gains one number per motor takes."""
        return -(-self.robot.motor_count // self.controller.gains.shape[-1])

    @property
    def memory_sizes(self) -> tuple[int, ...]:
        """Sizes of the controller's state, and one for the time."""
        return *self.controller.memory_sizes, 1

    def start(self, reference: Sequence[Any]) -> tuple[FloatArray, ...]:
        """The controller's state on a reference, and t = 0."""
        return *self.controller.start(reference), np.zeros(1)

    def law(self, gains: Stack, state: Stack, reference: Stack, measurement: JointState) -> LawResult:
        *inner, t = state
        own = len(gains) - len(ROWS) * self.lines
        after, commanded = self.controller.checked_law(gains[:own], inner, reference, measurement)
        lines: list[Expression] = [ca.vertcat(*gains[k : k + self.lines]) for k in range(own, len(gains), self.lines)]
        efficiency, bias, begin, end = (x[: self.robot.motor_count] for x in lines)
        now = ca.logic_and(t >= begin - self.period / 2, t < end - self.period / 2)
        return (*after, t + self.period), ca.if_else(now, efficiency * commanded + bias, commanded)

    def commanded(self, reference: Any, states: JointState) -> FloatArray:
        """The torque that a controller without memory commands in these states."""
        return self.controller((), reference, states)[1]
