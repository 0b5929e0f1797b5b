"""Poses of all arms at all samples of a motion, computed in batches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..robot import Robot
from ..types import FloatArray
from .link_poses import all_link_poses
from .motion import Motion


class Frames(NamedTuple):
    """Poses of the links of one arm.

    Attributes:
        position: Origins, (m, links, 3), m.
        wxyz: Orientations as unit quaternions, (m, links, 4).
    """

    position: FloatArray
    wxyz: FloatArray


def frames_of(robot: Robot, q: FloatArray) -> Frames:
    """Poses at configurations (m, n)."""
    found = all_link_poses(robot, q)
    return Frames(found.position, found.wxyz)


class MotionFrames:
    """Frames of the links, the motors and the reference of a motion.

    Args:
        motion: The motion.
        magnify: Factor of the deflection: the motors are drawn at q + magnify (θ − q).
    """

    def __init__(self, motion: Motion, magnify: float) -> None:
        self.motion = motion
        self.links = frames_of(motion.robot, motion.q)
        known = motion.reference is not None and bool(np.all(np.isfinite(motion.reference)))
        self.reference = frames_of(motion.robot, np.asarray(motion.reference)) if known else None
        self.motors: Frames | None = None
        self.set_magnify(magnify)
        residual = motion.residual
        self.largest_residual = 0.0 if residual is None else float(np.max(np.abs(np.nan_to_num(residual))))
        if motion.threshold is not None:  # what is far below it has no arrow
            self.largest_residual = max(self.largest_residual, float(np.max(motion.threshold)))
        forces = [] if motion.contact is None else [motion.contact]
        self.largest_force = max(
            (float(np.max(np.linalg.norm(x[:, :3], axis=1))) for x in (*forces, *motion.wrenches.values())), default=0.0
        )

    def set_magnify(self, magnify: float) -> None:
        """Compute the motors' poses for another factor."""
        deflection = self.motion.deflection
        if deflection is not None:
            self.motors = frames_of(self.motion.robot, self.motion.q + magnify * deflection)
