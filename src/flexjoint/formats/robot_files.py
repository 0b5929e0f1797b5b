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
import math
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..drives import AntagonisticDrive, Drive, ElasticDrive, LeverDrive, Motor, RigidDrive
from ..errors import RobotError, quoted
from ..robot import BASE, FIDELITIES, Joint, JointKind, Limits, Link, Robot
from ..robot.joints import KINDS
from ..robot.joints.revolute import Revolute
from ..spatial import rotation_rpy
from ..springs import SPRINGS, Spring
from .angles import check_angle
from .dh import from_dh
from .toml import Table, parse_table, path_text, read_bytes

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
OTHER_FORMATS = {".urdf": "URDF", ".xacro": "xacro", ".sdf": "SDF", ".xml": "MJCF and URDF", ".mjcf": "MJCF"}
OTHER_FORMATS |= {".usd": "USD", ".json": "JSON", ".yaml": "YAML", ".yml": "YAML"}
MAX_SPRING_POINTS = 10_000  # numbers; 500 points in an antagonistic pair take up to 0.5 s
CONVENTIONS = ("standard_dh", "modified_dh", "frames")


def read_robot(path: str | os.PathLike[str]) -> Robot:
    """The robot described by a TOML file."""
    place = path_text(path, "robot file (.toml)")
    if (format := OTHER_FORMATS.get(os.path.splitext(place)[1].lower())) and not os.path.isdir(place):
        raise RobotError(
            f"{quoted(place)}: {format} files are not read yet; a robot is a TOML file (.toml) with DH parameters or "
            "frames, see docs/getting-started.md, or the name of a built-in robot"
        )
    return parse_robot(read_bytes(path, "robot file (.toml)"), place)


def parse_robot(data: bytes, place: str) -> Robot:
    """The robot described by the contents of a file; `place` begins every error message."""
    table = parse_table(data, place, "robot file")
    table.allow(TOP_KEYS)
    links = [Table(x, f"{place}, link {i + 1}").named() for i, x in enumerate(table.tables("link"))]
    if (points := sum(spring_points(link) for link in links)) > MAX_SPRING_POINTS:
        most = f"at most {MAX_SPRING_POINTS} are read: leave some out"
        raise RobotError(f"{place}: {points} numbers in tables of springs; {most}")
    read = {"standard_dh": _read_dh, "modified_dh": _read_dh, "frames": _read_frames}
    try:
        robot = read[table.choice("convention", CONVENTIONS)](table, links)
        tool = table.text("tool", robot.tool)
        return robot if tool == robot.tool else robot.replace(tool=tool)
    except RobotError as error:
        if str(error).startswith(place):
            raise
        raise RobotError(f"{place}: {error}") from error


def spring_points(link: Table) -> int:
    """How many numbers stand in lists of the springs of a link."""
    drive = link.data.get("drive")
    springs = [x for x in drive.values() if isinstance(x, dict)] if isinstance(drive, dict) else []
    return sum(len(x) for spring in springs for x in spring.values() if isinstance(x, list))


def _read_dh(table: Table, links: list[Table]) -> Robot:
    kinds = [_kind(link, DH_KEYS, [name for name in sorted(KINDS) if KINDS[name].letter]) for link in links]
    names = [link.text("name", f"link{i + 1}") for i, link in enumerate(links)]
    return from_dh(
        alpha=[link.radians("alpha", 0.0) for link in links],
        a=[link.number("a", 0.0) for link in links],
        d=[link.number("d", 0.0) for link in links],
        theta=[link.radians("theta", 0.0) for link in links],
        kinds=kinds,
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
    kind = _kind(link, FRAME_KEYS, sorted(KINDS))
    link.only_one("rpy", "rpy_deg", "rotation")
    name = link.text("name")
    joint = Joint(
        link.text("joint", f"{name}_joint"),
        kind,
        link.vector("position", (0.0, 0.0, 0.0)),
        _rotation(link),
        _limits(link),
        drive=_drive(link),
        **{key: link.number(key, 0.0) for key in FRICTION_KEYS},
    )
    parent, com = link.text("parent", BASE), link.vector("com", (0.0, 0.0, 0.0))
    return Link(name, joint, parent, link.number("mass", 0.0), com, _inertia(link))


def _kind(link: Table, keys: Iterable[str], known: Iterable[str]) -> JointKind:
    """The kind of a link's joint, with the further keys that it has."""
    kind = KINDS[link.choice("kind", known, Revolute.name)]
    further = [field.name for field in dataclasses.fields(kind)]
    link.allow([*keys, *further])
    return kind(**{key: link.number(key) for key in further})


def _rotation(link: Table) -> np.ndarray:
    if "rotation" in link.data:
        return link.matrix("rotation")
    if "rpy_deg" in link.data:
        return rotation_rpy(*map(math.radians, _finite(link, "rpy_deg")))
    if "rpy" not in link.data:
        return np.eye(3)
    angles = _finite(link, "rpy")
    for angle in angles:
        check_angle("an angle of rpy", angle, link.place, f"write rpy_deg = {angles}")
    return rotation_rpy(*angles)


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
