"""Sensors and actuators between robot and controller, and observers beside them: what they do in a period.

Each has a state of its own that goes from period to period.  In a period the controller reads the last sample, or what
an estimator makes of it; the actuators turn its command into a torque; and when the robot has moved, it is measured,
and the observers see the measurement and the torque.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple

from ..algorithm.algorithm import parameter_array
from ..algorithm.compile import kernel_of
from ..compiler.ir.program import Array
from ..compiler.runtime.kernel import Kernel
from ..control.base import Controller, JointState
from ..errors import InputError, quoted
from ..observers.base import Measurement, Observer, measurement_sizes
from ..robot import Robot
from ..robot.parameters import select_all, with_symbols
from ..spatial import zeros
from ..types import Expression, FloatArray, Scalar
from .actuators import Actuators
from .law_digests import code_of
from .noise import Stream
from .plant import Plant, PlantState, plant_arrays
from .records import flatten, unflatten
from .sensors import NOISES, Sensors, split

ESTIMATOR = "estimator"


class InstrumentState(NamedTuple):
    """The states of the instruments, and the last outputs of the observers; a list of arrays each."""

    sensors: list[Any]
    actuators: list[Any]
    observers: list[list[Any]]
    outputs: list[list[Any]]


@dataclass(frozen=True)
class Instrumentation:
    """Sensors, actuators and observers, any of which may be missing; the controller sees the one named "estimator".

    The standard deviations named in `free_noise` are inputs of the kernel, in place of those of the sensors.
    """

    sensors: Sensors | None = None
    actuators: Actuators | None = None
    observers: tuple[tuple[str, Observer], ...] = field(default=(), compare=False)
    free_noise: tuple[str, ...] = ()
    code: tuple[Any, ...] = field(init=False)  # what distinguishes the observers

    def __post_init__(self) -> None:
        object.__setattr__(self, "code", tuple((name, code_of(observer)) for name, observer in self.observers))

    @property
    def known(self) -> bool:
        """Whether all code is flexjoint's own, which may be kept on disk."""
        return all(isinstance(code, str) for _, code in self.code)

    @property
    def noisy(self) -> bool:
        """Whether a run takes random numbers."""
        return self.sensors is not None and (self.sensors.noisy or bool(self.free_noise))

    @property
    def smooth(self) -> Instrumentation:
        """What a linear analysis of the loop can see."""
        estimators = tuple(x for x in self.observers if x[0] == ESTIMATOR)
        sensors, actuators = self.sensors and self.sensors.smooth, self.actuators and self.actuators.smooth
        return Instrumentation(sensors, actuators, estimators)

    def sizes(self, robot: Robot) -> InstrumentState:
        """How many numbers each array of the state has."""
        return InstrumentState(
            self.sensors.memory(robot) if self.sensors else [],
            self.actuators.memory(robot) if self.actuators else [],
            [list(observer.memory) for _, observer in self.observers],
            [list(observer.outputs.values()) for _, observer in self.observers],
        )

    def start(
        self, robot: Robot, state: PlantState, torque: Any = 0.0, free: Mapping[str, FloatArray] | None = None
    ) -> InstrumentState:
        """At a state (..., n), at the beginning of a run or after the motors gave a torque (..., motors).

        `free` has values (..., *shape) of parameters of the robot, by path.
        """
        given, looking = free or {}, bool(self.sensors or self.observers)
        springs = spring_torques(robot, tuple(given))(*flatten(state), *given.values()) if looking else (0.0, 0.0)
        measurement = Measurement(*state.joints, *springs)
        sensors = self.sensors.start(robot, measurement) if self.sensors else []
        began = [observer.start(measurement) for _, observer in self.observers]
        return InstrumentState(
            sensors,
            self.actuators.start(robot, torque) if self.actuators else [],
            [list(states) for states, _ in began],
            [[found[name] for name in observer.outputs] for (_, observer), (_, found) in zip(self.observers, began)],
        )

    # In a period ------------------------------------------------------------------------------------------

    def seen(
        self, robot: Robot, instruments: InstrumentState, state: JointState | Measurement
    ) -> JointState | Measurement:
        """What the controller takes for the state, in SX or arrays: all that is measured if there are sensors."""
        seen = split(robot, instruments.sensors[-1]) if self.sensors else state
        for (name, observer), outputs in zip(self.observers, instruments.outputs):
            if name == ESTIMATOR:
                known = dict(zip(observer.outputs, outputs))
                seen = seen._replace(**{x: known[x] for x in seen._fields if x in known})
        return seen

    def torque(
        self, robot: Robot, period: float, instruments: InstrumentState, command: Expression, first: Scalar
    ) -> tuple[InstrumentState, Expression]:
        """What the motors give; `first` says that the run begins."""
        if not self.actuators:
            return instruments, command
        waiting, tau = self.actuators.law(robot, period, instruments.actuators, command, first)
        return instruments._replace(actuators=waiting), tau

    def observe(
        self,
        plant: Plant,
        period: float,
        instruments: InstrumentState,
        state: PlantState,
        tau: Expression,
        step: Scalar,
        noise: Stream | None,
        deviations: Mapping[str, Expression],
    ) -> InstrumentState:
        """At the end of a period; `step` is the number of the next one."""
        if not self.sensors and not self.observers:
            return instruments
        measurement = plant.measurement(state, tau)
        samples = instruments.sensors
        if self.sensors:
            samples = self.sensors.law(plant.robot, period, samples, measurement, step, noise, deviations)
            measurement = split(plant.robot, samples[-1])
        pairs = zip(self.observers, instruments.observers)
        found = [observer.checked_law(x, measurement, tau) for (_, observer), x in pairs]
        return InstrumentState(
            samples,
            instruments.actuators,
            [list(states) for states, _ in found],
            [[outputs[x] for x in observer.outputs] for (_, observer), (_, outputs) in zip(self.observers, found)],
        )

    # What is recorded -------------------------------------------------------------------------------------

    def columns(self, robot: Robot) -> dict[str, int]:
        """Names and sizes of what is recorded of each period beside state and torque."""
        found = {"command": robot.motor_count} if self.actuators else {}
        if self.sensors:
            found |= {f"measured.{x}": size for x, size in zip(Measurement._fields, measurement_sizes(robot))}
        for name, observer in self.observers:
            found |= {f"{name}.{output}": size for output, size in observer.outputs.items()}
        return found

    def recorded(self, instruments: InstrumentState, command: Expression) -> list[Expression]:
        """The columns themselves."""
        first = [command] if self.actuators else []
        return [*first, *instruments.sensors[-1:], *(x for outputs in instruments.outputs for x in outputs)]


NONE = Instrumentation()


@lru_cache(maxsize=64)
def spring_torques(robot: Robot, free: tuple[str, ...] = ()) -> Kernel:
    """Torques on the links and their rates from a state and values of `free` parameters.

    Both are zero at rigid joints, whose motors are not yet on.
    """
    selected, like = select_all(robot, free), plant_arrays(robot)
    count = len(flatten(like))

    def function(*x: Expression) -> list[tuple[Array, Expression]]:
        numbers = {path: y[e] for p, y in zip(selected, x[count:]) for e, path in enumerate(p.elements)}
        state = unflatten(like, x[:count])
        found = Plant(with_symbols(robot, numbers)).measurement(state, zeros(robot.motor_count))
        return [(Array(name, (robot.n,)), getattr(found, name)) for name in ("tau_e", "tau_e_v")]

    inputs = [*flatten(like), *map(parameter_array, selected)]
    return kernel_of(f"springs of {robot.name}", inputs, function)


def perfect_sensors(robot: Robot, controller: Controller, state: PlantState) -> JointState | Measurement:
    """What a controller sees of a state (..., n) without sensors in between."""
    if not controller.torque_sensors:
        return state.joints
    return Measurement(*state.joints, *spring_torques(robot)(*flatten(state)))


def checked_instrumentation(
    robot: Robot,
    period: float,
    sensors: Any,
    actuators: Any,
    estimator: Any,
    observers: Any,
    noise: Iterable[str] = (),
    ideal: bool = False,
) -> Instrumentation:
    """The arguments of `simulate`, checked; `ideal` stands for perfect sensors where none are given."""
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
            raise InputError(
                f"simulate: observer '{name}' was made for another number of joints or motors; make it for this robot"
            )
        if observer.period != period:
            raise InputError(
                f"simulate: observer '{name}' was made for {observer.period:g} s, not for {period:g} s; give both the "
                "same period"
            )
    if estimator is not None:
        for name, size in zip(Measurement._fields, measurement_sizes(robot)):
            if estimator.outputs.get(name, size) != size:
                raise InputError(
                    f"simulate: the estimator has {estimator.outputs[name]} as the size of its output '{name}', which "
                    f"replaces a measurement of {size} numbers; give {name} that size, or another name"
                )
    for name in noise:
        if name not in NOISES:
            raise InputError(f"simulate: there is no noise {quoted(name)!r}; choose from {', '.join(NOISES)}")
        if sensors is None:
            raise InputError("simulate: noise= belongs to sensors; give sensors=fj.simulation.Sensors() too")
    chosen = Sensors() if ideal and sensors is None else sensors
    return Instrumentation(chosen, actuators, tuple(named.items()), tuple(noise))
