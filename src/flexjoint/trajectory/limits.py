"""Warnings for motions beyond the limits of a robot, or implausible for a joint without limits.

Nothing is refused: a motion may exceed a limit on purpose, and a joint may turn ten times.  Each warning names joint,
time, value and limit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from ..errors import warn
from ..robot import Joint, Robot
from ..types import FloatArray
from .base import Trajectory

ROUNDING = 1e-9  # relative to a limit: a smaller excess is rounding
SAMPLES = 257  # per trajectory
SHOWN = 3  # joints in one warning

_seen: WeakValueDictionary[int, Trajectory] = WeakValueDictionary()  # trajectories checked before, by id()


class Excess(NamedTuple):
    """Where a joint exceeds a limit first, and where by most."""

    joint: str
    unit: str
    limit: float
    first: float
    at: float
    largest: float

    def __str__(self) -> str:
        return (
            f"joint '{self.joint:.200}' reaches {self.largest:.4g} {self.unit} at t = {self.at:.4g} s (limit "
            f"{self.limit:.4g} {self.unit}, first exceeded at t = {self.first:.4g} s)"
        )


def warn_of_limits(
    robot: Robot,
    what: str,
    t: FloatArray,
    *,
    q: FloatArray | None = None,
    v: FloatArray | None = None,
    tau: FloatArray | None = None,
) -> None:
    """Warn of positions, velocities and motor torques beyond the limits of the robot, once each.

    Args:
        robot: the robot with its limits.
        what: subject of the message, such as "the motion".
        t: (m,), times, in s.
        q: (..., m, n), positions, in rad or m; not checked by default.
        v: (..., m, n), velocities, in rad/s or m/s; not checked by default.
        tau: (..., m, motors), motor torques, in Nm or N; not checked by default.
    """
    limits = [joint.limits for joint in robot.joints]
    if q is not None:
        bounds = [(x.lower, x.upper) for x in limits]
        report(robot, f"{what} exceeds position limits", t, q, bounds, "rad | m", "limits.lower and limits.upper")
    if v is not None:
        bounds = [(-x.velocity, x.velocity) for x in limits]
        report(robot, f"{what} exceeds velocity limits", t, v, bounds, "rad/s | m/s", "limits.velocity")
    if tau is not None:
        bounds = [(-effort, effort) for effort in robot.motor_efforts]
        report(robot, f"{what} exceeds torque limits", t, tau, bounds, "Nm | N", "limits.effort")


def report(
    robot: Robot,
    what: str,
    t: FloatArray,
    values: FloatArray,
    bounds: Sequence[tuple[float, float]],
    unit: str,
    remedy: str,
) -> None:
    """Warn if columns, one per joint or motor, leave their bounds."""
    if not np.isfinite(bounds).any():
        return
    units = [kind.unit(unit) for kind in robot.motor_kinds]
    if excesses := excesses_of(t, values, bounds, robot.motor_names, units):
        more = f"; and {len(excesses) - SHOWN} more joints" if len(excesses) > SHOWN else ""
        warn(
            f"{robot.name:.200}: {what} of the robot: {'; '.join(map(str, excesses[:SHOWN]))}{more}; change the "
            f"motion, or {remedy} of the robot"
        )


def excesses_of(
    t: FloatArray,
    values: FloatArray,
    bounds: Sequence[tuple[float, float]],
    names: Sequence[str],
    units: Sequence[str],
) -> list[Excess]:
    """The excess of each column that leaves its bounds; NaN counts as inside."""
    rows = values.reshape(-1, *values.shape[-2:])
    found = []
    for i, (low, high) in enumerate(bounds):
        column = rows[..., i]
        beyond = np.fmax(column - high - ROUNDING * abs(high), low - column - ROUNDING * abs(low))
        excess = np.fmax.reduce(beyond, axis=0, initial=-math.inf)  # over all runs of a batch
        if not (late := np.flatnonzero(excess > 0)).size:
            continue
        k = int(np.nanargmax(excess))
        value = float(column[int(np.nanargmax(beyond[:, k])), k])
        limit = high if value > high else low
        found.append(Excess(names[i], units[i], limit, float(t[late[0]]), float(t[k]), value))
    return found


def warn_of_units(robot: Robot, motion: Trajectory | FloatArray) -> None:
    """Warn of a joint without limits that moves implausibly far or fast: degrees in place of rad are likely.

    Args:
        robot: the robot.
        motion: a trajectory, which is checked once; or positions (..., n), in rad or m.
    """
    if not isinstance(motion, Trajectory):
        q = motion[..., : robot.n].reshape(-1, robot.n)
        return warn_of_motion(robot, np.zeros(len(q)), q, np.zeros(q.shape))
    if _seen.get(id(motion)) is not motion:
        _seen[id(motion)] = motion  # by id: the trajectory of a user may have no hash
        t = np.linspace(0.0, motion.duration if math.isfinite(motion.duration) else 1.0, SAMPLES)
        q, v = motion(t, order=1)[..., : robot.n]
        warn_of_motion(robot, t, q, v)


def warn_of_motion(robot: Robot, t: FloatArray, q: FloatArray, v: FloatArray) -> None:
    """Warn of the first joint that moves too far or too fast, at times t (m,)."""
    for i, joint in enumerate(robot.joints):
        far, fast = np.abs(q[:, i]), np.abs(v[:, i])
        limited = math.isfinite(joint.limits.lower) and math.isfinite(joint.limits.upper)
        if not limited and far.max() > joint.kind.far:
            k = int(far.argmax())
            return warn(f"{robot.name:.200}: {distance(joint, float(q[k, i]))} at t = {t[k]:.4g} s; {remedy(joint)}")
        if not math.isfinite(joint.limits.velocity) and fast.max() > joint.kind.fast:
            k = int(fast.argmax())
            unit = joint.kind.unit("rad/s | m/s")
            return warn(
                f"{robot.name:.200}: joint '{joint.name:.200}' moves at {v[k, i]:.4g} {unit} at t = {t[k]:.4g} s; "
                f"{remedy(joint)}, or take longer"
            )


def distance(joint: Joint, q: float) -> str:
    """How far a joint moves, for a message."""
    turns = f" rad, {abs(q) / (2 * math.pi):.3g} turns," if joint.kind.angular else " m"
    return f"joint '{joint.name:.200}' moves to {q:.4g}{turns}"


def remedy(joint: Joint) -> str:
    """How to write what is meant, for a message."""
    if not joint.kind.angular:
        return "if millimetres are meant, divide by 1000; if it is right, give the joint limits"
    return (
        "if degrees are meant, write the key with _deg (goal_deg, points_deg, ...), joint1 [deg] in the header of a "
        "table, or np.deg2rad(...) in Python; if it is right, give the joint limits"
    )
