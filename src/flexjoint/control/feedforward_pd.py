"""Tracking by the torque of the reference and PD control of the motors  [DeLuca2000].

    τ = τ_d + K_P (θ_d − θ) + K_D (θ_d' − θ')

with θ_d, θ_d' and τ_d from the inverse dynamics of the reference, so that the reference needs as many derivatives as
those; what depends on it alone could be computed before the motion.  Needs the motors' positions and velocities.
Exponentially stable near the reference if K_P and K_D are large enough; a perfect model leaves no error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import gain_rows
from ..dynamics.inverse import motor_motion, needed_order
from ..robot import Robot
from .base import Controller, JointState, with_one_motor_a_joint


@dataclass(frozen=True, eq=False)
class FeedforwardPD(Controller):
    """Torque feedforward and PD control of the motors; `gains` = [K_P, K_D], each a number or one a joint."""

    robot: Robot
    gains: np.ndarray

    def __post_init__(self) -> None:
        n = with_one_motor_a_joint(self).n
        object.__setattr__(self, "gains", gain_rows("FeedforwardPD", ["K_P", "K_D"], self.gains, n))

    @property
    def order(self) -> int:
        return needed_order(self.robot)

    def law(self, gains: Sequence[Any], state: Any, reference: Sequence[Any], measurement: JointState) -> tuple:
        K_P, K_D = gains
        wanted = motor_motion.function(self.robot, *reference)
        error, error_v = wanted.theta - measurement.theta, wanted.theta_v - measurement.theta_v
        return state, wanted.tau + K_P * error + K_D * error_v
