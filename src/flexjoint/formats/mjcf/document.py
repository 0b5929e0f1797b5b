"""An MJCF document while it is written: its elements, what its joints measure, and how it differs from the robot."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from ...errors import RobotError, shown
from ...robot import BASE, Robot
from ...robot.model import unused
from ...types import FloatArray

Level = Literal["missing", "approximate", "noted"]
IMPEDANCE = "0.9999 0.9999 0.001 0.5 2"  # solimp: as hard as MuJoCo makes a constraint
DEEPEST = 490  # links from the base on: MuJoCo 4.0 reads elements nested 500 deep
NOT_IN_XML = {*range(32), 127, 0xFFFE, 0xFFFF, *range(0xD800, 0xE000)} - {9, 10, 13}  # code points


class Difference(NamedTuple):
    """A part of the robot that the MuJoCo model lacks or represents differently.

    Attributes:
        where: joint, motor or link, such as "joint 'elbow'".
        what: what differs, such as "Coulomb friction".
        reason: why, and what was written.
        level: "missing": a part of the dynamics that was not written; "approximate": one written otherwise; "noted":
            no part of the dynamics, such as limits of velocity and files of meshes.
    """

    where: str
    what: str
    reason: str
    level: Level

    def __str__(self) -> str:
        return f"{self.where}: {self.what}: {self.reason}"


class MotorJoint(NamedTuple):
    """A joint of MuJoCo that is a motor: its position is ratio · θ."""

    name: str
    ratio: float


@dataclass
class Document:
    """Elements by their section, bodies by link, and the coordinates of MuJoCo."""

    robot: Robot
    sections: dict[str, Element] = field(default_factory=dict)
    bodies: dict[str, Element] = field(default_factory=dict)
    joints: dict[str, Element] = field(default_factory=dict)
    positions: dict[str, tuple[FloatArray, float]] = field(default_factory=dict)  # row · (q, θ) + offset, by joint
    differences: list[Difference] = field(default_factory=list)

    def __post_init__(self) -> None:
        for tag in ("asset", "worldbody", "tendon", "equality", "actuator", "keyframe"):
            self.sections[tag] = Element(tag)
        self.bodies[BASE] = self.sections["worldbody"]

    def note(self, where: str, what: str, reason: str, level: Level) -> None:
        """Report a difference."""
        self.differences.append(Difference(where, what, reason, level))

    def body(self, parent: str, name: str, position: Iterable[float], rotation: FloatArray) -> Element:
        """A new body in the frame of a link; `name` is changed if it is taken, or reserved by MuJoCo."""
        element = SubElement(self.bodies[parent], "body", name=unused(name, ["world", *self.bodies]))
        self.bodies[element.attrib["name"]] = element
        place(element, position, rotation)
        return element

    def joint(self, body: Element, name: str, kind: str, axis: Iterable[float], row: FloatArray, offset: float) -> str:
        """The name of a new joint of a body with the position row · (q, θ) + offset."""
        name = unused(name, self.joints)
        self.joints[name] = SubElement(body, "joint", name=name, type=kind, axis=numbers(axis))
        self.positions[name] = row, offset
        return name

    def tendon(self, name: str, coefficients: Mapping[str, float]) -> Element:
        """A new fixed tendon: its length is the sum of coefficient times position over joints."""
        section = self.sections["tendon"]
        element = SubElement(section, "fixed", name=unused(name, [x.attrib["name"] for x in section]))
        for joint, coefficient in coefficients.items():
            SubElement(element, "joint", joint=joint, coef=numbers([coefficient]))
        return element

    def of_q(self, i: int) -> FloatArray:
        """q_i as a row over (q, θ)."""
        row = np.zeros(self.robot.n + self.robot.motor_count)
        row[i] = 1.0
        return row

    def of_theta(self, k: int) -> FloatArray:
        """θ_k as a row over (q, θ); of a rigidly coupled motor q_k, or T_k q in a group."""
        i = self.robot.motor_joints[k]
        if self.robot.compliant[i]:
            return self.of_q(self.robot.n + k)
        joints, row = undeflected_row(self.robot, i)
        return np.sum([x * self.of_q(j) for j, x in zip(joints, row)], axis=0)

    @property
    def order(self) -> list[str]:
        """Names of the joints in the order of qpos: depth first."""
        return [x.attrib["name"] for x in self.sections["worldbody"].iter("joint")]


def undeflected_row(robot: Robot, i: int) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """Joints and their coefficients in the position T q of the motor of joint i while no spring is deflected."""
    for transmission, joints in zip(robot.transmissions, robot.transmission_joints):
        if i in joints:
            return joints, transmission.matrix[joints.index(i)]
    return (i,), (1.0,)


# Numbers and names --------------------------------------------------------------------------------------------------


def numbers(values: Iterable[float]) -> str:
    """Numbers of an attribute, with all their digits."""
    return " ".join(repr(float(x) + 0.0).removesuffix(".0") for x in values)


def place(element: Element, position: Iterable[float], rotation: FloatArray) -> None:
    """Set the pose of a body, a geom or a site unless it is that of its parent."""
    position = np.asarray(position)
    if np.any(position):
        element.set("pos", numbers(position))
    if not np.array_equal(rotation, np.eye(3)):
        element.set("xyaxes", numbers(rotation[:, :2].T.flat))


def add(element: Element, attribute: str, value: float) -> None:
    """Add a number to an attribute, which is 0 if it is not there."""
    if value:
        element.set(attribute, numbers([float(element.get(attribute, 0.0)) + value]))


def check_writable(robot: Robot) -> None:
    """Refuse names with characters that no XML file can hold, and chains that MuJoCo does not read."""
    parts: list[tuple[str, Any]] = [("robot", robot), *(("link", x) for x in robot.links)]
    parts += [("joint", x.joint) for x in robot.links]
    for what, part in parts:
        if NOT_IN_XML & set(map(ord, part.name)):
            raise RobotError(f"the {what} name {shown(part.name)} has a character that no XML file holds: rename it")
    depths: list[int] = []
    for parent in robot.parents:
        depths.append(1 + (depths[parent] if parent >= 0 else 0))
    if max(depths) > DEEPEST:
        raise RobotError(f"{robot.name}: a chain of {max(depths)} links: MuJoCo reads files with {DEEPEST} at most")
