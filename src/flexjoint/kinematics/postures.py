"""What inverse kinematics returns: joint positions, how well they meet the targets, and a status per pose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import InputError
from ..types import FloatArray

SOLVED, OUT_OF_REACH, NOT_FOUND = "solved", "out of reach", "not found"
STATUSES = (SOLVED, OUT_OF_REACH, NOT_FOUND)


@dataclass(frozen=True, eq=False, repr=False)
class Postures:
    """Joint positions that reach poses, with a status and the remaining errors per pose.

    Args:
        q: joint positions, (..., n), rad or m; NaN where the status is not "solved".
        status: per pose (...): "solved": within the limits and the tolerance; "out of reach": no posture can reach the
            pose, which is proved by a bound; "not found": no start led to it, which proves nothing.
        position_error: largest distance between a frame and its goal at `best`, (...), m.
        rotation_error: largest angle between a frame and its goal at `best`, (...), rad.
        best: joint positions with the least errors found, (..., n); those of `q` where the status is "solved".
        starts: number of starts that were tried per pose, (...).
    """

    q: FloatArray
    status: np.ndarray
    position_error: FloatArray
    rotation_error: FloatArray
    best: FloatArray
    starts: np.ndarray

    @property
    def solved(self) -> np.ndarray:
        """Whether each pose is solved, (...)."""
        return np.asarray(self.status == SOLVED)

    def require(self) -> FloatArray:
        """The joint positions, (..., n), if every pose is solved.

        Raises:
            InputError: how many poses are not, which is the first and how near the best posture comes to it.
        """
        if self.solved.all():
            return self.q
        counts = [f"{count} {name}" for name in STATUSES[1:] if (count := int(np.sum(self.status == name)))]
        first = np.unravel_index(int(np.argmin(self.solved)), self.solved.shape)
        where = f"; the first is number {list(map(int, first))}" if first else ""
        raise InputError(
            f"inverse_kinematics: of {self.solved.size} poses {' and '.join(counts)}{where}: the best posture misses "
            f"it by {self.position_error[first]:.3g} m and {self.rotation_error[first]:.3g} rad; see .status and .best"
        )

    def __repr__(self) -> str:
        if not self.status.shape:
            errors = f"{float(self.position_error):.2g} m, {float(self.rotation_error):.2g} rad"
            return f"Postures({self.status[()]}, error {errors})"
        counts = [f"{count} {name}" for name in STATUSES if (count := int(np.sum(self.status == name)))]
        return f"Postures({', '.join(counts) or 'none'})"
