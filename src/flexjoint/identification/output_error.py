"""Output error: parameters with which a simulation under the measured torques explains the encoders.

    Σ ζ_kᵀ ε_k(p) + (p − p_0)/σ_0² = 0

over whitened residuals ε of the corrected simulation, by Gauss-Newton steps in a trust region [NocedalWright ch. 4].
The instruments ζ are the derivatives of ε along the same motion without its fast parts: noise of the logged torque and
of encoders is no part of them, so it does not bias what is estimated (errors in variables made damping too large).
White residuals have the covariance H⁻¹, H = Σ ζᵀζ.  Others have H⁻¹ J H⁻¹, J the spectrum of the scores ε·ζ at
frequency 0 [NeweyWest]: each deviation is the greater of both.

Simulations need a robot that can move (`possible_values.py`).  If the best values belong to none, they are a last
Gauss-Newton step away from the nearest ones that can be simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError
from ..progress import Progress, activity
from ..robot import Robot
from ..types import FloatArray
from .control_loop import ControlLoop
from .controlled_simulation import ControlledSimulation
from .corrected_simulation import CorrectedSimulation, Gains, Residuals
from .instrument_noise import noise
from .least_squares import Fit, inverted
from .parameters import Unknowns
from .possible_values import PossibleValues
from .recordings import Recording
from .simulation_model import SimulationModel

ROUNDS = 3  # of new gains
NEAR = 3.0  # deviations of the least squares: closer values have the same gains
MOST_STEPS = 12  # per round
CONVERGED = 0.1  # of a standard deviation; the estimate is a Gauss-Newton step further
FIRST_RADIUS, GREATEST_RADIUS = 10.0, 1e3  # deviations of the least squares
WRONG = 1.5  # mean square of whitened residuals above which the model is called wrong


@dataclass(frozen=True, eq=False)
class OutputErrorFit:
    """The result of an output-error estimation.

    Args:
        values: Of the parameters.
        covariance: Of the values.
        residuals: Whitened, per recording.
        steps: How many Gauss-Newton steps were tried.
        converged: Whether the last step was small.
    """

    values: FloatArray
    covariance: FloatArray
    residuals: tuple[Residuals, ...]
    steps: int
    converged: bool

    @property
    def of_fit(self) -> dict[str, Any]:
        """Fields of a Fit with these values."""
        return {"values": self.values, "covariance": self.covariance, "converged": self.converged}

    @property
    def variance(self) -> float:
        """Mean square of the whitened residuals: 1 if noise and model are right."""
        return float(np.mean(np.concatenate([np.ravel(x.epsilon) for x in self.residuals]) ** 2))

    @property
    def doubts(self) -> list[str]:
        """What the residuals tell."""
        if self.variance < WRONG:
            return []
        return [
            f"the simulation explains the encoders badly: mean square {self.variance:.2g} of the whitened residuals, "
            "1 if the model is right"
        ]


def output_error(
    robot: Robot,
    parts: Sequence[Recording],
    unknowns: Unknowns,
    start: Fit,
    held: bool,
    delay: float,
    loop: ControlLoop | None = None,
) -> OutputErrorFit:
    """Estimate the parameters from simulations, beginning at the result of the least squares.

    Args:
        robot: The robot, with its prior values.
        parts: The recordings.
        unknowns: What is estimated.
        start: Result of the least squares.
        held, delay: See `identify`.
        loop: The controller, which gives the torques of the simulation; by default those of the recordings.

    Raises:
        InputError: A recording has no motor torques.
    """
    if any(x.tau is None for x in parts):
        raise InputError("identify: output error simulates the robot under its motor torques; log tau")
    sensors = all(x.tau_e is not None for x in parts)
    model = SimulationModel(robot, unknowns, sensors)
    simulations: list[CorrectedSimulation] = [
        CorrectedSimulation(model, x, held, delay) if loop is None else ControlledSimulation(model, x, loop=loop)
        for x in parts
    ]
    noises = [noise(x, start, k * len(start.white) // len(parts)) for k, x in enumerate(simulations)]
    scale = np.sqrt(np.maximum(np.diag(start.covariance), 1e-300))
    possible = PossibleValues(simulations, scale)
    values, steps = possible(start.values, start.covariance), 0
    impossible = InputError(
        "identify: with the parameters of the least squares the simulation does not stay finite; log a motion that "
        "shows all of them, or take links='known' or method='least_squares'"
    )
    with activity(f"simulating {robot.name}"):
        for _ in range(ROUNDS):
            try:
                gains = [x.gains(values, y) for x, y in zip(simulations, noises)]
            except np.linalg.LinAlgError:
                raise impossible from None
            descent = Descent(simulations, gains, unknowns, scale, possible)
            found, more, converged = descent.minimum(values)
            steps += more
            near = float(np.max(np.abs(found.values - values) / scale)) < NEAR
            values = found.values
            if near:
                break
    if not np.isfinite(found.cost):
        raise impossible
    return OutputErrorFit(descent.estimate(found), descent.covariance(found), tuple(found.residuals), steps, converged)


@dataclass(frozen=True, eq=False)
class Point:
    """Cost, gradient and Gauss-Newton matrix at some values, and the residuals."""

    values: FloatArray
    cost: float
    gradient: FloatArray
    normal: FloatArray
    residuals: list[Residuals]


@dataclass(frozen=True, eq=False)
class Descent:
    """Minimization with given gains.

    Args:
        simulations: Of all recordings.
        gains: Of each simulation.
        unknowns: What is estimated.
        scale: Size of a step of each parameter.
        possible: Values (estimates, covariance) -> nearest ones that can be simulated.
    """

    simulations: Sequence[CorrectedSimulation]
    gains: Sequence[Gains]
    unknowns: Unknowns
    scale: FloatArray
    possible: Callable[[FloatArray, FloatArray], FloatArray]

    def at(self, values: FloatArray) -> Point:
        """Cost and derivatives; the cost is infinite where a simulation fails."""
        with np.errstate(all="ignore"):
            found = [x.residuals(values, y) for x, y in zip(self.simulations, self.gains)]
        precision = np.array([1 / x.deviation**2 for x in self.unknowns.parameters])
        off = values - self.unknowns.priors
        cost = sum(x.cost for x in found) + float(off @ (precision * off)) / 2
        gradient = sum(x.scores.sum(axis=(0, 1)) for x in found) + precision * off
        normal = sum(x.normal for x in found) + np.diag(precision)
        return Point(values, cost if np.isfinite(cost) else np.inf, gradient, normal, found)

    def minimum(self, values: FloatArray) -> tuple[Point, int, bool]:
        """Point of least cost, number of steps tried, and whether the last one was small."""
        now, radius = self.at(values), FIRST_RADIUS
        if not np.isfinite(now.cost):
            return now, 0, False
        progress = Progress("fitting the simulation", MOST_STEPS)
        before, move = now.values, np.zeros_like(now.values)
        for step in range(MOST_STEPS):
            inverse, best = inverted(now.normal), self.estimate(now)
            if float(np.max(np.abs(best - before) / np.sqrt(np.abs(np.diag(inverse))))) < CONVERGED:
                return now, step, True
            full = self.step(now, radius)
            back = float(full @ now.normal @ move) < 0  # along what a log hardly shows, instruments may lead to and fro
            wanted = self.possible(now.values + (full / 2 if back else full), inverse)
            move = wanted - now.values
            trial = self.at(wanted)
            expected = -float(now.gradient @ move + move @ now.normal @ move / 2)
            fall = now.cost - trial.cost + len(move)  # instruments lead to another point than that of least cost
            length = float(np.linalg.norm(move / self.scale))
            radius = length / 4 if fall < expected / 4 else min(2 * max(radius, length), GREATEST_RADIUS)
            if fall > 0:
                now, before = trial, best
            progress.reached(step)
        return now, MOST_STEPS, False

    def estimate(self, now: Point) -> FloatArray:
        """Values of least quadratic cost around a point: the point itself, unless no robot has the best values."""
        return now.values + self.step(now, np.inf)

    def step(self, now: Point, radius: float) -> FloatArray:
        """Step of least quadratic cost within the trust region |step/scale| ≤ radius."""
        H, g = now.normal * self.scale[:, None] * self.scale, now.gradient * self.scale
        eigenvalues, vectors = np.linalg.eigh(H)
        along = vectors.T @ g

        def move(damping: float) -> FloatArray:
            return vectors @ (-along / (np.maximum(eigenvalues, 1e-14 * eigenvalues[-1]) + damping))

        found, low, high = move(0.0), 0.0, float(np.linalg.norm(g)) / radius
        if np.linalg.norm(found) > radius:
            for _ in range(40):  # bisection of the damping
                middle = (low + high) / 2
                low, high = (middle, high) if np.linalg.norm(move(middle)) > radius else (low, middle)
            found = move(high)
        return found * self.scale

    def covariance(self, now: Point) -> FloatArray:
        """H⁻¹, larger where H⁻¹ J H⁻¹ is, J over lags of up to one period of the bandwidth."""
        J = np.diag([1 / x.deviation**2 for x in self.unknowns.parameters])
        for x, residuals in zip(self.simulations, now.residuals):
            s = residuals.scores - residuals.scores.mean(axis=(0, 1))  # 0 at the estimate
            lags = max(1, int(1 / (x.recording.bandwidth * x.recording.period)))
            for lag in range(min(lags, len(s) - 1) + 1):
                product = np.einsum("ksp,ksq->pq", s[lag:], s[: len(s) - lag], optimize=True)
                J += product if lag == 0 else (1 - lag / (lags + 1)) * (product + product.T)
        inverse = inverted(now.normal)
        robust = np.diag(inverse @ J @ inverse.T)
        factor = np.sqrt(np.maximum(robust / np.diag(inverse), 1.0))
        return (inverse + inverse.T) / 2 * factor[:, None] * factor
