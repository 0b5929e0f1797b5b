"""Adaptive tracking as a controller  [SlotineLi]; law and update are one kernel, `adaptive_torque`.

Between samples the rate of the estimate is constant: π̂⁺ = π̂ + h Γ Yᵀs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..algorithms.passivity import adaptive_torque
from ..algorithms.regressor import base_parameters
from ..api import compile
from ..compiler.kernel import Kernel
from ..errors import InputError
from ..robot import Robot
from .passivity import checked_robot, first_three, positive


class AdaptiveState(NamedTuple):
    """The estimated base parameters of the links, in the order of `base_parameters(robot).names`."""

    estimate: Any


@dataclass(frozen=True, eq=False)
class AdaptiveControl:
    """τ = Y π̂ + D v_r + B a_r + K_D s, π̂' = Γ Yᵀs, called every `period`.

    Gains are numbers, or one value a joint; the adaptation gain, one value a base parameter.  Of the robot only
    kinematics, gravity, friction and motors are used, and which base parameters there are: the inertia of the links is
    learnt.  `controller(state, reference, measurement)` returns the next state and the motor torque.
    """

    robot: Robot
    bandwidth: Any  # Λ
    damping: Any  # K_D
    adaptation: Any  # Γ
    period: float
    kernel: Kernel = field(init=False, repr=False)

    def __post_init__(self) -> None:
        n = checked_robot(self).n
        if not np.isscalar(self.period) or not 0 < float(self.period) < np.inf:  # type: ignore[arg-type]
            raise InputError(f"AdaptiveControl: period is {self.period!r}; it must be a positive number of seconds")
        count = len(base_parameters(self.robot).names)
        for name, size in (("bandwidth", n), ("damping", n), ("adaptation", count)):
            object.__setattr__(self, name, positive(self, name, size))
        object.__setattr__(self, "kernel", compile(adaptive_torque, self.robot))

    def start(self, robot: Robot | None = None) -> AdaptiveState:
        """An estimate to begin with: that of a robot with the same joints, or nothing known at all."""
        parameters = base_parameters(self.robot)
        return AdaptiveState(np.zeros(len(parameters.names)) if robot is None else parameters.of(robot))

    def __call__(
        self, state: AdaptiveState, reference: Sequence[Any], measurement: Any
    ) -> tuple[AdaptiveState, np.ndarray]:
        motion = first_three(self, reference)
        gains = (self.bandwidth, self.damping, self.adaptation)
        tau, rate = self.kernel(measurement.q, measurement.v, *motion, *gains, state.estimate)
        return AdaptiveState(state.estimate + self.period * rate), tau
