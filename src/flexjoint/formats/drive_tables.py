"""Drives, motors and spring laws as tables of a robot file, read and written by the types of their fields.

A drive or spring law defines its keys by its fields alone (`drives/kinds.py`, `springs/base.py`).
"""

from __future__ import annotations

import dataclasses
import typing
from functools import cache
from typing import Any, TypeAlias, TypeVar

from ..drives import DRIVES, Drive, Motor, MotorLimits, SpringLimits
from ..errors import RobotError
from ..springs import SPRINGS, Spring
from .toml import Table

MOTOR_NUMBERS = ("viscous_friction", "coulomb_friction", "coulomb_velocity", "transverse_inertia", "mass")
MOTOR_VECTORS = ("position", "axis")
MOTOR_KEYS = ("inertia", "axial_inertia", "gear_ratio", *MOTOR_NUMBERS, *MOTOR_VECTORS, "carrier", "limits")
DriveClass: TypeAlias = Any  # a class in DRIVES; mypy does not take classes for hashable
T = TypeVar("T")
LINEAR_OR_LAW = float | Spring  # type of a field given as a number or, under the key `spring`, as a law


@cache
def field_types(drive: DriveClass) -> dict[str, Any]:
    """Types of the fields of a drive, by name, in order."""
    hints = typing.get_type_hints(drive)
    return {field.name: hints[field.name] for field in dataclasses.fields(drive)}


@cache
def defaults(drive: DriveClass) -> dict[str, Any]:
    """Defaults of the fields of a drive, by name; None for a field that must be given."""
    found = {field.name: field.default for field in dataclasses.fields(drive)}
    return {name: None if default is dataclasses.MISSING else default for name, default in found.items()}


@cache
def drive_keys(drive: DriveClass) -> tuple[str, ...]:
    """The keys of a drive in robot files."""
    keys = ["kind"]
    for name, type_ in field_types(drive).items():
        if type_ is Motor and name == "motor":
            keys += [f"motor_{key}" for key in MOTOR_KEYS]
        else:
            keys += [name, "spring"] if type_ == LINEAR_OR_LAW else [name]
    return tuple(keys)


# Reading ------------------------------------------------------------------------------------------------------------


def read_drive(table: Table) -> Drive:
    """The drive in a table {kind = ..., ...}."""
    drive: DriveClass = DRIVES[table.choice("kind", sorted(DRIVES))]
    table.allow(drive_keys(drive))
    return drive(**{name: read_field(table, drive, name) for name in field_types(drive)})


def read_field(table: Table, drive: DriveClass, name: str) -> Any:
    """One field of a drive, by its type."""
    type_ = field_types(drive)[name]
    if type_ is Motor and name == "motor":
        return read_motor(table, "motor_", optional=getattr(drive, "massless", False))
    if type_ is Motor:
        motor = table.table(name)
        motor.allow(MOTOR_KEYS)
        return read_motor(motor)
    if type_ is SpringLimits:
        return read_limits(table.table(name), SpringLimits)
    if type_ is Spring:
        return read_spring(table.table(name))
    if type_ == LINEAR_OR_LAW:
        table.only_one(name, "spring")
        return read_spring(table.table("spring")) if "spring" in table.data else table.number(name)
    return table.number(name, defaults(drive)[name])


def read_motor(table: Table, prefix: str = "", optional: bool = False) -> Motor:
    """The motor whose keys begin with a prefix; with `optional` its inertia may be left out, as 0."""
    table.only_one(f"{prefix}inertia", f"{prefix}axial_inertia")
    fields: dict[str, Any] = {key: table.number(f"{prefix}{key}", 0.0) for key in MOTOR_NUMBERS}
    fields |= {key: table.vector(f"{prefix}{key}") for key in MOTOR_VECTORS if f"{prefix}{key}" in table.data}
    fields["limits"] = read_limits(table.table(f"{prefix}limits"), MotorLimits)
    if f"{prefix}carrier" in table.data:
        fields["carrier"] = table.text(f"{prefix}carrier")
    if f"{prefix}axial_inertia" in table.data:
        return Motor.from_rotor(table.number(f"{prefix}axial_inertia"), table.number(f"{prefix}gear_ratio"), **fields)
    if f"{prefix}gear_ratio" in table.data:
        fields["gear_ratio"] = table.number(f"{prefix}gear_ratio")
    return Motor(table.number(f"{prefix}inertia", 0.0 if optional else None), **fields)


def read_limits(table: Table, limits: type[T]) -> T:
    """Limits of joints, motors or springs in a table of numbers, whose keys are their fields."""
    known: dict[str, Any] = {x.name: x.default for x in dataclasses.fields(limits)}  # type: ignore[arg-type]
    table.allow(known)
    return limits(**{key: table.number(key, default) for key, default in known.items()})


def read_spring(table: Table) -> Spring:
    """The spring law in a table {kind = ..., ...}, whose keys are the fields of the law."""
    law = SPRINGS[table.choice("kind", sorted(SPRINGS))]
    names = [field.name for field in dataclasses.fields(law)]
    table.allow(["kind", *names])
    for name in names:
        if name not in table.data:
            raise table.wrong(name, f"the {name} of a {law.__name__}")
    return law(**{name: table.data[name] for name in names})


# Writing ------------------------------------------------------------------------------------------------------------


def drive_entries(joint: str, drive: Drive) -> dict[str, Any]:
    """The table of a drive, without the keys that have their default.

    Raises:
        RobotError: the drive or its spring law has no name in robot files.
    """
    drive_class: DriveClass = type(drive)
    kind = DRIVES.name_of(drive_class)
    if kind is None:
        raise RobotError(f"the drive of joint '{joint}', {drive!r}, has no form in robot files")
    entries: dict[str, Any] = {"kind": kind}
    for name, default in defaults(drive_class).items():
        value = getattr(drive, name)
        if isinstance(value, Motor):
            entries |= motor_entries(value, "motor_") if name == "motor" else {name: motor_entries(value)}
        elif isinstance(value, Spring):
            linear_or_law = field_types(drive_class)[name] == LINEAR_OR_LAW
            entries["spring" if linear_or_law else name] = spring_entries(joint, value)
        elif value != default:
            entries[name] = limit_entries(value) if isinstance(value, SpringLimits) else value
    return entries


def motor_entries(motor: Motor, prefix: str = "") -> dict[str, Any]:
    """The keys of a motor, each with a prefix."""
    others = [field.name for field in dataclasses.fields(Motor)[1:] if field.name != "limits"]
    entries = {"inertia": motor.inertia, **{key: x for key in others if (x := getattr(motor, key))}}
    if limits := limit_entries(motor.limits):
        entries["limits"] = limits
    return {f"{prefix}{key}": x for key, x in entries.items()}


def limit_entries(limits: Any) -> dict[str, float]:
    """The known limits of a joint, a motor or a spring."""
    given = {field.name: (getattr(limits, field.name), field.default) for field in dataclasses.fields(limits)}
    return {key: value for key, (value, default) in given.items() if value != default}


def spring_entries(joint: str, spring: Spring) -> dict[str, Any]:
    """The table of a spring law."""
    kind = SPRINGS.name_of(type(spring))
    if kind is None:
        raise RobotError(f"the spring of joint '{joint}', {spring!r}, has no form in robot files")
    return {"kind": kind, **dataclasses.asdict(spring)}
