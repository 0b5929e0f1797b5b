"""Inverse dynamics control of robots with rigid and elastic joints in any mix  [Hua sec. IV].

The law is one kernel, `mixed_torque`: its module holds the formulas, the Lyapunov function, and how θ_d', θ_d'', q''
and θ'' are obtained, which the paper leaves open.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..dynamics.requirements import require
from ..robot import Robot
from ..types import FloatArray, Stack
from .base import Gain, JointState, LawResult, Registration, checked_robot
from .laws.mixed import closes, linear_springs, mixed_torque, reference_order
from .surroundings import KnowsWrenches

LEAST_GAIN = 1e-9  # the law divides K_P by K_D

MIXED_GAINS = (
    Gain("K_P", "Nm/rad | N/m", "feedback of the link position"),
    Gain("K_D", "Nm s/rad | N s/m", "feedback of the link velocity"),
    Gain("MOTOR_K_P", "Nm/rad | N/m", "feedback of the position of motors behind springs"),
    Gain("MOTOR_K_D", "Nm s/rad | N s/m", "feedback of the velocity of motors behind springs"),
)


@dataclass(frozen=True, eq=False, repr=False)
class MixedInverseDynamics(KnowsWrenches):
    """Inverse dynamics control of rigid and elastic joints in any mix, to track a trajectory: τ of [Hua (39), (49)].

    Args:
        robot: The model; every spring is linear and undamped.
        gains: [K_P, K_D, MOTOR_K_P, MOTOR_K_D], each a number or one per joint (n,), positive: the feedback of link
            position, Nm/rad or N/m, and velocity, Nm s/rad or N s/m, then of motor position and velocity.  Rigid
            joints ignore the motor gains.
        wrenches: Known wrenches (f, n) by link name, at the origin of the link's frame, in base coordinates, N and Nm:
            six constant numbers, or None for six more columns of the reference; none by default.

    Raises:
        InputError: A spring is damped or not linear, a joint has two motors, or the gains have a wrong shape or sign.

    Example:
        >>> import flexjoint as fj
        >>> controller = fj.control.MixedInverseDynamics(fj.load("hua_3r"), [390.0, 56.0, 1400.0, 58.0])
        >>> controller
        MixedInverseDynamics('hua_3r', K_P=390, K_D=56, MOTOR_K_P=1400, MOTOR_K_D=58)
        >>> controller.exact
        True
    """

    robot: Robot
    gains: FloatArray
    contains_friction: ClassVar[bool] = True
    registration: ClassVar[Registration] = Registration(
        "mixed_inverse_dynamics", "tracking by inverse dynamics", gains=MIXED_GAINS
    )

    def __post_init__(self) -> None:
        require("MixedInverseDynamics", checked_robot(self), *linear_springs)
        self.check_gains(LEAST_GAIN)
        self.check_surroundings()

    @property
    def order(self) -> int:
        return reference_order(self.robot)

    @property
    def exact(self) -> bool:
        """Whether V₂' is that of [Hua (52)]: the link equations of the elastic joints do not contain a motor."""
        return closes(self.robot)

    def law(self, gains: Stack, state: Stack, reference: Stack, measurement: JointState) -> LawResult:
        q, v, theta, theta_v = measurement
        known = self.surroundings(reference)
        tracking = {"reference": known.motion, "gains": gains}
        law = mixed_torque.function(self.robot, q, v, theta, theta_v, tracking=tracking, wrenches=known.wrenches)
        return state, law.tau
