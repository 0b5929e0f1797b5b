"""A drive file to fill in: every joint and every key, with what a robot already says."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..drives import DRIVES, Motor, MotorLimits, RigidDrive, SpringLimits
from ..robot import Joint, Limits, Link, Robot
from .drive_merging import JOINT_KEYS, plain
from .drive_tables import DriveClass, drive_keys, field_types
from .robot_files import DRIVE_FORMAT
from .writing import link_entries, toml_value

HEAD = """\
# Drive file of {name}: motors, transmissions, friction and limits by joint.  All keys: docs/drive-files.md.
# SI units, on the link side of the gear.  Remove the # before a key to give it; keys that are not given stay as the
# robot has them.  Later tables win; a name may be a pattern, such as "*".  Use the file with
#   fj.load(ROBOT, drives="FILE")   or   flexjoint info ROBOT --drives FILE
# Say where numbers come from: trust, origin and note hold for all numbers of their [[joint]] table.
#   trust = "identified" (measured), "data_sheet", "estimated", "chosen" or "placeholder" (no value is known)
"""
EXAMPLE_KIND = "elastic"  # its keys are shown for a joint without a spring
FURTHER = {
    "kind": "one of " + ", ".join(sorted(DRIVES)),
    "spring": 'a law in place of stiffness, such as {kind = "cubic", stiffness = 900, cubic = 4e4}: docs/springs.md',
    "motor_axial_inertia": "of the rotor itself, in place of motor_inertia: needs motor_gear_ratio",
    "motor_friction": "a law in place of the three numbers: docs/friction.md",
    "friction": "a law in place of the three numbers, such as {viscous = 2.0, coulomb = 5.0, velocity = 0.02}",
    "parallel_spring": "between the link and its parent, such as {stiffness = 40, rest = 0.3}",
}
UNKNOWN = "..."
COMMENT_AT = 44  # column


def template(robot: Robot) -> str:
    """Contents of the drive file."""
    explained: set[str] = set()
    blocks = [
        HEAD.format(name=toml_value(robot.name)),
        f"format = {toml_value(DRIVE_FORMAT)}\nversion = 1\nrobot = {toml_value(robot.name)}\n",
    ]
    for link in robot.links:
        if not link.joint.moves or (link.joint.mimic and not any(known for *_, known in joint_lines(link))):
            continue  # of the joints that follow others, those with numbers of their own are listed
        name, about = f"name = {toml_value(link.joint.name)}", f"{link.joint.kind.name}, moves {toml_value(link.name)}"
        lines = ["[[joint]]", f"{name:{COMMENT_AT}}# {about}", '# trust = "placeholder"', '# origin = ""']
        for key, value, known in joint_lines(link):
            text = f"{'' if known else '# '}{key} = {value}"
            about = "" if key in explained else meaning(key, link.joint)
            explained.add(key)
            lines.append(f"{text:{COMMENT_AT}}# {about}" if about else text)
        blocks.append("\n".join(lines) + "\n")
    for group in robot.transmissions:
        entries = dataclasses.asdict(group).items()
        blocks.append("[[transmission]]\n" + "".join(f"{key} = {toml_value(value)}\n" for key, value in entries))
    return "\n".join(blocks)


def joint_lines(link: Link) -> Iterator[tuple[str, str, bool]]:
    """(key, value, whether the robot says it) of every key of a joint."""
    own = plain(link_entries(link))
    drive = shown_drive(link.joint)
    for key in JOINT_KEYS:
        if key == "drive":
            given = own.get("drive", {})
            yield "drive.kind", toml_value(given.get("kind", DRIVES.name_of(drive))), "kind" in given
            for name in drive_keys(drive)[1:]:
                yield from key_lines(f"drive.{name}", drive_class_of(drive, name), given.get(name), given)
        else:
            yield from key_lines(key, {"limits": Limits}.get(key), own.get(key), own)


def shown_drive(joint: Joint) -> DriveClass:
    """The drive whose keys are shown: that of the joint; those of an elastic one where it has no spring.

    A joint that follows another has no elastic drive.
    """
    if joint.mimic is not None:
        return RigidDrive
    return DRIVES[EXAMPLE_KIND] if joint.drive is None or isinstance(joint.drive, RigidDrive) else type(joint.drive)


def key_lines(key: str, part: Any, value: Any, beside: Mapping[str, Any]) -> Iterator[tuple[str, str, bool]]:
    """Lines of one key; limits have one line per bound."""
    if dataclasses.is_dataclass(part):
        for field in dataclasses.fields(part):
            bound = (value or {}).get(field.name)
            yield f"{key}.{field.name}", UNKNOWN if bound is None else toml_value(bound), bound is not None
    else:
        yield key, UNKNOWN if value is None else toml_value(value), value is not None


def drive_class_of(drive: DriveClass, key: str) -> Any:
    """The class of limits that a key of a drive stands for, None for others."""
    limits = {"motor_limits": MotorLimits, "spring_limits": SpringLimits}
    return limits.get(key) if key in limits and (key != "motor_limits" or "motor" in field_types(drive)) else None


def meaning(key: str, joint: Joint) -> str:
    """What a key means, with its unit, from the docstring of its class."""
    words = key.split(".")
    if words[-1] in FURTHER:
        return FURTHER[words[-1]]
    if words[0] != "drive":
        owner: Any = Limits if words[0] == "limits" and len(words) > 1 else Joint
    elif len(words) > 2:
        owner = MotorLimits if words[1] == "motor_limits" else SpringLimits
    else:
        owner = shown_drive(joint)
    about = described(owner)
    text = about.get(words[-1]) or (described(Motor).get(words[-1].removeprefix("motor_"), "") if owner else "")
    return text.rstrip(".")


def described(owner: Any) -> dict[str, str]:
    """The text of each argument in a docstring, on one line; what follows the first semicolon is left out."""
    found = re.findall(r"^ *(\w+): ((?:.+\n?)(?:^ {8,}(?!\w+: ).+\n?)*)", owner.__doc__ or "", re.MULTILINE)
    return {name: " ".join(text.split()).partition(";")[0] for name, text in found}
