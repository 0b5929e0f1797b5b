"""Inverse dynamics along a trajectory, for every robot: `inverse_dynamics_along`.

Without damping each sample stands for itself, and all are computed in one batch.  Damped springs remember: the samples
are computed one after the other by `inverse_dynamics_step`, from rest equilibrium at the first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ..algorithm.compile import compile
from ..algorithm.structure import flatten
from ..checks import finite, real
from ..errors import NOT_NUMBERS, InputError, NonFiniteError, shown
from ..robot import Robot, numeric
from ..types import FloatArray
from .drivetrain.orders import stiffness_order
from .inverse import FilteredMotion, MotorMotion, SteppedMotion, inverse_dynamics_step, motor_motion, needed_order
from .loads import Base, Wrenches
from .requirements import lossless_gears, require

NAME = "inverse_dynamics_along"
Motion: TypeAlias = Callable[..., FloatArray]  # motion(t, order=k) returns (k + 1, len(t), columns)


def inverse_dynamics_along(
    robot: Robot,
    trajectory: Motion,
    t: ArrayLike,
    stiffness: Motion | FloatArray | None = None,
    wrenches: Wrenches = None,
    base: Base = None,
) -> MotorMotion:
    """Motor torques, motor motion and deflections along a trajectory of the links, for every kind of drive.

    Damped springs start from rest equilibrium at the first time.

    Args:
        trajectory: A Trajectory, or a function with trajectory(t, order=k) -> (k + 1, times, n).
        t: Increasing times, (times,), s.
        stiffness: Required if a joint has variable stiffness: a trajectory with one column per such joint or per joint,
            or constant numbers, Nm/rad.
        wrenches: {link: [w, w', w'']}, wrenches (f, n) on links, each (times, 6) or (6,); none by default.
        base: A BaseMotion, its arrays (times, 3) or (3,); at rest by default.

    Returns:
        MotorMotion, its arrays (times, motors) or (times, n).

    Raises:
        InputError: If the trajectory is not smooth enough, or the stiffness is missing.
        NonFiniteError: If a stiffness is out of reach, or a torque is beyond the law of a damped spring.

    Example:
        >>> import flexjoint as fj
        >>> motion = fj.trajectory.RestToRest([0.0] * 7, [1.0] * 7, duration=2.0)
        >>> fj.inverse_dynamics_along(fj.load("kuka_lwr"), motion, [0.0, 1.0, 2.0]).tau.shape
        (3, 7)
    """
    require(NAME, numeric(NAME, robot), lossless_gears)
    if not callable(trajectory):
        raise InputError(f"{NAME}: trajectory is {shown(trajectory)}; give one of fj.trajectory, or a function")
    try:
        times = real(t)
    except NOT_NUMBERS:
        times = np.array(math.nan)
    if times.ndim != 1 or not times.size or not np.all(np.isfinite(times)) or np.any(np.diff(times) <= 0):
        raise InputError(f"{NAME}: t must be a list of increasing, finite times, not {shown(t)}")
    require_smooth(robot, trajectory, base)
    sigma = None if stiffness is None else stiffness_at(robot, stiffness, times, base is not None)
    if not any(robot.damped):
        motion = sampled(robot, trajectory, times, needed_order(robot, base))
        return motor_motion(robot, *motion, stiffness=sigma, wrenches=wrenches, base=base)
    motion = sampled(robot, trajectory, times, max(3, needed_order(robot, base)))
    return stepped(robot, motion, times, sigma if any(robot.variable_stiffness) else None, wrenches, base)


def stepped(
    robot: Robot, motion: FloatArray, t: FloatArray, stiffness: FloatArray | None, wrenches: Wrenches, base: Base
) -> MotorMotion:
    """Sample by sample, the state carried along."""
    groups, arrays = flatten(NAME, {"stiffness": stiffness, "wrenches": wrenches, "base": base})
    leaves = [over_time(x, t.size) for x in arrays]
    counts: dict[str, Any] = {name: x if isinstance(x, int) else dict(x or ()) for name, x in groups}
    start = compile(inverse_dynamics_step, robot, len(motion) + 4, **counts)
    follows = any(x and y for x, y in zip(robot.damped, robot.variable_stiffness))  # deflections belong to the state
    kernel = compile(inverse_dynamics_step, robot, len(motion) + 4, warm_start=True, **counts) if follows else start
    stateful = FilteredMotion if robot.fidelity == "complete" else SteppedMotion
    rows: list[Any] = []
    state: tuple[FloatArray, ...] = (np.zeros(robot.motor_count), np.zeros(robot.n), np.zeros(robot.n))
    behind: tuple[FloatArray, ...] = ()
    for i, h in enumerate(np.diff(t, prepend=t[0])):
        # as an array h takes the fast way into the kernel, 40 times faster than as a number
        call = kernel if i else start
        try:
            now = stateful(*call(*state, np.asarray(h), *motion[:, i], *(x[i] for x in leaves), *behind))
        except NonFiniteError as error:
            raise NonFiniteError(f"{NAME}: at t = {t[i]:g} s {error}") from error
        state = now[-3:] if isinstance(now, FilteredMotion) else (now.deflection_v, now.tau_e, now.tau_e_v)
        behind = (now.deflection,) if follows else ()
        rows.append(now)
    return MotorMotion(*(np.array(x) for x in list(zip(*rows))[: len(MotorMotion._fields)]))


def sampled(robot: Robot, trajectory: Motion, t: FloatArray, order: int) -> FloatArray:
    """The stack of the trajectory, (order + 1, times, n)."""
    stack = np.asarray(trajectory(t, order=order), dtype=float)
    if stack.shape[1:] != (t.size, robot.n):
        raise InputError(f"{NAME}: the trajectory gave {stack.shape}, it must be (k + 1, {t.size}, {robot.n})")
    return stack


def stiffness_at(
    robot: Robot, stiffness: Motion | FloatArray, t: FloatArray, moving_base: bool = False
) -> FloatArray:
    """[σ, σ', σ'', ...] of all joints as inverse dynamics takes them, (3 or more, times, n); 0 at joints without."""
    order = stiffness_order(robot, moving_base) if any(robot.variable_stiffness) else 2
    chosen = np.flatnonzero(robot.variable_stiffness)
    if callable(stiffness):
        given = np.asarray(stiffness(t, order=order), dtype=float)[: order + 1]
    else:
        constant = np.atleast_1d(finite(NAME, "stiffness", stiffness))
        given = np.zeros((order + 1, t.size, constant.shape[-1]))
        given[0] = constant
    if given.shape[-1] == robot.n:
        return given
    if given.shape[-1] != chosen.size:
        raise InputError(
            f"{NAME}: the stiffness has {given.shape[-1]} columns; give one for each of the {chosen.size} joints of "
            f"variable stiffness, or for each of the {robot.n} joints"
        )
    full = np.zeros((*given.shape[:-1], robot.n))
    full[..., chosen] = given
    return full


def require_smooth(robot: Robot, trajectory: Any, base: Base) -> None:
    """Refuse a trajectory that says of itself that it lacks derivatives; of a mere function nothing is known."""
    order, smoothness = needed_order(robot, base), getattr(trajectory, "smoothness", math.inf)
    if smoothness < order - 1:
        raise InputError(
            f"{NAME}: {type(trajectory).__name__} is not smooth enough: it is C^{smoothness} only; {robot.name} needs "
            f"C^{order - 1} with a bounded derivative {order}: {trajectory.remedy(order)}"
        )


def over_time(x: ArrayLike, samples: int) -> FloatArray:
    """An array per sample, or one that lasts."""
    given = np.asarray(x, dtype=float)
    if given.ndim not in (1, 2) or (given.ndim == 2 and len(given) != samples):
        raise InputError(f"{NAME}: a wrench or base motion has shape {given.shape} for {samples} times")
    return np.broadcast_to(given, (samples, given.shape[-1]))
