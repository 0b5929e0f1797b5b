"""Bounds of the reach of a frame: distances between points of the robot that no posture can exceed or undercut.

Points that keep their distance whatever the joints do, or change it with one joint only, are known exactly:

- a point on the axis of a revolute joint is fixed on both links that the joint connects;
- between a point before a joint and one behind it the distance depends on that joint alone.  With the distances ρ, σ of
  the points from the axis and the angle φ between them, its square is ρ² + σ² − 2 ρ σ cos φ + (difference along the
  axis)², whose range over the limits of the joint is taken part by part.

All other distances follow from the triangle inequality, as in molecular distance geometry  [CrippenHavel]: the upper
bounds are shortest paths, the lower bounds |xz| ≥ |xy| − |yz|.  A goal is out of reach if a point that is fixed on the
frame would be nearer to, or farther from, a point fixed in the base than these bounds allow.
"""

from __future__ import annotations

import itertools
import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..numerics import atan2, cos, product
from ..robot import Robot
from ..spatial import compose, length
from ..types import FloatArray
from .target import Task

ROUNDING = 1e-12  # relative: bounds are widened by more than the rounding of their sums


class ChainJoint(NamedTuple):
    """A moving joint on the way from the base to a frame, with the range of its position."""

    R: FloatArray  # of the frame behind it in the frame before it at position 0, z along the axis
    p: FloatArray
    turn: float  # rotation and translation per unit of the position
    slide: float
    lower: float
    upper: float


class Point(NamedTuple):
    """A point on one body, or on two whose joint leaves it in place: its coordinates by the index of the body."""

    on: dict[int, FloatArray]


class Reach(NamedTuple):
    """Bounds of the distances between points of the base and points of a frame.

    roots: points in base coordinates, (r, 3), m.
    tips: points in the coordinates of the frame, (t, 3), m.
    least, greatest: bounds of their distances, (r, t), m.
    """

    roots: FloatArray
    tips: FloatArray
    least: FloatArray
    greatest: FloatArray

    def excludes(
        self, position: FloatArray, rotation: FloatArray | None, orientation: str, tolerance: float
    ) -> np.ndarray:
        """Whether goals are out of reach, (rows,).

        position, rotation: of the goals, (rows, 3) and (rows, 3, 3); None where the orientation is free.
        orientation: what counts of it: "full", "free", or an axis, which tells where the points on this axis are.
        tolerance: errors that are allowed, m and rad.
        """
        found = np.zeros(len(position), dtype=bool)
        for k, tip in enumerate(self.tips):
            beside = [x for axis, x in zip("xyz", tip) if axis != orientation]
            if orientation != "full" and np.any(beside):
                continue
            placed = position if rotation is None else position + compose(rotation, tip[:, None])[..., 0]
            slack = tolerance * (1 + float(length(tip)))
            for i, root in enumerate(self.roots):
                distance = length(placed - root)
                found |= (distance > self.greatest[i, k] + slack) | (distance < self.least[i, k] - slack)
        return found


@lru_cache(maxsize=64)
def reach_of(robot: Robot, task: Task, lower: tuple[float, ...], upper: tuple[float, ...]) -> Reach:
    """Bounds of the reach of a task's frame with limits per coordinate."""
    joints, last = chain(robot, task, lower, upper)
    tool = len(joints)
    frame_R = product(last[0], np.array(task.rotation).reshape(3, 3))
    frame_p = last[1] + product(last[0], np.array(task.offset))
    points = [*axis_points(joints, frame_p), Point({tool: frame_p})]
    size = 1.0 + sum(float(length(joint.p)) for joint in joints) + float(length(frame_p))
    around = [sign * size * joint.R[:, k] for joint in joints[:1] for k in (0, 1) for sign in (1, -1)]
    points += [Point({0: joints[0].p + x}) for x in around] or [Point({0: np.zeros(3)})]
    least, greatest = smoothed(*known_distances(joints, points))
    roots = [i for i, point in enumerate(points) if 0 in point.on]
    tips = [i for i, point in enumerate(points) if tool in point.on]
    to_frame = [product(frame_R.T, points[i].on[tool] - frame_p) for i in tips]
    chosen = np.ix_(roots, tips)
    return Reach(
        np.array([points[i].on[0] for i in roots]),
        np.where(np.abs(to_frame) < ROUNDING * size, 0.0, to_frame),
        least[chosen] * (1 - ROUNDING) - ROUNDING * size,
        greatest[chosen] * (1 + ROUNDING) + ROUNDING * size,
    )


def chain(
    robot: Robot, task: Task, lower: tuple[float, ...], upper: tuple[float, ...]
) -> tuple[list[ChainJoint], tuple[FloatArray, FloatArray]]:
    """The moving joints from the base to a link, and the frame of the link on the last body: rotation and origin."""
    moving = {x.link: x for x in robot.moving_joints}
    joints: list[ChainJoint] = []
    R, p = np.eye(3), np.zeros(3)  # of the link's frame on the body
    for i in robot.path(task.link):
        joint = robot.links[i].joint
        R, p = product(R, joint.rotation), p + product(R, joint.position)
        if (x := moving.get(i)) is None:
            continue
        axes = np.eye(3) if joint.turned_axes is None else joint.turned_axes
        screw = joint.kind.screw
        ends = sorted(x.ratio * y[x.coordinate] + x.offset for y in (lower, upper))
        joints.append(ChainJoint(product(R, axes), p, float(screw.turn), float(screw.slide), ends[0], ends[1]))
        R, p = axes.T, np.zeros(3)
    return joints, (R, p)


def axis_points(joints: list[ChainJoint], tip: FloatArray) -> list[Point]:
    """Points on the axes of revolute joints: their origins and the feet of the common normals with their neighbours.

    Points before and behind a joint that slides: its origin on both sides.
    """
    points: list[Point] = []
    for i, joint in enumerate(joints):
        if joint.slide != 0.0:
            points += [Point({i: joint.p}), Point({i + 1: np.zeros(3)})]
            continue
        heights = {0.0}
        if i + 1 < len(joints):
            heights.add(foot(joints[i + 1].p, joints[i + 1].R[:, 2]))
        else:
            heights.add(float(tip[2]))
        if i > 0:
            heights.add(foot(-product(joint.R.T, joint.p), joint.R.T[:, 2]))
        points += [Point({i: joint.p + s * joint.R[:, 2], i + 1: np.array([0.0, 0.0, s])}) for s in sorted(heights)]
    return points


def foot(point: FloatArray, direction: FloatArray) -> float:
    """Height on the z axis of the foot of the common normal with a line; of its point, if they are parallel."""
    across = direction[0] * direction[0] + direction[1] * direction[1]
    if across < 1e-12:
        return float(point[2])
    along = -(direction[0] * point[0] + direction[1] * point[1]) / across
    return float(point[2] + along * direction[2])


def known_distances(joints: list[ChainJoint], points: list[Point]) -> tuple[FloatArray, FloatArray]:
    """Bounds of the distances between points on one body, or on two neighbours; 0 and infinity for all others."""
    count = len(points)
    least, greatest = np.zeros((count, count)), np.full((count, count), np.inf)
    np.fill_diagonal(greatest, 0.0)
    for a, b in itertools.combinations(range(count), 2):
        ranges = [(float(length(x - points[b].on[i])),) * 2 for i, x in points[a].on.items() if i in points[b].on]
        for first, second in ((a, b), (b, a)):
            for i, x in points[first].on.items():
                if i + 1 in points[second].on:
                    ranges.append(distance_range(joints[i], x, points[second].on[i + 1]))
        if ranges:
            least[a, b] = least[b, a] = max(x[0] for x in ranges)
            greatest[a, b] = greatest[b, a] = min(x[1] for x in ranges)
    return least, greatest


def distance_range(joint: ChainJoint, before: FloatArray, behind: FloatArray) -> tuple[float, float]:
    """Bounds of the distance between a point before a joint and one behind it."""
    x, y, z = product(joint.R.T, before - joint.p).tolist()
    u, v, w = behind.tolist()
    cross, dot = x * v - y * u, x * u + y * v  # ρ σ sin and cos of the angle at position 0
    squares = x * x + y * y + u * u + v * v
    nearest, farthest = cosine_range(cross, dot, joint.turn * joint.lower, joint.turn * joint.upper)
    ends = sorted((w + joint.slide * q - z if joint.slide else w - z) for q in (joint.lower, joint.upper))
    far = max(abs(ends[0]), abs(ends[1]))
    near = 0.0 if ends[0] <= 0.0 <= ends[1] else min(abs(ends[0]), abs(ends[1]))
    least = max(squares - 2 * farthest, 0.0) + near * near
    return math.sqrt(least), math.sqrt(max(squares - 2 * nearest, 0.0) + far * far)


def cosine_range(cross: float, dot: float, first: float, last: float) -> tuple[float, float]:
    """Least and greatest value of dot·cos φ − cross·sin φ for φ between first and last, in either order."""
    if first == last == 0.0:
        return dot, dot
    size = math.sqrt(dot * dot + cross * cross)
    if not (math.isfinite(first) and math.isfinite(last)) or abs(last - first) >= 2 * math.pi:
        return -size, size
    phase = atan2(cross, dot)  # the value is size · cos(φ + phase)
    low, high = sorted((first + phase, last + phase))
    ends = size * cos(low), size * cos(high)
    greatest = size if has_whole_turn(low, high) else max(ends)
    return -size if has_whole_turn(low - math.pi, high - math.pi) else min(ends), greatest


def has_whole_turn(low: float, high: float) -> bool:
    """Whether a multiple of 2π lies in an interval, or beside it by rounding."""
    return math.floor((high + ROUNDING) / (2 * math.pi)) >= math.ceil((low - ROUNDING) / (2 * math.pi))


def smoothed(least: FloatArray, greatest: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bounds of all distances by the triangle inequality."""
    for k in range(len(greatest)):
        greatest = np.minimum(greatest, greatest[:, k, None] + greatest[None, k, :])
    for _ in range(3):
        for k in range(len(greatest)):
            with np.errstate(invalid="ignore"):
                lower = np.maximum(least[:, k, None] - greatest[None, k, :], least[None, k, :] - greatest[:, k, None])
            least = np.maximum(least, np.where(np.isnan(lower), 0.0, lower))
    return least, greatest
