"""Links as bodies of MuJoCo, in the robot's own frames, and the bodies of motors.

In Spong's model the motor of an elastic joint is a body on the base whose joint has the armature B: its position is θ.
In the complete model a rotor is a body on the link that carries it.  It turns by η θ, and what it weighs is taken from
its carrier, so that both together are the carrier with its rotor at rest.
"""

from __future__ import annotations

from typing import NamedTuple
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from ...drives import Motor
from ...robot import BASE, Joint, Robot
from ...robot.parts import rotor_place
from ...spatial import rotation_onto
from ...types import FloatArray
from .document import Document, MotorJoint, numbers

TINY = 2e-15  # kg, kg m²: MuJoCo refuses less in a body that moves
LEAST = 2e-14  # kg m²: it refuses smaller principal moments of a full inertia
MARGIN = 1e-14  # relative; by which principal moments fulfil A + B >= C after rounding
REPORTED = 1e-12  # relative; a smaller change of an inertia is rounding


class Body(NamedTuple):
    """Mass, centre of mass and the inertia about it."""

    mass: float
    com: FloatArray
    inertia: FloatArray

    def with_part(self, mass: float, com: FloatArray, inertia: FloatArray) -> Body:
        """Together with another body."""
        total = self.mass + mass
        if not total:
            return Body(0.0, self.com, self.inertia + inertia)
        d = com - self.com
        apart = self.mass * mass / total * (np.sum(d * d) * np.eye(3) - np.multiply.outer(d, d))
        return Body(total, self.com + mass / total * d, self.inertia + inertia + apart)


def write_bodies(document: Document) -> None:
    """Every link as a body with its joints, and the tool as a site."""
    robot = document.robot
    loaded = with_rotors(robot)
    moving = {x.link: x for x in robot.moving_joints}
    for i, link in enumerate(robot.links):
        joint = link.joint
        element = document.body(link.parent, link.name, joint.position, joint.rotation)
        if (name := element.attrib["name"]) != link.name:
            document.note(f"link '{link.name}'", "name", f"the body is '{name}': MuJoCo reserves the other", "noted")
            document.bodies[link.name] = element
        if i in moving:
            _, _, coordinate, ratio, offset = moving[i]
            row = ratio * document.of_q(coordinate)
            write_joint(document, element, joint, row, offset)
        write_inertia(document, element, link.name, loaded[i], i in moving)
    SubElement(document.bodies[robot.tool], "site", name="tool")


def write_joint(document: Document, element: Element, joint: Joint, row: FloatArray, offset: float) -> None:
    """The joint of a link; a screw is a hinge, and a slide that a constraint couples to it."""
    turn, slide = joint.kind.motion
    kind = "hinge" if turn else "slide"
    name = document.joint(element, joint.name, kind, joint.axis, row, offset)
    if turn and slide:
        follower = document.joint(element, f"{name}.slide", "slide", joint.axis, slide * row, slide * offset)
        document.note(f"joint '{name}'", "screw", f"a soft constraint couples its slide '{follower}'", "approximate")
        follow(document, follower, name, slide, 0.0)


def follow(document: Document, follower: str, leader: str, ratio: float, offset: float) -> None:
    """Couple the positions of two joints: follower = ratio · leader + offset."""
    coefficients = numbers([offset, ratio, 0.0, 0.0, 0.0])
    SubElement(document.sections["equality"], "joint", joint1=follower, joint2=leader, polycoef=coefficients)


# Inertias -----------------------------------------------------------------------------------------------------------


def write_inertia(document: Document, element: Element, link: str, body: Body, moves: bool) -> None:
    """The inertia of a body, changed as little as MuJoCo asks; nothing for a frame on a fixed joint."""
    if not (moves or body.mass or np.any(body.inertia)):
        return
    I = (body.inertia + body.inertia.T) / 2
    A, B, C = np.linalg.eigvalsh(I).tolist()
    missing = max(LEAST + MARGIN * C - A, C * (1 + MARGIN) - A - B, 0.0)
    if missing > REPORTED * C and missing > 2 * LEAST:
        moments = ", ".join(f"{x:.4g}" for x in (A, B, C))
        reason = f"MuJoCo refuses the principal moments {moments} kg m²; {missing:.3g} is added to each"
        document.note(f"link '{link}'", "inertia", reason, "approximate")
    I = I + missing * np.eye(3)
    written = numbers([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])
    mass = numbers([max(body.mass, TINY)])
    SubElement(element, "inertial", pos=numbers(body.com), mass=mass, fullinertia=written)


def with_rotors(robot: Robot) -> list[Body]:
    """The body of each link, with what its rotors add or are taken away."""
    found = [Body(x.mass, x.com, x.inertia) for x in robot.links]
    for i, link in enumerate(robot.links):
        for k, motor in enumerate(link.joint.drive.motors if link.joint.drive is not None else ()):
            if (carrier := robot.carrier(i, k)) >= 0:
                found[carrier] = found[carrier].with_part(*share_of_carrier(robot, i, k, motor))
    return found


def share_of_carrier(robot: Robot, link: int, k: int, motor: Motor) -> Body:
    """What the k-th rotor of a link's joint adds to the link that carries it as given."""
    position, axis = map(np.asarray, rotor_place(robot.links[link].joint, motor))
    along = np.multiply.outer(axis, axis)
    mass, across, axial = rotor_body(robot, motor)
    given = 0.0 if robot.rotors_in_links else motor.mass
    if spins(robot, link, k, motor):
        own = 0.0 if robot.rotors_in_links else motor.transverse_inertia
        inertia = (own - across) * (np.eye(3) - along) - (axial if robot.rotors_in_links else 0.0) * along
        return Body(given - (mass if given else 0.0), position, inertia)
    inertia = (0.0 if robot.rotors_in_links else motor.transverse_inertia) * (np.eye(3) - along)
    if robot.rotors_in_links and robot.fidelity == "spong":
        inertia = inertia - axial * along  # links contain their rotors, which Spong's model takes out
    elif not robot.rotors_in_links and robot.fidelity == "complete":
        inertia = inertia + axial * along
    return Body(given, position, inertia)


def rotor_body(robot: Robot, motor: Motor) -> tuple[float, float, float]:
    """Mass, transverse and axial inertia of a rotor as a body that MuJoCo accepts."""
    axial = motor.axial_inertia or 0.0
    given = (0.0, 0.0) if robot.rotors_in_links else (motor.mass, motor.transverse_inertia)
    return given[0] or TINY, max(given[1], axial / 2, TINY), axial


def spins(robot: Robot, link: int, k: int, motor: Motor) -> bool:
    """Whether the spin of a rotor acts on the links: in the complete model, on a link that moves."""
    if robot.fidelity != "complete" or motor.gear_ratio is None or not motor.inertia:
        return False
    carrier = robot.carrier(link, k)
    return any(robot.links[i].joint.moves for i in robot.path(carrier))


# Motors -------------------------------------------------------------------------------------------------------------


def write_motor(document: Document, link: int, k: int, row: FloatArray, name: str, angular: bool) -> MotorJoint:
    """The body and the joint of the k-th motor of a link's joint, with the position row · (q, θ) of the motor."""
    robot, joint = document.robot, document.robot.links[link].joint
    motor: Motor = joint.drive.motors[k]  # type: ignore[union-attr]
    z = (0.0, 0.0, 1.0)
    if not spins(robot, link, k, motor):
        element = document.body(BASE, name, (0.0, 0.0, 0.0), np.eye(3))
        found = document.joint(element, name, "hinge" if angular else "slide", z, row, 0.0)
        document.joints[found].set("armature", numbers([motor.inertia]))
        inertia, mass, ratio = [TINY] * 3, TINY, 1.0
    else:
        position, axis = rotor_place(joint, motor)
        carrier = robot.links[robot.carrier(link, k)].name
        element = document.body(carrier, name, position, rotation_onto(np.asarray(axis)))
        ratio = float(motor.gear_ratio)  # type: ignore[arg-type]  # spins says so
        found = document.joint(element, name, "hinge", z, ratio * row, 0.0)
        mass, across, axial = rotor_body(robot, motor)
        inertia = [across, across, max(axial, TINY)]
    SubElement(element, "inertial", pos="0 0 0", mass=numbers([mass]), diaginertia=numbers(inertia))
    return MotorJoint(found, ratio)
