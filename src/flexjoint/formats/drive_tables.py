"""Drives, motors and spring laws as tables of a robot file, read and written by the types of their fields.

A drive or spring law defines its keys by its fields alone (`drives/kinds.py`, `springs/base.py`).
"""

from __future__ import annotations

import dataclasses
import typing
from functools import cache
from typing import Any, TypeAlias, TypeVar

from ..drives import DRIVES, HYSTERESES, Drive, Friction, Hysteresis, Motor, MotorLimits, SpringLimits
from ..errors import RobotError
from ..springs import SPRINGS, ParallelSpring, Spring
from .toml import Table

MOTOR_NUMBERS = ("viscous_friction", "coulomb_friction", "coulomb_velocity", "transverse_inertia", "mass")
MOTOR_VECTORS = ("position", "axis")
MOTOR_KEYS = ("inertia", "axial_inertia", "gear_ratio", *MOTOR_NUMBERS, *MOTOR_VECTORS, "carrier", "limits", "friction")
DriveClass: TypeAlias = Any  # a class in DRIVES; mypy does not take classes for hashable
T = TypeVar("T")
GEAR_LOSSES = ("hysteresis", "backlash")  # of elastic drives
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
    if "kind" not in table.data and ("stiffness" in table.data or "spring" in table.data):
        raise table.wrong("kind", '"elastic" for a spring between motor and link')
    drive: DriveClass = DRIVES[table.choice("kind", sorted(DRIVES))]
    for key in GEAR_LOSSES:
        if key in table.data and key not in drive_keys(drive):
            raise table.error(
                f"{table.place}: a drive of kind '{table.data['kind']}' has no {key}, which acts beside the spring of "
                'an elastic drive: write kind = "elastic" with a stiffness, or remove it'
            )
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
    if type_ == Hysteresis | None:
        return read_hysteresis(table.table(name)) if name in table.data else None
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
    fields["friction"] = read_friction(table, f"{prefix}friction")
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


def read_friction(table: Table, key: str, further: tuple[str, ...] = ("backward",)) -> Friction | None:
    """The friction law in the table under a key, whose keys are the fields of the law; None without the key."""
    if key not in table.data:
        return None
    law = table.table(key)
    names = [field.name for field in dataclasses.fields(Friction) if field.name != "backward"]
    law.allow([*names, *further])
    numbers = {name: law.number(name) for name in names if name in law.data}
    return Friction(**numbers, backward=read_friction(law, "backward", ()))


def read_spring(table: Table) -> Spring:
    """The spring law in a table {kind = ..., ...}, whose keys are the fields of the law."""
    law = SPRINGS[table.choice("kind", sorted(SPRINGS))]
    names = [field.name for field in dataclasses.fields(law)]
    table.allow(["kind", *names])
    for name in names:
        if name not in table.data:
            raise table.wrong(name, f"the {name} of a {law.__name__}")
    return made(table, law, {name: table.data[name] for name in names})


def read_hysteresis(table: Table) -> Hysteresis:
    """The hysteresis in a table {kind = ..., ...}, whose keys are the fields of the law."""
    law: DriveClass = HYSTERESES[table.choice("kind", sorted(HYSTERESES))]
    known = defaults(law)
    table.allow(["kind", *known])
    return made(table, law, {key: table.number(key, default) for key, default in known.items()})


def made(table: Table, law: DriveClass, numbers: dict[str, Any]) -> Any:
    """A law, which checks its numbers itself; its message with the place in the file."""
    try:
        return law(**numbers)
    except RobotError as error:
        raise table.error(f"{table.place}: {error}") from None


def read_parallel_spring(table: Table) -> ParallelSpring:
    """The parallel spring in a table {stiffness = ..., rest = ...}, or with the keys of a law."""
    rest = table.number("rest", 0.0)
    if "kind" not in table.data:
        table.allow(("stiffness", "rest", "kind"))
        return ParallelSpring(table.number("stiffness"), rest)
    law = {key: x for key, x in table.data.items() if key != "rest"}
    return ParallelSpring(read_spring(Table(law, table.place, table.error)), rest)


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
        elif isinstance(value, Hysteresis):
            entries[name] = hysteresis_entries(joint, value)
        elif value != default:
            entries[name] = limit_entries(value) if isinstance(value, SpringLimits) else value
    return entries


def parallel_spring_entries(joint: str, parallel: ParallelSpring) -> dict[str, Any]:
    """The table of a parallel spring."""
    law = parallel.stiffness
    entries = spring_entries(joint, law) if isinstance(law, Spring) else {"stiffness": law}
    return entries | ({"rest": parallel.rest} if parallel.rest else {})


def motor_entries(motor: Motor, prefix: str = "") -> dict[str, Any]:
    """The keys of a motor, each with a prefix."""
    others = [field.name for field in dataclasses.fields(Motor)[1:] if field.name not in ("limits", "friction")]
    entries = {"inertia": motor.inertia, **{key: x for key in others if (x := getattr(motor, key))}}
    if limits := limit_entries(motor.limits):
        entries["limits"] = limits
    if motor.friction is not None:
        entries["friction"] = friction_entries(motor.friction)
    return {f"{prefix}{key}": x for key, x in entries.items()}


def limit_entries(limits: Any) -> dict[str, float]:
    """The known limits of a joint, a motor or a spring."""
    given = {field.name: (getattr(limits, field.name), field.default) for field in dataclasses.fields(limits)}
    return {key: value for key, (value, default) in given.items() if value != default}


def friction_entries(law: Friction) -> dict[str, Any]:
    """The table of a friction law, without the keys that have their default."""
    given = {field.name: (getattr(law, field.name), field.default) for field in dataclasses.fields(law)}
    return {
        key: friction_entries(value) if isinstance(value, Friction) else value
        for key, (value, default) in given.items()
        if value != default
    }


def spring_entries(joint: str, spring: Spring) -> dict[str, Any]:
    """The table of a spring law."""
    kind = SPRINGS.name_of(type(spring))
    if kind is None:
        raise RobotError(f"the spring of joint '{joint}', {spring!r}, has no form in robot files")
    return {"kind": kind, **dataclasses.asdict(spring)}


def hysteresis_entries(joint: str, law: Hysteresis) -> dict[str, Any]:
    """The table of a hysteresis, without the keys that have their default."""
    kind = HYSTERESES.name_of(type(law))
    if kind is None:
        raise RobotError(f"the hysteresis of joint '{joint}', {law!r}, has no form in robot files")
    given = {key: (getattr(law, key), default) for key, default in defaults(type(law)).items()}
    return {"kind": kind, **{key: x for key, (x, default) in given.items() if x != default}}
