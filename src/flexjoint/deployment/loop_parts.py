"""The laws of a loop, and what each of them reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..algorithm.compile import Outputs, program_of
from ..checks import positive
from ..compiler.ir.program import Array
from ..control.base import TORQUE_UNITS, UNITS, Controller, JointState, memory_arrays, rows, torque_array
from ..errors import InputError, shown
from ..observers.base import Measurement, Observer, measurement_sizes
from ..observers.timed import TimedObserver
from ..robot import Robot
from ..spatial import sx
from ..types import Expression

ESTIMATOR = "estimator"


class Parts(NamedTuple):
    """The laws of a loop; the controller may be None, the estimator is among the observers."""

    robot: Robot
    period: float
    controller: Controller | None
    observers: dict[str, Observer]
    reads: dict[str, tuple[str, ...]]  # fields of the measurement, by law; the controller's is ""

    @property
    def needed(self) -> list[str]:
        """Inputs that a new torque needs; for a loop without controller, all inputs except the time."""
        laws = ("", ESTIMATOR) if self.controller else tuple(self.reads)
        fields = [x for law in laws for x in self.reads.get(law, ())]
        return [*dict.fromkeys(fields), "reference" if self.controller else "torque"]


def checked_parts(
    controller: Controller | None,
    estimator: Observer | None,
    observers: Mapping[str, Observer] | None,
    period: float | None,
) -> Parts:
    """The laws, with their robot and period."""
    named = dict(observers or {})
    if ESTIMATOR in named:
        raise InputError("online_loop: an observer that the controller sees is given as estimator=, not in observers")
    if estimator is not None:
        named = {ESTIMATOR: estimator, **named}
    for name, observer in named.items():
        if not isinstance(observer, Observer):
            raise InputError(f"online_loop: observer '{name}' is {shown(observer)}; give one of fj.observers")
        if not name.isidentifier() or not name.isascii():
            raise InputError(f"online_loop: {shown(name)} names an observer in C; use letters, digits and underscores")
    if controller is not None and not isinstance(controller, Controller):
        raise InputError(f"online_loop: controller is {shown(controller)}; give one of fj.control")
    laws = [x for x in (controller, *named.values()) if x is not None]
    if not laws:
        raise InputError("online_loop: there is nothing to run; give a controller or observers")
    if estimator is not None and controller is None:
        raise InputError("online_loop: an estimator serves a controller; give it as observers={'state': estimator}")
    robot = laws[0].robot
    for law in laws[1:]:
        if (law.robot.n, law.robot.motor_count) != (robot.n, robot.motor_count):
            raise InputError(
                f"online_loop: {type(law).__name__} is for another number of joints or motors than "
                f"{type(laws[0]).__name__}; make all for the same robot"
            )
    periods = {float(x) for law in laws if (x := getattr(law, "period", None)) is not None}
    if period is not None:
        periods.add(positive("online_loop", "period", period))
    if len(periods) != 1:
        found = ", ".join(f"{x:g} s" for x in sorted(periods))
        raise InputError(
            f"online_loop: the laws have different periods, {found}; give all the same"
            if periods
            else "online_loop: period is missing; give the sampling period in s, such as period=1e-3"
        )
    if controller is not None and controller.commands_damping:
        raise InputError("online_loop: laws that command dampers are not exported; export the law without DampingRatio")
    read = fields_of_controller(controller) if controller is not None else ()
    if estimator is not None:
        named[ESTIMATOR] = estimator.giving(read)
        read = tuple(x for x in read if x not in named[ESTIMATOR].outputs)
    reads = {"": read} | {name: fields_of_observer(observer) for name, observer in named.items()}
    return Parts(robot, periods.pop(), controller, named, reads)


# What a law reads ----------------------------------------------------------------------------------------------------


def measured_arrays(robot: Robot) -> list[Array]:
    """The fields of a Measurement as arrays."""
    links, motors, units = tuple(x.name for x in robot.joints), robot.motor_names, {**UNITS, **TORQUE_UNITS}
    labels = {"theta": motors, "theta_v": motors}
    return [
        Array(name, (size,), units[name], labels.get(name, links))
        for name, size in zip(Measurement._fields, measurement_sizes(robot))
    ]


def used_fields(name: str, robot: Robot, more: Sequence[Array], law: Callable[..., Outputs]) -> tuple[str, ...]:
    """The fields of a Measurement that a law (measurement, *more) in SX depends on."""
    fields = measured_arrays(robot)

    def function(*columns: Expression) -> Outputs:
        return law(Measurement(*columns[: len(fields)]), *columns[len(fields) :])

    program = program_of(name, [*fields, *more], function)
    used = {program.inputs[op.args[0]].name for op in program.code if op.name == "input"}
    return tuple(x for x in Measurement._fields if x in used)


def fields_of_controller(controller: Controller) -> tuple[str, ...]:
    """The fields of a Measurement that a controller depends on."""
    states = memory_arrays("memory", controller)
    more = [*states, Array("reference", (controller.rows, controller.width))]

    def law(measurement: Measurement, *columns: Expression) -> Outputs:
        seen = measurement if controller.torque_sensors else JointState(*measurement[:4])
        gains = [sx(x) for x in controller.gains]
        after, tau = controller.checked_law(gains, columns[:-1], rows(columns[-1]), seen)
        return [*zip(states, after), (torque_array(controller.robot), tau)]

    return used_fields(type(controller).__name__, controller.robot, more, law)


def fields_of_observer(observer: Observer) -> tuple[str, ...]:
    """The fields of a Measurement that an observer depends on."""
    if isinstance(observer, TimedObserver):
        return tuple(observer.reads)
    states = [Array(f"state{k}", (size,)) for k, size in enumerate(observer.memory)]

    def law(measurement: Measurement, *columns: Expression) -> Outputs:
        after, found = observer.checked_law(columns[:-1], measurement, columns[-1])
        return [*zip(states, after), *((Array(x, (observer.outputs[x],)), y) for x, y in found.items())]

    return used_fields(type(observer).__name__, observer.robot, [*states, torque_array(observer.robot)], law)
