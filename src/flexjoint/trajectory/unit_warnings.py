"""Warnings of motions that are implausible for a joint without limits: degrees in place of rad, probably.

Nothing is refused: a joint may turn ten times.
"""

from __future__ import annotations

import math
from weakref import WeakValueDictionary

import numpy as np

from ..errors import warn
from ..robot import Joint, Robot
from ..types import FloatArray
from .base import Trajectory

SAMPLES = 257  # per trajectory

_seen: WeakValueDictionary[int, Trajectory] = WeakValueDictionary()  # trajectories checked before, by id()


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
