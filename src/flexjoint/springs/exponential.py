"""The exponential spring, which stiffens on one side only."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from ..spatial import ca
from ..types import Expression
from .base import SPRINGS, Spring, set_numbers

SMALL = 0.5  # |x| below which eˣ − 1 is evaluated without the subtraction
SERIES = 18  # terms of eˣ that |x| < SMALL needs for full accuracy of eˣ − 1 − x


@SPRINGS.register("exponential")
@dataclass(frozen=True)
class ExponentialSpring(Spring):
    """A spring with torque τ_e = K/b (e^(bφ) − 1), and so with stiffness K e^(bφ).

    In robot files: `{kind = "exponential", stiffness = 900, rate = 3}`.

    Args:
        stiffness: K > 0, the stiffness at φ = 0, in Nm/rad or N/m.
        rate: b ≠ 0, in 1/rad or 1/m; if negative, the spring stiffens as φ falls.

    Raises:
        RobotError: a number has the wrong sign or is not finite.

    Example:
        >>> from flexjoint.springs import ExponentialSpring
        >>> ExponentialSpring(900.0, 3.0).curve([-0.1, 0.0, 0.1]).stiffness.round().tolist()
        [667.0, 900.0, 1215.0]
    """

    stiffness: float = field(metadata={"unit": "Nm/rad | N/m"})
    rate: float = field(metadata={"unit": "1/rad | 1/m"})

    def __post_init__(self) -> None:
        set_numbers(self, stiffness="positive", rate="not 0")

    def torque(self, phi: Expression) -> Expression:
        """For small x = bφ the difference eˣ − 1 loses digits; for large x its derivatives are the accurate ones."""
        x = self.rate * phi
        return self.stiffness / self.rate * ca.if_else(ca.fabs(x) < SMALL, exponential_rise(x), ca.exp(x) - 1)

    def gradients(self, phi: Expression, order: int = 2) -> list[Expression]:
        """K e^(bφ), b K e^(bφ), ..."""
        found = [self.stiffness * ca.exp(self.rate * phi)]
        for _ in range(order - 1):
            found.append(self.rate * found[-1])
        return found

    def energy(self, phi: Expression) -> Expression:
        """K/b² (eˣ − 1 − x), x = bφ; by its series where the difference loses digits."""
        x = self.rate * phi
        series = 0.0
        for k in reversed(range(2, SERIES)):
            series = series * x + 1 / math.factorial(k)
        rise = ca.if_else(ca.fabs(x) < SMALL, x * x * series, ca.exp(x) - 1 - x)
        return self.stiffness / self.rate**2 * rise

    def deflection(self, tau: Expression) -> Expression:
        """ln(1 + bτ/K)/b."""
        return logarithm_beyond_one(self.rate / self.stiffness * tau) / self.rate


def logarithm_beyond_one(x: Expression) -> Expression:
    """ln(1 + x); one Newton step restores the digits that 1 + x loses for small x."""
    y = ca.log(1 + x)
    return y - (exponential_rise(y) - x) / (1 + x)


def exponential_rise(x: Expression) -> Expression:
    """eˣ − 1 to full accuracy for small x.  Its derivatives lose digits where eˣ is small."""
    return ca.tanh(x / 2) * (ca.exp(x) + 1)
