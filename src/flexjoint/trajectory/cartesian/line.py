"""Straight lines; the orientation turns at constant angular velocity along the shortest way."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...errors import InputError
from ...kinematics import Pose
from ...spatial import length
from ...types import FloatArray
from ..base import set_fields
from .path import SHORTEST, SIZE, CartesianPath, orientation, single_pose
from .turn import Turn

LEAST_DISTANCE = 1e-6  # m; a shorter line is measured by its angle


@dataclass(frozen=True, eq=False, repr=False)
class Line(CartesianPath):
    """A straight line between two poses.

    Args:
        start: first pose: a `Pose`, what `forward_kinematics` returns, or a position (3,), in m.
        goal: last pose, likewise; without orientation that of the first pose is kept.

    Raises:
        InputError: the poses are equal, or their orientations differ by 180 degrees.

    Example:
        >>> import flexjoint as fj
        >>> fj.trajectory.Line([0.4, 0.0, 0.5], [0.4, 0.3, 0.5])
        Line(length 0.3 m, C^inf)
    """

    start: Pose
    goal: Pose
    length: float = field(init=False)
    smoothness: float = field(init=False, default=np.inf)
    turn: Turn = field(init=False)

    def __post_init__(self) -> None:
        start, goal = single_pose("Line", "start", self.start), single_pose("Line", "goal", self.goal)
        set_fields(self, start=start, goal=goal)
        first = orientation(start)
        turn = Turn.between("Line", first, orientation(goal, first))
        distance = float(length(goal.position - start.position))
        if distance < SHORTEST and turn.angle < SHORTEST:
            raise InputError(
                f"Line: it ends where it starts, at {start.position.tolist()}: give another goal, or a dwell to wait"
            )
        set_fields(self, length=distance if distance >= LEAST_DISTANCE else turn.angle or distance, turn=turn)

    def derivatives(self, s: FloatArray, order: int) -> FloatArray:
        stack = np.zeros((order + 1, *s.shape, SIZE))
        way = self.goal.position - self.start.position
        share = (s / self.length)[..., None]
        near = share <= 0.5  # from the nearer end, so that both are exact
        stack[0, ..., :3] = np.where(near, self.start.position + share * way, self.goal.position - (1.0 - share) * way)
        if order:
            stack[1, ..., :3] = way / self.length
        stack[..., 3:] = self.turn.derivatives(s, self.length, order)
        return stack

    def remedy(self, order: int) -> str:
        return "nothing, all derivatives are continuous"
