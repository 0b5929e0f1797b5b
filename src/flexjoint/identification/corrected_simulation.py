"""Simulation of a recording under its motor torques, corrected by its encoders, with sensitivities of its residuals.

    x_k⁺ = x_k + L_k ε_k,   ε_k = y_k − h(x_k; p),   x_{k+1} = x_k⁺ integrated over one period under τ

Without corrections (L = 0) errors of the measured torque add up and the simulation drifts away within milliseconds.
With the gains L of the Kalman filter for the noise of torques and encoders, ε are the errors of predictions over one
period, nearly white.  The gains are found once, at given parameters, and then kept: so

    ∂ε_k = −h_x ∂x_k − ∂h,   ∂x_k⁺ = ∂x_k + L_k ∂ε_k,   (∂x)' = A ∂x + ∂f

are the exact derivatives of ε by the parameters.  Plant and derivatives take the same implicit steps (`gauss_step.py`).
A recording is cut into segments that are simulated together, each from the measured state with a large covariance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..types import FloatArray
from .gauss_step import NODES, GaussStep, Stages, gauss_step
from .recordings import Recording
from .simulation_model import SimulationModel, Slopes

STEP = 1.5  # of the fastest time constant: the longest step of the integration
SEEN = 2.0  # rad per period: faster modes are not seen in samples; steps follow them without resolving them
INSTRUMENTS = 0.4  # of the bandwidth: passband of the motion along which residuals are differentiated
BLOCK = 80_000  # numbers of the derivatives of segments that are simulated together: they stay in the cache
SHORTEST, LONGEST = 200, 1000  # samples of a segment: long ones tell more, many short ones are faster
START_POSITION, START_SPEED = 30.0, 1.0  # deviations of the first state: encoder deviations; of the rms speed


class Noise(NamedTuple):
    """Standard deviations of what disturbs a recording, per sample.

    Args:
        outputs: Of encoders, and of torque sensors, (outputs,).
        torques: Of the motor torques, and of torques on the links, (2n,), Nm or N.
    """

    outputs: FloatArray
    torques: FloatArray


class Gains(NamedTuple):
    """Corrections of the simulation, per sample.

    Args:
        correction: L, (samples, segments, 2N, outputs).
        whitening: Inverse of the Cholesky factor of the covariance of ε, (samples, segments, outputs, outputs).
        step: Longest step of the integration, s.
    """

    correction: FloatArray
    whitening: FloatArray
    step: float


class Residuals(NamedTuple):
    """Whitened residuals, and what Gauss-Newton needs of the instruments ζ, their derivatives along a smooth motion.

    Args:
        epsilon: Whitened ε, (samples, segments, outputs).
        scores: ε·ζ, (samples, segments, P).
        normal: Σ ζᵀζ, (P, P).
    """

    epsilon: FloatArray
    scores: FloatArray
    normal: FloatArray

    @property
    def cost(self) -> float:
        """½ Σ ε²."""
        return float(np.sum(self.epsilon**2)) / 2


class Torque(NamedTuple):
    """Motor torques that are linear in time over a step, (segments, n), Nm or N.

    Args:
        mean: In the middle of the step.
        slope: From its begin to its end.
        mean_by_delay, slope_by_delay: Their derivatives, per s.
    """

    mean: FloatArray
    slope: FloatArray
    mean_by_delay: FloatArray
    slope_by_delay: FloatArray

    @property
    def at_nodes(self) -> tuple[FloatArray, FloatArray]:
        """Torques at the stages of a step, and their derivatives by the delay, (2, segments, n)."""
        where = NODES[:, None, None] - 0.5
        return self.mean + where * self.slope, self.mean_by_delay + where * self.slope_by_delay


@dataclass(frozen=True, eq=False)
class CorrectedSimulation:
    """A recording that is simulated.

    Args:
        model: The equations of motion.
        recording: With motor torques.
        held: Whether a sample of the motor torque holds until the next one.
        delay: Delay of the positions against the motor torque, s, if it is not a parameter.
    """

    model: SimulationModel
    recording: Recording
    held: bool = True
    delay: float = 0.0

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """First sample of each segment."""
        return np.arange(self.recording.count // self.length, dtype=np.int64) * self.length

    @cached_property
    def length(self) -> int:
        """Samples of a segment."""
        wanted = min(max(self.recording.count // self.most_rows, SHORTEST), LONGEST)
        return self.recording.count // max(1, self.recording.count // wanted)

    @property
    def most_rows(self) -> int:
        """Number of segments that are simulated together at most."""
        size = 2 * self.model.size
        return max(1, BLOCK // (size * (size + len(self.model.unknowns.parameters))))

    @cached_property
    def measured(self) -> FloatArray:
        """Outputs, (samples, segments, outputs)."""
        x, e = self.recording, self.model.elastic
        columns = [x.q]
        if e:
            assert x.theta is not None
            columns.append(x.theta[:, e])
        if self.model.sensors:
            assert x.tau_e is not None
            columns.append(x.tau_e[:, e])
        whole = np.concatenate(columns, axis=1)
        return np.stack([whole[k : k + self.length] for k in self.starts], axis=1)

    @cached_property
    def motion(self) -> FloatArray:
        """Positions and velocities of all coordinates from the filters of the recording, (m, 2N)."""
        q, v, _ = self.recording.motion("q")
        e = self.model.elastic
        if not e:
            return np.concatenate([q, v], axis=1)
        theta, w, _ = self.recording.motion("theta")
        return np.concatenate([q, theta[:, e], v, w[:, e]], axis=1)

    # Integration ----------------------------------------------------------------------------------------------------

    def longest_step(self, p: FloatArray) -> float:
        """Longest step, s, from the eigenvalues of the equations along the motion."""
        few = np.linspace(0, len(self.motion) - 1, 200).astype(int)
        assert self.recording.tau is not None
        x, N = np.ascontiguousarray(self.motion[few]), self.model.size
        A = np.zeros((len(few), 2 * N, 2 * N))
        A[:, :N, N:] = np.eye(N)
        A[:, N:] = self.model.slopes(x, np.ascontiguousarray(self.recording.tau[few]), p).by_state
        turns = np.abs(np.linalg.eigvals(A)) * self.recording.period
        fastest = float(turns[turns < SEEN].max(initial=STEP))
        return self.recording.period * STEP / fastest

    def torque(self, k: int, j: int, count: int, delay: float, rows: slice) -> Torque:
        """Motor torque in step j of `count` steps from sample k to the next, as seen by positions that come late.

        Where the torque jumps or bends within, the line with the same mean and the same moment stands for it.
        """
        assert self.recording.tau is not None
        tau, period = self.recording.tau, self.recording.period
        h = period / count
        start, whole = j * h, math.floor(delay / period)
        bend = delay - whole * period  # when the torque of sample k − whole arrives
        u = min(max((bend - start) / h, 0.0), 1.0)  # share of the step before that
        places = self.starts[rows] + k - whole
        before, now, after = (tau[np.clip(places + i, 0, len(tau) - 1)] for i in (-1, 0, 1))
        inside = float(j == min(int(bend / h), count - 1))
        if self.held:
            jump = before - now
            mean, slope = now + u * jump, -6 * u * (1 - u) * jump
            return Torque(mean, slope, inside / h * jump, -6 * inside * (1 - 2 * u) / h * jump)
        rise, next_rise = (now - before) / period, (after - now) / period
        early, late = max(bend - start - h, 0.0), max(start - bend, 0.0)
        mean = now - rise * (h * u * u / 2 + early) + next_rise * (h * (1 - u) ** 2 / 2 + late)
        slope = h * (rise * u * u * (3 - 2 * u) + next_rise * (1 - u * u * (3 - 2 * u)))
        return Torque(mean, slope, -u * rise - (1 - u) * next_rise, 6 * u * (1 - u) * (rise - next_rise))

    def advanced(
        self, x: FloatArray, k: int, p: FloatArray, longest: float, rows: slice, by_torques: bool = False
    ) -> list[GaussStep]:
        """The steps from states (rows, 2N) at sample k to the next one.

        Their inputs are the parameters; with `by_torques` the motor torques and torques on the links.
        """
        period, delay = self.recording.period, self.delay_at(p)
        count = math.ceil(period / longest - 1e-9)
        place, n = self.model.unknowns.at(-1, "delay"), self.model.robot.n
        steps: list[GaussStep] = []
        for j in range(count):
            tau, by_delay = self.torque(k, j, count, delay, rows).at_nodes

            def inputs(found: Slopes, by_delay: FloatArray = by_delay) -> FloatArray:
                if by_torques:
                    return found.by_torques
                if place is not None:
                    late = by_delay.reshape(-1, n, 1)
                    found.by_parameters[..., place] = (found.by_torques[..., :n] @ late)[..., 0]
                return found.by_parameters

            steps.append(self.step(x, tau, period / count, p, inputs))
            x = steps[-1].after
        return steps

    def step(
        self, x: FloatArray, tau: FloatArray, h: float, p: FloatArray, inputs: Callable[[Slopes], FloatArray]
    ) -> GaussStep:
        """A step of h seconds from states (rows, 2N).

        Args:
            x: The states.
            tau: Motor torques at both stages, (2, rows, n).
            h: Length of the step, s.
            p: The parameters.
            inputs: Derivatives of accelerations -> those by what the step is differentiated by.
        """
        model, n, N = self.model, self.model.robot.n, self.model.size

        def flow(at: FloatArray) -> Stages:
            found = model.slopes(at.reshape(-1, 2 * N), tau.reshape(-1, n), p)
            parts = found.a, found.by_state, inputs(found)
            return Stages(*(y.reshape(*at.shape[:2], *y.shape[1:]) for y in parts))

        guess = model.accelerations(np.concatenate([x, x]), tau.reshape(-1, n), p)
        return gauss_step(flow, x, guess.reshape(2, -1, N), h)

    def delay_at(self, p: FloatArray) -> float:
        """The delay, estimated or given."""
        k = self.model.unknowns.at(-1, "delay")
        return self.delay if k is None else float(p[k])

    # Filter ---------------------------------------------------------------------------------------------------------

    def gains(self, p: FloatArray, noise: Noise) -> Gains:
        """Those of the extended Kalman filter at these parameters."""
        longest = self.longest_step(p)
        parts = [self.filtered(p, noise, longest, rows) for rows in self.blocks]
        correction, whitening = (np.concatenate(x, axis=1) for x in zip(*parts))
        return Gains(correction, whitening, longest)

    def filtered(self, p: FloatArray, noise: Noise, longest: float, rows: slice) -> tuple[FloatArray, FloatArray]:
        """Corrections and whitenings of some segments."""
        N = self.model.size
        x = np.ascontiguousarray(self.motion[self.starts[rows]])
        speed = np.sqrt(np.mean(self.motion[:, N:] ** 2, axis=0)) + 1e-3
        P = np.broadcast_to(
            np.diag(np.concatenate([START_POSITION * noise.outputs[:N], START_SPEED * speed]) ** 2),
            (len(x), 2 * N, 2 * N),
        )
        R, Q = np.diag(noise.outputs**2), noise.torques**2
        corrections, whitenings = [], []
        for k, measured in enumerate(self.measured[:, rows]):
            y, H, _ = self.model.outputs(x, p)
            PH = P @ H.transpose(0, 2, 1)
            S = H @ PH + R
            L = np.linalg.solve(S, PH.transpose(0, 2, 1)).transpose(0, 2, 1)
            corrections.append(L)
            whitenings.append(np.linalg.inv(np.linalg.cholesky(S)))
            x = x + (L @ (measured - y)[..., None])[..., 0]
            P = P - L @ PH.transpose(0, 2, 1)
            steps = self.advanced(x, k, p, longest, rows, by_torques=True)
            x, (F, G) = steps[-1].after, chained(steps)
            P = F @ P @ F.transpose(0, 2, 1) + (G * Q) @ G.transpose(0, 2, 1)
            P = (P + P.transpose(0, 2, 1)) / 2
        return np.stack(corrections), np.stack(whitenings)

    @property
    def blocks(self) -> list[slice]:
        """Segments that are simulated together."""
        return [slice(k, k + self.most_rows) for k in range(0, len(self.starts), self.most_rows)]

    # Residuals ------------------------------------------------------------------------------------------------------

    @cached_property
    def smooth(self) -> CorrectedSimulation:
        """The same without fast parts of positions and torques, where noise is a large share of them."""
        return replace(self, recording=self.recording.smooth(INSTRUMENTS * self.recording.bandwidth))

    def residuals(self, p: FloatArray, gains: Gains) -> Residuals:
        """Whitened residuals at these parameters, with instruments."""
        normal = np.zeros((len(p), len(p)))
        parts = []
        for rows in self.blocks:
            epsilons, scores = [], []
            for epsilon, slopes in self.instrumented(p, gains, rows):
                epsilons.append(epsilon)
                scores.append((epsilon[:, None] @ slopes)[:, 0])
                flat = slopes.reshape(-1, len(p))
                normal += flat.T @ flat
            parts.append((np.stack(epsilons), np.stack(scores)))
        whole, all_scores = (np.concatenate(x, axis=1) for x in zip(*parts))
        return Residuals(whole, all_scores, normal)

    def instrumented(self, p: FloatArray, gains: Gains, rows: slice) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Whitened ε, and its derivatives along a smooth motion, sample by sample."""
        for epsilon, (_, slopes) in zip(self.errors(p, gains, rows), self.smooth.steps(p, gains, rows)):
            yield epsilon, slopes

    def errors(self, p: FloatArray, gains: Gains, rows: slice = slice(None)) -> Iterator[FloatArray]:
        """Whitened ε (segments, outputs), sample by sample; the arguments are those of `steps`."""
        x = np.ascontiguousarray(self.motion[self.starts[rows]])
        for k, (L, whiten) in enumerate(zip(gains.correction[:, rows], gains.whitening[:, rows])):
            epsilon = (self.measured[k, rows] - self.model.readings(x, p))[..., None]
            yield (whiten @ epsilon)[..., 0]
            x = self.advanced(x + (L @ epsilon)[..., 0], k, p, gains.step, rows)[-1].after

    def steps(self, p: FloatArray, gains: Gains, rows: slice = slice(None)) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Whitened ε (segments, outputs) and its derivatives (segments, outputs, P), sample by sample.

        Args:
            p: The parameters.
            gains: Of all segments.
            rows: Which segments; by default all.
        """
        x = np.ascontiguousarray(self.motion[self.starts[rows]])
        Z = np.zeros((*x.shape, len(p)))
        for k, (L, whiten) in enumerate(zip(gains.correction[:, rows], gains.whitening[:, rows])):
            y, by_p = self.model.seen(x, Z, p)
            epsilon = (self.measured[k, rows] - y)[..., None]
            yield (whiten @ epsilon)[..., 0], -(whiten @ by_p)
            steps = self.advanced(x + (L @ epsilon)[..., 0], k, p, gains.step, rows)
            F, G = chained(steps)
            x, Z = steps[-1].after, F @ (Z - L @ by_p) + G


def chained(steps: Sequence[GaussStep]) -> tuple[FloatArray, FloatArray]:
    """Derivatives of the last state by the first one and by inputs that act on all steps."""
    F, G = steps[0].slopes()
    for step in steps[1:]:
        more, own = step.slopes()
        F, G = more @ F, more @ G + own
    return F, G
