"""What a fit is worth: covariance that grows with the misfit, condition of the equations, prediction of unused logs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..logs import Log
from ..robot import Robot
from ..types import FloatArray
from .equations import Equations
from .least_squares import Fit
from .parameters import Unknowns
from .recordings import recordings
from .residuals import ResidualTest
from .signals import Signals


def inflated(
    what: Unknowns, result: Fit, tests: Sequence[ResidualTest], disagreement: FloatArray | float = 0.0
) -> FloatArray:
    """Covariance, larger where the residuals show that the model of a joint is wrong.

    Args:
        what: The parameters.
        result: Their values and covariance.
        tests: Of the residuals.
        disagreement: By how much fits that should agree differ, beyond noise, per parameter; by default 0.
    """
    worst = {
        i: max([x.misfit for x in tests if x.joint == i and x.significant], default=1.0)
        for i in {x.joint for x in tests}
    }
    overall = max(1.0, float(np.mean([*worst.values(), 1.0])))
    factor = np.sqrt(
        [
            max(1.0, worst.get(x.joint, overall) if x.kind not in ("base", "payload", "delay") else overall)
            for x in what.parameters
        ]
    )
    systematic = np.broadcast_to(disagreement, len(factor))
    return result.covariance * factor[:, None] * factor + systematic[:, None] * systematic


def condition(result: Fit, what: Unknowns) -> float:
    """Condition number of the equations with columns of equal length, without priors."""
    prior = np.array([1 / x.deviation**2 for x in what.parameters])
    normal = np.linalg.inv(result.inverse) - np.diag(prior)
    scale = 1 / np.sqrt(np.maximum(np.abs(np.diag(normal)), 1e-300))
    return float(np.sqrt(np.linalg.cond(normal * scale[:, None] * scale)))


def validation(
    robot: Robot, what: Unknowns, result: Fit, logs: Sequence[Log], held: bool, delay: float, bandwidth: float | None
) -> dict[str, float]:
    """Error of the motor torque predicted for unused logs, relative to the torque, both root mean squares, by joint."""
    squares = np.zeros((2, robot.n))
    for log in logs:
        for part in recordings(log, bandwidth):
            if part.tau is None:
                continue
            equations = Equations(Signals(robot, part, what.links), what, held, delay)
            for i in range(robot.n):
                if names := equations.channels(i):
                    row = names.index("motor" if "motor" in names else "rigid")
                    residual = equations.joint(i, result.values).residual[:, row]
                    torque = part.spectrum(part.tau[:, i] - part.tau[:, i].mean())
                    squares[:, i] += [np.sum(np.abs(residual) ** 2), np.sum(np.abs(torque) ** 2)]
    return {x.name: float(np.sqrt(a / b)) for x, a, b in zip(robot.joints, *squares) if b > 0}
