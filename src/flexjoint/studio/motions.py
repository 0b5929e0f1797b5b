"""Motions to choose from, as texts that `load_trajectory` reads."""

from __future__ import annotations

import math

import numpy as np

from ..formats.writing import toml_value
from ..robot import Robot
from ..types import FloatArray

MOTIONS = ("rest to rest", "sinusoid", "filtered step")
AMPLITUDE = 30.0  # °, at first
SLIDING = 0.18 / math.pi  # m per rad of amplitude: 1 mm per degree
SHARE = 0.9  # of the way to a limit
CYCLES = 2  # of a sinusoid


def motion_text(kind: str, robot: Robot, q: FloatArray, amplitude: float, duration: float) -> str:
    """A motion away from a configuration.

    Args:
        kind: One of `MOTIONS`.
        robot: The robot.
        q: Where it begins, (n,), rad or m.
        amplitude: How far every joint moves, rad; sliding joints move 1 mm per degree.  Limits shorten the way.
        duration: s.

    Returns:
        A text {kind = ..., ...}.
    """
    goal = goal_of(robot, q, amplitude)
    if kind == "sinusoid":
        half = (goal - q) / 2
        keys = {"amplitude": half, "offset": q + half, "frequency": CYCLES / duration, "phase": -math.pi / 2}
    else:
        keys = {"start": q, "goal": goal}
    pairs = {"kind": kind.replace(" ", "_"), **keys, "duration": duration}
    return toml_value(pairs)


def goal_of(robot: Robot, q: FloatArray, amplitude: float) -> FloatArray:
    """Where a motion ends, (n,): upwards, or downwards where there is more room."""
    found = np.array(q, dtype=float)
    for i, (joint, limits) in enumerate(zip(robot.joints, robot.joint_limits)):
        way = amplitude * (1.0 if joint.kind.angular else SLIDING)
        up, down = limits.upper - q[i], q[i] - limits.lower
        room = up if up >= min(way, down) else -down
        found[i] += math.copysign(min(way, SHARE * abs(room)), room)
    return found
