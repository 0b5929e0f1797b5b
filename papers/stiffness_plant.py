"""The arm of [VSANEA Table I] by Lagrange's equations: a model that shares no code with the recursions.

The numbers are those of the table, the poses products of 4×4 Denavit-Hartenberg matrices, energies and their
derivatives those of CasADi, the springs written out.  SciPy integrates it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from flexjoint.spatial import ca
from flexjoint.types import Expression, FloatArray

ALPHA, A = (math.pi / 2, 0.0, 0.0), (0.0, 0.3, 0.3)  # rad, m
MASS, COM_X = (9.0478, 6.7858, 5.0894), (0.0, -0.15, -0.15)  # kg, m
INERTIA = ((0.1299, 0.0185, 0.1299), (0.0139, 0.0578, 0.0578), (0.0104, 0.0434, 0.0434))  # kg m²
MOTOR_INERTIA, FRICTION, MOTOR_FRICTION = (3.20, 3.05, 1.98), 1e-5, 1e-4  # kg m², Nm s/rad
K, K_C, GRAVITY = 400.0, 2000.0, 9.81  # Nm/rad, Nm/rad³, m/s²
RELATIVE, ABSOLUTE = 1e-11, 1e-12  # tolerances of the integration


class State(NamedTuple):
    """Positions and velocities of the links (..., 3) and motors (..., 6), all first motors before the second ones."""

    q: FloatArray
    v: FloatArray
    theta: FloatArray
    theta_v: FloatArray

    @property
    def stiffness(self) -> FloatArray:
        """σ = Σ K + 3 K_c φ_k²  [VSANEA (25)]."""
        one, two = (x - self.q for x in np.split(self.theta, 2, axis=-1))
        return 2 * K + 3 * K_C * (one**2 + two**2)


def energies(q: Expression, v: Expression) -> tuple[Expression, Expression]:
    """Kinetic and potential energy of the links."""
    pose, kinetic, potential = ca.SX.eye(4), ca.SX(0), ca.SX(0)
    for i in range(3):
        pose = pose @ dh(q[i], ALPHA[i], A[i])
        centre, R = (pose @ ca.SX([COM_X[i], 0.0, 0.0, 1.0]))[:3], pose[:3, :3]
        velocity = ca.jtimes(centre, q, v)
        spin = R.T @ ca.reshape(ca.jtimes(ca.vec(R), q, v), 3, 3)  # S(ω) in the frame of the link
        omega = ca.vertcat(spin[2, 1], spin[0, 2], spin[1, 0])
        kinetic += (MASS[i] * ca.dot(velocity, velocity) + ca.dot(ca.SX(list(INERTIA[i])) * omega, omega)) / 2
        potential += MASS[i] * GRAVITY * centre[2]
    return kinetic, potential


def dh(theta: Expression, alpha: float, a: float) -> Expression:
    """Pose of a link in that before it."""
    c, s = ca.cos(theta), ca.sin(theta)
    ca_, sa = round(math.cos(alpha), 15), round(math.sin(alpha), 15)
    rows: list[list[Any]] = [[c, -s * ca_, s * sa, a * c], [s, c * ca_, -c * sa, a * s], [0, sa, ca_, 0], [0, 0, 0, 1]]
    return ca.vertcat(*(ca.horzcat(*row) for row in rows))


def equations() -> Any:
    """CasADi Function (x, τ) -> x' of the state in one column."""
    q, v, theta, theta_v, tau = (ca.SX.sym("x", k) for k in (3, 3, 6, 6, 6))
    T, V = energies(q, v)
    momentum = ca.gradient(T, v)
    rest = ca.jtimes(momentum, q, v) - ca.gradient(T, q) + ca.gradient(V, q) + FRICTION * v
    phi = theta - ca.vertcat(q, q)
    springs = K * phi + K_C * phi**3
    a = ca.solve(ca.jacobian(momentum, v), springs[:3] + springs[3:] - rest)  # [VSANEA (5a)]
    theta_a = (tau - springs - MOTOR_FRICTION * theta_v) / ca.SX([*MOTOR_INERTIA, *MOTOR_INERTIA])  # [VSANEA (5b, c)]
    x = ca.vertcat(q, v, theta, theta_v)
    return ca.Function("plant", [x, tau], [ca.vertcat(v, a, theta_v, theta_a)])


def simulated(start: State, torque: Callable[[float, State], FloatArray], times: FloatArray) -> State:
    """States at the times under motor torques of time and state; Dormand-Prince of order 8."""
    from scipy.integrate import solve_ivp

    plant = equations()

    def flow(t: float, x: FloatArray) -> FloatArray:
        return np.array(plant(x, torque(t, parts(x))))[:, 0]

    done = solve_ivp(flow, (times[0], times[-1]), np.concatenate(start), "DOP853", times, rtol=RELATIVE, atol=ABSOLUTE)
    return parts(done.y.T)


def parts(x: FloatArray) -> State:
    """A state from its numbers (..., 18)."""
    return State(*np.split(x, [3, 6, 12], axis=-1))
