"""What lies between robot and controller, and what only looks on: sensors, actuators, observers.

Each has a memory of its own that goes from period to period.  In a period the controller reads the last measurement, or
what an estimator makes of it; the actuators turn its command into a torque; and when the robot has moved, it is
measured, and the observers see the measurement and the torque.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..algorithm.compile import kernel_of
from ..compiler.ir.program import Array
from ..compiler.runtime.kernel import Kernel
from ..control.base import Controller, JointState, state_arrays
from ..errors import InputError
from ..observers.base import Measurement, Observer, measurement_sizes
from ..robot import Robot
from ..spatial import zeros
from .actuators import Actuators
from .expressions import Expressions, expressions_of
from .noise import Stream
from .plant import Plant
from .sensors import Sensors, split

ESTIMATOR = "estimator"


class Memory(NamedTuple):
    """What the instruments remember, and the last outputs of the observers; lists of columns, flattened by `flat`."""

    sensors: list[Any]
    actuators: list[Any]
    states: list[list[Any]]
    outputs: list[list[Any]]

    @property
    def flat(self) -> list[Any]:
        return [*self.sensors, *self.actuators, *(x for part in (*self.states, *self.outputs) for x in part)]


@dataclass(frozen=True)
class Instruments:
    """None, or any of them; `observers` by name, one named "estimator" is what the controller sees."""

    sensors: Sensors | None = None
    actuators: Actuators | None = None
    observers: tuple[tuple[str, Observer], ...] = field(default=(), compare=False)
    code: tuple[Any, ...] = field(init=False)  # what distinguishes the observers

    def __post_init__(self) -> None:
        object.__setattr__(self, "code", tuple((name, code_of(observer)) for name, observer in self.observers))

    @property
    def known(self) -> bool:
        """Whether all code is flexjoint's own, which may be kept on disk."""
        return all(isinstance(code, str) for _, code in self.code)

    @property
    def noisy(self) -> bool:
        return self.sensors is not None and self.sensors.noisy

    @property
    def smooth(self) -> Instruments:
        """What a linear analysis of the loop can see."""
        estimators = tuple(x for x in self.observers if x[0] == ESTIMATOR)
        sensors, actuators = self.sensors and self.sensors.smooth, self.actuators and self.actuators.smooth
        return Instruments(sensors, actuators, estimators)

    def sizes(self, robot: Robot) -> Memory:
        """How many numbers each array of the memory has."""
        return Memory(
            self.sensors.memory(robot) if self.sensors else [],
            self.actuators.memory(robot) if self.actuators else [],
            [list(observer.memory) for _, observer in self.observers],
            [list(observer.outputs.values()) for _, observer in self.observers],
        )

    def arrays(self, robot: Robot) -> list[Array]:
        """The memory as arrays of a kernel."""
        return [Array(f"instrument{k}", (size,)) for k, size in enumerate(self.sizes(robot).flat)]

    def memory(self, robot: Robot, arrays: Sequence[Any]) -> Memory:
        """The memory of its arrays."""
        given: Iterator[Any] = iter(arrays)
        return Memory(*([fill(part, given) for part in parts] for parts in self.sizes(robot)))

    def start(self, robot: Robot, state: JointState, torque: Any = 0.0) -> Memory:
        """At a state (..., n); at the very beginning of a run, or after motors gave a torque (..., motors)."""
        looking = bool(self.sensors or self.observers)
        measurement = Measurement(*state, spring_torques(robot)(*state) if looking else 0.0)
        sensors = self.sensors.start(robot, measurement) if self.sensors else []
        began = [observer.start(measurement) for _, observer in self.observers]
        return Memory(
            sensors,
            self.actuators.start(robot, torque) if self.actuators else [],
            [list(states) for states, _ in began],
            [[found[name] for name in observer.outputs] for (_, observer), (_, found) in zip(self.observers, began)],
        )

    # In a period ------------------------------------------------------------------------------------------

    def seen(self, robot: Robot, memory: Memory, state: JointState) -> JointState:
        """What the controller takes for the state."""
        if self.sensors:
            state = JointState(*split(robot, memory.sensors[-1])[:4])
        for (name, observer), outputs in zip(self.observers, memory.outputs):
            if name == ESTIMATOR:
                known = dict(zip(observer.outputs, outputs))
                state = state._replace(**{x: known[x] for x in JointState._fields if x in known})
        return state

    def torque(self, robot: Robot, period: float, memory: Memory, command: Any, first: Any) -> tuple[Memory, Any]:
        """What the motors give."""
        if not self.actuators:
            return memory, command
        waiting, tau = self.actuators.law(robot, period, memory.actuators, command, first)
        return memory._replace(actuators=waiting), tau

    def look(
        self, plant: Plant, period: float, memory: Memory, state: JointState, tau: Any, step: Any, stream: Stream | None
    ) -> Memory:
        """At the end of a period, with the number of the next one."""
        if not self.sensors and not self.observers:
            return memory
        measurement = Measurement(*state, plant.torques_on_links(state, tau))
        samples = memory.sensors
        if self.sensors:
            samples = self.sensors.law(plant.robot, period, samples, measurement, step, stream)
            measurement = split(plant.robot, samples[-1])
        found = [observer.checked_law(x, measurement, tau) for (_, observer), x in zip(self.observers, memory.states)]
        return Memory(
            samples,
            memory.actuators,
            [list(states) for states, _ in found],
            [[outputs[x] for x in observer.outputs] for (_, observer), (_, outputs) in zip(self.observers, found)],
        )

    # What is kept -----------------------------------------------------------------------------------------

    def columns(self, robot: Robot) -> dict[str, int]:
        """Names and sizes of what is kept of each period beside state and torque."""
        found = {"command": robot.motor_count} if self.actuators else {}
        if self.sensors:
            found |= {f"measured.{x}": size for x, size in zip(Measurement._fields, measurement_sizes(robot))}
        for name, observer in self.observers:
            found |= {f"{name}.{output}": size for output, size in observer.outputs.items()}
        return found

    def kept(self, memory: Memory, command: Any) -> list[Any]:
        """The columns themselves."""
        first = [command] if self.actuators else []
        return [*first, *memory.sensors[-1:], *(x for outputs in memory.outputs for x in outputs)]


NONE = Instruments()


@lru_cache(maxsize=64)
def spring_torques(robot: Robot) -> Kernel:
    """Torques on the links from a state; zero at rigid joints, whose motors are not yet on."""

    def function(*x: Any) -> list[tuple[Array, Any]]:
        return [(Array("tau_e", (robot.n,)), Plant(robot).torques_on_links(JointState(*x), zeros(robot.motor_count)))]

    return kernel_of(f"springs of {robot.name}", state_arrays(robot), function, type=None)


def fill(part: Any, given: Iterator[Any]) -> Any:
    return [next(given) for _ in part] if isinstance(part, list) else next(given)


def code_of(item: Any, *left_out: str) -> Any:
    """What tells a controller's or an observer's code: a text of the name and the fields of flexjoint's own, else the
    expressions of its law."""
    if not type(item).__module__.startswith("flexjoint.") or not is_dataclass(item):
        return expressions_of(item)
    own = {x.name: getattr(item, x.name) for x in fields(item) if x.compare and x.name not in left_out}
    plain = {name: plainly(x, *left_out) for name, x in own.items()}
    if any(isinstance(x, Observer | Controller | Expressions) for x in plain.values()):  # not flexjoint's own
        return expressions_of(item)
    return f"{type(item).__qualname__} {plain!r}"


def plainly(value: Any, *left_out: str) -> Any:
    """What says in full what a field is."""
    if isinstance(value, Robot):
        return value.digest
    if isinstance(value, Observer | Controller):
        return code_of(value, *left_out)
    if isinstance(value, Mapping):
        return {key: plainly(x, *left_out) for key, x in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value


def instruments_of(
    robot: Robot, period: float, sensors: Any, actuators: Any, estimator: Any, observers: Any
) -> Instruments:
    """Checked arguments of `simulate`."""
    for name, value, kind in (("sensors", sensors, Sensors), ("actuators", actuators, Actuators)):
        if value is not None and not isinstance(value, kind):
            raise InputError(f"simulate: {name} must be {kind.__name__}(...), not {value!r}")
    if not isinstance(observers or {}, Mapping):
        raise InputError(f"simulate: observers must be named, as {{'watch': Detector(...)}}, not {observers!r}")
    named = dict(observers or {})
    if ESTIMATOR in named:
        raise InputError(f"simulate: an observer that the controller sees is given as {ESTIMATOR}=, not in observers")
    if estimator is not None:
        named = {ESTIMATOR: estimator, **named}
    for name, observer in named.items():
        if not isinstance(observer, Observer):
            raise InputError(f"simulate: observer '{name}' must be an Observer, not {observer!r}")
        if (observer.robot.n, observer.robot.motor_count) != (robot.n, robot.motor_count):
            raise InputError(f"simulate: observer '{name}' was made for another number of joints or motors")
        if observer.period != period:
            raise InputError(f"simulate: observer '{name}' was made for {observer.period:g} s, not for {period:g} s")
    return Instruments(sensors, actuators, tuple(named.items()))
