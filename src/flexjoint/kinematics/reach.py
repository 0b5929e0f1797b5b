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

ROWS = 1024  # compared at once: their distances stay in the cache
FAR = 10.0  # distance of far points, in lengths of the robot
ROUNDING = 1e-12  # relative: bounds are widened by more than the rounding of their sums


class Range(NamedTuple):
    """An interval of angles, rad, or of displacements, m."""

    lower: float
    upper: float

    @property
    def middle(self) -> float:
        return (self.lower + self.upper) / 2


NONE = Range(0.0, 0.0)


class ChainJoint(NamedTuple):
    """A joint on the way from the base to a frame: it turns about and slides along its axis within ranges.

    R, p: orientation and origin of the frame behind it in the frame before it at position 0; z is the axis.
    """

    R: FloatArray
    p: FloatArray
    turn: Range
    slide: Range

    @property
    def slides(self) -> bool:
        return self.slide != NONE


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
            for first in range(0, len(placed), ROWS):
                part = slice(first, first + ROWS)
                distance = length(placed[part, None] - self.roots)
                beyond = (distance > self.greatest[:, k] + slack) | (distance < self.least[:, k] - slack)
                found[part] |= np.any(beyond, axis=1)
        return found


@lru_cache(maxsize=64)
def reach_of(robot: Robot, task: Task, lower: tuple[float, ...], upper: tuple[float, ...]) -> Reach:
    """Bounds of the reach of a task's frame with limits per coordinate."""
    joints, last = chain(robot, task, lower, upper)
    tool = len(joints)
    frame_R = product(last[0], np.array(task.rotation).reshape(3, 3))
    frame_p = last[1] + product(last[0], np.array(task.offset))
    size = FAR * (1.0 + sum(float(length(joint.p)) for joint in joints) + float(length(frame_p)))
    points = [*base_points(joints, size), *axis_points(joints, frame_p), Point({tool: frame_p})]
    least, greatest = smoothed(*known_distances(joints, points))
    roots = [i for i, point in enumerate(points) if 0 in point.on]
    tips = [i for i, point in enumerate(points) if tool in point.on]
    to_frame = [product(frame_R.T, points[i].on[tool] - frame_p) for i in tips]
    chosen = np.ix_(roots, tips)
    return Reach(
        np.array([points[i].on[0] for i in roots]),
        np.where(np.abs(to_frame) < ROUNDING * size, 0.0, to_frame),
        least[chosen] * (1 - ROUNDING) - 4 * ROUNDING * size,  # points near the axes of the frame were moved onto them
        greatest[chosen] * (1 + ROUNDING) + 4 * ROUNDING * size,
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
        ends = [float(x.ratio * y[x.coordinate] + x.offset) for y in (lower, upper)]
        screw = joint.kind.screw
        turn, slide = (Range(*sorted(float(c) * y for y in ends)) if c else NONE for c in (screw.turn, screw.slide))
        joints = with_joint(joints, ChainJoint(product(R, axes), p, turn, slide))
        R, p = axes.T, np.zeros(3)
    return joints, (R, p)


def with_joint(joints: list[ChainJoint], joint: ChainJoint) -> list[ChainJoint]:
    """A further joint; one that turns about the direction in which the last one slides is made one with it."""
    if not joints or joints[-1].turn != NONE or joint.slides or abs(joint.R[2, 2]) < 1 - ROUNDING:
        return [*joints, joint]
    last, sign = joints[-1], joint.R[2, 2]
    slide = Range(*sorted((sign * last.slide.lower, sign * last.slide.upper)))
    both = ChainJoint(product(last.R, joint.R), last.p + product(last.R, joint.p), joint.turn, slide)
    return [*joints[:-1], both]


def base_points(joints: list[ChainJoint], size: float) -> list[Point]:
    """Points of the base beside those on axes: far ones in all directions.

    A sphere about a far point is nearly a plane: it bounds what the limits of the first joint leave.
    """
    far = [sign * size * joint.R[:, k] for joint in joints[:1] for k in range(3) for sign in (1, -1)]
    return [Point({0: joints[0].p + x}) for x in far] or [Point({0: np.zeros(3)})]


def axis_points(joints: list[ChainJoint], tip: FloatArray) -> list[Point]:
    """Points on the axes: origins, and feet of the common normals with the axes of the neighbours.

    On a joint that slides they belong to the body behind it; each point of this body has one before the joint, where
    it is in the middle of the stroke.
    """
    points: list[Point] = []
    for i in reversed(range(len(joints))):
        joint, following = joints[i], joints[i + 1] if i + 1 < len(joints) else None
        heights = {0.0, float(tip[2]) if following is None else foot(following.p, following.R[:, 2])}
        if not joint.slides:
            if i > 0:
                heights.add(foot(-product(joint.R.T, joint.p), joint.R.T[:, 2]))
            points += [Point({i: joint.p + s * joint.R[:, 2], i + 1: np.array([0.0, 0.0, s])}) for s in sorted(heights)]
            continue
        points += [Point({i + 1: np.array([0.0, 0.0, s])}) for s in sorted(heights)]
        if math.isfinite(joint.slide.middle):
            behind = [x.on[i + 1] + np.array([0.0, 0.0, joint.slide.middle]) for x in points if i + 1 in x.on]
            points += [Point({i: joint.p + product(joint.R, x)}) for x in behind]
        points.append(Point({i: joint.p}))
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
    smallest, greatest = cosine_range(cross, dot, joint.turn)
    low, high = w - z + joint.slide.lower, w - z + joint.slide.upper
    far, near = max(abs(low), abs(high)), max(low, -high, 0.0)
    least = max(squares - 2 * greatest, 0.0) + near * near
    return math.sqrt(least), math.sqrt(max(squares - 2 * smallest, 0.0) + far * far)


def cosine_range(cross: float, dot: float, turn: Range) -> tuple[float, float]:
    """Least and greatest value of dot·cos φ − cross·sin φ for φ in a range."""
    if turn == NONE:
        return dot, dot
    size = math.sqrt(dot * dot + cross * cross)
    if not turn.upper - turn.lower < 2 * math.pi:  # also where it is infinite
        return -size, size
    phase = atan2(cross, dot)  # the value is size · cos(φ + phase)
    low, high = turn.lower + phase, turn.upper + phase
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
