"""A drive file with everything about the drivetrain that another description of the same robot does not have."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from ..robot import Limits, Link, Robot
from .drive_merging import JOINT_KEYS, NO_DRIVE, plain
from .robot_files import DRIVE_FORMAT, FRICTION_KEYS
from .writing import link_entries, source_entries, table_text

HEAD = """\
# Motors, springs, friction and further limits of {name}, beside {file}: docs/drive-files.md.
format = "{format}"
version = 1
"""
UNLIMITED = dataclasses.asdict(Limits())


def drive_file_text(robot: Robot, described: Robot, file: str) -> str:
    """Contents of a drive file that makes `robot` out of another robot with the same links and joints.

    Args:
        robot: any robot whose drives and spring laws have a name in robot files.
        described: the robot as the other description has it; it may say something else about drives, friction and
            limits, but must have no friction law, parallel spring or coupled transmission that `robot` has not.
        file: name of the file of the other description, for a comment.
    """
    top = {
        "robot": robot.name,
        "fidelity": robot.fidelity,
        "rotors_in_links": robot.rotors_in_links,
    }
    head = HEAD.format(format=DRIVE_FORMAT, name=plain_line(robot.name), file=plain_line(file))
    blocks = [table_text(head, top)]
    blocks += [table_text("[[source]]\n", source_entries(source)) for source in robot.sources]
    for link, other in zip(robot.links, described.links):
        entries = further_entries(link, other)
        if link.joint.moves and (entries or link.joint.mimic is None):
            blocks.append(table_text("[[joint]]\n", {"name": link.joint.name, **entries}))
    blocks += [table_text("[[transmission]]\n", dataclasses.asdict(group)) for group in robot.transmissions]
    return "\n".join(blocks)


def further_entries(link: Link, described: Link) -> dict[str, Any]:
    """The drivetrain keys of a link whose values another description does not give."""
    own, other = plain(link_entries(link)), plain(link_entries(described))
    found: dict[str, Any] = {}
    for key in JOINT_KEYS:
        value = own.get(key)
        if key in FRICTION_KEYS:
            value = None if "friction" in own else own.get(key, 0.0)  # a law takes the place of the numbers
            known = other.get(key, 0.0)
        elif key == "limits":
            value, known = limits_against(own.get(key, {}), other.get(key, {})), {}
        elif key == "drive" and value is None:
            value, known = {"kind": NO_DRIVE} if link.joint.mimic is None or key in other else None, None
        else:
            known = other.get(key)
        if value is not None and value != known:
            found[key] = value
    return found


def limits_against(own: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    """The limits that differ, infinite ones included."""
    mine, theirs = {**UNLIMITED, **own}, {**UNLIMITED, **other}
    return {key: x for key, x in mine.items() if x != theirs[key]}


def plain_line(text: str) -> str:
    """A text for a comment: one line, without characters that TOML does not allow there."""
    return "".join(x if x.isprintable() else " " for x in text)
