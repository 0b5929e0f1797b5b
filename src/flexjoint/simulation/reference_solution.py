"""Reference solutions: SciPy's adaptive methods on the compiled right-hand side, the law in continuous time.

DOP853 [Hairer ch. II.5] for robots without fast damping, Radau [HairerWanner ch. IV.8], with the compiled Jacobian, for
stiff ones.  What the fixed steps of `simulate` are measured against.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..algorithm.compile import kernel_of
from ..algorithm.derivatives import in_a_tuple
from ..checks import positive
from ..compiler.ir.program import Array
from ..compiler.runtime.kernel import Kernel
from ..control.base import Controller, JointState, innermost, rows
from ..errors import FlexjointError, InputError
from ..robot import Robot
from ..spatial import ca
from ..trajectory.base import Trajectory
from ..types import Expression, FloatArray, Scalar
from .arguments import check_motors, periods, refuse_mid_period
from .closed_loop import ClosedLoop
from .initial_state import initial_state, tied
from .instrumentation import perfect_sensors
from .moving_base import NUMBERS, MovingBase
from .plant import Contact, Plant, PlantState, check_torque_rates, gear_columns, plant_arrays
from .records import flatten, unflatten
from .reference import Reference
from .result import RunOutput, Simulation, finished, on_base

METHODS = ("DOP853", "Radau")


def reference_solution(
    robot: Robot,
    controller: Controller,
    reference: Trajectory | ArrayLike,
    duration: float | None = None,
    *,
    period: float = 1e-3,
    start: JointState | None = None,
    method: str = "DOP853",
    tolerance: float = 1e-12,
    contact: Contact | None = None,
    base: Trajectory | None = None,
) -> Simulation:
    """Reference solution of the closed loop in continuous time, by SciPy's adaptive integrators.

    Args:
        robot, controller, reference, duration, start, contact, base: As in `simulate`; the controller must have no
            state, since laws with a state are sampled.
        period: Between two samples of the result, in s; by default 1e-3.
        method: "DOP853", explicit, order 8; or "Radau", implicit, for robots with fast damping.
        tolerance: Relative and absolute tolerance of the integrator, by default 1e-12.

    Returns:
        A Simulation of one run.

    Raises:
        InputError: Arguments do not fit together.
        FlexjointError: The method gives up.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("kuka_lwr")
        >>> fj.simulation.reference_solution(robot, fj.control.MotorPD(robot, [1000.0, 50.0]), [0.1] * 7, 0.01).q.shape
        (11, 7)
    """
    if method not in METHODS:
        raise InputError(f"reference_solution: there is no method {method!r}; choose one of {', '.join(METHODS)}")
    positive("reference_solution", "period", period)
    positive("reference_solution", "tolerance", tolerance)
    from scipy.integrate import solve_ivp

    check_motors(robot, controller)
    refuse_mid_period("reference_solution", controller)
    check_torque_rates("reference_solution", robot, controller)
    followed = Reference.of(reference, robot, controller, base)
    carried = MovingBase.of(robot, base, ())
    loop = ClosedLoop(robot, controller, period, method, hold=False, contact=contact, carried=carried is not None)
    state, memory, _, begin, _ = initial_state(start, loop, controller, followed)
    if state.q.ndim != 1:
        raise InputError(f"reference_solution: start.q has shape {state.q.shape}; it takes one run, ({robot.n},)")
    refuse_memory(controller, memory, followed(np.array(begin * period)), perfect_sensors(robot, controller, state))
    t: FloatArray = np.multiply(period, begin + np.arange(periods(duration, followed.duration, period, begin) + 1))
    rate = flow(loop, jacobian=False)
    slope = flow(loop, jacobian=True) if method == "Radau" else None

    def arguments(t: float, x: FloatArray) -> tuple[FloatArray, ...]:
        now = np.array(min(t, end))
        moved = [carried.samples(now)] if carried else []
        return np.array(t), x, np.ascontiguousarray(followed(now)), controller.gains, *moved

    end, plant = t[-1], Plant(robot)
    moving = [state.q, state.theta[plant.behind], state.v, state.theta_v[plant.behind]]
    x = np.concatenate([*moving, *flatten(state[4:])])
    found = solve_ivp(
        lambda t, x: rate(*arguments(t, x)),
        (t[0], end),
        x,
        method,
        t,
        rtol=max(tolerance, 3e-14),
        atol=tolerance,
        **({} if slope is None else {"jac": lambda t, x: slope(*arguments(t, x))}),
    )
    if not found.success:
        raise FlexjointError(f"reference_solution: {method} gave up at t = {found.t[-1]:g} s: {found.message}")
    states = arrays_of(plant, found.y.T)
    stacks = followed(t)
    seen = perfect_sensors(robot, controller, states)
    tau = np.stack([controller(memory, stack, type(seen)(*now))[1] for stack, *now in zip(stacks, *seen)])
    gears = recorded_gears(robot)(*flatten(states)) if gear_columns(robot) else ()
    history = np.concatenate([*states.joints, tau, *gears], axis=-1)
    found = finished(loop, t, RunOutput(history, memory, (), begin + len(t) - 1, robot.n, stacks[:, 0]))
    return on_base(found, carried)


def arrays_of(plant: Plant, x: FloatArray) -> PlantState:
    """The states (m, ...) in the numbers (m, 2p + 2h) that are integrated: x, x', z and lost energies."""
    h, n, places = len(plant.robot.hysteretic), plant.robot.n, plant.places
    p = n + len(plant.behind)
    links, rates, gears = np.split(x, [p, 2 * p], axis=1)
    own = np.split(gears, [h], axis=1) if h else ()
    joints = tied(plant.robot, JointState(links[:, :n], rates[:, :n], links[:, places], rates[:, places]))
    return PlantState(*joints, *own)


@lru_cache(maxsize=64)
def recorded_gears(robot: Robot) -> Kernel:
    """What `Plant.recorded` gives of a state."""
    like, columns = plant_arrays(robot), gear_columns(robot)

    def function(*x: Expression) -> list[tuple[Array, Expression]]:
        found = Plant(robot).recorded(unflatten(like, x))
        return [(Array(name, (size,)), y) for (name, size), y in zip(columns.items(), found)]

    return kernel_of(f"gears of {robot.name}", flatten(like), function, type=in_a_tuple)


def refuse_memory(controller: Controller, memory: Any, stack: FloatArray, seen: Any) -> None:
    """A law that remembers, or one around another, which counts time."""
    if not len(memory):
        return
    values = [x + 1.0 for x in memory]
    other: Any = type(memory)(*values) if hasattr(memory, "_fields") else tuple(values)
    tau, moved = (controller(x, list(stack), seen)[1] for x in (memory, other))
    if innermost(controller) is not controller or np.any(tau != moved):
        owner = type(controller).__name__
        raise InputError(f"reference_solution: {owner} has a state that is updated once per period; use simulate")


def flow(loop: ClosedLoop, jacobian: bool) -> Kernel:
    """(t, x, reference, gains, samples of a moving base) -> x' or ∂x'/∂x; x as in `arrays_of`."""
    plant, controller = Plant(loop.robot, loop.contact), loop.controller
    p = loop.robot.n + len(plant.behind)
    size = 2 * p + 2 * len(loop.robot.hysteretic)
    inputs = [
        Array("t", (), "s"),
        Array("x", (size,)),
        Array("reference", (controller.rows, controller.width)),
        Array("gains", controller.gains.shape),
        *([Array("base", (NUMBERS,))] if loop.carried else []),
    ]

    def function(
        t: Scalar, x: Expression, reference: Expression, gains: Expression, *base: Expression
    ) -> list[tuple[Array, Expression]]:
        state = plant.state(x[:p], x[p : 2 * p], x[2 * p :])
        still = [ca.SX.zeros(size) for size in controller.memory_sizes]
        seen = plant.seen(controller, state)
        _, tau = controller.checked_law(rows(gains), still, rows(reference), seen)
        asked = [controller.checked_damper_command(seen)] if controller.commands_damping else []
        now = replace(plant, damping=asked[0]) if asked else plant
        slipping = plant.gear_rates(x[2 * p :], x[p : 2 * p])
        rate = ca.vertcat(x[p : 2 * p], now.acceleration(t, state, tau, *base, *asked), slipping)
        if not jacobian:
            return [(Array("rate", (size,)), rate)]
        return [(Array("jacobian", (size, size)), ca.jacobian(rate, x))]

    return kernel_of(f"flow of {loop.robot.name}", inputs, function, type=None, loops=not jacobian)
