"""A motion of the links and stiffnesses of their joints as one reference, for laws that follow both  [VSANEA (32)]."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .base import Trajectory, a_trajectory, set_fields

LESS = 2  # orders that a stiffness needs less than the motion


@dataclass(frozen=True, eq=False)
class MotionAndStiffness(Trajectory):
    """The columns of a `motion`, then those of a `stiffness`, for as long as the motion lasts.

    A law needs two orders less of the stiffness: its third and higher derivatives are 0 here, and `smoothness` is that
    of the motion, unless the stiffness is rougher by more than these two orders.
    """

    motion: Trajectory
    stiffness: Trajectory
    n: int = field(init=False)
    duration: float = field(init=False)
    smoothness: float = field(init=False)

    def __post_init__(self) -> None:
        motion, stiffness = (a_trajectory("MotionAndStiffness", x) for x in (self.motion, self.stiffness))
        set_fields(self, n=motion.n + stiffness.n, duration=motion.duration)
        set_fields(self, smoothness=min(motion.smoothness, stiffness.smoothness + LESS))

    def derivatives(self, t: np.ndarray, order: int) -> np.ndarray:
        known = min(order, LESS)
        sigma = np.zeros((order + 1, *t.shape, self.stiffness.n))
        sigma[: known + 1] = self.stiffness.derivatives(t, known)
        return np.concatenate([self.motion.derivatives(t, order), sigma], axis=-1)

    def remedy(self, order: int) -> str:
        if self.motion.smoothness < order - 1:
            return f"motion: {self.motion.remedy(order)}"
        return f"stiffness: {self.stiffness.remedy(order - LESS)}"
