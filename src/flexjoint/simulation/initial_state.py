"""Where a run begins: at rest on its reference, at a given state, or where another run ended."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from ..algorithm.algorithm import parameter_array
from ..algorithm.compile import kernel_of
from ..checks import real
from ..compiler.ir.program import Array
from ..compiler.runtime.kernel import Kernel
from ..control.base import Controller, JointState
from ..dynamics.drivetrain.coupling import matrices
from ..errors import NOT_NUMBERS, InputError, shown
from ..numerics.linear import product
from ..robot import Robot
from ..robot.parameters import select_all, with_symbols
from ..types import Expression, FloatArray
from .closed_loop import ClosedLoop
from .equilibrium import resting
from .plant import GEAR_UNITS, Plant, PlantState, plant_arrays
from .records import flatten, unflatten
from .reference import Reference
from .result import Simulation


class InitialState(NamedTuple):
    """The state of the robot, those of controller and instruments, and how many periods are over.

    `torque` is that of the motors before instruments that begin anew; None for instruments that go on.
    """

    state: PlantState
    memory: Any  # of the controller: arrays, or anything if it is a Python function
    instruments: Sequence[FloatArray]
    begin: int
    torque: Any = None

    def with_parameters(self, loop: ClosedLoop, free: Sequence[FloatArray]) -> InitialState:
        """With rigid motors where their links put them, and instruments that see the robot as it is, with these values
        of `loop.free`."""
        if not loop.free:
            return self
        state = self.state
        if any(path.startswith("transmissions.") for x in select_all(loop.robot, loop.free) for path in x.elements):
            theta, theta_v = tied_motors(loop.robot, loop.free)(*flatten(state), *free)
            state = contiguous(state._replace(theta=theta, theta_v=theta_v))
        if self.torque is None:
            return self._replace(state=state)
        instruments = loop.instrumentation.start(loop.robot, state, self.torque, dict(zip(loop.free, free)))
        return self._replace(state=state, instruments=flatten(instruments))


def initial_state(start: Any, loop: ClosedLoop, controller: Any, reference: Reference) -> InitialState:
    """Where an earlier simulation ended, at a given state, or at rest on the reference if `start` is None."""
    if isinstance(start, Simulation):
        return continued(start, loop, controller)
    remembers = bool(controller.memory_sizes) if isinstance(controller, Controller) else hasattr(controller, "start")
    stack: Any = reference(np.zeros(())) if remembers or start is None else ()
    memory = controller.start(stack) if remembers else ()
    if start is None:
        begins: Any = resting(loop.robot, controller, reference.goal(np.zeros(())))
    else:
        begins = given_state(start, loop.robot)
    state = with_gears(loop.robot, begins)
    return InitialState(contiguous(state), memory, flatten(loop.instrumentation.start(loop.robot, state)), 0, 0.0)


def continued(start: Simulation, loop: ClosedLoop, controller: Any) -> InitialState:
    """Where an earlier simulation ended."""
    robot = loop.robot
    if (start.robot.n, start.robot.motor_count, start.period) != (robot.n, robot.motor_count, loop.period):
        raise InputError(
            "simulate: start is a simulation with another number of joints or motors, or another period; give a "
            "JointState"
        )
    if np.any(start.diverged):
        raise InputError("simulate: start is a simulation that diverged and cannot be continued; give a JointState")
    if isinstance(controller, Controller) and widths(start.memory) != [*controller.memory_sizes]:
        raise InputError(
            f"simulate: start is a simulation under another controller, {start.provenance.get('controller')}, whose "
            f"memory does not suit {type(controller).__name__}; start from its last state, start=run.last"
        )
    if start.robot.hysteretic != robot.hysteretic:
        raise InputError(
            "simulate: start is a simulation of a robot with hysteresis in other gears; start from its last state "
            "without hysteresis, start=JointState(*run.last[:4])"
        )
    last = with_gears(robot, start.last)
    instruments, torque = start.instruments, None
    if widths(instruments) != flatten(loop.instrumentation.sizes(robot)):
        torque = start.tau[..., -1, :]
        instruments = flatten(loop.instrumentation.start(robot, last, torque))
    # A controller in Python may write into its memory: that of the earlier run stays as it is.
    return InitialState(contiguous(last), deepcopy(start.memory), instruments, int(np.max(start.periods)), torque)


def widths(arrays: Any) -> list[int] | None:
    """How many numbers each of several arrays (..., size) has; None for anything else."""
    try:
        return [np.shape(x)[-1] for x in arrays]
    except (TypeError, IndexError):
        return None


def contiguous(state: PlantState) -> PlantState:
    """Copies of the arrays."""
    return unflatten(state, [np.array(x, dtype=float, order="C") for x in flatten(state)])


def with_gears(robot: Robot, state: JointState | PlantState) -> PlantState:
    """The state with that of the hysteresis of gears: given, else without torque; a robot without has none."""
    joints = PlantState(*state[:4])
    if not robot.hysteretic:
        return joints
    still: Any = np.zeros(len(robot.hysteretic))
    given = [getattr(state, name, None) for name in GEAR_UNITS]
    return joints._replace(**{name: still if x is None else x for name, x in zip(GEAR_UNITS, given)})


def given_state(start: Any, robot: Robot) -> JointState | PlantState:
    """The argument `start`, checked; the motors of rigid joints are at their links."""
    gears = isinstance(start, PlantState)
    try:
        state = JointState(*(np.asarray(x, dtype=float) for x in (start[:4] if gears else start)))
    except NOT_NUMBERS:
        raise InputError(
            "simulate: start must be a JointState (q, v, theta, theta_v), a PlantState, which has the z of hysteresis "
            "too, or a Simulation"
        ) from None
    for name, x in zip(JointState._fields, state):
        size = robot.n if name in ("q", "v") else robot.motor_count
        if x.shape[-1:] != (size,) or not np.isfinite(x).all():
            raise InputError(f"simulate: start.{name} has shape {x.shape}; it must be (..., {size}) finite numbers")
    joints = tied(robot, state)
    return PlantState(*joints, *map(partial(given_gears, robot), GEAR_UNITS, start[4:])) if gears else joints


def given_gears(robot: Robot, name: str, given: Any) -> FloatArray | None:
    """The field z or dissipated of a `start`, checked."""
    if given is None:
        return None
    h = len(robot.hysteretic)
    if not h:
        raise InputError(
            f"simulate: start.{name} is {shown(given)}, but no gear of '{robot.name}' has hysteresis; give start.joints"
        )
    try:
        x = real(given)
    except NOT_NUMBERS:
        x = np.array(math.nan)
    wanted = "numbers from -1 to 1" if name == "z" else "energies, 0 or more"
    if x.shape[-1:] != (h,) or not np.all((x <= 1) & (x >= -1) if name == "z" else (x >= 0) & (x < np.inf)):
        raise InputError(f"simulate: start.{name} is {shown(given)}; give {wanted}, one per hysteresis: (..., {h})")
    return x


def tied(robot: Robot, state: JointState) -> JointState:
    """The state with motors of rigid joints at their links, θ = q, or T q in a group."""
    joints = list(robot.motor_joints)
    elastic = np.array(robot.compliant)[joints]
    links = [undeflected_motors(robot, x)[..., joints] for x in (state.q, state.v)]
    theta, theta_v = (np.where(elastic, *x) for x in zip((state.theta, state.theta_v), links))
    return JointState(state.q, state.v, theta, theta_v)


def undeflected_motors(robot: Robot, q: FloatArray) -> FloatArray:
    """T q of positions or velocities (..., n)."""
    if not robot.transmissions:
        return q
    return product(matrices(robot).matrix, q.reshape(-1, robot.n).T).T.reshape(q.shape)


@lru_cache(maxsize=64)
def tied_motors(robot: Robot, free: tuple[str, ...]) -> Kernel:
    """θ and θ' of all motors, rigid ones at their links, from a state and values of `free` parameters."""
    selected, like = select_all(robot, free), plant_arrays(robot)
    count = len(flatten(like))

    def function(*x: Expression) -> list[tuple[Array, Expression]]:
        numbers = {path: y[e] for p, y in zip(selected, x[count:]) for e, path in enumerate(p.elements)}
        plant = Plant(with_symbols(robot, numbers))
        tied = plant.state(*plant.coordinates(unflatten(like, x[:count])))
        return [(Array(name, (robot.motor_count,)), getattr(tied, name)) for name in ("theta", "theta_v")]

    return kernel_of(f"motors of {robot.name}", [*flatten(like), *map(parameter_array, selected)], function)
