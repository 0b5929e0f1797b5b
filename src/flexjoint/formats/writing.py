"""Robots written as files, in the format of `robot_files.py`."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import Any

import numpy as np

from ..atomic import replacing
from ..drives import AntagonisticDrive, ElasticDrive, LeverDrive, Motor, RigidDrive, VariableStiffnessDrive
from ..errors import RobotError, quoted
from ..robot import Joint, Limits, Link, Robot, a_robot
from ..springs import SPRINGS, Spring
from .robot_files import FRICTION_KEYS, LEVER_KEYS, LIMIT_KEYS, TWO_MOTOR_OPTIONS
from .toml import path_text


def write_robot(robot: Robot, path: str | os.PathLike[str]) -> None:
    """Write any robot with `convention = "frames"`; reading it gives an equal robot, to the last bit.

    The file is written whole or not at all: on any error a file that was there before is as it was.
    """
    place, text = path_text(path, "robot file (.toml)"), robot_text(a_robot("write_robot", robot)).encode()
    try:
        with replacing(place) as file:
            file.write(text)
    except OSError as error:
        raise RobotError(f"{quoted(place)}: the robot cannot be written: {error.strerror}") from error


def robot_text(robot: Robot) -> str:
    """The contents of a robot file."""
    top = {
        "name": robot.name,
        "convention": "frames",
        "gravity": robot.gravity,
        "tool": robot.tool,
        "allow_unphysical": robot.allow_unphysical,
        "fidelity": robot.fidelity,
        "rotors_in_links": robot.rotors_in_links,
    }
    blocks = [top, *map(_link_entries, robot.links)]
    return "\n[[link]]\n".join("".join(f"{k} = {_toml(v)}\n" for k, v in block.items()) for block in blocks)


def _link_entries(link: Link) -> dict[str, Any]:
    """The keys of a link, without those that hold their default."""
    joint, I = link.joint, link.inertia
    symmetric = {"xx": I[0, 0], "xy": I[0, 1], "xz": I[0, 2], "yy": I[1, 1], "yz": I[1, 2], "zz": I[2, 2]}
    limits = {key: getattr(joint.limits, key) for key in LIMIT_KEYS}
    entries: dict[str, Any] = {
        "name": link.name,
        "parent": link.parent,
        "joint": joint.name,
        "kind": joint.kind.name,
        **joint.kind.numbers,
        "position": joint.position,
        "rotation": joint.rotation,
    }
    entries |= {key: value for key in FRICTION_KEYS if (value := getattr(joint, key))}
    if joint.limits != Limits():
        entries["limits"] = {key: value for key, value in limits.items() if value != getattr(Limits(), key)}
    if joint.drive is not None:
        entries["drive"] = _drive_entries(joint)
    if link.mass:
        entries["mass"] = link.mass
    if np.any(link.com):
        entries["com"] = link.com
    if np.any(I):
        entries["inertia"] = symmetric if np.array_equal(I, I.T) else I
    return entries


def _drive_entries(joint: Joint) -> dict[str, Any]:
    match joint.drive:
        case RigidDrive(motor):
            return {"kind": "rigid", **_motor_entries(motor)}
        case ElasticDrive(stiffness, motor, damping):
            spring: dict[str, Any] = {"stiffness": stiffness}
            if isinstance(stiffness, Spring):
                spring = {"spring": _spring_entries(joint, stiffness)}
            damped = {"damping": damping} if damping else {}
            return {"kind": "elastic", **spring, **damped, **_motor_entries(motor)}
        case AntagonisticDrive() as drive:
            springs = {f"spring_{k + 1}": _spring_entries(joint, spring) for k, spring in enumerate(drive.springs)}
            return {"kind": "antagonistic", **springs, **_two_motor_entries(drive)}
        case LeverDrive() as drive:
            return {"kind": "lever", **{key: getattr(drive, key) for key in LEVER_KEYS}, **_two_motor_entries(drive)}
    raise RobotError(f"the drive of joint '{joint.name}', {joint.drive!r}, has no form in robot files yet")


def _two_motor_entries(drive: VariableStiffnessDrive) -> dict[str, Any]:
    motors = {f"motor_{k + 1}": _motor_entries(motor, "") for k, motor in enumerate(drive.motors)}
    return motors | {key: x for key, default in TWO_MOTOR_OPTIONS.items() if (x := getattr(drive, key)) != default}


def _spring_entries(joint: Joint, spring: Spring) -> dict[str, Any]:
    for kind, law in SPRINGS.items():
        if type(spring) is law:
            return {"kind": kind, **dataclasses.asdict(spring)}
    raise RobotError(f"the spring of joint '{joint.name}', {spring!r}, has no form in robot files")


def _motor_entries(motor: Motor, prefix: str = "motor_") -> dict[str, Any]:
    names = [field.name for field in dataclasses.fields(Motor)[1:]]
    return {f"{prefix}inertia": motor.inertia, **{f"{prefix}{key}": x for key in names if (x := getattr(motor, key))}}


def _toml(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k} = {_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, np.ndarray | list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return repr(float(value))
