"""Robot files: the TOML format of flexjoint, in SI units.

    name = "two_link"                      # also: description, source, gravity, tool, fidelity, ...
    convention = "standard_dh"             # or "modified_dh", or "frames" for any tree

    [[link]]                               # one per joint, in the order of q
    alpha_deg = 90                         # or alpha, in rad; likewise theta; a, d, kind
    mass = 2.7
    com = [0.0, 0.1, 0.0]
    inertia = {xx = 0.02, yy = 0.02, zz = 0.005}     # about the centre of mass; also xy, xz, yz, or a 3x3 matrix
    drive = {kind = "elastic", stiffness = 1000, motor_inertia = 3.2}    # also: damping, motor_viscous_friction, ...

Drives: each docstring in `drives/` shows the table of its kind, and each in `springs/` that of a spring law:
spring = {kind = "cubic", stiffness = 900, cubic = 4e4} in place of stiffness.  A joint of variable stiffness has two
motors, motor_1 = {inertia = 3.2} and motor_2.

Parallel springs, between a link and its parent: parallel_spring = {stiffness = 40, rest = 0.3} of a link, or
{kind = "cubic", stiffness = 40, cubic = 100, rest = 0.3} with the keys of a spring law.

Sources: [[source]] tables say where numbers come from: of = ["*.drive.stiffness"], trust = "data_sheet", origin =
"...", note = "..." (`robot/sources.py`).  A text, source = "...", names the document of the whole file and is not kept.

Gears: hysteresis = {kind = "dahl", torque = 2, stiffness = 4000}, or "bouc_wen", and backlash = 2e-4 of elastic drives.

Limits: limits = {lower = -2.9, upper = 2.9, velocity = 2.2} of a link (also effort, torque_rate, acceleration, jerk),
motor_limits = {torque = 87, speed = 2.6} (also rms_torque, power, torque_rate) and spring_limits = {torque = 100,
deflection = 0.05} of a drive.

Friction: viscous_friction, coulomb_friction and coulomb_velocity of a link, and with motor_ in front of a drive; or the
whole law, friction = {viscous = 2.0, coulomb = 5.0, velocity = 0.02, static = 7.0, stribeck_velocity = 0.1} of a link
and motor_friction = {..., load = 0.05, load_scale = 1.0, backward = {coulomb = 4.0}} of a drive (drives/friction.py).

Followers: mimic = {joint = "joint1", ratio = -1.0, offset = 0.0} makes a joint follow another one, at the position
ratio · (position of joint1) + offset; it has no entry in q.

Rotors: the complete model needs motor_gear_ratio.  motor_axial_inertia, of the rotor itself, may stand in place of
motor_inertia.  motor_mass, motor_transverse_inertia, motor_position, motor_axis and motor_carrier describe a rotor that
differs from the defaults; position and axis are in the frame of its carrier, with DH conventions in its DH frame.

Joints that share a transmission: [[transmission]] with joints = ["pitch", "roll"], matrix = [[1, 1], [1, -1]], a row
per motor, and springs = "motor" (default) or "joint"; see `drives.CoupledTransmission`.

With `convention = "frames"` a link has a name, a parent, and the position and rpy, rpy_deg or rotation of its frame in
the frame of the parent; com, inertia and the axis of the joint, such as [0, 1, 0] and z by default, are in the frame of
the link.  Files are data: nothing in them is executed, and an unknown key is an error.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..drives import CoupledTransmission, Drive
from ..errors import RobotError
from ..file_limits import require
from ..robot import BASE, FIDELITIES, Joint, JointKind, Limits, Link, Mimic, Robot, Source
from ..robot.joints import KINDS
from ..robot.joints.revolute import Revolute
from ..robot.sources import TRUSTS
from ..spatial import rotation_rpy
from ..springs import ParallelSpring
from ..types import FloatArray
from .angles import check_angle
from .dh import from_dh
from .drive_tables import read_drive, read_friction, read_limits, read_parallel_spring
from .loading import READERS
from .toml import Table, parse_table, read_bytes

TOP_KEYS = (
    *("name", "convention", "description", "source", "gravity", "tool", "allow_unphysical"),
    *("fidelity", "rotors_in_links", "link", "transmission"),
)
TRANSMISSION_KEYS = ("joints", "matrix", "springs")
FRICTION_KEYS = ("viscous_friction", "coulomb_friction", "coulomb_velocity")
BODY_KEYS = (
    *("name", "joint", "kind", "mass", "com", "inertia", *FRICTION_KEYS),
    *("friction", "limits", "drive", "mimic", "parallel_spring"),
)
DH_KEYS = (*BODY_KEYS, "alpha", "alpha_deg", "a", "d", "theta", "theta_deg")
FRAME_KEYS = (*BODY_KEYS, "parent", "position", "rpy", "rpy_deg", "rotation", "axis")
MIMIC_KEYS = ("joint", "ratio", "offset")
INERTIA_KEYS = ("xx", "xy", "xz", "yy", "yz", "zz")
CONVENTIONS = ("standard_dh", "modified_dh", "frames")
DRIVE_FORMAT = "flexjoint-drives"  # the key `format` of a drive file (`drive_files.py`)
DRIVES_EXAMPLE = 'fj.load("arm.toml", drives="arm.drives.toml")'


@READERS.register(".toml")
def read_robot_file(path: str) -> Robot:
    """The robot in a TOML file.

    Raises:
        RobotError: the file cannot be read, or what it describes is wrong.
    """
    return parse_robot(read_bytes(path, "robot file (.toml)"), path)


def parse_robot(data: bytes, place: str) -> Robot:
    """The robot described by the contents of a robot file.

    Args:
        data: contents of the file, TOML in UTF-8.
        place: name of the file, which begins every message.

    Raises:
        RobotError: the contents are wrong; the message names the place in the file.
    """
    table = parse_table(data, place, "robot file")
    if table.data.get("format") == DRIVE_FORMAT:
        raise RobotError(f"{place}: this is a drive file, not a robot: give it with drives=, as in {DRIVES_EXAMPLE}")
    table.allow(TOP_KEYS)
    links = [Table(x, f"{place}, link {i + 1}").named() for i, x in enumerate(table.tables("link"))]
    require("spring_numbers", sum(map(spring_points, links)), place, RobotError)
    read = {"standard_dh": _read_dh, "modified_dh": _read_dh, "frames": _read_frames}
    try:
        robot = read[table.choice("convention", CONVENTIONS)](table, links)
        changes: dict[str, Any] = {}
        if (tool := table.text("tool", robot.tool)) != robot.tool:
            changes["tool"] = tool
        if "transmission" in table.data:
            changes["transmissions"] = read_transmissions(table)
        return robot.replace(**changes) if changes else robot
    except RobotError as error:
        if str(error).startswith(place):
            raise
        raise RobotError(f"{place}: {error}") from error


def read_transmissions(table: Table) -> list[CoupledTransmission]:
    """The [[transmission]] tables."""
    found = []
    for i, data in enumerate(table.tables("transmission")):
        group = Table(data, f"{table.place}, transmission {i + 1}")
        group.allow(TRANSMISSION_KEYS)
        joints = group.texts("joints", 'a list of names of joints, ["pitch", "roll"]')
        matrix = group.array("matrix", "a list of rows, one per motor, such as [[1, 1], [1, -1]]")
        if matrix.ndim != 2:
            raise group.wrong("matrix", "a list of rows, one per motor, such as [[1, 1], [1, -1]]")
        side: Any = group.choice("springs", ("motor", "joint"), "motor")
        found.append(CoupledTransmission(joints, matrix, side))
    return found


def spring_points(link: Table) -> int:
    """Number of list elements in the spring tables of a link."""
    drive = link.data.get("drive")
    springs = [x for x in drive.values() if isinstance(x, dict)] if isinstance(drive, dict) else []
    springs += [x for x in (link.data.get("parallel_spring"),) if isinstance(x, dict)]
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
        friction=[read_friction(link, "friction") for link in links],
        limits=[_limits(link) for link in links],
        drives=[_drive(link) for link in links],
        mimics=[_mimic(link) for link in links],
        parallel_springs=[_parallel_spring(link) for link in links],
        joint_names=[link.text("joint", f"joint{i + 1}") for i, link in enumerate(links)],
        link_names=names,
        **_common(table),
    )


def _read_frames(table: Table, links: list[Table]) -> Robot:
    return Robot(links=tuple(read_link(link) for link in links), **_common(table))


def _common(table: Table) -> dict[str, Any]:
    table.text("description", "")
    return {
        "name": table.text("name"),
        "gravity": table.vector("gravity", (0.0, 0.0, -9.81)),
        "allow_unphysical": table.flag("allow_unphysical", False),
        "fidelity": table.choice("fidelity", FIDELITIES, "spong"),
        "rotors_in_links": table.flag("rotors_in_links", True),
        "sources": read_sources(table),
    }


def read_sources(table: Table) -> list[Source]:
    """The [[source]] tables; none if `source` is a text or not given."""
    if isinstance(table.data.get("source", ""), str):
        return []
    return [read_source(Table(x, f"{table.place}, source {i + 1}")) for i, x in enumerate(table.tables("source"))]


def read_source(table: Table) -> Source:
    """One [[source]] table."""
    table.allow(field.name for field in dataclasses.fields(Source))
    of, trust = table.texts("of", 'paths of numbers, ["*.drive.stiffness"]'), table.choice("trust", TRUSTS[::-1])
    try:
        return Source(of, trust, table.text("origin", ""), table.text("note", ""))  # type: ignore[arg-type]
    except RobotError as error:
        raise RobotError(f"{table.place}: {error}") from None


def read_link(link: Table) -> Link:
    """The link in a [[link]] table with `convention = "frames"`."""
    kind = _kind(link, FRAME_KEYS, sorted(KINDS))
    link.only_one("rpy", "rpy_deg", "rotation")
    name = link.text("name")
    friction: dict[str, Any] = {key: link.number(key, 0.0) for key in FRICTION_KEYS}
    joint = Joint(
        link.text("joint", f"{name}_joint"),
        kind,
        link.vector("position", (0.0, 0.0, 0.0)),
        _rotation(link),
        _limits(link),
        drive=_drive(link),
        friction=read_friction(link, "friction"),
        axis=link.vector("axis", (0.0, 0.0, 1.0)),
        mimic=_mimic(link),
        parallel_spring=_parallel_spring(link),
        **friction,
    )
    parent, com = link.text("parent", BASE), link.vector("com", (0.0, 0.0, 0.0))
    return Link(name, joint, parent, link.number("mass", 0.0), com, _inertia(link))


def _kind(link: Table, keys: Iterable[str], known: Iterable[str]) -> JointKind:
    """The kind of a link's joint, with the further keys that it has."""
    kind = KINDS[link.choice("kind", known, Revolute.name)]
    further = [field.name for field in dataclasses.fields(kind)]
    link.allow([*keys, *further])
    return kind(**{key: link.number(key) for key in further})


def _rotation(link: Table) -> FloatArray:
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


def _inertia(link: Table) -> FloatArray:
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
    return read_limits(link.table("limits"), Limits)


def _mimic(link: Table) -> Mimic | None:
    if "mimic" not in link.data:
        return None
    table = link.table("mimic")
    table.allow(MIMIC_KEYS)
    return Mimic(table.text("joint"), table.number("ratio", 1.0), table.number("offset", 0.0))


def _drive(link: Table) -> Drive | None:
    return read_drive(link.table("drive")) if "drive" in link.data else None


def _parallel_spring(link: Table) -> ParallelSpring | None:
    return read_parallel_spring(link.table("parallel_spring")) if "parallel_spring" in link.data else None
