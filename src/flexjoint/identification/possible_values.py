"""Parameters of a robot that can move, nearest to estimates.

Estimates from torques need not belong to a robot that exists: where a log hardly shows an inertia, its value may be
negative, and no simulation is possible.  The values here have links that are bodies and positive springs and motors.
Where some values p_i must change, the others follow as their covariance C says,

    p ← p + C_·i C_ii⁻¹ (p_i* − p_i),

so the fit becomes worse by no more than it must.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..dynamics import base_parameters
from ..robot import Robot
from ..types import FloatArray
from .least_squares import inverted
from .parameters import Unknowns
from .physical_links import physical_links

LEAST = 1e-3  # of its prior: the least stiffness and inertia of a motor
SIGNED = ("stiffness", "inertia", "damping")  # kinds of parameters that are not negative


@dataclass(frozen=True, eq=False)
class PossibleValues:
    """Nearest values with which a robot can be simulated.

    Args:
        robot: The robot, with its prior values.
        unknowns: Its parameters.
    """

    robot: Robot
    unknowns: Unknowns

    def __call__(self, values: FloatArray, covariance: FloatArray) -> FloatArray:
        """The nearest values.

        Args:
            values: Estimates.
            covariance: Of the estimates.
        """
        values = self.with_drives(values, covariance)
        if self.unknowns.links == "base" and self._has_masses:
            bodies = np.array(self.unknowns.bodies)
            found = physical_links(self.robot, values[bodies], covariance[np.ix_(bodies, bodies)])
            values = moved(values, covariance, bodies, base_parameters(self.robot).of(found.robot))
            values = np.where(values < self._least, np.maximum(self.unknowns.priors, self._least), values)
        return values

    def with_drives(self, values: FloatArray, covariance: FloatArray) -> FloatArray:
        """Values with stiffnesses, inertias and dampings that exist: their priors in place of those that do not."""
        wrong = np.flatnonzero(values < self._least)
        if not wrong.size:
            return values
        return moved(values, covariance, wrong, np.maximum(self.unknowns.priors, self._least)[wrong])

    @cached_property
    def _least(self) -> FloatArray:
        """Least value of each parameter."""
        parameters = self.unknowns.parameters
        return np.array([LEAST * max(x.prior, 0.0) if x.kind in SIGNED else -np.inf for x in parameters])

    @cached_property
    def _has_masses(self) -> bool:
        return any(x.mass > 0 for x in self.robot.links) and bool(self.unknowns.bodies)


def moved(values: FloatArray, covariance: FloatArray, places: NDArray[np.int64], wanted: FloatArray) -> FloatArray:
    """Values with `wanted` at some places; the others follow as their covariance says."""
    step = covariance[:, places] @ (inverted(covariance[np.ix_(places, places)]) @ (wanted - values[places]))
    found = values + step
    found[places] = wanted
    return found
