"""Tracking by computed torque, the feedback linearization of rigid robots  [Siciliano sec. 8.5.2].

    τ = M(q) (q_d'' + K_1 e' + K_0 e) + n(q, q'),   e = q_d − q

The law measures link positions and velocities.  On the rigid robot e'' + K_1 e' + K_0 e = 0.  On a robot with elastic
joints the law neglects the springs and is stable only if its poles are slow compared with the joint frequencies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from ..dynamics.inverse import inverse_dynamics
from ..errors import InputError
from ..robot import Robot
from ..types import FloatArray, Stack
from .base import RIGID_MODEL, JointState, LawResult, Registration, checked_robot
from .gains import check_gains, gains_from_poles
from .surroundings import KnowsSurroundings


@dataclass(frozen=True, eq=False, repr=False)
class ComputedTorque(KnowsSurroundings):
    """Computed torque of a rigid robot, to track a trajectory.

    Args:
        robot: The model, rigid; `robot.rigid()` neglects the springs of an elastic robot.
        gains: [K_0, K_1], 1/s² and 1/s, as numbers (2,) or per joint (2, n): `gains_from_poles` of two poles.
        wrenches: Known wrenches (f, n) by link name, at the origin of the link's frame, in base coordinates, N and Nm:
            six constant numbers, or None for six more columns of the reference; none by default.
        base: Whether the reference has six more columns, the pose of a moving base, which `simulate(..., base=)` adds;
            False by default.

    Raises:
        InputError: A joint is elastic, or the gains are not stable.

    Example:
        >>> import flexjoint as fj
        >>> rigid = fj.load("hua_3r").rigid()
        >>> controller = fj.control.ComputedTorque(rigid, fj.control.gains_from_poles([-10, -10]))
        >>> controller
        ComputedTorque('hua_3r', K_0=100, K_1=20)
        >>> motion = fj.trajectory.RestToRest([0.0] * 3, [0.5] * 3, duration=1.0)
        >>> run = fj.simulate(rigid, controller, motion, period=1e-3)
    """

    robot: Robot
    gains: FloatArray
    contains_friction: ClassVar[bool] = True
    registration: ClassVar[Registration] = Registration("computed_torque", "tracking by computed torque", RIGID_MODEL)

    def __post_init__(self) -> None:
        for joint, elastic in zip(checked_robot(self).joints, self.robot.compliant):
            if elastic:
                raise InputError(
                    f"ComputedTorque: joint '{joint.name}' is elastic; give the law robot.rigid(), which neglects the "
                    "springs, or use FeedbackLinearization"
                )
        object.__setattr__(self, "gains", check_gains(self.gains, 2, self.robot.n))
        self.check_surroundings()

    @classmethod
    def from_numbers(cls, robot: Robot, numbers: Sequence[float], period: float) -> Self:
        (pole,) = numbers
        return cls(robot.rigid(), gains_from_poles([pole] * 2))

    @property
    def order(self) -> int:
        return 2

    def law(self, gains: Stack, state: Stack, reference: Stack, measurement: JointState) -> LawResult:
        known = self.surroundings(reference)
        q_d, v_d, a_d = known.motion
        q, v = measurement.q, measurement.v
        a = a_d + gains[1] * (v_d - v) + gains[0] * (q_d - q)
        return state, inverse_dynamics.function(self.robot, q, v, a, **known.loads)
