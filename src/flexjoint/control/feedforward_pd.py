"""Tracking by the torque of the reference and PD control of the motors  [DeLuca2000].

    τ = τ_d + K_P (θ_d − θ) + K_D (θ_d' − θ')

The inverse dynamics of the reference gives θ_d, θ_d' and τ_d, so the reference needs as many derivatives as inverse
dynamics does; these terms could be computed before the motion.  The law measures motor positions and velocities only.
It is exponentially stable near the reference if K_P and K_D are large enough; an exact model leaves no error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..dynamics.inverse import motor_motion, needed_order
from ..robot import Robot
from ..types import FloatArray, Stack
from .base import JointState, LawResult, Registration
from .motor_pd import PD_GAINS
from .surroundings import KnowsSurroundings


@dataclass(frozen=True, eq=False, repr=False)
class FeedforwardPD(KnowsSurroundings):
    """Torque feedforward and PD control of the motors, to track a trajectory.

    Args:
        robot: The model, rigid and elastic joints in any mix, with one motor per joint.
        gains: [K_P, K_D], each a number or one per joint (n,), none negative: the feedback of motor position, Nm/rad or
            N/m, and of motor velocity, Nm s/rad or N s/m.
        wrenches: Known wrenches (f, n) by link name, at the origin of the link's frame, in base coordinates, N and Nm:
            six constant numbers, or None for six more columns of the reference; none by default.
        base: Whether the reference has six more columns, the pose of a moving base, which `simulate(..., base=)` adds;
            False by default.

    Raises:
        InputError: A joint has two motors, or the gains have a wrong shape or sign.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("hua_3r")
        >>> controller = fj.control.FeedforwardPD(robot, [500.0, 50.0])
        >>> controller.order  # the trajectory is read up to its snap
        4
    """

    robot: Robot
    gains: FloatArray
    contains_friction: ClassVar[bool] = True
    registration: ClassVar[Registration] = Registration(
        "feedforward_pd", "tracking: torque of the reference, PD of the motors", gains=PD_GAINS
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_surroundings()

    @property
    def order(self) -> int:
        return needed_order(self.robot, self.base or None)

    def law(self, gains: Stack, state: Stack, reference: Stack, measurement: JointState) -> LawResult:
        K_P, K_D = gains
        known = self.surroundings(reference)
        wanted = motor_motion.function(self.robot, *known.motion, **known.loads)
        error, error_v = wanted.theta - measurement.theta, wanted.theta_v - measurement.theta_v
        return state, wanted.tau + K_P * error + K_D * error_v
