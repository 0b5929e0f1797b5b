"""A lever whose arm is set by a second motor: stiffness without fighting a preload, as in AwAS  [AwAS].

The first motor turns a lever of the arm r = `arm` + θ_2 against springs on the link side.  Deflected by φ, the end of
the lever moves the springs by r sin φ:

    U = ½ k r² sin²φ,   τ_e = ½ k r² sin 2φ,   σ = k r² cos 2φ,   τ_2 = k r sin²φ,

so that tan 2φ = 2 τ_e/σ and k r² = √(σ² + 4 τ_e²), and det A = 2 k² r³ never vanishes.  The second motor carries no
load while the joint is not deflected.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

from ..errors import RobotError
from ..spatial import ca, is_symbolic
from .motor import Motor
from .variable import Range, VariableStiffnessDrive


@dataclass(frozen=True)
class LeverDrive(VariableStiffnessDrive):
    """`spring` is k of the springs at the lever's end, in N/m; the arm is between `least_arm` and `greatest_arm`, in m,
    and `arm` where θ_2 = 0.

    θ_2 and the second motor's inertia are those of the moving pivot, in m and kg: whatever moves it is counted after
    its gear.
    """

    spring: float
    arm: float
    least_arm: float
    greatest_arm: float
    motor_1: Motor
    motor_2: Motor
    damping: float = 0.0
    greatest_stiffness: float = math.inf
    greatest_damping: float = 0.0

    follows: ClassVar[bool] = False
    slides: ClassVar[bool] = True

    def __post_init__(self) -> None:
        numbers = {name: getattr(self, name) for name in ("spring", "arm", "least_arm", "greatest_arm")}
        if any(map(is_symbolic, numbers.values())):
            return
        for name, value in numbers.items():
            if not isinstance(value, Real) or isinstance(value, bool) or not 0 < float(value) < math.inf:
                raise RobotError(f"LeverDrive: {name} is {value!r}; it must be a positive number")
            object.__setattr__(self, name, float(value))
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

    def energy(self, phi_1: Any, phi_2: Any) -> Any:
        return self.spring / 2 * ((self.arm + phi_2) * ca.sin(phi_1)) ** 2

    def deflections(self, tau_e: Any, sigma: Any) -> tuple[Any, Any]:
        kr2 = ca.sqrt(sigma * sigma + 4 * tau_e * tau_e)
        return ca.atan2(2 * tau_e, sigma) / 2, ca.sqrt(kr2 / self.spring) - self.arm
