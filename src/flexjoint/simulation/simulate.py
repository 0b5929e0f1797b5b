"""Simulation of a robot under control.

Controllers of flexjoint are compiled with the robot into one kernel (`loop.py`); any Python function works as one too.
Results do not depend on how a run is cut into blocks, nor on what else is in a batch, nor on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..checks import finite, positive, whole
from ..compiler.runtime.kernel import BLOCKS_FROM, Kernel, side_by_side
from ..control.base import Controller, JointState, innermost
from ..control.open_loop import OpenLoop
from ..errors import InputError, shown
from ..observers.base import Observer
from ..robot import Robot
from ..robot.parameters import refuse_negative, select
from ..trajectory.base import Trajectory
from ..trajectory.limits import warn_of_limits, warn_of_units
from .actuators import Actuators
from .beginning import Beginning, beginning
from .expressions import KnownContact
from .instruments import NONE, instruments_of
from .integrators import INTEGRATORS
from .loop import BATCH, PYTHON, SINGLE, ClosedLoop, Setup, loop_kernel
from .plant import Contact
from .python_laws import check_arguments, check_controller, state_and_torque
from .reference import Reference
from .result import Ran, Simulation, finished
from .sensors import Sensors
from .stability import check_stability
from .step_limit import check_steps
from .stops import Stops

NOMINAL = "nominal"  # the check of the robot as it is, alone
MOST_PERIODS = 100_000_000
EXAMPLES = {"free": '{"payload.mass": 2.0}', "changes": '{"payload.mass": (0.5, 2.0)}'}
CHUNK = 2000  # periods whose reference is sampled at once, about: few enough for the cache


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
    changes: Mapping[str, tuple[Any, Any]] | None = None,
    stops: Stops | None = None,
    sensors: Sensors | None = None,
    actuators: Actuators | None = None,
    estimator: Observer | None = None,
    observers: Mapping[str, Observer] | None = None,
    seed: Any = 0,
    row: Any = None,
    check: bool | str = True,
    threads: int = 1,
) -> Simulation:
    """A robot under a controller that follows a reference, for `duration` seconds.

    `reference` is a Trajectory, a goal (n,), or a stack [q_d, q_d', ...] (order + 1, n) that does not change; for
    `OpenLoop` the torque, one number a motor.  `controller` is one of flexjoint's, compiled with the robot into one
    kernel, or any callable (state, reference, measurement) -> (state, torque), at the speed of Python.  Every `period`
    its torque is computed and held for `substeps` steps of the `integrator`: "runge_kutta", "euler" or "midpoint".

    The run begins at rest on the reference, at the state `start`, or where an earlier Simulation ended.  `contact`
    gives wrenches (6,) on links by name, from SX (t, state).  `free` gives values to parameters of the robot by path or
    pattern, `changes` a time and the values from then on, such as {"payload.mass": (0.5, 2.0)}.  Arrays in `start`,
    `gains` (..., rows, n), `free`, `changes` and `seed` may have leading dimensions: a batch, a run a row.

    `stops` hold the links within their position limits.  `sensors` and `actuators` come between robot and controller;
    the controller sees the outputs of the `estimator` named as fields of JointState in place of what is measured, and
    `observers` look on; see `Observer`.  Noise depends on `seed`, the number of the run in its batch (or `row`) and
    the period.

    Before the run the step and the period are compared with what is stable for the robot as it is (`check_stability`),
    and the step for its parameters in every run of a batch (`step_limits`); after it reference and torques are compared
    with the limits of the robot.  `check="nominal"` leaves out the steps of a batch, `check=False` all of it.
    """
    if check not in (True, False, NOMINAL):
        raise InputError(f"simulate: check is {check!r}; it must be True, False or {NOMINAL!r}")
    if not isinstance(robot, Robot):
        raise InputError(f"simulate: robot must be a Robot, not {type(robot).__name__}")
    check_controller(controller)
    compiled = isinstance(controller, Controller)
    free, changes = named_values("free", free), named_values("changes", changes)
    law, period = (controller if compiled else OpenLoop(robot)), checked_period(controller, period)
    setup = Setup(
        robot,
        law,
        period,
        checked_integrator(integrator, hold, substeps, compiled),
        whole("simulate", "substeps", substeps, least=1),
        hold,
        known_contact(robot, contact),
        tuple(free),
        tuple(changes),
        stops,
        instruments_of(robot, period, sensors, actuators, estimator, observers),
    )
    check_setup(setup)
    own = (controller.order, controller.width) if compiled else (getattr(controller, "order", 2), robot.n)
    wanted = Reference.of(reference, *own)
    at = beginning(start, setup, controller, wanted)
    steps = periods(duration, wanted.duration, period, at.begin)
    weights = finite("simulate", "gains", law.gains if gains is None else gains)
    numbers = [weights]
    numbers += [finite("simulate", f"free[{path!r}]", x) for path, x in free.items()]
    numbers += [x for path, change in changes.items() for x in checked_change(path, change, period)]
    for path, x in zip(setup.free, numbers[1:]):
        refuse_negative("simulate: free", select(robot, path), x)
    for path, x in zip(setup.changes, numbers[2 + len(setup.free) :: 2]):
        refuse_negative("simulate: changes", select(robot, path), x)
    if setup.instruments.noisy:
        numbers += numbered(seed, row, batch_shape(setup, at.state, numbers))
    batch = batch_shape(setup, at.state, numbers)
    cut = PYTHON if not compiled else BATCH if math.prod(batch) >= BLOCKS_FROM else SINGLE
    if check:
        check_stability(setup, cut, at.state, wanted(np.array(at.begin * period)), weights)
    if check and check != NOMINAL:
        check_steps(setup, numbers[1:], at.state)
    t, threads = period * (at.begin + np.arange(steps + 1)), whole("simulate", "threads", threads, least=1)
    loop = loop_kernel(setup, cut)
    if compiled:
        ran = compiled_run(setup, loop, batch, wanted, at, t, numbers, threads)
    else:
        ran = python_run(setup, loop, controller, wanted, at, t, numbers, threads)
    done = finished(setup, t, ran, controller)
    if check:
        warn_of_run(done, controller, reference)
    return replace(done, provenance={**done.provenance, "seed": str(seed)}) if setup.instruments.noisy else done


def warn_of_run(run: Simulation, controller: Any, reference: Any) -> None:
    """Limits of the robot that the reference or the torques exceed; a reference that looks like degrees."""
    robot = run.robot
    if not isinstance(innermost(controller), OpenLoop):  # its reference is a torque
        wanted = run.reference[:, : robot.n]
        warn_of_units(robot, reference if isinstance(reference, Trajectory) else wanted[0])
        if np.abs(run.q[..., 0, :]).max() > np.abs(wanted[0]).max():
            warn_of_units(robot, run.q[..., 0, :])
        rates = np.diff(wanted, axis=0, prepend=wanted[:1]) / run.period
        warn_of_limits(robot, "the reference", run.t, q=wanted, v=rates)
    warn_of_limits(robot, "the run", run.t, tau=run.tau)


def compiled_run(
    setup: Setup,
    loop: ClosedLoop,
    batch: tuple[int, ...],
    wanted: Reference,
    at: Beginning,
    t: np.ndarray,
    numbers: list[Any],
    threads: int,
) -> Ran:
    """All blocks in one thread, or the rows of a batch in several, each of which goes through all blocks."""
    around = [np.asarray(x, dtype=float) for x in (*at.memory, *at.instruments, at.begin, setup.robot.n)]
    given = [*at.state, *around, np.array(float(round(t[-1] / setup.period))), *numbers]
    count = 4 + len(around)
    histories = np.empty((*batch, len(t) + loop.periods, sum(setup.columns.values())))
    parts = [(given, histories)]
    if threads > 1 and batch:
        parts = divided(loop.kernel, given, count + 1, histories, threads)
    tables: Iterable[Table] = reference_tables(setup, loop, wanted, t)
    if len(parts) > 1:
        tables = list(tables)  # once for all
    done = side_by_side(lambda part: run_blocks(setup, loop, tables, part[0], part[1], count), parts)
    place, _, followed = max(done, key=lambda x: x[0])
    carried = done[0][1]
    if len(done) > 1:
        carried = [np.concatenate(x).reshape(*batch, *x[0].shape[1:]) for x in zip(*(after for _, after, _ in done))]
    *after, periods_done, joint = carried
    end, m = 4 + len(at.memory), min(place, len(t))
    return Ran(histories[..., :m, :], tuple(after[4:end]), tuple(after[end:]), periods_done, joint, followed[:m])


def run_blocks(
    setup: Setup, loop: ClosedLoop, tables: Iterable[Table], given: Sequence[Any], histories: Any, count: int
) -> tuple[int, list[Any], np.ndarray]:
    """Block after block, until the end or until no row runs any more: how many periods, what is carried, the goals."""
    kernel, block = loop.kernel, loop.periods
    carried, until, numbers = given[:count], given[count], given[count + 1 :]
    batch, place, n = histories.shape[:-2], 0, setup.robot.n
    goals = np.empty((histories.shape[-2], setup.controller.width))
    shapes = kernel.result.shapes(kernel.outputs, batch)[1:]
    buffers = [[np.empty(shape) for shape in shapes] for _ in range(2)]  # in turn: a block reads the last one's
    for table in tables:
        goals[place : place + len(table.goals)] = table.goals
        for first in range(0, len(table.goals), block):
            reference, history = table.precomputed[first : first + block], histories[..., place : place + block, :]
            after = buffers[0]
            kernel(*carried, until, reference, *numbers, out=(history, *after))
            place, carried = place + block, after
            buffers.reverse()
            if (after[-1] < n).all() if batch else after[-1].item() < n:
                return place, list(carried), goals
    return place, list(carried), goals


def divided(
    kernel: Kernel, given: Sequence[np.ndarray], reference: int, histories: np.ndarray, threads: int
) -> list[tuple[list[np.ndarray], np.ndarray]]:
    """As many parts of a batch as threads, in whole registers; arrays and the place of their histories."""
    batch = histories.shape[:-2]
    rows = math.prod(batch)
    arrays = [*kernel.inputs[:reference], *kernel.inputs[reference + 1 :]]
    flat = [np.broadcast_to(x, (*batch, *a.shape)).reshape(rows, *a.shape) for x, a in zip(given, arrays)]
    lanes = kernel.ready_for(rows)
    part = -(-rows // (threads * lanes)) * lanes
    places = histories.reshape(rows, *histories.shape[-2:])
    cuts = [slice(first, first + part) for first in range(0, rows, part)]
    return [([np.ascontiguousarray(x[cut]) for x in flat], places[cut]) for cut in cuts]


class Table(NamedTuple):
    """The reference of some blocks: goals (periods, width), and what the kernel takes of it (periods, ...)."""

    goals: np.ndarray
    precomputed: np.ndarray


def reference_tables(setup: Setup, loop: ClosedLoop, wanted: Reference, t: np.ndarray) -> Iterator[Table]:
    """One after another; the last block is filled up with periods in which nothing happens."""
    chunk = CHUNK // loop.periods * loop.periods
    for first in range(0, len(t), chunk):
        times = t[first : first + chunk]
        times = np.append(times, np.full(-len(times) % loop.periods, times[-1]))
        table = wanted(np.minimum(times[:, None] + setup.period * np.array(setup.samples), t[-1]))
        yield Table(table[:, 0, 0], loop.precomputed(np.ascontiguousarray(table)))


def python_run(
    setup: Setup,
    loop: ClosedLoop,
    controller: Any,
    wanted: Reference,
    at: Beginning,
    t: np.ndarray,
    numbers: list[Any],
    threads: int,
) -> Ran:
    """The same with a controller that is a Python function: the plant is compiled, the loop is not."""
    until = float(round(t[-1] / setup.period))
    done, joint = np.array(float(at.begin)), np.array(float(setup.robot.n))
    state, instruments, after = at.state, at.instruments, at.memory
    histories, table = [], wanted(t)
    for stack in table:
        seen = setup.instruments.seen(setup.robot, setup.instruments.memory(setup.robot, instruments), state)
        when = float(np.max(done)) * setup.period
        # It gets copies: what it writes into them changes neither the robot nor the reference.
        returned = controller(after, stack.copy(), JointState(*(np.array(x) for x in seen)))
        # At the end no period follows.
        memory, (after, tau) = after, state_and_torque(returned, setup.robot, joint, when)
        torque = tau[..., None, None, None, :]
        found = loop.kernel(*state, *instruments, done, joint, until, torque, *numbers, threads=threads)
        history, *now, done, joint = found
        state, instruments = JointState(*now[:4]), now[4:]
        histories.append(history)
        if np.all(joint < setup.robot.n):
            break
    return Ran(np.concatenate(histories, axis=-2), memory, tuple(instruments), done, joint, table[:, 0])


# Checks --------------------------------------------------------------------------


def periods(duration: Any, natural: float | None, period: float, begin: int) -> int:
    """How many; up to the end of a trajectory if no duration is given."""
    if duration is None:
        if natural is None:
            raise InputError("simulate: this reference has no end; give a duration")
        duration = natural - begin * period
    positive("simulate", "duration", duration)
    if duration < period * (1 - 1e-9):
        raise InputError(
            f"simulate: the duration, {duration:g} s, is shorter than one period, {period:g} s; give a longer duration "
            "or a shorter period"
        )
    if (many := duration / period) > MOST_PERIODS:
        raise InputError(
            f"simulate: {duration:g} s are {many:.3g} periods of {period:g} s, at most {MOST_PERIODS:,} can be kept; "
            "simulate part by part, start= the last one"
        )
    return round(many)


def named_values(what: str, given: Any) -> dict[str, Any]:
    """Values of parameters by their paths."""
    if given is not None and not (isinstance(given, Mapping) and all(isinstance(path, str) for path in given)):
        raise InputError(f"simulate: {what} is {shown(given)}; give values by path, such as {EXAMPLES[what]}")
    return dict(given or {})


def check_setup(setup: Setup) -> None:
    check_motors(setup.robot, setup.controller)
    if setup.stops is not None:
        if not isinstance(setup.stops, Stops):
            raise InputError(f"simulate: stops must be Stops(...), not {setup.stops!r}")
        setup.stops.check(setup.robot)
    if not setup.hold and setup.instruments != NONE:
        raise InputError("simulate: sensors, actuators and observers are sampled; they need hold=True")


def known_contact(robot: Robot, contact: Any) -> KnownContact | None:
    """A contact, checked."""
    if contact is None:
        return None
    if not callable(contact):
        raise InputError(
            f"simulate: contact is {shown(contact)}; give a function (t, state) -> wrenches by names of links"
        )
    check_arguments("contact", contact, "t, state")
    return KnownContact(robot, contact)


def checked_change(path: str, change: Any, period: float) -> list[np.ndarray]:
    """The period in which a parameter changes, and its values from then on."""
    try:
        time, values = change
    except (TypeError, ValueError):
        raise InputError(f"simulate: changes[{path!r}] is {change!r}; give (time, value)") from None
    what = f"changes[{path!r}]"
    return [np.ceil(finite("simulate", what, time) / period - 1e-6), finite("simulate", what, values)]


def numbered(seed: Any, row: Any, shape: tuple[int, ...]) -> list[np.ndarray]:
    """Seed and number of each run."""
    if row is None:
        row = np.arange(math.prod(shape)).reshape(shape)
    given = []
    for name, value, largest in (("seed", seed, 2**53), ("row", row, 2**32)):
        numbers = finite("simulate", name, value)
        if np.any((numbers < 0) | (numbers >= largest) | (numbers != np.floor(numbers))):
            raise InputError(f"simulate: {name} is {value!r}; it must be a whole number from 0 up to {largest - 1}")
        given.append(numbers)
    return given


def batch_shape(setup: Setup, state: JointState, numbers: Sequence[np.ndarray]) -> tuple[int, ...]:
    """The dimensions of a batch, of states, gains, parameters and what comes after them."""
    inner = [2, *(select(setup.robot, path).value.ndim for path in setup.free)]
    inner += [d for path in setup.changes for d in (0, select(setup.robot, path).value.ndim)]
    inner += [0] * (len(numbers) - len(inner))
    shapes = [x.shape[:-1] for x in state] + [x.shape[: x.ndim - d] for x, d in zip(numbers, inner)]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        raise InputError(f"simulate: the batches of start, gains, free and changes do not fit: {shapes}") from None


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
