"""Links, joints and geometry of a robot file as records, in SI units and in the file's frames."""

from __future__ import annotations

from typing import NamedTuple

from ...drives import Drive
from ...robot import Limits
from ...springs import ParallelSpring
from ...types import FloatArray
from ..xml import Element

QUARTER_TURN = 2e-13  # rad: 1.5707963267949 counts as pi/2, 1.57079632679 is what the file says
SEVERAL = ("floating", "planar", "ball", "spherical", "universal", "screw")  # known joints that are not modelled


class LinkData(NamedTuple):
    """A link: mass (kg), centre of mass (3,) and inertia about it (3, 3), in the link's frame."""

    name: str
    element: Element
    mass: float
    com: FloatArray
    inertia: FloatArray


class MimicData(NamedTuple):
    """A joint that follows another: q = multiplier · q_joint + offset."""

    joint: str
    multiplier: float
    offset: float
    element: Element


class JointData(NamedTuple):
    """A joint between two links; position and rotation are the pose of the child at q = 0, in the parent's frame.

    type: "revolute", "continuous", "prismatic" or "fixed"; others are refused unless they are locked.
    stiffness, spring_damping: Franka's K and D of a URDF, None if they are not given.
    """

    name: str
    element: Element
    type: str
    parent: str
    child: str
    position: FloatArray
    rotation: FloatArray
    axis: FloatArray
    limits: Limits
    damping: float
    friction: float
    mimic: MimicData | None = None
    drive: Drive | None = None
    parallel_spring: ParallelSpring | None = None
    stiffness: float | None = None
    spring_damping: float | None = None


class Geometry(NamedTuple):
    """A body that a file shows or lets collide, for viewers and checks; it enters no computation.

    Attributes:
        link: name of the link.
        role: "visual" or "collision".
        kind: "box", "cylinder", "sphere", "capsule" or "mesh".
        size: box: edges (3,); cylinder and capsule: (radius, length); sphere: (radius,); mesh: its scale (3,); m.
        position, rotation: pose of the body in the link's frame, (3,), m, and (3, 3).
        file: what the robot file says of a mesh, "" for others.
        path: path of that file, None if it was not found.
        line: line in the robot file.
    """

    link: str
    role: str
    kind: str
    size: tuple[float, ...]
    position: FloatArray
    rotation: FloatArray
    file: str
    path: str | None
    line: int
