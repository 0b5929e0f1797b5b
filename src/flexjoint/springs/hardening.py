"""The hardening spring, whose stiffness grows without bound towards a stop."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ..spatial import ca
from ..types import Expression
from .base import SPRINGS, Spring, set_numbers
from .exponential import logarithm_beyond_one


@SPRINGS.register("hardening")
@dataclass(frozen=True)
class HardeningSpring(Spring):
    """A spring with torque τ_e = K c tan(φ/c), c = 2·limit/π, undefined beyond ±limit.

    In robot files: `{kind = "hardening", stiffness = 900, limit = 0.2}`.

    Args:
        stiffness: K > 0, the stiffness at φ = 0, in Nm/rad or N/m.
        limit: deflection of the stop, positive, in rad or m.

    Raises:
        RobotError: a number is not positive and finite.

    Example:
        >>> from flexjoint.springs import HardeningSpring
        >>> HardeningSpring(900.0, 0.2).curve([0.0, 0.1]).stiffness.round(6).tolist()
        [900.0, 1800.0]
    """

    stiffness: float = field(metadata={"unit": "Nm/rad | N/m"})
    limit: float = field(metadata={"unit": "rad | m"})

    def __post_init__(self) -> None:
        set_numbers(self, stiffness="positive", limit="positive")

    @property
    def c(self) -> float:
        return 2 * self.limit / math.pi

    def torque(self, phi: Expression) -> Expression:
        inside = ca.fabs(phi) < self.limit
        return ca.if_else(inside, self.stiffness * self.c * ca.tan(phi / self.c), math.nan)

    def energy(self, phi: Expression) -> Expression:
        """−K c² ln cos(φ/c) = ½ K c² ln(1 + tan²(φ/c))."""
        inside, K, c = ca.fabs(phi) < self.limit, self.stiffness, self.c
        return ca.if_else(inside, K * c * c / 2 * logarithm_beyond_one(ca.tan(phi / c) ** 2), math.nan)

    def deflection(self, tau: Expression) -> Expression:
        return self.c * ca.atan(tau / (self.stiffness * self.c))
