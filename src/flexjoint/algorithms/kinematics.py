"""Where the links are and how they move: poses, Jacobians and their time derivatives, velocities."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..api import algorithm
from ..errors import InputError
from ..robot import Robot
from ..spatial import Matrix, Vector, about_z, ca, cross, identity, time_derivative, unit_z, zeros
from .bodies import Body, bodies


class Pose(NamedTuple):
    """Orientation and position of a frame in base coordinates: x_base = rotation · x + position."""

    rotation: Any
    position: Any


class Velocity(NamedTuple):
    """Motion of a body in its own frame, with the matrix R that turns it into base coordinates."""

    R: Matrix
    omega: Vector
    v: Vector  # of the frame's origin


def joint_pose(body: Body, q: Any) -> tuple[Matrix, Vector]:
    """The body's frame in its parent's: R(q), p(q)."""
    if body.coordinate is None:
        return body.R, body.p
    x = q[body.coordinate]
    if body.kind == "revolute":
        return body.R @ about_z(x), body.p
    return body.R, body.p + body.R @ (x * unit_z())


def poses(tree: list[Body], q: Any) -> list[Pose]:
    """Every body's pose in base coordinates."""
    found: list[Pose] = []
    for body in tree:
        R, p = joint_pose(body, q)
        up = found[body.parent] if body.parent >= 0 else Pose(identity(), zeros(3))
        found.append(Pose(up.rotation @ R, up.position + up.rotation @ p))
    return found


def velocities(tree: list[Body], q: Any, v: Any) -> list[Velocity]:
    """Every body's velocity: ω = Rᵀω_parent + q' z, v = Rᵀ(v_parent + ω_parent × p) + d'."""
    found: list[Velocity] = []
    for body in tree:
        up = found[body.parent] if body.parent >= 0 else Velocity(identity(), zeros(3), zeros(3))
        R, p = joint_pose(body, q)
        along_z = v[body.coordinate] * unit_z() if body.coordinate is not None else zeros(3)
        turning, sliding = (along_z, zeros(3)) if body.kind == "revolute" else (zeros(3), along_z)
        found.append(Velocity(up.R @ R, R.T @ up.omega + turning, R.T @ (up.v + cross(up.omega, p)) + sliding))
    return found


@algorithm(Pose)
def forward_kinematics(robot: Robot, q, *, link=None):
    """Pose of a link's frame in base coordinates; of the tool by default."""
    return poses(bodies(robot), q)[robot.link_index(link)]


@algorithm("jacobian")
def jacobian(robot: Robot, q, *, link=None):
    """J(q) with (velocity of the link's origin, angular velocity) = J q', in base coordinates."""
    tree = bodies(robot)
    pose = poses(tree, q)
    tip = robot.link_index(link)
    columns = [zeros(6)] * robot.n
    for i in robot.path(tip):
        k = tree[i].coordinate
        if k is None:
            continue
        z = pose[i].rotation @ unit_z()
        turning = tree[i].kind == "revolute"
        arm = pose[tip].position - pose[i].position
        columns[k] = ca.vertcat(cross(z, arm), z) if turning else ca.vertcat(z, zeros(3))
    return ca.horzcat(*columns)


@algorithm("jacobian", arrays=lambda robot, order=1, **_: order + 1)
def jacobian_derivatives(robot: Robot, q, *higher, order=1, link=None):
    """[J, J', ... J⁽ᵒʳᵈᵉʳ⁾] along a motion, from [q, v, ...] up to derivative `order`."""
    stack = [q, *higher]
    if order < 0 or len(stack) < order + 1:
        raise InputError(
            f"jacobian_derivatives of order {order} needs q and its first {order} derivatives, "
            f"{len(higher)} derivatives were given"
        )
    J = [jacobian.function(robot, q, link=link)]
    for _ in range(order):
        J.append(time_derivative(J[-1], stack))
    return J
