"""What the recursions see of a robot: bodies on joints, with their inertia about the joint frame.

`bodies(robot)` lists every link.  Two passes make the list shorter and its numbers fewer, joint torques
unchanged: `lump_fixed` merges links on fixed joints into the link that carries them, `regroup` moves to the
parent whatever of a link's inertia its own joint cannot feel (the base parameters of Gautier and Khalil):

    a revolute link hands over m, h_z and Σ_zz, which turn with neither;
    a prismatic link hands over all of Σ, which turns with the parent, and keeps m and h.

Internal wrenches do change, so joint wrenches are computed from `bodies` alone.  What the joints themselves add
along their axes comes as vectors: rigidly coupled motors here, friction in `friction.py`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..drives import RigidDrive
from ..robot import JointKind, Robot
from ..spatial import Inertia, Matrix, Vector, identity, second_moment, sx, zeros


class Body(NamedTuple):
    """A link as the recursions see it; R and p place its frame at q = 0 in the parent's."""

    parent: int  # index of another body, -1 for the base
    kind: JointKind
    coordinate: int | None  # index in q
    R: Matrix
    p: Vector
    inertia: Inertia


class Frame(NamedTuple):
    """A place fixed on a body."""

    body: int
    R: Matrix
    p: Vector


def bodies(robot: Robot) -> list[Body]:
    """Every link, with its inertia about its joint frame."""
    return [
        Body(
            parent,
            link.joint.kind,
            coordinate,
            sx(link.joint.rotation),
            sx(link.joint.position),
            Inertia(
                sx(link.mass),
                sx(link.mass * link.com),
                sx(second_moment(link.mass, link.com, link.inertia)),
            ),
        )
        for link, parent, coordinate in zip(robot.links, robot.parents, robot.coordinates)
    ]


def frames(robot: Robot) -> list[Frame]:
    """For each link, the moving body it belongs to after `lump_fixed` and its frame there."""
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
    return Frame(body, identity(), zeros(3))


def carried(frame: Frame, R: Matrix, p: Vector) -> Frame:
    return Frame(frame.body, frame.R @ R, frame.p + frame.R @ p)


def moving_bodies(robot: Robot) -> list[Body]:
    """One body a moving joint, base parameters regrouped: what joint torques need, and no more."""
    return regroup(lump_fixed(robot))


def lump_fixed(robot: Robot) -> list[Body]:
    """One body a moving joint: fixed links give their inertia to the body that carries them."""
    place = frames(robot)
    merged: list[Body] = []
    for body in bodies(robot):
        if body.kind != "fixed":
            frame = carried(place[body.parent] if body.parent >= 0 else own_frame(-1), body.R, body.p)
            merged.append(body._replace(parent=frame.body, R=frame.R, p=frame.p))
    for body, frame in zip(bodies(robot), place):
        if body.kind == "fixed" and frame.body >= 0:
            holder = merged[frame.body]
            merged[frame.body] = holder._replace(inertia=holder.inertia + body.inertia.seen_from(frame.R, frame.p))
    return merged


def regroup(tree: list[Body]) -> list[Body]:
    """Leaves first, give the parent what the joint cannot feel.  What reaches the base is dropped."""
    tree = list(tree)
    for i in range(len(tree) - 1, -1, -1):
        body = tree[i]
        kept, given = split(body.kind, body.inertia)
        tree[i] = body._replace(inertia=kept)
        if body.parent >= 0:
            parent = tree[body.parent]
            tree[body.parent] = parent._replace(inertia=parent.inertia + given.seen_from(body.R, body.p))
    return tree


def split(kind: JointKind, inertia: Inertia) -> tuple[Inertia, Inertia]:
    """(kept, given) of a link's inertia."""
    m, h, Sigma = inertia
    if kind == "prismatic":
        return Inertia(m, h, zeros(3, 3)), Inertia(sx(0.0), zeros(3), Sigma)
    given_h, given_Sigma = along_z(h, Sigma)
    return Inertia(sx(0.0), h - given_h, Sigma - given_Sigma), Inertia(m, given_h, given_Sigma)


def along_z(h: Vector, Sigma: Matrix) -> tuple[Any, Any]:
    """The moments of the mass seen as lying on the z axis."""
    given_h, given_Sigma = zeros(3), zeros(3, 3)
    given_h[2], given_Sigma[2, 2] = h[2], Sigma[2, 2]
    return given_h, given_Sigma


def rigid_motor_inertia(robot: Robot) -> Any:
    """B of the motors that turn with their links, zero for the others."""
    return sx([j.drive.motor.inertia if isinstance(j.drive, RigidDrive) else 0.0 for j in robot.joints])
