"""The component of a controller with its estimator, observers and detectors: what the real-time machine runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..algorithm.algorithm import parameter_array
from ..algorithm.compile import Outputs, program_of
from ..checks import positive
from ..compiler.ir.program import Array
from ..control.base import TORQUE_UNITS, UNITS, Controller, JointState, innermost, memory_arrays, rows, torque_array
from ..errors import InputError, shown
from ..observers.base import Measurement, Observer, measurement_sizes
from ..observers.residual import is_finite
from ..observers.timed import TimedObserver
from ..robot import Robot
from ..robot.parameters import select_all
from ..spatial import ca, sx, zeros
from ..trajectory import Trajectory, require_smoothness
from ..types import Expression, FloatArray
from .component import Columns, Component
from .free_numbers import detectors_in, with_free_numbers
from .pieces import Pieces, expression, pieces_of
from .samples import CLOCK, ELAPSED, EXACT, STAMP, Clock, Flag, Timing, timing

ESTIMATOR = "estimator"
BLIND, TORQUE = Array("blind", (), "s"), "tau_before"
SINCE = Array("since", (), "s")  # time along the trajectory
PERIODS_OF_PATIENCE = 10


class Parts(NamedTuple):
    """The laws of a loop; the controller may be None, the estimator is among the observers."""

    robot: Robot
    period: float
    controller: Controller | None
    observers: dict[str, Observer]
    reads: dict[str, tuple[str, ...]]  # fields of the measurement, by law; the controller's is ""

    @property
    def needed(self) -> list[str]:
        """The inputs without which a step gives no new torque; of a loop without controller all but the time."""
        laws = ("", ESTIMATOR) if self.controller else tuple(self.reads)
        fields = [x for law in laws for x in self.reads.get(law, ())]
        return [*dict.fromkeys(fields), "reference" if self.controller else "torque"]


def online_loop(
    controller: Controller | None = None,
    *,
    estimator: Observer | None = None,
    observers: Mapping[str, Observer] | None = None,
    trajectory: Trajectory | None = None,
    period: float | None = None,
    free: Sequence[str] = (),
    fold: bool = False,
    patience: float | None = None,
    stamps: bool = True,
) -> Component:
    """A controller with its observers and detectors as a component: one step per period, with time stamps.

    A step reads the measurements that the laws need, updates estimator and observers, and computes the torque, in the
    order of `simulate`: with the same samples it gives the same bits.  A sample that cannot be used leaves all states
    unchanged (samples.py); the torque is then that of the step before, and zero after `patience`.

    Args:
        controller: A control law; by default none, the component then observes only and takes the torque as an input.
        estimator: An observer whose outputs replace measurements of the controller, as in `simulate`; default none.  A
            VelocityEstimator gives and reads only what the controller needs.
        observers: Observers and detectors by name; default none.
        trajectory: Motion that the controller follows, from the time of the first usable sample on, at rest before and
            after it; it is written into the code as polynomials (pieces.py).  By default the reference is an input.
        period: Sampling period, s; by default that of a law inside.
        free: Parameters of the robot that may change at run time, by paths or patterns such as `("tool.mass",)`;
            default none.
        fold: Whether gains and thresholds are constants of the code, instead of parameters; default False.
        patience: Time without a usable sample after which the torque is zero, s; default 10 periods.
        stamps: Whether a step takes the time stamp `t` of its sample, as by default, or the time `elapsed` since the
            sample before.

    Returns:
        A Component.  Its inputs are the time `t`, the measurements, the `reference` (order + 1, width) of the
        controller or the torque; its outputs `tau`, the outputs of the observers as `<name>_<output>`, and `flags`.

    Raises:
        InputError: There is no law, periods or robots differ, or a path does not exist.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> robot = fj.load("hua_3r")
        >>> loop = fj.deployment.online_loop(fj.control.MotorPD(robot, [500.0, 50.0]), period=1e-3)
        >>> [array.name for array in loop.inputs]
        ['t', 'theta', 'theta_v', 'reference']
    """
    parts = checked_parts(controller, estimator, observers, period)
    robot, wait = parts.robot, patience if patience is not None else PERIODS_OF_PATIENCE * parts.period
    positive("online_loop", "patience", wait)
    numbers = Numbers.of(parts, free, fold)
    measured = [x for x in measured_arrays(robot) if any(x.name in reads for reads in parts.reads.values())]
    inputs = [STAMP if stamps else ELAPSED, *measured]
    own = [BLIND, torque_array(robot)._replace(name=TORQUE)]
    state, outputs = [*CLOCK, *own], [Array("flags", ())]
    if controller is None:
        inputs.append(torque_array(robot)._replace(name="torque"))
    else:
        state += memory_arrays("memory", controller)
        if trajectory is None:
            inputs.append(Array("reference", (controller.order + 1, controller.width)))
        else:
            state.append(SINCE)
        outputs = [torque_array(robot), *outputs]
    for name, observer in parts.observers.items():
        state += [Array(f"{name}_state{k}", (size,)) for k, size in enumerate(observer.memory)]
        outputs += [Array(f"{name}_{output}", (size,)) for output, size in observer.outputs.items()]

    pieces = None if trajectory is None else checked_pieces(trajectory, controller)

    def law(before: Columns, given: Columns, parameters: Columns) -> tuple[Columns, Columns]:
        clock = Clock(*(before[x.name] for x in CLOCK))
        now = timing(clock, given.get("t", clock.stamp), given.get("elapsed"), parts.period)
        along: Columns = {}
        if pieces is not None and controller is not None:
            since = ca.if_else(now.first, 0, before[SINCE.name] + now.h)
            along[SINCE.name] = ca.if_else(now.later, since, before[SINCE.name])
            given = given | {"reference": ca.horzcat(*expression(pieces, since, controller.order)).T}
        laws, gains = numbers.put_into(parts, parameters), numbers.gains(parameters)
        after, found = one_step(laws, gains, wait, clock, now, before, given)
        return after | along, found

    what = " and ".join(type(x).__name__ for x in (controller, *parts.observers.values()) if x is not None)
    return Component(
        name=f"{what} of {robot.name}",
        robot=robot,
        period=parts.period,
        state=tuple(state),
        initial=tuple(np.zeros(array.shape) for array in state),
        parameters=numbers.arrays,
        nominal=numbers.values,
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        law=law,
    )


# One step in SX -------------------------------------------------------------------------------------------------------


def one_step(
    parts: Parts,
    gains: Sequence[Expression],
    patience: float,
    clock: Clock,
    now: Timing,
    before: Columns,
    given: Columns,
) -> tuple[Columns, Columns]:
    """The next state and the outputs, by name."""
    robot, period = parts.robot, parts.period
    last = ca.if_else(now.first, 0, before[TORQUE]) if parts.controller else given["torque"]
    after: Columns = {}
    outputs: Columns = {}
    seen = Measurement(*(given.get(x) for x in Measurement._fields))
    known = seen
    for name, observer in parts.observers.items():
        sample = Measurement(*(x if y in parts.reads[name] else None for x, y in zip(seen, Measurement._fields)))
        found = observed(observer, name, before, sample, last, now)
        after |= found.state
        outputs |= {f"{name}_{x}": y for x, y in found.outputs.items()}
        if name == ESTIMATOR:
            known = known._replace(**{x: y for x, y in found.outputs.items() if x in Measurement._fields})
    good = ca.logic_and(now.later, is_finite(ca.vertcat(*(ca.vec(given[x]) for x in parts.needed))))
    flags = Flag.FIRST * ca.logic_and(now.first, good) + Flag.MISSED * now.missed + Flag.RESTARTED * now.restarted
    stale = ca.logic_and(ca.logic_not(now.later), now.h <= 0)
    invalid = ca.logic_not(ca.logic_or(stale, good))
    flags += Flag.STALE * stale + Flag.INVALID * invalid
    kept = clock._replace(stale=clock.stale + stale)
    after |= {x.name: ca.if_else(now.later, new, old) for x, new, old in zip(CLOCK, now.clock, kept)}
    passed = ca.if_else(now.later, now.h, period)
    if parts.controller is None:
        after |= {"blind": ca.if_else(good, 0, before["blind"] + passed), TORQUE: zeros(robot.motor_count)}
        return after, {**outputs, "flags": flags}

    memory, tau = controlled(parts.controller, gains, before, given["reference"], known, now.first)
    good = ca.logic_and(good, is_finite(ca.vertcat(tau, *memory.values())))
    after |= {x: ca.if_else(good, y, before[x]) for x, y in memory.items()}
    blind = ca.if_else(good, 0, before["blind"] + passed)
    released = blind > patience * (1 + EXACT)  # sums of periods are rounded
    tau = ca.if_else(good, tau, ca.if_else(released, 0, before[TORQUE]))
    flags += ca.if_else(good, 0, ca.if_else(released, sx(int(Flag.RELEASED)), sx(int(Flag.HELD))))
    after |= {"blind": blind, TORQUE: tau}
    return after, {"tau": tau, "flags": flags, **outputs}


class Observed(NamedTuple):
    """State and outputs of an observer after a sample, by name."""

    state: Columns
    outputs: Columns


def observed(
    observer: Observer, name: str, before: Columns, sample: Measurement, torque: Expression, now: Timing
) -> Observed:
    """An observer after a sample."""
    names = [f"{name}_state{k}" for k in range(len(observer.memory))]
    state = [before[x] for x in names]
    if isinstance(observer, TimedObserver):  # it decides itself which samples it uses
        found, outputs = observer.checked_step(state[0], now.h, sample, torque)
        kept = ca.if_else(is_finite(found), found, state[0])
        return Observed({names[0]: kept}, outputs)
    followed, outputs = observer.checked_law(state, sample, torque)
    began, first = observer.start(sample)
    used = ca.logic_and(now.later, is_finite(ca.vertcat(*(x for x in sample if x is not None))))
    new = [ca.if_else(now.first, sx(x), y) for x, y in zip(began, followed)]
    outputs = {x: ca.if_else(now.first, sx(first[x]), y) for x, y in outputs.items()}
    return Observed({x: ca.if_else(used, y, z) for x, y, z in zip(names, new, state)}, outputs)


def controlled(
    controller: Controller,
    gains: Sequence[Expression],
    before: Columns,
    reference: Expression,
    seen: Measurement,
    first: Expression,
) -> tuple[Columns, Expression]:
    """The memory of a controller after a sample, by name, and its torque."""
    stack = rows(reference)
    names = [array.name for array in memory_arrays("memory", controller)]
    began = [sx(x) for x in controller.start(stack)]
    state = [ca.if_else(first, x, before[name]) for x, name in zip(began, names)]
    sizes = measurement_sizes(controller.robot)
    complete = Measurement(*(zeros(size) if x is None else x for x, size in zip(seen, sizes)))
    measurement = complete if controller.torque_sensors else JointState(*complete[:4])
    found, tau = controller.checked_law(gains, state, stack, measurement)
    return dict(zip(names, found)), tau


# Numbers that may change at run time ----------------------------------------------------------------------------------


class Numbers(NamedTuple):
    """The parameters of a loop: gains, thresholds, and numbers of the robot."""

    arrays: tuple[Array, ...]
    values: tuple[FloatArray, ...]
    gain_rows: tuple[str, ...]  # names of the rows of gains that are parameters
    folded: FloatArray  # the gains
    levels: dict[int, str]  # detectors by `id`, and the parameter of their thresholds
    paths: dict[str, tuple[str, ...]]  # elements of the robot's parameters

    @classmethod
    def of(cls, parts: Parts, free: Sequence[str], fold: bool) -> Numbers:
        laws = [x for x in (parts.controller, *parts.observers.values()) if x is not None]
        arrays: list[Array] = []
        values: list[FloatArray] = []
        gains = parts.controller.gains if parts.controller else np.zeros((0, 0))
        names: tuple[str, ...] = ()
        if parts.controller is not None and not fold:
            names = tuple(innermost(parts.controller).gain_names)
            if len(names) != len(gains) or len(set(names)) != len(names):
                names = tuple(f"gains{k}" for k in range(len(gains)))
            labels = tuple(joint.name for joint in parts.robot.joints)
            wide = gains.shape[1:] == (len(labels),)
            arrays += [Array(x, gains.shape[1:], "", labels if wide else ()) for x in names]
            values += [*gains]
        detectors = [x for law in laws for x in detectors_in(law)]
        levels: dict[int, str] = {}
        if not fold:
            for detector in detectors:
                name = "threshold" + (str(len(levels)) if len(detectors) > 1 else "")
                levels[id(detector)] = name
                labels = tuple(f"{x} {k + 1}" for x, y in detector.thresholds.items() for k in range(len(y)))
                arrays.append(Array(name, detector.level.shape, "Nm | N", labels))
                values.append(detector.level)
        chosen = select_all(parts.robot, tuple(free))
        arrays += [parameter_array(x) for x in chosen]
        values += [np.asarray(x.value, dtype=float) for x in chosen]
        return cls(tuple(arrays), tuple(values), names, gains, levels, {x.path: x.elements for x in chosen})

    def gains(self, parameters: Columns) -> list[Expression]:
        """The rows of gains."""
        return [parameters[x] for x in self.gain_rows] if self.gain_rows else [sx(x) for x in self.folded]

    def put_into(self, parts: Parts, parameters: Columns) -> Parts:
        """The laws with the parameters in place of their numbers."""
        if not self.levels and not self.paths:
            return parts
        numbers = {x: parameters[path][k] for path, elements in self.paths.items() for k, x in enumerate(elements)}
        levels = {key: parameters[name] for key, name in self.levels.items()}
        controller = None if parts.controller is None else with_free_numbers(parts.controller, numbers, levels)
        observers = {name: with_free_numbers(x, numbers, levels) for name, x in parts.observers.items()}
        return parts._replace(controller=controller, observers=observers)


# Arguments ------------------------------------------------------------------------------------------------------------


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
    more = [*states, Array("reference", (controller.order + 1, controller.width))]

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


def checked_pieces(trajectory: Trajectory, controller: Controller | None) -> Pieces:
    """The motion as polynomials; refuses one that the controller cannot follow."""
    if controller is None:
        raise InputError("online_loop: a trajectory is followed by a controller; give one")
    if not isinstance(trajectory, Trajectory):
        raise InputError(f"online_loop: trajectory is {shown(trajectory)}; give one of fj.trajectory")
    if trajectory.n != controller.width:
        raise InputError(
            f"online_loop: the trajectory has {trajectory.n} columns; the controller takes {controller.width}"
        )
    require_smoothness(trajectory, controller.order)
    return pieces_of(trajectory, controller.order)


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
