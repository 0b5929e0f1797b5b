"""Regulation with link damping that preserves the elastic structure of the robot  [Keppler].

In the motor coordinate η = θ + K⁻¹ D q' the torque of the springs is K (η − q) − D q': the links feel springs as stiff
as before, and dampers D between themselves and the world.  With

    τ = ū − D q' − B K⁻¹ D q'''

η obeys B η'' + K (η − q) = ū, as θ would without the law, and ū is that of `MotorPD` in η.  The closed loop is
therefore a robot with viscous link friction D under `MotorPD`, and as stable.  The law measures positions and
velocities of links and motors and takes q'' and q''' from the model.  The paper also tracks trajectories and treats
nonlinear springs; this law regulates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..drives import ElasticDrive
from ..dynamics.drivetrain.rotors import motor_inertias
from ..dynamics.linearization import link_motion
from ..dynamics.requirements import lossless_gears, require, uncoupled_transmissions
from ..errors import InputError
from ..robot import Robot
from ..springs import LinearSpring
from ..types import FloatArray, Stack
from .base import Controller, Gain, JointState, LawResult, Registration, checked_robot
from .laws.couplings import stiffness
from .motor_pd import PD_GAINS, motor_regulation


@dataclass(frozen=True, eq=False, repr=False)
class StructurePreserving(Controller):
    """Elastic structure preserving regulation of a constant goal.

    Args:
        robot: The model; every joint has a linear, undamped spring.
        gains: [K_P, K_D, D], each a number or one per joint (n,), none negative: the feedback of motor position, Nm/rad
            or N/m, of motor velocity, Nm s/rad or N s/m, and the link damping, Nm s/rad or N s/m.

    Raises:
        InputError: A joint is rigid, damped or not linear, or the gains have a wrong shape or sign.

    Example:
        >>> import flexjoint as fj
        >>> fj.control.StructurePreserving(fj.load("kuka_lwr"), [2000.0, 100.0, 5.0])
        StructurePreserving('kuka_lwr', K_P=2000, K_D=100, D=5)
    """

    robot: Robot
    gains: FloatArray
    registration: ClassVar[Registration] = Registration(
        "structure_preserving",
        "regulation with link damping D",
        "all joints with linear, undamped springs",
        (*PD_GAINS, Gain("D", "Nm s/rad | N s/m", "damping of the link")),
    )

    def __post_init__(self) -> None:
        require("StructurePreserving", checked_robot(self), lossless_gears)
        for joint in self.robot.joints:
            drive = joint.drive
            if not isinstance(drive, ElasticDrive) or drive.damping or not isinstance(drive.spring, LinearSpring):
                raise InputError(
                    f"StructurePreserving: joint '{joint.name}' has no linear, undamped spring, which the law needs; "
                    "use MotorPD"
                )
        require("StructurePreserving", self.robot, uncoupled_transmissions)
        self.check_gains()

    @property
    def order(self) -> int:
        return 0

    def law(self, gains: Stack, state: Stack, reference: Stack, measurement: JointState) -> LawResult:
        K_P, K_D, D = gains
        q, v, theta, theta_v = measurement
        K, B = stiffness(self.robot), motor_inertias(self.robot)
        a, jerk = link_motion.function(self.robot, q, v, K * (theta - q), K * (theta_v - v))
        eta, eta_v = theta + D / K * v, theta_v + D / K * a
        u = motor_regulation(self.robot, K_P, K_D, reference[0], eta, eta_v)
        return state, u - D * v - B * D / K * jerk
