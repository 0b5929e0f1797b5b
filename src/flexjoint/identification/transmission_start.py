"""First values for joints with two motors: plain least squares in a trust region, since laws are not linear in them.

The weights of `least_squares.py` come from the residuals, and those of rough values are no noise: they would take away
the frequencies of the motion, which tell most.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..types import FloatArray
from .equations import JointEquations
from .parameters import Unknowns
from .transmission_equations import TransmissionEquations

MOST_EVALUATIONS = 60
FAINT = 1e-4  # weight of priors: they decide only what the logs do not show at all


def transmission_start(measured: Sequence[TransmissionEquations], unknowns: Unknowns) -> FloatArray:
    """Values at which the motor equations of each joint hold best, all frequencies with the same weight.

    Args:
        measured: Equations of each recording.
        unknowns: What is estimated.
    """
    found = unknowns.priors
    for i in range(measured[0].robot.n):
        if measured[0].channels(i):
            places, values = best_of_joint(measured, unknowns, i)
            found[places] = values
    return found


def best_of_joint(
    measured: Sequence[TransmissionEquations], unknowns: Unknowns, i: int
) -> tuple[list[int], FloatArray]:
    """Places and values of the parameters of joint i."""
    from scipy.optimize import least_squares

    start = unknowns.priors
    first = [x.joint(i, start) for x in measured]
    places = list(first[0].places)
    scale = np.sqrt(np.mean([np.mean(np.abs(x.residual) ** 2, axis=0) for x in first], axis=0)) + 1e-300
    prior = FAINT / np.array([unknowns.parameters[k].deviation for k in places])

    def equations(x: FloatArray) -> list[JointEquations]:
        values = start.copy()
        values[places] = x
        return [y.joint(i, values) for y in measured]

    def residual(x: FloatArray) -> FloatArray:
        z = np.concatenate([(y.residual / scale).ravel() for y in equations(x)])
        return np.concatenate([z.real, z.imag, prior * (x - start[places])])

    def slopes(x: FloatArray) -> FloatArray:
        z = np.concatenate([(y.columns / scale[:, None]).reshape(-1, len(places)) for y in equations(x)])
        return np.concatenate([z.real, z.imag, np.diag(prior)])

    best = least_squares(residual, start[places], slopes, x_scale="jac", ftol=1e-12, max_nfev=MOST_EVALUATIONS)
    return places, best.x
