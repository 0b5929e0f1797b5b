"""When a residual exceeds its threshold."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..simulation.result import Simulation

WATCH = "watch"  # name of the observer
RESIDUAL = f"{WATCH}.link"


class Detection(NamedTuple):
    """The first time a residual exceeds the threshold.

    Args:
        time: s.
        joint: Name of the joint.
        residual: Of that joint, Nm or N.
        threshold: Nm or N.
    """

    time: float
    joint: str
    residual: float
    threshold: float


def first_detection(run: Simulation, threshold: float) -> Detection | None:
    """The first sample at which the residual of a joint exceeds the threshold, Nm or N; None if none does."""
    if RESIDUAL not in run.more:
        return None
    residual = run.more[RESIDUAL]
    above = np.abs(np.nan_to_num(residual)) > threshold
    if not np.any(above):
        return None
    k = int(np.argmax(np.any(above, axis=1)))
    i = int(np.argmax(above[k]))
    return Detection(float(run.t[k]), run.robot.joints[i].name, float(residual[k, i]), threshold)
