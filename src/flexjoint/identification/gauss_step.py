"""One implicit step of the equations of motion y'' = a(y, y'), with exact derivatives of its result.

Gauss collocation with two stages [HairerWanner IV.5]: order 4, and stable for every step length, so modes that are far
faster than the samples (a light link behind a stiff spring) need no shorter steps.  The accelerations k_i of the stages
are the unknowns,

    k_i = a(y + c_i h y' + h² Σ (α²)_ij k_j,  y' + h Σ α_ij k_j),

found by Newton's method; their derivatives come from the same matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..types import FloatArray

ROOT = np.sqrt(3.0)
NODES = np.array([0.5 - ROOT / 6, 0.5 + ROOT / 6])  # c
WEIGHTS = np.array([[0.25, 0.25 - ROOT / 6], [0.25 + ROOT / 6, 0.25]])  # α
SQUARED = WEIGHTS @ WEIGHTS
END = np.array([0.25 + ROOT / 12, 0.25 - ROOT / 12])  # of the position, (½, ½) α
MOST_ITERATIONS = 8
CONVERGED = 1e-5  # error of the accelerations before the last Newton step, relative; after it, it is far smaller


class Stages(NamedTuple):
    """Accelerations of both stages and their derivatives, each (2, rows, N, ...).

    Args:
        a: Accelerations, (2, rows, N).
        by_state: By positions and velocities, (2, rows, N, 2N).
        by_inputs: By whatever else the step is differentiated by, (2, rows, N, inputs).
    """

    a: FloatArray
    by_state: FloatArray
    by_inputs: FloatArray


class GaussStep(NamedTuple):
    """A step: the accelerations of its stages, and what its derivatives need.

    Args:
        x: Positions and velocities before, (rows, 2N).
        h: Length, s.
        k: Accelerations of the stages, (2, rows, N).
        stages: Derivatives of the accelerations there.
        newton: I − ∂a/∂k, (rows, 2N, 2N).
    """

    x: FloatArray
    h: float
    k: FloatArray
    stages: Stages
    newton: FloatArray

    @property
    def after(self) -> FloatArray:
        """Positions and velocities after the step, (rows, 2N)."""
        h, k, N = self.h, self.k, self.k.shape[2]
        y, w = self.x[:, :N], self.x[:, N:]
        return np.concatenate([y + h * w + h * h * (END[0] * k[0] + END[1] * k[1]), w + h / 2 * (k[0] + k[1])], axis=1)

    def slopes(self) -> tuple[FloatArray, FloatArray]:
        """Derivatives of `after` by the state before, (rows, 2N, 2N), and by the inputs, (rows, 2N, inputs)."""
        h, N = self.h, self.k.shape[2]
        P, Q = self.stages.by_state[..., :N], self.stages.by_state[..., N:]
        columns = np.concatenate([P, Q, self.stages.by_inputs], axis=-1)
        for i in range(2):
            columns[i, :, :, N : 2 * N] += h * NODES[i] * P[i]
        solved = np.linalg.inv(self.newton) @ flat(columns)  # three times as fast as solve, with so many columns
        first, last = solved[:, :N], solved[:, N:]
        change = np.empty_like(solved)
        change[:, :N] = h * h * END[0] * first + h * h * END[1] * last
        change[:, N:] = h / 2 * (first + last)
        by_state, diagonal = change[..., : 2 * N], np.arange(N)
        by_state[:, diagonal, diagonal] += 1.0
        by_state[:, diagonal, N + diagonal] += h
        by_state[:, N + diagonal, N + diagonal] += 1.0
        return by_state, change[..., 2 * N :]


def gauss_step(flow: Callable[[FloatArray], Stages], x: FloatArray, k: FloatArray, h: float) -> GaussStep:
    """A step of h seconds.

    Args:
        flow: States of both stages (2, rows, 2N) -> Stages.
        x: Positions and velocities, (rows, 2N).
        k: First guess of the accelerations of the stages, (2, rows, N).
        h: Length of the step, s.
    """
    N = x.shape[1] // 2
    y, w = x[:, :N], x[:, N:]
    at = np.empty((2, *x.shape))
    for _ in range(MOST_ITERATIONS):
        for i in range(2):
            at[i, :, :N] = y + h * NODES[i] * w + h * h * (SQUARED[i, 0] * k[0] + SQUARED[i, 1] * k[1])
            at[i, :, N:] = w + h * (WEIGHTS[i, 0] * k[0] + WEIGHTS[i, 1] * k[1])
        found = flow(at)
        error, newton = found.a - k, newton_matrix(found.by_state, h)
        move = np.linalg.solve(newton, flat(error[..., None]))[..., 0]
        k = k + np.stack([move[:, :N], move[:, N:]])
        if not np.abs(error).max(initial=0.0) > CONVERGED * np.abs(k).max(initial=1e-9):
            break
    return GaussStep(x, h, k, found, newton)


def newton_matrix(by_state: FloatArray, h: float) -> FloatArray:
    """I − ∂a/∂k of both stages, (rows, 2N, 2N)."""
    N = by_state.shape[2]
    P, Q = by_state[..., :N], by_state[..., N:]
    S = np.empty((by_state.shape[1], 2 * N, 2 * N))
    for i in range(2):
        for j in range(2):
            S[:, i * N : i * N + N, j * N : j * N + N] = -h * WEIGHTS[i, j] * Q[i] - h * h * SQUARED[i, j] * P[i]
    diagonal = np.arange(2 * N)
    S[:, diagonal, diagonal] += 1.0
    return S


def flat(x: FloatArray) -> FloatArray:
    """Stages (2, rows, N, columns) under each other, (rows, 2N, columns)."""
    return np.concatenate([x[0], x[1]], axis=1)
