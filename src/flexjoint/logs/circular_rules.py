"""Circular logs: link positions that were computed from motor positions and joint torques.

Arms with torque sensors and motor encoders alone may log q = θ − τ_J/K with the K of their maker.  Then θ − q is an
affine function of τ_J up to the rounding of the numbers in the file, far below any encoder, and an estimate of K
returns the maker's number.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..errors import listed
from ..findings import Finding
from ..types import FloatArray
from .log import Log

MOST_DIGITS = 15
ROUNDING = 4.0  # residual, in roundings of the numbers in the file
EXACT, SINGLE = 1e-14, 1.2e-7  # of the largest number: rounding of doubles, and of floats
MOST = 5000  # samples that are looked at


def circular_findings(log: Log) -> Iterator[Finding]:
    """Elastic joints whose deflection is an affine function of the measured torque to rounding."""
    if log.robot.transmissions:
        return
    known = {joint.name: circular_stiffness(log, i) for i, joint in enumerate(log.robot.joints) if log.robot.elastic[i]}
    found = {name: K for name, K in known.items() if K is not None}
    if found:
        values = ", ".join(f"{k:.6g}" for k in found.values())
        yield Finding(
            "warning",
            "circular",
            next(iter(found)),
            f"theta - q is an affine function of tau_e to rounding at {listed(found)}: q was computed from the others, "
            f"with stiffnesses {values}",
            "these columns return this stiffness, not the robot's; log an encoder on the link side, or use the "
            "resonance",
        )


def circular_stiffness(log: Log, i: int) -> float | None:
    """K if q of joint i was computed as θ − τ_e/K, Nm/rad or N/m; None if it was measured.

    Args:
        log: The log.
        i: Number of the joint, whose motor has the same number.
    """
    if log.q is None or log.theta is None or log.tau_e is None or (log.sensors is not None and not log.sensors[i]):
        return None
    slope = affine_slope(log.theta[:, i], log.q[:, i], log.tau_e[:, i])
    return None if slope is None or slope < 0 else 1 / slope


def affine_slope(theta: FloatArray, q: FloatArray, tau: FloatArray) -> float | None:
    """Slope of θ − q over τ if the line fits to rounding, rad/Nm; None otherwise."""
    known = np.flatnonzero(np.isfinite(theta) & np.isfinite(q) & np.isfinite(tau))
    known = known[:: max(1, known.size // MOST)]
    theta, q, tau = theta[known], q[known], tau[known]
    if known.size < 10 or np.ptp(tau) == 0.0:
        return None
    x, y = tau - np.mean(tau), (theta - q) - np.mean(theta - q)
    slope = float(np.sum(x * y) / np.sum(x * x))
    if slope == 0.0:
        return None
    rest = y - slope * x
    rounding = sum(resolution(z) * abs(by) for z, by in ((theta, 1.0), (q, 1.0), (tau, slope)))
    if np.max(np.abs(rest)) > ROUNDING / 2 * rounding or np.std(y) < 10 * rounding:
        return None
    return slope


def resolution(x: FloatArray) -> float:
    """Size of the last digit of the numbers of a column: after the point, or of a number of significant digits."""
    largest = float(np.max(np.abs(x)))
    if largest == 0.0:
        return 0.0
    found = [EXACT * largest]
    if np.all(x == x.astype(np.float32)):
        found.append(SINGLE * largest)
    after_point = (10.0**-k for k in range(MOST_DIGITS) if np.all(np.abs(x - np.round(x, k)) <= 4e-16 * largest))
    found.append(next(after_point, 0.0))
    scale = 10.0 ** np.floor(np.log10(np.abs(np.where(x == 0.0, 1.0, x))))
    digits = (k for k in range(MOST_DIGITS - 1) if np.all(np.abs(x / scale - np.round(x / scale, k)) <= 4e-15))
    found.append(float(np.max(scale)) * 10.0 ** -next(digits, MOST_DIGITS))
    return max(found)
