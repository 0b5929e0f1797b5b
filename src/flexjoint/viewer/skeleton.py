"""An arm as line segments: from joint to joint, along the rails of sliding ones, and to the ends of the tree."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..algorithm.compile import kernel_of
from ..compiler.ir.program import Array
from ..dynamics.recursion.bodies import bodies
from ..dynamics.recursion.kinematics import poses
from ..robot import Robot
from ..spatial import ca, sx, zeros


class Skeleton(NamedTuple):
    """Points (..., points, 3) in base coordinates, m, and pairs of points with a segment between them."""

    points: np.ndarray
    segments: list[tuple[int, int]]
    joints: list[int]  # points where a joint moves
    tip: int


def skeleton(robot: Robot, q: Any) -> Skeleton:
    """Of configurations (..., n).  The points: the base, for each link the place of its joint and its own frame, which
    differ where the joint slides, and its centre of mass, to which links reach that carry nothing."""
    count, carrying = 1 + 3 * len(robot.links), {link.parent for link in robot.links}
    segments, joints = [], []
    for i, (body, link) in enumerate(zip(bodies(robot), robot.links)):
        place, frame, com = 3 * i + 1, 3 * i + 2, 3 * i + 3
        before = 3 * body.parent + 2 if body.parent >= 0 else 0
        sliding = link.joint.kind == "prismatic"
        segments += [(before, place), (place, frame)] if sliding else [(before, frame)]
        if link.joint.moves:
            joints.append(place if sliding else frame)
        if link.name not in carrying and link.mass and np.any(link.com):
            segments.append((frame, com))

    def points(q: Any) -> list[tuple[Array, Any]]:
        tree, found = bodies(robot), [zeros(3)]
        placed = poses(tree, q)
        for body, link, pose in zip(tree, robot.links, placed):
            R, p = placed[body.parent] if body.parent >= 0 else (sx(np.eye(3)), zeros(3))
            start = p + R @ body.p
            found += [start, pose.position, pose.position + pose.rotation @ sx(link.com)]
        return [(Array("points", (count, 3), "m"), ca.horzcat(*found).T)]

    kernel = kernel_of(
        f"skeleton of {robot.name}", [Array("q", (robot.n,))], points, f"skeleton {robot.digest}", type=None
    )
    return Skeleton(kernel(np.ascontiguousarray(q, dtype=float)), segments, joints, 3 * robot.link_index(None) + 2)
