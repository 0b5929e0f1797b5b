"""The closed loop as one kernel: reference, controller, instruments and plant, with the loop over time inside.

Every period the law sees the state, or what sensors and an estimator make of it, and the reference; its torque is held
while the plant takes one or more steps of an integrator.  With `hold=False` the law is evaluated in every stage
instead: control in continuous time.  A state beyond `LARGEST`, or not finite, ends a run: its row stays as it was, and
the other rows of the batch go on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ..algorithm.algorithm import parameter_array
from ..algorithm.compile import program_of
from ..algorithm.derivatives import in_a_tuple
from ..compiler.ir.program import Array, Program
from ..compiler.ir.scan import scan
from ..compiler.passes.loop_distribution import PRECOMPUTED, Distributed, distribute_loop
from ..compiler.pipeline import cached
from ..compiler.runtime.kernel import Kernel, Result
from ..control.base import Controller, JointState, memory_arrays, rows, state_arrays
from ..robot import Robot
from ..robot.parameters import Parameter, select_all, with_symbols
from ..spatial import ca, sx
from .instruments import NONE, Instruments, Memory, code_of
from .integrators import INTEGRATORS, Torque
from .noise import Stream
from .plant import Contact, Plant
from .stops import Stops

LARGEST = 1e6  # |q| + |q'| + |θ| + |θ'| of a joint, in rad, m and s
HUGE = 1e300  # Nm, N


class Cut(NamedTuple):
    """How a run is cut.

    - `periods`: per call of the kernel
    - `least`: operations that a number must save to be computed from the reference before the loop
    """

    periods: int
    least: float


SINGLE = Cut(200, 30.0)  # rows one by one: a call takes 1 µs, and what a run waits for is the robot, not the law
BATCH = Cut(50, 2.0)  # as many as a register has lanes: longer calls outgrow the cache
PYTHON = Cut(1, math.inf)  # control comes from outside


@dataclass(frozen=True)
class Setup:
    """All that decides which code a simulation needs; gains do not."""

    robot: Robot
    controller: Controller = field(compare=False)
    period: float
    integrator: str = "runge_kutta"
    substeps: int = 1
    hold: bool = True
    contact: Contact | None = None
    free: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()  # parameters that take another value on the way
    stops: Stops | None = None
    instruments: Instruments = NONE
    law: tuple[Any, ...] = field(init=False)  # what distinguishes the controller's code

    def __post_init__(self) -> None:
        object.__setattr__(self, "law", (code_of(self.controller, "gains"), self.controller.gains.shape))

    @property
    def key(self) -> str | None:
        """What names the kernel on disk; only code of flexjoint's own, which the cache knows, has one."""
        if self.contact or not isinstance(self.law[0], str) or not self.instruments.known:
            return None
        rest = (self.period, self.integrator, self.substeps, self.hold, self.free, self.changes, self.stops)
        own = (self.instruments.sensors, self.instruments.actuators, self.instruments.code)
        return f"simulation {self.robot.digest} {self.law} {rest!r} {own!r}"

    @property
    def columns(self) -> dict[str, int]:
        """What is kept of each period, with the number of columns: (q, q', θ, θ', τ) first."""
        n, m = self.robot.n, self.robot.motor_count
        return {"q": n, "v": n, "theta": m, "theta_v": m, "tau": m} | self.instruments.columns(self.robot)

    @property
    def samples(self) -> tuple[float, ...]:
        """At which fractions of a period the reference is needed."""
        return (0.0,) if self.hold else (0.0, 0.5, 1.0)


class Carry(NamedTuple):
    """What goes from period to period; `done` of them are over, `joint` is the first one to leave the bounds, or n."""

    state: JointState
    memory: Sequence[Any]
    instruments: Memory
    done: Any
    joint: Any


class Given(NamedTuple):
    """What does not change in a run: gains, its end, numbers of the robot by path, when and to what some of them
    change, and its random numbers."""

    gains: Sequence[Any]
    until: Any
    leaves: Mapping[str, Any]
    changes: Sequence[tuple[Any, Mapping[str, Any]]]
    stream: Stream | None

    def plant(self, setup: Setup, done: Any) -> Plant:
        """The robot as it is after so many periods."""
        leaves = dict(self.leaves)
        for when, new in self.changes:
            leaves |= {path: ca.if_else(done >= when, x, leaves[path]) for path, x in new.items()}
        return Plant(with_symbols(setup.robot, leaves), setup.contact, setup.stops)


def one_period(setup: Setup, given: Given, carry: Carry, columns: Any) -> tuple[Carry, Any]:
    """What comes after a period, and the state and torque it began with; beyond `until` nothing happens any more."""
    state, controller, t = carry.state, setup.controller, setup.period * carry.done
    plant, instruments, gains = given.plant(setup, carry.done), setup.instruments, given.gains
    references = [ca.horzsplit(x) for x in ca.horzsplit(columns, controller.order + 1)]
    seen = instruments.seen(setup.robot, carry.instruments, state)
    memory, command = controller.checked_law(gains, carry.memory, references[0], seen)
    waiting, tau = instruments.torque(setup.robot, setup.period, carry.instruments, command, carry.done == 0)

    def torque(stage: int, now: JointState) -> Any:
        return tau if setup.hold else controller.checked_law(gains, carry.memory, references[stage], now)[1]

    after = advanced(setup, plant, t, state, torque)
    n = plant.robot.n
    size = ca.fabs(after.q) + ca.fabs(after.v) + ca.fabs(after.theta[:n]) + ca.fabs(after.theta_v[:n])
    for k, i in enumerate(plant.robot.motor_joints[n:], n):
        size[i] += ca.fabs(after.theta[k]) + ca.fabs(after.theta_v[k])
    bounded = [size[i] <= LARGEST for i in range(n)]  # false if it is NaN
    joint = sx(n)
    for i in reversed(range(n)):
        joint = ca.if_else(bounded[i], joint, i)
    running = ca.logic_and(carry.done < given.until, carry.joint == n)
    good = ca.logic_and(running, joint == n)
    looked = instruments.look(plant, setup.period, waiting, after, tau, carry.done + 1, given.stream)
    flat = [ca.if_else(good, new, old) for new, old in zip(looked.flat, carry.instruments.flat)]
    follow = Carry(
        JointState(*(ca.if_else(good, new, old) for new, old in zip(after, state))),
        [ca.if_else(good, new, old) for new, old in zip(memory, carry.memory)],
        instruments.memory(setup.robot, flat),
        carry.done + good,
        ca.if_else(running, joint, carry.joint),
    )
    kept = [tau, *instruments.kept(carry.instruments, command)]
    return follow, ca.vertcat(*state, *(ca.if_else(ca.fabs(x) <= HUGE, x, 0) for x in kept))


def advanced(setup: Setup, plant: Plant, t: Any, state: JointState, torque: Torque) -> JointState:
    """The plant after a period."""
    step, h = INTEGRATORS[setup.integrator], setup.period / setup.substeps
    if setup.substeps == 1:
        return step(plant, t, state, torque, h)
    starts = [sx(k) for k in range(setup.substeps)]
    return scan(lambda now, k: (step(plant, t + h * k, now, torque, h), ()), state, starts)[0]


class ClosedLoop(NamedTuple):
    """The kernel of some periods, and the kernel that computes what it takes from their references, if there is one."""

    precomputation: Kernel | None
    kernel: Kernel

    @property
    def periods(self) -> int:
        """Of a call."""
        return self.kernel.outputs[0].shape[0]

    def precomputed(self, references: np.ndarray) -> np.ndarray:
        """What the kernel takes of references (..., samples, order + 1, width)."""
        return self.precomputation(references) if self.precomputation else references


@lru_cache(maxsize=64)
def loop_kernel(setup: Setup, cut: Cut) -> ClosedLoop:
    """The kernel of some periods.

    In: what is carried (state, memory, instruments, done, joint), until, references, gains, free parameters, for each
    change its period and values, and seed and row if there is noise.  Out: history, a row of `Setup.columns` at the
    beginning of each period, and what is carried on.  References may be `precomputed` before.
    """
    robot, controller, instruments, block = setup.robot, setup.controller, setup.instruments, cut.periods
    count, samples = controller.order + 1, len(setup.samples)
    free, changes = select_all(robot, setup.free), select_all(robot, setup.changes)
    memories, own = memory_arrays("memory", controller), instruments.arrays(robot)
    carried = [*state_arrays(robot), *memories, *own, Array("done", ()), Array("joint", ())]
    inputs = [
        *carried,
        Array("until", ()),
        Array("reference", (block, samples, count, controller.width)),
        Array("gains", controller.gains.shape),
        *(parameter_array(parameter) for parameter in free),
        *(x for k, change in enumerate(changes) for x in (Array(f"change{k}", ()), changed_array(change))),
        *(Array(name, ()) for name in Stream._fields if instruments.noisy),
    ]

    def loop(*arrays: Any) -> list[tuple[Array, Any]]:
        before, (until, reference, gains, *numbers) = arrays[: len(carried)], arrays[len(carried) :]
        rest = iter(numbers)
        leaves = {path: x for parameter in free for path, x in by_path(parameter, next(rest)).items()}
        changing = [(next(rest), by_path(parameter, next(rest))) for parameter in changes]
        nominal = {path: x for parameter in changes for path, x in parameter.numbers.items()}
        given = Given(rows(gains), until, nominal | leaves, changing, Stream(*rest) if instruments.noisy else None)
        xs = [reference[k : k + samples * count, :].T for k in range(0, block * samples * count, samples * count)]
        parts = iter(before)
        start = Carry(
            JointState(*islice(parts, 4)),
            list(islice(parts, len(memories))),
            instruments.memory(robot, list(islice(parts, len(own)))),
            *parts,
        )
        last, ys = scan(lambda *x: one_period(setup, given, *x), start, xs)
        after = (*last.state, *last.memory, *last.instruments.flat, last.done, last.joint)
        return [(Array("history", (block, sum(setup.columns.values()))), ca.horzcat(*ys).T), *zip(carried, after)]

    @cache
    def programs() -> Distributed:
        return distribute_loop(program_of(f"simulation of {robot.name}", inputs, loop), "reference", cut.least)

    def traced(part: str) -> tuple[Program, Result]:
        program = getattr(programs(), part)
        return program, Result([None] * len(program.outputs), in_a_tuple if part == "second" else None)

    key = f"{setup.key} {cut!r}" if setup.key else None
    kernel = cached(key, lambda: traced("second"), in_a_tuple)
    if all(array.name != PRECOMPUTED for array in kernel.inputs):
        return ClosedLoop(None, kernel)
    return ClosedLoop(cached(key and f"{key} precomputation", lambda: traced("first")), kernel)


def by_path(parameter: Parameter, x: Any) -> dict[str, Any]:
    return {path: x[e] for e, path in enumerate(parameter.elements)}


def changed_array(parameter: Parameter) -> Array:
    array = parameter_array(parameter)
    return array._replace(name=f"{array.name} after the change")
