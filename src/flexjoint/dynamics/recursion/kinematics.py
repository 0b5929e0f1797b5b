"""Poses and velocities of the links, Jacobians and their time derivatives."""

from __future__ import annotations

from typing import NamedTuple

from ...algorithm.algorithm import algorithm
from ...errors import InputError
from ...robot import Robot
from ...spatial import Screw, TimeDerivatives, ca, cross, identity, zeros
from ...types import Expression, Matrix, Vector
from .bodies import Body, bodies, link_frames, per_coordinate


class Pose(NamedTuple):
    """Pose of a frame in base coordinates: x_base = rotation · x + position.

    Attributes:
        rotation: Orientation, (..., 3, 3).
        position: Of the origin, (..., 3), m.
    """

    rotation: Matrix
    position: Vector


class Velocity(NamedTuple):
    """Motion of a body in its own frame, with the matrix R that turns it into base coordinates."""

    R: Matrix
    omega: Vector
    v: Vector  # of the frame's origin


def joint_pose(body: Body, q: Expression) -> tuple[Matrix, Vector]:
    """Orientation R(q) and origin p(q) of a body's frame in its parent's."""
    if body.coordinate is None:
        return body.R, body.p
    x = q[body.coordinate]
    R = body.R @ body.screw.rotation(x) if body.screw.turns else body.R
    return R, body.p + body.R @ body.screw.translation(x) if body.screw.slides else body.p


def poses(tree: list[Body], q: Expression) -> list[Pose]:
    """Every body's pose in base coordinates."""
    found: list[Pose] = []
    for body in tree:
        R, p = joint_pose(body, q)
        up = found[body.parent] if body.parent >= 0 else Pose(identity(), zeros(3))
        found.append(Pose(up.rotation @ R, up.position + up.rotation @ p))
    return found


def link_poses(robot: Robot, q: Expression) -> list[Pose]:
    """Every link's pose in base coordinates."""
    return [
        pose if frame.R.is_eye() else pose._replace(rotation=pose.rotation @ frame.R)
        for pose, frame in zip(poses(bodies(robot), q), link_frames(robot))
    ]


def velocities(tree: list[Body], q: Expression, v: Expression) -> list[Velocity]:
    """Every body's velocity: ω = Rᵀω_parent + q' z, v = Rᵀ(v_parent + ω_parent × p) + d'."""
    found: list[Velocity] = []
    for body in tree:
        up = found[body.parent] if body.parent >= 0 else Velocity(identity(), zeros(3), zeros(3))
        R, p = joint_pose(body, q)
        rate = v[body.coordinate] if body.coordinate is not None else 0
        omega = R.T @ up.omega + body.screw.angular(rate)
        found.append(Velocity(up.R @ R, omega, R.T @ (up.v + cross(up.omega, p)) + body.screw.linear(rate)))
    return found


def screw_rate(screw: Screw, motion: Velocity) -> tuple[Vector, Vector]:
    """Rate of the joint's axes (linear, angular) on a moving body: (v × z turn + ω × z slide, ω × z turn)."""
    linear, angular = screw.axes
    return cross(motion.v, angular) + cross(motion.omega, linear), cross(motion.omega, angular)


def carried_loads(tree: list[Body], q: Expression, loads: list[tuple[Vector, Vector]]) -> list[tuple[Vector, Vector]]:
    """Sum of the vectors (f, n) per body with all that it carries, n about the body's own frame."""
    loads = list(loads)
    for i in range(len(tree) - 1, -1, -1):
        up = tree[i].parent
        if up >= 0:
            R, p = joint_pose(tree[i], q)
            f = R @ loads[i][0]
            loads[up] = (loads[up][0] + f, loads[up][1] + R @ loads[i][1] + cross(p, f))
    return loads


def along_joints(tree: list[Body], loads: list[tuple[Vector, Vector]]) -> Expression:
    """Joint efforts of (f, n): n_z of a turning joint, f_z of a sliding one; followers' added to their leaders'."""
    return ca.vertcat(*per_coordinate(tree, [body.screw.effort(f, n) for body, (f, n) in zip(tree, loads)]))


@algorithm(Pose)
def forward_kinematics(robot: Robot, q: Expression, *, link: str | None = None) -> Pose:
    """Pose of a link's frame in base coordinates.

    Args:
        q: Joint positions, (..., n), rad or m.
        link: Name of the link; the tool by default.

    Returns:
        Pose(rotation, position), (..., 3, 3) and (..., 3), m.

    Raises:
        RobotError: If there is no such link.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> fj.forward_kinematics(fj.load("kuka_lwr"), np.zeros(7)).position.shape
        (3,)
    """
    return link_poses(robot, q)[robot.link_index(link)]


@algorithm("jacobian")
def jacobian(robot: Robot, q: Expression, *, link: str | None = None) -> Expression:
    """Jacobian of a link's frame: (velocity of its origin, angular velocity) = J q', in base coordinates.

    Args:
        q: Joint positions, (..., n), rad or m.
        link: Name of the link; the tool by default.

    Returns:
        J, (..., 6, n).

    Raises:
        RobotError: If there is no such link.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> fj.jacobian(fj.load("kuka_lwr"), np.zeros(7)).shape
        (6, 7)
    """
    tree = bodies(robot)
    pose = poses(tree, q)
    tip = robot.link_index(link)
    columns = [zeros(6)] * robot.n
    for i in robot.path(tip):
        k = tree[i].coordinate
        if k is None:
            continue
        linear, angular = (pose[i].rotation @ x for x in tree[i].screw.axes)
        arm = pose[tip].position - pose[i].position
        columns[k] = columns[k] + ca.vertcat(cross(angular, arm) + linear, angular)
    return ca.horzcat(*columns)


@algorithm("jacobian", arrays=lambda robot, order=1, **_: order + 1)
def jacobian_derivatives(
    robot: Robot, q: Expression, *higher: Expression, order: int = 1, link: str | None = None
) -> list[Expression]:
    """Jacobian and its time derivatives along a motion, [J, J', ... J⁽ᵒʳᵈᵉʳ⁾].

    Args:
        q, higher: Joint positions and their derivatives up to `order`, each (..., n).
        order: Of the highest derivative of J; 1 by default.
        link: Name of the link; the tool by default.

    Returns:
        A list of order + 1 arrays (..., 6, n).

    Raises:
        InputError: If derivatives are missing.
        RobotError: If there is no such link.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> [J.shape for J in fj.jacobian_derivatives(fj.load("kuka_lwr"), np.zeros(7), np.ones(7))]
        [(6, 7), (6, 7)]
    """
    stack = [q, *higher]
    if order < 0 or len(stack) < order + 1:
        raise InputError(
            f"jacobian_derivatives of order {order} needs q and its first {order} derivatives, "
            f"{len(higher)} derivatives were given"
        )
    J = TimeDerivatives(lambda x: jacobian.function(robot, x[0], link=link), order, (order + 1, robot.n))
    return [J(k, stack[: k + 1]) for k in range(order + 1)]
