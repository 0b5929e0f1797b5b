"""Which stiffness goes with which torque: the ends of the branches of [VSANEA (14)], along a motion too.

The least stiffness is where motion and stiffness can no longer be set apart (det A = 0), or where the springs no longer
bear the torque; the greatest where a deflection reaches the end of its range, or what the drive allows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..api import algorithm
from ..drives.variable import Setting
from ..errors import InputError
from ..robot import Robot
from ..roots import root_of_increasing
from ..spatial import ca, zeros
from .branches import Branch
from .settings import branch_of

BISECTIONS = 60  # to the ends of the branch
EDGE = 1e-9  # of the span: so far inside its ends is a branch looked at
SCAN = 64  # torques at which the range at a stiffness is looked for, then bisected


class StiffnessBand(NamedTuple):
    """Least and greatest stiffness of each joint; NaN where there is none to choose."""

    lower: Any
    upper: Any


def feasible_stiffness(robot: Robot, tau_e: Any) -> StiffnessBand:
    """The stiffnesses that joints can have at the torques `tau_e` (..., n) on their links.

    The least is where motion and stiffness can no longer be set apart, the greatest where a spring reaches its `reach`.
    NaN at joints whose stiffness cannot be set, and where no stiffness goes with the torque.
    """
    rows = np.asarray(tau_e, dtype=float)
    band = ends_of_branches(robot, rows)
    chosen = np.asarray(robot.antagonistic) & (band.lower < band.upper)
    return StiffnessBand(*(np.where(chosen, x, math.nan) for x in band))


@algorithm(StiffnessBand)
def ends_of_branches(robot: Robot, tau_e):
    """Least and greatest stiffness; both 0 where there is no such thing."""
    joints = [i for i, chosen in enumerate(robot.antagonistic) if chosen]
    band = StiffnessBand(zeros(robot.n), zeros(robot.n))
    if not joints:
        return band
    drives: list[Any] = [robot.joints[i].drive for i in joints]
    branches = [branch_of(drive) for drive in drives]
    torques = [tau_e[i] for i in joints]
    lower, upper = (ca.SX(ca.vertcat(*x)) for x in zip(*(branch.span for branch in branches)))

    def end(holds: Callable[[Branch, Setting, Any], Any]) -> Any:
        """u from which on it holds."""

        def sign(u: Any) -> tuple[Any, Any]:
            signs = []
            for k, branch in enumerate(branches):
                found = branch.at(u[k], torques[k])
                signs.append(branch.where_defined(found, torques[k], 2 * holds(branch, found, torques[k]) - 1))
            return ca.vertcat(*signs), ca.SX.zeros(len(branches))

        return root_of_increasing(sign, lower, upper, steps=BISECTIONS)

    first = end(lambda branch, found, tau: branch.connected(found, tau))
    last = end(lambda branch, found, _: branch.passed(found))
    for k, (i, drive, branch) in enumerate(zip(joints, drives, branches)):
        inside = EDGE * (upper[k] - lower[k]) / 2
        least, most = (branch.at(u, torques[k]) for u in (first[k] + inside, last[k] - inside))
        greatest = ca.fmin(most.sigma, drive.greatest_stiffness)
        exists = ca.logic_and(least.sigma < greatest, ca.logic_and(most.sigma < math.inf, branch.allowed(least)))
        exists = branch.where_defined(most, torques[k], branch.where_defined(least, torques[k], exists)) > 0
        band.lower[i], band.upper[i] = ca.if_else(exists, least.sigma, 0), ca.if_else(exists, greatest, 0)
    return band
