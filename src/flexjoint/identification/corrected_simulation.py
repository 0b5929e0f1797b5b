"""Simulation of a recording under its motor torques, corrected by its encoders, with sensitivities of its residuals.

    x_k⁺ = x_k + L_k ε_k,   ε_k = y_k − h(x_k; p),   x_{k+1} = x_k⁺ integrated over one period under τ

Without corrections (L = 0) errors of the measured torque add up and the simulation drifts away within milliseconds.
With the gains L of the Kalman filter for the noise of torques and encoders, ε are the errors of predictions over one
period, nearly white.  The gains are found once, at given parameters, and then kept: so

    ∂ε_k = −h_x ∂x_k − ∂h,   ∂x_k⁺ = ∂x_k + L_k ∂ε_k,   (∂x)' = A ∂x + ∂f

are the exact derivatives of ε by the parameters.  The variational equations are integrated with the plant, by the same
method.  A recording is cut into segments that are simulated together, each from the measured state with a large
covariance.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..types import FloatArray
from .recordings import Recording
from .simulation_model import SimulationModel

STEP = 0.6  # of the fastest time constant: the longest step of the integration
MOST_SUBSTEPS = 50
SEGMENT = 200  # samples, about
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
    """Whitened residuals, and what Gauss-Newton needs of their derivatives.

    Args:
        epsilon: Whitened ε, (samples, segments, outputs).
        scores: ε·∂ε by the parameters, (samples, segments, P).
        normal: Σ ∂εᵀ∂ε, (P, P).
    """

    epsilon: FloatArray
    scores: FloatArray
    normal: FloatArray

    @property
    def cost(self) -> float:
        """½ Σ ε²."""
        return float(np.sum(self.epsilon**2)) / 2


class Piece(NamedTuple):
    """A part of a period in which the torque is linear in time.

    Args:
        duration: s.
        first, last: Torques at its ends, (segments, n), Nm or N.
        jump: What the torque falls by at its end, by which a longer delay lasts longer, (segments, n).
    """

    duration: float
    first: FloatArray
    last: FloatArray
    jump: FloatArray


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
        return self.recording.count // max(1, self.recording.count // SEGMENT)

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
        fastest = float(np.abs(np.linalg.eigvals(A)).max())
        return max(STEP / fastest, self.recording.period / MOST_SUBSTEPS) if fastest > 0 else self.recording.period

    def pieces(self, k: int, delay: float) -> Iterator[Piece]:
        """The torque from sample k to the next, as seen by positions that come `delay` s later."""
        assert self.recording.tau is not None
        tau, h = self.recording.tau, self.recording.period
        whole = math.floor(delay / h)
        part = delay / h - whole
        before, now, after = (tau[np.clip(self.starts + k - whole + j, 0, len(tau) - 1)] for j in (-1, 0, 1))
        if self.held:
            if part > 0:
                yield Piece(part * h, before, before, before - now)
            yield Piece((1 - part) * h, now, now, np.zeros_like(now))
        else:
            if part > 0:
                yield Piece(part * h, part * before + (1 - part) * now, now, np.zeros_like(now))
            yield Piece((1 - part) * h, now, part * now + (1 - part) * after, np.zeros_like(now))

    def advanced(
        self,
        x: FloatArray,
        Z: FloatArray,
        piece: Piece,
        p: FloatArray,
        longest: float,
        by_torques: bool,
        torques: FloatArray | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """State (rows, 2N) and its derivatives (rows, 2N, columns) at the end of a piece, by Runge-Kutta steps.

        The derivatives are by the parameters, on which the motor torques may depend by `torques` (rows, n, P); with
        `by_torques` by the first state, the motor torques and torques on the links.
        """
        N, model = self.model.size, self.model
        count = max(1, math.ceil(piece.duration / longest))
        h = piece.duration / count
        rate = (piece.last - piece.first) / piece.duration if piece.duration > 0 else 0.0 * piece.first
        place = model.unknowns.at(-1, "delay")

        def flow(t: float, x: FloatArray, Z: FloatArray) -> tuple[FloatArray, FloatArray]:
            slopes = model.slopes(x, piece.first + t * rate, p)
            dZ = np.empty_like(Z)
            dZ[:, :N] = Z[:, N:]
            np.matmul(slopes.by_state, Z, out=dZ[:, N:])
            if by_torques:
                dZ[:, N:, 2 * N :] += slopes.by_torques
            else:
                dZ[:, N:] += slopes.by_parameters
                if torques is not None:
                    dZ[:, N:] += slopes.by_torques[:, :, : model.robot.n] @ torques
                if place is not None and np.any(rate):
                    dZ[:, N:, place] -= (slopes.by_torques[:, :, : model.robot.n] @ rate[..., None])[..., 0]
            return np.concatenate([x[:, N:], slopes.a], axis=1), dZ

        for j in range(count):
            t = j * h
            a, A = flow(t, x, Z)
            b, B = flow(t + h / 2, x + h / 2 * a, Z + h / 2 * A)
            c, C = flow(t + h / 2, x + h / 2 * b, Z + h / 2 * B)
            d, D = flow(t + h, x + h * c, Z + h * C)
            x, Z = x + h / 6 * (a + 2 * b + 2 * c + d), Z + h / 6 * (A + 2 * B + 2 * C + D)
        if not by_torques and place is not None and np.any(piece.jump):
            by_tau = model.slopes(x, piece.last, p).by_torques[:, :, : model.robot.n]
            Z[:, N:, place] += (by_tau @ piece.jump[..., None])[..., 0]
        return x, Z

    def delay_at(self, p: FloatArray) -> float:
        """The delay, estimated or given."""
        k = self.model.unknowns.at(-1, "delay")
        return self.delay if k is None else float(p[k])

    # Filter ---------------------------------------------------------------------------------------------------------

    def gains(self, p: FloatArray, noise: Noise) -> Gains:
        """Those of the extended Kalman filter at these parameters."""
        N, n, rows = self.model.size, self.model.robot.n, len(self.starts)
        x = np.ascontiguousarray(self.motion[self.starts])
        speed = np.sqrt(np.mean(self.motion[:, N:] ** 2, axis=0)) + 1e-3
        P = np.broadcast_to(
            np.diag(np.concatenate([START_POSITION * noise.outputs[:N], START_SPEED * speed]) ** 2),
            (rows, 2 * N, 2 * N),
        )
        R, Q = np.diag(noise.outputs**2), noise.torques**2
        longest, delay = self.longest_step(p), self.delay_at(p)
        corrections, whitenings = [], []
        for k in range(self.length):
            y, H, _ = self.model.outputs(x, p)
            S = H @ P @ H.transpose(0, 2, 1) + R
            PH = P @ H.transpose(0, 2, 1)
            L = np.linalg.solve(S, PH.transpose(0, 2, 1)).transpose(0, 2, 1)
            corrections.append(L)
            whitenings.append(np.linalg.inv(np.linalg.cholesky(S)))
            x = x + (L @ (self.measured[k] - y)[..., None])[..., 0]
            P = P - L @ PH.transpose(0, 2, 1)
            Z = np.zeros((rows, 2 * N, 2 * N + 2 * n))
            Z[:, :, : 2 * N] = np.eye(2 * N)
            for piece in self.pieces(k, delay):
                x, Z = self.advanced(x, Z, piece, p, longest, True)
            F, G = Z[:, :, : 2 * N], Z[:, :, 2 * N :]
            P = F @ P @ F.transpose(0, 2, 1) + (G * Q) @ G.transpose(0, 2, 1)
            P = (P + P.transpose(0, 2, 1)) / 2
        return Gains(np.stack(corrections), np.stack(whitenings), longest)

    def residuals(self, p: FloatArray, gains: Gains) -> Residuals:
        """Whitened residuals at these parameters, with derivatives."""
        epsilons, scores = [], []
        normal = np.zeros((len(p), len(p)))
        for epsilon, slopes in self.steps(p, gains):
            epsilons.append(epsilon)
            scores.append(np.einsum("so,sop->sp", epsilon, slopes))
            flat = slopes.reshape(-1, len(p))
            normal += flat.T @ flat
        return Residuals(np.stack(epsilons), np.stack(scores), normal)

    def steps(self, p: FloatArray, gains: Gains) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Whitened ε (segments, outputs) and its derivatives (segments, outputs, P), sample by sample."""
        x = np.ascontiguousarray(self.motion[self.starts])
        Z = np.zeros((*x.shape, len(p)))
        delay = self.delay_at(p)
        for k, (L, whiten) in enumerate(zip(gains.correction, gains.whitening)):
            y, H, by_p = self.model.outputs(x, p)
            epsilon, slopes = self.measured[k] - y, -(H @ Z + by_p)
            yield (whiten @ epsilon[..., None])[..., 0], whiten @ slopes
            x, Z = x + (L @ epsilon[..., None])[..., 0], Z + L @ slopes
            for piece in self.pieces(k, delay):
                x, Z = self.advanced(x, Z, piece, p, gains.step, False)
