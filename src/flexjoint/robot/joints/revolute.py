"""The revolute joint: its link rotates about the z axis by q."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...types import Scalar
from .base import JointKind


@dataclass(frozen=True)
class Revolute(JointKind):
    """A hinge.  q in rad, effort in Nm."""

    name = "revolute"
    letter = "R"
    plausible_stiffness = (1e-2, 1e8)  # Nm/rad
    far = 4 * math.pi  # rad: two turns
    fast = 60.0  # rad/s: ten turns per second

    @property
    def motion(self) -> tuple[Scalar, Scalar]:
        return 1.0, 0.0
