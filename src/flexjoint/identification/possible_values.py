"""Parameters of a robot that can move, nearest to estimates.

Estimates from torques need not belong to a robot that exists: where a log hardly shows an inertia, its value may be
negative, and no simulation is possible.  The base parameters b of the links then go towards those of the robot file,
b_0 with the scale S, only as far as the mass matrix asks for,

    b(λ) = b + C (C + S/λ)⁻¹ (b_0 − b),     C the covariance of b,

which moves what the log hardly shows.  Where some values p_i change, the others follow as their covariance says,

    p ← p + C_·i C_ii⁻¹ (p_i* − p_i),

so the fit becomes worse by no more than it must.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..types import FloatArray
from .corrected_simulation import CorrectedSimulation
from .least_squares import inverted

LEAST = 1e-3  # of its prior: the least stiffness and inertia of a motor
SIGNED = ("stiffness", "inertia", "damping")  # kinds of parameters that are not negative
DAMPED = 0.1
POSES = 50  # of each recording at which mass matrices are looked at
MARGIN = 0.02  # least eigenvalue of the mass matrix over that of the robot file
WEIGHTS = 10.0 ** np.arange(-6.0, 12.5, 0.5)  # λ


@dataclass(frozen=True, eq=False)
class PossibleValues:
    """Nearest values with which a robot can be simulated.

    Args:
        simulations: Of all recordings.
        deviations: Of the parameters, from the least squares.
    """

    simulations: Sequence[CorrectedSimulation]
    deviations: FloatArray

    def __call__(self, values: FloatArray, covariance: FloatArray) -> FloatArray:
        """The nearest values.

        Args:
            values: Estimates.
            covariance: Of the estimates.
        """
        wrong = np.flatnonzero(values < self._least)
        if wrong.size:
            values = moved(values, covariance, wrong, np.maximum(self._priors, self._least)[wrong])
        if self.can_move(values):
            return values
        bodies = np.array(self.simulations[0].model.unknowns.bodies, dtype=np.int64)
        C, b, prior = covariance[np.ix_(bodies, bodies)], values[bodies], self._priors[bodies]
        scale = np.maximum(np.maximum(np.abs(b), np.abs(prior)), 1e-9)
        shape, off = C / scale / scale[:, None], (prior - b) / scale
        for weight in WEIGHTS:
            near = b + scale * (shape @ np.linalg.solve(shape + np.eye(len(b)) / weight, off))
            found = moved(values, covariance, bodies, near)
            found = np.where(found < self._least, np.maximum(self._priors, self._least), found)
            if self.can_move(found):
                return found
        return values

    def can_move(self, values: FloatArray) -> bool:
        """Whether the mass matrix of the links is positive definite along the motion, with a margin."""
        return bool(np.all(self.least_inertia(values) > MARGIN * self._prior_inertia))

    def least_inertia(self, values: FloatArray) -> FloatArray:
        """Least eigenvalue of the mass matrices, relative to the diagonal of the prior ones, (poses,)."""
        relative = self.masses(values) / self._sizes[:, :, None] / self._sizes[:, None, :]
        return np.asarray(np.linalg.eigvalsh(relative)[:, 0], dtype=np.float64)

    def masses(self, values: FloatArray) -> FloatArray:
        """Mass matrices of the links along the motion, with the motors of rigid joints, (poses, n, n)."""
        found = []
        for x in self.simulations:
            few = np.linspace(0, len(x.motion) - 1, POSES).astype(int)
            found.append(x.model.mass_matrices(np.ascontiguousarray(x.motion[few]), values))
        n = self.simulations[0].model.robot.n
        return np.concatenate(found)[:, :n, :n]

    @cached_property
    def _priors(self) -> FloatArray:
        return self.simulations[0].model.unknowns.priors

    @cached_property
    def _sizes(self) -> FloatArray:
        """Square roots of the diagonal of the prior mass matrices, (poses, n)."""
        return np.sqrt(np.maximum(np.diagonal(self.masses(self._priors), axis1=1, axis2=2), 1e-300))

    @cached_property
    def _prior_inertia(self) -> FloatArray:
        return np.maximum(self.least_inertia(self._priors), 0.0)

    @cached_property
    def _least(self) -> FloatArray:
        """Least value of each parameter.

        A mode without damping would ring through a whole segment, so damping that the log does not show is that of
        DAMPED of the critical one, 2 √(K J).
        """
        what = self.simulations[0].model.unknowns
        found = np.array([LEAST * max(x.prior, 0.0) if x.kind in SIGNED else -np.inf for x in what.parameters])
        inertia = np.min(self._sizes, axis=0) ** 2
        for k, x in enumerate(what.parameters):
            if x.kind == "damping":
                K = what.parameters[what.place(x.joint, "stiffness")].prior
                found[k] = min(2 * self.deviations[k], DAMPED * 2 * np.sqrt(K * inertia[x.joint]))
        return found


def moved(values: FloatArray, covariance: FloatArray, places: NDArray[np.int64], wanted: FloatArray) -> FloatArray:
    """Values with `wanted` at some places; the others follow as their covariance says."""
    step = covariance[:, places] @ (inverted(covariance[np.ix_(places, places)]) @ (wanted - values[places]))
    found = values + step
    found[places] = wanted
    return found
