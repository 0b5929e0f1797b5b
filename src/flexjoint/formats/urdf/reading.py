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
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ...checks import ROUNDING, is_number
from ...drives import CoupledTransmission, Drive, ElasticDrive, Motor, RigidDrive
from ...errors import InputError, RobotError, quoted, shown, warn
from ...numerics import product
from ...robot import BASE, Joint, Link, Mimic, Robot
from ...robot.joints.fixed import Fixed
from ...robot.joints.prismatic import Prismatic
from ...robot.joints.revolute import Revolute
from ...robot.model import unused
from ...spatial import rotation_onto, rotation_z, unit_vector
from ...types import FloatArray
from ..loading import GEOMETRY, READERS, REPORTS
from ..toml import path_text, read_bytes, suggestion
from .elements import (
    LOOPS,
    QUARTER_TURN,
    ActuatorData,
    DifferentialData,
    Geometry,
    JointData,
    LinkData,
    Note,
    finding,
    read_geometry,
    read_joint,
    read_link,
    read_transmission,
)
from .extensions import with_stated_fields
from .packages import Packages, resolved
from .report import Finding, summary, unread
from .tree import Locked, Tree, chosen_tree, is_fixed, locked_values
from .xml import MAX_BYTES, Element, mark_read, parse_xml

WHAT = "robot file (.urdf)"
MAX_JOINTS = 1_000  # and links; a robot of 1000 joints loads in 0.7 s
NO_INERTIA = 1e-15  # m², the square of 32 nm: what is less per mass is rounding
COULOMB_VELOCITY = 0.01  # rad/s or m/s; URDF gives Coulomb friction without it


class UrdfRobot(NamedTuple):
    """A robot from a URDF, with what the file has beyond it.

    Attributes:
        robot: the `Robot`.
        report: a `Finding` per entry that carries dynamics and is not used, that is probably wrong, or for which
            something was chosen, in the order of the file.
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
    REPORTS[found.robot], GEOMETRY[found.robot] = found.report, geometry_by_link(found)
    if message := summary(quoted(path), found.report):
        warn(message)
    return found.robot


def geometry_by_link(found: UrdfRobot) -> dict[str, tuple[Geometry, ...]]:
    """The geometry by names of links in the robot."""
    return {found.names[name]: bodies for name, bodies in found.geometry.items()}


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
    report: list[Finding] = []

    def note(*what: object) -> None:
        report.append(finding(*what))  # type: ignore[arg-type]

    links, joints, motors, differentials, elements = read_elements(top, label, note)
    fixed_at = followers_locked(joints, locked_values(locked, joints, label))
    tree = chosen_tree(links, list(joints.values()), fixed_at, root, tip, label, note)
    robot = assembled(top, tree, links, motors, fixed_at, coulomb_velocity, label, note)
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


def followers_locked(joints: Mapping[str, JointData], locked: Mapping[str, float]) -> dict[str, float]:
    """Locked joints, with those that follow a joint that is locked or fixed."""
    found = dict(locked)
    for joint in joints.values():
        path: list[JointData] = []
        while joint.mimic is not None and joint.name not in found and joint not in path and joint.type != "fixed":
            path.append(joint)
            if joint.mimic.joint not in joints:
                message = f"joint '{quoted(joint.name)}' follows the joint '{quoted(joint.mimic.joint)}'"
                raise joint.mimic.element.wrong(f"{message}; {suggestion(joint.mimic.joint, joints)}")
            joint = joints[joint.mimic.joint]
        if joint.name in found or joint.type == "fixed":
            value = found.get(joint.name, 0.0)
            for x in reversed(path):
                value = x.mimic.multiplier * value + x.mimic.offset  # type: ignore[union-attr]
                found[x.name] = value
    return found


# The robot ----------------------------------------------------------------------------------------------------------


def assembled(
    top: Element,
    tree: Tree,
    links: Mapping[str, LinkData],
    motors: Mapping[str, ActuatorData],
    locked: Mapping[str, float],
    coulomb_velocity: float,
    place: str,
    note: Note,
) -> Robot:
    """The robot of a tree of joints."""
    moving = {x.name for x in tree.joints if not is_fixed(x, locked)}
    if not moving:
        what = "all joints are fixed or locked" if tree.joints else "one link and no joint"
        raise RobotError(f"{place}: {what}: nothing moves on the base, so there are no joint torques")
    base = links[tree.root]
    if base.mass:
        reason = f"{base.mass:g} kg of the base, which does not move: no torque depends on them"
        note(base.element, f"<inertial> of '{base.name}'", reason, "chosen")
    names = link_names(tree, note, links)
    links = {**links, **physical_links(tree, links, moving, note)}
    made = []
    for data in tree.joints:
        link = links[data.child]
        if data.name in moving and not link.mass:
            carried = "it has no <inertial>" if link.element.first("inertial") is None else "its mass is 0"
            note(link.element, f"<link> '{link.name}'", f"{carried}: a frame without mass", "chosen")
        if data.name in moving:
            joint = moving_joint(data, motors, moving, coulomb_velocity, note)
        else:
            joint = fixed_joint(data, locked)
        made.append(Link(names[data.child], joint, names[data.parent], link.mass, link.com, link.inertia))
    if any(x.joint.coulomb_friction or friction_of_motor(x.joint) for x in made):
        reason = f"Coulomb friction acts as F tanh(v/{coulomb_velocity:g}): URDF has no velocity scale"
        note(top, "<dynamics friction>", reason, "chosen")
    name = top.attributes.get("name") or Path(place).stem or "robot"
    top.read.add("name")
    rotors = not any(x.joint.drive is not None and x.joint.drive.motors[0].inertia for x in made)
    unphysical = any(is_unphysical(links[x.child]) for x in tree.joints)
    try:
        return Robot(name, tuple(made), allow_unphysical=unphysical, rotors_in_links=rotors)
    except RobotError as error:
        raise RobotError(f"{place}: {error}") from None


def link_names(tree: Tree, note: Note, links: Mapping[str, LinkData]) -> dict[str, str]:
    """Names in the robot by names in the file: the root is the base, and no other link may be named so."""
    names = {x.child: x.child for x in tree.joints}
    if BASE in names:
        other = unused(f"{BASE}_frame", names)
        note(links[BASE].element, f"<link> '{BASE}'", f"named '{other}' here: '{BASE}' is the root", "chosen")
        names |= {BASE: other}
    return {**names, tree.root: BASE}


def physical_links(tree: Tree, links: Mapping[str, LinkData], moving: Iterable[str], note: Note) -> dict[str, LinkData]:
    """The links whose inertia is changed, by name; unphysical ones that are used as given are reported.

    Negative principal moments are refused, but set to 0 in links that do not move and where they are no more than
    rounding of a point mass.
    """
    at_rest, changed = {tree.root}, {}
    for joint in tree.joints:
        link = links[joint.child]
        if joint.parent in at_rest and joint.name not in moving:
            at_rest.add(joint.child)
        inertial = link.element.first("inertial")
        if inertial is None or not np.any(link.inertia):
            if link.mass:
                note(inertial or link.element, f"<inertial> of '{link.name}'", "a point mass", "suspicious")
            continue
        what = f"<inertia> of '{link.name}'"
        moments = np.linalg.eigvalsh(link.inertia)
        described = f"the principal moments {', '.join(f'{x:.4g}' for x in moments)} kg m²"
        if moments[0] < -ROUNDING * abs(moments[-1]):
            rounding = float(np.max(np.abs(moments))) <= NO_INERTIA * link.mass
            if not rounding and joint.child not in at_rest:
                raise inertial.wrong(
                    f"the inertia of link '{quoted(link.name)}' has {described}: none can be negative; check the order "
                    "and signs of its elements, and that it is taken about the centre of mass"
                )
            why = "rounding" if rounding else "the link does not move"
            note(inertial, what, f"no body has {described}: taken as 0, {why}", "suspicious")
            changed[joint.child] = link._replace(inertia=np.zeros((3, 3)))
        elif is_unphysical(link):
            mass = "" if link.mass else " without mass"
            note(inertial, what, f"no rigid body{mass} has {described}; used as given", "suspicious")
    return changed


def is_unphysical(link: LinkData) -> bool:
    """Whether a link has an inertia that no rigid body with mass and an extent in all directions has."""
    if not link.mass:
        return bool(np.any(link.inertia))
    moments = np.linalg.eigvalsh(link.inertia)
    thin = moments[0] <= ROUNDING * abs(moments[-1])
    return bool(thin or moments[0] + moments[1] < moments[2] * (1 - ROUNDING))


def fixed_joint(data: JointData, locked: Mapping[str, float]) -> Joint:
    """A fixed joint, in the pose of the file or moved to where it is locked."""
    R, p, q = data.rotation, data.position, locked.get(data.name, 0.0)
    if q and data.type == "prismatic":
        p = p + q * product(R, unit_vector(data.axis))
    elif q:
        R = product(R, rotation_about(data.axis, q))
    return Joint(data.name, Fixed(), p, R)


def rotation_about(axis: FloatArray, angle: float) -> FloatArray:
    """Rotation matrix (3, 3) about an axis by an angle in rad."""
    A = rotation_onto(unit_vector(axis))
    return product(A, rotation_z(angle, QUARTER_TURN), A.T)


def moving_joint(
    data: JointData,
    motors: Mapping[str, ActuatorData],
    moving: Iterable[str],
    coulomb_velocity: float,
    note: Note,
) -> Joint:
    """A joint that moves, with its drive and friction."""
    drive = drive_of(data, motors.get(data.name), coulomb_velocity, note)
    on_link = data.friction if not isinstance(drive, ElasticDrive) else 0.0
    return Joint(
        data.name,
        Prismatic() if data.type == "prismatic" else Revolute(),
        data.position,
        data.rotation,
        data.limits,
        data.damping,
        on_link,
        coulomb_velocity if on_link else 0.0,
        drive,
        axis=data.axis,
        mimic=follows(data, moving, note),
    )


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


def friction_of_motor(joint: Joint) -> float:
    """Coulomb friction of the motor of a joint."""
    return joint.drive.motors[0].coulomb_friction if joint.drive is not None else 0.0


def follows(data: JointData, moving: Iterable[str], note: Note) -> Mimic | None:
    """What a joint follows; None if it moves by itself."""
    if data.mimic is None:
        return None
    if data.mimic.multiplier == 0:
        name = quoted(data.name)
        raise data.mimic.element.wrong(
            f"joint '{name}' follows '{quoted(data.mimic.joint)}' with the multiplier 0: it does not move; lock it, "
            f"locked={{{name!r}: {data.mimic.offset:g}}}"
        )
    if data.mimic.joint not in moving:
        reason = f"'{data.mimic.joint}' is left out, so this joint moves by itself"
        note(data.mimic.element, f"<mimic> of '{data.name}'", reason, "chosen")
        return None
    return Mimic(data.mimic.joint, data.mimic.multiplier, data.mimic.offset)


def with_tool(robot: Robot, tool: str | None, tree: Tree, place: str) -> Robot:
    """The robot with a tool link, by its name in the file."""
    if tool is None or tool == robot.tool:
        return robot
    names = [link.name for link in robot.links]
    if tool not in names:
        if tool == tree.root:
            raise InputError(f"{place}: the tool '{tool}' is the base: choose a link that moves")
        raise InputError(f"{place}: there is no link {shown(tool)} for the tool; {suggestion(str(tool), names)}")
    return robot.replace(tool=tool)
