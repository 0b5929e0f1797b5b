"""Robot files: our own format, TOML, SI units.

    name = "two_link"                      # also: description, source, gravity, tool, fidelity, ...
    convention = "standard_dh"             # or "modified_dh", or "frames" for any tree

    [[link]]                               # one a joint, in the order of q
    alpha_deg = 90                         # or alpha, in rad; likewise theta; a, d, kind
    mass = 2.7
    com = [0.0, 0.1, 0.0]
    inertia = {xx = 0.02, yy = 0.02, zz = 0.005}     # central; also xy, xz, yz, or a 3x3 matrix
    drive = {kind = "elastic", stiffness = 1000, motor_inertia = 3.2}    # also: damping, motor_viscous_friction, ...

A rotor described as a body, for the complete model, has instead of motor_inertia its motor_axial_inertia and
motor_gear_ratio, and motor_mass, motor_transverse_inertia, motor_position, motor_axis, motor_carrier where they differ
from the defaults; position and axis are in the carrier's frame, with DH conventions in its DH frame.
A spring that is not linear stands in place of its stiffness: spring = {kind = "cubic", stiffness = 900, cubic = 4e4}.
A joint of variable stiffness has two of everything: drive = {kind = "antagonistic", spring_1 = {...}, spring_2 = {...},
motor_1 = {inertia = 3.2}, motor_2 = {...}}, also damping, greatest_stiffness and greatest_damping; a motor's keys are
inertia, viscous_friction, ...  A lever has {kind = "lever", spring = 2e4, arm = 0.1, least_arm = 0.03, greatest_arm =
0.12} in place of its springs.

With `convention = "frames"` a link has a name, a parent, and its frame's position and rpy, rpy_deg or rotation in
the parent's; body data are in the link's frame.  Files are data: nothing in them is executed, and an unknown key
is an error.
"""

from __future__ import annotations

import dataclasses
import json
import math
import os
import re
import reprlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard, cast

import numpy as np

from ..drives import AntagonisticDrive, Drive, ElasticDrive, LeverDrive, Motor, RigidDrive, VariableStiffnessDrive
from ..errors import FlexjointError, RobotError
from ..robot import BASE, FIDELITIES, Joint, JointKind, Limits, Link, Robot
from ..spatial import rotation_rpy
from ..springs import SPRINGS, Spring
from .dh import from_dh

MAX_BYTES = 10_000_000
MAX_LINKS = 10_000
MAX_DOTS = 100  # in one line beside those of numbers: over a long dotted key tomllib takes minutes, quadratic in it
WORD = re.compile(rb"[\w.+-]+")
DECIMAL = re.compile(rb"[+-]?[0-9_]+\.[0-9_]+([eE][+-]?[0-9_]+)?")

TOP_KEYS = (
    *("name", "convention", "description", "source", "gravity", "tool", "allow_unphysical"),
    *("fidelity", "rotors_in_links", "link"),
)
FRICTION_KEYS = ("viscous_friction", "coulomb_friction", "coulomb_velocity")
BODY_KEYS = ("name", "joint", "kind", "mass", "com", "inertia", *FRICTION_KEYS, "limits", "drive")
DH_KEYS = (*BODY_KEYS, "alpha", "alpha_deg", "a", "d", "theta", "theta_deg")
FRAME_KEYS = (*BODY_KEYS, "parent", "position", "rpy", "rpy_deg", "rotation")
INERTIA_KEYS = ("xx", "xy", "xz", "yy", "yz", "zz")
LIMIT_KEYS = ("lower", "upper", "velocity", "effort")
ROTOR_NUMBERS = ("transverse_inertia", "mass")
ROTOR_VECTORS = ("position", "axis")
MOTOR_KEYS = tuple(
    f"motor_{key}"
    for key in ("inertia", "axial_inertia", "gear_ratio", *FRICTION_KEYS, *ROTOR_NUMBERS, *ROTOR_VECTORS, "carrier")
)
TWO_MOTOR_OPTIONS = {"damping": 0.0, "greatest_stiffness": math.inf, "greatest_damping": 0.0}
TWO_MOTOR_KEYS = ("motor_1", "motor_2", *TWO_MOTOR_OPTIONS)
LEVER_KEYS = ("spring", "arm", "least_arm", "greatest_arm")
DRIVE_KEYS = {
    "rigid": ("kind", *MOTOR_KEYS),
    "elastic": ("kind", "stiffness", "spring", "damping", *MOTOR_KEYS),
    "antagonistic": ("kind", "spring_1", "spring_2", *TWO_MOTOR_KEYS),
    "lever": ("kind", *LEVER_KEYS, *TWO_MOTOR_KEYS),
}
CONVENTIONS = ("standard_dh", "modified_dh", "frames")


def read_robot(path: str | os.PathLike[str]) -> Robot:
    """The robot described by a TOML file."""
    return parse_robot(read_bytes(path, "robot file (.toml)"), os.fspath(path))


def parse_robot(data: bytes, place: str) -> Robot:
    """The robot described by the contents of a file; `place` begins every error message."""
    table = parse_table(data, place, "robot file")
    table.allow(TOP_KEYS)
    links = [Table(x, f"{place}, link {i + 1}").named() for i, x in enumerate(table.tables("link"))]
    read = {"standard_dh": _read_dh, "modified_dh": _read_dh, "frames": _read_frames}
    try:
        robot = read[table.choice("convention", CONVENTIONS)](table, links)
        return robot.replace(tool=table.text("tool", robot.tool))
    except RobotError as error:
        if str(error).startswith(place):
            raise
        raise RobotError(f"{place}: {error}") from error


def write_robot(robot: Robot, path: str | os.PathLike[str]) -> None:
    """Write any robot with `convention = "frames"`; reading it gives an equal robot, to the last bit."""
    Path(path).write_bytes(robot_text(robot).encode())


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


# Reading --------------------------------------------------------------------------------------------------


def read_bytes(
    path: str | os.PathLike[str], what: str, error: type[FlexjointError] = RobotError, most: int = MAX_BYTES
) -> bytes:
    """The contents of a file; one byte beyond `most` says that there is more."""
    path = Path(path)
    if not path.is_file():
        raise error(f"{path}: there is no such file: give the path of a {what}")
    try:
        with path.open("rb") as file:
            return file.read(most + 1)
    except OSError as problem:
        raise error(f"{path}: the {what.split(' (')[0]} cannot be read: {problem.strerror}") from problem


def parse_table(data: bytes, place: str, what: str, error: type[FlexjointError] = RobotError) -> Table:
    """The contents of a TOML file; `place` begins every error message."""
    if len(data) > MAX_BYTES:
        raise error(f"{place}: the file is larger than {MAX_BYTES:,} bytes, which no {what} should be")
    import tomllib

    try:
        if any(line.count(b".") > MAX_DOTS and key_dots(line) > MAX_DOTS for line in data.splitlines()):
            raise RecursionError
        return Table(tomllib.loads(data.decode()), place, error)
    except RecursionError:
        raise error(f"{place}: the file is nested too deeply to be a {what}") from None
    except ValueError as problem:  # TOMLDecodeError, UnicodeDecodeError, integers without end
        raise error(f"{place}: not valid TOML: {problem}") from problem


def key_dots(line: bytes) -> int:
    """How many dots of a line may belong to keys: all but those of decimal numbers."""
    return sum(word.count(b".") for word in WORD.findall(line) if not DECIMAL.fullmatch(word))


@dataclass(frozen=True, slots=True)
class Table:
    """A TOML table and its place in the file; whatever is taken from it has been checked for its type."""

    data: dict[str, Any]
    place: str
    error: type[FlexjointError] = RobotError

    def named(self) -> Table:
        name = self.data.get("name")
        return Table(self.data, f"{self.place} '{name}'", self.error) if isinstance(name, str) else self

    def wrong(self, key: str, expected: str) -> FlexjointError:
        if key not in self.data:
            return self.error(f"{self.place}: the key '{key}' is missing: give {expected}")
        return self.error(f"{self.place}: {key} must be {expected}, not {reprlib.repr(self.data[key])}")

    def allow(self, keys: Iterable[str]) -> None:
        keys = tuple(keys)
        for key in self.data:
            if key not in keys:
                raise self.error(f"{self.place}: unknown key '{key}'; {suggestion(key, keys)}")

    def number(self, key: str, default: float | None = None) -> float:
        value = self.data.get(key, default)
        if not _is_number(value):
            raise self.wrong(key, "a number")
        return float(value)

    def text(self, key: str, default: str | None = None) -> str:
        value = self.data.get(key, default)
        if not isinstance(value, str):
            raise self.wrong(key, "a string")
        return value

    def flag(self, key: str, default: bool) -> bool:
        value = self.data.get(key, default)
        if not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value

    def choice(self, key: str, choices: Iterable[str], default: str | None = None) -> str:
        value = self.data.get(key, default)
        if not isinstance(value, str) or value not in choices:
            raise self.wrong(key, "one of " + ", ".join(f'"{x}"' for x in choices))
        return value

    def vector(self, key: str, default: Iterable[float] | None = None) -> np.ndarray:
        value = self.data.get(key, default)
        if not _is_triple(value) or not all(map(_is_number, value)):
            raise self.wrong(key, "three numbers [x, y, z]")
        return np.array(value, dtype=float)

    def matrix(self, key: str) -> np.ndarray:
        value = self.data.get(key)
        if not _is_triple(value) or not all(_is_triple(row) and all(map(_is_number, row)) for row in value):
            raise self.wrong(key, "a 3x3 matrix, three rows of three numbers")
        return np.array(value, dtype=float)

    def array(self, key: str, expected: str) -> np.ndarray:
        """A number, or lists of numbers, or lists of them."""
        value = self.data.get(key)
        try:
            if not _is_nested(value, depth=2):
                raise ValueError
            return np.array(value, dtype=float)
        except ValueError:  # also for rows of different length
            raise self.wrong(key, expected) from None

    def table(self, key: str) -> Table:
        value = self.data.get(key, {})
        if not isinstance(value, dict):
            raise self.wrong(key, "a table {key = value, ...}")
        return Table(value, f"{self.place}, {key}", self.error)

    def tables(self, key: str) -> list[dict[str, Any]]:
        value = self.data.get(key)
        if not isinstance(value, list) or not value or any(not isinstance(x, dict) for x in value):
            raise self.wrong(key, f"one [[{key}]] table or more")
        if len(value) > MAX_LINKS:
            raise self.error(f"{self.place}: {len(value)} links; at most {MAX_LINKS} are read")
        return value

    def radians(self, key: str, default: float) -> float:
        """The angle `key`, in rad, or `key_deg`, in degrees."""
        self.only_one(key, f"{key}_deg")
        return math.radians(self.number(f"{key}_deg")) if f"{key}_deg" in self.data else self.number(key, default)

    def only_one(self, *keys: str) -> None:
        if len(given := [key for key in keys if key in self.data]) > 1:
            raise self.error(f"{self.place}: {' and '.join(given)} are both given: keep one")


def suggestion(word: str, known: Iterable[str]) -> str:
    """The closest known words first, then all of them."""
    known = sorted(known)
    import difflib

    close = difflib.get_close_matches(word, known, n=1)
    return (f"did you mean '{close[0]}'? " if close else "") + f"known are: {', '.join(known)}"


def _is_number(value: Any) -> TypeGuard[float]:
    """A TOML integer or float, but no boolean and no integer beyond the floats."""
    return isinstance(value, float) or (type(value) is int and abs(value) < 2**1000)


def _is_nested(value: Any, depth: int) -> bool:
    return _is_number(value) or (depth > 0 and isinstance(value, list) and all(_is_nested(x, depth - 1) for x in value))


def _is_triple(value: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, list | tuple) and len(value) == 3


def _read_dh(table: Table, links: list[Table]) -> Robot:
    for link in links:
        link.allow(DH_KEYS)
    names = [link.text("name", f"link{i + 1}") for i, link in enumerate(links)]
    return from_dh(
        alpha=[link.radians("alpha", 0.0) for link in links],
        a=[link.number("a", 0.0) for link in links],
        d=[link.number("d", 0.0) for link in links],
        theta=[link.radians("theta", 0.0) for link in links],
        kinds=[link.choice("kind", ("revolute", "prismatic"), "revolute") for link in links],
        convention="modified" if table.text("convention") == "modified_dh" else "standard",
        mass=[link.number("mass", 0.0) for link in links],
        com=[link.vector("com", (0.0, 0.0, 0.0)) for link in links],
        inertia=[_inertia(link) for link in links],
        viscous_friction=[link.number("viscous_friction", 0.0) for link in links],
        coulomb_friction=[link.number("coulomb_friction", 0.0) for link in links],
        coulomb_velocity=[link.number("coulomb_velocity", 0.0) for link in links],
        limits=[_limits(link) for link in links],
        drives=[_drive(link) for link in links],
        joint_names=[link.text("joint", f"joint{i + 1}") for i, link in enumerate(links)],
        link_names=names,
        **_common(table),
    )


def _read_frames(table: Table, links: list[Table]) -> Robot:
    return Robot(links=tuple(_link(link) for link in links), **_common(table))


def _common(table: Table) -> dict[str, Any]:
    table.text("description", "")
    table.text("source", "")
    return {
        "name": table.text("name"),
        "gravity": table.vector("gravity", (0.0, 0.0, -9.81)),
        "allow_unphysical": table.flag("allow_unphysical", False),
        "fidelity": table.choice("fidelity", FIDELITIES, "spong"),
        "rotors_in_links": table.flag("rotors_in_links", True),
    }


def _link(link: Table) -> Link:
    link.allow(FRAME_KEYS)
    link.only_one("rpy", "rpy_deg", "rotation")
    name = link.text("name")
    joint = Joint(
        link.text("joint", f"{name}_joint"),
        cast(JointKind, link.choice("kind", ("revolute", "prismatic", "fixed"), "revolute")),
        link.vector("position", (0.0, 0.0, 0.0)),
        _rotation(link),
        _limits(link),
        drive=_drive(link),
        **{key: link.number(key, 0.0) for key in FRICTION_KEYS},
    )
    parent, com = link.text("parent", BASE), link.vector("com", (0.0, 0.0, 0.0))
    return Link(name, joint, parent, link.number("mass", 0.0), com, _inertia(link))


def _rotation(link: Table) -> np.ndarray:
    if "rotation" in link.data:
        return link.matrix("rotation")
    if "rpy_deg" in link.data:
        return rotation_rpy(*map(math.radians, _finite(link, "rpy_deg")))
    return rotation_rpy(*_finite(link, "rpy")) if "rpy" in link.data else np.eye(3)


def _finite(link: Table, key: str) -> list[float]:
    angles = link.vector(key).tolist()
    if not all(map(math.isfinite, angles)):
        raise link.wrong(key, "three finite angles")
    return angles


def _inertia(link: Table) -> np.ndarray:
    if "inertia" not in link.data:
        return np.zeros((3, 3))
    if isinstance(link.data["inertia"], list):
        return link.matrix("inertia")
    table = link.table("inertia")
    table.allow(INERTIA_KEYS)
    xx, yy, zz = (table.number(key) for key in ("xx", "yy", "zz"))
    xy, xz, yz = (table.number(key, 0.0) for key in ("xy", "xz", "yz"))
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _limits(link: Table) -> Limits:
    table, known = link.table("limits"), Limits()
    table.allow(LIMIT_KEYS)
    return Limits(**{key: table.number(key, getattr(known, key)) for key in LIMIT_KEYS})


def _drive(link: Table) -> Drive | None:
    if "drive" not in link.data:
        return None
    table = link.table("drive")
    kind = table.choice("kind", DRIVE_KEYS)
    table.allow(DRIVE_KEYS[kind])
    if kind in ("antagonistic", "lever"):
        motor_1, motor_2 = (_motor(_motor_table(table, key), None, "") for key in ("motor_1", "motor_2"))
        fields: dict[str, Any] = {"motor_1": motor_1, "motor_2": motor_2}
        fields |= {key: table.number(key, default) for key, default in TWO_MOTOR_OPTIONS.items()}
        if kind == "lever":
            return LeverDrive(**fields | {key: table.number(key) for key in LEVER_KEYS})
        return AntagonisticDrive(_spring(table, "spring_1"), _spring(table, "spring_2"), **fields)
    motor = _motor(table, 0.0 if kind == "rigid" else None)
    if kind == "rigid":
        return RigidDrive(motor)
    table.only_one("stiffness", "spring")
    spring = _spring(table, "spring") if "spring" in table.data else table.number("stiffness")
    return ElasticDrive(spring, motor, table.number("damping", 0.0))


def _motor_table(drive: Table, key: str) -> Table:
    table = drive.table(key)
    table.allow([name.removeprefix("motor_") for name in MOTOR_KEYS])
    return table


def _motor(table: Table, default: float | None, prefix: str = "motor_") -> Motor:
    table.only_one(f"{prefix}inertia", f"{prefix}axial_inertia")
    fields: dict[str, Any] = {key: table.number(f"{prefix}{key}", 0.0) for key in (*FRICTION_KEYS, *ROTOR_NUMBERS)}
    fields |= {key: table.vector(f"{prefix}{key}") for key in ROTOR_VECTORS if f"{prefix}{key}" in table.data}
    if f"{prefix}carrier" in table.data:
        fields["carrier"] = table.text(f"{prefix}carrier")
    if f"{prefix}axial_inertia" in table.data:
        return Motor.from_rotor(table.number(f"{prefix}axial_inertia"), table.number(f"{prefix}gear_ratio"), **fields)
    if f"{prefix}gear_ratio" in table.data:
        fields["gear_ratio"] = table.number(f"{prefix}gear_ratio")
    return Motor(table.number(f"{prefix}inertia", default), **fields)


def _spring(drive: Table, key: str) -> Spring:
    table = drive.table(key)
    law = SPRINGS[table.choice("kind", SPRINGS)]
    names = [field.name for field in dataclasses.fields(law)]
    table.allow(["kind", *names])
    for name in names:
        if name not in table.data:
            raise table.wrong(name, f"the {name} of a {law.__name__}")
    return law(**{name: table.data[name] for name in names})


# Writing --------------------------------------------------------------------------------------------------


def _link_entries(link: Link) -> dict[str, Any]:
    """The keys of a link, without those that hold their default."""
    joint, I = link.joint, link.inertia
    symmetric = {"xx": I[0, 0], "xy": I[0, 1], "xz": I[0, 2], "yy": I[1, 1], "yz": I[1, 2], "zz": I[2, 2]}
    limits = {key: getattr(joint.limits, key) for key in LIMIT_KEYS}
    entries: dict[str, Any] = {
        "name": link.name,
        "parent": link.parent,
        "joint": joint.name,
        "kind": joint.kind,
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
