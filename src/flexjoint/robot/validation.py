"""What every robot must fulfil, checked once, when it is made: no algorithm checks it again."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..drives import AntagonisticDrive, Drive, Motor, RigidDrive, VariableStiffnessDrive
from ..errors import RobotError
from ..springs import Spring

if TYPE_CHECKING:
    from .model import Joint, Link, Robot

BASE = "base"
KINDS = ("revolute", "prismatic", "fixed")
FIDELITIES = ("spong", "complete")
ROUNDING = 1e-9  # relative; below it a violated inequality is put down to rounded data


def validate(robot: Robot) -> None:
    """Raise RobotError at the first thing no algorithm could use."""
    if not isinstance(robot.name, str):
        raise RobotError(f"a robot is named {robot.name!r}: give it a string")
    for what in ("allow_unphysical", "rotors_in_links"):
        if not isinstance(getattr(robot, what), bool):
            raise RobotError(f"{robot.name}: {what} is {getattr(robot, what)!r}: it must be True or False")
    check_tree(robot.links)
    check_order(robot.links)
    if robot.tool not in {link.name for link in robot.links}:
        known = ", ".join(link.name for link in robot.links) or "none"
        raise RobotError(f"{robot.name}: the tool link '{robot.tool}' does not exist; the links are: {known}")
    check_finite("gravity", robot.name, robot.gravity)
    for link in robot.links:
        check_joint(link.joint)
        check_body(link, robot.allow_unphysical)
    check_rotors(robot)


def check_tree(links: Sequence[Link]) -> None:
    if not links:
        raise RobotError("a robot needs at least one link")
    for what, names in (("link", [x.name for x in links]), ("joint", [x.joint.name for x in links])):
        seen: set[str] = set()
        for i, name in enumerate(names):
            if not isinstance(name, str) or not name:
                raise RobotError(f"{what} {i} has the name {name!r}: give it a non-empty string")
            if name in seen:
                raise RobotError(f"the {what} name '{name}' is used twice: names must be unique")
            seen.add(name)
    parent = {link.name: link.parent for link in links}
    if BASE in parent:
        raise RobotError(f"a link is named '{BASE}', which is the fixed base: rename it")
    for name, above in parent.items():
        if above != BASE and above not in parent:
            known = ", ".join([BASE, *parent])
            raise RobotError(f"link '{name}' hangs on the unknown link '{above}'; known are: {known}")
    rooted = {BASE}
    for name in parent:
        chain: dict[str, None] = {}  # ordered set: links on the way to the base
        while name not in rooted:
            if name in chain:
                cycle = " -> ".join([*list(chain)[list(chain).index(name) :], name])
                raise RobotError(f"the links form a cycle, {cycle}: one of them must hang on '{BASE}'")
            chain[name] = None
            name = parent[name]
        rooted.update(chain)


def check_order(links: Sequence[Link]) -> None:
    seen = {BASE}
    for link in links:
        if link.parent not in seen:
            raise RobotError(
                f"link '{link.name}' is listed before its parent '{link.parent}': "
                "list parents first, or sort with parents_first(links)"
            )
        seen.add(link.name)


def check_finite(what: str, owner: str, value: Any) -> None:
    array = np.asarray(value, dtype=float)
    if not np.all(np.isfinite(array)):
        raise RobotError(f"{what} of '{owner}' is {array.tolist()}: every number must be finite")


def is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def check_number(what: str, owner: str, value: Any) -> None:
    if not is_number(value):
        raise RobotError(f"{what} of '{owner}' is {value!r}: it must be a number")
    check_finite(what, owner, value)


def check_joint(joint: Joint) -> None:
    name = joint.name
    if joint.kind not in KINDS:
        raise RobotError(f"joint '{name}' is of kind {joint.kind!r}: choose one of {', '.join(KINDS)}")
    check_finite("position", name, joint.position)
    check_finite("rotation", name, joint.rotation)
    error = float(np.max(np.abs(joint.rotation @ joint.rotation.T - np.eye(3))))
    if error > ROUNDING or np.linalg.det(joint.rotation) < 0:
        raise RobotError(
            f"the rotation of joint '{name}' is not a rotation matrix (|R Rᵀ − 1| = {error:.1e}, "
            f"det R = {np.linalg.det(joint.rotation):.3g}): give an orthonormal, right-handed one"
        )
    check_friction(name, "", joint)
    limits = dataclasses.astuple(joint.limits)
    if any(not is_number(x) or math.isnan(x) for x in limits):
        raise RobotError(f"a limit of joint '{name}' is no number, {joint.limits}: use infinity where unknown")
    if joint.limits.lower > joint.limits.upper:
        raise RobotError(
            f"joint '{name}' has the lower limit {joint.limits.lower:g} above the upper {joint.limits.upper:g}"
        )
    if joint.limits.velocity < 0 or joint.limits.effort < 0:
        raise RobotError(f"joint '{name}' has a negative velocity or effort limit, {joint.limits}")
    check_drive(joint)


def check_friction(name: str, side: str, item: Joint | Motor) -> None:
    """Of a joint, or with `side` "motor " of its motor."""
    for what in ("viscous friction", "coulomb friction", "coulomb velocity"):
        value = getattr(item, what.replace(" ", "_"))
        what = side + what.replace("coulomb", "Coulomb")
        check_number(what, name, value)
        if value < 0:
            raise RobotError(f"the {what} of joint '{name}' is {value:g}: it must not be negative")
    if item.coulomb_friction and not item.coulomb_velocity:
        raise RobotError(
            f"the {side}Coulomb friction of joint '{name}' is {item.coulomb_friction:g} without a Coulomb velocity: "
            "give the velocity over which it changes its sign, v_c in F_c tanh(v/v_c)"
        )


def check_drive(joint: Joint) -> None:
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
        check_friction(joint.name, "motor ", motor)
    if isinstance(drive, RigidDrive):
        return
    check_number("damping", joint.name, drive.damping)
    if drive.damping < 0:
        raise RobotError(f"the damping of joint '{joint.name}' is {drive.damping:g}: it must not be negative")
    if isinstance(drive, VariableStiffnessDrive):
        check_variable_stiffness(joint.name, drive)
    elif not isinstance(drive.stiffness, Spring):  # a law has checked itself
        check_number("stiffness", joint.name, drive.stiffness)
        if drive.stiffness <= 0:
            raise RobotError(
                f"the stiffness of joint '{joint.name}' is {drive.stiffness:g}: it must be positive; "
                "a joint that does not yield has a RigidDrive"
            )
    if any(motor.inertia == 0 for motor in drive.motors):
        raise RobotError(
            f"the elastic joint '{joint.name}' has a motor without inertia: give the reflected inertia η² I_axial"
        )


def check_variable_stiffness(name: str, drive: VariableStiffnessDrive) -> None:
    """A transmission with which motors can set torque and stiffness at once."""
    springs = drive.springs if isinstance(drive, AntagonisticDrive) else ()
    for spring in springs:
        if not isinstance(spring, Spring):
            raise RobotError(f"a spring of the antagonistic joint '{name}' is {spring!r}: give a Spring")
    if not is_number(drive.greatest_stiffness) or not drive.greatest_stiffness > 0:
        raise RobotError(f"the greatest stiffness of joint '{name}' is {drive.greatest_stiffness!r}: must be positive")
    check_number("greatest damping", name, drive.greatest_damping)
    if drive.greatest_damping < 0:
        raise RobotError(f"the greatest damping of joint '{name}' is {drive.greatest_damping:g}: it must be 0 or more")
    gain = drive.gain
    if gain == 0:
        raise RobotError(
            f"the drive of joint '{name}', {drive!r}, cannot set its stiffness: whatever the deflections, stiffness "
            "and torque change in one proportion (the decoupling matrix is singular); of antagonistic springs at least "
            "one must stiffen, and exponential ones at different rates"
        )
    if gain < 0 and springs:
        raise RobotError(
            f"the springs of joint '{name}' soften it when motor 1 is drawn up and motor 2 down: exchange them, "
            f"spring_1={springs[1]!r}, spring_2={springs[0]!r}"
        )
    if gain < 0:
        raise RobotError(
            f"the drive of joint '{name}', {drive!r}, softens it when motor 2 moves the way `stiffens` says: change "
            "the sign of that"
        )


def check_rotors(robot: Robot) -> None:
    """Rotors as bodies: where they sit, how they turn, and whether the fidelity can do with what is known."""
    if robot.fidelity not in FIDELITIES:
        raise RobotError(f"{robot.name}: the fidelity is {robot.fidelity!r}: choose one of {', '.join(FIDELITIES)}")
    for link in robot.links:
        for k, motor in enumerate(link.joint.drive.motors if link.joint.drive is not None else ()):
            check_rotor(robot, link, motor, k)
        if robot.fidelity == "complete" and isinstance(link.joint.drive, VariableStiffnessDrive):
            raise RobotError(
                f"{robot.name}: joint '{link.joint.name}' has two motors and variable stiffness, for which there is no "
                "complete model: choose the fidelity 'spong'"
            )
    if robot.rotors_in_links:
        check_contained(robot)


def check_contained(robot: Robot) -> None:
    """A link said to contain its rotors must have at least their axial inertia."""
    left = {i: np.array(link.inertia) for i, link in enumerate(robot.links) if link.mass}
    for i, link in enumerate(robot.links):
        for k, motor in enumerate(link.joint.drive.motors if link.joint.drive is not None else ()):
            carrier = robot.carrier(i, k)
            if motor.gear_ratio is None or carrier not in left:
                continue
            axis = link.joint.rotation[:, 2] if motor.axis is None else np.array(motor.axis)
            left[carrier] -= motor.inertia / motor.gear_ratio**2 * np.outer(axis, axis)
            if np.linalg.eigvalsh(left[carrier])[0] < -ROUNDING * np.max(np.abs(robot.links[carrier].inertia)):
                raise RobotError(
                    f"{robot.name}: the inertia of link '{robot.links[carrier].name}' is less than that of the rotors "
                    f"it is said to contain, that of joint '{link.joint.name}' among them: correct the gear ratio, or "
                    "pass rotors_in_links=False if the link's data are without rotors"
                )


def check_rotor(robot: Robot, link: Link, motor: Motor, k: int) -> None:
    """Of the k-th motor of a joint."""
    name, index = link.joint.name, robot.link_index(link.name)
    carriers = [BASE, *(x.name for x in robot.links)]
    if motor.carrier is not None and motor.carrier not in carriers:
        raise RobotError(
            f"the motor of joint '{name}' is carried by {motor.carrier!r}, which does not exist; known are: "
            f"{', '.join(carriers)}"
        )
    for what in ("transverse inertia", "mass"):
        value = getattr(motor, what.replace(" ", "_"))
        check_number(f"motor {what}", name, value)
        if value < 0:
            raise RobotError(f"the motor {what} of joint '{name}' is {value:g}: it must not be negative")
    for what in ("position", "axis"):
        given = getattr(motor, what)
        if given is not None and (not isinstance(given, tuple) or len(given) != 3):
            raise RobotError(f"the motor {what} of joint '{name}' is {given!r}: give three numbers")
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
        raise RobotError(
            f"{robot.name}: the complete model needs the gear ratio of joint '{name}', not only its reflected inertia: "
            "give the motor a gear_ratio, or use with_fidelity('spong')"
        )
    away = robot.carrier(index, k) != robot.parents[index]
    described = motor.gear_ratio is not None or motor.mass or motor.transverse_inertia
    if away and described and (motor.axis is None or motor.position is None):
        raise RobotError(
            f"the motor of joint '{name}' sits on '{motor.carrier}', away from the joint: give its axis and position "
            "in that link's frame"
        )


def check_body(link: Link, allow_unphysical: bool) -> None:
    name, mass, I = link.name, link.mass, link.inertia
    check_number("mass", name, mass)
    check_finite("centre of mass", name, link.com)
    check_finite("inertia", name, I)
    if mass < 0:
        raise RobotError(f"the mass of link '{name}' is {mass:g} kg: it must not be negative")
    if np.max(np.abs(I - I.T)) > ROUNDING * np.max(np.abs(I), initial=0.0):
        raise RobotError(f"the inertia of link '{name}' is not symmetric: {I.tolist()}")
    if mass == 0:
        if np.any(I):
            raise RobotError(f"link '{name}' has an inertia but no mass: give it a mass, or drop the inertia")
        return
    moments = np.linalg.eigvalsh(I)
    shown = ", ".join(f"{x:.4g}" for x in moments)
    scale = moments[-1]
    if moments[0] < -ROUNDING * abs(scale):
        raise RobotError(
            f"the central inertia of link '{name}' is not positive definite (principal moments {shown} kg m²): "
            "check the order of its elements and that it is taken about the centre of mass"
        )
    if moments[0] <= ROUNDING * abs(scale) and not allow_unphysical:
        raise RobotError(
            f"the central inertia of link '{name}' is not positive definite (principal moments {shown} kg m²): "
            "give it some extent, or pass allow_unphysical=True for a point mass or a thin rod"
        )
    if moments[0] + moments[1] < moments[2] * (1 - ROUNDING) and not allow_unphysical:
        raise RobotError(
            f"the inertia of link '{name}' violates the triangle inequality by "
            f"{moments[2] - moments[0] - moments[1]:.3g} kg m² (principal moments {shown}): no rigid body has it; "
            "correct it, or pass allow_unphysical=True"
        )
