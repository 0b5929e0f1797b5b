"""The prismatic joint: its link translates along the z axis by q."""

from __future__ import annotations

from dataclasses import dataclass

from ...types import Scalar
from .base import JointKind


@dataclass(frozen=True)
class Prismatic(JointKind):
    """A slider.  q in m, effort in N."""

    name = "prismatic"
    letter = "P"
    angular = False
    plausible_stiffness = (1e-1, 1e11)  # N/m
    far = 100.0  # m
    fast = 60.0  # m/s

    @property
    def motion(self) -> tuple[Scalar, Scalar]:
        return 0.0, 1.0
