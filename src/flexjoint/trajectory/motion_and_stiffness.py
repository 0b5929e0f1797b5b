"""Motion and stiffness as one reference, for control laws that follow both  [VSANEA (32)]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..types import FloatArray
from .base import Composed, Trajectory, a_trajectory, set_fields

LESS = 2  # derivatives less that a stiffness needs


@dataclass(frozen=True, eq=False, repr=False)
class MotionAndStiffness(Composed):
    """A trajectory with the columns of a motion, followed by those of a stiffness, as long as the motion.

    A control law needs two derivatives less of the stiffness than of the motion.  The third and higher derivatives of
    the stiffness are set to 0, and its smoothness is counted two higher.

    Args:
        motion: trajectory of the joints.
        stiffness: trajectory of the stiffnesses, in Nm/rad or N/m, one column per joint of variable stiffness.

    Raises:
        InputError: an argument is not a trajectory.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("vsa_3r")
        >>> motion = fj.trajectory.RestToRest([0.0] * 3, [0.5] * 3, duration=2.0)
        >>> fj.trajectory.MotionAndStiffness(motion, fj.trajectory.load_stiffness(900.0, robot))
        MotionAndStiffness(n=6, 2 s, C^3)
    """

    motion: Trajectory
    stiffness: Trajectory

    def __post_init__(self) -> None:
        motion, stiffness = (a_trajectory("MotionAndStiffness", x) for x in (self.motion, self.stiffness))
        set_fields(self, n=motion.n + stiffness.n, duration=motion.duration)
        set_fields(self, smoothness=min(motion.smoothness, stiffness.smoothness + LESS))

    def derivatives(self, t: FloatArray, order: int) -> FloatArray:
        known = min(order, LESS)
        sigma = np.zeros((order + 1, *t.shape, self.stiffness.n))
        sigma[: known + 1] = self.stiffness.derivatives(t, known)
        return np.concatenate([self.motion.derivatives(t, order), sigma], axis=-1)

    def remedy(self, order: int) -> str:
        if self.motion.smoothness < order - 1:
            return f"motion: {self.motion.remedy(order)}"
        return f"stiffness: {self.stiffness.remedy(order - LESS)}"
