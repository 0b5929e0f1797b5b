"""The motor of a joint."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import NOT_NUMBERS, RobotError
from ..reprs import repr_without_defaults
from .friction import Friction, added, friction_fields, friction_law
from .limits import NO_MOTOR_LIMITS, MotorLimits


@dataclass(frozen=True, slots=True, repr=False)
class Motor:
    """A motor, in quantities on the link side of the reduction: inertia, friction, and its rotor as a body.

    Friction is D θ' + F_c tanh(θ'/v_c), or the law of `friction`.  The fields from `gear_ratio` to `carrier` describe
    the rotor as a body, for the complete model: it turns at η θ' about an axis fixed in the link that carries it.

    Args:
        inertia: reflected axial inertia B = η² I_axial, in kg m² (kg at a prismatic joint).
        viscous_friction: D, in Nm s/rad or N s/m; 0 by default.
        coulomb_friction: F_c, in Nm or N; 0 by default.
        coulomb_velocity: v_c, over which Coulomb friction changes its sign, in rad/s or m/s.
        gear_ratio: η = θ_rotor/θ, of either sign (rad/m at a prismatic joint); None by default, unknown.
        transverse_inertia: inertia of the rotor about a diameter, in kg m²; used only if links are given without
            their rotors; 0 by default.
        mass: mass of the rotor, in kg; used only if links are given without their rotors; 0 by default.
        position: (3,), centre of the rotor in the frame of the carrier, in m; on the joint axis by default.
        axis: (3,), unit vector of the rotor axis in the frame of the carrier; the joint axis by default.
        carrier: name of the link that carries the rotor; the parent link by default.
        limits: bounds of torque, speed and power; none by default.
        friction: a `Friction` instead of the three numbers above; none by default.

    Example:
        >>> import flexjoint as fj
        >>> fj.Motor(0.3, viscous_friction=2.0)
        Motor(inertia=0.3, viscous_friction=2.0)
    """

    inertia: float
    viscous_friction: float = 0.0
    coulomb_friction: float = 0.0
    coulomb_velocity: float = 0.0
    gear_ratio: float | None = None
    transverse_inertia: float = 0.0
    mass: float = 0.0
    position: Sequence[float] | np.ndarray | None = None
    axis: Sequence[float] | np.ndarray | None = None
    carrier: str | None = None
    limits: MotorLimits = NO_MOTOR_LIMITS
    friction: Friction | None = None

    def __post_init__(self) -> None:
        for name in ("position", "axis"):
            object.__setattr__(self, name, plain_vector(getattr(self, name)))

    @classmethod
    def from_rotor(cls, axial_inertia: float, gear_ratio: float, **more: Any) -> Motor:
        """A motor from data of its rotor before the reduction.

        Args:
            axial_inertia: I_axial of the rotor, in kg m².
            gear_ratio: η, of either sign.
            more: further fields of `Motor`.

        Example:
            >>> import flexjoint as fj
            >>> fj.Motor.from_rotor(2e-5, 100.0)
            Motor(inertia=0.2, gear_ratio=100.0)
        """
        return cls(gear_ratio * gear_ratio * axial_inertia, gear_ratio=gear_ratio, **more)

    @property
    def axial_inertia(self) -> float | None:
        """Axial inertia of the rotor itself, B/η², in kg m²; None if the gear ratio is unknown."""
        return None if self.gear_ratio is None else self.inertia / self.gear_ratio**2

    __repr__ = repr_without_defaults


def plain_vector(value: Any) -> Any:
    """Numbers as a tuple of floats without negative zeros; anything else unchanged, for the robot to refuse."""
    try:
        return None if value is None else tuple(float(x) + 0.0 for x in value)
    except NOT_NUMBERS:
        return value


ADDED_LIMITS = ("torque", "rms_torque", "power", "torque_rate")


def coupled(motors: tuple[Motor, ...]) -> Motor:
    """One motor equivalent to several rigidly coupled motors.

    Raises:
        RobotError: their rotors have different positions or gear ratios, or their friction different velocities.
    """
    if len(motors) == 1:
        return motors[0]
    friction = added([friction_law(motor) for motor in motors])
    places = {(motor.gear_ratio, motor.position, motor.axis, motor.carrier) for motor in motors}
    if len(places) > 1:
        raise RobotError(
            "motors with rotors at different positions, or with different gear ratios, have no equivalent motor: give "
            "them the same gear_ratio, position, axis and carrier, or none"
        )
    return dataclasses.replace(
        motors[0],
        limits=MotorLimits(
            speed=min(motor.limits.speed for motor in motors),
            **{x: sum(getattr(motor.limits, x) for motor in motors) for x in ADDED_LIMITS},
        ),
        **{name: sum(getattr(motor, name) for motor in motors) for name in ("inertia", "transverse_inertia", "mass")},
        **friction_fields(friction, short=all(motor.friction is None for motor in motors)),
    )


MASSLESS = Motor(0.0)
