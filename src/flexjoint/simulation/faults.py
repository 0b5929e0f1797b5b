"""Motors that give another torque than the one commanded  [DeLuca (5)].

    τ = e τ_c + b   from `begin` to `end`,   τ = τ_c   before and after

e = 1 and b = 0 is a sound motor; e < 1 a loss of efficiency, e = 0 one of all torque, or a torque stuck at b; b a bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..control.base import Controller, JointState, gain_rows
from ..control.gains import positive
from ..robot import Robot
from ..spatial import ca

ROWS = ("efficiency", "bias", "begin", "end")


@dataclass(frozen=True, eq=False)
class FaultyActuators(Controller):
    """A controller whose torque reaches the motors changed; a Simulation of it holds the torque that they gave.

    Each of `efficiency`, `bias`, `begin` and `end` is a number or one a motor.  They are the last four rows of `gains`,
    so that a batch may have a fault a row.
    """

    controller: Controller
    efficiency: Any = 1.0
    bias: Any = 0.0
    begin: Any = 0.0
    end: Any = 1e9
    period: float = 1e-3

    def __post_init__(self) -> None:
        positive("FaultyActuators", "period", self.period)
        faults = [getattr(self, name) for name in ROWS]
        rows = gain_rows("FaultyActuators", ROWS, faults, self.controller.gains.shape[-1], least=-np.inf)
        object.__setattr__(self, "gains", np.vstack([self.controller.gains, rows]))

    @property
    def robot(self) -> Robot:  # type: ignore[override]
        return self.controller.robot

    @property
    def memory(self) -> int:  # type: ignore[override]
        return self.controller.memory + 1

    @property
    def order(self) -> int:
        return self.controller.order

    def start(self, reference: Sequence[Any]) -> tuple:
        return *self.controller.start(reference), np.zeros(self.gains.shape[-1])

    def law(self, gains: Sequence[Any], state: Any, reference: Sequence[Any], measurement: JointState) -> tuple:
        *inner, t = state
        after, commanded = self.controller.law(gains[:-4], inner, reference, measurement)
        efficiency, bias, begin, end = gains[-4:]
        now = ca.logic_and(t >= begin - self.period / 2, t < end - self.period / 2)
        return (*after, t + self.period), ca.if_else(now, efficiency * commanded + bias, commanded)

    def commanded(self, reference: Any, states: JointState) -> np.ndarray:
        """The torque that was asked for in these states, of a controller without memory."""
        return self.controller((), reference, states)[1]
