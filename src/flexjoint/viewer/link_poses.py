"""Poses of all links at many configurations, by one compiled kernel."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..algorithm.compile import kernel_of
from ..compiler.ir.program import Array
from ..dynamics.recursion.kinematics import link_poses
from ..robot import Robot
from ..spatial import ca
from ..types import Expression, FloatArray


class LinkPoses(NamedTuple):
    """Poses of the frames of all links in base coordinates.

    Attributes:
        rotation: Orientations, (..., links, 3, 3).
        position: Origins, (..., links, 3), m.
    """

    rotation: FloatArray
    position: FloatArray

    @property
    def wxyz(self) -> FloatArray:
        """Orientations as unit quaternions, (..., links, 4)."""
        return quaternions(self.rotation)


def all_link_poses(robot: Robot, q: ArrayLike) -> LinkPoses:
    """Poses of all links at configurations q (..., n), rad or m."""
    count = len(robot.links)

    def poses(q: Expression) -> list[tuple[Array, Expression]]:
        found = link_poses(robot, q)
        rotation = ca.vertcat(*[x.rotation for x in found])
        position = ca.horzcat(*[x.position for x in found]).T
        return [(Array("rotation", (count, 3, 3)), rotation), (Array("position", (count, 3), "m"), position)]

    name = f"link poses of {robot.name}"
    kernel = kernel_of(name, [Array("q", (robot.n,))], poses, f"link poses {robot.digest}", type=LinkPoses)
    return kernel(np.ascontiguousarray(q, dtype=float))


def quaternions(rotation: FloatArray) -> FloatArray:
    """Unit quaternions w, x, y, z of rotation matrices (..., 3, 3): (..., 4), for pictures.

    Of the four columns of 4 q qᵀ, which are all parallel to q, the longest is normalized.
    """
    R = np.asarray(rotation, dtype=float)
    (a, b, c), (d, e, f), (g, h, i) = (np.moveaxis(R[..., k, :], -1, 0) for k in range(3))
    rows = [
        [1 + a + e + i, h - f, c - g, d - b],
        [h - f, 1 + a - e - i, b + d, c + g],
        [c - g, b + d, 1 - a + e - i, f + h],
        [d - b, c + g, f + h, 1 - a - e + i],
    ]
    outer = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
    largest = np.argmax(np.diagonal(outer, axis1=-2, axis2=-1), axis=-1)
    q = np.take_along_axis(outer, largest[..., None, None], axis=-2)[..., 0, :]
    return q / np.linalg.norm(q, axis=-1, keepdims=True)
