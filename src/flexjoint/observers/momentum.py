"""Residuals of momentum: what acts on a robot beside its motors, gravity, springs and known friction.

Rigid robots: [DeLuca sec. II-A].  With springs the links and the motors have a balance each: what the links lack is a
collision, what a motor lacks is a fault of its actuator, and neither shows in the other  [Haddadin].  At a rigid joint
the two cannot be told apart and show in the link's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..algorithms.coriolis import coriolis_transpose_product
from ..algorithms.energy import generalized_momentum
from ..algorithms.friction import friction, link_friction
from ..algorithms.newton_euler import gravity_torque
from ..drives import AntagonisticDrive, ElasticDrive, Motor
from ..errors import InputError
from ..robot import Robot
from ..spatial import ca, sx, zeros
from .base import Measurement
from .residual import Balance, Residual, checked_residual

LONGEST = 0.05  # s


def link_balance(robot: Robot, q: Any, v: Any) -> Balance:
    """p = M v and Cᵀv − g − friction: two sweeps and one for gravity, O(N)."""
    rate = coriolis_transpose_product.function(robot, q, v) - gravity_torque.function(robot, q)
    return Balance(generalized_momentum.function(robot, q, v), rate - link_friction(robot, [v], 0)[0], zeros(0))


@dataclass(frozen=True, eq=False)
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


@dataclass(frozen=True, eq=False)
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
        return ("q", "v", *["theta"] * deflections, "theta_v", *["tau_e"] * self.sensors)

    @property
    def channels(self) -> dict[str, int]:
        return {"link": self.robot.n, "motor": self.robot.motor_count}

    @property
    def gain(self) -> np.ndarray:
        return np.concatenate([self.link_cutoff, self.motor_cutoff[list(self.robot.motor_joints)]])

    def balance(self, measurement: Measurement) -> Balance:
        robot, motors = self.robot, motors_behind_springs(self.robot)
        links, springs = link_balance(robot, measurement.q, measurement.v), self.springs(measurement)
        pulling = [
            ca.sum1(ca.vertcat(*[x for x, i in zip(springs, robot.motor_joints) if i == k])) for k in range(robot.n)
        ]
        if self.sensors:
            pulling = [measurement.tau_e[k] if elastic else 0.0 for k, elastic in enumerate(robot.elastic)]
        rubbing = friction(motors, [measurement.theta_v], 0)[0]
        momenta = sx([motor.inertia for motor in motors]) * measurement.theta_v  # B θ'
        return Balance(
            ca.vertcat(links.p, momenta),
            ca.vertcat(links.rate + ca.vertcat(*pulling), -ca.vertcat(*springs) - rubbing),
            links.place,
        )

    def springs(self, measurement: Measurement) -> list[Any]:
        """Torque of each motor's spring on the link; 0 at a rigid joint."""
        found, second = [], set()
        for k, i in enumerate(self.robot.motor_joints):
            drive = self.robot.joints[i].drive
            if isinstance(drive, ElasticDrive) and self.sensors:
                found.append(measurement.tau_e[i])
            elif isinstance(drive, ElasticDrive | AntagonisticDrive):
                phi, phi_v = measurement.theta[k] - measurement.q[i], measurement.theta_v[k] - measurement.v[i]
                spring = drive.spring if isinstance(drive, ElasticDrive) else drive.springs[i in second]
                found.append(spring.torque(phi) + drive.damping * phi_v)
                second.add(i)
            else:
                found.append(sx(0.0))
        return found

    def driving(self, torque: Any) -> Any:
        robot = self.robot
        on_links = [0.0 if elastic else torque[i] for i, elastic in enumerate(robot.elastic)]
        on_motors = [torque[k] if robot.elastic[i] else 0.0 for k, i in enumerate(robot.motor_joints)]
        return ca.vertcat(*on_links, *on_motors)


def motors_behind_springs(robot: Robot) -> list[Motor]:
    """In the order of `Robot.motor_joints`; one without inertia and friction where the motor turns with the link."""
    found, second = [], set()
    for i in robot.motor_joints:
        drive = robot.joints[i].drive
        found.append(drive.motors[i in second] if isinstance(drive, ElasticDrive | AntagonisticDrive) else Motor(0.0))
        second.add(i)
    return found
