"""The robot of a tree of URDF joints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from ...drives import ElasticDrive
from ...errors import RobotError, quoted
from ...numerics import product
from ...robot import BASE, Joint, Link, Mimic, Robot
from ...robot.joints.fixed import Fixed
from ...robot.joints.prismatic import Prismatic
from ...robot.joints.revolute import Revolute
from ...robot.model import unused
from ...spatial import rotation_onto, rotation_z, unit_vector
from ...types import FloatArray
from .bodies import is_unphysical, physical_links
from .elements import QUARTER_TURN, ActuatorData, JointData, LinkData, Note
from .motors import drive_of, friction_of_motor
from .tree import Tree, is_fixed
from .xml import Element


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
        if data.name in moving and not link.mass and not link.inertia.any():
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
