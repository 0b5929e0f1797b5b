"""Quantities of a log: their names in files, whose they are, and their units."""

from __future__ import annotations

import math

from ..formats.columns import ANGLES, LENGTHS
from ..robot import Robot
from .header_words import UNDECIDED

LINKS, MOTORS = ("q", "v", "tau_e"), ("theta", "theta_v", "tau")
QUANTITIES = (*LINKS, *MOTORS)  # that were measured
COMMANDS = ("reference", "reference_v", "tau_d")
RATES = {"v": "q", "theta_v": "theta"}  # velocities, and the positions that they may be computed from
ALIKE = {"reference": "q", "reference_v": "v", "tau_d": "tau", "current": "tau", UNDECIDED: "tau"}  # same joints, units
TIMES = ("t", "time", "timestamp", "duration", "__time", "%time", "utime")
NAMES = {
    "t": TIMES,
    "q": ("q",),
    "v": ("v", "dq", "qdot", "q_dot"),
    "tau_e": ("tau_e", "tau_J"),
    "theta": ("theta",),
    "theta_v": ("theta_v", "dtheta", "theta_dot"),
    "tau": ("tau", "tau_m"),
    "reference": ("reference", "q_d"),
    "reference_v": ("reference_v", "dq_d"),
    "tau_d": ("tau_d", "tau_J_d"),
    "current": ("current",),
}
NAMED = tuple(what for what in NAMES if what != "t")
TORQUES, FORCES = {"Nm": 1.0, "mNm": 1e-3, "N m": 1.0, "kNm": 1e3}, {"N": 1.0, "mN": 1e-3, "kN": 1e3}
CURRENTS = {"A": 1.0, "mA": 1e-3}


def labels(robot: Robot, what: str) -> list[str]:
    """Names of the joints or motors that have the quantity."""
    of_links = ALIKE.get(what, what) in LINKS
    return [joint.name for joint in robot.joints] if of_links else list(robot.motor_names)


def units(robot: Robot, what: str, i: int) -> dict[str, float]:
    """Units that a column may have, with their sizes in SI units; no unit means SI."""
    if what == "current":
        return {"": 1.0, **CURRENTS}
    kind, what = robot.motor_kinds[i], ALIKE.get(what, what)  # first motors have the order of the joints
    position, force = (ANGLES, TORQUES) if kind.angular else (LENGTHS, FORCES)
    if what in ("tau", "tau_e"):
        return {"": 1.0, **force}
    if what in ("q", "theta"):
        return {"": 1.0, **position}
    turns = {"rpm": 2 * math.pi / 60} if kind.angular else {}
    return {"": 1.0, **{f"{unit}/s": size for unit, size in position.items()}, **turns}
