"""Momentum residuals: the torques on a robot other than those of motors, gravity, springs and modelled friction.

Rigid robots: [DeLuca sec. II-A].  With springs, links and motors have a balance each: an unknown torque on a link is a
collision or load, one on a motor is an actuator fault, and neither shows in the other  [Haddadin].  At a rigid joint
the two cannot be distinguished; both show in the residual of the link.  In the complete rotor model the momenta of
links and motors are coupled by S and Sᵀ  [Hua].

Where a transmission couples joints, the residual of the links is in joint coordinates and that of the motors in motor
coordinates; torque sensors measure the springs, τ_e, of which the links get T_aᵀτ_e and the motors T_b⁻ᵀτ_e.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..drives import Motor
from ..dynamics.coriolis import coriolis_transpose_product
from ..dynamics.drivetrain.coupling import on_links, on_motors
from ..dynamics.drivetrain.friction import friction
from ..dynamics.drivetrain.load_friction import remaining_torque
from ..dynamics.drivetrain.passive import passive_torque
from ..dynamics.drivetrain.transmission import motors, of_joints, transmitted
from ..dynamics.energy import generalized_momentum
from ..dynamics.links import gravity_torque
from ..dynamics.recursion.bodies import rotors
from ..dynamics.requirements import first, lossless_gears, require
from ..errors import InputError
from ..robot import Robot
from ..spatial import ca, sx, zeros
from ..types import Expression, FloatArray
from .base import Measurement
from .residual import Balance, Residual, check_residual

MAX_GAP = 0.05  # s


def motors_behind_springs(robot: Robot) -> list[Motor]:
    """Motors in the order of `Robot.motor_names`; one without inertia and friction where it turns with the link."""
    pairs = zip(robot.motor_joints, motors(robot))
    return [motor if robot.compliant[i] else Motor(0.0) for i, motor in pairs]


def link_balance(robot: Robot, q: Expression, v: Expression) -> Balance:
    """The balance of the links: p = M v, β = Cᵀv − g − friction without load + parallel springs, in O(N)."""
    rate = coriolis_transpose_product.function(robot, q, v) - gravity_torque.function(robot, q)
    return Balance(generalized_momentum.function(robot, q, v), rate - passive_torque(robot, [q, v], 0)[0], zeros(0))


def link_and_motor_balance(
    robot: Robot, q: Expression, v: Expression, theta_v: Expression, on_motors: Sequence[Expression]
) -> Balance:
    """The balance of links and motors behind springs: p = [M v + S θ', Sᵀv + B θ'], S = 0 in Spong's model.

    Motor friction is that at the torques of the springs, `on_motors`.
    """
    motors = motors_behind_springs(robot)
    motor_friction = friction(motors, [theta_v], 0, on_motors)[0]
    if any(rotor.elastic for rotor in rotors(robot)):
        p = ca.vertcat(*generalized_momentum.function(robot, q, v, theta_v, motors=True))
        gradient = coriolis_transpose_product.function(robot, q, v, theta_v, motors=True).links
        rate = gradient - gravity_torque.function(robot, q) - passive_torque(robot, [q, v], 0)[0]
        return Balance(p, ca.vertcat(rate, -motor_friction), zeros(0))
    links = link_balance(robot, q, v)
    momenta = sx([motor.inertia for motor in motors]) * theta_v  # B θ'
    return Balance(ca.vertcat(links.p, momenta), ca.vertcat(links.rate, -motor_friction), zeros(0))


@dataclass(frozen=True, eq=False, repr=False)
class MomentumResidual(Residual):
    """The unknown torque on the joints of a rigid robot, filtered: r' = K (u − r)  [DeLuca (6)].

    It reads q and v.  Outputs: `residual` (n,), Nm or N; `status`, see `Status`; `blind`, the time in s since the
    last new residual.

    Args:
        robot: The model, rigid.
        cutoff: K, rad/s, a positive number or one per joint (n,).
        period: Time between two calls, s; 1e-3 by default.
        max_gap: Longest time between two samples that is bridged, s; 0.05 by default.

    Raises:
        InputError: A joint is elastic, or a number is not positive.

    Example:
        >>> import numpy as np
        >>> import flexjoint as fj
        >>> robot = fj.load("hua_3r").rigid()
        >>> residual = fj.observers.MomentumResidual(robot, cutoff=50.0)
        >>> residual
        MomentumResidual('hua_3r', cutoff=50, period=0.001, max_gap=0.05)
        >>> still = np.zeros(3)
        >>> rest = fj.observers.Measurement(still, still, still, still, still)
        >>> state, outputs = residual.start(rest)
        >>> state, outputs = residual(state, rest, fj.gravity_torque(robot, still))
        >>> bool(np.allclose(outputs["residual"], 0.0))
        True
    """

    robot: Robot
    cutoff: Any
    period: float = 1e-3
    max_gap: float = MAX_GAP
    reads: ClassVar[tuple[str, ...]] = ("q", "v")
    causes: ClassVar[Mapping[str, str]] = {"residual": "collision, load or actuator"}

    def __post_init__(self) -> None:
        check_residual(self, "cutoff")
        if joint := first(self.robot, self.robot.compliant):
            raise InputError(
                f"MomentumResidual: joint '{joint.name}' is elastic, so that its motor does not act on the link; use "
                "JointTorqueResidual, or MotorEncoderResidual without torque sensors"
            )

    @property
    def channels(self) -> dict[str, int]:
        return {"residual": self.robot.n}

    def balance(self, measurement: Measurement) -> Balance:
        return link_balance(self.robot, measurement.q, measurement.v)

    def motor_input(self, torque: Expression) -> Expression:
        return on_links(self.robot, torque)


@dataclass(frozen=True, eq=False, repr=False)
class JointTorqueResidual(Residual):
    """The unknown torques on links and on motors, filtered, of rigid and elastic joints in any mix.

    With torque sensors it reads q, v, theta_v and tau_e, and theta if a joint has two motors, whose spring torques are
    those of their deflections.  Without sensors it reads q, v, theta and theta_v.

    Outputs: `link` (n,), the external torque on the links, Nm or N; `motor` (m,), the unknown torque on each motor,
    zero where the motor turns with the link; `status`, see `Status`; `blind`, the time in s since the last new
    residual.

    Args:
        robot: The model.
        link_cutoff: K of the links, rad/s, a positive number or one per joint (n,).
        motor_cutoff: K of the motors, rad/s, a positive number or one per joint (n,).
        period: Time between two calls, s; 1e-3 by default.
        max_gap: Longest time between two samples that is bridged, s; 0.05 by default.
        sensors: Whether joint torques tau_e are measured, as by default; otherwise deflections give them.

    Raises:
        InputError: A number is not positive.

    Example:
        >>> import flexjoint as fj
        >>> fj.observers.JointTorqueResidual(fj.load("kuka_lwr"), 50.0, 50.0, sensors=False).reads
        ('q', 'v', 'theta', 'theta_v')
    """

    robot: Robot
    link_cutoff: Any
    motor_cutoff: Any
    period: float = 1e-3
    max_gap: float = MAX_GAP
    sensors: bool = True
    causes: ClassVar[Mapping[str, str]] = {"link": "collision or load", "motor": "actuator"}

    def __post_init__(self) -> None:
        check_residual(self, "link_cutoff", "motor_cutoff")
        if "theta" in self.reads:
            require("JointTorqueResidual", self.robot, lossless_gears)

    @property
    def reads(self) -> tuple[str, ...]:
        deflections = any(self.robot.variable_stiffness) or (not self.sensors and any(self.robot.compliant))
        sensed = self.sensors and any(self.robot.compliant)
        return ("q", "v", *["theta"] * deflections, "theta_v", *["tau_e"] * sensed)

    @property
    def channels(self) -> dict[str, int]:
        return {"link": self.robot.n, "motor": self.robot.motor_count}

    @property
    def always_zero(self) -> dict[str, np.ndarray]:
        """The motors that turn with their links."""
        return {"motor": np.array([not self.robot.compliant[i] for i in self.robot.motor_joints])}

    @property
    def gain(self) -> FloatArray:
        return np.concatenate([self.link_cutoff, self.motor_cutoff[list(self.robot.motor_joints)]])

    def balance(self, measurement: Measurement) -> Balance:
        links, motors = self._spring_torques(measurement)
        known = link_and_motor_balance(self.robot, measurement.q, measurement.v, measurement.theta_v, motors)
        left = remaining_torque(self.robot, [measurement.v], [links])[0]
        return known._replace(rate=known.rate + ca.vertcat(left, *(-x for x in motors)))

    def _spring_torques(self, measurement: Measurement) -> tuple[Expression, list[Expression]]:
        """Spring torques on each link, and those that each motor feels; 0 at rigid joints."""
        robot, (*state, tau_e, _) = self.robot, measurement
        motors, links = [zeros(1)] * robot.motor_count, zeros(robot.n)
        if "theta" in self.reads:
            motors, links = transmitted(robot, *state)
        if self.sensors:
            sensed = of_joints(robot, tau_e, zeros(robot.n))
            felt, pairs = on_motors(robot, sensed), zip(motors, robot.motor_joints)
            motors = [x if robot.variable_stiffness[i] else felt[i] for x, i in pairs]
            links = on_links(robot, sensed)
        return links, motors

    def motor_input(self, torque: Expression) -> Expression:
        robot = self.robot
        rigid = ca.vertcat(*[0.0 if elastic else torque[i] for i, elastic in enumerate(robot.compliant)])
        behind = [torque[k] if robot.compliant[i] else 0.0 for k, i in enumerate(robot.motor_joints)]
        return ca.vertcat(on_links(robot, rigid), *behind)
