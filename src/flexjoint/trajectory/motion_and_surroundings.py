"""Motion, wrenches and the pose of a base as one reference, for control laws that know their surroundings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from ..types import FloatArray
from .base import Composed, Trajectory, a_trajectory, set_fields

SIX = 6  # numbers of a wrench, and of a pose
LESS = 2  # derivatives less that a wrench needs


@dataclass(frozen=True, eq=False, repr=False)
class MotionAndSurroundings(Composed):
    """A trajectory with the columns of a motion, followed by those of wrenches and of the pose of a base.

    It lasts as long as the motion.  A control law needs two derivatives less of a wrench than of the motion: higher
    ones are 0 here, and its smoothness counts two more.

    Args:
        motion: trajectory of the joints.
        wrenches: trajectories of wrenches (f, n), six columns each, in N and Nm, in the order in which the controller
            names their links; none by default.
        base: trajectory of the pose of the base, six columns x, y, z, roll, pitch, yaw, in m and rad; none by default.

    Raises:
        InputError: an argument is not a trajectory, or has another number of columns.

    Example:
        >>> import flexjoint as fj
        >>> motion = fj.trajectory.RestToRest([0.0] * 3, [0.5] * 3, duration=2.0)
        >>> push = fj.trajectory.Sinusoid([5.0, 0.0, 0.0, 0.0, 0.0, 0.0], frequency=1.0)
        >>> fj.trajectory.MotionAndSurroundings(motion, wrenches=[push])
        MotionAndSurroundings(n=9, 2 s, C^3)
    """

    motion: Trajectory
    wrenches: tuple[Trajectory, ...] = ()
    base: Trajectory | None = None

    def __post_init__(self) -> None:
        owner = type(self).__name__
        motion = a_trajectory(owner, self.motion)
        wrenches = tuple(a_trajectory(owner, x) for x in self.wrenches)
        base = () if self.base is None else (a_trajectory(owner, self.base),)
        for name, parts in (("a wrench", wrenches), ("base", base)):
            if wrong := [x.n for x in parts if x.n != SIX]:
                raise InputError(f"{owner}: {name} has {wrong[0]} columns; it must have {SIX}")
        smoothness = [x.smoothness for x in (motion, *base)] + [x.smoothness + LESS for x in wrenches]
        set_fields(self, n=motion.n + SIX * (len(wrenches) + len(base)), duration=motion.duration)
        set_fields(self, wrenches=wrenches, smoothness=min(smoothness))

    def derivatives(self, t: FloatArray, order: int) -> FloatArray:
        parts, known = [self.motion.derivatives(t, order)], min(order, LESS)
        for wrench in self.wrenches:
            values = np.zeros((order + 1, *t.shape, SIX))
            values[: known + 1] = wrench.derivatives(t, known)
            parts.append(values)
        if self.base is not None:
            parts.append(self.base.derivatives(t, order))
        return np.concatenate(parts, axis=-1)

    def remedy(self, order: int) -> str:
        for part in (self.motion, self.base):
            if part is not None and part.smoothness < order - 1:
                return f"{'motion' if part is self.motion else 'base'}: {part.remedy(order)}"
        rough = min(self.wrenches, key=lambda x: x.smoothness)
        return f"wrenches: {rough.remedy(order - LESS)}"
