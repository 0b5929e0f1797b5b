"""Backlash and hysteresis that logs show: jumps and loops of the deflection over the transmitted torque.

The deflection of a joint is fitted by what a gear without losses would have, and by a gap and a loop:

    θ − q = ρᵀ Y(q, q', q'') + φ_0 − (D/K) (θ' − q') − Σ c_k (θ − q)ᵏ + g/2 sign(T) − w z

Y π is the torque of the links, so ρ = π/K; with torque sensors ρᵀ Y is τ_e/K.  T is ρᵀ Y itself, found by iteration.
The powers of the deflection stand for springs that are not linear.  g is the width of the gap, w the half width of the
loop, z the state of a Dahl hysteresis along the measured deflection (docs/gears.md), with the best length of a few.
Samples near T = 0, where the teeth lose contact, do not count.  Deviations hold for autocorrelated residuals.

Nothing of it enters the estimates: a joint with a gap or a loop is reported, and its other numbers are to be judged
with that in mind.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..drives import ElasticDrive
from ..dynamics import base_regressor, regressor
from ..logs import Log
from ..robot import Robot
from ..types import FloatArray
from .identifiability import deflections
from .recordings import Recording, smoothed
from .signals import ROWS, Signals

PASSBAND = 0.6  # of the bandwidth: noise of accelerations beyond would look like a loop
ENDS = 0.05  # share of a recording at each end that does not count: filters
CONTACT = 0.1  # of the rms torque: below, teeth may lose contact
LENGTHS = (0.02, 0.05, 0.1, 0.2, 0.4)  # of the Dahl hysteresis, over the rms deflection
MEMORY = 0.5  # s: lags of autocorrelated residuals
SIGNIFICANT = 10.0  # deviations; gears without losses reach 7 in motions from point to point, which filters blur
STEPS = 2.0  # encoder steps of deflection, root mean square, from which a joint is looked at
WIDTH = 3.0  # encoder steps: smaller widths are not reported; positions that rest are rounded all the same way
SHARE = 0.01  # of the rms deflection: smaller widths are not reported
POWERS = (2, 3, 5, 7)  # of the deflection: springs that are not linear
ROUNDS = 3


@dataclass(frozen=True)
class GearLoss:
    """Backlash or hysteresis of a joint that the logs show.

    Args:
        joint: Number of the joint.
        kind: backlash or hysteresis.
        width: Of the gap, or of the loop of the deflection over the torque, rad or m.
        deviation: Its standard deviation.
        name: Name of the joint.
        unit: rad or m.
    """

    joint: int
    kind: str
    width: float
    deviation: float
    name: str
    unit: str

    def __str__(self) -> str:
        what = "a gap" if self.kind == "backlash" else "a loop"
        return (
            f"{self.name} shows {self.kind}: {what} of {self.width:.3g} ± {self.deviation:.2g} {self.unit} in "
            "theta − q over the torque; the model has none, so judge stiffness and damping with care (docs/gears.md)"
        )


def gear_losses(robot: Robot, parts: Sequence[Recording], links: str, logs: Sequence[Log]) -> list[GearLoss]:
    """Backlash and hysteresis of all joints that the logs show.

    Args:
        robot: The robot.
        parts: The recordings.
        links: What is estimated of the links: base, payload or known.
        logs: The logs, for the steps of encoders.
    """
    found: list[GearLoss] = []
    if any(x.theta is None for x in parts):
        return found
    steps = deflections(robot, logs)
    measured = [Signals(robot, x, links, PASSBAND * x.bandwidth) for x in parts]
    columns = [load_columns(x) for x in measured]
    for i, joint in enumerate(robot.joints):
        if not isinstance(joint.drive, ElasticDrive) or steps[i].steps < STEPS:
            continue
        own = [Part.of(x, i, loads[:, i]) for x, loads in zip(measured, columns)]
        rms = math.sqrt(np.mean(np.concatenate([x.phi - x.phi.mean() for x in own]) ** 2))
        least = max(WIDTH * steps[i].step, SHARE * rms)
        for kind, width, deviation in fitted(own, rms):
            if width > max(least, SIGNIFICANT * deviation):
                unit = "rad" if joint.kind.angular else "m"
                found.append(GearLoss(i, kind, width, deviation, joint.name, unit))
    return found


@dataclass(frozen=True, eq=False)
class Part:
    """Deflection of a joint in a recording on the coarse grid, and what may explain it.

    Args:
        period: s.
        phi, rate: θ − q and θ' − q', (m,).
        loads: Columns of the transmitted torque, (m, columns).
    """

    period: float
    phi: FloatArray
    rate: FloatArray
    loads: FloatArray

    @staticmethod
    def of(signals: Signals, i: int, loads: FloatArray) -> Part:
        """Of joint i, without the ends of the recording."""
        every = signals.recording.every
        phi, rate = (x[::every, i] for x in signals.measured_deflection)
        cut = slice(int(ENDS * len(phi)), len(phi) - int(ENDS * len(phi)))
        return Part(signals.recording.period * every, phi[cut], rate[cut], loads[cut])

    def hysteresis(self, length: float) -> FloatArray:
        """State z of a Dahl hysteresis along the deflection, which relaxes over `length`."""
        z, state = np.empty_like(self.phi), 0.0
        steps = np.diff(self.phi, prepend=self.phi[0])
        decays = np.exp(-np.abs(steps) / length)
        for k, (side, decay) in enumerate(zip(np.sign(steps).tolist(), decays.tolist())):
            state = side + (state - side) * decay
            z[k] = state
        return z


def load_columns(signals: Signals) -> FloatArray:
    """What the transmitted torque of each joint is a combination of, on the coarse grid, (m, n, columns)."""
    recording, robot = signals.recording, signals.robot
    if recording.tau_e is not None:
        torque = smoothed(recording.tau_e, recording.period, PASSBAND * recording.bandwidth, range(1))[0]
        return np.ascontiguousarray(torque[:: recording.every])[:, :, None]
    q, v, a = signals.coarse
    pieces = [slice(k, k + ROWS) for k in range(0, len(q), ROWS)]
    known = signals.known_torque[:, :, None]
    if signals.links == "known":
        return known
    if signals.links == "payload":
        place = 10 * robot.link_index(None)
        own = [regressor(robot, q[p], v[p], v[p], a[p])[..., place : place + 10] for p in pieces]
    else:
        own = [base_regressor(robot, q[p], v[p], v[p], a[p]) for p in pieces]
    return np.concatenate([np.concatenate(own), known], axis=2)


def fitted(parts: Sequence[Part], rms: float) -> list[tuple[str, float, float]]:
    """Kind, width and deviation of the gap and of the loop."""
    phi, rate = (np.concatenate([getattr(x, name) for x in parts]) for name in ("phi", "rate"))
    loads = np.concatenate([x.loads for x in parts])
    loads = loads[:, np.any(loads != 0, axis=0)]
    bent = [((phi - np.mean(phi)) / rms) ** k for k in POWERS]
    columns = np.concatenate([loads, np.stack([np.ones_like(phi), rate, *bent, phi, phi], axis=1)], axis=1)
    size, gap, loop = loads.shape[1], columns[:, -2], columns[:, -1]
    torque = loads @ solved(columns[:, :-2], phi)[0][:size]
    best: tuple[float, FloatArray, FloatArray, FloatArray] | None = None
    for length in LENGTHS:
        loop[:] = -np.concatenate([x.hysteresis(length * rms) for x in parts])
        for _ in range(ROUNDS):
            scaled = torque / math.sqrt(np.mean(torque**2))
            gap[:] = np.sign(scaled) / 2
            used = columns[np.abs(scaled) > CONTACT]
            values, residual, inverse = solved(used, phi[np.abs(scaled) > CONTACT])
            torque = loads @ values[:size]
        if best is None or residual @ residual < best[0]:
            best = float(residual @ residual), values[-2:], residual, used @ inverse[:, -2:]
    assert best is not None
    _, widths, residual, influence = best
    spread = deviations(influence * residual[:, None], round(MEMORY / parts[0].period))
    return [
        (kind, share * float(width), share * float(deviation))
        for kind, share, width, deviation in zip(("backlash", "hysteresis"), (1, 2), widths, spread)
    ]


def solved(A: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Least squares: values, residual, inverse of the normal matrix."""
    normal = A.T @ A
    scale = np.sqrt(np.diag(normal)) + 1e-300
    inverse = np.linalg.pinv(normal / scale / scale[:, None], rcond=1e-12, hermitian=True) / scale / scale[:, None]
    values = inverse @ (A.T @ y)
    return values, y - A @ values, inverse


def deviations(influence: FloatArray, lags: int) -> FloatArray:
    """Standard deviations of sums of these terms, (m, sums), correlated over so many samples [NeweyWest]."""
    from scipy.fft import irfft, next_fast_len, rfft

    lags = min(lags, len(influence) - 1)
    count = next_fast_len(len(influence) + lags, real=True)
    products = irfft(np.abs(rfft(influence, count, axis=0)) ** 2, count, axis=0)[:lags]  # by lag
    weights = 2 * (1 - np.arange(lags) / lags)
    weights[0] = 1.0
    return np.sqrt(np.maximum(weights @ products, 0.0))
