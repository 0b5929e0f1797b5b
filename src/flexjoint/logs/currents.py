"""Motor torques of a log from the motor currents: torque constant times gear ratio times current."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..checks import finite
from ..errors import InputError, listed
from ..robot import Robot
from ..types import FloatArray
from .log import Log


def torques_of_currents(log: Log, torque_constant: ArrayLike, gear_ratio: ArrayLike | None, place: str) -> Log:
    """The log with motor torques after the reduction computed from its currents.

    Args:
        log: A log with currents and without motor torques.
        torque_constant: Nm/A before the reduction, a number or one per motor.
        gear_ratio: A number or one per motor; None for those of the robot's motors.
        place: Name of the file, for messages.

    Raises:
        InputError: The log has no currents, or torques already, or a gear ratio is unknown.
    """
    if log.current is None:
        unread = f"; not read are {listed(log.ignored)}" if log.ignored else ""
        raise InputError(
            f"{place}: torque_constant is given, but there are no currents of all motors in the log{unread}; say what "
            "they are called, such as --columns current=I (in Python columns={'current': 'I'})"
        )
    if log.tau is not None:
        raise InputError(
            f"{place}: torque_constant is given, but the log has motor torques, '{log.headers['tau'][0][:80]}'; leave "
            "out one of them"
        )
    robot = log.robot
    constant = per_motor("torque_constant", torque_constant, robot)
    ratio = own_ratios(robot, place) if gear_ratio is None else per_motor("gear_ratio", gear_ratio, robot)
    return replace(log, tau=log.current * (constant * ratio))


def per_motor(name: str, value: Any, robot: Robot) -> FloatArray:
    """One number per motor."""
    found = finite("read_log", name, value)
    if found.shape not in ((), (robot.motor_count,)) or np.any(found == 0):
        raise InputError(
            f"read_log: {name} has shape {found.shape}; it must be a number other than 0, or {robot.motor_count}, one "
            "per motor"
        )
    return np.broadcast_to(found, robot.motor_count)


def own_ratios(robot: Robot, place: str) -> FloatArray:
    """Gear ratios of the robot's motors; raises InputError if one is not known."""
    drives = [robot.joints[i].drive for i in robot.motor_joints]
    ratios = [None if drive is None else drive.motors[k >= robot.n].gear_ratio for k, drive in enumerate(drives)]
    if unknown := [name for name, x in zip(robot.motor_names, ratios) if x is None]:
        raise InputError(
            f"{place}: the gear ratio of {listed(unknown)} is not known; give gear_ratio=, or 1 if the torque constant "
            "is that after the reduction"
        )
    return np.array(ratios, dtype=float)
