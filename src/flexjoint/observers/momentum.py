"""Residuals of momentum: what acts on a robot beside its motors, gravity, springs and known friction.

Rigid robots: [DeLuca sec. II-A].  With springs the links and the motors have a balance each: what the links lack is a
collision, what a motor lacks is a fault of its actuator, and neither shows in the other  [Haddadin].  At a rigid joint
the two cannot be told apart and show in the link's.  In the complete model of the rotors links and motors have their
part in each other's momentum, S and Sᵀ  [Hua].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..algorithms.bodies import rotors
from ..algorithms.coriolis import coriolis_transpose_product
from ..algorithms.coupled import coupled_momentum, coupled_transpose_product
from ..algorithms.energy import generalized_momentum
from ..algorithms.friction import friction, link_friction
from ..algorithms.newton_euler import gravity_torque
from ..drives import AntagonisticDrive, ElasticDrive, Motor
from ..errors import InputError
from ..robot import Robot
from ..spatial import ca, sx, zeros
from ..springs import Spring
from .base import Measurement
from .residual import Balance, Residual, checked_residual

LONGEST = 0.05  # s


class Transmission(NamedTuple):
    """A spring, and the motor behind it."""

    joint: int
    motor: Motor
    spring: Spring
    damping: Any


def transmissions(robot: Robot) -> list[Transmission | None]:
    """In the order of `Robot.motor_joints`; None where the motor turns with the link."""
    found: list[Transmission | None] = []
    for k, i in enumerate(robot.motor_joints):
        drive = robot.joints[i].drive
        if isinstance(drive, ElasticDrive):
            found.append(Transmission(i, drive.motor, drive.spring, drive.damping))
        elif isinstance(drive, AntagonisticDrive):
            found.append(Transmission(i, drive.motors[k >= robot.n], drive.springs[k >= robot.n], drive.damping))
        else:
            found.append(None)
    return found


def link_balance(robot: Robot, q: Any, v: Any) -> Balance:
    """p = M v and Cᵀv − g − friction: two sweeps and one for gravity, O(N)."""
    rate = coriolis_transpose_product.function(robot, q, v) - gravity_torque.function(robot, q)
    return Balance(generalized_momentum.function(robot, q, v), rate - link_friction(robot, [v], 0)[0], zeros(0))


def whole_balance(robot: Robot, q: Any, v: Any, theta_v: Any) -> Balance:
    """Of links and of the motors behind springs: M v + S θ' and Sᵀv + B θ' in the complete model, S = 0 in Spong's."""
    motors = [x.motor if x else Motor(0.0) for x in transmissions(robot)]
    rubbing = friction(motors, [theta_v], 0)[0]
    if any(rotor.elastic for rotor in rotors(robot)):
        p = ca.vertcat(*coupled_momentum.function(robot, q, v, theta_v))
        gradient = coupled_transpose_product.function(robot, q, v, theta_v)
        rate = gradient - gravity_torque.function(robot, q) - link_friction(robot, [v], 0)[0]
        return Balance(p, ca.vertcat(rate, -rubbing), zeros(0))
    links = link_balance(robot, q, v)
    momenta = sx([motor.inertia for motor in motors]) * theta_v  # B θ'
    return Balance(ca.vertcat(links.p, momenta), ca.vertcat(links.rate, -rubbing), zeros(0))


@dataclass(frozen=True, eq=False, repr=False)
class MomentumResidual(Residual):
    """The residual of a rigid robot: r' = K (u − r) with u what acts on the joints beside the motors  [DeLuca (6)].

    `cutoff` is K in rad/s, a number or one a joint.  Outputs: `residual` (n,), `status`, `blind`.
    """

    robot: Robot
    cutoff: Any
    period: float = 1e-3
    longest: float = LONGEST
    reads: ClassVar[tuple[str, ...]] = ("q", "v")

    def __post_init__(self) -> None:
        checked_residual(self, "cutoff")
        for joint, elastic in zip(self.robot.joints, self.robot.elastic):
            if elastic:
                raise InputError(
                    f"MomentumResidual: joint '{joint.name}' is elastic, so that its motor does not act on the link; "
                    "use JointTorqueResidual, or MotorEncoderResidual without torque sensors"
                )

    @property
    def channels(self) -> dict[str, int]:
        return {"residual": self.robot.n}

    @property
    def gain(self) -> np.ndarray:
        return self.cutoff

    def balance(self, measurement: Measurement) -> Balance:
        return link_balance(self.robot, measurement.q, measurement.v)

    def driving(self, torque: Any) -> Any:
        return torque


@dataclass(frozen=True, eq=False, repr=False)
class JointTorqueResidual(Residual):
    """Residuals of links and of motors, of rigid joints and joints with springs in any mix, with joint torque sensors.

    `link` follows what acts on the links from outside, `motor` what acts on each motor beside its torque, its spring
    and known friction; zero where the motor turns with the link.  Of a joint with two motors the torque of each spring
    is that of its deflection, so that q must be measured too.  With `sensors=False` the torques of all springs are
    taken from their deflections.  Cutoffs are K in rad/s, numbers or one a joint.

    Outputs: `link` (n,), `motor` (motors,), `status`, `blind`.
    """

    robot: Robot
    link_cutoff: Any
    motor_cutoff: Any
    period: float = 1e-3
    longest: float = LONGEST
    sensors: bool = True

    def __post_init__(self) -> None:
        checked_residual(self, "link_cutoff", "motor_cutoff")

    @property
    def reads(self) -> tuple[str, ...]:
        deflections = any(self.robot.antagonistic) or (not self.sensors and any(self.robot.elastic))
        sensed = self.sensors and any(self.robot.elastic)
        return ("q", "v", *["theta"] * deflections, "theta_v", *["tau_e"] * sensed)

    @property
    def channels(self) -> dict[str, int]:
        return {"link": self.robot.n, "motor": self.robot.motor_count}

    @property
    def gain(self) -> np.ndarray:
        return np.concatenate([self.link_cutoff, self.motor_cutoff[list(self.robot.motor_joints)]])

    def balance(self, measurement: Measurement) -> Balance:
        robot, behind = self.robot, transmissions(self.robot)
        springs = [self.tension(k, x, measurement) if x else zeros(1) for k, x in enumerate(behind)]
        pulling = [zeros(1)] * robot.n
        for i, tension in zip(robot.motor_joints, springs):
            pulling[i] = pulling[i] + tension
        if self.sensors:
            pulling = [measurement.tau_e[i] if elastic else zeros(1) for i, elastic in enumerate(robot.elastic)]
        whole = whole_balance(robot, measurement.q, measurement.v, measurement.theta_v)
        return whole._replace(rate=whole.rate + ca.vertcat(*pulling, *(-x for x in springs)))

    def tension(self, k: int, x: Transmission, measurement: Measurement) -> Any:
        """Torque of the spring of motor k on the link."""
        if self.sensors and not self.robot.antagonistic[x.joint]:
            return measurement.tau_e[x.joint]
        phi, phi_v = measurement.theta[k] - measurement.q[x.joint], measurement.theta_v[k] - measurement.v[x.joint]
        return x.spring.torque(phi) + x.damping * phi_v

    def driving(self, torque: Any) -> Any:
        robot = self.robot
        on_links = [0.0 if elastic else torque[i] for i, elastic in enumerate(robot.elastic)]
        on_motors = [torque[k] if robot.elastic[i] else 0.0 for k, i in enumerate(robot.motor_joints)]
        return ca.vertcat(*on_links, *on_motors)
