"""What drives and rotors must fulfil; a RobotError names the joint otherwise."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..checks import ROUNDING, check_finite, check_number, is_number
from ..drives import (
    AntagonisticDrive,
    Drive,
    ElasticDrive,
    Hysteresis,
    Motor,
    MotorLimits,
    RigidDrive,
    SpringLimits,
    VariableStiffnessDrive,
)
from ..drives.limits import NO_SPRING_LIMITS
from ..errors import RobotError, listed, shown
from ..springs import ParallelSpring, Spring
from .friction_checks import check_friction
from .parts import BASE, Joint, Link

if TYPE_CHECKING:
    from .model import Robot

FIDELITIES = ("spong", "complete")
GREATEST = 1e100  # kg m², of a rotor, so that infinity times zero does not occur


def check_limits(owner: str, limits: object, signed: Sequence[str] = ()) -> None:
    """Refuse limits that are no numbers, or negative unless they are `signed`."""
    for field in dataclasses.fields(limits):  # type: ignore[arg-type]
        value = getattr(limits, field.name)
        if not is_number(value) or math.isnan(value):
            raise RobotError(
                f"the limit {field.name} of {owner} is {shown(value)}: give a number, or infinity if it is unknown"
            )
        if value < 0 and field.name not in signed:
            raise RobotError(f"the limit {field.name} of {owner} is {value:g}: it must not be negative")


def check_drive_limits(joint: Joint, drive: Drive) -> None:
    """Refuse limits of motors and springs that are wrong or contradict each other."""
    for motor in drive.motors:
        owner, limits = f"the motor of joint '{joint.name}'", motor.limits
        if not isinstance(limits, MotorLimits):
            raise RobotError(f"the limits of {owner} are {shown(limits)}: give drives.MotorLimits(torque=..., ...)")
        check_limits(owner, limits)
        if math.inf > limits.rms_torque > limits.torque:
            raise RobotError(
                f"{owner} has the peak torque limit {limits.torque:g} below the continuous limit rms_torque = "
                f"{limits.rms_torque:g}: exchange them, or correct one"
            )
    spring_limits = getattr(drive, "spring_limits", NO_SPRING_LIMITS)
    if not isinstance(spring_limits, SpringLimits):
        given = shown(spring_limits)
        raise RobotError(f"the spring limits of joint '{joint.name}' are {given}: give drives.SpringLimits(torque=...)")
    check_limits(f"the spring of joint '{joint.name}'", spring_limits)


def check_drive(joint: Joint) -> None:
    """Refuse a drive of a fixed joint, of a wrong type, or with numbers that no drive has."""
    drive = joint.drive
    if drive is None:
        return
    if not joint.moves:
        raise RobotError(f"joint '{joint.name}' is fixed but has a drive: remove one of the two")
    if not isinstance(drive, Drive) or not all(isinstance(motor, Motor) for motor in drive.motors):
        raise RobotError(
            f"the drive of joint '{joint.name}' is {drive!r}: give RigidDrive(Motor(inertia)), "
            "ElasticDrive(stiffness, Motor(inertia)), AntagonisticDrive(spring_1, spring_2, motor_1, motor_2) or "
            "another VariableStiffnessDrive"
        )
    for motor in drive.motors:
        check_number("motor inertia", joint.name, motor.inertia)
        if motor.inertia < 0:
            raise RobotError(f"the motor inertia of joint '{joint.name}' is {motor.inertia:g}: must not be negative")
        check_friction(joint.name, "motor ", motor, load=not isinstance(drive, RigidDrive))
    check_drive_limits(joint, drive)
    if isinstance(drive, RigidDrive):
        return
    check_number("damping", joint.name, drive.damping)
    if drive.damping < 0:
        raise RobotError(f"the damping of joint '{joint.name}' is {drive.damping:g}: it must not be negative")
    check_functions(joint.name, drive)
    if isinstance(drive, ElasticDrive):
        check_gear(joint.name, drive)
    if isinstance(drive, VariableStiffnessDrive):
        check_variable_stiffness(joint.name, drive)
    elif not isinstance(drive.stiffness, Spring):  # a law has checked itself
        check_number("stiffness", joint.name, drive.stiffness)
        if drive.stiffness <= 0:
            raise RobotError(
                f"the stiffness of joint '{joint.name}' is {drive.stiffness:g}: it must be positive; give a rigid "
                "joint a RigidDrive"
            )
    if any(motor.inertia == 0 for motor in drive.motors):
        raise RobotError(
            f"the elastic joint '{joint.name}' has a motor without inertia: give motor_inertia, the inertia of its "
            "rotor times the square of the gear ratio, η² I_axial"
        )


def check_gear(name: str, drive: ElasticDrive) -> None:
    """Refuse a gap that is negative, and hysteresis that is no law; a law has checked its numbers."""
    check_number("backlash", name, drive.backlash)
    if drive.backlash < 0:
        raise RobotError(f"the backlash of joint '{name}' is {drive.backlash:g}: give the width of the gap, 0 or more")
    if drive.hysteresis is not None and not isinstance(drive.hysteresis, Hysteresis):
        raise RobotError(
            f"the hysteresis of joint '{name}' is {shown(drive.hysteresis)}: give drives.Dahl(torque, stiffness) or "
            "drives.BoucWen(torque, stiffness, exponent, reversal)"
        )


def check_parallel_spring(joint: Joint) -> None:
    """Refuse a parallel spring of a fixed joint, of a wrong type, or one that an algorithm cannot use."""
    parallel, name = joint.parallel_spring, joint.name
    if parallel is None:
        return
    if not isinstance(parallel, ParallelSpring):
        raise RobotError(
            f"the parallel spring of joint '{name}' is {shown(parallel)}: give springs.ParallelSpring(stiffness, rest)"
        )
    if not joint.moves:
        raise RobotError(f"joint '{name}' is fixed but has a parallel spring: remove one of the two")
    check_number("rest position of the parallel spring", name, parallel.rest)
    law = parallel.stiffness
    if not isinstance(law, Spring):
        check_number("stiffness of the parallel spring", name, law)
        if law <= 0:
            raise RobotError(
                f"the stiffness of the parallel spring of joint '{name}' is {law:g}: it must be positive; omit the "
                "spring if there is none"
            )
        return
    if not law.has_energy:
        raise RobotError(
            f"the parallel spring of joint '{name}' is a {law.name}, which gives its torque alone: add `energy`, the "
            "integral of its torque from rest, to its class"
        )
    if not type(law).__module__.startswith("flexjoint.") and (reason := law.unsupported()):
        raise RobotError(f"the parallel spring of joint '{name}', {law.name}, {reason}")


def check_smoothness(robot: Robot) -> None:
    """Refuse parallel springs with fewer derivatives than the motor torque of their joint, or its leader, contains."""
    for moving in robot.parallel_springs:
        joint, leader = moving.joint, robot.joints[moving.coordinate]
        law = joint.parallel_spring.spring  # type: ignore[union-attr]
        often = 2 if isinstance(leader.drive, ElasticDrive | VariableStiffnessDrive) else 0
        if law.smoothness < often:
            whose = "" if joint is leader else f" of joint '{leader.name}', which it follows,"
            raise RobotError(
                f"the parallel spring of joint '{joint.name}' is a {law.name} with {law.smoothness:g} derivatives; "
                f"behind the spring of the drive{whose} the motor torque contains the first {often}: give a smoother "
                "law"
            )


def check_functions(name: str, drive: Drive) -> None:
    """Refuse a law or a design from outside flexjoint with a function that no kernel has: before one is compiled."""
    laws = drive.springs if isinstance(drive, AntagonisticDrive) else (getattr(drive, "stiffness", None),)
    for law in (*laws, drive):
        if type(law).__module__.startswith("flexjoint.") or not isinstance(law, Spring | VariableStiffnessDrive):
            continue
        if reason := law.unsupported():
            what = "spring law" if isinstance(law, Spring) else "drive"
            raise RobotError(f"the {what} {type(law).__name__} of joint '{name}' {reason}")


def check_variable_stiffness(name: str, drive: VariableStiffnessDrive) -> None:
    """Refuse a drive whose two motors cannot set torque and stiffness independently."""
    springs = drive.springs if isinstance(drive, AntagonisticDrive) else ()
    for spring in springs:
        if not isinstance(spring, Spring):
            raise RobotError(f"a spring of the antagonistic joint '{name}' is {shown(spring)}: give a Spring")
    if not is_number(drive.greatest_stiffness) or not drive.greatest_stiffness > 0:
        given = shown(drive.greatest_stiffness)
        raise RobotError(f"the greatest stiffness of joint '{name}' is {given}: must be positive")
    check_number("greatest damping", name, drive.greatest_damping)
    if drive.greatest_damping < 0:
        raise RobotError(f"the greatest damping of joint '{name}' is {drive.greatest_damping:g}: it must be 0 or more")
    gain = drive.gain
    if gain == 0:
        raise RobotError(
            f"the drive of joint '{name}', {shown(drive)}, cannot set its stiffness: stiffness and torque change in "
            "proportion at all deflections (the decoupling matrix is singular); give at least one antagonistic spring "
            "that stiffens, and exponential springs different rates"
        )
    if gain < 0 and springs:
        raise RobotError(
            f"the springs of joint '{name}' soften it when θ_1 increases and θ_2 decreases: exchange them, "
            f"spring_1={shown(springs[1])}, spring_2={shown(springs[0])}"
        )
    if gain < 0:
        raise RobotError(
            f"the drive of joint '{name}', {shown(drive)}, softens it when motor 2 moves in the direction of "
            "`stiffens`: change the sign of `stiffens`"
        )


def check_rotors(robot: Robot) -> None:
    """Refuse rotors whose place, axis or gear ratio is wrong, or missing for the fidelity of the robot."""
    if robot.fidelity not in FIDELITIES:
        known = ", ".join(FIDELITIES)
        raise RobotError(f"{robot.name}: the fidelity is {shown(robot.fidelity)}: choose one of {known}")
    for link in robot.links:
        for k, motor in enumerate(link.joint.drive.motors if link.joint.drive is not None else ()):
            check_rotor(robot, link, motor, k)
    if robot.rotors_in_links:
        check_contained(robot)


def check_contained(robot: Robot) -> None:
    """Refuse a link with less inertia than the rotors that it is said to contain."""
    left = {i: np.array(link.inertia) for i, link in enumerate(robot.links) if link.mass}
    for i, link in enumerate(robot.links):
        for k, motor in enumerate(link.joint.drive.motors if link.joint.drive is not None else ()):
            carrier = robot.carrier(i, k)
            if motor.gear_ratio is None or carrier not in left:
                continue
            axis = link.joint.axis_in_parent if motor.axis is None else np.array(motor.axis)
            axial = motor.inertia / motor.gear_ratio / motor.gear_ratio  # overflows for a tiny ratio
            left[carrier] -= min(axial, GREATEST) * np.outer(axis, axis)
            if np.linalg.eigvalsh(left[carrier])[0] < -ROUNDING * np.max(np.abs(robot.links[carrier].inertia)):
                raise RobotError(
                    f"{robot.name}: the inertia of link '{robot.links[carrier].name}' is less than that of the rotors "
                    f"it is said to contain, that of joint '{link.joint.name}' among them: correct the gear ratio "
                    f"{motor.gear_ratio:g}, or pass rotors_in_links=False if the link's data are without rotors"
                )


def check_rotor(robot: Robot, link: Link, motor: Motor, k: int) -> None:
    """Refuse a rotor, that of the k-th motor of a joint, with a wrong place, axis or gear ratio."""
    name, index = link.joint.name, robot.link_index(link.name)
    if motor.carrier not in (None, BASE):
        try:
            robot.link_index(motor.carrier)
        except RobotError:
            raise RobotError(
                f"the motor of joint '{name}' is carried by {shown(motor.carrier)}, which does not exist; known are: "
                f"{listed([BASE, *(x.name for x in robot.links)])}"
            ) from None
    for what in ("transverse inertia", "mass"):
        value = getattr(motor, what.replace(" ", "_"))
        check_number(f"motor {what}", name, value)
        if value < 0:
            raise RobotError(f"the motor {what} of joint '{name}' is {value:g}: it must not be negative")
    for what in ("position", "axis"):
        given = getattr(motor, what)
        if given is not None and (not isinstance(given, tuple) or len(given) != 3):
            raise RobotError(f"the motor {what} of joint '{name}' is {shown(given)}: give three numbers")
        check_finite(f"motor {what}", name, given or (0.0, 0.0, 0.0))
    if motor.axis is not None and abs(float(np.linalg.norm(motor.axis)) - 1) > ROUNDING:
        raise RobotError(
            f"the motor axis of joint '{name}' is {list(motor.axis)}, of length {np.linalg.norm(motor.axis):.9g}: "
            "give a unit vector; the speed belongs to the gear ratio"
        )
    if motor.gear_ratio is not None:
        check_number("gear ratio", name, motor.gear_ratio)
        if motor.gear_ratio == 0:
            raise RobotError(f"the gear ratio of joint '{name}' is 0: the motor would not turn; give θ_rotor/θ")
    elif robot.fidelity == "complete" and motor.inertia:
        which = "the second motor of " * k
        raise RobotError(
            f"{robot.name}: the complete model needs the gear ratio of {which}joint '{name}', not only its reflected "
            "inertia: give the motor a gear_ratio, or use with_fidelity('spong')"
        )
    away = robot.carrier(index, k) != robot.parents[index]
    described = motor.gear_ratio is not None or motor.mass or motor.transverse_inertia
    if away and described and (motor.axis is None or motor.position is None):
        raise RobotError(
            f"the motor of joint '{name}' sits on '{motor.carrier}', away from the joint: give its axis and position "
            "in that link's frame"
        )
