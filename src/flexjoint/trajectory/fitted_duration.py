"""The shortest duration of a given motion under all limits of a robot: `fit_duration`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..checks import whole
from ..dynamics.along import Motion
from ..errors import InputError, listed
from ..html import table
from ..robot import Robot
from ..types import FloatArray
from .base import Trajectory
from .feasibility import violations
from .greatest_speed import greatest_speed, static_violations
from .limited_motion import SAMPLES, LimitedMotion, limited_motion, sample_grid
from .limits import RMS, mean_weights, violations_of
from .scaled_limits import finite_columns

ACTIVE = 1e-5  # share below the one that is reached from which on a limit counts as active
NAME = "fit_duration"


@dataclass(frozen=True)
class ActiveLimit:
    """A limit that a motion reaches.

    Args:
        quantity: such as "velocity", "torque" (of a motor) or "spring torque".
        joint: name of the joint or motor, as in `robot.motor_names`.
        unit: of the numbers.
        limit: the bound, with its sign.
        value: the value closest to it.
        at: time of this value, in s; NaN for a mean over the motion.
    """

    quantity: str
    joint: str
    unit: str
    limit: float
    value: float
    at: float

    def __str__(self) -> str:
        when = "" if math.isnan(self.at) else f" at t = {self.at:.4g} s"
        return f"{self.quantity} of '{self.joint:.200}': {self.value:.4g} {self.unit}{when}"


@dataclass(frozen=True, eq=False, repr=False)
class FittedDuration:
    """The result of `fit_duration`.

    Args:
        duration: shortest duration, in s.
        factor: duration relative to that of the given motion.
        trajectory: the motion with this duration.
        active: the limits that prevent a shorter one.
    """

    duration: float
    factor: float
    trajectory: Trajectory
    active: tuple[ActiveLimit, ...]

    def __repr__(self) -> str:
        reached = listed(self.active, "; ", most=3)
        return f"<FittedDuration: {self.duration:.6g} s, {self.factor:.4g} times the given one; {reached}>"

    def _repr_html_(self) -> str:
        rows = [(x.quantity, x.joint, f"{x.value:.4g} {x.unit}", f"{x.at:.4g}") for x in self.active]
        caption = f"{self.duration:.6g} s, {self.factor:.4g} times the given duration; active limits"
        return table(rows, ("quantity", "joint", "value", "time, s"), caption=caption)


def fit_duration(
    robot: Robot,
    trajectory: Trajectory,
    *,
    stiffness: Motion | ArrayLike | None = None,
    wrench: Sequence[float] | None = None,
    samples: int = SAMPLES,
) -> FittedDuration:
    """The shortest duration of a motion, scaled uniformly in time, under all limits of joints, motors and springs.

    The motion is scaled to s times its speed.  Torques need not grow with s: the feasible speeds may form several
    intervals, and the greatest is used.  With dry friction, nonlinear or damped springs, and variable stiffness, a
    feasible interval narrower than 4 % may be missed; the result is feasible.

    Args:
        robot: the robot with its limits.
        trajectory: motion of the links, smooth enough for the robot, with a finite duration.
        stiffness: of joints of variable stiffness, as in `inverse_dynamics_along`; a trajectory is scaled with the
            motion; none by default.
        wrench: constant force, N, and moment, Nm, on the tool in base coordinates, (6,); none by default.
        samples: number of samples before refinement at peaks, odd; 1001 by default.

    Returns:
        FittedDuration.

    Raises:
        InputError: no limit bounds the speed; or no speed is feasible: the message names the limits that rest, or the
            path itself, exceeds.

    Example:
        >>> import flexjoint as fj
        >>> start = [0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.0]
        >>> motion = fj.trajectory.RestToRest(start, [0.3, 0.0, 0.3, -1.5, 0.3, 2.0, 0.3], duration=2.0)
        >>> fitted = fj.trajectory.fit_duration(fj.load("panda"), motion)
        >>> fj.trajectory.check_feasibility(fj.load("panda"), fitted.trajectory).feasible
        True
    """
    return fitted(NAME, robot, trajectory, stiffness, wrench, samples)


def fitted(
    owner: str,
    robot: Robot,
    trajectory: Trajectory,
    stiffness: Motion | ArrayLike | None = None,
    wrench: Sequence[float] | None = None,
    samples: int = SAMPLES,
) -> FittedDuration:
    """What `fit_duration` returns; `owner` begins every message."""
    motion = limited_motion(owner, robot, trajectory, stiffness, wrench)
    t = sample_grid(trajectory, whole(owner, "samples", samples, least=5))
    check_path(owner, motion, t)
    if not set(motion.limited) - {"position"}:
        raise InputError(
            f"{owner}: no limit of {robot.name} bounds the speed; give its joints limits.velocity or limits.effort, "
            "its motors motor_limits, or its springs spring_limits"
        )
    s, pool = greatest_speed(motion, t)
    if s is None:
        raise InputError(f"{owner}: {infeasible_text(motion, t)}")
    if math.isinf(s):
        moves = np.ptp(motion.stack(t)[0], axis=0).any()
        raise InputError(
            f"{owner}: no limit of {robot.name} bounds the speed of this motion: "
            + ("the joints that move, and their motors, have no limits" if moves else "it does not move")
        )
    fastest = trajectory.scaled(1 / s)
    return FittedDuration(fastest.duration, 1 / s, fastest, active_limits(motion, t, pool, s))


def check_path(owner: str, motion: LimitedMotion, t: FloatArray) -> None:
    """Refuse what no duration cures: a path beyond position limits, limits of 0, a jerk that is not bounded."""
    robot, limited = motion.robot, motion.limited
    path = dataclasses.replace(motion, limited={name: x for name, x in limited.items() if name == "position"})
    if found := violations(path, t):
        raise InputError(
            f"{owner}: no duration is feasible for {robot.name}: the path exceeds position limits: "
            f"{listed(found, '; ', most=3)}; choose a smaller range"
        )
    zeros = {name: x for name, x in limited.items() if name != "position" and not np.all(x.upper)}
    still = dataclasses.replace(motion, limited=zeros)
    for x in violations_of(robot, zeros, t, still.values(t)) if zeros else []:
        if not x.limit:
            raise InputError(
                f"{owner}: no duration is feasible for {robot.name}: {x.quantity} of {x}; "
                f"give a limit above 0 in {x.key}"
            )
    if "jerk" in limited and motion.trajectory.smoothness < 2:
        raise InputError(
            f"{owner}: no duration is feasible for {robot.name}: its jerk is limited, and the acceleration of the "
            f"motion jumps: {motion.trajectory.remedy(3)}"
        )


def infeasible_text(motion: LimitedMotion, t: FloatArray) -> str:
    """Why no speed is feasible."""
    robot = motion.robot
    if found := static_violations(motion, t):
        return (
            f"no duration is feasible for {robot.name}: at rest, where gravity, springs and the wrench act alone, "
            + "; ".join(f"{x.quantity} of {x}" for x in found[:3])
            + ", and no faster motion meets all limits; choose another path or load"
        )
    return f"no feasible duration was found for {robot.name}; the limits leave no room above rest"


def active_limits(motion: LimitedMotion, t: FloatArray, pool: FloatArray, s: float) -> tuple[ActiveLimit, ...]:
    """The limits that the motion reaches at speed s, within 1e-5; t are even times, `pool` has those of peaks too."""
    robot, values = motion.robot, motion.values(pool, s)
    found: list[tuple[float, ActiveLimit]] = []
    for name, quantity in motion.limited.items():
        if name == "position":
            continue
        if name == RMS:
            torque = values["torque"][np.searchsorted(pool, t)]
            column = np.sqrt(np.einsum("m,mi->i", mean_weights(t), np.square(torque)))[None]
        else:
            column = values[name]
        units = quantity.units(robot)
        for i in finite_columns(quantity):
            k = int(np.abs(column[:, i]).argmax())
            value, upper = float(column[k, i]), float(quantity.upper[i])
            at = math.nan if name == RMS else float(pool[k] / s)
            limit = ActiveLimit(name, robot.motor_names[i], units[i], math.copysign(upper, value), value, at)
            found.append((abs(value) / upper if upper else 0.0, limit))
    largest = max(share for share, _ in found)
    return tuple(limit for share, limit in found if share >= (1 - ACTIVE) * largest)
