"""Postures of inverse kinematics as tables: one row per pose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..kinematics import Postures
from ..robot import Robot
from .columns import Column


@dataclass(frozen=True, eq=False)
class PostureTable:
    """Postures as a table that `write_table` takes.

    Args:
        robot: the robot that takes them.
        postures: what `inverse_kinematics` returned.
    """

    robot: Robot
    postures: Postures

    def columns(self) -> list[Column]:
        """Columns of a file: q.JOINT per joint, empty where there is no solution, errors, starts and status."""
        found = self.postures
        q = found.q.reshape(-1, self.robot.n)
        joints = [
            Column(f"q.{joint.name}", joint.kind.unit("rad | m"), q[:, k]) for k, joint in enumerate(self.robot.joints)
        ]
        return [
            *joints,
            Column("position_error", "m", found.position_error.ravel()),
            Column("rotation_error", "rad", found.rotation_error.ravel()),
            Column("starts", "", found.starts.ravel()),
            Column("status", "", found.status.ravel()),
        ]

    def arrays(self) -> dict[str, Any]:
        """Arrays by name, with the names of the joints."""
        names = ("q", "status", "position_error", "rotation_error", "best", "starts")
        joints = np.array([joint.name for joint in self.robot.joints])
        return {**{name: getattr(self.postures, name) for name in names}, "joints": joints, "robot": self.robot.name}
