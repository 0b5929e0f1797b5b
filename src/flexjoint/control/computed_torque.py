"""Tracking by computed torque, the feedback linearization of rigid robots  [Siciliano sec. 8.5.2].

    τ = M(q) (q_d'' + K_1 e' + K_0 e) + n(q, q'),   e = q_d − q

Needs the links' positions and velocities.  On the rigid robot e'' + K_1 e' + K_0 e = 0; on one with elastic joints the
law neglects the springs, and holds only where the poles are slow against the joints' frequencies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dynamics.inverse import inverse_dynamics
from ..errors import InputError
from ..robot import Robot
from .base import Controller, JointState, checked_robot
from .gains import check_gains


@dataclass(frozen=True, eq=False)
class ComputedTorque(Controller):
    """Computed torque with `gains` = [K_0, K_1] as `gains_from_poles` makes them of two poles; the robot is rigid."""

    robot: Robot
    gains: np.ndarray

    def __post_init__(self) -> None:
        for joint, elastic in zip(checked_robot(self).joints, self.robot.compliant):
            if elastic:
                raise InputError(
                    f"ComputedTorque: joint '{joint.name}' is elastic; give the law robot.rigid(), which neglects the "
                    "springs, or use FeedbackLinearization"
                )
        object.__setattr__(self, "gains", check_gains(self.gains, 2, self.robot.n))

    @property
    def order(self) -> int:
        return 2

    def law(self, gains: Sequence[Any], state: Any, reference: Sequence[Any], measurement: JointState) -> tuple:
        q_d, v_d, a_d = reference
        q, v = measurement.q, measurement.v
        a = a_d + gains[1] * (v_d - v) + gains[0] * (q_d - q)
        return state, inverse_dynamics.function(self.robot, q, v, a)
