"""The drive with a spring between motor and link."""

from __future__ import annotations

from dataclasses import dataclass

from ..reprs import repr_without_defaults
from ..spatial import is_zero
from ..springs import LinearSpring, Spring
from .backlash import DeadZone
from .hysteresis import Hysteresis
from .kinds import DRIVES
from .limits import NO_SPRING_LIMITS, SpringLimits
from .motor import MASSLESS, Motor


@DRIVES.register("elastic")
@dataclass(frozen=True, slots=True, repr=False)
class ElasticDrive:
    """A drive with a spring between motor and link: τ_e = K (θ − q) + D (θ' − q'), B θ'' + τ_e = τ  [EJNEA (4b), (7)].

    In robot files: `{kind = "elastic", stiffness = 1000, motor_inertia = 0.3}`, with `spring = {kind = ...}` instead of
    `stiffness` for another law.

    Hysteresis adds a torque τ_h with a state to τ_e; with backlash the spring acts only where φ = θ − q leaves a gap.
    Damping and hysteresis act within the gap too.  Both are for simulations: inverse dynamics and control laws take
    `robot.without_gear_losses()`.

    Args:
        stiffness: K of a linear spring, positive, in Nm/rad or N/m; or a `Spring`.
        motor: the motor; a robot requires that its inertia B is positive.
        damping: D ≥ 0, in Nm s/rad or N s/m; 0 by default.
        spring_limits: bounds of torque and deflection of the spring; none by default.
        hysteresis: `drives.Dahl` or `drives.BoucWen`; none by default.
        backlash: full width of the gap, in rad or m; 0 by default.

    Example:
        >>> import flexjoint as fj
        >>> fj.ElasticDrive(1000.0, fj.Motor(0.3)).spring
        LinearSpring(stiffness=1000.0)
    """

    stiffness: float | Spring
    motor: Motor = MASSLESS
    damping: float = 0.0
    spring_limits: SpringLimits = NO_SPRING_LIMITS
    hysteresis: Hysteresis | None = None
    backlash: float = 0.0

    @property
    def spring(self) -> Spring:
        """The spring law, behind a gap if there is backlash."""
        return self.law if is_zero(self.backlash) else DeadZone(self.law, self.backlash)

    @property
    def law(self) -> Spring:
        """The spring law without the gap; linear if `stiffness` is a number."""
        return self.stiffness if isinstance(self.stiffness, Spring) else LinearSpring(self.stiffness)

    @property
    def motors(self) -> tuple[Motor, ...]:
        """The motors of the joint: one."""
        return (self.motor,)

    __repr__ = repr_without_defaults
