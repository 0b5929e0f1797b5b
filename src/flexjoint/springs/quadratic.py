"""The quadratic spring, which stiffens on one side only."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ..spatial import ca
from ..types import Expression
from .base import SPRINGS, Spring, set_numbers


@SPRINGS.register("quadratic")
@dataclass(frozen=True)
class QuadraticSpring(Spring):
    """A spring with torque τ_e = K φ + ½ s φ²: its stiffness K + s φ is positive on one side of φ = −K/s.

    In robot files: `{kind = "quadratic", stiffness = 900, slope = 100}`.

    Args:
        stiffness: K > 0, the stiffness at φ = 0, in Nm/rad or N/m.
        slope: s ≠ 0, in Nm/rad² or N/m²; if negative, the spring stiffens as φ falls.

    Raises:
        RobotError: a number has the wrong sign or is not finite.

    Example:
        >>> from flexjoint.springs import QuadraticSpring
        >>> QuadraticSpring(900.0, 1000.0).curve([-0.1, 0.0, 0.1]).stiffness.tolist()
        [800.0, 900.0, 1000.0]
    """

    stiffness: float = field(metadata={"unit": "Nm/rad | N/m"})
    slope: float = field(metadata={"unit": "Nm/rad² | N/m²"})

    def __post_init__(self) -> None:
        set_numbers(self, stiffness="positive", slope="not 0")

    def torque(self, phi: Expression) -> Expression:
        defined = self.stiffness + self.slope * phi > 0
        return ca.if_else(defined, self.stiffness * phi + self.slope / 2 * phi**2, math.nan)

    def energy(self, phi: Expression) -> Expression:
        defined = self.stiffness + self.slope * phi > 0
        return ca.if_else(defined, self.stiffness / 2 * phi**2 + self.slope / 6 * phi**3, math.nan)

    def deflection(self, tau: Expression) -> Expression:
        return 2 * tau / (self.stiffness + ca.sqrt(self.stiffness**2 + 2 * self.slope * tau))
