"""The motor side of a joint: how the actuator's torque reaches the link.

A drive is plain data and a field of its joint; a joint without a drive is driven directly and massless
on the motor side.  All quantities are on the link side, after the reduction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import RobotError
from .springs import SAMPLES, CubicSpring, LinearSpring, Spring

SINGULAR = 1e-9  # of the terms of a determinant: below it, it counts as zero


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
        return cls(gear_ratio**2 * axial_inertia, gear_ratio=gear_ratio, **more)

    @property
    def axial_inertia(self) -> float | None:
        """The rotor's own, B/η²; None if the gear ratio is not known."""
        return None if self.gear_ratio is None else self.inertia / self.gear_ratio**2


def plain_vector(value: Any) -> Any:
    """A tuple of floats without negative zeros, where that can be made of it; checks come with the robot."""
    try:
        return None if value is None else tuple(float(x) + 0.0 for x in value)
    except (TypeError, ValueError):
        return value


@dataclass(frozen=True, slots=True)
class RigidDrive:
    """Motor and link turn as one: inertia and friction of the motor act on q as those of the link do."""

    motor: Motor = Motor(0.0)

    @property
    def motors(self) -> tuple[Motor, ...]:
        return (self.motor,)


@dataclass(frozen=True, slots=True)
class ElasticDrive:
    """A spring between motor and link: τ_e = K (θ − q) + D (θ' − q'), B θ'' + τ_e = τ  [EJNEA (4b), (7)].

    `stiffness` is K of a linear spring, or another spring law; `damping` is D, in Nm s/rad or N s/m.
    """

    stiffness: float | Spring
    motor: Motor = Motor(0.0)
    damping: float = 0.0

    @property
    def spring(self) -> Spring:
        """The law of the spring, linear or not."""
        return self.stiffness if isinstance(self.stiffness, Spring) else LinearSpring(self.stiffness)

    @property
    def motors(self) -> tuple[Motor, ...]:
        return (self.motor,)


@dataclass(frozen=True, slots=True)
class AntagonisticDrive:
    """Two motors, each behind a spring of its own: motion and stiffness of the joint at will  [VSANEA (5), (9)-(11)].

    With φ_k = θ_k − q, τ_e = τ_1(φ_1) + τ_2(φ_2) acts on the link, with the stiffness σ = dτ_1/dφ_1 + dτ_2/dφ_2, and
    B_k θ_k'' + τ_k(φ_k) is the torque of motor k.  σ grows as the motors are drawn apart, φ_1 upwards, φ_2 downwards:
    springs that stiffen on one side only are given in this order.  `damping` adds D φ_k' to each spring's torque.
    """

    spring_1: Spring
    spring_2: Spring
    motor_1: Motor
    motor_2: Motor
    damping: float = 0.0

    @property
    def springs(self) -> tuple[Spring, Spring]:
        return self.spring_1, self.spring_2

    @property
    def motors(self) -> tuple[Motor, ...]:
        return self.motor_1, self.motor_2


Drive = RigidDrive | ElasticDrive | AntagonisticDrive


def coupled(motors: tuple[Motor, ...]) -> Motor:
    """Motors that turn as one; of several only what they add up to is left, no rotor of its own."""
    if len(motors) == 1:
        return motors[0]
    rubbing = [motor for motor in motors if motor.coulomb_friction]
    velocities = {motor.coulomb_velocity for motor in rubbing}
    if len(velocities) > 1:
        raise RobotError(
            f"motors whose Coulomb friction changes its sign over different velocities, {sorted(velocities)}, make no "
            "single motor: give them one coulomb_velocity"
        )
    return Motor(
        sum(motor.inertia for motor in motors),
        sum(motor.viscous_friction for motor in motors),
        sum(motor.coulomb_friction for motor in rubbing),
        velocities.pop() if velocities else 0.0,
    )


def antagonism(drive: AntagonisticDrive) -> float:
    """How much the joint stiffens, at best, when its motors are drawn apart at constant torque: −det A  [VSANEA (19)].

    Relative to the terms of the determinant, over deflections φ_1 ≥ φ_2 up to 1 rad or m: 0 if it is singular
    everywhere, negative if the joint softens everywhere.
    """
    cubic = [spring.cubic for spring in drive.springs if isinstance(spring, CubicSpring)]
    if len(cubic) == 2 and any(cubic):
        return 1.0  # at φ_1 = −φ_2: known without CasADi, so that robots with cached kernels load without it
    phi = np.concatenate([-SAMPLES[::-1], [0.0], SAMPLES])
    one, two = (spring.curve(phi) for spring in drive.springs)
    gain = one.slope[:, None] * two.stiffness - one.stiffness[:, None] * two.slope
    terms = abs(one.slope[:, None] * two.stiffness) + abs(one.stiffness[:, None] * two.slope)
    apart = (phi[:, None] >= phi) & np.isfinite(gain) & (terms > 0)
    best = max((gain[apart] / terms[apart]).tolist(), default=0.0)
    return best if abs(best) > SINGULAR else 0.0
