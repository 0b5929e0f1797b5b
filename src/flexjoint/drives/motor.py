"""What a motor is, seen from its joint."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import NOT_NUMBERS, RobotError


@dataclass(frozen=True, slots=True)
class Motor:
    """`inertia` is the rotor's axial inertia seen from the link, B = η² I_axial (kg m², or kg if prismatic).

    Friction at the motor, D θ' + F_c tanh(θ'/v_c): `viscous_friction` D in Nm s/rad or N s/m, `coulomb_friction` F_c
    in Nm or N, and `coulomb_velocity` v_c in rad/s or m/s, over which it changes its sign.

    The rest describes the rotor as a body, for the complete model: it turns at η θ' about a unit `axis` fixed in the
    link `carrier`, with a `gear_ratio` η of either sign (1, or rad/m if prismatic).  `axis` and `position` are in the
    carrier's frame; by default the carrier is the parent link and the rotor sits on the joint's axis.  `mass` and
    `transverse_inertia`, about a diameter, count only where the links are given without their rotors.
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

    def __post_init__(self) -> None:
        for name in ("position", "axis"):
            object.__setattr__(self, name, plain_vector(getattr(self, name)))

    @classmethod
    def from_rotor(cls, axial_inertia: float, gear_ratio: float, **more: Any) -> Motor:
        """A motor by its rotor's own axial inertia (kg m²) and gear ratio; `more` are further fields."""
        return cls(gear_ratio * gear_ratio * axial_inertia, gear_ratio=gear_ratio, **more)

    @property
    def axial_inertia(self) -> float | None:
        """The rotor's own, B/η²; None if the gear ratio is not known."""
        return None if self.gear_ratio is None else self.inertia / self.gear_ratio**2


def plain_vector(value: Any) -> Any:
    """A tuple of floats without negative zeros, where that can be made of it; checks come with the robot."""
    try:
        return None if value is None else tuple(float(x) + 0.0 for x in value)
    except NOT_NUMBERS:
        return value


def coupled(motors: tuple[Motor, ...]) -> Motor:
    """Motors that turn as one; rotors that are bodies must be at one place and geared alike."""
    if len(motors) == 1:
        return motors[0]
    rubbing = [motor for motor in motors if motor.coulomb_friction]
    velocities = {motor.coulomb_velocity for motor in rubbing}
    if len(velocities) > 1:
        raise RobotError(
            f"motors whose Coulomb friction changes its sign over different velocities, {sorted(velocities)}, make no "
            "single motor: give them one coulomb_velocity"
        )
    places = {(motor.gear_ratio, motor.position, motor.axis, motor.carrier) for motor in motors}
    if len(places) > 1:
        raise RobotError(
            "motors with rotors at different places, or geared differently, make no single motor: give them one "
            "gear_ratio, position, axis and carrier, or none"
        )
    added = ("inertia", "viscous_friction", "transverse_inertia", "mass")
    return dataclasses.replace(
        motors[0],
        coulomb_friction=sum(motor.coulomb_friction for motor in motors),
        coulomb_velocity=velocities.pop() if velocities else 0.0,
        **{name: sum(getattr(motor, name) for motor in motors) for name in added},
    )
