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

A body's frame has its z along the joint axis.  It is the link's frame, unless `joint.axis` is another axis: then
`joint.turned_axes` is its orientation in the link's frame, `link_frames` and `frames` give the links' frames on the
bodies, and what a user gives or gets is in the link's frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...drives import ElasticDrive, Motor, RigidDrive, VariableStiffnessDrive
from ...numerics import product
from ...robot import Joint, MovingJoint, Robot
from ...robot.parts import rotor_place as place_of_rotor
from ...spatial import Inertia, Screw, ca, identity, is_symbolic, rotation_about_z, rotation_z, sx, unit_z, zeros
from ...types import Expression, FloatArray, Matrix, Scalar, Vector
from ..drivetrain.coupling import on_links, rigid_groups, undeflected

BEHIND_SPRINGS = ElasticDrive | VariableStiffnessDrive


class Body(NamedTuple):
    """A link in a recursion; R and p are orientation and origin of its frame in the parent's at q = 0.

    Several bodies may have the coordinate of one leader: recursions read q[coordinate], and what they find along the
    joints is summed by `per_coordinate`.
    """

    parent: int  # index of another body, -1 for the base
    screw: Screw  # how its coordinate moves it
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

    coordinate: int  # index of its motor, for first motors that of the joint it drives; in a group where it is listed
    body: int  # that carries it, -1 for the base
    axis: Vector  # in the body's frame
    eta: Scalar
    B: Scalar  # η² I_axial
    elastic: bool  # whether θ is a coordinate of its own; else it is q, or T q in a group
    follows: bool = False  # whether it drives a follower, so that it is none of the robot's motors

    @property
    def momentum(self) -> Scalar:
        """η I_axial: angular momentum relative to the carrier per unit of θ'."""
        return self.B / self.eta


def bodies(robot: Robot, frozen: bool = True) -> list[Body]:
    """Every link, with its inertia about its joint frame.

    frozen: whether rotors behind springs add their axial inertia to the links that carry them; Spong's model adds none.
    """
    own = link_frames(robot)
    tree = []
    for i, (link, parent, coordinate) in enumerate(zip(robot.links, robot.parents, robot.coordinates)):
        R, p = sx(link.joint.rotation), sx(link.joint.position)
        R, p = on_body(own[parent], R, p) if parent >= 0 else (R, p)
        R = R @ sx(axes) if (axes := link.joint.turned_axes) is not None else R
        inertia = inertia_on(own[i], Inertia.of(link.mass, link.com, link.inertia))
        tree.append(Body(parent, link.joint.kind.screw, coordinate, R, p, inertia))
    for follower in robot.followers:
        tree[follower.link] = following(tree[follower.link], follower)
    for i, link in enumerate(robot.links):
        drive = link.joint.drive
        whole = robot.fidelity == "complete" and (frozen or not isinstance(drive, BEHIND_SPRINGS))
        for k, motor in enumerate(drive.motors if drive is not None else ()):
            carrier, share = robot.carrier(i, k), rotor_inertia(robot, i, motor, whole)
            if carrier >= 0 and share is not None:
                tree[carrier] = tree[carrier]._replace(inertia=tree[carrier].inertia + inertia_on(own[carrier], share))
    return tree


def following(body: Body, follower: MovingJoint) -> Body:
    """The body of a follower as its leader's coordinate moves it: position = ratio · q + offset.

    The offset becomes part of its frame at q = 0.
    """
    screw, k, c = body.screw, follower.ratio, follower.offset
    angle, height = (x if is_symbolic(c) else float(x) for x in (screw.turn * c, screw.slide * c))
    if is_symbolic(angle):
        turned, p = body.R @ rotation_about_z(angle), body.p + body.R @ (height * unit_z())
    else:
        R, z = np.array(ca.DM(body.R)), np.array([[0.0], [0.0], [height]])
        turned, p = sx(product(R, rotation_z(angle))), body.p + sx(product(R, z)[:, 0])
    return body._replace(screw=Screw(k * screw.turn, k * screw.slide), R=turned if screw.turns else body.R, p=p)


def per_coordinate(tree: Sequence[Body], along: Sequence[Expression]) -> list[Expression]:
    """τ = Gᵀτ_joints: what the bodies feel along their joints, summed over those that one coordinate moves."""
    found: dict[int, Expression] = {}
    for body, x in zip(tree, along):
        if body.coordinate is not None:
            found[body.coordinate] = found[body.coordinate] + x if body.coordinate in found else x
    return [found[k] for k in range(len(found))]


def has_tree_structure(robot: Robot) -> bool:
    """Whether the mass matrix has the sparsity of the tree of joints, and articulated bodies apply.

    Followers, motors rigidly coupled to several joints, and those rigidly coupled to joints while other links carry
    them, couple coordinates beyond the tree.
    """
    return not robot.followers and not tied_rotors(robot) and not rigid_groups(robot)


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
    return place_of_rotor(robot.links[link].joint, motor)


def rotors(robot: Robot, place: Sequence[Frame] | None = None) -> list[Rotor]:
    """The rotors whose spin acts on the links, in the order of the links; none in Spong's model.

    That of a follower spins at η k y' with the coordinate y of its leader: as a rotor of the leader with the gear ratio
    η k.

    place: frames of the links on the bodies; after `lump_fixed` by default.
    """
    if robot.fidelity != "complete":
        return []
    place = frames(robot) if place is None else place
    found = []
    for i, joint, coordinate, ratio, _ in robot.moving_joints:
        for k, motor in enumerate(joint.drive.motors if joint.drive is not None else ()):
            if motor.gear_ratio is None:
                continue
            carrier = robot.carrier(i, k)
            frame = place[carrier] if carrier >= 0 else own_frame(-1)
            axis = frame.R @ sx(rotor_place(robot, i, motor)[1])
            eta, B = motor.gear_ratio, motor.inertia
            if joint.mimic is not None:
                eta, B = ratio * eta, ratio * ratio * B
            index = robot.motor_joints.index(coordinate, robot.n) if k else coordinate
            elastic = isinstance(joint.drive, BEHIND_SPRINGS)
            found.append(Rotor(index, frame.body, axis, eta, B, elastic, joint.mimic is not None))
    return found


def tied_rotors(robot: Robot) -> list[Rotor]:
    """The rotors that turn rigidly with the joints they drive, θ = q, or T q in a group."""
    return [rotor for rotor in rotors(robot) if not rotor.elastic]


def frames(robot: Robot) -> list[Frame]:
    """Frame per link on the moving body that it belongs to after `lump_fixed`."""
    found: list[Frame] = []
    moving = -1
    for link, parent in zip(robot.links, robot.parents):
        if link.joint.moves:
            moving += 1
            found.append(own_frame(moving, link.joint))
        else:
            holder = found[parent] if parent >= 0 else own_frame(-1)
            found.append(carried(holder, sx(link.joint.rotation), sx(link.joint.position)))
    return found


def own_frame(body: int, joint: Joint | None = None) -> Frame:
    """The frame of a body itself, or, with its joint, the frame of its link on it."""
    axes = None if joint is None else joint.turned_axes
    return Frame(body, identity() if axes is None else sx(axes.T), zeros(3))


def link_frames(robot: Robot) -> list[Frame]:
    """Frame per link on its own body in `bodies`."""
    return [own_frame(i, link.joint) for i, link in enumerate(robot.links)]


def on_body(frame: Frame, R: Matrix, p: Vector) -> tuple[Matrix, Vector]:
    """The pose (R, p) in a link's frame, in the frame of its body."""
    return (R, p) if frame.R.is_eye() else (frame.R @ R, frame.R @ p)


def inertia_on(frame: Frame, inertia: Inertia) -> Inertia:
    """An inertia about a link's frame, in the frame of its body."""
    return inertia if frame.R.is_eye() else inertia.transformed(frame.R, frame.p)


def carried(frame: Frame, R: Matrix, p: Vector) -> Frame:
    """A frame with the orientation R and the origin p in another frame of the same body."""
    return Frame(frame.body, frame.R @ R, frame.p + frame.R @ p)


def moving_bodies(robot: Robot, frozen: bool = True) -> list[Body]:
    """One body per moving joint, with regrouped base parameters: the least that joint torques need."""
    return regroup(lump_fixed(robot, bodies(robot, frozen)))


def lump_fixed(robot: Robot, links: list[Body] | None = None) -> list[Body]:
    """One body per moving joint: fixed links give their inertia to the body that carries them."""
    place = [own_frame(x.body) if link.joint.moves else x for link, x in zip(robot.links, frames(robot))]
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
    """B per coordinate of the motors that turn with their links, 0 for the others; k²B of followers added.

    In a group the motors' own ones: see `rigid_motor_torque`.
    """
    own = own_motor_inertia(robot)
    return own + follower_inertia(robot) if robot.followers else own


def own_motor_inertia(robot: Robot) -> Expression:
    """The same without followers."""
    return sx([j.drive.motor.inertia if isinstance(j.drive, RigidDrive) else 0.0 for j in robot.joints])


def rigid_motor_torque(robot: Robot, a: Expression) -> Expression:
    """B q'' of the motors that turn with their links, on the links: TᵀBT q'' in a group; or their momenta from q'."""
    if not robot.transmissions:
        return rigid_motor_inertia(robot) * a
    return on_links(robot, own_motor_inertia(robot) * undeflected(robot, a)) + follower_inertia(robot) * a


def follower_inertia(robot: Robot) -> Expression:
    """k²B per coordinate of the motors that followers have, which the leader moves whatever its own drive is."""
    found = zeros(robot.n)
    for follower in robot.followers:
        if isinstance(drive := follower.joint.drive, RigidDrive):
            found[follower.coordinate] += follower.ratio * follower.ratio * drive.motor.inertia
    return found
