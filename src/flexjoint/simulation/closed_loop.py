"""The closed loop as a model: robot, controller, sensors, actuators and observers, and one period of it in SX.

Every period the law sees the state, or what sensors and an estimator make of it, and the reference.  Its torque is held
while the plant takes one or more steps of an integrator.  With `hold=False` the law is evaluated in every stage
instead: control in continuous time.  A state beyond `LARGEST`, or not finite, ends a run: its row stays as it was, and
the other rows of the batch go on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ..algorithm.algorithm import parameter_array
from ..compiler.ir.program import Array
from ..compiler.ir.scan import scan
from ..control.base import Controller, memory_arrays, rows
from ..robot import Robot
from ..robot.parameters import Parameter, select_all, with_symbols
from ..spatial import ca, sx
from ..types import Expression, Scalar
from .end_stops import EndStops
from .instrumentation import NONE, Instrumentation, InstrumentState
from .integrators import INTEGRATORS, Torque
from .law_digests import code_of
from .moving_base import NUMBERS, sample_count
from .noise import Stream
from .plant import Contact, Plant, PlantState, gear_columns, plant_arrays
from .push import NUMBERS as PUSH_NUMBERS, PushedLink
from .records import flatten, unflatten

LARGEST = 1e6  # |q| + |q'| + |θ| + |θ'| of a joint, in rad, m and s
HUGE = 1e300  # Nm, N


@dataclass(frozen=True)
class ClosedLoop:
    """All that decides which code a simulation needs; gains do not."""

    robot: Robot
    controller: Controller = field(compare=False)
    period: float
    integrator: str = "runge_kutta"
    substeps: int = 1
    hold: bool = True
    contact: Contact | None = None
    free: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()  # parameters that take another value during a run
    stops: EndStops | None = None
    instrumentation: Instrumentation = NONE
    carried: bool = False  # whether the base moves
    law: tuple[Any, ...] = field(init=False)  # what distinguishes the controller's code

    def __post_init__(self) -> None:
        object.__setattr__(self, "law", (code_of(self.controller, "gains"), self.controller.gains.shape))

    @property
    def key(self) -> str | None:
        """The name of the kernel on disk; only flexjoint's own code, which the cache knows, has one."""
        own_contact = self.contact is None or isinstance(self.contact, PushedLink)
        if not own_contact or not isinstance(self.law[0], str) or not self.instrumentation.known:
            return None
        rest = (
            self.period,
            self.integrator,
            self.substeps,
            self.hold,
            self.free,
            self.changes,
            self.stops,
            self.carried,
            self.contact,
        )
        given = self.instrumentation
        own = (given.sensors, given.actuators, given.code, given.free_noise)
        return f"simulation {self.robot.digest} {self.law} {rest!r} {own!r}"

    @property
    def columns(self) -> dict[str, int]:
        """What is recorded of each period, with the number of columns: (q, q', θ, θ', τ) first."""
        n, m = self.robot.n, self.robot.motor_count
        own = {"q": n, "v": n, "theta": m, "theta_v": m, "tau": m} | self.instrumentation.columns(self.robot)
        return own | ({"damping": n} if self.controller.commands_damping else {}) | gear_columns(self.robot)

    @property
    def stages(self) -> tuple[float, ...]:
        """The fractions of a period at which the reference is sampled."""
        return (0.0,) if self.hold else (0.0, 0.5, 1.0)


# What the kernel of a closed loop takes and gives; filled with `Array`s, SX or arrays, see records.py.


class LoopState(NamedTuple):
    """What goes from period to period; `done` of them are over, `joint` is the first to leave the bounds, or n."""

    state: PlantState
    memory: Sequence[Any]  # of the controller
    instruments: InstrumentState
    done: Any
    joint: Any


class Change(NamedTuple):
    """A parameter that takes other values from a period on."""

    period: Any
    value: Any


class RunParameters(NamedTuple):
    """The numbers of a run: `gains` (rows, n), values of `free` parameters, `changes`, and its random numbers.

    `deviations` are those of `Instrumentation.free_noise`, and `push` the numbers of a push.
    """

    gains: Any
    free: Sequence[Any] = ()
    changes: Sequence[Change] = ()
    noise: Stream | None = None
    deviations: Sequence[Any] = ()
    push: Any = None


class LoopInputs(NamedTuple):
    """What a call of the kernel takes; nothing happens after the period `until`.

    A row of the reference holds what is followed in a period (stages, rows, width); on a moving base the numbers
    of these, then those of the samples of the base.
    """

    state: LoopState
    until: Any
    reference: Any
    parameters: RunParameters


class LoopOutputs(NamedTuple):
    """What a call returns: a row of `ClosedLoop.columns` at the beginning of each period, and the state after it."""

    history: Any
    state: LoopState


def input_arrays(loop: ClosedLoop, periods: int) -> LoopInputs:
    """The inputs of a kernel that runs so many periods."""
    robot, controller = loop.robot, loop.controller
    free, changes = select_all(robot, loop.free), select_all(robot, loop.changes)
    sizes = loop.instrumentation.sizes(robot)
    own = unflatten(sizes, [Array(f"instrument{k}", (size,)) for k, size in enumerate(flatten(sizes))])
    memory = memory_arrays("memory", controller)
    state = LoopState(plant_arrays(robot), memory, own, Array("done", ()), Array("joint", ()))
    parameters = RunParameters(
        Array("gains", controller.gains.shape),
        [parameter_array(parameter) for parameter in free],
        [Change(Array(f"change{k}", ()), changed_array(parameter)) for k, parameter in enumerate(changes)],
        Stream(Array("seed", ()), Array("row", ())) if loop.instrumentation.noisy else None,
        [Array(name, (robot.n,)) for name in loop.instrumentation.free_noise],
        Array("push", (PUSH_NUMBERS,)) if isinstance(loop.contact, PushedLink) else None,
    )
    shape: tuple[int, ...] = (len(loop.stages), controller.rows, controller.width)
    if loop.carried:
        shape = (math.prod(shape) + sample_count(loop.substeps) * NUMBERS,)
    return LoopInputs(state, Array("until", ()), Array("reference", (periods, *shape)), parameters)


def output_arrays(loop: ClosedLoop, periods: int) -> LoopOutputs:
    """The outputs of that kernel."""
    history = Array("history", (periods, sum(loop.columns.values())))
    return LoopOutputs(history, input_arrays(loop, periods).state)


def by_path(parameter: Parameter, x: Any) -> dict[str, Any]:
    """The elements of a parameter, or of its pattern, by their paths."""
    return {path: x[e] for e, path in enumerate(parameter.elements)}


def changed_array(parameter: Parameter) -> Array:
    array = parameter_array(parameter)
    return array._replace(name=f"{array.name} after the change")


# One period in SX ----------------------------------------------------------------------------------------------------


class RunConstants(NamedTuple):
    """The numbers of a run as its periods use them: rows of gains, the robot's numbers by path, and their changes."""

    gains: Sequence[Expression]
    until: Scalar
    numbers: Mapping[str, Scalar]
    changes: Sequence[tuple[Scalar, Mapping[str, Scalar]]]
    noise: Stream | None
    deviations: Mapping[str, Expression]
    contact: Contact | None

    @classmethod
    def of(cls, loop: ClosedLoop, inputs: LoopInputs) -> RunConstants:
        free, changes = select_all(loop.robot, loop.free), select_all(loop.robot, loop.changes)
        given = inputs.parameters
        nominal = {path: x for parameter in changes for path, x in parameter.numbers.items()}
        chosen = {path: x for parameter, y in zip(free, given.free) for path, x in by_path(parameter, y).items()}
        after = [(change.period, by_path(parameter, change.value)) for parameter, change in zip(changes, given.changes)]
        deviations = dict(zip(loop.instrumentation.free_noise, given.deviations))
        contact = loop.contact.pushed(given.push) if isinstance(loop.contact, PushedLink) else loop.contact
        return cls(rows(given.gains), inputs.until, nominal | chosen, after, given.noise, deviations, contact)

    def plant(self, loop: ClosedLoop, done: Scalar) -> Plant:
        """The robot as it is after so many periods."""
        numbers = dict(self.numbers)
        for when, new in self.changes:
            numbers |= {path: ca.if_else(done >= when, x, numbers[path]) for path, x in new.items()}
        return Plant(with_symbols(loop.robot, numbers), self.contact, loop.stops)


def periods_in_turn(loop: ClosedLoop, inputs: LoopInputs, periods: int) -> LoopOutputs:
    """The outputs of a kernel in SX, from its inputs: the loop over time."""
    constants = RunConstants.of(loop, inputs)
    rows = reference_rows(loop, inputs.reference, periods)
    last, recorded = scan(lambda *x: one_period(loop, constants, *x), inputs.state, rows)
    return LoopOutputs(ca.horzcat(*recorded).T, last)


def reference_rows(loop: ClosedLoop, table: Expression, periods: int) -> list[tuple[Expression, ...]]:
    """Of each period the reference, a column per stage and derivative; on a moving base also a column per sample."""
    width, height = loop.controller.width, len(loop.stages) * loop.controller.rows
    if not loop.carried:
        return [(table[k : k + height, :].T,) for k in range(0, periods * height, height)]
    split = width * height
    return [
        (ca.reshape(table[k, :split], width, height), ca.reshape(table[k, split:], NUMBERS, -1)) for k in range(periods)
    ]


def one_period(
    loop: ClosedLoop, constants: RunConstants, before: LoopState, row: tuple[Expression, ...]
) -> tuple[LoopState, Expression]:
    """The state after a period, and the record of its beginning; `row` is one of `reference_rows`."""
    reference, *base = row
    state, controller, t = before.state, loop.controller, loop.period * before.done
    plant, instrumentation, gains = constants.plant(loop, before.done), loop.instrumentation, constants.gains
    stages = [ca.horzsplit(x) for x in ca.horzsplit(reference, controller.rows)]
    seen = instrumentation.seen(loop.robot, before.instruments, plant.seen(controller, state))
    memory, command = controller.checked_law(gains, before.memory, stages[0], seen)
    waiting, tau = instrumentation.torque(loop.robot, loop.period, before.instruments, command, before.done == 0)

    asked = [controller.checked_damper_command(seen)] if controller.commands_damping else []
    plant = replace(plant, damping=asked[0]) if asked else plant

    def torque(stage: int, now: PlantState) -> Expression:
        if loop.hold:
            return tau
        return controller.checked_law(gains, before.memory, stages[stage], plant.seen(controller, now))[1]

    after = advanced(loop, plant, t, state, torque, *base)
    joint = first_beyond_bounds(plant.robot, after)
    running = ca.logic_and(before.done < constants.until, before.joint == plant.robot.n)
    good = ca.logic_and(running, joint == plant.robot.n)
    random = constants.noise, constants.deviations
    observed = instrumentation.observe(plant, loop.period, waiting, after, tau, before.done + 1, *random)
    changed = [
        ca.if_else(good, new, old)
        for new, old in zip(flatten((after, memory, observed)), flatten((state, before.memory, before.instruments)))
    ]
    gears = plant.recorded(state)
    state, memory, instruments = unflatten((state, list(before.memory), before.instruments), changed)
    follow = LoopState(state, memory, instruments, before.done + good, ca.if_else(running, joint, before.joint))
    recorded = [tau, *instrumentation.recorded(before.instruments, command), *asked, *gears]
    return follow, ca.vertcat(*before.state.joints, *(ca.if_else(ca.fabs(x) <= HUGE, x, 0) for x in recorded))


def advanced(
    loop: ClosedLoop, plant: Plant, t: Scalar, state: PlantState, torque: Torque, *base: Expression
) -> PlantState:
    """The state of the plant after a period; `base` has a column per sample of the moving base."""
    h = loop.period / loop.substeps

    def step(now: PlantState, turn: tuple[Expression, ...]) -> tuple[PlantState, tuple[()]]:
        k, *moved = turn
        carried = replace(plant, base=[x for columns in moved for x in ca.horzsplit(columns)])
        return INTEGRATORS[loop.integrator](carried, t + h * k, now, torque, h), ()

    turns = [(sx(k), *(x[:, 2 * k : 2 * k + 3] for x in base)) for k in range(loop.substeps)]
    if loop.substeps == 1:
        return step(state, turns[0])[0]
    last: PlantState
    last, _ = scan(step, state, turns)
    return last


def first_beyond_bounds(robot: Robot, state: PlantState) -> Expression:
    """The first joint whose state is beyond `LARGEST` or not finite; n if there is none."""
    n = robot.n
    size = ca.fabs(state.q) + ca.fabs(state.v) + ca.fabs(state.theta[:n]) + ca.fabs(state.theta_v[:n])
    for k, i in enumerate(robot.motor_joints[n:], n):
        size[i] += ca.fabs(state.theta[k]) + ca.fabs(state.theta_v[k])
    for k, i in enumerate(robot.hysteretic):
        size[i] += ca.fabs(state.z[k])  # type: ignore[index]
    bounded = [size[i] <= LARGEST for i in range(n)]  # false if it is NaN
    joint = sx(n)
    for i in reversed(range(n)):
        joint = ca.if_else(bounded[i], joint, i)
    return joint
