"""Initial camera of a page, and the floor under the robot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..types import FloatArray
from .scene import draw_floor

if TYPE_CHECKING:
    import viser


def place_camera(server: viser.ViserServer, points: FloatArray, width: float, size: float) -> Any:
    """Point the camera at the robot and draw the floor; returns the floor.

    Args:
        server: The viser server.
        points: Points of one robot that must be visible, over all motions, (k, 3), m; the base is added.
        width: Distance from the first to the last of several robots side by side, m; 0 for one robot.
        size: Size of the robot, m.
    """
    points = np.concatenate([points, np.zeros((1, 3))])
    centre = (points.min(axis=0) + points.max(axis=0)) / 2
    reach = max(float(np.linalg.norm(np.ptp(points, axis=0))), 0.5 * size) + 0.6 * width
    low = float(points[:, 2].min())
    camera = server.initial_camera
    towards = np.array([1.0, -0.65, 0.38]) if width == 0 else np.array([1.15, -0.2, 0.38])  # several from the front
    aside = np.array([-towards[1], towards[0], 0.0])
    centre += 0.1 * reach * aside  # the panel covers the right part of the page
    camera.look_at = tuple(centre)
    camera.position = tuple(centre + reach * towards)
    camera.near, camera.far = 0.01 * size, 100.0 * (size + width)
    return draw_floor(server, width, size, 0.0 if low > -0.02 * size else low - 0.1 * size)
