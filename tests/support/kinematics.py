"""Forward kinematics by plain 4x4 homogeneous transforms, independent of the library's algorithms."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from flexjoint.robot import Joint, Robot


def transform(R: np.ndarray | None = None, p: np.ndarray | None = None) -> np.ndarray:
    T = np.eye(4)
    if R is not None:
        T[:3, :3] = R
    if p is not None:
        T[:3, 3] = p
    return T


def turn(axis: str, angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    i, j = {"x": (1, 2), "y": (2, 0), "z": (0, 1)}[axis]
    T = np.eye(4)
    T[i, i], T[i, j], T[j, i], T[j, j] = c, -s, s, c
    return T


def shift(axis: str, distance: float) -> np.ndarray:
    T = np.eye(4)
    T["xyz".index(axis), 3] = distance
    return T


def about(axis: np.ndarray, c: Any, s: Any) -> Any:
    """Rodrigues' formula, from the cosine and the sine of the angle."""
    x, y, z = axis
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + s * K + (1 - c) * (K @ K)


def joint_motion(joint: Joint, q: float) -> np.ndarray:
    if joint.kind.name == "revolute":
        return transform(about(joint.axis, np.cos(q), np.sin(q)))
    return transform(p=q * joint.axis)


def link_poses(robot: Robot, q: np.ndarray) -> list[np.ndarray]:
    """The pose of every link's frame in the base."""
    poses: list[np.ndarray] = []
    for link, parent, k in zip(robot.links, robot.parents, robot.coordinates):
        above = np.eye(4) if parent < 0 else poses[parent]
        T = above @ transform(link.joint.rotation, link.joint.position)
        poses.append(T if k is None else T @ joint_motion(link.joint, q[k]))
    return poses


def gravity_energy(robot: Robot, q: np.ndarray) -> float:
    """U = −Σ m gᵀ c."""
    poses = link_poses(robot, q)
    return -sum(x.mass * robot.gravity @ (T @ [*x.com, 1.0])[:3] for x, T in zip(robot.links, poses))


def symbolic_poses(robot: Robot, q: Any) -> list[Any]:
    """The same poses as CasADi expressions of the symbols q."""
    poses: list[Any] = []
    for link, parent, k in zip(robot.links, robot.parents, robot.coordinates):
        above = ca.SX.eye(4) if parent < 0 else poses[parent]
        T = above @ ca.SX(ca.DM(transform(link.joint.rotation, link.joint.position)))
        if k is not None:
            moved = ca.SX.eye(4)
            if link.joint.kind.name == "revolute":
                moved[:3, :3] = about(link.joint.axis, ca.cos(q[k]), ca.sin(q[k]))
            else:
                moved[:3, 3] = q[k] * ca.SX(ca.DM(link.joint.axis))
            T = T @ moved
        poses.append(T)
    return poses
