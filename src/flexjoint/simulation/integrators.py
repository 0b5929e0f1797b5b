"""Integrators: one step of a plant in SX, of a fixed number of operations, so that a loop over time is one kernel.

Each takes the torque as a function of (stage, state), constant where control is held: `stage` is 0, 1 or 2, at the
beginning, the middle or the end of the step.

    runge_kutta   order 4, explicit [Hairer ch. II.1]; stable up to h = 2.8/ω; four accelerations per step
    euler         order 1, symplectic [HairerLubichWanner ch. I.1]; stable up to h = 2/ω; one acceleration per step
    midpoint      order 2, implicit, symplectic [HairerLubichWanner ch. II.1]; stable for every h, and keeps the energy
                  of undamped oscillations

Gears with hysteresis or backlash are not smooth: at each reversal of a deflection, and where a gap closes or opens, a
step errs by h² whatever its order, so that runs with them converge with order 2 at most (docs/gears.md).

The four stages of Runge-Kutta are straight code: as a loop they share nothing with the law, and take 1.8 times as long.
"""

from __future__ import annotations

from collections.abc import Callable

from ..compiler.ir.calls import traced_once
from ..compiler.ir.scan import scan
from ..types import Expression, Scalar
from .implicit_step import stiff_solver
from .plant import Plant, PlantState

ITERATIONS = 6  # of the implicit midpoint: each gains the digits of h |∂q''/∂q'| without the springs, two or more

Torque = Callable[[int, PlantState], Expression]
Integrator = Callable[[Plant, Scalar, PlantState, Torque, Scalar], PlantState]


def runge_kutta(plant: Plant, t: Scalar, state: PlantState, torque: Torque, h: Scalar) -> PlantState:
    """The classic method; positions in Nyström's form, which is the same method in fewer operations."""
    x, w = plant.coordinates(state)
    g = plant.gears(state)
    acceleration = traced_once(
        lambda t, x, w, g, *more: plant.acceleration(t, plant.state(x, w, g), *more),
        [
            *((1, 1), x.shape, w.shape, g.shape, (plant.robot.motor_count, 1)),
            *(moved.shape for moved in plant.surroundings(0)),
        ],
    )

    def f(stage: int, x: Expression, w: Expression, g: Expression) -> Expression:
        tau = torque(stage, plant.state(x, w, g))
        return acceleration(t + h * (stage / 2), x, w, g, tau, *plant.surroundings(stage))

    def slipping(w: Expression, g: Expression) -> Expression:
        return plant.gear_rates(g, w)

    k1, s1 = f(0, x, w, g), slipping(w, g)
    w2, g2 = w + h / 2 * k1, g + h / 2 * s1
    k2, s2 = f(1, x + h / 2 * w, w2, g2), slipping(w2, g2)
    w3, g3 = w + h / 2 * k2, g + h / 2 * s2
    k3, s3 = f(1, x + h / 2 * w + h * h / 4 * k1, w3, g3), slipping(w3, g3)
    w4, g4 = w + h * k3, g + h * s3
    k4, s4 = f(2, x + h * w + h * h / 2 * k2, w4, g4), slipping(w4, g4)
    return plant.state(
        x + h * w + h * h / 6 * (k1 + k2 + k3),
        w + h / 6 * (k1 + 2 * (k2 + k3) + k4),
        g + h / 6 * (s1 + 2 * (s2 + s3) + s4),
    )


def euler(plant: Plant, t: Scalar, state: PlantState, torque: Torque, h: Scalar) -> PlantState:
    """Velocities first, then positions and gears with the new velocities."""
    x, w = plant.coordinates(state)
    g = plant.gears(state)
    w = w + h * plant.acceleration(t, state, torque(0, state), *plant.surroundings(0))
    return plant.state(x + h * w, w, g + h * plant.gear_rates(g, w))


def midpoint(plant: Plant, t: Scalar, state: PlantState, torque: Torque, h: Scalar) -> PlantState:
    """w = w₀ + h/2 f(x₀ + h/2 w, w) at the middle, by Newton steps with what makes it stiff: springs and friction.

    Eliminating the motors leaves a matrix as small as M, factorized once per step; with hysteresis or backlash, whose
    slopes jump within a step, in each iteration.
    """
    x, start = plant.coordinates(state)
    g = plant.gears(state)
    constant = None if any(plant.robot.gear_losses) else stiff_solver(plant, state, h)

    def newton(now: tuple[Expression, Expression], _: tuple[()]) -> tuple[tuple[Expression, Expression], tuple[()]]:
        w, z = now
        middle = plant.state(x + h / 2 * w, w, z)
        f = plant.acceleration(t + h / 2, middle, torque(1, middle), *plant.surroundings(1))
        correct = constant or stiff_solver(plant, middle, h)
        w = w + correct(start + h / 2 * f - w)
        return (w, g + h / 2 * plant.gear_rates(z, w)), ()

    (w, middle), _ = scan(newton, (start, g), [()] * ITERATIONS)
    return plant.state(x + h * w, 2 * w - start, 2 * middle - g)


INTEGRATORS: dict[str, Integrator] = {"runge_kutta": runge_kutta, "euler": euler, "midpoint": midpoint}
