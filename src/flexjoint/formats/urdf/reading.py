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
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...checks import is_number
from ...drives import CoupledTransmission, Drive, ElasticDrive, Motor, RigidDrive
from ...errors import InputError, RobotError, quoted, shown, warn
from ...robot import Robot
from ..loading import READERS, REPORTS
from ..report import Finding, Note, notes, summary
from ..toml import path_text, read_bytes
from ..tree.assembly import COULOMB_VELOCITY, assembled, has_coulomb_friction, moving_names, with_tool
from ..tree.choice import Locked, Tree, chosen_tree, followers_locked, locked_values
from ..tree.records import Geometry, JointData, LinkData
from ..xml import MAX_BYTES, Element, mark_read, parse_xml
from .elements import (
    LOOPS,
    ActuatorData,
    DifferentialData,
    read_geometry,
    read_joint,
    read_link,
    read_transmission,
)
from .packages import Packages, resolved
from .report import unread

WHAT = "robot file (.urdf)"
GRAVITY = np.array([0.0, 0.0, -9.81])  # m/s²; URDF has none
MAX_JOINTS = 1_000  # and links; a robot of 1000 joints loads in 0.7 s


class UrdfRobot(NamedTuple):
    """A robot from a URDF, with what the file has beyond it.

    Attributes:
        robot: the `Robot`.
        report: a `Finding` per entry that carries dynamics and is not used, that is probably wrong, or for which
            something was chosen, in the order of the file.
        geometry: bodies of <visual> and <collision> with their poses in the link frames, by link.
        root: name in the file of the link that is the base.
    """

    robot: Robot
    report: tuple[Finding, ...]
    geometry: dict[str, tuple[Geometry, ...]]
    root: str


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
        UrdfRobot(robot, report, geometry, root).

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

        data = expanded(place)
    else:
        data = read_bytes(place, WHAT, most=MAX_BYTES)
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
    REPORTS[found.robot] = found.report
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
        raise RobotError(f"{label}: this is {kind}, not a URDF, whose root element is <robot>")
    report, note = notes(label)
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
    names = {tree.root, *(x.child for x in tree.joints)}
    geometry = {
        name: tuple(read_geometry(elements[name], note, lambda file: resolved(file, place, packages))) for name in names
    }
    report += unread(top)
    report.sort(key=lambda x: x.line)
    return UrdfRobot(robot, tuple(report), {name: x for name, x in geometry.items() if x}, tree.root)


def read_elements(
    top: Element, place: str, note: Note
) -> tuple[
    dict[str, LinkData], dict[str, JointData], dict[str, ActuatorData], list[DifferentialData], dict[str, Element]
]:
    """Links, joints and motors by name, differentials, and elements of links by name."""
    top.seen = True
    for x in top.children:
        if x.tag in LOOPS:
            raise x.wrong(f"<{x.tag}> '{quoted(x.attributes.get('name', ''))}' is not modelled: remove it")
    found = {"link": top.all("link"), "joint": top.all("joint")}
    for tag, elements in found.items():
        if len(elements) > MAX_JOINTS:
            raise RobotError(f"{place}: there are {len(elements)} {tag}s; at most {MAX_JOINTS} are read")
        by_name: dict[str, Element] = {}
        for x in elements:
            if (name := x.name()) in by_name:
                first = by_name[name].line
                raise x.wrong(f"the {tag} name '{quoted(name)}' is used twice, first in line {first}: rename one")
            by_name[name] = x
    if not found["link"]:
        macros = any(x.tag.startswith("xacro:") for x in top.children)
        remedy = ": it holds xacro macros; expand the file that uses them" if macros else ""
        raise RobotError(f"{place}: <robot> has no <link>{remedy}")
    links = {x.name(): read_link(x, note) for x in found["link"]}
    joints = {x.name(): read_joint(x, note) for x in found["joint"]}
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
    return links, joints, motors, differentials, {x.name(): x for x in found["link"]}


def note_frames(tree: Tree, links: Mapping[str, LinkData], moving: Container[str], note: Note) -> None:
    """Report links without mass on joints that move."""
    for data in tree.joints:
        link = links[data.child]
        if data.name in moving and not link.mass:
            carried = "it has no <inertial>" if link.element.first("inertial") is None else "its mass is 0"
            note(link.element, f"<link> '{link.name}'", f"{carried}: a frame without mass", "chosen")


# Motors -------------------------------------------------------------------------------------------------------------


def drive_of(data: JointData, motor: ActuatorData | None, coulomb_velocity: float, note: Note) -> Drive | None:
    """The drive of a joint from its transmission and from Franka's K and D."""
    K, D, element = data.stiffness, data.spring_damping, data.element.first("dynamics") or data.element
    ratio, rotor = (motor.reduction, motor.rotor_inertia) if motor is not None else (None, None)
    if motor is not None and ratio is not None and not abs(ratio) > 0:
        note(motor.element, f"reduction of '{data.name}'", "0: not used", "suspicious")
        ratio = None
    if motor is not None and rotor is not None and rotor < 0:
        note(motor.element, f"motor inertia of '{data.name}'", f"{rotor:g} is negative: not used", "suspicious")
        rotor = None
    inertia = (1.0 if ratio is None else ratio * ratio) * (rotor or 0.0)
    if K is not None and K > 0 and inertia > 0:
        over = coulomb_velocity if data.friction else 0.0
        motor_side = Motor(inertia, coulomb_friction=data.friction, coulomb_velocity=over, gear_ratio=ratio)
        return ElasticDrive(K, motor_side, max(D or 0.0, 0.0))
    for key, value in (("K", K), ("D", D)):
        if value:
            reason = f"{value:g}, stiffness and damping of an elastic joint: not used, as there is no motor inertia"
            note(element, f"<dynamics {key}> of '{data.name}'", f"{reason}; a drive file gives all three", "unused")
    return None if ratio is None and rotor is None else RigidDrive(Motor(inertia, gear_ratio=ratio))


def with_differentials(robot: Robot, differentials: Iterable[DifferentialData], place: str, note: Note) -> Robot:
    """The robot with the differentials whose motor inertias are given as coupled transmissions; others are reported.

    θ_1 = n_1 (k_1 q_1 + k_2 q_2), θ_2 = n_2 (k_1 q_1 − k_2 q_2), so that after the reductions n the matrix is
    [[k_1, k_2], [k_1, −k_2]].
    """
    free = [joint.name for joint in robot.joints]
    motors: dict[str, RigidDrive] = {}
    groups = []
    for x in differentials:
        inertias = [motor.rotor_inertia or 0.0 for motor in x.actuators]
        ratios = [motor.reduction or 1.0 for motor in x.actuators]
        usable = all(inertia > 0 for inertia in inertias) and x.joints[0] != x.joints[1]
        if not usable or not set(x.joints) <= set(free) - motors.keys():
            reason = "couples two joints, but has no motor inertias: torques are those of the joints"
            note(x.element, f"<transmission> '{x.element.attributes.get('name', '')}'", reason, "unused")
            continue
        for name, inertia, n in zip(x.joints, inertias, ratios):
            motors[name] = RigidDrive(Motor(n * n * inertia, gear_ratio=n))
        k1, k2 = x.joint_reductions
        groups.append(CoupledTransmission(x.joints, [[k1, k2], [k1, -k2]]))
    if not groups:
        return robot
    drives = [motors.get(joint.name, joint.drive) for joint in robot.joints]
    try:
        return robot.with_drives(drives).replace(transmissions=tuple(groups), rotors_in_links=False)
    except RobotError as error:
        raise RobotError(f"{place}: {error}") from None


