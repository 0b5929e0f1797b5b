"""Regulation with damping of the links that keeps the elastic structure of the robot  [Keppler].

In the motor coordinate η = θ + K⁻¹ D q' the torque of the springs is K (η − q) − D q': the links feel springs as stiff
as before, and dampers between themselves and the world.  With

    τ = ū − D q' − B K⁻¹ D q'''

η obeys B η'' + K (η − q) = ū, as θ would without the law, and ū is that of `MotorPD` in η.  So the closed loop is a
robot with viscous friction D at its links under `MotorPD`, and as stable.  Needs positions and velocities of links and
motors, and a model for q'' and q'''.  The paper also tracks, and takes springs that are not linear; this law regulates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import gain_rows
from ..drives import ElasticDrive
from ..dynamics.drivetrain.rotors import motor_inertias
from ..dynamics.linearization import link_motion
from ..errors import InputError
from ..robot import Robot
from ..springs import LinearSpring
from .base import Controller, JointState, checked_robot
from .laws.mixed import stiffness
from .motor_pd import motor_regulation


@dataclass(frozen=True, eq=False)
class StructurePreserving(Controller):
    """Elastic structure preserving regulation; `gains` = [K_P, K_D, D], each a number or one a joint."""

    robot: Robot
    gains: np.ndarray

    def __post_init__(self) -> None:
        for joint in checked_robot(self).joints:
            drive = joint.drive
            if not isinstance(drive, ElasticDrive) or drive.damping or not isinstance(drive.spring, LinearSpring):
                raise InputError(
                    f"StructurePreserving: joint '{joint.name}' has no linear, undamped spring, on which the law "
                    "rests; use MotorPD"
                )
        object.__setattr__(
            self, "gains", gain_rows("StructurePreserving", ["K_P", "K_D", "D"], self.gains, self.robot.n)
        )

    @property
    def order(self) -> int:
        return 0

    def law(self, gains: Sequence[Any], state: Any, reference: Sequence[Any], measurement: JointState) -> tuple:
        K_P, K_D, D = gains
        q, v, theta, theta_v = measurement
        K, B = stiffness(self.robot), motor_inertias(self.robot)
        a, jerk = link_motion.function(self.robot, q, v, K * (theta - q), K * (theta_v - v))
        eta, eta_v = theta + D / K * v, theta_v + D / K * a
        u = motor_regulation(self.robot, K_P, K_D, reference[0], eta, eta_v)
        return state, u - D * v - B * D / K * jerk
