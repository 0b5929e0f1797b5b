"""Adaptive tracking as a controller  [SlotineLi]; law and update are one kernel, `adaptive_torque`.

Between samples the rate of the estimate is constant: π̂⁺ = π̂ + h Γ Yᵀs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..algorithm.compile import compile
from ..checks import positive, positive_numbers
from ..compiler.runtime.kernel import Kernel
from ..dynamics.recursion.regressor import base_parameters
from ..robot import Robot
from .base import Controller, checked_robot
from .laws.passivity import adaptive_torque


class AdaptiveState(NamedTuple):
    """The estimated base parameters of the links, in the order of `base_parameters(robot).names`."""

    estimate: Any


@dataclass(frozen=True, eq=False)
class AdaptiveControl(Controller):
    """τ = Y π̂ + D v_r + B a_r + K_D s, π̂' = Γ Yᵀs, called every `period`.

    Gains are numbers, or one value a joint; the adaptation gain, one value a base parameter.  Of the robot only
    kinematics, gravity, friction and motors are used, and which base parameters there are: the inertia of the links is
    learnt, beginning with that of `prior`, or with nothing.  `controller(state, reference, measurement)` returns the
    next state and the motor torque; of what is measured only q and v are used.
    """

    robot: Robot
    bandwidth: Any = field(compare=False)  # Λ
    damping: Any = field(compare=False)  # K_D
    adaptation: Any = field(compare=False)  # Γ
    period: float
    prior: Robot | None = field(default=None, compare=False)
    gains: np.ndarray = field(init=False, repr=False)  # one row: Λ, K_D, Γ
    kernel: Kernel = field(init=False, repr=False, compare=False)
    memory: ClassVar[int] = 1

    def __post_init__(self) -> None:
        n = checked_robot(self).n
        positive("AdaptiveControl", "period", self.period)
        (count,) = self.memory_sizes
        for name, size in (("bandwidth", n), ("damping", n), ("adaptation", count)):
            object.__setattr__(self, name, positive_numbers(self, name, size))
        object.__setattr__(self, "gains", np.concatenate([self.bandwidth, self.damping, self.adaptation])[None])
        object.__setattr__(self, "kernel", compile(adaptive_torque, self.robot))

    @property
    def order(self) -> int:
        return 2

    @property
    def memory_sizes(self) -> tuple[int, ...]:
        return (len(base_parameters(self.robot).names),)

    def start(self, known: Any = None) -> AdaptiveState:
        """An estimate to begin with: that of `known` or of `prior`, robots with the same joints, or nothing at all.

        A simulation gives its reference, which says nothing about the links.
        """
        parameters, robot = base_parameters(self.robot), known if isinstance(known, Robot) else self.prior
        return AdaptiveState(np.zeros(len(parameters.names)) if robot is None else parameters.of(robot))

    def law(self, gains: Sequence[Any], state: Any, reference: Sequence[Any], measurement: Any) -> tuple:
        n, (estimate,) = self.robot.n, state
        numbers = gains[0][:n], gains[0][n : 2 * n], gains[0][2 * n :]
        tau, rate = adaptive_torque.function(self.robot, measurement.q, measurement.v, *reference, *numbers, estimate)
        return AdaptiveState(estimate + self.period * rate), tau

    def __call__(
        self, state: AdaptiveState, reference: Sequence[Any], measurement: Any
    ) -> tuple[AdaptiveState, np.ndarray]:
        gains = (self.bandwidth, self.damping, self.adaptation)
        tau, rate = self.kernel(measurement.q, measurement.v, *self.stack(reference), *gains, state.estimate)
        return AdaptiveState(state.estimate + self.period * rate), tau
