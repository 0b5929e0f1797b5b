"""The motor side of a joint: how the actuator's torque reaches the link.

A drive is plain data and a field of its joint; a joint without a drive is driven directly and massless
on the motor side.  All quantities are on the link side, after the reduction.
"""

from __future__ import annotations

from dataclasses import dataclass

from .springs import LinearSpring, Spring


@dataclass(frozen=True, slots=True)
class Motor:
    """`inertia` is the rotor's axial inertia seen from the link, B = η² I_axial (kg m², or kg if prismatic).

    Friction at the motor, D θ' + F_c tanh(θ'/v_c): `viscous_friction` D in Nm s/rad or N s/m, `coulomb_friction` F_c
    in Nm or N, and `coulomb_velocity` v_c in rad/s or m/s, over which it changes its sign.
    """

    inertia: float
    viscous_friction: float = 0.0
    coulomb_friction: float = 0.0
    coulomb_velocity: float = 0.0


@dataclass(frozen=True, slots=True)
class RigidDrive:
    """Motor and link turn as one: inertia and friction of the motor act on q as those of the link do."""

    motor: Motor = Motor(0.0)


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


Drive = RigidDrive | ElasticDrive
