"""Limits of motors and springs, as data; those of joints are `robot.Limits`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ..reprs import repr_without_defaults


@dataclass(frozen=True, slots=True, repr=False)
class MotorLimits:
    """Bounds of a motor on the link side of the reduction, infinite by default.

    In robot files: `motor_limits = {torque = 87, speed = 2.6}` in the table of a drive, `limits` in that of `motor_1`.

    Args:
        torque: greatest peak torque in either direction, in Nm or N.
        speed: greatest speed in either direction, in rad/s or m/s.
        rms_torque: greatest root mean square of the torque over a motion (thermal limit), in Nm or N.
        power: greatest mechanical power |τ θ'|, in W.
        torque_rate: greatest rate of the commanded torque in either direction, in Nm/s or N/s; a Franka stops beyond
            1000 Nm/s.

    Example:
        >>> import flexjoint as fj
        >>> fj.Motor(0.3, limits=fj.drives.MotorLimits(torque=87.0, speed=2.6))
        Motor(inertia=0.3, limits=MotorLimits(torque=87.0, speed=2.6))
    """

    torque: float = math.inf
    speed: float = math.inf
    rms_torque: float = math.inf
    power: float = math.inf
    torque_rate: float = math.inf

    __repr__ = repr_without_defaults


@dataclass(frozen=True, slots=True, repr=False)
class SpringLimits:
    """Bounds of a spring between motor and link, infinite by default.

    In robot files: `spring_limits = {torque = 100, deflection = 0.05}` in the table of a drive.

    Args:
        torque: greatest torque in either direction, such as the range of a torque sensor, in Nm or N.
        deflection: greatest deflection |θ − q|, in rad or m.

    Example:
        >>> import flexjoint as fj
        >>> fj.drives.SpringLimits(torque=100.0)
        SpringLimits(torque=100.0)
    """

    torque: float = math.inf
    deflection: float = math.inf

    __repr__ = repr_without_defaults


NO_MOTOR_LIMITS = MotorLimits()
NO_SPRING_LIMITS = SpringLimits()
