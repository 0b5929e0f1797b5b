"""The component of a controller with its estimator, observers and detectors: what the real-time machine runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..checks import positive
from ..compiler.ir.program import Array
from ..control.base import Controller, JointState, memory_arrays, rows, torque_array
from ..errors import InputError, listed, shown
from ..observers.base import Measurement, Observer, measurement_sizes
from ..observers.residual import is_finite
from ..observers.timed import TimedObserver
from ..robot import Robot
from ..simulation.actuators import Actuators
from ..spatial import ca, sx, zeros
from ..trajectory import Trajectory, require_smoothness
from ..types import Expression
from .component import Columns, Component
from .loop_numbers import Numbers
from .loop_parts import ESTIMATOR, Parts, checked_parts, measured_arrays
from .pieces import Pieces, expression, pieces_of
from .samples import CLOCK, ELAPSED, EXACT, STAMP, Clock, Flag, Gate, Timing, gates, is_plausible, timing

BLIND, TORQUE = Array("blind", (), "s"), "tau_before"
REFUSED = Array("refused", ())  # number of samples that were ignored
POSITIONS = ("q", "theta")
SINCE = Array("since", (), "s")  # time along the trajectory
PERIODS_OF_PATIENCE = 10


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
    limits: bool = True,
) -> Component:
    """A controller with its observers and detectors as a component: one step per period, with time stamps.

    A step reads the measurements that the laws need, updates estimator and observers, and computes the torque, in the
    order of `simulate`: with the same samples it gives the same bits.  A sample that cannot be used leaves all states
    unchanged (samples.py); the torque is then that of the step before, and zero after `patience`.  The torque keeps the
    limits of torque and torque rate of the motors, as in `simulate` with `Actuators()`; its rate also in the first
    step, after `tau_before` of the state, zero by default.

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
        limits: Whether the limits of the robot act: on the torque, and as bounds of plausible samples; default True.

    Returns:
        A Component.  Its inputs are the time `t`, the measurements, the `reference` (rows, width) of the
        controller, q_d and its derivatives at each of its `times`, or the torque; its outputs `tau`, the outputs of the
        observers as `<name>_<output>`, and `flags`.

    Raises:
        InputError: There is no law, periods or robots differ, a path does not exist, or a motor has no torque limit.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> robot = fj.load("hua_3r")
        >>> loop = fj.deployment.online_loop(fj.control.MotorPD(robot, [500.0, 50.0]), period=1e-3, limits=False)
        >>> [array.name for array in loop.inputs]
        ['t', 'theta', 'theta_v', 'reference']
    """
    parts = checked_parts(controller, estimator, observers, period)
    robot, wait = parts.robot, patience if patience is not None else PERIODS_OF_PATIENCE * parts.period
    positive("online_loop", "patience", wait)
    if limits and controller is not None:
        require_torque_limits(robot)
    numbers = Numbers.of(parts, free, fold)
    measured = [x for x in measured_arrays(robot) if any(x.name in reads for reads in parts.reads.values())]
    inputs = [STAMP if stamps else ELAPSED, *measured]
    gated = {x.name: gate for x in measured if limits and (gate := gates(robot).get(x.name)) is not None}
    positions = [x._replace(name=f"{x.name}_before") for x in measured if x.name in gated and x.name in POSITIONS]
    own = [BLIND, REFUSED, torque_array(robot)._replace(name=TORQUE), *positions]
    state, outputs = [*CLOCK, *own], [Array("flags", ())]
    if controller is None:
        inputs.append(torque_array(robot)._replace(name="torque"))
    else:
        state += memory_arrays("memory", controller)
        if trajectory is None:
            inputs.append(Array("reference", (controller.rows, controller.width)))
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
            followed = [x for time in controller.times for x in expression(pieces, since + time, controller.order)]
            given = given | {"reference": ca.horzcat(*followed).T}
        laws, gains = numbers.put_into(parts, parameters), numbers.gains(parameters)
        known, implausible = plausible(gated, now, before, given)
        after, found = one_step(laws, gains, wait, limits, clock, now, before, known)
        if gated:
            found["flags"] += Flag.IMPLAUSIBLE * implausible
            last = {f"{x}_before": x for x in gated if x in POSITIONS}
            used = ca.logic_and(now.later, after[BLIND.name] == 0)
            after |= {name: ca.if_else(used, given[x], before[name]) for name, x in last.items()}
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


def plausible(gated: Mapping[str, Gate], now: Timing, before: Columns, given: Columns) -> tuple[Columns, Expression]:
    """The inputs, with NaN in place of quantities that the robot cannot have, and whether there are any."""
    passed, implausible = now.h + before[BLIND.name], sx(0)
    for name, gate in gated.items():
        x = given[name]
        last = ca.if_else(now.first, x, before[f"{name}_before"]) if name in POSITIONS else x
        wrong = ca.logic_not(is_plausible(gate, x, last, passed))
        given = given | {name: ca.if_else(wrong, sx(np.nan), x)}
        implausible = ca.logic_or(implausible, wrong)
    return given, implausible


def one_step(
    parts: Parts,
    gains: Sequence[Expression],
    patience: float,
    limits: bool,
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
    after[REFUSED.name] = before[REFUSED.name] + ca.logic_or(stale, invalid)
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
    if limits:
        command, tau = tau, Actuators().limited(robot, period, tau, before[TORQUE])
        flags += Flag.LIMITED * ca.logic_not(ca.logic_all(tau == command))
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


# Arguments -----------------------------------------------------------------------------------------------------------


def require_torque_limits(robot: Robot) -> None:
    """Refuse a robot with a motor whose torque nothing bounds."""
    if unbounded := [name for name, x in zip(robot.motor_names, robot.motor_efforts) if not np.isfinite(x)]:
        raise InputError(
            f"online_loop: {robot.name} has no torque limit at {listed(unbounded)}: give limits.effort of the joint or "
            "motor_limits.torque of its drive, or limits=False if the robot itself bounds its torques"
        )


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
