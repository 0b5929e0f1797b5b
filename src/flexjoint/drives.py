"""The motor side of a joint: how the actuator's torque reaches the link.

A drive is plain data and a field of its joint; a joint without a drive is driven directly and massless
on the motor side.  All quantities are on the link side, after the reduction.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Motor:
    """`inertia` is the rotor's axial inertia seen from the link, B = η² I_axial (kg m², or kg if prismatic)."""

    inertia: float


@dataclass(frozen=True, slots=True)
class RigidDrive:
    """Motor and link turn as one: the motor's inertia joins the diagonal of the mass matrix."""

    motor: Motor = field(default_factory=lambda: Motor(0.0))


@dataclass(frozen=True, slots=True)
class ElasticDrive:
    """A linear spring between motor and link: τ_e = K (θ − q), B θ'' + τ_e = τ  [EJNEA (4b), (7)]."""

    stiffness: float
    motor: Motor


Drive = RigidDrive | ElasticDrive
