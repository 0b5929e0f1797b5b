"""Simulation of a recording under its own controller, corrected by its encoders, with sensitivities of its residuals.

As in `corrected_simulation.py`, but the law sees the simulated state and gives the torque: no torque need be logged.
State of the robot and memory u of the loop are corrected together,

    τ, u⁺ = law(x, u, reference),   x⁺ = x integrated over one period of the law under τ

and the covariance of the filter goes through the law too.  Encoder noise that the real law saw is noise of this law's
positions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..progress import activity
from ..robot import Robot
from ..types import FloatArray
from .control_loop import Command, ControlLoop, LoopModel, check_times, periods_per_sample
from .corrected_simulation import START_POSITION, START_SPEED, CorrectedSimulation, Gains, Noise, chained
from .gauss_step import GaussStep
from .parameters import unknowns
from .recordings import Recording
from .simulation_model import SimulationModel, Slopes

SHARES = (0.01, 0.1, 0.3, 1.0)  # of the torque noise that the least squares find
FEW = 4  # segments that tell which one is right


@dataclass(frozen=True, eq=False)
class ControlledSimulation(CorrectedSimulation):
    """A recording that is simulated with its controller.

    Args:
        loop: The controller; see `CorrectedSimulation` for the others.
    """

    loop: ControlLoop = None  # type: ignore[assignment]

    @cached_property
    def turns(self) -> int:
        """Periods of the law per sample."""
        return periods_per_sample(self.loop, self.recording)

    @cached_property
    def law(self) -> LoopModel:
        """The law with its sensors and actuators."""
        return LoopModel(self.loop, self.model, self.recording.period / self.turns)

    @cached_property
    def references(self) -> FloatArray:
        """What the law follows in each of its periods, (m turns, order + 1, width)."""
        check_times(self.loop, self.recording)
        t = self.recording.start + self.law.period * np.arange(self.recording.count * self.turns)
        return np.ascontiguousarray(self.law.reference(t.astype(np.float64)))

    def along(self, p: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Torques (m, n) of the law on the measured motion, means up to the next sample, and its memory (m, U)."""
        memory = self.law.start(self.motion[0], self.recording.start, p)
        torques, memories = [], []
        for x, reference in zip(self.between_samples[:, None], self.references[:, None]):
            memories.append(memory[0])
            tau, memory, _ = self.law(x, memory, reference, p)
            torques.append(tau[0])
        means = np.reshape(torques, (self.recording.count, self.turns, -1)).mean(axis=1)
        return means, np.array(memories[:: self.turns])

    @property
    def between_samples(self) -> FloatArray:
        """The measured motion at the times of the law, (m turns, 2N): cubic polynomials between samples."""
        from scipy.interpolate import CubicHermiteSpline

        x, v = np.split(self.motion, 2, axis=1)
        curve = CubicHermiteSpline(np.arange(len(x)), x, v * self.recording.period)
        at = np.arange(len(x) * self.turns) / self.turns
        return np.concatenate([curve(at), curve(at, 1) / self.recording.period], axis=1)

    @cached_property
    def _starts(self) -> FloatArray:
        """States and memories at the beginning of each segment, (segments, 2N + U)."""
        memories = self.along(self.model.unknowns.priors)[1]
        return np.concatenate([self.motion, memories], axis=1)[self.starts]

    def commanded(self, k: int, j: int, both: FloatArray, p: FloatArray, rows: slice) -> tuple[FloatArray, Command]:
        """State (rows, 2N), and what the law does, in period j after sample k of each segment."""
        S = 2 * self.model.size
        reference = np.ascontiguousarray(self.references[(self.starts[rows] + k) * self.turns + j])
        x, memory = np.ascontiguousarray(both[:, :S]), np.ascontiguousarray(both[:, S:])
        return x, self.law(x, memory, reference, p)

    def under(
        self, x: FloatArray, tau: FloatArray, p: FloatArray, longest: float, inputs: Callable[[Slopes], FloatArray]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """State after a period of the law under torques that are held, and its derivatives by state and inputs."""
        count, steps = math.ceil(self.law.period / longest - 1e-9), list[GaussStep]()
        for _ in range(count):
            steps.append(self.step(x, np.stack([tau, tau]), self.law.period / count, p, inputs))
            x = steps[-1].after
        return x, *chained(steps)

    def moved(
        self, k: int, both: FloatArray, Z: FloatArray, p: FloatArray, longest: float, rows: slice
    ) -> tuple[FloatArray, FloatArray]:
        """State and memory (rows, 2N + U) and their derivatives by the parameters, from sample k to the next."""
        n, S, size = self.model.robot.n, 2 * self.model.size, both.shape[1]

        def inputs(found: Slopes) -> FloatArray:
            return np.concatenate([found.by_torques[..., :n], found.by_parameters], axis=-1)

        for j in range(self.turns):
            x, command = self.commanded(k, j, both, p, rows)
            d = command.slopes[:, :, :size] @ Z + command.slopes[:, :, size:]
            x, F, G = self.under(x, command.tau, p, longest, inputs)
            Zx = F @ Z[:, :S] + G[:, :, :n] @ d[:, :n] + G[:, :, n:]
            both, Z = np.concatenate([x, command.memory], axis=1), np.concatenate([Zx, d[:, n:]], axis=1)
        return both, Z

    def transition(
        self, k: int, both: FloatArray, p: FloatArray, longest: float, noise: Noise, rows: slice
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """State and memory at the next sample, their derivatives by those at sample k, and the covariance of noise."""
        N, n, S = self.model.size, self.model.robot.n, 2 * self.model.size
        count, size = both.shape
        variances = np.concatenate([noise.torques[:n], noise.outputs[:N]]) ** 2
        F, Q = np.broadcast_to(np.eye(size), (count, size, size)), np.zeros((count, size, size))
        for j in range(self.turns):
            x, command = self.commanded(k, j, both, p, rows)
            x, own, torques = self.under(x, command.tau, p, longest, lambda found: found.by_torques[..., :n])
            slopes = command.slopes[:, :, :size]
            whole = np.concatenate([torques @ slopes[:, :n], slopes[:, n:]], axis=1)
            entering = np.concatenate([np.zeros((count, size, n)), whole[:, :, :N]], axis=2)  # by what the law sees
            entering[:, :S, :n] = torques
            whole[:, :S, :S] += own
            Q = whole @ Q @ whole.transpose(0, 2, 1) + (entering * variances) @ entering.transpose(0, 2, 1)
            F, both = whole @ F, np.concatenate([x, command.memory], axis=1)
        return both, F, Q

    def gains(self, p: FloatArray, noise: Noise) -> Gains:
        """Those of the extended Kalman filter, with the share of the torque noise that is most likely.

        Residuals of the least squares come from encoders and motors; those of the encoders are in the law already.
        """
        longest, few = self.longest_step(p), slice(None, None, max(1, len(self.starts) // FEW))
        shares = [noise._replace(torques=share * noise.torques) for share in SHARES]
        likely = min(shares, key=lambda x: sum(cost for *_, cost in self.filter_steps(p, x, longest, few)))
        return super().gains(p, likely)

    def filtered(self, p: FloatArray, noise: Noise, longest: float, rows: slice) -> tuple[FloatArray, FloatArray]:
        """Corrections and whitenings of some segments."""
        corrections, whitenings, _ = zip(*self.filter_steps(p, noise, longest, rows))
        return np.stack(corrections), np.stack(whitenings)

    def filter_steps(
        self, p: FloatArray, noise: Noise, longest: float, rows: slice
    ) -> Iterator[tuple[FloatArray, FloatArray, float]]:
        """Correction, whitening, and −2 times the logarithm of the likelihood, sample by sample."""
        N, S, both = self.model.size, 2 * self.model.size, self._starts[rows]
        speed = np.sqrt(np.mean(self.motion[:, N:] ** 2, axis=0)) + 1e-3
        P = np.zeros((*both.shape, both.shape[1]))
        P[:, range(S), range(S)] = np.concatenate([START_POSITION * noise.outputs[:N], START_SPEED * speed]) ** 2
        R = np.diag(noise.outputs**2)
        for k, measured in enumerate(self.measured[:, rows]):
            y, H, _ = self.model.outputs(np.ascontiguousarray(both[:, :S]), p)
            PH = P[:, :, :S] @ H.transpose(0, 2, 1)
            V = H @ PH[:, :S] + R
            L = np.linalg.solve(V, PH.transpose(0, 2, 1)).transpose(0, 2, 1)
            whiten, epsilon = np.linalg.inv(np.linalg.cholesky(V)), (measured - y)[..., None]
            logarithms = np.log(np.diagonal(whiten, axis1=1, axis2=2))
            yield np.asarray(L), np.asarray(whiten), float(np.sum((whiten @ epsilon) ** 2) - 2 * np.sum(logarithms))
            both, F, Q = self.transition(k, both + (L @ epsilon)[..., 0], p, longest, noise, rows)
            P = F @ (P - L @ PH.transpose(0, 2, 1)) @ F.transpose(0, 2, 1) + Q
            P = (P + P.transpose(0, 2, 1)) / 2

    def instrumented(self, p: FloatArray, gains: Gains, rows: slice) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Whitened ε and its derivatives: the torques of a law have no noise that would bias them."""
        return self.steps(p, gains, rows)

    def steps(self, p: FloatArray, gains: Gains, rows: slice = slice(None)) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Whitened ε (segments, outputs) and its derivatives (segments, outputs, P), sample by sample."""
        both, S = self._starts[rows], 2 * self.model.size
        Z = np.zeros((*both.shape, len(p)))
        for k, (L, whiten) in enumerate(zip(gains.correction[:, rows], gains.whitening[:, rows])):
            y, by_p = self.model.seen(np.ascontiguousarray(both[:, :S]), Z[:, :S], p)
            epsilon = self.measured[k, rows] - y
            yield (whiten @ epsilon[..., None])[..., 0], -(whiten @ by_p)
            both, Z = self.moved(k, both + (L @ epsilon[..., None])[..., 0], Z - L @ by_p, p, gains.step, rows)


def with_torques(robot: Robot, parts: Sequence[Recording], loop: ControlLoop, notes: list[str]) -> list[Recording]:
    """Recordings with the motor torques that the law commands on the measured motion where none are logged.

    Args:
        robot: The robot, with its prior values.
        parts: The recordings.
        loop: The controller.
        notes: Gets a sentence about it.
    """
    if all(x.tau is not None for x in parts):
        return list(parts)
    few = unknowns(robot, ("viscous",) * robot.n, "known", True, False, False)
    model = SimulationModel(robot, few)
    notes.append("tau is not logged: it is what the controller commands on the measured motion")
    with activity(f"following the controller of {robot.name}"):
        torques = [ControlledSimulation(model, x, loop=loop).along(few.priors)[0] for x in parts]
    return [x if x.tau is not None else replace(x, tau=tau) for x, tau in zip(parts, torques)]
