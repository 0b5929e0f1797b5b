"""Writing robots in the format of `robot_files.py`."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..atomic import replacing
from ..errors import RobotError, quoted
from ..robot import Link, Robot, Source, numeric
from .drive_tables import drive_entries, friction_entries, limit_entries, parallel_spring_entries
from .robot_files import FRICTION_KEYS
from .toml import path_text


def write_robot(robot: Robot, path: str | os.PathLike[str]) -> None:
    """Write a robot file with `convention = "frames"`; reading it gives a bit-identical robot.

    The write is atomic: after an error, an existing file is unchanged.

    Args:
        robot: any robot whose drives and spring laws have a name in robot files.
        path: path of the file, `x.toml`.

    Raises:
        InputError: `robot` is not a `Robot`.
        RobotError: a drive or spring law has no form in robot files, or the file cannot be written.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("hua_3r")
        >>> fj.write_robot(robot, "copy.toml")
        >>> fj.load("copy.toml") == robot
        True
    """
    place, text = path_text(path, "robot file (.toml)"), robot_text(numeric("write_robot", robot)).encode()
    try:
        with replacing(place) as file:
            file.write(text)
    except OSError as error:
        raise RobotError(f"{quoted(place)}: the robot cannot be written: {error.strerror}") from error


def robot_text(robot: Robot) -> str:
    """Contents of the robot file of a robot."""
    top = {
        "name": robot.name,
        "convention": "frames",
        "gravity": robot.gravity,
        "tool": robot.tool,
        "allow_unphysical": robot.allow_unphysical,
        "fidelity": robot.fidelity,
        "rotors_in_links": robot.rotors_in_links,
    }
    blocks = [("", top)]
    blocks += [("\n[[source]]\n", source_entries(source)) for source in robot.sources]
    blocks += [("\n[[link]]\n", link_entries(link)) for link in robot.links]
    blocks += [("\n[[transmission]]\n", dataclasses.asdict(group)) for group in robot.transmissions]
    return "".join(table_text(head, entries) for head, entries in blocks)


def table_text(head: str, entries: Mapping[str, Any]) -> str:
    """A TOML table: its head, then a line per key."""
    return head + "".join(f"{key} = {toml_value(value)}\n" for key, value in entries.items())


def source_entries(source: Source) -> dict[str, Any]:
    """The keys of a source, without empty texts."""
    return {key: value for key, value in dataclasses.asdict(source).items() if value}


def link_entries(link: Link) -> dict[str, Any]:
    """The keys of a link, without those that have their default."""
    joint, I = link.joint, link.inertia
    symmetric = {"xx": I[0, 0], "xy": I[0, 1], "xz": I[0, 2], "yy": I[1, 1], "yz": I[1, 2], "zz": I[2, 2]}
    entries: dict[str, Any] = {
        "name": link.name,
        "parent": link.parent,
        "joint": joint.name,
        "kind": joint.kind.name,
        **joint.kind.numbers,
        "position": joint.position,
        "rotation": joint.rotation,
    }
    if joint.axis[2] != 1.0:
        entries["axis"] = joint.axis
    entries |= {key: value for key in FRICTION_KEYS if (value := getattr(joint, key))}
    if joint.friction is not None:
        entries["friction"] = friction_entries(joint.friction)
    if limits := limit_entries(joint.limits):
        entries["limits"] = limits
    if joint.drive is not None:
        entries["drive"] = drive_entries(joint.name, joint.drive)
    if joint.mimic is not None:
        mimic = joint.mimic
        entries["mimic"] = {"joint": mimic.joint, "ratio": mimic.ratio, "offset": mimic.offset}
    if joint.parallel_spring is not None:
        entries["parallel_spring"] = parallel_spring_entries(joint.name, joint.parallel_spring)
    if link.mass:
        entries["mass"] = link.mass
    if np.any(link.com):
        entries["com"] = link.com
    if np.any(I):
        entries["inertia"] = symmetric if np.array_equal(I, I.T) else I
    return entries


def toml_value(value: Any) -> str:
    """A value in TOML; floats with all their digits."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k} = {toml_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, np.ndarray | list | tuple):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return repr(float(value))
