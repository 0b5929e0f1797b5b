"""The drive with a spring between motor and link."""

from __future__ import annotations

from dataclasses import dataclass

from ..reprs import repr_without_defaults
from ..springs import LinearSpring, Spring
from .kinds import DRIVES
from .limits import NO_SPRING_LIMITS, SpringLimits
from .motor import MASSLESS, Motor


@DRIVES.register("elastic")
@dataclass(frozen=True, slots=True, repr=False)
class ElasticDrive:
    """A drive with a spring between motor and link: τ_e = K (θ − q) + D (θ' − q'), B θ'' + τ_e = τ  [EJNEA (4b), (7)].

    In robot files: `{kind = "elastic", stiffness = 1000, motor_inertia = 0.3}`, with `spring = {kind = ...}` in place
    of `stiffness` for another law.

    Args:
        stiffness: K of a linear spring, positive, in Nm/rad or N/m; or a `Spring`.
        motor: the motor; a robot requires that its inertia B is positive.
        damping: D ≥ 0, in Nm s/rad or N s/m; 0 by default.
        spring_limits: bounds of torque and deflection of the spring; none by default.

    Example:
        >>> import flexjoint as fj
        >>> fj.ElasticDrive(1000.0, fj.Motor(0.3)).spring
        LinearSpring(stiffness=1000.0)
    """

    stiffness: float | Spring
    motor: Motor = MASSLESS
    damping: float = 0.0
    spring_limits: SpringLimits = NO_SPRING_LIMITS

    @property
    def spring(self) -> Spring:
        """The spring law; linear if `stiffness` is a number."""
        return self.stiffness if isinstance(self.stiffness, Spring) else LinearSpring(self.stiffness)

    @property
    def motors(self) -> tuple[Motor, ...]:
        """The motors of the joint: one."""
        return (self.motor,)

    __repr__ = repr_without_defaults
