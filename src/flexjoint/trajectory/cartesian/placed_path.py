"""A path seen from another frame."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...kinematics import Pose
from ...spatial import compose, transpose
from ...types import FloatArray
from ..base import set_fields
from .path import CartesianPath, left_factor


@dataclass(frozen=True, eq=False, repr=False)
class PlacedPath(CartesianPath):
    """A path given in a frame, in the coordinates that the pose of the frame is given in.

    Args:
        path: the path.
        frame: pose of the frame that it is given in.
    """

    path: CartesianPath
    frame: Pose
    length: float = field(init=False)
    smoothness: float = field(init=False)
    timed: bool = field(init=False)

    def __post_init__(self) -> None:
        set_fields(self, length=self.path.length, smoothness=self.path.smoothness, timed=self.path.timed)

    def derivatives(self, s: FloatArray, order: int) -> FloatArray:
        inner = self.path.derivatives(s, order)
        stack = np.empty_like(inner)
        stack[..., :3] = compose(inner[..., None, :3], transpose(self.frame.oriented))[..., 0, :]
        stack[0, ..., :3] += self.frame.position
        stack[..., 3:] = compose(inner[..., None, 3:], transpose(left_factor(self.frame.quaternion)))[..., 0, :]
        return stack

    def remedy(self, order: int) -> str:
        return self.path.remedy(order)
