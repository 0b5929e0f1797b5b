"""Bodies and joints of a compiled MJCF as links and joints, in MuJoCo's body frames.

A body keeps its name and its frame.  MuJoCo moves it by its joints one after another, each about an axis through an
anchor in the body's frame; a link of ours has its origin on the axis of its one joint.  So a body with joints j_1 to
j_k becomes

    parent ─ j_1 ─ frame ─ j_2 ─ frame ... ─ j_k ─ body

with frames without mass whose axes are those of the body and whose origins are the anchors.  Where the last anchor is
not the body's origin, a further frame stands there and the body is fixed to it.  q is MuJoCo's qpos: the pose of the
file belongs to q = `ref`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...numerics import product
from ...robot import Limits
from ...types import FloatArray
from ..tree.assembly import rotation_about
from ..tree.records import JointData, LinkData
from ..xml import Element
from .compiled import Compiled, named

FREE, BALL, SLIDE, HINGE = range(4)  # MuJoCo's types of joints
TYPE = {FREE: "floating", BALL: "ball", SLIDE: "prismatic", HINGE: "revolute"}
SMALL = 2e-13  # elements of a rotation that count as 0: MuJoCo's quarter turns are off by 2e-16


def links_and_joints(found: Compiled) -> tuple[dict[str, LinkData], dict[str, JointData]]:
    """Links and joints by name, in the order of MuJoCo's bodies; limits and friction of joints without actuators."""
    model, bodies = found.model, found.names["body"]
    links: dict[str, LinkData] = {}
    joints: list[JointData] = []
    frames = frame_names(found)
    fixed = fixed_names(found)
    for i in range(model.nbody):
        element = found.elements["body"][i]
        links[bodies[i]] = link_data(model, i, bodies[i], element)
        if i == 0:
            continue
        chain = [*range(model.body_jntadr[i], model.body_jntadr[i] + model.body_jntnum[i])]
        parent, at = bodies[model.body_parentid[i]], np.array(model.body_pos[i])
        R, anchor = rotation(model.body_quat[i]), np.zeros(3)
        for j in chain:
            p = anchor_of(model, j)
            last = j == chain[-1] and not np.any(p)
            child = bodies[i] if last else frames[j]
            if not last:
                links[child] = LinkData(child, found.elements["joint"][j], 0.0, np.zeros(3), np.zeros((3, 3)))
            joints.append(joint_data(found, j, parent, child, at + product(R, p - anchor), R))
            parent, at, R, anchor = child, np.zeros(3), np.eye(3), p
        if parent != bodies[i]:
            data = (element, "fixed", parent, bodies[i], at - anchor, R, np.array([0.0, 0.0, 1.0]), Limits(), 0.0, 0.0)
            joints.append(JointData(fixed[i], *data))
    return links, {x.name: x for x in joints}


def frame_names(found: Compiled) -> list[str]:
    """Name of the frame that a joint moves if it is not that of its body, by joint."""
    bodies, model = found.names["body"], found.model
    wanted = [f"{bodies[model.jnt_bodyid[j]]}_{name}" for j, name in enumerate(found.names["joint"])]
    return named([*bodies, *[""] * len(wanted)], [*bodies, *wanted])[len(bodies) :]


def fixed_names(found: Compiled) -> list[str]:
    """Name of the joint that fixes a body, by body."""
    joints, wanted = found.names["joint"], [f"{name}_fixed" for name in found.names["body"]]
    return named([*joints, *[""] * len(wanted)], [*joints, *wanted])[len(joints) :]


def link_data(model: Any, i: int, name: str, element: Element) -> LinkData:
    """Mass, centre of mass and inertia of a body in its frame."""
    A = rotation(model.body_iquat[i])
    turned = product(A, np.diag(model.body_inertia[i]), A.T)
    com = np.array(model.body_ipos[i])
    return LinkData(name, element, float(model.body_mass[i]), com, (turned + turned.T) / 2)


def anchor_of(model: Any, j: int) -> FloatArray:
    """A point on the axis of a joint in its body's frame: the origin if that lies on the axis."""
    p = np.array(model.jnt_pos[j])
    off_axis = np.any(np.cross(p, model.jnt_axis[j]))
    return p if model.jnt_type[j] == HINGE and off_axis else np.zeros(3)


def joint_data(found: Compiled, j: int, parent: str, child: str, position: FloatArray, R: FloatArray) -> JointData:
    """A joint; position and rotation are its pose at q = ref, that of the record is the one at q = 0."""
    model, kind = found.model, int(found.model.jnt_type[j])
    axis = np.array(model.jnt_axis[j]) if kind in (SLIDE, HINGE) else np.array([0.0, 0.0, 1.0])
    ref = float(model.qpos0[model.jnt_qposadr[j]]) if kind in (SLIDE, HINGE) else 0.0
    if kind == SLIDE and ref:
        position = position - ref * product(R, axis)
    elif kind == HINGE and ref:
        R = product(R, rotation_about(axis, -ref))
    name, element = found.names["joint"][j], found.elements["joint"][j]
    limits = position_limits(model, j) if kind in (SLIDE, HINGE) else Limits()
    return JointData(name, element, TYPE[kind], parent, child, position, R, axis, limits, 0.0, 0.0)


def position_limits(model: Any, j: int) -> Limits:
    """The range of a joint."""
    return Limits(*model.jnt_range[j].tolist()) if model.jnt_limited[j] else Limits()


def rotation(quaternion: FloatArray) -> FloatArray:
    """Rotation matrix (3, 3) of a unit quaternion (w, x, y, z); elements that are rounding become 0, or 1 beside 0."""
    w, x, y, z = (float(value) for value in quaternion)
    R = np.array(
        [
            [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )
    R[np.abs(R) < SMALL] = 0.0
    for i in range(3):
        if np.count_nonzero(R[i]) == 1:
            R[i] = np.copysign(R[i] != 0, R[i])
    return R


def world_rotation(found: Compiled, name: str) -> FloatArray:
    """Rotation (3, 3) of a body in the world, in the pose of the file."""
    model, R = found.model, np.eye(3)
    i = found.names["body"].index(name)
    while i > 0:
        R = product(rotation(model.body_quat[i]), R)
        i = int(model.body_parentid[i])
    return R


def scalar_joint(model: Any, j: int) -> bool:
    """Whether a joint has one coordinate."""
    return int(model.jnt_type[j]) in (SLIDE, HINGE)
