"""Is the sampled loop stable?  Asked before a run, at rest on the reference.

One period of robot, hold, controller and integrator maps the state to the next; its eigenvalues say whether deviations
grow.  Those of the compiled loop are taken by differences.  Only if they grow, the same map with the period as a symbol
tells instability of the robot itself, which belongs in a simulation, from that of too long a step or period, and gives
the period that would do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ..control.base import JointState, innermost
from ..control.open_loop import OpenLoop
from ..control.sampling import first_failure
from ..dynamics.links import gravity_torque
from ..errors import InputError
from ..spatial import ca, sx
from .instruments import NONE
from .integrators import INTEGRATORS
from .loop import Cut, Setup, loop_kernel
from .plant import Plant
from .rest import resting
from .stops import Pressed

DIFFERENCE = 1e-5  # rad, rad/s, Nm
SLOW = 0.05  # 1/s; growth below this is left to the run
ROUNDING = 1e-3  # 1/s; of eigenvalues


def check_stability(setup: Setup, cut: Cut, start: JointState, reference: np.ndarray, gains: np.ndarray) -> None:
    """Refuse a step or a period that makes a stable loop unstable; the error names the joint and the longest period.

    Parameters that differ from row to row are taken as they are in robot and controller.  Without a controller of
    flexjoint's the robot stands where the first run starts.
    """
    gains = gains if gains.ndim == 2 else setup.controller.gains
    if isinstance(innermost(setup.controller), OpenLoop):
        q, theta = (x.reshape(-1, x.shape[-1])[0] for x in (start.q, start.theta))
        place: Any = (q, 0 * q, theta, 0 * theta)
        stack = np.asarray(gravity_torque(setup.robot, q))[None, list(setup.robot.motor_joints)]
    else:
        stack = np.vstack([reference[0], *[0 * reference[0]] * setup.controller.order])
        place = resting(setup.robot, setup.controller, stack[0])
    state = [*place, *setup.controller.start(list(stack))]
    rate, joint = growth(by_differences(setup, cut, state, stack, gains), span(setup), setup.robot.n)
    if rate > SLOW:
        own = refuse_period(setup, None, state, stack, gains)
        if setup.instruments.smooth != NONE and rate > 1.5 * own + SLOW:
            raise InputError(
                "simulate: with its sensors, estimator and actuators the loop is unstable at rest at the beginning of "
                f"the reference, without them it is not: joint '{setup.robot.joints[joint].name}' grows at "
                f"{rate:.3g}/s; lower the gains or the delays; check=False simulates all the same"
            )
    if setup.stops:
        refuse_period(setup, Pressed(setup.stops, tuple(state[0])), state, stack, gains)


def refuse_period(
    setup: Setup, stops: Pressed | None, state: list[np.ndarray], stack: np.ndarray, gains: np.ndarray
) -> float:
    """The growth, 1/s, of robot and law themselves; an error if the period adds to it."""
    slopes_at, n, short = by_symbols(setup, stops, state, stack, gains), setup.robot.n, 1e-2 * setup.period
    own = max(growth(slopes_at(short), short, n)[0], 0.0)

    def added(h: float) -> float:
        return growth(slopes_at(h), h, n)[0] - 1.5 * own

    rate, joint = growth(slopes_at(setup.period), setup.period, n)
    if added(setup.period) <= SLOW:
        return own
    longest = first_failure(lambda h: added(h) <= ROUNDING, short, setup.period)
    where = "against the stops of its joints" if stops else "at rest at the beginning of the reference"
    raise InputError(
        f"simulate: with a period of {setup.period:g} s ({setup.integrator}, {setup.substeps} a period) the loop is "
        f"unstable {where}: joint '{setup.robot.joints[joint].name}' grows at "
        f"{rate:.3g}/s, and not by the robot's own fault; a period of at most {longest:.3g} s would do, or more "
        "substeps if it is the step that is too long; check=False simulates all the same"
    )


def span(setup: Setup) -> float:
    """The time after which the loop does the same again, s."""
    return setup.period * (setup.instruments.sensors.every if setup.instruments.sensors else 1)


def growth(J: np.ndarray, h: float, n: int) -> tuple[float, int]:
    """The fastest rate of growth, 1/s, of x⁺ = J x every h, and the joint that shows it most."""
    values, vectors = np.linalg.eig(J)
    worst = int(np.argmax(np.abs(values)))
    return float(np.log(max(abs(values[worst]), 1e-300)) / h), int(np.argmax(np.abs(vectors[:n, worst])))


def by_differences(
    setup: Setup, cut: Cut, state: list[np.ndarray], reference: np.ndarray, gains: np.ndarray
) -> np.ndarray:
    """∂x⁺/∂x of the compiled loop with instruments that are linear, over one period or as many as lie between samples.

    It is cut as for the run, whose kernel it is.  Counted from the second round on, as actuators begin the first one
    with commands of their own.
    """
    linear = replace(setup, free=(), changes=(), instruments=setup.instruments.smooth)
    block, loop, turns = cut.periods, loop_kernel(linear, cut), round(span(setup) / setup.period)
    place = JointState(*state[:4])
    x = [*state, *(np.asarray(y) for y in linear.instruments.start(setup.robot, place).flat)]
    ends = np.cumsum([len(part) for part in x])
    moved = np.concatenate(x) + DIFFERENCE * np.concatenate([np.eye(ends[-1]), -np.eye(ends[-1])])
    carried: Any = [*np.split(moved, ends[:-1], axis=1), float(turns), float(setup.robot.n)]
    references = loop.precomputed(np.broadcast_to(reference, (block, len(setup.samples), *reference.shape)))
    for _ in range(0, turns, block):
        _, *carried = loop.kernel(*carried, 2.0 * turns, references, gains)
    ahead, behind = np.split(np.concatenate(carried[:-2], axis=1), 2)
    return (ahead - behind).T / (2 * DIFFERENCE)


def by_symbols(
    setup: Setup, stops: Pressed | None, state: list[np.ndarray], reference: np.ndarray, gains: np.ndarray
) -> Callable[[float], np.ndarray]:
    """h -> ∂x⁺/∂x of one period of length h with held control: Φᵐ of m steps, and what the held torque adds."""
    plant, motors = Plant(setup.robot, setup.contact, stops), setup.robot.motor_count
    now, memory = JointState(*(ca.SX.sym("x", len(x)) for x in state[:4])), [ca.SX.sym("y", len(x)) for x in state[4:]]
    tau, h = ca.SX.sym("tau", motors), ca.SX.sym("h")
    columns = [[sx(row) for row in x] for x in (gains, reference)]
    after, torque = setup.controller.checked_law(columns[0], memory, columns[1], now)
    own = np.concatenate(state)
    law = directions([ca.vertcat(*now, *memory)], ca.vertcat(*after, torque))
    L = law(own)
    torque_there = np.array(ca.evalf(ca.substitute(torque, ca.vertcat(*now, *memory), ca.DM(own))))[:, 0]
    new = INTEGRATORS[setup.integrator](plant, 0.0, now, lambda *_: tau, h)
    step = directions([ca.vertcat(*now, tau), h], ca.vertcat(*new))
    size = sum(len(x) for x in state[:4])
    there = np.concatenate([own[:size], torque_there])

    def slopes(period: float) -> np.ndarray:
        J = step(there, period / setup.substeps)
        held = np.vstack([J, np.eye(motors, size + motors, size)])  # (x, τ) -> (x⁺, τ)
        whole = np.linalg.matrix_power(held, setup.substeps)[:size]
        moved = whole[:, size:] @ L[-motors:]
        moved[:, :size] += whole[:, :size]
        return np.vstack([moved, L[:-motors]])

    return slopes


def directions(inputs: list[Any], output: Any) -> Callable[..., np.ndarray]:
    """The Jacobian by the first of the inputs, in numbers, direction by direction: its expression would be long."""
    f = ca.Function("f", inputs, [ca.densify(output)])
    forward = f.forward(1)

    def jacobian(x: np.ndarray, *others: float) -> np.ndarray:
        y, still = f(x, *others), [0.0] * len(others)
        return np.hstack([np.array(forward(x, *others, y, along, *still)) for along in np.eye(len(x))])

    return jacobian
