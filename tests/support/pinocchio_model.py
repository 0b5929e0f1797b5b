"""The same robot in Pinocchio, as an oracle.

Pinocchio's composite-rigid-body algorithm is silently wrong unless the joints of every subtree follow each other
(4.1: blocks of the mass matrix come out zero or misplaced), so joints are created depth first and `pinocchio_order`
maps between the two orders: q_pinocchio = q[order], and back x[order] = x_pinocchio.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin

from flexjoint.drives import RigidDrive
from flexjoint.robot import Joint, Robot

MODEL = {"revolute": pin.JointModelRZ, "prismatic": pin.JointModelPZ}
UNALIGNED = {"revolute": pin.JointModelRevoluteUnaligned, "prismatic": pin.JointModelPrismaticUnaligned}


def depth_first(robot: Robot) -> list[int]:
    """Indices of the links, each followed by its whole subtree."""
    children: dict[int, list[int]] = {}
    for i, parent in enumerate(robot.parents):
        children.setdefault(parent, []).append(i)
    order, stack = [], children[-1][::-1]
    while stack:
        i = stack.pop()
        order.append(i)
        stack.extend(children.get(i, [])[::-1])
    return order


def pinocchio_order(robot: Robot) -> np.ndarray:
    """Our index of each of Pinocchio's coordinates; the identity for a chain."""
    return np.array([k for i in depth_first(robot) if (k := robot.coordinates[i]) is not None], dtype=int)


def joint_model(joint: Joint) -> pin.JointModel:
    """The joint in Pinocchio, about z or about an axis of its own."""
    if joint.axis[2] == 1.0:
        return MODEL[joint.kind.name]()
    return UNALIGNED[joint.kind.name](np.array(joint.axis))


def pinocchio_model(robot: Robot, *, motors: bool = False) -> pin.Model:
    """Links and gravity; with `motors` the inertia of rigid drives too.  Friction and springs are left out."""
    model = pin.Model()
    model.name = robot.name
    model.gravity.linear = np.array(robot.gravity)
    mounts: dict[int, tuple[int, pin.SE3]] = {-1: (0, pin.SE3.Identity())}  # moving ancestor, and the pose in it
    for i in depth_first(robot):
        link = robot.links[i]
        ancestor, pose = mounts[robot.parents[i]]
        placement = pose * pin.SE3(np.array(link.joint.rotation), np.array(link.joint.position))
        if link.joint.moves:
            mounts[i] = (
                model.addJoint(ancestor, joint_model(link.joint), placement, link.joint.name),
                pin.SE3.Identity(),
            )
        else:
            mounts[i] = (ancestor, placement)
        joint, pose = mounts[i]
        if joint and link.mass:
            model.appendBodyToJoint(joint, pin.Inertia(link.mass, np.array(link.com), np.array(link.inertia)), pose)
        model.addFrame(pin.Frame(link.name, joint, pose, pin.FrameType.BODY))
    assert list(model.names)[1:] == [robot.joints[k].name for k in pinocchio_order(robot)]
    assert list(model.idx_qs)[1:] == list(range(robot.n))
    if motors:
        drives = [robot.joints[k].drive for k in pinocchio_order(robot)]
        model.armature = np.array([x.motor.inertia if isinstance(x, RigidDrive) else 0.0 for x in drives])
    return model


def pinocchio_rnea(robot: Robot, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Joint torques of the links alone, in our order."""
    model, order = pinocchio_model(robot), pinocchio_order(robot)
    tau = np.empty(robot.n)
    tau[order] = pin.rnea(model, model.createData(), q[order], v[order], a[order])
    return tau


def pinocchio_mass_matrix(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Mass matrix of the links alone, in our order."""
    model, order = pinocchio_model(robot), pinocchio_order(robot)
    upper = np.triu(pin.crba(model, model.createData(), q[order]))
    M = np.empty((robot.n, robot.n))
    M[np.ix_(order, order)] = upper + np.triu(upper, 1).T
    return M


def pinocchio_coriolis(robot: Robot, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Christoffel's C of the links alone, in our order."""
    model, order = pinocchio_model(robot), pinocchio_order(robot)
    C = np.empty((robot.n, robot.n))
    C[np.ix_(order, order)] = pin.computeCoriolisMatrix(model, model.createData(), q[order], v[order])
    return C
