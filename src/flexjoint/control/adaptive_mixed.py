"""Adaptive inverse dynamics control of robots with rigid and elastic joints in any mix: what [Hua sec. VI] leaves open.

Law and update are one kernel, `adaptive_mixed_torque_from_positions`; its docstring states its limits.  Between samples
the rate of the estimate is constant: π̂⁺ = π̂ + h Γ Yᵀσ.  Torques of other motors on the links of elastic joints are
neglected, as in `MixedInverseDynamics(..., couplings="neglected")`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike

from ..checks import positive, positive_numbers
from ..dynamics.recursion.regressor import base_parameters
from ..dynamics.requirements import require
from ..reprs import short_repr
from ..robot import Robot
from ..spatial import sx
from ..types import FloatArray, Stack
from .adaptive import ADAPTATION, AdaptiveState
from .base import JointState, LawResult, Registration, checked_robot
from .laws.mixed import NEGLECTED, adaptive_mixed_torque_from_positions, linear_springs, reference_order
from .mixed_inverse_dynamics import LEAST_GAIN, MIXED_GAINS, MixedInverseDynamics
from .surroundings import KnowsWrenches


@dataclass(frozen=True, eq=False, repr=False)
class AdaptiveMixedControl(KnowsWrenches):
    """`MixedInverseDynamics` that estimates the inertia of the links, to track a trajectory.

    Kinematics, gravity, friction, springs and motors of the robot are assumed known.  Its links are the initial
    estimate.

    Args:
        robot: The model; every spring is linear and undamped.
        gains: [K_P, K_D, MOTOR_K_P, MOTOR_K_D], each a positive number or one per joint (n,), as in
            `MixedInverseDynamics`.
        adaptation: Γ, a positive number or one per base parameter (p,).
        period: Sampling period, s.
        wrenches: Known wrenches (f, n) by link name, at the origin of the link's frame, in base coordinates, N and Nm:
            six constant numbers, or None for six more columns of the reference; none by default.

    Raises:
        InputError: A spring is damped or not linear, a joint has two motors, or a number is not positive.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("hua_3r")
        >>> fj.control.AdaptiveMixedControl(robot, [200.0, 30.0, 200.0, 30.0], adaptation=0.5, period=1e-3)
        AdaptiveMixedControl('hua_3r', K_P=200, K_D=30, MOTOR_K_P=200, MOTOR_K_D=30, GAMMA=0.5, period=0.001)
    """

    robot: Robot
    gains: FloatArray
    adaptation: ArrayLike
    period: float
    memory: ClassVar[int] = 1
    contains_friction: ClassVar[bool] = True
    registration: ClassVar[Registration] = Registration(
        "adaptive_mixed_control",
        "tracking by inverse dynamics that learns the inertia",
        gains=(*MIXED_GAINS, ADAPTATION),
    )

    def __post_init__(self) -> None:
        require("AdaptiveMixedControl", checked_robot(self), *linear_springs)
        self.check_gains(LEAST_GAIN)
        self.check_surroundings()
        positive("AdaptiveMixedControl", "period", self.period)
        adaptation = positive_numbers("AdaptiveMixedControl", "adaptation", self.adaptation, *self.memory_sizes)
        object.__setattr__(self, "adaptation", tuple(adaptation.tolist()))

    @classmethod
    def from_numbers(cls, robot: Robot, numbers: Sequence[float], period: float) -> Self:
        *gains, adaptation = numbers
        return cls(robot, gains, adaptation, period)  # type: ignore[arg-type]

    @property
    def gain_names(self) -> list[str]:
        return [gain.name for gain in MIXED_GAINS]

    @property
    def order(self) -> int:
        return reference_order(self.robot)

    @property
    def memory_sizes(self) -> tuple[int, ...]:
        return (len(base_parameters(self.robot).names),)

    def check_reference(self, reference: Sequence[Any], gains: Any = None, start: Any = None) -> None:
        """Checks the loop with the first estimate, which neglects couplings: see `MixedInverseDynamics`."""
        fixed = MixedInverseDynamics(self.robot, self.gains, wrenches=self.wrenches, couplings=NEGLECTED)
        fixed.check_reference(reference, gains, start)

    def start(self, reference: Sequence[Any] = ()) -> AdaptiveState:
        """The first estimate: the links of the controller's robot."""
        return AdaptiveState(base_parameters(self.robot).of(self.robot))

    def law(self, gains: Stack, state: Stack, reference: Stack, measurement: JointState) -> LawResult:
        (estimate,) = state
        q, v, theta, theta_v = measurement
        known = self.surroundings(reference)
        tracking = {"reference": known.motion, "gains": gains}
        tau, *_, rate = adaptive_mixed_torque_from_positions.function(
            self.robot,
            q,
            v,
            theta,
            theta_v,
            estimate,
            sx(self.adaptation),
            tracking=tracking,
            wrenches=known.wrenches,
        )
        return (estimate + self.period * rate,), tau

    def __repr__(self) -> str:
        gains = dict(zip(self.gain_names, self.gains))
        return short_repr(self, self.robot.name, **gains, GAMMA=self.adaptation, period=self.period)
