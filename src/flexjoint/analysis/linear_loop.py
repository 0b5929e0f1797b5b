"""Linear models of a robot under a controller, in continuous time or sampled.

A law gives the torque τ = L_x x + L_y y + L_r r, y its memory, r the reference with its derivatives.  In continuous
time x' = A x + B (τ + d) with d what is added to the torque.  Sampled with held torques

    x⁺ = Φ x + Γ (τ + d),    y⁺ = M_x x + M_y y + M_r r,

exactly for the linear robot.  Cut at a motor, its torque is d alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..checks import duration, finite
from ..control.base import Controller, JointState, innermost
from ..control.open_loop import OpenLoop
from ..control.sampling import directions
from ..errors import InputError, listed, shown
from ..robot import Robot
from ..simulation.equilibrium import resting
from ..simulation.plant import Plant
from ..spatial import ca, sx, total
from ..types import Expression, FloatArray
from .linear_model import LinearModel, held


class LoopPoint(NamedTuple):
    """Where a loop rests: state of the robot, memory of the law, reference (order + 1, width), torque (m,)."""

    state: JointState
    memory: tuple[FloatArray, ...]
    reference: FloatArray
    tau: FloatArray


class LawSlopes(NamedTuple):
    """Derivatives of the torque and of the next memory by the state x, the memory and the reference."""

    torque: tuple[FloatArray, FloatArray, FloatArray]
    memory: tuple[FloatArray, FloatArray, FloatArray]


def at_reference(robot: Robot, controller: Controller, reference: ArrayLike | JointState) -> LoopPoint:
    """Where a loop rests on a reference."""
    if not isinstance(controller, Controller) or isinstance(innermost(controller), OpenLoop):
        raise InputError(f"linearize: controller is {shown(controller)}; give one of fj.control, such as MotorPD")
    if isinstance(reference, JointState):
        raise InputError("linearize: under a controller, state is the reference at which the loop rests, an array")
    row = finite("linearize", "state", reference)
    if row.shape != (controller.width,):
        raise InputError(
            f"linearize: state has shape {row.shape}; the reference of {type(controller).__name__} is "
            f"({controller.width},) numbers"
        )
    state = resting(robot, controller, row)
    stack = np.vstack([row, *[0 * row] * controller.order])
    begins = controller.start(list(controller.constant_reference(row)))
    memory = tuple(np.asarray(x, dtype=float) for x in begins)
    return LoopPoint(state, memory, stack, law_torque(robot, controller, state, memory, stack))


def law_torque(robot: Robot, controller: Controller, state: JointState, memory: Any, stack: Any) -> FloatArray:
    """Torque of the law at rest; a law that reads torque sensors sees those of the springs."""
    x, y, r, found = law(robot, controller, memory)
    values = [*map(np.asarray, free_state(robot, state)), np.concatenate([*memory, []]), stack.ravel()]
    numbers = ca.DM(np.concatenate(values))
    return np.array(ca.evalf(ca.substitute(found[-1], ca.vertcat(*x, y, r), numbers)))[:, 0]


def free_state(robot: Robot, state: JointState) -> tuple[FloatArray, FloatArray]:
    """Free coordinates and their velocities: those of the links and of the motors behind springs."""
    behind = Plant(robot).behind
    q, v, theta, theta_v = map(np.asarray, state)
    return np.concatenate([q, theta[behind]]), np.concatenate([v, theta_v[behind]])


def law(
    robot: Robot, controller: Controller, memory: Sequence[FloatArray]
) -> tuple[tuple[Expression, Expression], Expression, Expression, list[Expression]]:
    """Symbols of the free state, of the memory and of the reference; the next memory and the torque in them."""
    plant = Plant(robot)
    count = robot.n + len(plant.behind)
    x, w = ca.SX.sym("x", count), ca.SX.sym("w", count)
    y = [ca.SX.sym("y", len(part)) for part in memory]
    r = ca.SX.sym("r", controller.width * (controller.order + 1))
    stack = ca.vertsplit(r, controller.width)
    reference = [x for time in controller.times for x in shifted(stack, time)]
    seen = plant.seen(controller, plant.state(x, w))
    after, torque = controller.checked_law([sx(row) for row in controller.gains], y, reference, seen)
    return (x, w), ca.vertcat(*y) if y else ca.SX(0, 1), r, [*after, torque]


def shifted(stack: Sequence[Expression], time: float) -> list[Expression]:
    """[r, r', ...] at a later time, or an earlier one, by the Taylor series of its rows."""
    terms = [time**k / factorial(k) for k in range(len(stack))]
    return [total(c * x for c, x in zip(terms, stack[k:])) for k in range(len(stack))]


def law_slopes(robot: Robot, controller: Controller, point: LoopPoint) -> LawSlopes:
    """Derivatives of a law at rest."""
    x, y, r, found = law(robot, controller, point.memory)
    numbers = np.concatenate([*free_state(robot, point.state), *point.memory, point.reference.ravel()])
    J = directions([ca.vertcat(*x, y, r)], ca.vertcat(*found))(numbers)
    ends = np.cumsum([2 * x[0].numel(), y.numel()])
    rows = y.numel()
    torque, memory = (tuple(np.split(part, ends, axis=1)) for part in (J[rows:], J[:rows]))
    return LawSlopes(torque, memory)  # type: ignore[arg-type]


def under_control(
    model: LinearModel, controller: Controller, point: LoopPoint, period: float | None, open_at: str | None
) -> LinearModel:
    """The linear model of a robot under a controller, sampled if there is a period."""
    robot = model.robot
    if period is None and point.memory:
        raise InputError(
            f"linearize: {type(controller).__name__} has a memory, which changes once per period: give period=..."
        )
    own = getattr(controller, "period", period)
    if period is not None and own != period:
        raise InputError(f"linearize: period is {period:g} s, that of the controller {own:g} s; give the same")
    h = 0.0 if period is None else duration("linearize", "period", period)
    slopes, closed = law_slopes(robot, controller, point), np.ones((robot.motor_count, 1))
    if open_at is not None:
        if open_at not in robot.motor_names:
            raise InputError(f"linearize: there is no motor '{open_at}'; there are {listed(robot.motor_names)}")
        closed[robot.motor_names.index(open_at)] = 0.0
    torque = [closed * part for part in slopes.torque]
    loads = [name for name in model.columns if name.startswith("load.")]
    B_d = np.stack([model.columns[name] for name in loads], axis=1)
    A, B = (model.A, model.B)
    if h:
        A, both = held(model.A, np.hstack([model.B, B_d]), h)
        B, B_d = np.split(both, [model.B.shape[1]], axis=1)
    size, memory = len(A), len(slopes.memory[0])
    none = np.zeros((memory, B.shape[1]))
    A_closed = np.block([[A + B @ torque[0], B @ torque[1]], [slopes.memory[0], slopes.memory[1]]])
    followed = np.vstack([B @ torque[2], slopes.memory[2]])
    names = reference_names(robot, controller)
    columns = {f"tau.{name}": np.append(B[:, k], none[:, k]) for k, name in enumerate(model.inputs)}
    columns |= {name: np.append(B_d[:, k], np.zeros(memory)) for k, name in enumerate(loads)}
    columns |= {name: followed[:, k] for k, name in enumerate(names)}
    states = (*model.states, *(f"memory[{k}]" for k in range(memory)))
    rows = closed_rows(model, slopes, torque, names, loads)
    C, D = np.eye(robot.n, size + memory), np.zeros((robot.n, len(model.inputs)))
    return LinearModel(A_closed, np.vstack([B, none]), C, D, states, model.inputs, columns, rows, robot, period=h)


def reference_names(robot: Robot, controller: Controller) -> list[str]:
    """Names of the inputs of the reference, by derivative."""
    joints = [joint.name for joint in robot.joints]
    more = [f"stiffness.{joints[i]}" for i in robot.motor_joints[robot.n :]][: controller.width - robot.n]
    kinds = ["reference", *(f"reference_d{k}" for k in range(1, controller.order + 1))]
    return [f"{kind}.{name}" for kind in kinds for name in (*joints, *more)]


def closed_rows(
    model: LinearModel,
    slopes: LawSlopes,
    torque: Sequence[FloatArray],
    names: Sequence[str],
    loads: Sequence[str],
) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Rows of C and of D by output: τ = d + L_x x + L_y y + L_r r in those of the robot, then command and error."""
    n, m, robot = len(model.states), len(model.inputs), model.robot
    found = {}
    for name, (c, d) in model.rows.items():
        by_torque, by_load = np.split(d, [m])
        c_closed = np.concatenate([c + by_torque @ torque[0], by_torque @ torque[1]])
        found[name] = c_closed, np.concatenate([by_torque, by_load, by_torque @ torque[2]])
    still, memory = np.zeros(m + len(loads)), slopes.torque[1].shape[1]
    for k, name in enumerate(model.inputs):
        by_state = np.concatenate([slopes.torque[0][k], slopes.torque[1][k]])
        found[f"command.{name}"] = by_state, np.concatenate([still, slopes.torque[2][k]])
    for i, joint in enumerate(robot.joints):
        asked = np.array([float(name == f"reference.{joint.name}") for name in names])
        found[f"error.{joint.name}"] = -np.eye(n + memory)[i], np.concatenate([still, asked])
    return found
