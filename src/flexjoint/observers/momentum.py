"""Residuals of momentum: what acts on a robot beside its motors, gravity, springs and known friction.

Rigid robots: [DeLuca sec. II-A].  With springs the links and the motors have a balance each: what the links lack is a
collision, what a motor lacks is a fault of its actuator, and neither shows in the other  [Haddadin].  At a rigid joint
the two cannot be told apart and show in the link's.  In the complete model of the rotors links and motors have their
part in each other's momentum, S and Sᵀ  [Hua].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..drives import Motor
from ..dynamics.coriolis import coriolis_transpose_product
from ..dynamics.drivetrain.friction import friction, link_friction
from ..dynamics.drivetrain.transmission import second_motors, spring_loads
from ..dynamics.energy import generalized_momentum
from ..dynamics.links import gravity_torque
from ..dynamics.recursion.bodies import rotors
from ..errors import InputError
from ..robot import Robot
from ..spatial import ca, sx, total, zeros
from .base import Measurement
from .residual import Balance, Residual, checked_residual

LONGEST = 0.05  # s


def motors_behind_springs(robot: Robot) -> list[Motor]:
    """In the order of `Robot.motor_joints`; one without inertia and friction where the motor turns with the link."""
    drives: list[Any] = [robot.joints[i].drive if robot.compliant[i] else None for i in robot.motor_joints]
    return [drive.motors[k >= robot.n] if drive else Motor(0.0) for k, drive in enumerate(drives)]


def link_balance(robot: Robot, q: Any, v: Any) -> Balance:
    """p = M v and Cᵀv − g − friction: two sweeps and one for gravity, O(N)."""
    rate = coriolis_transpose_product.function(robot, q, v) - gravity_torque.function(robot, q)
    return Balance(generalized_momentum.function(robot, q, v), rate - link_friction(robot, [v], 0)[0], zeros(0))


def whole_balance(robot: Robot, q: Any, v: Any, theta_v: Any) -> Balance:
    """Of links and of the motors behind springs: M v + S θ' and Sᵀv + B θ' in the complete model, S = 0 in Spong's."""
    motors = motors_behind_springs(robot)
    rubbing = friction(motors, [theta_v], 0)[0]
    if any(rotor.elastic for rotor in rotors(robot)):
        p = ca.vertcat(*generalized_momentum.function(robot, q, v, theta_v, motors=True))
        gradient = coriolis_transpose_product.function(robot, q, v, theta_v, motors=True).links
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
        for joint, elastic in zip(self.robot.joints, self.robot.compliant):
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
        deflections = any(self.robot.variable_stiffness) or (not self.sensors and any(self.robot.compliant))
        sensed = self.sensors and any(self.robot.compliant)
        return ("q", "v", *["theta"] * deflections, "theta_v", *["tau_e"] * sensed)

    @property
    def channels(self) -> dict[str, int]:
        return {"link": self.robot.n, "motor": self.robot.motor_count}

    @property
    def idle(self) -> dict[str, np.ndarray]:
        """Motors that turn with their links."""
        return {"motor": np.array([not self.robot.compliant[i] for i in self.robot.motor_joints])}

    @property
    def gain(self) -> np.ndarray:
        return np.concatenate([self.link_cutoff, self.motor_cutoff[list(self.robot.motor_joints)]])

    def balance(self, measurement: Measurement) -> Balance:
        whole = whole_balance(self.robot, measurement.q, measurement.v, measurement.theta_v)
        on_links, from_motors = self.tensions(measurement)
        return whole._replace(rate=whole.rate + ca.vertcat(*on_links, *(-x for x in from_motors)))

    def tensions(self, measurement: Measurement) -> tuple[list[Any], list[Any]]:
        """What springs give to the links, and take from the motors; 0 where there are none."""
        robot, (q, v, theta, theta_v, tau_e) = self.robot, measurement
        second = second_motors(robot)
        on_links, from_motors = [zeros(1)] * robot.n, [zeros(1)] * robot.motor_count
        for i in np.flatnonzero(robot.compliant).tolist():
            if self.sensors and not robot.variable_stiffness[i]:
                on_links[i] = from_motors[i] = tau_e[i]
                continue
            drive: Any = robot.joints[i].drive
            own = {i: 1, second[i]: drive.c} if i in second else {i: 1}  # motors, and whether θ counts from q
            phi, phi_v = ([x[k] - c * y[i] for k, c in own.items()] for x, y in ((theta, q), (theta_v, v)))
            loads = spring_loads(robot.joints[i], phi, phi_v)
            on_links[i] = tau_e[i] if self.sensors else total(c * x for c, x in zip(own.values(), loads))
            for k, load in zip(own, loads):
                from_motors[k] = load
        return on_links, from_motors

    def driving(self, torque: Any) -> Any:
        robot = self.robot
        on_links = [0.0 if elastic else torque[i] for i, elastic in enumerate(robot.compliant)]
        on_motors = [torque[k] if robot.compliant[i] else 0.0 for k, i in enumerate(robot.motor_joints)]
        return ca.vertcat(*on_links, *on_motors)
