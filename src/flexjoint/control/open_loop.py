"""No feedback: the reference is the motor torque itself."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..robot import Robot
from ..types import FloatArray, Stack
from .base import Controller, JointState, LawResult, checked_robot


@dataclass(frozen=True, repr=False)
class OpenLoop(Controller):
    """Applies its reference as motor torque.

    Args:
        robot: The robot; the reference has one column per motor, Nm or N.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("hua_3r")
        >>> run = fj.simulate(robot, fj.control.OpenLoop(robot), [0.0, 1.0, 0.0], 0.1, period=1e-3)
        >>> float(run.tau[-1, 1])
        1.0
    """

    robot: Robot
    gains: FloatArray = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "gains", np.empty((0, checked_robot(self).n)))

    @property
    def order(self) -> int:
        return 0

    @property
    def width(self) -> int:
        return self.robot.motor_count

    def law(self, gains: Stack, state: Stack, reference: Stack, measurement: JointState) -> LawResult:
        return state, reference[0]
