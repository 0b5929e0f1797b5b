"""Adaptive inverse dynamics control of robots with rigid and elastic joints in any mix: what [Hua sec. VI] leaves open.

Law and update are one kernel, `adaptive_mixed_torque_from_positions`, with its limits.  Between samples the rate of the
estimate is constant: π̂⁺ = π̂ + h Γ Yᵀσ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..algorithms.mixed_control import adaptive_mixed_torque_from_positions, reference_order
from ..algorithms.regressor import base_parameters
from ..api import compile
from ..compiler.kernel import Kernel
from ..errors import InputError
from ..robot import Robot
from .adaptive import AdaptiveState
from .gains import positive as positive_number
from .mixed_inverse_dynamics import mixed_gains
from .passivity import positive


@dataclass(frozen=True, eq=False)
class AdaptiveMixedControl:
    """`MixedInverseDynamics` with links whose inertia is learnt, called every `period`.

    `gains` as there; the `adaptation` gain Γ is a number or one value a base parameter.  Of the robot kinematics,
    gravity, friction, springs and motors are taken as known; its links are where the estimate begins.  `controller(state, reference, measurement)` returns the
    next state and the motor torque; `simulate` takes it as it is.
    """

    robot: Robot
    gains: np.ndarray
    adaptation: Any  # Γ
    period: float
    kernel: Kernel = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "gains", mixed_gains(self))
        positive_number("AdaptiveMixedControl", "period", self.period)
        count = len(base_parameters(self.robot).names)
        object.__setattr__(self, "adaptation", positive(self, "adaptation", count))
        stacks = {"reference": self.order + 1, "gains": len(self.gains)}
        object.__setattr__(self, "kernel", compile(adaptive_mixed_torque_from_positions, self.robot, tracking=stacks))

    @property
    def order(self) -> int:
        return reference_order(self.robot)

    def start(self, reference: Sequence[Any] = ()) -> AdaptiveState:
        """The estimate to begin with: the links of the controller's own robot."""
        return AdaptiveState(base_parameters(self.robot).of(self.robot))

    def __call__(
        self, state: AdaptiveState, reference: Sequence[Any], measurement: Any
    ) -> tuple[AdaptiveState, np.ndarray]:
        if len(reference) <= self.order:
            raise InputError(
                f"AdaptiveMixedControl: the reference has {len(reference) - 1} derivatives, the law needs {self.order}: "
                f"call the trajectory with order={self.order}"
            )
        measured = (measurement.q, measurement.v, measurement.theta, measurement.theta_v)
        found = self.kernel(*measured, state.estimate, self.adaptation, *reference[: self.order + 1], *self.gains)
        return AdaptiveState(state.estimate + self.period * found.estimate_rate), found.tau
