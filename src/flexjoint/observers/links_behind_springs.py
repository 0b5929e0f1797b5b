"""Motion and torques of the links behind springs, from the motors and the torques that they feel of their springs.

Per motor q = θ − φ(τ_e); of a damped spring φ is the state of a filter (`damped_spring.py`).  At a joint with two
motors the link position is the mean of both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..drives import AntagonisticDrive, ElasticDrive, VariableStiffnessDrive
from ..dynamics.drivetrain.coupling import held_by_motors, links_from_ends, motors_at_springs, springs_behind
from ..dynamics.drivetrain.damped_spring import Before, deflections_after
from ..dynamics.drivetrain.springs import deflection_jet
from ..dynamics.links import static_torque
from ..errors import InputError
from ..robot import Robot
from ..spatial import ca, is_zero, total, zeros
from ..springs import Spring
from ..types import Expression, Jet, Scalar
from .motor_filter import MotorState


class DampedSpring(NamedTuple):
    """A spring with a damper beside it."""

    spring: Spring
    damping: Scalar


class Deflected(NamedTuple):
    """The springs at the sample before: rates of the damped ones, torques that the motors felt and their rates."""

    phi_v: Any
    tau: Any
    tau_v: Any


def spring_behind(robot: Robot, motor: int, owner: str = "") -> Spring | None:
    """The spring between a motor and its link; None at a rigid joint.  `owner` refuses a spring that motors share."""
    joint = robot.joints[robot.motor_joints[motor]]
    if isinstance(joint.drive, ElasticDrive):
        return joint.drive.spring
    if isinstance(joint.drive, AntagonisticDrive):
        return joint.drive.springs[motor >= robot.n]
    if isinstance(joint.drive, VariableStiffnessDrive):
        raise InputError(
            f"{owner}: the motors of joint '{joint.name}' share a spring, so that the torque of each does "
            "not determine a deflection; use JointTorqueResidual with encoders on the links"
        )
    return None


def check_springs(robot: Robot, owner: str) -> None:
    """Refuses drives whose springs motor encoders and torques do not determine."""
    for k, i in enumerate(robot.motor_joints):
        joint = robot.joints[i]
        spring_behind(robot, k, owner)
        if isinstance(joint.drive, VariableStiffnessDrive) and not is_zero(joint.drive.greatest_damping):
            raise InputError(
                f"{owner}: joint '{joint.name}' has a damper that is commanded, whose torque is not known; use "
                "JointTorqueResidual with encoders on the links"
            )


def motors_of_joints(robot: Robot) -> list[list[int]]:
    """The motors of each joint, one or two."""
    return [[k for k, j in enumerate(robot.motor_joints) if i == j] for i in range(robot.n)]


def damped_springs(robot: Robot) -> dict[int, DampedSpring]:
    """The damped springs, by motor."""
    found = {}
    for k, i in enumerate(robot.motor_joints):
        drive, spring = robot.joints[i].drive, spring_behind(robot, k)
        if isinstance(drive, ElasticDrive | VariableStiffnessDrive) and spring and not is_zero(drive.damping):
            found[k] = DampedSpring(spring, drive.damping)
    return found


def settled_springs(robot: Robot, motors: MotorState) -> Deflected:
    """Springs at rest under the torques of the motors."""
    return Deflected(zeros(len(damped_springs(robot))), motors.tau, motors.tau_v)


def links_behind(
    robot: Robot, motors: MotorState, before: Deflected, h: Expression
) -> tuple[Expression, Expression, Expression]:
    """Positions and velocities of the links h seconds after `before`, and the rates of the damped springs."""
    ends, ends_v = (motors_at_springs(robot, x) for x in (motors.theta, motors.theta_v))
    tau, tau_v, old, old_v = (springs_behind(robot, x) for x in (motors.tau, motors.tau_v, before.tau, before.tau_v))
    damped = damped_springs(robot)
    earlier = [Before(before.phi_v[j], old[k], old_v[k]) for j, k in enumerate(damped)]
    found = deflections_after([*damped.values()], h, earlier, [[tau[k], tau_v[k]] for k in damped])
    filtered = dict(zip(damped, found))
    jets = [filtered[k] if k in filtered else deflection(robot, k, [tau[k], tau_v[k]]) for k in range(tau.numel())]
    q = mean_over_motors(robot, [ends[k] - x[0] for k, x in enumerate(jets)])
    v = mean_over_motors(robot, [ends_v[k] - x[1] for k, x in enumerate(jets)])
    return links_from_ends(robot, q), links_from_ends(robot, v), ca.vertcat(zeros(0), *[filtered[k][1] for k in damped])


def deflection(robot: Robot, motor: int, tau: Jet) -> Jet:
    """[φ, φ'] of an undamped spring; 0 at a rigid joint."""
    law = spring_behind(robot, motor)
    return deflection_jet(law, tau) if law else [0.0, 0.0]


def mean_over_motors(robot: Robot, values: list[Expression]) -> Expression:
    """One number per joint out of one per motor."""
    return ca.vertcat(*[total(values[k] for k in places) / len(places) for places in motors_of_joints(robot)])


def joint_torques(robot: Robot, tau: Expression, held: Expression) -> Expression:
    """Torque of the springs at each joint, from what the motors feel of them; that of the motor at rigid joints."""
    springs, pairs = springs_behind(robot, tau), zip(robot.compliant, motors_of_joints(robot))
    return ca.vertcat(*[total(springs[k] for k in x) if spring else held[x[0]] for spring, x in pairs])


def holding_torques(robot: Robot, theta: Expression) -> Expression:
    """Torque that each motor feels while the robot rests, with springs that are hardly deflected."""
    q = links_from_ends(robot, mean_over_motors(robot, ca.vertsplit(motors_at_springs(robot, theta))))
    held = held_by_motors(robot, static_torque.function(robot, q))
    counts = [len(x) for x in motors_of_joints(robot)]
    return ca.vertcat(*[held[i] / counts[i] for i in robot.motor_joints])
