"""No controller: the reference is the motor torque itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..robot import Robot
from .base import Controller, JointState, checked_robot


@dataclass(frozen=True)
class OpenLoop(Controller):
    """Passes its reference on as the motor torque, one number a motor."""

    robot: Robot
    gains: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "gains", np.empty((0, checked_robot(self).n)))

    @property
    def order(self) -> int:
        return 0

    @property
    def width(self) -> int:
        return self.robot.motor_count

    def law(self, gains: Sequence[Any], state: Any, reference: Sequence[Any], measurement: JointState) -> tuple:
        return state, reference[0]
