"""The spring with a hyperbolic sine, as of the qbmove: it stiffens with deflection on both sides  [Qbmove]."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..spatial import ca
from ..types import Expression
from .base import SPRINGS, Spring, set_numbers


@SPRINGS.register("sinh")
@dataclass(frozen=True)
class SinhSpring(Spring):
    """A spring with torque τ_e = K/a sinh(aφ), and so with stiffness K cosh(aφ).

    The qbmove has two of them, τ_k = k sinh(aφ_k) with K = a k, in an `AntagonisticDrive`.

    In robot files: `{kind = "sinh", stiffness = 0.15, rate = 6.7}`.

    Args:
        stiffness: K > 0, the stiffness at φ = 0, in Nm/rad or N/m.
        rate: a > 0, in 1/rad or 1/m.

    Raises:
        RobotError: a number is not positive and finite.

    Example:
        >>> from flexjoint.springs import SinhSpring
        >>> SinhSpring(2.0, 5.0).curve([0.0, 0.2]).torque.round(4).tolist()
        [0.0, 0.4701]
    """

    stiffness: float = field(metadata={"unit": "Nm/rad | N/m"})
    rate: float = field(metadata={"unit": "1/rad | 1/m"})

    def __post_init__(self) -> None:
        set_numbers(self, stiffness="positive", rate="positive")

    def torque(self, phi: Expression) -> Expression:
        return self.stiffness / self.rate * ca.sinh(self.rate * phi)

    def gradients(self, phi: Expression, order: int = 2) -> list[Expression]:
        """K cosh(aφ), a K sinh(aφ), a² K cosh(aφ), ..."""
        values = ca.cosh(self.rate * phi), ca.sinh(self.rate * phi)
        return [self.stiffness * self.rate**k * values[k % 2] for k in range(order)]

    def energy(self, phi: Expression) -> Expression:
        """K/a² (cosh(aφ) − 1) = 2K/a² sinh²(aφ/2)."""
        return 2 * self.stiffness / self.rate**2 * ca.sinh(self.rate / 2 * phi) ** 2

    def deflection(self, tau: Expression) -> Expression:
        return inverse_sinh(self.rate / self.stiffness * tau) / self.rate


def inverse_sinh(x: Expression) -> Expression:
    """arsinh x; one Newton step restores the digits that the logarithm loses for small x."""
    root = ca.sqrt(x * x + 1)
    y = ca.if_else(x < 0, -ca.log(root - x), ca.log(root + x))
    return y - (ca.sinh(y) - x) / root
