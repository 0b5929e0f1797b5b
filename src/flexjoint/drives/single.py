"""Joints with one motor, coupled rigidly or through a spring."""

from __future__ import annotations

from dataclasses import dataclass

from ..springs import LinearSpring, Spring
from .motor import Motor

MASSLESS = Motor(0.0)


@dataclass(frozen=True, slots=True)
class RigidDrive:
    """Motor and link turn as one: inertia and friction of the motor act on q as those of the link do."""

    motor: Motor = MASSLESS

    @property
    def motors(self) -> tuple[Motor, ...]:
        return (self.motor,)


@dataclass(frozen=True, slots=True)
class ElasticDrive:
    """A spring between motor and link: τ_e = K (θ − q) + D (θ' − q'), B θ'' + τ_e = τ  [EJNEA (4b), (7)].

    `stiffness` is K of a linear spring, or another spring law; `damping` is D, in Nm s/rad or N s/m.
    """

    stiffness: float | Spring
    motor: Motor = MASSLESS
    damping: float = 0.0

    @property
    def spring(self) -> Spring:
        """The law of the spring, linear or not."""
        return self.stiffness if isinstance(self.stiffness, Spring) else LinearSpring(self.stiffness)

    @property
    def motors(self) -> tuple[Motor, ...]:
        return (self.motor,)
