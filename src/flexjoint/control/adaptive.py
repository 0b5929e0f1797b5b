"""Adaptive tracking of rigid robots whose link inertia is unknown  [SlotineLi].

    τ = Y π̂ + D v_r + B a_r + K_D s,   π̂' = Γ Yᵀs,   v_r = v_d + Λ e,   s = v_r − v,   e = q_d − q

Law and update are one kernel, `adaptive_torque`.  Between samples the rate of the estimate is constant:
π̂⁺ = π̂ + h Γ Yᵀs.  The law measures link positions and velocities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from ..algorithm.compile import compile
from ..checks import positive, positive_numbers
from ..compiler.runtime.kernel import Kernel
from ..dynamics.recursion.regressor import base_parameters
from ..reprs import short_repr
from ..robot import Robot
from ..types import FloatArray, Signal, Stack
from .base import RIGID_MODEL, Controller, Gain, JointState, LawResult, Registration, checked_robot
from .laws.passivity import adaptive_torque
from .passivity import BANDWIDTH, DAMPING, RigidState

ADAPTATION = Gain("GAMMA", "SI units", "adaptation gain of every base parameter")


class AdaptiveState(NamedTuple):
    """State of an adaptive controller.

    Args:
        estimate: Estimated base parameters (..., p) of the links, in the order of `base_parameters(robot).names`.
    """

    estimate: Signal


@dataclass(frozen=True, eq=False, repr=False)
class AdaptiveControl(Controller):
    """Passivity-based control of a rigid robot that estimates the inertia of the links, to track a trajectory.

    The law takes kinematics, gravity, friction, motors and the structure of the base parameters from the robot.

    Args:
        robot: The model, rigid; `robot.rigid()` neglects the springs of an elastic robot.
        bandwidth: Λ, 1/s, a positive number or one per joint (n,).
        damping: K_D, Nm s/rad or N s/m, a positive number or one per joint (n,).
        adaptation: Γ, a positive number or one per base parameter (p,).
        period: Sampling period, s.
        prior: A robot with the same joints whose links are the initial estimate.  By default the estimate starts at 0.

    Raises:
        InputError: A joint is elastic, or a number is not positive.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("hua_3r").rigid()
        >>> controller = fj.control.AdaptiveControl(robot, 20.0, 40.0, 0.1, period=1e-3, prior=robot)
        >>> len(controller.start().estimate) == len(fj.base_parameters(robot).names)
        True
    """

    robot: Robot
    bandwidth: ArrayLike = field(compare=False)
    damping: ArrayLike = field(compare=False)
    adaptation: ArrayLike = field(compare=False)
    period: float
    prior: Robot | None = field(default=None, compare=False)
    gains: FloatArray = field(init=False)  # one row: Λ, K_D, Γ
    kernel: Kernel = field(init=False, compare=False)
    memory: ClassVar[int] = 1
    contains_friction: ClassVar[bool] = True
    registration: ClassVar[Registration] = Registration(
        "adaptive_control", "tracking that learns the inertia", RIGID_MODEL, (BANDWIDTH, DAMPING, ADAPTATION)
    )

    def __post_init__(self) -> None:
        n = checked_robot(self).n
        positive("AdaptiveControl", "period", self.period)
        (count,) = self.memory_sizes
        for name, size in (("bandwidth", n), ("damping", n), ("adaptation", count)):
            object.__setattr__(self, name, positive_numbers("AdaptiveControl", name, getattr(self, name), size))
        object.__setattr__(self, "gains", np.concatenate(self._gain_vectors)[None])
        object.__setattr__(self, "kernel", compile(adaptive_torque, self.robot))

    @classmethod
    def from_numbers(cls, robot: Robot, numbers: Sequence[float], period: float) -> Self:
        bandwidth, damping, adaptation = numbers
        return cls(robot.rigid(), bandwidth, damping, adaptation, period, robot.rigid())

    @property
    def _gain_vectors(self) -> tuple[Any, Any, Any]:
        return self.bandwidth, self.damping, self.adaptation

    @property
    def order(self) -> int:
        return 2

    @property
    def memory_sizes(self) -> tuple[int, ...]:
        return (len(base_parameters(self.robot).names),)

    def start(self, known: Any = None) -> AdaptiveState:
        """The first estimate.

        Args:
            known: A robot with the same joints whose links are the estimate.  Anything else, such as the reference that
                `simulate` passes, is ignored: then it is `prior`, or 0.
        """
        parameters, robot = base_parameters(self.robot), known if isinstance(known, Robot) else self.prior
        return AdaptiveState(np.zeros(len(parameters.names)) if robot is None else parameters.of(robot))

    def law(self, gains: Stack, state: Stack, reference: Stack, measurement: JointState | RigidState) -> LawResult:
        n, (estimate,) = self.robot.n, state
        numbers = gains[0][:n], gains[0][n : 2 * n], gains[0][2 * n :]
        tau, rate = adaptive_torque.function(self.robot, measurement.q, measurement.v, *reference, *numbers, estimate)
        return AdaptiveState(estimate + self.period * rate), tau

    def __call__(
        self, state: Sequence[Any], reference: Sequence[Any], measurement: JointState | RigidState
    ) -> tuple[AdaptiveState, FloatArray]:
        (estimate,) = state
        stack = self.stack(reference)
        tau, rate = self.kernel(measurement.q, measurement.v, *stack, *self._gain_vectors, estimate)
        return AdaptiveState(estimate + self.period * rate), tau

    def __repr__(self) -> str:
        gains = dict(zip(self.registration.gain_names, self._gain_vectors))
        return short_repr(self, self.robot.name, **gains, period=self.period)
