"""Where the links would be if no spring were deflected: what pictures show of the motors."""

from __future__ import annotations

import numpy as np

from ..dynamics.drivetrain.coupling import matrices
from ..plots.panels import second_motors
from ..robot import Robot
from ..types import FloatArray


def undeflected_links(robot: Robot, theta: FloatArray) -> FloatArray:
    """Positions of the links (..., n) at which the motors (..., motors) would deflect no spring, rad or m.

    Two motors of one joint hold it at their mean; motors behind a coupled transmission move their joints by T⁻¹.
    """
    found = np.array(theta[..., : robot.n], dtype=float)
    for k, i in second_motors(robot).items():
        found[..., i] = (found[..., i] + theta[..., k]) / 2
    if robot.transmissions:
        found = np.linalg.solve(matrices(robot).matrix, found[..., None])[..., 0]
    return found
