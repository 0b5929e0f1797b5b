"""The drive with a lever whose arm a second motor sets: variable stiffness without a preload, as in AwAS  [AwAS].

The first motor turns a lever with arm r = `arm` + θ_2 against springs on the link side.  At the deflection φ the end of
the lever compresses the springs by r sin φ:

    U = ½ k r² sin²φ,   τ_e = ½ k r² sin 2φ,   σ = k r² cos 2φ,   τ_2 = k r sin²φ,

so tan 2φ = 2 τ_e/σ, k r² = √(σ² + 4 τ_e²), and det A = 2 k² r³ never vanishes.  The second motor carries no load while
the joint is undeflected.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

from ..checks import positive
from ..errors import RobotError
from ..spatial import ca, is_symbolic
from ..types import Expression
from .kinds import DRIVES
from .limits import NO_SPRING_LIMITS, SpringLimits
from .motor import Motor
from .variable import Range, VariableStiffnessDrive


@DRIVES.register("lever")
@dataclass(frozen=True, repr=False)
class LeverDrive(VariableStiffnessDrive):
    """A drive whose first motor turns a lever against springs, and whose second motor moves the pivot of the lever.

    In robot files: `{kind = "lever", spring = 2e4, arm = 0.1, least_arm = 0.03, greatest_arm = 0.12, motor_1 = {inertia
    = 1.0}, motor_2 = {inertia = 2.0}}`.

    Args:
        spring: stiffness k of the springs at the end of the lever, positive, in N/m.
        arm: arm of the lever at θ_2 = 0, in m.
        least_arm: shortest arm, positive, in m.
        greatest_arm: longest arm, in m.
        motor_1: the motor that turns the lever.
        motor_2: the motor that moves the pivot, after its gear: θ_2 in m, inertia in kg, torque as a force in N.
        damping: D ≥ 0 between link and motor 1, in Nm s/rad; 0 by default.
        greatest_stiffness: largest stiffness that may be commanded, in Nm/rad; infinite by default.
        greatest_damping: largest damping of a commanded damper in parallel with the springs, in Nm s/rad; 0 by default,
            no such damper.

    Raises:
        RobotError: a length or the stiffness is not positive, or the arm lies outside its bounds.

    Example:
        >>> import flexjoint as fj
        >>> fj.drives.LeverDrive(7e4, 0.1, 0.02, 0.2, fj.Motor(1.0), fj.Motor(2.0)).ranges[1].upper
        0.1
    """

    spring: float = field(metadata={"unit": "N/m | N/m"})
    arm: float = field(metadata={"unit": "m | m"})
    least_arm: float
    greatest_arm: float
    motor_1: Motor
    motor_2: Motor
    damping: float = 0.0
    greatest_stiffness: float = math.inf
    greatest_damping: float = 0.0
    spring_limits: SpringLimits = NO_SPRING_LIMITS

    follows: ClassVar[bool] = False
    slides: ClassVar[bool] = True

    def __post_init__(self) -> None:
        numbers = {name: getattr(self, name) for name in ("spring", "arm", "least_arm", "greatest_arm")}
        if any(map(is_symbolic, numbers.values())):
            return
        for name, value in numbers.items():
            object.__setattr__(self, name, positive("LeverDrive", name, value, error=RobotError))
        if not self.least_arm <= self.arm <= self.greatest_arm or self.least_arm == self.greatest_arm:
            raise RobotError(
                f"LeverDrive: the arm {self.arm:g} m must lie between least_arm and greatest_arm, "
                f"{self.least_arm:g} and {self.greatest_arm:g} m, and these must differ"
            )

    @property
    def ranges(self) -> tuple[Range, Range]:
        return Range(-math.pi / 4, math.pi / 4), Range(self.least_arm - self.arm, self.greatest_arm - self.arm)

    @property
    def gain(self) -> float:
        return 1.0

    def energy(self, phi_1: Expression, phi_2: Expression) -> Expression:
        return self.spring / 2 * ((self.arm + phi_2) * ca.sin(phi_1)) ** 2

    def deflections(self, tau_e: Expression, sigma: Expression) -> tuple[Expression, Expression]:
        kr2 = ca.sqrt(sigma * sigma + 4 * tau_e * tau_e)
        return ca.atan2(2 * tau_e, sigma) / 2, ca.sqrt(kr2 / self.spring) - self.arm
