"""Elements of a URDF as records: links, joints, transmissions and geometry."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...errors import RobotError, quoted
from ...numerics import product
from ...robot import Limits
from ...spatial import rotation_rpy
from ...types import FloatArray
from ..report import Note
from ..tree.records import QUARTER_TURN, Geometry, JointData, LinkData, MimicData
from ..xml import Element, mark_read
from .extensions import MATRIX, ROTATION, exact_matrix

LARGEST = 1e100  # in an <inertial>: products of larger numbers overflow; a larger limit is none
NOT_MODELLED = {
    "loop_joint": "a closed loop",
    **dict.fromkeys(("drake:ball_constraint", "drake:tendon_constraint"), "a constraint between links"),
    "drake:linear_bushing_rpy": "a spring between links",
}


class ActuatorData(NamedTuple):
    """What a <transmission> says about the motor of a joint: reduction θ_rotor/q, inertia of the rotor, kg m²."""

    joint: str
    element: Element
    reduction: float | None
    rotor_inertia: float | None


class DifferentialData(NamedTuple):
    """A differential: θ_1 = n_1 (k_1 q_1 + k_2 q_2), θ_2 = n_2 (k_1 q_1 − k_2 q_2) of the actuators."""

    joints: tuple[str, str]
    element: Element
    joint_reductions: tuple[float, float]
    actuators: tuple[ActuatorData, ActuatorData]


def read_pose(element: Element | None) -> tuple[FloatArray, FloatArray]:
    """Position (3,) and rotation (3, 3) of an <origin>; that of the parent without one."""
    if element is None:
        return np.zeros(3), np.eye(3)
    if "quat_xyzw" in element.attributes:
        raise element.wrong('quat_xyzw of <origin> is not read: give the rotation as rpy="roll pitch yaw", in rad')
    position, angles = element.vector("xyz", (0.0, 0.0, 0.0)), element.vector("rpy", (0.0, 0.0, 0.0))
    if np.max(np.abs(angles)) > 1e6:
        raise element.wrong(f"rpy of <origin> is {element.attributes['rpy']!r}: give angles in rad, within a turn")
    roll, pitch, yaw = angles.tolist()
    return position, exact_matrix(element, ROTATION, rotation_rpy(roll, pitch, yaw, QUARTER_TURN))


# Links --------------------------------------------------------------------------------------------------------------


def read_link(element: Element, note: Note) -> LinkData:
    """The record of a <link>."""
    name, inertial = element.name(), element.first("inertial")
    if inertial is None:
        return LinkData(name, element, 0.0, np.zeros(3), np.zeros((3, 3)))
    mass, inertia = inertial.first("mass"), inertial.first("inertia")
    if mass is None:
        raise inertial.wrong(f"<inertial> of link '{quoted(name)}' has no <mass>: give it <mass value=\"...\"/>, in kg")
    m = mass.number("value")
    if m < 0:
        raise mass.wrong(f"the mass of link '{quoted(name)}' is {m:g} kg: it must not be negative")
    com, R = read_pose(inertial.first("origin"))
    if inertia is None:
        note(inertial, f"<inertial> of '{name}'", "there is no <inertia>: a point mass", "suspicious")
        return LinkData(name, element, m, com, np.zeros((3, 3)))
    xx, yy, zz = (inertia.number(key) for key in ("ixx", "iyy", "izz"))
    xy, xz, yz = (inertia.number(key, 0.0) for key in ("ixy", "ixz", "iyz"))
    for key, value in (("iyx", xy), ("izx", xz), ("izy", yz)):
        if inertia.number(key, value) != value:
            note(inertia, f"<inertia {key}> of '{name}'", "differs from the element across the diagonal", "suspicious")
    I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if max(np.max(np.abs(I)), np.max(np.abs(com)), m) > LARGEST:
        raise inertial.wrong(f"<inertial> of link '{quoted(name)}' has a number beyond {LARGEST:g}: give kg, m, kg m²")
    turned = product(R, I, R.T)
    return LinkData(name, element, m, com, exact_matrix(inertia, MATRIX, (turned + turned.T) / 2))


def read_geometry(link: Element, note: Note, find: Callable[[str], str | None]) -> list[Geometry]:
    """Bodies of the <visual> and <collision> elements of a link; a wrong one is reported and left out."""
    found: list[Geometry] = []
    for role in ("visual", "collision"):
        for element in link.all(role):
            geometry = element.first("geometry")
            try:
                position, rotation = read_pose(element.first("origin"))
                for x in geometry.children if geometry is not None else ():
                    if (described := read_shape(x)) is not None:
                        kind, size, file = described
                        path = find(file) if file else None
                        place = (link.name(), role, kind, size, position, rotation)
                        found.append(Geometry(*place, file, path, element.line))
            except RobotError as error:
                note(element, f"<{role}> of '{link.name()}'", f"left out: {error}", "suspicious")
    return found


def read_shape(x: Element) -> tuple[str, tuple[float, ...], str] | None:
    """Kind, size and file of an element in <geometry>; None if it is not known."""
    if x.tag == "box":
        return x.tag, tuple(x.vector("size").tolist()), ""
    if x.tag == "sphere":
        return x.tag, (x.number("radius"),), ""
    if x.tag in ("cylinder", "capsule"):
        return x.tag, (x.number("radius"), x.number("length")), ""
    if x.tag == "mesh":
        scale = x.attributes.get("scale", "1 1 1").split()
        size = x.vector("scale", (1.0,) * 3).tolist() if len(scale) != 1 else [x.number("scale")] * 3
        return x.tag, tuple(size), x.reference("filename")
    return None


# Joints -------------------------------------------------------------------------------------------------------------


def read_joint(element: Element, note: Note) -> JointData:
    """The record of a <joint>."""
    name, kind = element.name(), element.reference("type")
    ends = [element.first(tag) for tag in ("parent", "child")]
    for tag, end in zip(("parent", "child"), ends):
        if end is None:
            raise element.wrong(f"joint '{quoted(name)}' has no <{tag}>: give it <{tag} link=\"...\"/>")
    parent, child = (end.reference("link") for end in ends if end is not None)
    position, rotation = read_pose(element.first("origin"))
    axis = np.array([1.0, 0.0, 0.0])
    given = element.first("axis")
    if given is not None:
        axis = given.vector("xyz", (1.0, 0.0, 0.0))
    if given is not None and not np.any(axis):
        if kind not in ("fixed", "floating"):
            raise given.wrong(f"the axis of joint '{quoted(name)}' is zero: give a direction, such as 0 0 1")
        axis = np.array([0.0, 0.0, 1.0])
    damping, friction, stiffness, spring_damping = read_dynamics(element, name, note)
    return JointData(
        *(name, element, kind, parent, child, position, rotation, axis),
        read_limits(element, name, kind, note),
        damping,
        friction,
        read_mimic(element),
        stiffness=stiffness,
        spring_damping=spring_damping,
    )


def read_mimic(joint: Element) -> MimicData | None:
    """The <mimic> of a joint."""
    element = joint.first("mimic") or joint.first("drake:mimic")
    if element is None:
        return None
    multiplier = "multiplier" if element.tag == "mimic" else "gear_ratio"
    ratio, offset = element.number(multiplier, 1.0), element.number("offset", 0.0)
    return MimicData(element.reference("joint"), ratio, offset, element)


def read_dynamics(joint: Element, name: str, note: Note) -> tuple[float, float, float | None, float | None]:
    """Viscous and Coulomb friction, and Franka's stiffness and damping of the spring."""
    element = joint.first("dynamics")
    if element is None:
        return 0.0, 0.0, None, None
    friction = []
    for what in ("damping", "friction"):
        value = element.number(what, 0.0)
        if value < 0:
            note(element, f"<dynamics {what}> of '{name}'", f"{value:g} is negative: not used", "suspicious")
        friction.append(max(value, 0.0))
    spring = [element.number(key) if key in element.attributes else None for key in ("K", "D")]
    for key in ("mu_coulomb", "mu_viscous"):
        if element.number(key, 0.0):
            reason = "friction in a unit that Franka's files do not state; <dynamics damping friction> are used"
            note(element, f"<dynamics {key}> of '{name}'", reason, "unused")
    return friction[0], friction[1], spring[0], spring[1]


def read_limits(joint: Element, name: str, kind: str, note: Note) -> Limits:
    """The <limit> of a joint; what is missing, zero or contradictory is unlimited, and reported."""
    element = joint.first("limit")
    moves = kind in ("revolute", "prismatic", "continuous")
    if element is None:
        if kind in ("revolute", "prismatic"):
            note(joint, f"<joint> '{name}'", "there is no <limit>: unlimited", "chosen")
        return Limits()
    lower, upper = (element.number(key, 0.0, infinite=True) for key in ("lower", "upper"))
    missing = "lower" not in element.attributes and "upper" not in element.attributes
    if kind == "continuous" or not moves or missing:
        if kind in ("revolute", "prismatic"):
            note(element, f"<limit> of '{name}'", "neither lower nor upper are given: unlimited", "chosen")
        lower, upper = -math.inf, math.inf
    elif lower > upper or lower == upper == 0.0 or math.inf in (lower, -upper):
        reason = f"lower {lower:g} and upper {upper:g} leave no motion: unlimited"
        note(element, f"<limit> of '{name}'", reason, "suspicious")
        lower, upper = -math.inf, math.inf
    bounds = {}
    for key in ("velocity", "effort", "acceleration"):
        attribute = f"drake:{key}" if f"drake:{key}" in element.attributes else key
        value = element.number(attribute, math.inf, infinite=True)
        if not value > 0:
            note(element, f"<limit {attribute}> of '{name}'", f"{value:g} is no limit: unlimited", "chosen")
            value = math.inf
        bounds[key] = value
    return Limits(unlimited(lower), unlimited(upper), **{key: unlimited(x) for key, x in bounds.items()})


def unlimited(bound: float) -> float:
    """A bound; ±∞ if it is beyond all robots, such as the largest double: URDF has no other word for no limit."""
    return math.copysign(math.inf, bound) if abs(bound) > LARGEST else bound


# Transmissions ------------------------------------------------------------------------------------------------------


def read_transmission(element: Element, note: Note) -> ActuatorData | DifferentialData | None:
    """What a <transmission> says about the motor of its joint, or about those of a differential."""
    element.seen = True
    element.read |= {"name", "type"}
    joints, actuators = element.all("joint"), element.all("actuator")
    kind = element.first("type") or element.first("plugin")
    text = kind.text if kind is not None else element.attributes.get("type", "")
    if "Differential" in text and len(joints) == len(actuators) == 2:
        joints, actuators = sorted(joints, key=role_of), sorted(actuators, key=role_of)
        motors = [actuator_data(x, [x]) for x in actuators]
        ratios = [reduction_of([x]) for x in joints]
        names = (joints[0].name(), joints[1].name())
        given = (ratios[0] or 1.0, ratios[1] or 1.0)
        return DifferentialData(names, element, given, (motors[0], motors[1]))
    others = [x for x in element.children if x.tag in ("leftActuator", "rightActuator", "gap_joint", "flexJoint")]
    if len(joints) != 1 or len(actuators) > 1 or others:
        reason = "couples joints: not used" if joints else "names no joint: not used"
        note(element, f"<transmission> '{element.attributes.get('name', '')}'", reason, "unused")
        mark_read(element)
        return None
    return actuator_data(joints[0], [*actuators, *joints, element])


def role_of(element: Element) -> str:
    """The role of a joint or actuator in a transmission, such as "joint1"."""
    role = element.first("role")
    element.read.add("role")
    return element.attributes.get("role", "") if role is None else role.text.strip()


def actuator_data(joint: Element, places: list[Element]) -> ActuatorData:
    """Reduction and rotor inertia, from the first place that has them."""
    inertias = [x.content() for place in places for tag in INERTIAS for x in place.all(tag)]
    return ActuatorData(joint.name(), places[0], reduction_of(places), inertias[0] if inertias else None)


INERTIAS = ("motorInertia", "motor_inertia", "drake:rotor_inertia", "rotorInertia")
REDUCTIONS = ("drake:gear_ratio", "mechanicalReduction", "mechanical_reduction")


def reduction_of(places: list[Element]) -> float | None:
    """The first reduction in these places; None without one."""
    for place in places:
        for tag in REDUCTIONS:
            for x in place.all(tag):
                return x.content()
    return None
