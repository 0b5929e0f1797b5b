"""Where the links are and how they move: poses, Jacobians and their time derivatives, velocities."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...algorithm.algorithm import algorithm
from ...errors import InputError
from ...robot import Robot
from ...spatial import Screw, TimeDerivatives, ca, cross, identity, zeros
from ...types import Matrix, Vector
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
    R = body.R @ body.screw.rotation(x) if body.screw.turns else body.R
    return R, body.p + body.R @ body.screw.translation(x) if body.screw.slides else body.p


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
        rate = v[body.coordinate] if body.coordinate is not None else 0
        omega = R.T @ up.omega + body.screw.angular(rate)
        found.append(Velocity(up.R @ R, omega, R.T @ (up.v + cross(up.omega, p)) + body.screw.linear(rate)))
    return found


def screw_rate(screw: Screw, motion: Velocity) -> tuple[Vector, Vector]:
    """Rate of the joint's axes (linear, angular) on a moving body: (v × z turn + ω × z slide, ω × z turn)."""
    linear, angular = screw.axes
    return cross(motion.v, angular) + cross(motion.omega, linear), cross(motion.omega, angular)


def carried_loads(tree: list[Body], q: Any, loads: list[tuple[Vector, Vector]]) -> list[tuple[Vector, Vector]]:
    """Of each body and all that it carries, the sum of the vectors (f, n), n about the body's own frame."""
    loads = list(loads)
    for i in range(len(tree) - 1, -1, -1):
        up = tree[i].parent
        if up >= 0:
            R, p = joint_pose(tree[i], q)
            f = R @ loads[i][0]
            loads[up] = (loads[up][0] + f, loads[up][1] + R @ loads[i][1] + cross(p, f))
    return loads


def along_joints(tree: list[Body], loads: list[tuple[Vector, Vector]]) -> Any:
    """What the joints feel of (f, n): n_z of a turning, f_z of a sliding one."""
    return ca.vertcat(*[body.screw.effort(f, n) for body, (f, n) in zip(tree, loads)])


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
        linear, angular = (pose[i].rotation @ x for x in tree[i].screw.axes)
        arm = pose[tip].position - pose[i].position
        columns[k] = ca.vertcat(cross(angular, arm) + linear, angular)
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
    J = TimeDerivatives(lambda x: jacobian.function(robot, x[0], link=link), order, (order + 1, robot.n))
    return [J(k, stack[: k + 1]) for k in range(order + 1)]
