"""The robot as the recursions use it: bodies on joints, with their inertia about the joint frame.

`bodies(robot)` lists every link.  Two passes shorten the list and its numbers without a change of the joint torques:
`lump_fixed` merges links on fixed joints into the link that carries them, `regroup` moves to the parent the part of a
link's inertia that its own joint does not feel (the base parameters of Gautier and Khalil):

    a revolute link gives m, h_z and Σ_zz, the moments of masses on its axis, which the joint does not move;
    a prismatic link gives Σ, which rotates with the parent, and keeps m and h;
    a helical link gives Σ_zz, which passes both tests.

Internal wrenches change, so joint wrenches are computed from `bodies`.  What the joints add along their axes comes as
vectors: motors of rigid drives here, friction in `friction.py`.

The inertia of rotors is accounted for here only.  A link and the rotors it carries are one body, since a rotor is
axially symmetric  [Hua A2]; of a rotor's tensor I_t (1 − aaᵀ) + I_a aaᵀ

    the complete model has all in that body, and the spin as a momentum of its own, `rotors(robot)`;
    Spong's model has the axial part only in B, as if the rotor turned in a gimbal.

`robot.rotors_in_links` says whether rotors must be added to the links as they are given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...drives import ElasticDrive, Motor, RigidDrive
from ...robot import Robot
from ...spatial import Inertia, Screw, identity, sx, zeros
from ...types import Expression, FloatArray, Matrix, Scalar, Vector


class Body(NamedTuple):
    """A link in a recursion; R and p are orientation and origin of its frame in the parent's at q = 0."""

    parent: int  # index of another body, -1 for the base
    screw: Screw  # how its joint moves it
    coordinate: int | None  # index in q
    R: Matrix
    p: Vector
    inertia: Inertia


class Frame(NamedTuple):
    """A frame fixed on a body."""

    body: int
    R: Matrix
    p: Vector


class Rotor(NamedTuple):
    """A spinning rotor of the complete model."""

    coordinate: int  # of the joint it drives
    body: int  # that carries it, -1 for the base
    axis: Vector  # in the body's frame
    eta: Scalar
    B: Scalar  # η² I_axial
    elastic: bool  # whether θ is a coordinate of its own; else it is q

    @property
    def momentum(self) -> Scalar:
        """η I_axial: angular momentum relative to the carrier per unit of θ'."""
        return self.B / self.eta


def bodies(robot: Robot, frozen: bool = True) -> list[Body]:
    """Every link, with its inertia about its joint frame.

    frozen: whether rotors behind springs add their axial inertia to the links that carry them; Spong's model adds none.
    """
    tree = [
        Body(
            parent,
            link.joint.kind.screw,
            coordinate,
            sx(link.joint.rotation),
            sx(link.joint.position),
            Inertia.of(link.mass, link.com, link.inertia),
        )
        for link, parent, coordinate in zip(robot.links, robot.parents, robot.coordinates)
    ]
    for i, link in enumerate(robot.links):
        drive = link.joint.drive
        whole = robot.fidelity == "complete" and (frozen or not isinstance(drive, ElasticDrive))
        for k, motor in enumerate(drive.motors if drive is not None else ()):
            carrier, share = robot.carrier(i, k), rotor_inertia(robot, i, motor, whole)
            if carrier >= 0 and share is not None:
                tree[carrier] = tree[carrier]._replace(inertia=tree[carrier].inertia + share)
    return tree


def rotor_inertia(robot: Robot, link: int, motor: Motor, whole: bool) -> Inertia | None:
    """Inertia that a rotor adds to its carrier as given, about the carrier's frame; None if nothing.

    whole: with its axial part.
    """
    if robot.rotors_in_links and (whole or motor.gear_ratio is None):
        return None
    position, axis = map(sx, rotor_place(robot, link, motor))
    axial = (0.0 if motor.gear_ratio is None else motor.axial_inertia) * (axis @ axis.T)
    if robot.rotors_in_links:
        mass, tensor = sx(0.0), -axial
    else:
        mass, tensor = sx(motor.mass), motor.transverse_inertia * (identity() - axis @ axis.T)
        tensor = tensor + axial if whole else tensor
    return Inertia.of(mass, position, tensor)


def rotor_place(robot: Robot, link: int, motor: Motor) -> tuple[Vector, FloatArray]:
    """Position and axis of a rotor in the carrier's frame; those of the joint by default."""
    joint = robot.links[link].joint
    position = joint.position if motor.position is None else list(motor.position)
    return position, joint.rotation[:, 2] if motor.axis is None else np.array(motor.axis)


def rotors(robot: Robot, place: Sequence[Frame] | None = None) -> list[Rotor]:
    """The rotors whose spin acts on the links, in the order of q; none in Spong's model.

    place: frames of the links on the bodies; after `lump_fixed` by default.
    """
    if robot.fidelity != "complete":
        return []
    place = frames(robot) if place is None else place
    found = []
    for i, (link, coordinate) in enumerate(zip(robot.links, robot.coordinates)):
        drive = link.joint.drive
        if coordinate is None or drive is None or drive.motors[0].gear_ratio is None:
            continue
        motor, carrier = drive.motors[0], robot.carrier(i)
        frame = place[carrier] if carrier >= 0 else own_frame(-1)
        axis = frame.R @ sx(rotor_place(robot, i, motor)[1])
        elastic = isinstance(drive, ElasticDrive)
        found.append(Rotor(coordinate, frame.body, axis, motor.gear_ratio, motor.inertia, elastic))
    return found


def tied_rotors(robot: Robot) -> list[Rotor]:
    """The rotors that turn rigidly with the joints they drive, θ = q."""
    return [rotor for rotor in rotors(robot) if not rotor.elastic]


def frames(robot: Robot) -> list[Frame]:
    """Frame per link on the moving body that it belongs to after `lump_fixed`."""
    found: list[Frame] = []
    moving = -1
    for link, parent in zip(robot.links, robot.parents):
        if link.joint.moves:
            moving += 1
            found.append(own_frame(moving))
        else:
            holder = found[parent] if parent >= 0 else own_frame(-1)
            found.append(carried(holder, sx(link.joint.rotation), sx(link.joint.position)))
    return found


def own_frame(body: int) -> Frame:
    """The frame of a body itself."""
    return Frame(body, identity(), zeros(3))


def carried(frame: Frame, R: Matrix, p: Vector) -> Frame:
    """A frame with the orientation R and the origin p in another frame of the same body."""
    return Frame(frame.body, frame.R @ R, frame.p + frame.R @ p)


def moving_bodies(robot: Robot, frozen: bool = True) -> list[Body]:
    """One body per moving joint, with regrouped base parameters: the least that joint torques need."""
    return regroup(lump_fixed(robot, bodies(robot, frozen)))


def lump_fixed(robot: Robot, links: list[Body] | None = None) -> list[Body]:
    """One body per moving joint: fixed links give their inertia to the body that carries them."""
    place = frames(robot)
    links = bodies(robot) if links is None else links
    merged: list[Body] = []
    for body in links:
        if body.coordinate is not None:
            frame = carried(place[body.parent] if body.parent >= 0 else own_frame(-1), body.R, body.p)
            merged.append(body._replace(parent=frame.body, R=frame.R, p=frame.p))
    for body, frame in zip(links, place):
        if body.coordinate is None and frame.body >= 0:
            holder = merged[frame.body]
            merged[frame.body] = holder._replace(inertia=holder.inertia + body.inertia.transformed(frame.R, frame.p))
    return merged


def regroup(tree: list[Body]) -> list[Body]:
    """From the tips inwards, give the parent what the joint does not feel; what reaches the base is dropped."""
    tree = list(tree)
    for i in range(len(tree) - 1, -1, -1):
        body = tree[i]
        kept, given = body.screw.split(body.inertia)
        tree[i] = body._replace(inertia=kept)
        if body.parent >= 0:
            parent = tree[body.parent]
            tree[body.parent] = parent._replace(inertia=parent.inertia + given.transformed(body.R, body.p))
    return tree


def rigid_motor_inertia(robot: Robot) -> Expression:
    """B per joint of the motors that turn with their links, 0 for the others."""
    return sx([j.drive.motor.inertia if isinstance(j.drive, RigidDrive) else 0.0 for j in robot.joints])
