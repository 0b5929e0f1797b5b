"""Friction, limits, motors and springs of the joints for MuJoCo.

    spring between motor and link        fixed tendon with the length φ and the stiffness of the spring
    motor behind a spring                joint of its own, see `export_bodies.py`
    motor that turns with its link       armature of the joint; in a group a tendon T_k q with the armature B_k
    joint that follows another one       joint equality

With φ = T_b⁻¹θ − T_a q of a coupled transmission the tendon gives the links T_aᵀτ_e and the motors T_b⁻ᵀτ_e.
"""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Literal
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from ...drives import AntagonisticDrive, ElasticDrive, Motor, RigidDrive, VariableStiffnessDrive
from ...drives.friction import Rubbing, friction_law
from ...numerics import solve
from ...robot import MovingJoint
from ...springs import CubicSpring, LinearSpring, QuadraticSpring, Spring
from .document import IMPEDANCE, Document, MotorJoint, add, numbers, undeflected_row
from .export_bodies import follow, spins, write_motor

Coulomb = Literal["frictionloss", "none"]
FAR = 1e10  # rad or m: a limit that is not reached, where only the other one is given
NO_SPRING = "a spring of this kind has no element in MuJoCo: apply its torque in mjcb_passive or as qfrc_applied"


def write_drives(document: Document, coulomb: Coulomb, limits: bool) -> None:
    """What acts at the joints, and an actuator per motor in the order of `robot.motor_names`."""
    robot = document.robot
    links = {x.coordinate: x.link for x in robot.moving_joints if not x.follows}
    for moving in robot.moving_joints:
        write_passive(document, moving, coulomb, limits)
    moved: dict[int, dict[str, str]] = {}  # attributes of the actuator by motor
    motors: dict[int, MotorJoint] = {}  # those behind springs
    names, kinds, efforts = robot.motor_names, robot.motor_kinds, robot.motor_efforts
    for k, i in enumerate(robot.motor_joints):
        joint = robot.joints[i]
        drive, moved[k] = joint.drive, {"joint": joint.name}
        if isinstance(drive, RigidDrive):
            moved[k] = write_rigid(document, links[i], k, coulomb)
        elif drive is not None:
            second = int(k >= robot.n)
            row, angular = document.of_theta(k), kinds[k].angular
            motors[k] = write_motor(document, links[i], second, row, f"{names[k]}.motor", angular)
            element, ratio = document.joints[motors[k].name], motors[k].ratio
            write_friction(document, element, f"motor '{names[k]}'", drive.motors[second], coulomb, ratio)
            moved[k] = {"joint": motors[k].name} | ({} if ratio == 1 else {"gear": numbers([1 / ratio])})
        note_limits(document, k, f"motor '{names[k]}'")
    write_springs(document, motors)
    for k, attributes in moved.items():
        element = SubElement(document.sections["actuator"], "motor", {"name": names[k], **attributes})
        effort = efforts[k]
        if limits and math.isfinite(effort):
            if effort > 0:
                element.set("ctrlrange", numbers([-effort, effort]))
            else:
                document.note(f"motor '{names[k]}'", "effort", "0: MuJoCo has no such limit", "noted")


# The joints themselves ----------------------------------------------------------------------------------------------


def write_passive(document: Document, moving: MovingJoint, coulomb: Coulomb, limits: bool) -> None:
    """Friction, parallel spring and limits of a joint, what it follows, and the motor of a follower."""
    joint = moving.joint
    element, where = document.joints[joint.name], f"joint '{joint.name}'"
    write_friction(document, element, where, joint, coulomb)
    if joint.parallel_spring is not None:
        law = joint.parallel_spring.spring
        element.set("stiffness", polynomial(document, where, "parallel spring", law, side=-1.0))
        element.set("springref", numbers([joint.parallel_spring.rest]))
    lower, upper = joint.limits.lower, joint.limits.upper
    if limits and (math.isfinite(lower) or math.isfinite(upper)):
        if lower < upper:
            element.set("range", numbers([max(lower, -FAR), min(upper, FAR)]))
        else:
            document.note(where, "limits", "only one position: MuJoCo has no such range", "noted")
    rates = [x.name for x in fields(joint.limits) if x.name not in ("lower", "upper", "effort")]
    if beyond := [x for x in rates if math.isfinite(getattr(joint.limits, x))]:
        document.note(where, f"limits of {' and '.join(beyond)}", "MuJoCo has no such limits", "noted")
    if joint.mimic is not None:
        follow(document, joint.name, joint.mimic.joint, joint.mimic.ratio, joint.mimic.offset)
        document.note(where, "mimic", f"a soft constraint couples it to '{joint.mimic.joint}'", "approximate")
        if isinstance(joint.drive, RigidDrive):
            write_rigid_motor(document, moving.link, joint.drive.motor, {joint.name: 1.0}, coulomb)


def write_friction(
    document: Document, element: Element, where: str, item: Rubbing, coulomb: Coulomb, ratio: float = 1.0
) -> None:
    """Friction of a joint or a motor along a coordinate that turns `ratio` times as fast."""
    law = friction_law(item)
    forward, backward = law.sides
    if law.backward is not None:
        reason = "MuJoCo has the same friction in both directions: the mean is written"
        document.note(where, "friction by direction", reason, "approximate")
    add(element, "damping", (forward.viscous + backward.viscous) / 2 / ratio**2)
    level = (forward.coulomb + backward.coulomb) / 2
    if any(side.static is not None for side in law.sides):
        document.note(where, "Stribeck friction", "MuJoCo has none: friction does not rise near standstill", "missing")
    if law.loaded:
        document.note(where, "load-dependent friction", "MuJoCo has none: that at load 0 is written", "missing")
    if level and coulomb == "none":
        document.note(where, "Coulomb friction", f"{level:g} is left out, as asked for", "missing")
    elif level:
        reason = f"{level:g} tanh(v/{law.velocity:g}) is dry friction in MuJoCo, frictionloss, held by a constraint"
        document.note(where, "Coulomb friction", reason, "approximate")
        add(element, "frictionloss", level / abs(ratio))
        element.set("solimpfriction", IMPEDANCE)


def note_limits(document: Document, k: int, where: str) -> None:
    """Report limits of a motor and its spring that have no place in MuJoCo."""
    robot = document.robot
    drive = robot.joints[robot.motor_joints[k]].drive
    if drive is None:
        return
    bounds = {x: getattr(drive.motors[k >= robot.n].limits, x) for x in ("speed", "rms_torque", "power", "torque_rate")}
    if k < robot.n and (limits := getattr(drive, "spring_limits", None)) is not None:
        bounds |= {"spring torque": limits.torque, "deflection": limits.deflection}
    if known := [x.replace("_", " ") for x, bound in bounds.items() if math.isfinite(bound)]:
        document.note(where, f"limits of {' and '.join(known)}", "MuJoCo has no such limits", "noted")


# Rigid joints -------------------------------------------------------------------------------------------------------


def write_rigid(document: Document, link: int, k: int, coulomb: Coulomb) -> dict[str, str]:
    """A motor that turns with its link, or with the links of its group; attributes of its actuator."""
    robot = document.robot
    joints, row = undeflected_row(robot, k)
    turns = {robot.joints[j].name: x for j, x in zip(joints, row) if x}
    motor = robot.joints[k].drive.motors[0]  # type: ignore[union-attr]
    return write_rigid_motor(document, link, motor, turns, coulomb, row=document.of_theta(k))


def write_rigid_motor(
    document: Document,
    link: int,
    motor: Motor,
    turns: dict[str, float],
    coulomb: Coulomb,
    row: np.ndarray | None = None,
) -> dict[str, str]:
    """Inertia and friction of a motor that turns by `turns`, coefficients of joints; attributes of its actuator."""
    joint = document.robot.links[link].joint
    where = f"motor '{joint.name}'"
    alone = turns == {joint.name: 1.0}
    element = document.joints[joint.name] if alone else document.tendon(f"{joint.name}.motor", turns)
    write_friction(document, element, where, motor, coulomb)
    if not spins(document.robot, link, 0, motor):
        add(element, "armature", motor.inertia)
    else:
        coordinate, offset = document.positions[joint.name]
        row = coordinate if row is None else row
        rotor = write_motor(document, link, 0, row, f"{joint.name}.motor", angular=True)
        document.positions[rotor.name] = rotor.ratio * row, rotor.ratio * offset
        reason = "its rotor is a body on its carrier, which a soft constraint couples to the joint"
        document.note(where, "complete model", reason, "approximate")
        if alone:
            follow(document, rotor.name, joint.name, rotor.ratio, 0.0)
        else:
            ends = {rotor.name: 1 / rotor.ratio, **{name: -x for name, x in turns.items()}}
            tendon = document.tendon(f"{joint.name}.gear", ends)
            equality = {"tendon1": tendon.attrib["name"], "polycoef": numbers([0.0] * 5)}
            SubElement(document.sections["equality"], "tendon", equality)
    return {"joint": joint.name} if alone else {"tendon": element.attrib["name"]}


# Springs ------------------------------------------------------------------------------------------------------------


def write_springs(document: Document, motors: dict[int, MotorJoint]) -> None:
    """A tendon per spring between motors and links."""
    robot = document.robot
    for i, joint in enumerate(robot.joints):
        drive = joint.drive
        if isinstance(drive, ElasticDrive):
            tendon = document.tendon(f"{joint.name}.spring", deflection(document, i, motors))
            if drive.hysteresis is not None:
                reason = "MuJoCo has no state for it: it is left out"
                document.note(f"joint '{joint.name}'", "hysteresis", reason, "missing")
            write_spring(document, tendon, f"joint '{joint.name}'", drive.law, drive.backlash)
            add(tendon, "damping", drive.damping)
        elif isinstance(drive, VariableStiffnessDrive):
            write_variable_stiffness(document, i, drive, motors)


def deflection(document: Document, i: int, motors: dict[int, MotorJoint]) -> dict[str, float]:
    """φ_i = (T_b⁻¹θ − T_a q)_i as coefficients of joints."""
    robot = document.robot
    joints, row = undeflected_row(robot, i)
    at_motors, at_links = {i: 1.0}, dict(zip(joints, row))
    if any(i in x and y.springs == "joint" for x, y in zip(robot.transmission_joints, robot.transmissions)):
        inverse = solve([undeflected_row(robot, j)[1] for j in joints], np.eye(len(joints)))
        at_motors, at_links = dict(zip(joints, inverse[joints.index(i)].tolist())), {i: 1.0}
    found = {motors[k].name: x / motors[k].ratio for k, x in at_motors.items() if x}
    return found | {robot.joints[j].name: -x for j, x in at_links.items() if x}


def write_variable_stiffness(
    document: Document, i: int, drive: VariableStiffnessDrive, motors: dict[int, MotorJoint]
) -> None:
    """Springs of an antagonistic pair; of other designs dampers alone."""
    robot, joint = document.robot, document.robot.joints[i]
    second = next(k for k in range(robot.n, robot.motor_count) if robot.motor_joints[k] == i)
    where, names = f"joint '{joint.name}'", (f"{joint.name}.spring", f"{joint.name}.second.spring")
    if drive.greatest_damping:
        document.note(where, "commanded damper", "MuJoCo has no such element: it is left out", "missing")
    if not isinstance(drive, AntagonisticDrive):
        document.note(where, f"springs of {type(drive).__name__}", NO_SPRING, "missing")
        if not drive.damping:
            return
    for which, k in enumerate((i, second) if drive.follows else (i,)):
        tendon = document.tendon(names[which], {motors[k].name: 1 / motors[k].ratio, joint.name: -1.0})
        add(tendon, "damping", drive.damping)
        if isinstance(drive, AntagonisticDrive):
            write_spring(document, tendon, where, drive.springs[which], 0.0)


def write_spring(document: Document, tendon: Element, where: str, law: Spring, gap: float) -> None:
    """The law of a spring behind a gap, as that of a tendon."""
    tendon.set("stiffness", polynomial(document, where, "spring", law))
    tendon.set("springlength", numbers([-gap / 2, gap / 2]))


def polynomial(document: Document, where: str, what: str, law: Spring, side: float = 1.0) -> str:
    """Coefficients k of the torque k₁x + k₂x² + k₃x³ at the deflection φ = side · x, as MuJoCo takes them.

    A law of another form is written with its stiffness at φ = 0, and reported.
    """
    if type(law) is LinearSpring:
        return numbers([law.stiffness])
    if type(law) is CubicSpring:
        return numbers([law.stiffness, 0.0, law.cubic])
    if type(law) is QuadraticSpring:
        return numbers([law.stiffness, side * law.slope / 2])
    stiffness = float(law.curve(0.0).stiffness)
    reason = f"{law.name} is written as a linear spring with its stiffness at rest, {stiffness:.6g}"
    document.note(where, what, reason, "approximate")
    return numbers([stiffness])
