"""The cubic spring, which stiffens with deflection on both sides."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..spatial import ca, is_zero
from ..types import Expression
from .base import SPRINGS, Spring, set_numbers


@SPRINGS.register("cubic")
@dataclass(frozen=True)
class CubicSpring(Spring):
    """A spring with torque τ_e = K φ + K_c φ³.

    In robot files: `{kind = "cubic", stiffness = 900, cubic = 4e4}`.

    Args:
        stiffness: K > 0, in Nm/rad or N/m.
        cubic: K_c ≥ 0, in Nm/rad³ or N/m³.

    Raises:
        RobotError: a number has the wrong sign or is not finite.

    Example:
        >>> from flexjoint.springs import CubicSpring
        >>> CubicSpring(900.0, 4e4).curve(0.1).torque.item()
        130.0
    """

    stiffness: float = field(metadata={"unit": "Nm/rad | N/m"})
    cubic: float = field(metadata={"unit": "Nm/rad³ | N/m³"})

    def __post_init__(self) -> None:
        set_numbers(self, stiffness="positive", cubic="not negative")

    def torque(self, phi: Expression) -> Expression:
        return self.stiffness * phi + self.cubic * phi**3

    def energy(self, phi: Expression) -> Expression:
        return self.stiffness / 2 * phi**2 + self.cubic / 4 * phi**4

    def deflection(self, tau: Expression) -> Expression:
        """Cardano's formula without its cancellation.

        With φ = c y and c = √(K/3K_c): y³ + 3y = 2w, w = 3τ/(2 K c), and y = a − 1/a with a³ − a⁻³ = 2w.
        """
        if is_zero(self.cubic):
            return (1 / self.stiffness) * tau
        c = ca.sqrt(self.stiffness / (3 * self.cubic))
        w = (3 / (2 * self.stiffness * c)) * tau
        a = (ca.fabs(w) + ca.sqrt(w * w + 1)) ** (1 / 3)  # of |w|
        return (2 * c) * w / (a * a + 1 + 1 / (a * a))
