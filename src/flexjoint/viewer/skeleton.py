"""An arm as line segments: from joint to joint, along the axes of prismatic joints, and to the ends of the tree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..algorithm.compile import kernel_of
from ..compiler.ir.program import Array
from ..dynamics.recursion.bodies import bodies
from ..dynamics.recursion.kinematics import link_poses, poses
from ..robot import Robot
from ..spatial import ca, sx, zeros
from ..types import Expression, FloatArray


class Skeleton(NamedTuple):
    """Line segments of an arm.

    Args:
        points: (..., points, 3), base coordinates, m.
        segments: Pairs of points with a line between them.
        joints: Points at which a joint moves.
        tip: Point of the tool.
    """

    points: FloatArray
    segments: list[tuple[int, int]]
    joints: list[int]
    tip: int


def skeleton(robot: Robot, q: ArrayLike) -> Skeleton:
    """Line segments of a robot at configurations q (..., n), rad or m.

    The points are the base and, per link, the origin of its joint, the origin of its frame (another one if the joint is
    prismatic), and its centre of mass, at which links without children end.
    """
    count, carrying = 1 + 3 * len(robot.links), {link.parent for link in robot.links}
    segments, joints = [], []
    for i, (body, link) in enumerate(zip(bodies(robot), robot.links)):
        place, frame, com = 3 * i + 1, 3 * i + 2, 3 * i + 3
        before = 3 * body.parent + 2 if body.parent >= 0 else 0
        sliding = link.joint.kind.slides
        segments += [(before, place), (place, frame)] if sliding else [(before, frame)]
        if link.joint.moves:
            joints.append(place if sliding else frame)
        if link.name not in carrying and link.mass and np.any(link.com):
            segments.append((frame, com))

    def points(q: Expression) -> list[tuple[Array, Expression]]:
        tree, found = bodies(robot), [zeros(3)]
        placed, linked = poses(tree, q), link_poses(robot, q)
        for body, link, pose in zip(tree, robot.links, linked):
            R, p = placed[body.parent] if body.parent >= 0 else (sx(np.eye(3)), zeros(3))
            start = p + R @ body.p
            found += [start, pose.position, pose.position + pose.rotation @ sx(link.com)]
        return [(Array("points", (count, 3), "m"), ca.horzcat(*found).T)]

    kernel = kernel_of(
        f"skeleton of {robot.name}", [Array("q", (robot.n,))], points, f"skeleton {robot.digest}", type=None
    )
    return Skeleton(kernel(np.ascontiguousarray(q, dtype=float)), segments, joints, 3 * robot.link_index(None) + 2)
