"""Bodies of the links as triangles: those of the robot's file, else capsules between the joints."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..errors import InputError, quoted
from ..file_limits import most
from ..formats import Geometry
from ..robot import BASE, Joint, Robot
from ..spatial import rotation_onto
from ..types import FloatArray
from .link_poses import all_link_poses
from .mesh_files import Mesh, read_mesh

LINK, HUB, RAIL = (96, 146, 186), (70, 78, 88), (150, 156, 164)  # colours of bodies without one
CHOICES = ("visual", "collision", "capsules")
SIDES = 20  # of round bodies


class Body(NamedTuple):
    """Triangles in the frame of a link.

    Attributes:
        link: Index of the link; -1 for the base.
        mesh: The triangles, m.
    """

    link: int
    mesh: Mesh


class Bodies(NamedTuple):
    """What is drawn of a robot.

    Attributes:
        bodies: Triangles by link.
        size: Length that marks are drawn in proportion to, m: the reach of the robot at q = 0.
        missing: What could not be drawn, a sentence each.
    """

    bodies: tuple[Body, ...]
    size: float
    missing: tuple[str, ...]


def robot_bodies(robot: Robot, geometry: Mapping[str, Sequence[Geometry]], choice: str = "visual") -> Bodies:
    """The bodies of a robot in the frames of its links.

    Args:
        robot: The robot.
        geometry: Shapes and meshes by link, see `formats.file_geometry`.
        choice: Which of them: "visual", the other kind where a link has none; "collision", likewise; "capsules": none.

    A link without geometry gets a capsule to each joint that it carries, but not a frame without mass among links with
    geometry.
    """
    size, radius = proportions(robot)
    drawn, missing = [], []
    described = {} if choice == "capsules" else geometry
    budget = most("robot_faces")
    files: dict[str, list[Mesh]] = {}
    for i, name in enumerate([BASE, *(link.name for link in robot.links)], -1):
        bodies, trouble = described_bodies(described.get(name, ()), choice, files)
        count = sum(len(mesh.faces) for mesh in bodies)
        if count > budget:
            bodies, trouble = [], [f"link '{quoted(name)}': more than {most('robot_faces'):,} triangles in all"]
        budget -= sum(len(mesh.faces) for mesh in bodies)
        missing += [f"{x}; drawn as a capsule" for x in trouble]
        if not bodies and (trouble or not described or (i >= 0 and robot.links[i].mass)):
            bodies = capsules(robot, i, radius)
        drawn += [Body(i, mesh) for mesh in bodies]
    return Bodies(tuple(drawn), size, tuple(missing))


def proportions(robot: Robot) -> tuple[float, float]:
    """Reach of a robot at q = 0 and radius of its capsules, m."""
    p = all_link_poses(robot, np.zeros(robot.n)).position
    ends = [link.joint.position for link in robot.links] + [link.com for link in robot.links if link.mass]
    lengths = np.sort([x for x in (float(np.linalg.norm(end)) for end in ends) if x > 1e-6])
    span = np.concatenate([p, np.zeros((1, 3))])
    size = max(float(np.linalg.norm(np.ptp(span, axis=0))), float(lengths[-1]) if lengths.size else 0.0)
    size = size if size > 1e-6 else 1.0
    typical = float(np.median(lengths)) if lengths.size else size
    return size, max(min(0.035 * size, 0.3 * typical), 0.008 * size)


# Bodies of the file -------------------------------------------------------------------------------------------------


def described_bodies(
    geometry: Iterable[Geometry], choice: str, files: dict[str, list[Mesh]]
) -> tuple[list[Mesh], list[str]]:
    """Triangles of a link's geometry, and what could not be drawn; `files` keeps meshes that are used twice."""
    found, trouble = [], []
    given = list(geometry)
    roles = {x.role for x in given}
    role = choice if choice in roles or not roles else min(roles)
    for x in (x for x in given if x.role == role):
        try:
            parts = shaped(x, files)
        except InputError as error:
            trouble.append(f"link '{quoted(x.link)}': {error}")
            continue
        found += [mesh._replace(vertices=mesh.vertices @ x.rotation.T + x.position) for mesh in parts]
    return found, trouble


def shaped(x: Geometry, files: dict[str, list[Mesh]]) -> list[Mesh]:
    """Triangles of one geometry in its own frame."""
    if not all(math.isfinite(size) and abs(size) < 1e6 for size in x.size):
        raise InputError(f"line {x.line}: the size is not plausible; give a number below 1e6 m")
    if x.kind == "mesh":
        if x.path is None:
            raise InputError(f"there is no mesh file '{quoted(x.file)}'")
        if x.path not in files:
            files[x.path] = read_mesh(x.path)
        mirrored = np.prod(x.size) < 0
        return [
            mesh._replace(vertices=mesh.vertices * x.size, faces=mesh.faces[:, ::-1] if mirrored else mesh.faces)
            for mesh in files[x.path]
        ]
    if x.kind == "box":
        return [box(x.size)]
    if x.kind == "sphere":
        return [round_body(x.size[0], 0.0)]
    if x.kind == "capsule":
        return [round_body(*x.size)]
    if x.kind == "cylinder":
        return [cylinder(*x.size)]
    raise InputError(f"line {x.line}: a {quoted(x.kind)} is not drawn")


# Capsules -----------------------------------------------------------------------------------------------------------


def capsules(robot: Robot, i: int, radius: float) -> list[Mesh]:
    """Capsules from a link to the joints that it carries, a hub at its own joint, and rails of sliding joints."""
    name = BASE if i < 0 else robot.links[i].name
    own = None if i < 0 else robot.links[i].joint
    children = [link.joint for link in robot.links if link.parent == name]
    ends = [joint.position for joint in children]
    if own is not None and not ends and robot.links[i].mass:
        ends = [robot.links[i].com]
    found = [between(np.zeros(3), end, radius, LINK) for end in ends if np.linalg.norm(end) > 1e-9]
    found += [rail(joint, radius) for joint in children if joint.kind.slides]
    if own is None:
        found.append(placed(cylinder(2.2 * radius, 0.5 * radius), np.array([0, 0, 0.25 * radius]), colour=HUB))
    elif own.kind.slides:
        found.append(placed(box((2.6 * radius,) * 3), np.zeros(3), rotation_onto(own.axis), HUB))
    elif own.moves:
        found.append(placed(cylinder(1.3 * radius, 2.8 * radius), np.zeros(3), rotation_onto(own.axis), HUB))
    if not found:
        found.append(round_body(radius, 0.0)._replace(colour=LINK))
    return found


def rail(joint: Joint, radius: float) -> Mesh:
    """The rail on which a sliding joint moves, in the frame of its parent."""
    limits = joint.limits
    ends = [x if math.isfinite(x) else s * 12 * radius for s, x in ((-1, limits.lower), (1, limits.upper))]
    along = joint.axis_in_parent
    first, last = (joint.position + x * along for x in (min(ends[0], 0.0), max(ends[1], 0.0)))
    return between(first, last, 0.4 * radius, RAIL)


def between(start: FloatArray, end: FloatArray, radius: float, colour: tuple[int, int, int]) -> Mesh:
    """A capsule from one point to another."""
    along = np.asarray(end - start, dtype=float)
    length = float(np.linalg.norm(along))
    turned = rotation_onto(along / length) if length > 1e-12 else np.eye(3)
    return placed(round_body(radius, length), (start + end) / 2, turned, colour)


def placed(
    mesh: Mesh, position: FloatArray, rotation: FloatArray | None = None, colour: tuple[int, int, int] | None = None
) -> Mesh:
    """A mesh moved to a pose, with a colour."""
    turned = mesh.vertices if rotation is None else mesh.vertices @ rotation.T
    return Mesh(turned + position, mesh.faces, colour)


def shrunk(mesh: Mesh, by: float) -> FloatArray:
    """Vertices of a mesh moved inwards along the normals of its surface by a length, m."""
    _, place, copy = np.unique(np.round(mesh.vertices, 9), axis=0, return_index=True, return_inverse=True)
    a, b, c = np.moveaxis(mesh.vertices[mesh.faces], 1, 0)
    across = np.cross(b - a, c - a)
    normals = np.zeros((len(place), 3))
    for k in range(3):
        np.add.at(normals, copy.ravel()[mesh.faces[:, k]], across)
    lengths = np.linalg.norm(normals, axis=1, keepdims=True)
    return mesh.vertices - by * (normals / np.where(lengths > 0, lengths, 1.0))[copy.ravel()]


def box(edges: Sequence[float]) -> Mesh:
    """A box about its centre; every side has vertices of its own, so that edges stay sharp."""
    sides = []
    for axis in range(3):
        for sign in (-1.0, 1.0):
            corner = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], dtype=float)[:: int(sign)]
            side = np.insert(corner, axis, sign, axis=1) if axis != 1 else np.insert(corner[::-1], 1, sign, axis=1)
            sides.append(side)
    faces = np.array([[4 * k, 4 * k + a, 4 * k + a + 1] for k in range(6) for a in (1, 2)])
    return Mesh(np.concatenate(sides) * np.asarray(edges, dtype=float) / 2, faces)


def cylinder(radius: float, length: float) -> Mesh:
    """A cylinder along z about its centre, with sharp rims."""
    outline = [(0.0, -length / 2), (radius, -length / 2), (radius, -length / 2), (radius, length / 2)]
    return turned_body([*outline, (radius, length / 2), (0.0, length / 2)], sharp=True)


def round_body(radius: float, length: float) -> Mesh:
    """A capsule along z about its centre: a cylinder of this length between two half spheres."""
    angles = np.linspace(-np.pi / 2, np.pi / 2, 14)
    half = [(radius * np.cos(a), radius * np.sin(a) + math.copysign(length / 2, a)) for a in angles]
    return turned_body(half)


def turned_body(outline: Sequence[tuple[float, float]], sharp: bool = False) -> Mesh:
    """Surface of revolution of an outline (radius, z), bottom to top; `sharp`: doubled points become edges."""
    angles = 2 * np.pi * np.arange(SIDES) / SIDES
    rings = [np.column_stack([r * np.cos(angles), r * np.sin(angles), np.full(SIDES, z)]) for r, z in outline]
    k = np.arange(SIDES)
    after = (k + 1) % SIDES
    faces = []
    for ring in range(len(outline) - 1):
        if sharp and outline[ring] == outline[ring + 1]:
            continue
        low, high = ring * SIDES, (ring + 1) * SIDES
        faces.append(np.column_stack([low + k, low + after, high + after]))
        faces.append(np.column_stack([low + k, high + after, high + k]))
    return Mesh(np.concatenate(rings), np.concatenate(faces))
