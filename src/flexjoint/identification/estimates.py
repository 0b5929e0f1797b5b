"""Estimates in the words of robot files: friction velocities, F_s, gains of sensors, offsets of encoders."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..types import FloatArray
from .parameters import Parameter, Unknowns

IDENTIFIED, WEAK, UNKNOWN = "identified", "weak", "unknown"
SIGNIFICANT = 3.0  # deviations from zero: less is no evidence of damping


@dataclass(frozen=True)
class Estimate:
    """An estimated number.

    Args:
        name: Path in the robot, such as joint1.drive.stiffness, or another name if the robot has no such number.
        kind: What it is, such as stiffness.
        joint: Number of its joint; −1 without one.
        unit: Its unit.
        value: The estimate.
        deviation: Its standard deviation.
        prior: Value before the estimation; NaN if the robot states none.
        verdict: identified, weak or unknown.
        reason: Why it is not identified, and what would help; empty if it is.
    """

    name: str
    kind: str
    joint: int
    unit: str
    value: float
    deviation: float
    prior: float
    verdict: str = IDENTIFIED
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.name} = {with_deviation(self.value, self.deviation)} {self.unit} ({self.verdict})"


def with_deviation(value: float, deviation: float) -> str:
    """A value and its deviation, both to two digits of the deviation."""
    if not np.isfinite(deviation) or deviation <= 0:
        return f"{value:.6g}"
    digits = max(0, 1 - int(np.floor(np.log10(deviation))))
    if digits > 9 or abs(value) >= 1e7:
        return f"{value:.6g} ± {deviation:.2g}"
    return f"{value:.{digits}f} ± {deviation:.{digits}f}"


def natural(unknowns: Unknowns, values: FloatArray, covariance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Values and covariance of what robot files have, one per parameter.

    v = exp(ln v), F_s = F_c + rise, gain = 1/c, φ_0 = −τ_0/K.
    """
    found = values.copy()
    J = np.eye(len(values))
    for k, x in enumerate(unknowns.parameters):
        if x.kind.startswith("log"):
            found[k] = np.exp(values[k])
            J[k, k] = found[k]
        elif x.kind.startswith("rise"):
            other = unknowns.place(x.joint, x.kind.replace("rise", "coulomb"))
            found[k], J[k, other] = values[k] + values[other], 1.0
        elif x.kind == "sensor_scale":
            found[k], J[k, k] = 1 / values[k], -1 / values[k] ** 2
        elif x.kind == "spring_offset":
            other = unknowns.place(x.joint, "stiffness")
            K = values[other]
            found[k], J[k, k], J[k, other] = -values[k] / K, -1 / K, values[k] / K**2
    return found, J @ covariance @ J.T


def natural_prior(x: Parameter, unknowns: Unknowns) -> float:
    """The prior in the same words; NaN without one."""
    if not x.known:
        return float("nan")
    if x.kind.startswith("log"):
        return float(np.exp(x.prior))
    if x.kind.startswith("rise"):
        return x.prior + unknowns.parameters[unknowns.place(x.joint, x.kind.replace("rise", "coulomb"))].prior
    return x.prior
