"""Robots as URDF files, with a drive file for what URDF cannot say.

The URDF is the rigid robot: links, joints, limits, friction of links and motors together, followers, and transmissions
with the inertia of each motor.  The drive file has the rest.  Both together give a bit-identical robot back, which is
checked whenever they are written: what is lost is in the report.
"""

from __future__ import annotations

import math
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from xml.sax.saxutils import quoteattr

import numpy as np

from ...atomic import replacing
from ...drives import ElasticDrive, RigidDrive, friction_law
from ...errors import FlexjointWarning, RobotError, listed, quoted, shown, warn
from ...robot import BASE, Joint, Limits, Link, Robot, numeric
from ...spatial import rotation_rpy, rpy_angles
from ...types import FloatArray
from ..drive_files import DriveFile
from ..drive_merging import JOINT_KEYS, plain
from ..drive_writing import drive_file_text
from ..toml import path_text
from ..tree.records import QUARTER_TURN, Geometry
from ..writing import link_entries
from .extensions import GRAVITY, MATRIX, NAMESPACE, ROTATION, TOOL, UNPHYSICAL
from .reading import parse_urdf
from .report import Finding

WHAT = "robot file (.urdf)"
NO_LIMIT = sys.float_info.max  # other readers want a number
NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
TYPES = {"revolute": "revolute", "prismatic": "prismatic", "fixed": "fixed"}
DIGITS = (6, 10, 13, 15)  # fewer digits of an angle are tried first: 0.1 in place of 0.09999999999999999
ROUNDING = 2e-15  # rad: for readers that do not take 1.570796326795 for a quarter turn
TOP_FIELDS = ("name", "gravity", "tool", "allow_unphysical", "fidelity", "rotors_in_links", "transmissions")


def write_urdf(
    robot: Robot,
    path: str | os.PathLike[str],
    drives: str | os.PathLike[str] | None = None,
    *,
    root: str = BASE,
    geometry: Mapping[str, Sequence[Geometry]] | None = None,
) -> tuple[Finding, ...]:
    """Write a robot as a URDF file, and what URDF cannot say as a drive file; returns what neither file holds.

    `fj.load(path, drives=drives)` is bit-identical to the robot: same digest.  Both files are written or none.

    Args:
        robot: any robot with revolute, prismatic and fixed joints whose drives and springs have a name in robot files.
        path: path of the file, `x.urdf`.
        drives: path of the drive file, `x.drives.toml`.  Default None: motors behind springs, spring laws and all else
            that URDF has no words for are left out, and reported.
        root: name of the root link in the file.  Default "base", as it is called in every robot.
        geometry: bodies by link, as `read_urdf(...).geometry` has them, for <visual> and <collision>.  Default none.

    Returns:
        A `Finding` per part of the robot that the files do not hold.

    Raises:
        InputError: `robot` is not a `Robot`.
        RobotError: URDF has no type for a joint, a name cannot stand in XML, or a file cannot be written.

    Warns:
        FlexjointWarning: the report is not empty.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("kuka_lwr")
        >>> fj.formats.write_urdf(robot, "lwr.urdf", drives="lwr.drives.toml")
        ()
        >>> fj.load("lwr.urdf", drives="lwr.drives.toml") == robot
        True
    """
    place = path_text(path, WHAT)
    known = numeric("write_urdf", robot)
    text = urdf_text(known, root, geometry or {}, os.path.dirname(place))
    files = {place: text}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FlexjointWarning)  # given when the robot was made
        read = parse_urdf(text.encode(), place).robot
        if drives is not None:
            file = path_text(drives, "drive file (.drives.toml)")
            files[file] = drive_file_text(known, read, Path(place).name)
            read = DriveFile(files[file], file).applied(read)
    if drives is not None and len(files) == 1:
        raise RobotError(f"{quoted(place)} is given for the URDF and for the drives: give two paths")
    report = tuple(losses(known, read, drives is not None))
    if report:
        parts = listed([x.what for x in report], most=6)
        remedy = "" if drives is not None else "; drives= names a drive file for what belongs to the drives"
        warn(f"{quoted(place)}: not in the file: {parts}{remedy}")
    try:
        with ExitStack() as written:  # the files are put in place at its end
            for name, contents in files.items():
                written.enter_context(replacing(name)).write(contents.encode())
    except OSError as error:
        raise RobotError(f"{quoted(error.filename)}: the file cannot be written: {error.strerror}") from error
    return report


def losses(robot: Robot, read: Robot, driven: bool) -> Iterator[Finding]:
    """What of a robot does not come back when its files are read."""
    for name in TOP_FIELDS:
        if not np.array_equal(getattr(robot, name), getattr(read, name)):
            of_drives = not driven and name in ("fidelity", "rotors_in_links", "transmissions")
            reason = "only a drive file holds it" if of_drives else "URDF cannot hold it"
            yield Finding(0, name, f"{reason}; read back as {shown(getattr(read, name))}")
    for link, other in zip(robot.links, read.links):
        own, back = plain(link_entries(link)), plain(link_entries(other))
        for key in dict.fromkeys((*own, *back)):
            if own.get(key) != back.get(key):
                reason = "only a drive file holds it" if key in JOINT_KEYS and not driven else "URDF cannot hold it"
                yield Finding(0, f"{key} of '{link.joint.name if key in JOINT_KEYS else link.name}'", reason)


# The file -----------------------------------------------------------------------------------------------------------


def urdf_text(robot: Robot, root: str, bodies: Mapping[str, Sequence[Geometry]], folder: str) -> str:
    """Contents of the URDF of a robot for a file in a folder; see `write_urdf`."""
    names = {link.name: link.name for link in robot.links}
    if not isinstance(root, str) or not root or root in names:
        raise RobotError(f"the root is named {shown(root)}: give a name that no link has")
    if unknown := [name for name in bodies if name not in names and name != root]:
        raise RobotError(f"geometry of {listed(unknown, most=4)}: there are no such links")
    names[BASE] = root
    top = {"name": robot.name, "xmlns:flexjoint": NAMESPACE}
    if robot.gravity.tolist() != [0.0, 0.0, -9.81]:
        top[GRAVITY] = numbers(robot.gravity)
    if robot.tool != robot.links[-1].name:
        top[TOOL] = robot.tool
    if robot.allow_unphysical:
        top[UNPHYSICAL] = "true"
    lines = ['<?xml version="1.0" encoding="utf-8"?>', f"<robot{attributes(top)}>"]
    lines += block("link", {"name": root}, geometry_lines(bodies.get(root, ()), folder))
    for link in robot.links:
        body = [*inertial_lines(link), *geometry_lines(bodies.get(link.name, ()), folder)]
        lines += block("link", {"name": link.name}, body)
    for link in robot.links:
        lines += joint_lines(link, names)
    coupled = {name for group in robot.transmissions for name in group.joints}
    for link in robot.links:
        if link.joint.name not in coupled:
            lines += transmission_lines(link.joint)
    return "\n".join([*lines, "</robot>\n"])


def inertial_lines(link: Link) -> list[str]:
    """The <inertial> of a link; none of a frame."""
    if not link.mass and not np.any(link.com) and not np.any(link.inertia):
        return []
    I = link.inertia
    entries = {f"i{'xyz'[i]}{'xyz'[k]}": number(I[i, k]) for i in range(3) for k in range(i, 3)}
    if not np.array_equal(I, I.T):
        entries[MATRIX] = numbers(I.ravel())
    inside = [
        *element("origin", {"xyz": numbers(link.com), "rpy": "0 0 0"}),
        *element("mass", {"value": number(link.mass)}),
        *element("inertia", entries),
    ]
    return block("inertial", {}, inside)


def joint_lines(link: Link, names: Mapping[str, str]) -> list[str]:
    """The <joint> of a link."""
    joint = link.joint
    if joint.kind.name not in TYPES:
        raise RobotError(
            f"joint '{joint.name}' is {joint.kind.name}, for which URDF has no type: write the robot with "
            'fj.write_robot(robot, "x.toml")'
        )
    bounded = any(math.isfinite(x) for x in (joint.limits.lower, joint.limits.upper))
    kind = "continuous" if joint.kind.name == "revolute" and not bounded else TYPES[joint.kind.name]
    inside = [
        *element("parent", {"link": names[link.parent]}),
        *element("child", {"link": link.name}),
        *element("origin", pose(joint.position, joint.rotation)),
    ]
    if joint.moves:
        inside += element("axis", {"xyz": numbers(joint.axis)})
        inside += [*limit_lines(joint.limits, kind), *dynamics_lines(joint)]
    if joint.mimic is not None:
        mimic = joint.mimic
        given = {"joint": mimic.joint, "multiplier": number(mimic.ratio), "offset": number(mimic.offset)}
        inside += element("mimic", given)
    return block("joint", {"name": joint.name, "type": kind}, inside)


def limit_lines(limits: Limits, kind: str) -> list[str]:
    """The <limit> of a joint; other readers require effort and velocity, also where there is no limit."""
    bounds = {"effort": limits.effort, "velocity": limits.velocity}
    if kind == "continuous" and not any(map(math.isfinite, bounds.values())):
        return []
    if kind != "continuous":
        bounds = {"lower": limits.lower, "upper": limits.upper, **bounds}
    return element("limit", {key: number(min(max(x, -NO_LIMIT), NO_LIMIT)) for key, x in bounds.items()})


def dynamics_lines(joint: Joint) -> list[str]:
    """The <dynamics> of a joint: viscous and Coulomb friction of the link and of a motor that turns with it."""
    drive = joint.drive
    laws = [friction_law(joint)]
    laws += [friction_law(drive.motor)] if isinstance(drive, RigidDrive | ElasticDrive) else []
    friction = {"damping": sum(x.viscous for x in laws), "friction": sum(x.coulomb for x in laws)}
    return element("dynamics", {key: number(x) for key, x in friction.items()}) if any(friction.values()) else []


def transmission_lines(joint: Joint) -> list[str]:
    """The <transmission> of a joint with one motor: its reduction, and its inertia before the reduction."""
    if not isinstance(joint.drive, RigidDrive | ElasticDrive):
        return []
    motor = joint.drive.motor
    inertia, ratio = (motor.inertia, None) if motor.axial_inertia is None else (motor.axial_inertia, motor.gear_ratio)
    interface = "<hardwareInterface>hardware_interface/EffortJointInterface</hardwareInterface>"
    rotor = [f"<mechanicalReduction>{number(ratio)}</mechanicalReduction>"] if ratio is not None else []
    rotor.append(f"<motorInertia>{number(inertia)}</motorInertia>")
    inside = [
        "<type>transmission_interface/SimpleTransmission</type>",
        *block("joint", {"name": joint.name}, [interface]),
        *block("actuator", {"name": f"{joint.name}_motor"}, rotor),
    ]
    return block("transmission", {"name": f"{joint.name}_transmission"}, inside)


def geometry_lines(bodies: Iterable[Geometry], folder: str) -> list[str]:
    """The <visual> and <collision> elements of a link; relative paths of meshes become relative to the folder."""
    lines = []
    for x in bodies:
        moved = x.path is not None and "://" not in x.file and not os.path.isabs(x.file)
        file = os.path.relpath(x.path, folder or ".") if moved and x.path else x.file
        size = {
            "box": {"size": numbers(x.size)},
            "sphere": {"radius": number(x.size[0])},
            "mesh": {"filename": file, "scale": numbers(x.size)},
        }.get(x.kind) or {"radius": number(x.size[0]), "length": number(x.size[1])}
        shape = block("geometry", {}, element(x.kind, size))
        lines += block(x.role, {}, [*element("origin", pose(x.position, x.rotation)), *shape])
    return lines


def pose(position: FloatArray, rotation: FloatArray) -> dict[str, str]:
    """The attributes of an <origin> from which `read_pose` gets the same bits."""
    angles = exact_angles(rotation)
    found = {"xyz": numbers(position), "rpy": numbers(angles)}
    if not np.array_equal(rotation_rpy(*angles, QUARTER_TURN), rotation):
        found[ROTATION] = numbers(rotation.ravel())
    return found


def exact_angles(rotation: FloatArray) -> tuple[float, float, float]:
    """Roll, pitch and yaw whose rotation is the given one to the last bit, with few digits where they exist."""
    roll, pitch, yaw = angles = rpy_angles(rotation)
    over = opposite(roll), math.copysign(math.pi, pitch) - pitch, opposite(yaw)  # the same rotation, |pitch| > π/2
    for digits in DIGITS:
        for x in (angles, over):
            short = [float(f"{angle:.{digits}g}") + 0.0 for angle in x]
            near = all(abs(one - other) <= ROUNDING for one, other in zip(short, x))
            if near and np.array_equal(rotation_rpy(short[0], short[1], short[2], QUARTER_TURN), rotation):
                return short[0], short[1], short[2]
    return angles


def opposite(angle: float) -> float:
    """An angle half a turn further, within ±π."""
    return angle - math.copysign(math.pi, angle)


# XML ----------------------------------------------------------------------------------------------------------------


def element(tag: str, entries: Mapping[str, str]) -> list[str]:
    """An element without content."""
    return [f"<{tag}{attributes(entries)}/>"]


def block(tag: str, entries: Mapping[str, str], inside: Iterable[str]) -> list[str]:
    """An element with others in it, indented."""
    lines = [f"  {x}" for x in inside]
    return [f"<{tag}{attributes(entries)}>", *lines, f"</{tag}>"] if lines else element(tag, entries)


def attributes(entries: Mapping[str, str]) -> str:
    """Attributes of an element; texts that XML cannot hold are refused."""
    for text in entries.values():
        if wrong := NOT_XML.search(text):
            raise RobotError(f"the name {shown(text)} has the character {wrong[0]!r}, which XML cannot hold: rename it")
    return "".join(f" {key}={quoteattr(text)}" for key, text in entries.items())


def numbers(values: Iterable[float]) -> str:
    """Numbers with spaces between them."""
    return " ".join(map(number, values))


def number(value: float) -> str:
    """A number with all its digits."""
    return repr(float(value) + 0.0).removesuffix(".0")
