"""Regulation by PD control of the motors with the gravity torque of the goal  [Tomei].

    τ = K_P (θ_d − θ) − K_D θ' + g(q_d),   θ_d = q_d + φ(g(q_d))

Needs the motors' positions and velocities alone.  Every goal is globally stable if K_P and the stiffness of the joints
exceed the steepest change of gravity: λ_min [[K, −K], [−K, K + K_P]] > |∂g/∂q|, and K_D > 0.  A reference that moves is
followed with a lag.  A rigid joint has θ = q.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import gain_rows
from ..dynamics.drivetrain.springs import spring_motion
from ..dynamics.links import gravity_torque
from ..robot import Robot
from ..spatial import ca
from .base import Controller, JointState, with_one_motor_a_joint


@dataclass(frozen=True, eq=False)
class MotorPD(Controller):
    """PD control of the motors and gravity compensation; `gains` = [K_P, K_D], each a number or one a joint."""

    robot: Robot
    gains: np.ndarray

    def __post_init__(self) -> None:
        n = with_one_motor_a_joint(self).n
        object.__setattr__(self, "gains", gain_rows("MotorPD", ["K_P", "K_D"], self.gains, n))

    @property
    def order(self) -> int:
        return 0

    def law(self, gains: Sequence[Any], state: Any, reference: Sequence[Any], measurement: JointState) -> tuple:
        K_P, K_D = gains
        return state, motor_regulation(self.robot, K_P, K_D, reference[0], measurement.theta, measurement.theta_v)


def motor_regulation(robot: Robot, K_P: Any, K_D: Any, q_d: Any, theta: Any, theta_v: Any) -> Any:
    """K_P (θ_d − θ) − K_D θ' + g(q_d)  [Tomei]"""
    g = gravity_torque.function(robot, q_d)
    phi = ca.vertcat(*[spring_motion(joint, [g[i], 0, 0])[0] for i, joint in enumerate(robot.joints)])
    return K_P * (q_d + phi - theta) - K_D * theta_v + g
