"""Simulation of a robot under control.

Controllers of flexjoint are compiled with the robot into one kernel (`loop.py`); any Python function works as one too.
Results do not depend on how a run is cut into blocks, nor on what else is in a batch, nor on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..control.base import Controller, JointState
from ..control.gains import positive
from ..control.open_loop import OpenLoop
from ..errors import InputError
from ..robot import Robot
from ..trajectory.base import finite, whole
from .integrators import INTEGRATORS
from .loop import BLOCK, Setup, loop_kernel
from .plant import Contact
from .reference import Reference
from .rest import resting
from .result import Simulation, finished
from .stability import check_stability

CHUNK = 200 * BLOCK  # periods whose reference is sampled at once


def simulate(
    robot: Robot,
    controller: Any,
    reference: Any,
    duration: float | None = None,
    *,
    period: float | None = None,
    start: JointState | Simulation | None = None,
    integrator: str = "runge_kutta",
    substeps: int = 1,
    hold: bool = True,
    contact: Contact | None = None,
    gains: Any = None,
    free: Mapping[str, Any] | None = None,
    check: bool = True,
    threads: int = 1,
) -> Simulation:
    """A robot under a controller that follows a reference, for `duration` seconds.

    `reference` is a Trajectory, a goal (n,), or a stack [q_d, q_d', ...] (order + 1, n) that does not change; for
    `OpenLoop` the torque, one number a motor.  `controller` is one of flexjoint's, compiled with the robot into one
    kernel, or any callable (state, reference, measurement) -> (state, torque), at the speed of Python.  Every `period`
    its torque is computed and held for `substeps` steps of the `integrator`: "runge_kutta", "euler" or "midpoint".

    The run begins at rest on the reference, at the state `start`, or where an earlier Simulation ended.  `contact`
    gives wrenches (6,) on links by name, from SX (t, state).  `free` gives values to parameters of the robot by path or
    pattern.  Arrays in `start`, `gains` (..., rows, n) and `free` may have leading dimensions: a batch, a run a row.

    Before the run the step and the period are compared with what is stable (see `check_stability`); `check=False`
    simulates all the same.
    """
    if not isinstance(robot, Robot):
        raise InputError(f"simulate: robot must be a Robot, not {type(robot).__name__}")
    compiled = isinstance(controller, Controller)
    law = controller if compiled else OpenLoop(robot)
    setup = Setup(
        robot,
        law,
        checked_period(controller, period),
        checked_integrator(integrator, hold, substeps, compiled),
        whole("simulate", "substeps", substeps, least=1),
        hold,
        contact,
        tuple(free or ()),
    )
    check_motors(robot, law)
    own = (controller.order, controller.width) if compiled else (getattr(controller, "order", 2), robot.n)
    wanted = Reference.of(reference, *own)
    state, memory, begin = beginning(start, robot, controller, wanted, setup.period)
    steps = periods(duration, wanted.duration, setup.period, begin)
    weights = np.array(law.gains if gains is None else gains, dtype=float)
    numbers = [finite("simulate", "gains", weights)]
    numbers += [finite("simulate", f"free[{path!r}]", x) for path, x in (free or {}).items()]
    if check:
        check_stability(setup, state, wanted(np.array(begin * setup.period)), weights)
    t = setup.period * (begin + np.arange(steps + 1))
    state = JointState(*(np.array(x, dtype=float, order="C") for x in state))
    run = compiled_run if compiled else python_run
    histories, memory, done, joint, goals = run(setup, controller, wanted, state, memory, t, numbers, threads)
    return finished(setup, histories, memory, done, joint, goals, begin, controller)


def compiled_run(
    setup: Setup,
    controller: Any,
    wanted: Reference,
    state: JointState,
    memory: Any,
    t: np.ndarray,
    numbers: list[Any],
    threads: int,
) -> tuple[np.ndarray, Any, Any, Any, np.ndarray]:
    """Block after block, until the end or until no row runs any more.

    Returns histories (..., m, row), the memory, how many periods went well, the joint that left the bounds, and the
    reference (m, width).
    """
    carried = [*state, *(np.array(x, dtype=float) for x in (*memory, round(t[0] / setup.period), setup.robot.n))]
    kernel, until = loop_kernel(setup, BLOCK), np.array(float(round(t[-1] / setup.period)))
    several = {} if threads == 1 else {"threads": threads}
    whole_run, goals, place = np.empty(0), [], 0
    results: Any = None
    spare: Any = None  # results of the block before the last, to be written over
    for references in blocks(setup, wanted, t):
        given = (*carried, until, references, *numbers)
        results, spare = (kernel(*given, **several) if spare is None else kernel(*given, out=spare, **several)), results
        history, *carried = results
        if not place:
            whole_run = np.empty((*history.shape[:-2], len(t) + BLOCK, history.shape[-1]))
        whole_run[..., place : place + BLOCK, :] = history
        goals.append(references[:, 0, 0])
        place += BLOCK
        if np.all(carried[-1] < setup.robot.n):
            break
    *after, done, joint = carried
    return whole_run[..., : min(place, len(t)), :], tuple(after[4:]), done, joint, np.concatenate(goals)[: len(t)]


def blocks(setup: Setup, wanted: Reference, t: np.ndarray) -> Iterator[np.ndarray]:
    """The reference of block after block (BLOCK, samples, order + 1, width); the last is filled up with periods in
    which nothing happens."""
    for first in range(0, len(t), CHUNK):
        times = t[first : first + CHUNK]
        times = np.append(times, np.full(-len(times) % BLOCK, times[-1]))
        table = wanted(np.minimum(times[:, None] + setup.period * np.array(setup.samples), t[-1]))
        yield from np.ascontiguousarray(table).reshape(-1, BLOCK, *table.shape[1:])


def python_run(
    setup: Setup,
    controller: Any,
    wanted: Reference,
    state: JointState,
    memory: Any,
    t: np.ndarray,
    numbers: list[Any],
    threads: int,
) -> tuple[np.ndarray, Any, Any, Any, np.ndarray]:
    """The same with a controller that is a Python function: the plant is compiled, the loop is not."""
    kernel, until = loop_kernel(setup, 1), round(t[-1] / setup.period)
    done, joint = np.array(float(round(t[0] / setup.period))), np.array(float(setup.robot.n))
    histories = []
    table, after = wanted(t), memory
    for stack in table:
        memory, (after, tau) = after, controller(after, stack, state)  # at the end no period follows
        torque = np.asarray(tau, dtype=float)[..., None, None, None, :]
        history, *now, done, joint = kernel(*state, done, joint, float(until), torque, *numbers, threads=threads)
        state = JointState(*now)
        histories.append(history)
        if np.all(joint < setup.robot.n):
            break
    return np.concatenate(histories, axis=-2), memory, done, joint, table[:, 0]


# What a run begins with, and checks --------------------------------------------------------------------------


def beginning(
    start: Any, robot: Robot, controller: Any, wanted: Reference, period: float
) -> tuple[JointState, Sequence[Any], int]:
    """State of the robot, memory of the controller, and periods that are over."""
    if isinstance(start, Simulation):
        if start.robot.n != robot.n or start.period != period:
            raise InputError("simulate: start is a simulation of another number of joints or another period")
        if np.any(start.diverged):
            raise InputError("simulate: start is a simulation that diverged; there is nothing to continue")
        return start.last, start.memory, int(np.max(start.periods))
    stack = wanted(np.zeros(()))
    memory = controller.start(stack) if hasattr(controller, "start") else ()
    if start is None:
        return resting(robot, controller, stack[0]), memory, 0
    try:
        state = JointState(*(np.asarray(x, dtype=float) for x in start))
    except (TypeError, ValueError):
        raise InputError("simulate: start must be a JointState (q, v, theta, theta_v) or a Simulation") from None
    for name, x in zip(JointState._fields, state):
        size = robot.n if name in ("q", "v") else robot.motor_count
        if x.shape[-1:] != (size,) or not np.all(np.isfinite(x)):
            raise InputError(f"simulate: start.{name} has shape {x.shape}; it must be (..., {size}) finite numbers")
    return tied(robot, state), memory, 0


def tied(robot: Robot, state: JointState) -> JointState:
    """The state with motors of rigid joints at their links."""
    joints = list(robot.motor_joints)
    elastic = np.array(robot.elastic)[joints]
    theta, theta_v = (
        np.where(elastic, motor, link[..., joints])
        for motor, link in ((state.theta, state.q), (state.theta_v, state.v))
    )
    return JointState(state.q, state.v, theta, theta_v)


def periods(duration: Any, natural: float | None, period: float, begin: int) -> int:
    """How many; up to the end of a trajectory if no duration is given."""
    if duration is None:
        if natural is None:
            raise InputError("simulate: this reference has no end; give a duration")
        duration = natural - begin * period
    positive("simulate", "duration", duration)
    return max(1, round(duration / period))


def check_motors(robot: Robot, controller: Controller) -> None:
    """A controller must know as many motors as there are."""
    model = controller.robot
    if (model.n, model.motor_count) != (robot.n, robot.motor_count):
        raise InputError(
            f"simulate: the controller's model has {model.n} joints and {model.motor_count} motors, the robot "
            f"{robot.n} and {robot.motor_count}"
        )


def checked_period(controller: Any, period: Any) -> float:
    own = getattr(controller, "period", None)
    if period is None:
        period = 1e-3 if own is None else own
    positive("simulate", "period", period)
    if own is not None and own != period:
        raise InputError(f"simulate: period is {period:g} s, but the controller was made for {own:g} s")
    return float(period)


def checked_integrator(integrator: Any, hold: bool, substeps: Any, compiled: bool) -> str:
    if integrator not in INTEGRATORS:
        raise InputError(f"simulate: there is no integrator {integrator!r}; there are {', '.join(INTEGRATORS)}")
    if not hold and (substeps != 1 or not compiled or integrator == "midpoint"):
        raise InputError(
            "simulate: hold=False takes one step of runge_kutta or euler a period, and no Python controller"
        )
    return str(integrator)
