"""Inverse dynamics control of robots with rigid and elastic joints in any mix  [Hua sec. IV].

The law is one kernel, `mixed_torque`; there stands what it promises, and how θ_d', θ_d'', q'' and θ'' are obtained,
which the paper leaves open.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import gain_rows
from ..dynamics.requirements import require
from ..robot import Robot
from .base import Controller, JointState, checked_robot
from .laws.mixed import GAINS, closes, linear_springs, mixed_torque, reference_order

LEAST = 1e-9  # of a gain: K_P is divided by K_D


def mixed_gains(controller: Any) -> np.ndarray:
    """Gains (4, n) of a controller for robots whose springs the law takes."""
    name = type(controller).__name__
    require(name, checked_robot(controller), *linear_springs)
    return gain_rows(name, GAINS, controller.gains, controller.robot.n, LEAST)


@dataclass(frozen=True, eq=False)
class MixedInverseDynamics(Controller):
    """τ of [Hua (39), (49)]; `gains` = [K_P, K_D, motor K_P, motor K_D], each a number or one a joint.

    The motor gains are those of motors behind springs, and ignored at rigid joints.
    """

    robot: Robot
    gains: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "gains", mixed_gains(self))

    @property
    def order(self) -> int:
        return reference_order(self.robot)

    @property
    def exact(self) -> bool:
        """Whether V₂' is that of [Hua (52)]: if no elastic joint's link equation contains a motor."""
        return closes(self.robot)

    def law(self, gains: Sequence[Any], state: Any, reference: Sequence[Any], measurement: JointState) -> tuple:
        q, v, theta, theta_v = measurement
        tracking = {"reference": reference, "gains": gains}
        return state, mixed_torque.function(self.robot, q, v, theta, theta_v, tracking=tracking).tau
