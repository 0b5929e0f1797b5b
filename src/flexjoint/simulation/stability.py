"""Checks before a run that the sampled loop is stable at rest on the reference.

One period of robot, hold, controller and integrator maps the state to the next one; the eigenvalues of this map say
whether deviations grow.  They are computed from differences of the compiled loop.  Only if deviations grow, the same
map with the period as a symbol tells why:

- the robot itself is unstable under constant torques, which belongs in a simulation;
- the controller is unstable at every period, as one whose model lacks the couplings of complete rotors may be;
- the step or the period is too long, and then which is the longest that is stable.

A loop may be stable where the reference begins and not further on.  There a growth is refused that, over the time that
the reference stays, multiplies deviations by more than e^`EXPONENT`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..compiler.runtime.kernel import BLOCKS_FROM
from ..control.base import JointState, innermost
from ..control.open_loop import OpenLoop
from ..control.sampling import directions, first_failure, torque_at_rest
from ..dynamics.dynamic_extension import rotors_behind_springs
from ..errors import InputError
from ..spatial import ca, sx
from ..types import FloatArray
from .closed_loop import ClosedLoop
from .end_stops import AllStopsPressed
from .equilibrium import resting
from .initial_state import with_gears
from .instrumentation import NONE
from .integrators import INTEGRATORS
from .loop_kernel import Blocking, loop_kernel
from .moving_base import NUMBERS, sample_count
from .plant import Plant, PlantState, closed_gaps
from .push import PushedLink
from .records import flatten, unflatten
from .reference import Reference

DIFFERENCE = 1e-5  # rad, rad/s, Nm
SLOW = 0.05  # 1/s; growth below this is left to the run
ROUNDING = 1e-3  # 1/s; of eigenvalues
CONTINUOUS = 1e-2  # growth in a period so short that its length no longer matters
SHORTEST = 1e-6  # of the period
POSES = 5  # of a moving reference, at which the loop is linearized
BEGINNING = "at rest at the beginning of the reference"
EXPONENT = 10.0  # ∫ growth dt along the reference that a loop may have


class OperatingPoint(NamedTuple):
    """Where the loop is linearized: states of robot and controller, reference (rows, width), and gains.

    `free` has the values of the free parameters of the loop; without them the robot is the nominal one.
    """

    state: PlantState
    memory: Sequence[FloatArray]
    reference: FloatArray
    gains: FloatArray
    free: Sequence[FloatArray] = ()


def check_stability(
    loop: ClosedLoop, blocking: Blocking, start: PlantState, followed: Reference, times: FloatArray, gains: FloatArray
) -> None:
    """Refuse a controller, step or period that makes the loop unstable; the error names the joint and what helps.

    Parameters that differ from row to row are taken as they are in robot and controller.  Without a controller of
    flexjoint's the robot stands where the first run starts.
    """
    point = operating_point(loop, start, followed(times[0]), gains)
    rate, joint = growth(by_differences(loop, blocking, point), span(loop), loop.robot.n)
    if rate > SLOW:
        own = refuse_period(loop, None, point)
        if loop.instrumentation.smooth != NONE and rate > 1.5 * own + SLOW:
            raise InputError(
                "simulate: with its sensors, estimator and actuators the loop is unstable at rest at the beginning of "
                f"the reference, without them it is not: joint '{loop.robot.joints[joint].name}' grows at "
                f"{rate:.3g}/s; lower the gains or the delays; check=False simulates all the same"
            )
    check_poses(loop, blocking, start, followed, times, gains)
    if loop.stops:
        refuse_period(loop, AllStopsPressed(loop.stops, tuple(point.state.q)), point)
    if any(loop.robot.gear_losses):
        refuse_period(loop, None, point, stiffest=True)


def operating_point(loop: ClosedLoop, start: PlantState, reference: FloatArray, gains: FloatArray) -> OperatingPoint:
    """At rest on the reference; without a controller of flexjoint's, where the first run starts."""
    if isinstance(innermost(loop.controller), OpenLoop):
        q, theta = (x.reshape(-1, x.shape[-1])[0] for x in (start.q, start.theta))
        state = JointState(q, 0 * q, theta, 0 * theta)
        stack = loop.controller.constant_reference(torque_at_rest(loop.robot, q)[list(loop.robot.motor_joints)])
    else:
        stack = loop.controller.constant_reference(reference[0])
        state = resting(loop.robot, loop.controller, stack[0])
    memory = [*loop.controller.start(list(stack))]
    chosen = gains if gains.ndim == 2 else loop.controller.gains
    return OperatingPoint(with_gears(loop.robot, state), memory, stack, chosen)


def check_poses(
    loop: ClosedLoop, blocking: Blocking, start: PlantState, followed: Reference, times: FloatArray, gains: FloatArray
) -> None:
    """Refuse a loop that is unstable further along the reference, where couplings of complete rotors change with it."""
    if not rotors_behind_springs(loop.robot) or isinstance(innermost(loop.controller), OpenLoop):
        return
    chosen = times[np.linspace(0, len(times) - 1, POSES).round().astype(int)]
    rows = followed(chosen)
    if np.array_equal(rows[:, 0], np.broadcast_to(rows[0, 0], rows[:, 0].shape)):
        return
    stay = (times[-1] - times[0]) / (POSES - 1)
    for t, row in zip(chosen[1:], rows[1:]):
        point = operating_point(loop, start, row, gains)
        rate, _ = growth(by_differences(loop, blocking, point), span(loop), loop.robot.n)
        if rate * stay > EXPONENT:
            refuse_period(loop, None, point, where=f"at rest where the reference is at t = {t:.3g} s")


def refuse_period(
    loop: ClosedLoop,
    stops: AllStopsPressed | None,
    point: OperatingPoint,
    stiffest: bool = False,
    where: str = BEGINNING,
) -> float:
    """The growth, 1/s, of robot and law themselves; an error if the period adds to it, or the controller causes it.

    The robot's is that under constant torques, as of an arm that falls over; a law may have 1.5 times that.  `stiffest`
    looks at gears with closed gaps and hysteresis at its greatest slope.  There and against stops growth of the law
    itself is left to the run.
    """
    slopes_at, n, short = by_symbols(loop, stops, point, stiffest), loop.robot.n, 1e-2 * loop.period
    while growth(slopes_at(short), short, n)[0] * short > CONTINUOUS and short > SHORTEST * loop.period:
        short /= 10
    own, joint = growth(slopes_at(short), short, n)
    where = "against the stops of its joints" if stops else where
    where = f"{where}, where its gears are stiffest" if stiffest else where
    falling = max(growth(slopes_at(short, False), short, n)[0], 0.0)
    if own > 1.5 * falling + SLOW and not stops and not stiffest:
        raise InputError(
            f"simulate: with {type(loop.controller).__name__} the loop is unstable {where}, however short the period: "
            f"joint '{loop.robot.joints[joint].name}' grows at {own:.3g}/s; take other gains or another controller; "
            "check=False simulates all the same"
        )
    own = max(own, 0.0)

    def added(h: float) -> float:
        return growth(slopes_at(h), h, n)[0] - 1.5 * own

    rate, joint = growth(slopes_at(loop.period), loop.period, n)
    if added(loop.period) <= SLOW:
        return own
    longest = first_failure(lambda h: added(h) <= ROUNDING, short, loop.period)
    raise InputError(
        f"simulate: with a period of {loop.period:g} s ({loop.integrator}, substeps={loop.substeps}) the loop is "
        f"unstable {where}: joint '{loop.robot.joints[joint].name}' grows at "
        f"{rate:.3g}/s; take a period of at most {longest:.3g} s, or more substeps if the step is too long; "
        "check=False simulates all the same"
    )


def span(loop: ClosedLoop) -> float:
    """The time after which the loop does the same again, s."""
    return loop.period * (loop.instrumentation.sensors.every if loop.instrumentation.sensors else 1)


def growth(J: FloatArray, h: float, n: int) -> tuple[float, int]:
    """The fastest rate of growth, 1/s, of x⁺ = J x every h, and the joint that shows it most."""
    if not np.all(np.isfinite(J)):
        return np.inf, 0
    values, vectors = np.linalg.eig(J)
    worst = int(np.argmax(np.abs(values)))
    return float(np.log(max(abs(values[worst]), 1e-300)) / h), int(np.argmax(np.abs(vectors[:n, worst])))


def by_differences(loop: ClosedLoop, blocking: Blocking, point: OperatingPoint) -> FloatArray:
    """∂x⁺/∂x of the compiled loop with linear instruments, over one period or as many as lie between two samples.

    The kernel is that of the run, with its blocking.  The count begins with the second round, as actuators begin the
    first one with commands of their own.
    """
    contact = None if isinstance(loop.contact, PushedLink) else loop.contact  # a push has no slope
    free = loop.free if point.free else ()
    linear = replace(loop, free=free, changes=(), contact=contact, instrumentation=loop.instrumentation.smooth)
    compiled, turns = loop_kernel(linear, blocking), round(span(loop) / loop.period)
    instruments = linear.instrumentation.start(loop.robot, point.state)
    x = [np.asarray(part) for part in flatten((point.state, point.memory, instruments))]
    ends = np.cumsum([len(part) for part in x])
    moved = np.concatenate(x) + DIFFERENCE * np.concatenate([np.eye(ends[-1]), -np.eye(ends[-1])])
    stages = (blocking.periods, len(loop.stages), *point.reference.shape)
    given = np.broadcast_to(point.reference, stages)
    if loop.carried:  # at rest
        width = sample_count(loop.substeps) * NUMBERS
        given = np.concatenate([given.reshape(len(given), -1), np.zeros((len(given), width))], axis=1)
    references, after = compiled.precomputed(given), []
    # Fewer rows at a time than vector code is made for: code compiled for this check alone would take 0.5 s.
    for first in range(0, len(moved), BLOCKS_FROM - 1):
        rows = moved[first : first + BLOCKS_FROM - 1]
        state: Any = [*np.split(rows, ends[:-1], axis=1), float(turns), float(loop.robot.n)]
        for _ in range(0, turns, blocking.periods):
            _, *state = compiled.kernel(*state, 2.0 * turns, references, point.gains, *point.free)
        after.append(np.concatenate(state[:-2], axis=1))
    ahead, behind = np.split(np.concatenate(after), 2)
    return np.asarray((ahead - behind).T / (2 * DIFFERENCE))


def by_symbols(
    loop: ClosedLoop, stops: AllStopsPressed | None, point: OperatingPoint, stiffest: bool = False
) -> Callable[..., FloatArray]:
    """h -> ∂x⁺/∂x of one period of length h with held control: Φᵐ of m steps, and what the held torque adds.

    With `closed` False the torque is constant, and x is the state of the robot alone.
    """
    robot = closed_gaps(loop.robot) if stiffest else loop.robot
    plant, motors = Plant(robot, loop.contact, stops, stiffest=stiffest), robot.motor_count
    now = unflatten(point.state, [ca.SX.sym("x", len(x)) for x in flatten(point.state)])
    memory = [ca.SX.sym("y", len(x)) for x in point.memory]
    tau, h = ca.SX.sym("tau", motors), ca.SX.sym("h")
    gains, reference = ([sx(row) for row in x] for x in (point.gains, point.reference))
    after, torque = loop.controller.checked_law(gains, memory, reference, plant.seen(loop.controller, now))
    own, numbers = np.concatenate([*flatten(point.state), *point.memory]), ca.vertcat(*flatten(now), *memory)
    law = directions([numbers], ca.vertcat(*after, torque))
    L = law(own)
    torque_there = np.array(ca.evalf(ca.substitute(torque, numbers, ca.DM(own))))[:, 0]
    new = INTEGRATORS[loop.integrator](plant, 0.0, now, lambda *_: tau, h)
    step = directions([ca.vertcat(*flatten(now), tau), h], ca.vertcat(*flatten(new)))
    size = sum(len(x) for x in flatten(point.state))
    there = np.concatenate([own[:size], torque_there])

    def slopes(period: float, closed: bool = True) -> FloatArray:
        J = step(there, period / loop.substeps)
        held = np.vstack([J, np.eye(motors, size + motors, size)])  # (x, τ) -> (x⁺, τ)
        whole = np.linalg.matrix_power(held, loop.substeps)[:size]
        if not closed:
            return np.asarray(whole[:, :size])
        moved = whole[:, size:] @ L[-motors:]
        moved[:, :size] += whole[:, :size]
        keep = np.eye(len(L) - motors, size + len(L) - motors, size)
        share = min(period / loop.period, 1.0)  # of what the law changes its memory by in a period of its own
        return np.vstack([moved, keep + share * (L[:-motors] - keep)])

    return slopes
