"""One step of a plant, in SX: fixed steps of a fixed number of operations, so that a loop over time is one kernel.

Each takes the torque as a function of (stage, state), constant where control is held: `stage` is 0, 1 or 2, at the
beginning, the middle or the end of the step.

    runge_kutta   order 4, explicit [Hairer ch. II.1]; stable up to h = 2.8/ω; four accelerations a step
    euler         order 1, symplectic [HairerLubichWanner ch. I.1]; stable up to h = 2/ω; one acceleration a step
    midpoint      order 2, implicit, symplectic [HairerLubichWanner ch. II.1]; stable for every h, and without damping
                  the energy of an oscillation stays

The four stages of Runge-Kutta are straight code: as a loop they share nothing with the law, and take 1.8 times as long.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..algorithms.friction import friction, motors
from ..algorithms.mass_matrix import check_inertia, factorize, link_mass_matrix, solve
from ..compiler.scan import scan
from ..control.base import JointState
from ..drives import ElasticDrive, RigidDrive
from ..spatial import ca, sx
from .plant import Plant

ITERATIONS = 6  # of the implicit midpoint: each gains the digits of h |∂q''/∂q'| without the springs, two or more

Torque = Callable[[int, JointState], Any]
Integrator = Callable[[Plant, Any, JointState, Torque, Any], JointState]


def runge_kutta(plant: Plant, t: Any, state: JointState, torque: Torque, h: Any) -> JointState:
    """The classic method; positions in Nyström's form, which is the same method in fewer operations."""

    def f(stage: int, x: Any, w: Any) -> Any:
        now = plant.state(x, w)
        return plant.acceleration(t + h * (stage / 2), now, torque(stage, now))

    x, w = plant.coordinates(state)
    k1 = f(0, x, w)
    k2 = f(1, x + h / 2 * w, w + h / 2 * k1)
    k3 = f(1, x + h / 2 * w + h * h / 4 * k1, w + h / 2 * k2)
    k4 = f(2, x + h * w + h * h / 2 * k2, w + h * k3)
    return plant.state(x + h * w + h * h / 6 * (k1 + k2 + k3), w + h / 6 * (k1 + 2 * (k2 + k3) + k4))


def euler(plant: Plant, t: Any, state: JointState, torque: Torque, h: Any) -> JointState:
    """Velocities first, then positions with the new velocities."""
    x, w = plant.coordinates(state)
    w = w + h * plant.acceleration(t, state, torque(0, state))
    return plant.state(x + h * w, w)


def midpoint(plant: Plant, t: Any, state: JointState, torque: Torque, h: Any) -> JointState:
    """w = w₀ + h/2 f(x₀ + h/2 w, w) at the middle, by Newton steps with what makes it stiff: springs and friction.

    Eliminating the motors leaves a matrix with the zeros of M, factorized once a step.
    """
    x, start = plant.coordinates(state)
    correct = stiff_solver(plant, state, h)

    def newton(w: Any, _: Any) -> tuple[Any, Any]:
        middle = plant.state(x + h / 2 * w, w)
        f = plant.acceleration(t + h / 2, middle, torque(1, middle))
        return w + correct(start + h / 2 * f - w), ()

    w, _ = scan(newton, start, [()] * ITERATIONS)
    return plant.state(x + h * w, 2 * w - start)


INTEGRATORS: dict[str, Integrator] = {"runge_kutta": runge_kutta, "euler": euler, "midpoint": midpoint}


def stiff_solver(plant: Plant, state: JointState, h: Any) -> Callable[[Any], Any]:
    """r -> (1 − h/2 ∂f/∂w − h²/4 ∂f/∂x)⁻¹ r with the derivatives of springs and friction alone.

    In terms of forces: [[M + κ + d, −κ], [−κ, B + κ + d_m]] Δ = [[M, 0], [0, B]] r, κ = (h/2) (D + (h/2) K).
    """
    robot, half = plant.robot, h / 2
    elastic = np.flatnonzero(robot.elastic).tolist()
    kappa, slope_m, B = sx(np.zeros(robot.n)), friction_slopes(motors(robot, ElasticDrive), state.theta_v), {}
    phi = state.theta - state.q
    for i in elastic:
        drive = robot.joints[i].drive
        assert isinstance(drive, ElasticDrive)
        kappa[i] = half * (drive.damping + half * drive.spring.gradients(phi[i])[0])
        B[i] = drive.motor.inertia
    slope = friction_slopes(robot.joints, state.v) + friction_slopes(motors(robot, RigidDrive), state.v)
    M, parents = link_mass_matrix(robot, state.q)
    check_inertia(robot, [M[i][i] for i in range(robot.n)])
    share = {i: kappa[i] / (B[i] + kappa[i] + half * slope_m[i]) for i in elastic}
    stiff = [dict(row) for row in M]
    for i in range(robot.n):
        stiff[i][i] = M[i][i] + half * slope[i] + (kappa[i] * (1 - share[i]) if i in share else 0)
    factors = factorize(stiff, parents)

    def solved(r: Any) -> Any:
        force = times(M, r, robot.n)
        behind = {i: B[i] * r[robot.n + k] for k, i in enumerate(elastic)}
        force = ca.vertcat(*[force[i] + (share[i] * behind[i] if i in share else 0) for i in range(robot.n)])
        links = solve(factors, parents, force)
        motor = [share[i] * (links[i] + behind[i] / kappa[i]) for i in elastic]
        return ca.vertcat(links, *motor)

    return solved


def friction_slopes(items: Any, rates: Any) -> Any:
    """∂/∂v of D v + F_c tanh(v/v_c) of each joint or motor."""
    v = ca.SX.sym("v", rates.numel())
    return ca.substitute(ca.jtimes(friction(items, [v], 0)[0], v, ca.SX.ones(v.shape)), v, rates)


def times(M: list[dict[int, Any]], x: Any, n: int) -> list[Any]:
    """M x of a symmetric matrix by its lower rows."""
    y = [sx(0.0)] * n
    for i, row in enumerate(M):
        for j, value in row.items():
            y[i] = y[i] + value * x[j]
            if j != i:
                y[j] = y[j] + value * x[i]
    return y
