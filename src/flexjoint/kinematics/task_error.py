"""How far frames are from their goals, with Jacobians, on SX.

The error of a position is the distance per length L of the robot, so that turns and distances are comparable.  The
error of an orientation is 2 sin(θ/2) times the axis of the rotation by θ that is missing: it grows up to half a turn,
and its rate is the angular velocity where θ = 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..dynamics.recursion.bodies import bodies, link_frames
from ..dynamics.recursion.kinematics import Pose, poses
from ..robot import Robot
from ..spatial import ca, cross, sx, zeros
from ..types import Expression, Matrix, Scalar, Vector
from .target import Task

LEAST = 1e-6  # of 1 + cos θ: keeps quotients finite at half a turn, where the error has no direction


class TaskErrors(NamedTuple):
    """Errors of all targets at a posture.

    error: stacked, (m,); positions per length L.
    jacobian: of their negative, (m, n): q' changes the error by −J q'.
    position: largest distance between a frame and its goal, m.
    rotation: largest angle between a frame and its goal, rad.
    """

    error: Vector
    jacobian: Matrix
    position: Scalar
    rotation: Scalar


def task_errors(
    robot: Robot, tasks: Sequence[Task], q: Expression, goals: Sequence[Expression], length: float
) -> TaskErrors:
    """Errors of all tasks; a goal is a column of 3 numbers, the position, or 12, with the rotation row by row."""
    tree = bodies(robot)
    placed = poses(tree, q)
    errors, rows, distances, angles = [], [], [], []
    for task, goal in zip(tasks, goals):
        frame = placed_frame(robot, placed, task)
        linear, angular = frame_jacobian(robot, tree, placed, task, frame)
        if task.position:
            missing = goal[:3] - frame.position
            chosen = [missing[k] for k in task.position]
            errors += [x / length for x in chosen]
            rows += [linear[k, :] / length for k in task.position]
            distances.append(ca.sqrt(square(ca.vertcat(*chosen))))
        if task.orientation == "free":
            continue
        wanted = ca.reshape(goal[3:], 3, 3).T
        turn = whole_turn if task.orientation == "full" else axis_turn
        error, jacobian, angle = turn(frame.rotation, wanted, angular, task.orientation)
        errors.append(error)
        rows.append(jacobian)
        angles.append(angle)
    return TaskErrors(ca.vertcat(*errors), ca.vertcat(*rows), largest(distances), largest(angles))


def placed_frame(robot: Robot, placed: Sequence[Pose], task: Task) -> Pose:
    """The pose of a task's frame in base coordinates, from those of all bodies."""
    link = placed[task.link]
    turned = link_frames(robot)[task.link].R
    rotation = link.rotation @ turned
    on_link = ca.reshape(sx(list(task.rotation)), 3, 3).T
    offset = sx(list(task.offset))
    return Pose(rotation @ on_link, link.position + rotation @ offset)


def frame_jacobian(
    robot: Robot, tree: Sequence, placed: Sequence[Pose], task: Task, frame: Pose
) -> tuple[Matrix, Matrix]:
    """Linear and angular velocity of the frame per unit of each coordinate, (3, n) each, in base coordinates."""
    linear, angular = [zeros(3)] * robot.n, [zeros(3)] * robot.n
    for i in robot.path(task.link):
        if (k := tree[i].coordinate) is not None:
            along, about = (placed[i].rotation @ x for x in tree[i].screw.axes)
            linear[k] = linear[k] + along + cross(about, frame.position - placed[i].position)
            angular[k] = angular[k] + about
    return ca.horzcat(*linear), ca.horzcat(*angular)


def whole_turn(R: Matrix, wanted: Matrix, angular: Matrix, _: str) -> tuple[Vector, Matrix, Scalar]:
    """Error of a whole orientation, in base coordinates."""
    twice_sine = zeros(3)
    for k in range(3):
        twice_sine = twice_sine + cross(R[:, k], wanted[:, k])
    trace = ca.sum1(ca.sum2(R * wanted))
    error = twice_sine / ca.sqrt(ca.fmax(1 + trace, LEAST))
    return error, angular, ca.atan2(ca.sqrt(square(twice_sine)), trace - 1)


def axis_turn(R: Matrix, wanted: Matrix, angular: Matrix, axis: str) -> tuple[Vector, Matrix, Scalar]:
    """Error of the direction of one axis, about the other two axes of the frame."""
    k = "xyz".index(axis)
    u, v = R[:, (k + 1) % 3], R[:, (k + 2) % 3]
    goal = wanted[:, k]
    across, beyond, cosine = ca.dot(u, goal), ca.dot(v, goal), ca.dot(R[:, k], goal)
    sines = ca.vertcat(-beyond, across)
    error = sines * ca.sqrt(2 / ca.fmax(1 + cosine, LEAST))
    return error, ca.vertcat(u.T @ angular, v.T @ angular), ca.atan2(ca.sqrt(square(sines)), cosine)


def square(x: Vector) -> Scalar:
    """xᵀx."""
    return ca.dot(x, x)


def largest(numbers: Sequence[Scalar]) -> Scalar:
    """The largest of some numbers, 0 of none."""
    found = sx(0.0)
    for x in numbers:
        found = ca.fmax(found, x)
    return found
