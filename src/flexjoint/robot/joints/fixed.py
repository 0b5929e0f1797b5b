"""The fixed joint: its link is part of its parent, as a tool or a sensor frame is."""

from __future__ import annotations

from dataclasses import dataclass

from ...types import Scalar
from .base import JointKind


@dataclass(frozen=True)
class Fixed(JointKind):
    """A weld: no coordinate."""

    name = "fixed"

    @property
    def motion(self) -> tuple[Scalar, Scalar]:
        return 0.0, 0.0
