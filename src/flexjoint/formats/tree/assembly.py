"""The robot of a chosen tree of joints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from ...checks import ROUNDING
from ...drives import ElasticDrive
from ...errors import InputError, RobotError, quoted, shown
from ...numerics import product
from ...robot import BASE, Joint, Link, Mimic, Robot
from ...robot.joints.fixed import Fixed
from ...robot.joints.prismatic import Prismatic
from ...robot.joints.revolute import Revolute
from ...robot.model import unused
from ...spatial import rotation_onto, rotation_z, unit_vector
from ...types import FloatArray
from ..report import Note
from ..toml import suggestion
from .choice import Tree, is_fixed
from .records import QUARTER_TURN, Geometry, JointData, LinkData

NO_INERTIA = 1e-15  # m², the square of 32 nm: what is less per mass is rounding
COULOMB_VELOCITY = 0.01  # rad/s or m/s; URDF and MJCF give Coulomb friction without it


def assembled(
    name: str,
    tree: Tree,
    links: Mapping[str, LinkData],
    locked: Mapping[str, float],
    gravity: FloatArray,
    coulomb_velocity: float,
    place: str,
    note: Note,
) -> Robot:
    """The robot of a tree of joints.

    Args:
        name: name of the robot.
        tree: the chosen joints.
        links: links by name.
        locked: positions of joints that do not move, in rad or m.
        gravity: in the frame of the root, (3,), m/s².
        coulomb_velocity: v_c of Coulomb friction, in rad/s or m/s.
        place: name of the file, which begins every message.
        note: takes findings.
    """
    moving = moving_names(tree, locked)
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
        joint = moving_joint(data, moving, coulomb_velocity, note) if data.name in moving else fixed_joint(data, locked)
        made.append(Link(names[data.child], joint, names[data.parent], link.mass, link.com, link.inertia))
    rotors = not any(x.joint.drive is not None and x.joint.drive.motors[0].inertia for x in made)
    unphysical = any(is_unphysical(links[x.child]) for x in tree.joints)
    try:
        return Robot(name, tuple(made), gravity, allow_unphysical=unphysical, rotors_in_links=rotors)
    except RobotError as error:
        raise RobotError(f"{place}: {error}") from None


def moving_names(tree: Tree, locked: Mapping[str, float]) -> set[str]:
    """Names of the joints that move."""
    return {x.name for x in tree.joints if not is_fixed(x, locked)}


def has_coulomb_friction(robot: Robot) -> bool:
    """Whether a joint or the motor of a joint has Coulomb friction."""
    joints = [link.joint for link in robot.links]
    return any(x.coulomb_friction or (x.drive is not None and x.drive.motors[0].coulomb_friction) for x in joints)


def link_names(tree: Tree, note: Note, links: Mapping[str, LinkData]) -> dict[str, str]:
    """Names in the robot by names in the file: the root is the base, and no other link may be named so."""
    names = {x.child: x.child for x in tree.joints}
    if BASE in names:
        other = unused(f"{BASE}_frame", names)
        element = links[BASE].element
        note(element, f"<{element.tag}> '{BASE}'", f"named '{other}' here: '{BASE}' is the root", "chosen")
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
        inertial = link.element.first("inertial") or link.element
        if not np.any(link.inertia):
            if link.mass:
                note(inertial, f"<inertial> of '{link.name}'", "a point mass", "suspicious")
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


def by_link(geometry: Mapping[str, tuple[Geometry, ...]], names: Mapping[str, str]) -> dict[str, tuple[Geometry, ...]]:
    """The geometry by names of links in the robot."""
    return {names[name]: bodies for name, bodies in geometry.items()}


def moving_joint(data: JointData, moving: Iterable[str], coulomb_velocity: float, note: Note) -> Joint:
    """A joint that moves, with its drive and friction; behind a spring the Coulomb friction is the motor's."""
    on_link = data.friction if not isinstance(data.drive, ElasticDrive) else 0.0
    return Joint(
        data.name,
        Prismatic() if data.type == "prismatic" else Revolute(),
        data.position,
        data.rotation,
        data.limits,
        data.damping,
        on_link,
        coulomb_velocity if on_link else 0.0,
        data.drive,
        axis=data.axis,
        mimic=follows(data, moving, note),
        parallel_spring=data.parallel_spring,
    )


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
        note(data.mimic.element, f"<{data.mimic.element.tag}> of '{data.name}'", reason, "chosen")
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
