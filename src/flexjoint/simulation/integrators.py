"""Integrators: one step of a plant in SX, of a fixed number of operations, so that a loop over time is one kernel.

Each takes the torque as a function of (stage, state), constant where control is held: `stage` is 0, 1 or 2, at the
beginning, the middle or the end of the step.

    runge_kutta   order 4, explicit [Hairer ch. II.1]; stable up to h = 2.8/ω; four accelerations per step
    euler         order 1, symplectic [HairerLubichWanner ch. I.1]; stable up to h = 2/ω; one acceleration per step
    midpoint      order 2, implicit, symplectic [HairerLubichWanner ch. II.1]; stable for every h, and keeps the energy
                  of undamped oscillations

The four stages of Runge-Kutta are straight code: as a loop they share nothing with the law, and take 1.8 times as long.
"""

from __future__ import annotations

from collections.abc import Callable

from ..compiler.ir.calls import traced_once
from ..compiler.ir.scan import scan
from ..control.base import JointState
from ..types import Expression, Scalar
from .implicit_step import stiff_solver
from .plant import Plant

ITERATIONS = 6  # of the implicit midpoint: each gains the digits of h |∂q''/∂q'| without the springs, two or more

Torque = Callable[[int, JointState], Expression]
Integrator = Callable[[Plant, Scalar, JointState, Torque, Scalar], JointState]


def runge_kutta(plant: Plant, t: Scalar, state: JointState, torque: Torque, h: Scalar) -> JointState:
    """The classic method; positions in Nyström's form, which is the same method in fewer operations."""
    x, w = plant.coordinates(state)
    acceleration = traced_once(
        lambda t, x, w, *more: plant.acceleration(t, plant.state(x, w), *more),
        [(1, 1), x.shape, w.shape, (plant.robot.motor_count, 1), *(moved.shape for moved in plant.surroundings(0))],
    )

    def f(stage: int, x: Expression, w: Expression) -> Expression:
        return acceleration(t + h * (stage / 2), x, w, torque(stage, plant.state(x, w)), *plant.surroundings(stage))

    k1 = f(0, x, w)
    k2 = f(1, x + h / 2 * w, w + h / 2 * k1)
    k3 = f(1, x + h / 2 * w + h * h / 4 * k1, w + h / 2 * k2)
    k4 = f(2, x + h * w + h * h / 2 * k2, w + h * k3)
    return plant.state(x + h * w + h * h / 6 * (k1 + k2 + k3), w + h / 6 * (k1 + 2 * (k2 + k3) + k4))


def euler(plant: Plant, t: Scalar, state: JointState, torque: Torque, h: Scalar) -> JointState:
    """Velocities first, then positions with the new velocities."""
    x, w = plant.coordinates(state)
    w = w + h * plant.acceleration(t, state, torque(0, state), *plant.surroundings(0))
    return plant.state(x + h * w, w)


def midpoint(plant: Plant, t: Scalar, state: JointState, torque: Torque, h: Scalar) -> JointState:
    """w = w₀ + h/2 f(x₀ + h/2 w, w) at the middle, by Newton steps with what makes it stiff: springs and friction.

    Eliminating the motors leaves a matrix as small as M, factorized once per step.
    """
    x, start = plant.coordinates(state)
    correct = stiff_solver(plant, state, h)

    def newton(w: Expression, _: tuple[()]) -> tuple[Expression, tuple[()]]:
        middle = plant.state(x + h / 2 * w, w)
        f = plant.acceleration(t + h / 2, middle, torque(1, middle), *plant.surroundings(1))
        return w + correct(start + h / 2 * f - w), ()

    w, _ = scan(newton, start, [()] * ITERATIONS)
    return plant.state(x + h * w, 2 * w - start)


INTEGRATORS: dict[str, Integrator] = {"runge_kutta": runge_kutta, "euler": euler, "midpoint": midpoint}
