"""The drive without a spring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..reprs import repr_without_defaults
from .kinds import DRIVES
from .motor import MASSLESS, Motor


@DRIVES.register("rigid")
@dataclass(frozen=True, slots=True, repr=False)
class RigidDrive:
    """A drive whose motor is coupled rigidly to the link: its inertia and friction act on q.

    In robot files: `{kind = "rigid", motor_inertia = 0.3}`.

    Args:
        motor: the motor; without inertia and friction by default.

    Example:
        >>> import flexjoint as fj
        >>> fj.RigidDrive(fj.Motor(0.3))
        RigidDrive(motor=Motor(inertia=0.3))
    """

    motor: Motor = MASSLESS

    massless: ClassVar[bool] = True  # whether the motor may have no inertia

    @property
    def motors(self) -> tuple[Motor, ...]:
        """The motors of the joint: one."""
        return (self.motor,)

    __repr__ = repr_without_defaults
