"""Adaptive inverse dynamics control of robots with rigid and elastic joints in any mix: what [Hua sec. VI] leaves open.

Law and update are one kernel, `adaptive_mixed_torque_from_positions`, with its limits.  Between samples the rate of the
estimate is constant: π̂⁺ = π̂ + h Γ Yᵀσ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..checks import positive, positive_numbers
from ..dynamics.recursion.regressor import base_parameters
from ..robot import Robot
from ..spatial import sx
from .adaptive import AdaptiveState
from .base import Controller, JointState
from .laws.mixed import adaptive_mixed_torque_from_positions, reference_order
from .mixed_inverse_dynamics import mixed_gains


@dataclass(frozen=True, eq=False)
class AdaptiveMixedControl(Controller):
    """`MixedInverseDynamics` with links whose inertia is learnt, called every `period`.

    `gains` as there; the `adaptation` gain Γ is a number or one value a base parameter.  Of the robot kinematics,
    gravity, friction, springs and motors are taken as known; its links are where the estimate begins.
    """

    robot: Robot
    gains: np.ndarray
    adaptation: Any  # Γ
    period: float
    memory: ClassVar[int] = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "gains", mixed_gains(self))
        positive("AdaptiveMixedControl", "period", self.period)
        gains = positive_numbers(self, "adaptation", *self.memory_sizes)
        object.__setattr__(self, "adaptation", tuple(gains.tolist()))

    @property
    def order(self) -> int:
        return reference_order(self.robot)

    @property
    def memory_sizes(self) -> tuple[int, ...]:
        return (len(base_parameters(self.robot).names),)

    def start(self, reference: Sequence[Any] = ()) -> AdaptiveState:
        """The estimate to begin with: the links of the controller's own robot."""
        return AdaptiveState(base_parameters(self.robot).of(self.robot))

    def law(self, gains: Sequence[Any], state: Any, reference: Sequence[Any], measurement: JointState) -> tuple:
        (estimate,) = state
        q, v, theta, theta_v = measurement
        tracking = {"reference": reference, "gains": gains}
        tau, *_, rate = adaptive_mixed_torque_from_positions.function(
            self.robot, q, v, theta, theta_v, estimate, sx(self.adaptation), tracking=tracking
        )
        return (estimate + self.period * rate,), tau
