"""Regulation by feedback of motor position and velocity, joint torque and its rate  [AlbuSchaeffer].

    τ = (1 + K_T) u − K_T τ_e − K_S τ_e',   u = K_P (θ_d − θ) − K_D θ' + g(q_d)

Torque feedback makes the motors lighter: with K_S = 0 the links feel the law u of `MotorPD` on a robot with motors of
inertia B/(1 + K_T), for which Tomei's condition holds unchanged; K_S damps the springs.  The paper compensates gravity
at the measured position, this law at the goal.  A rigid joint has no torque to feed back, and is under u alone.  Needs
positions and velocities of links and motors, or joint torques and their rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import gain_rows
from ..dynamics.drivetrain.springs import spring_torque
from ..robot import Robot
from ..spatial import ca
from .base import Controller, JointState, with_one_motor_a_joint
from .motor_pd import motor_regulation


@dataclass(frozen=True, eq=False)
class FullStateFeedback(Controller):
    """State feedback of elastic joints; `gains` = [K_P, K_D, K_T, K_S], each a number or one a joint."""

    robot: Robot
    gains: np.ndarray

    def __post_init__(self) -> None:
        n, names = with_one_motor_a_joint(self).n, ["K_P", "K_D", "K_T", "K_S"]
        object.__setattr__(self, "gains", gain_rows("FullStateFeedback", names, self.gains, n))

    @property
    def order(self) -> int:
        return 0

    def law(self, gains: Sequence[Any], state: Any, reference: Sequence[Any], measurement: JointState) -> tuple:
        K_P, K_D, K_T, K_S = gains
        q, v, theta, theta_v = measurement
        u = motor_regulation(self.robot, K_P, K_D, reference[0], theta, theta_v)
        tau = []
        for i, joint in enumerate(self.robot.joints):
            tau_e, tau_e_v = spring_torque(joint, theta[i] - q[i], theta_v[i] - v[i])
            light = 1 + K_T[i] if self.robot.compliant[i] else 1
            tau.append(light * u[i] - K_T[i] * tau_e - K_S[i] * tau_e_v)
        return state, ca.vertcat(*tau)
