"""URDF files as robots, in the link frames of the file.

The root link is the base.  Joint axes keep their direction in the link frames (`Joint.axis`), so poses, Jacobians and
wrenches are those of the file's own frames.  What the file says about motors and springs becomes drives:

    <transmission> mechanicalReduction n, motorInertia J      RigidDrive with the reflected inertia n² J
    <dynamics K D> beside a motor inertia                     ElasticDrive with this stiffness and damping

Links are taken without their rotors (`rotors_in_links=False`), as Drake takes them: the mass matrix is that of the
links plus n² J.  Everything that carries dynamics and is not used is in the report.
"""

from __future__ import annotations

import os
from collections.abc import Container, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...checks import is_number
from ...errors import InputError, RobotError, quoted, shown, warn
from ...file_limits import require
from ...robot import Robot
from ..loading import GEOMETRY, READERS, REPORTS
from ..report import Finding, Note, notes, summary
from ..toml import path_text, read_bytes
from ..tree.assembly import (
    COULOMB_VELOCITY,
    assembled,
    by_link,
    has_coulomb_friction,
    link_names,
    moving_names,
    with_tool,
)
from ..tree.choice import Locked, Tree, chosen_tree, followers_locked, locked_values
from ..tree.records import Geometry, JointData, LinkData
from ..xml import Element, line_not_utf_8, mark_read, parse_xml
from .elements import (
    NOT_MODELLED,
    ActuatorData,
    DifferentialData,
    read_geometry,
    read_joint,
    read_link,
    read_transmission,
)
from .extensions import with_stated_fields
from .motors import drive_of, with_differentials
from .packages import Packages, resolved
from .report import unread

WHAT = "robot file (.urdf)"
GRAVITY = np.array([0.0, 0.0, -9.81])  # m/s²; URDF has none
WORLD = "world"  # a link that Drake's files need not define


class UrdfRobot(NamedTuple):
    """A robot from a URDF file, with the report and the geometry of the file.

    Attributes:
        robot: the `Robot`.
        report: `Finding`s in the order of the file: unused entries that affect dynamics, entries that are probably
            wrong, and chosen defaults.
        geometry: bodies of <visual> and <collision> with their poses in the link frames, by link.
        root: name in the file of the link that is the base.
        names: names of the links in the robot, by those in the file.
    """

    robot: Robot
    report: tuple[Finding, ...]
    geometry: dict[str, tuple[Geometry, ...]]
    root: str
    names: dict[str, str]


def read_urdf(
    path: str | os.PathLike[str],
    *,
    locked: Locked = None,
    root: str | None = None,
    tip: str | None = None,
    tool: str | None = None,
    packages: Packages = None,
    coulomb_velocity: float = COULOMB_VELOCITY,
) -> UrdfRobot:
    """The robot in a URDF file, with a report of what was not used.

    Args:
        path: path of the file, `x.urdf`; a .xacro file is expanded first, which executes code in it.
        locked: joints that do not move: positions by name, in rad or m, or names, for 0.  Default none.
        root: name of the link that is the base.  Default the root of the file.
        tip: name of a link; only the chain from the root to it, with links fixed to the chain, is read.  Default all.
        tool: name of the tool link.  Default `tip`, or the last link.
        packages: where package://NAME/... lies: folders by name, or folders that contain packages.  Default
            ROS_PACKAGE_PATH, AMENT_PREFIX_PATH and the folders above the file.
        coulomb_velocity: v_c of the friction F tanh(v/v_c), which a URDF does not give, in rad/s or m/s.  Default 0.01.

    Returns:
        UrdfRobot(robot, report, geometry, root, names).

    Raises:
        RobotError: the file is wrong, or has joints that are not modelled; the message names the line.
        InputError: an option names a link or joint that does not exist.

    Example:
        >>> import flexjoint as fj
        >>> text = '''<robot name="pendulum"><link name="base"/>
        ... <link name="arm"><inertial><origin xyz="0.3 0 0"/><mass value="2"/>
        ...   <inertia ixx="0.01" iyy="0.02" izz="0.02"/></inertial></link>
        ... <joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/></joint>
        ... </robot>'''
        >>> _ = open("pendulum.urdf", "w").write(text)
        >>> fj.formats.read_urdf("pendulum.urdf").robot
        Robot('pendulum', R, 1 link, tool 'arm')
    """
    place = path_text(path, WHAT)
    if Path(place).suffix.lower() == ".xacro":
        from .xacro import expanded

        data = expanded(place, WHAT, packages)
    else:
        data = read_bytes(place, WHAT, limit="xml_bytes")
    return parse_urdf(
        *(data, place),
        locked=locked,
        root=root,
        tip=tip,
        tool=tool,
        packages=packages,
        coulomb_velocity=coulomb_velocity,
    )


@READERS.register(".urdf")
@READERS.register(".xacro")
def load_urdf(
    path: str,
    *,
    locked: Locked = None,
    root: str | None = None,
    tip: str | None = None,
    tool: str | None = None,
    packages: Packages = None,
) -> Robot:
    """The robot in a URDF file; warns once if entries are not used."""
    found = read_urdf(path, locked=locked, root=root, tip=tip, tool=tool, packages=packages)
    REPORTS[found.robot], GEOMETRY[found.robot] = found.report, by_link(found.geometry, found.names)
    if message := summary(quoted(path), found.report):
        warn(message)
    return found.robot


def parse_urdf(
    data: bytes,
    place: str,
    *,
    locked: Locked = None,
    root: str | None = None,
    tip: str | None = None,
    tool: str | None = None,
    packages: Packages = None,
    coulomb_velocity: float = COULOMB_VELOCITY,
) -> UrdfRobot:
    """The robot described by the contents of a URDF file; see `read_urdf`."""
    if not is_number(coulomb_velocity) or not 0 < coulomb_velocity < np.inf:
        raise InputError(f"coulomb_velocity is {shown(coulomb_velocity)}: give a positive number, in rad/s or m/s")
    label = quoted(place)
    top = parse_xml(data, label)
    if top.tag != "robot":
        kind = {"mujoco": "MJCF", "sdf": "SDF"}.get(top.tag, f"an XML file of <{quoted(top.tag)}>")
        renamed = ": rename the file to .xml" if top.tag == "mujoco" else ""
        raise RobotError(f"{label}: this is {kind}, not a URDF, whose root element is <robot>{renamed}")
    report, note = notes(label)
    if line := line_not_utf_8(data):
        reason = "not UTF-8, and no other encoding is declared: read as ISO-8859-1"
        report.append(Finding(line, "text", reason, "chosen"))
    links, joints, motors, differentials, elements = read_elements(top, label, note)
    fixed_at = followers_locked(joints, locked_values(locked, joints, label))
    tree = chosen_tree(links, list(joints.values()), fixed_at, root, tip, label, note)
    moving = moving_names(tree, fixed_at)
    note_frames(tree, links, moving, note)
    for i, x in enumerate(tree.joints):
        if x.name in moving:
            tree.joints[i] = x._replace(drive=drive_of(x, motors.get(x.name), coulomb_velocity, note))
    top.read.add("name")
    name = top.attributes.get("name") or Path(place).stem or "robot"
    robot = assembled(name, tree, links, fixed_at, GRAVITY, coulomb_velocity, label, note)
    if has_coulomb_friction(robot):
        reason = f"Coulomb friction acts as F tanh(v/{coulomb_velocity:g}): URDF has no velocity scale"
        note(top, "<dynamics friction>", reason, "chosen")
    robot = with_tool(robot, tool if tool is not None else tip, tree, label)
    robot = with_differentials(robot, differentials, label, note)
    robot = with_stated_fields(robot, top, tool=tool is None and tip is None)
    names = {tree.root, *(x.child for x in tree.joints)}
    geometry = {
        name: tuple(read_geometry(elements[name], note, lambda file: resolved(file, place, packages))) for name in names
    }
    report += unread(top)
    report.sort(key=lambda x: x.line)
    shapes = {name: x for name, x in geometry.items() if x}
    return UrdfRobot(robot, tuple(report), shapes, tree.root, link_names(tree, lambda *_: None, links))


def read_elements(
    top: Element, place: str, note: Note
) -> tuple[
    dict[str, LinkData], dict[str, JointData], dict[str, ActuatorData], list[DifferentialData], dict[str, Element]
]:
    """Links, joints and motors by name, differentials, and elements of links by name."""
    top.seen = True
    for x in top.children:
        if x.tag in NOT_MODELLED:
            name = quoted(x.attributes.get("name", ""))
            raise x.wrong(f"<{x.tag}> '{name}', {NOT_MODELLED[x.tag]}, is not modelled: remove it to go on without it")
    found = {"link": top.all("link"), "joint": top.all("joint", "drake:joint")}
    for tag, elements in found.items():
        require("links", len(elements), place, RobotError)
        by_name: dict[str, Element] = {}
        for x in elements:
            if (name := x.name()) in by_name:
                first = by_name[name].line
                raise x.wrong(f"the {tag} name '{quoted(name)}' is used twice, first in line {first}: rename one")
            by_name[name] = x
    if not found["link"]:
        remedy = ""
        if any(x.tag.startswith("xacro:") for x in top.children):
            remedy = ": it holds xacro macros; expand the file that uses them, `xacro x.xacro > x.urdf`"
        elif other := next((x for x in top.children if x.tag.lower() == "link"), None):
            remedy = f"; line {other.line} has <{other.tag}>: names of elements are in lower case"
        raise RobotError(f"{place}: <robot> has no <link>{remedy}")
    links = {x.name(): read_link(x, note) for x in found["link"]}
    joints = {x.name(): read_joint(x, note) for x in found["joint"]}
    of_links = {x.name(): x for x in found["link"]}
    on_world = next((x for x in joints.values() if x.parent == WORLD), None)
    if WORLD not in links and on_world is not None:
        reason = "the file has no link 'world': it is taken as the base"
        note(on_world.element, f"<joint> '{on_world.name}'", reason, "chosen")
        of_links[WORLD] = Element("link", {"name": WORLD}, on_world.element.line, place)
        links[WORLD] = read_link(of_links[WORLD], note)
    motors: dict[str, ActuatorData] = {}
    differentials = []
    controls = top.all("ros2_control")
    for x in [*top.all("transmission"), *(y for control in controls for y in control.all("transmission"))]:
        try:
            data = read_transmission(x, note)
        except RobotError as error:
            note(x, f"<transmission> '{x.attributes.get('name', '')}'", f"not used: {error}", "suspicious")
            mark_read(x)
            continue
        if isinstance(data, DifferentialData):
            differentials.append(data)
        elif data is not None and data.joint not in joints:
            note(x, f"<transmission> of '{data.joint}'", "there is no such joint", "suspicious")
        elif data is not None and data.joint in motors:
            note(x, f"<transmission> of '{data.joint}'", "another transmission drives this joint already", "unused")
        elif data is not None:
            motors[data.joint] = data
    for control in controls:
        for x in control.all("joint"):
            x.read.add("name")
    return links, joints, motors, differentials, of_links


def note_frames(tree: Tree, links: Mapping[str, LinkData], moving: Container[str], note: Note) -> None:
    """Report links without mass on joints that move."""
    for data in tree.joints:
        link = links[data.child]
        if data.name in moving and not link.mass and not link.inertia.any():
            carried = "it has no <inertial>" if link.element.first("inertial") is None else "its mass is 0"
            note(link.element, f"<link> '{link.name}'", f"{carried}: a frame without mass", "chosen")
