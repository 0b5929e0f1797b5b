"""The robot near a state as a linear system: x' = A x + B τ, with its modes and damping."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..algorithms.elastic_forward import elastic_forward_dynamics
from ..algorithms.newton_euler import gravity_torque
from ..api import compile
from ..control.base import JointState
from ..control.sampling import configuration, deflection_at_rest
from ..errors import InputError
from ..robot import Robot


class LinearModel(NamedTuple):
    """x' = A x + B τ, y = C x + D τ for small deviations: x = (q, θ behind springs, q', θ' behind springs), y = q.

    `states` names x and `inputs` τ.  (A, B, C, D) are what python-control's `ss` and SciPy's `StateSpace` take.
    """

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]

    @property
    def poles(self) -> np.ndarray:
        """Eigenvalues of A, rad/s, slow ones first."""
        values = np.linalg.eigvals(self.A)
        return values[np.argsort(np.abs(values), kind="stable")]

    @property
    def frequencies(self) -> np.ndarray:
        """|s| of the poles, rad/s."""
        return np.abs(self.poles)

    @property
    def damping(self) -> np.ndarray:
        """−Re s/|s| of the poles: 1 without oscillation, 0 undamped, negative if unstable; of a pole at 0, 0."""
        size = self.frequencies
        return np.where(size > 0, -self.poles.real / np.where(size > 0, size, 1.0), 0.0)

    def response(self, omega: Any) -> np.ndarray:
        """Transfer functions C (iω − A)⁻¹ B + D at frequencies (...,) in rad/s: (..., outputs, inputs)."""
        s = 1j * np.asarray(omega, dtype=float)[..., None, None]
        return self.C @ np.linalg.solve(s * np.eye(len(self.A)) - self.A, self.B + 0j) + self.D


def linearize(robot: Robot, state: Any, tau: Any = None) -> LinearModel:
    """The robot near a state: a configuration (n,) at rest with the springs carrying the links, or a JointState.

    `tau` is the motor torque there; by default that which gravity asks for.
    """
    if isinstance(state, JointState):
        at = [configuration(robot, x) for x in (state.q, state.theta, state.v, state.theta_v)]
    elif isinstance(state, tuple):
        raise InputError("linearize: state must be a configuration (n,) or a JointState")
    else:
        q = configuration(robot, state)
        at = [q, q + deflection_at_rest(robot, q), np.zeros(robot.n), np.zeros(robot.n)]
    torque = gravity_torque(robot, at[0]) if tau is None else configuration(robot, tau)
    names = ("q", "theta", "v", "theta_v")
    pairs = [(of, by) for of in ("a", "theta_a") for by in (*names, "tau")]
    found = compile(elastic_forward_dynamics, robot, derivatives=pairs)(*at, torque)
    J = dict(zip(pairs, found))
    n, elastic = robot.n, np.flatnonzero(robot.elastic)
    p = n + len(elastic)
    A, B, C = np.zeros((2 * p, 2 * p)), np.zeros((2 * p, n)), np.eye(n, 2 * p)
    A[:p, p:] = np.eye(p)
    for rows, of in ((slice(p, p + n), "a"), (slice(p + n, 2 * p), "theta_a")):
        own = slice(None) if of == "a" else elastic
        A[rows] = np.hstack([J[of, by][own][:, elastic if "theta" in by else slice(None)] for by in names])
        B[rows] = J[of, "tau"][own]
    joints = [joint.name for joint in robot.joints]
    labels = [
        f"{name}.{joint}"
        for name in names
        for joint, springy in zip(joints, robot.elastic)
        if springy or "theta" not in name
    ]
    return LinearModel(A, B, C, np.zeros((n, n)), tuple(labels), tuple(joints))
