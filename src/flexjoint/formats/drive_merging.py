"""How the tables of a drive file are merged with what a robot says, key by key."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..drives import DRIVES
from ..errors import RobotError
from ..robot import Link
from .drive_tables import DriveClass, drive_keys, field_types
from .robot_files import BODY_KEYS, read_link
from .toml import Table
from .writing import link_entries

NOT_DRIVETRAIN = ("name", "joint", "kind", "mass", "com", "inertia", "mimic", "axis")
JOINT_KEYS = tuple(key for key in BODY_KEYS if key not in NOT_DRIVETRAIN)  # each is a field of Joint
NO_DRIVE = "none"
SHORT_FRICTION = ("viscous_friction", "coulomb_friction", "coulomb_velocity")
ALTERNATIVES = (
    (("stiffness",), ("spring",)),
    (("inertia",), ("axial_inertia",)),
    (SHORT_FRICTION, ("friction",)),
)  # keys that stand for the same thing, also with motor_ before them: a table with one replaces the other

Keys = tuple[str, ...]  # of nested tables, such as ("drive", "motor_limits", "torque")


def merged_entries(link: Link, tables: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The drivetrain keys of a link after all tables for its joint, from those of the robot on."""
    names = ("name", "joint", "kind", *link.joint.kind.numbers)
    try:
        own = plain(link_entries(link))
    except RobotError:  # a drive without a form in robot files
        if not any("kind" in table.get("drive", ()) for table in tables):
            raise
        own = plain(link_entries(dataclasses.replace(link, joint=dataclasses.replace(link.joint, drive=None))))
    entries = {key: own[key] for key in (*names, *JOINT_KEYS) if key in own}
    for table in tables:
        entries = merge(entries, table)
    return entries


def merge(base: Mapping[str, Any], over: Mapping[str, Any], keys: Keys = ()) -> dict[str, Any]:
    """The keys of two tables, those of `over` in place of those of `base`."""
    kept = dict(base)
    if "kind" in over and over["kind"] != base.get("kind"):
        known = keys_of_kind(over["kind"]) if keys == ("drive",) else ()
        kept = {key: x for key, x in kept.items() if key in known and key != "kind"}
    for prefix in ("", "motor_"):
        for group in ALTERNATIVES:
            for one, other in (group, group[::-1]):
                if any(f"{prefix}{key}" in over for key in one):
                    kept = {key: x for key, x in kept.items() if key not in [f"{prefix}{y}" for y in other]}
    for key, value in over.items():
        nested = isinstance(value, Mapping) and isinstance(kept.get(key), Mapping)
        kept[key] = merge(kept[key], value, (*keys, key)) if nested else value
    return kept


def keys_of_kind(kind: str) -> Keys:
    """The keys of a drive; "none" has no other."""
    drive: DriveClass = DRIVES.get(kind)
    return drive_keys(drive) if drive is not None else ("kind",)


def changed_link(link: Link, entries: dict[str, Any], place: str) -> Link:
    """A link with the drivetrain of merged keys."""
    without = kind_of(entries.get("drive")) == NO_DRIVE
    joint = read_link(Table({key: x for key, x in entries.items() if not (without and key == "drive")}, place)).joint
    return dataclasses.replace(
        link, joint=dataclasses.replace(link.joint, **{key: getattr(joint, key) for key in JOINT_KEYS})
    )


def kind_of(drive: Any) -> Any:
    """The kind in the table of a drive, None without one."""
    return drive.get("kind") if isinstance(drive, Mapping) else None


def leaves(entries: Mapping[str, Any], keys: Keys = ()) -> Iterator[Keys]:
    """The keys of every value that is no table."""
    for key, value in entries.items():
        if isinstance(value, Mapping):
            yield from leaves(value, (*keys, key))
        else:
            yield (*keys, key)


def number_path(keys: Keys, drive: Any) -> str:
    """Path of the number under keys of a [[joint]] table, after the name of the joint."""
    words = list(keys)
    if keys[0] == "drive" and len(keys) > 1:
        owner: DriveClass = type(drive)
        fields = field_types(owner) if drive is not None else {}
        if keys[1] == "spring" and "spring" not in fields:
            words[1] = "stiffness"
        elif keys[1].startswith("motor_") and keys[1] not in fields:
            words[1:2] = ["motor", keys[1].removeprefix("motor_")]
    if keys[0] == "parallel_spring" and keys[-1] not in ("stiffness", "rest"):
        words[1:1] = ["stiffness"]
    return ".".join("inertia" if word == "axial_inertia" else word for word in words)


def plain(value: Any) -> Any:
    """Entries of a robot file as TOML would give them: lists and floats in place of arrays."""
    if isinstance(value, Mapping):
        return {key: plain(x) for key, x in value.items()}
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return [plain(x) for x in value] if isinstance(value, list | tuple) else value
