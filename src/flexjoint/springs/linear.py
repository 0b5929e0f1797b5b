"""The linear spring."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..types import Expression
from .base import SPRINGS, Spring, set_numbers


@SPRINGS.register("linear")
@dataclass(frozen=True)
class LinearSpring(Spring):
    """A spring with torque τ_e = K φ.

    In robot files: `{kind = "linear", stiffness = 900}`.

    Args:
        stiffness: K > 0, in Nm/rad or N/m.

    Raises:
        RobotError: the stiffness is not a positive number.

    Example:
        >>> from flexjoint.springs import LinearSpring
        >>> LinearSpring(900.0).curve(0.1).torque.item()
        90.0
    """

    stiffness: float = field(metadata={"unit": "Nm/rad | N/m"})

    def __post_init__(self) -> None:
        set_numbers(self, stiffness="positive")

    def torque(self, phi: Expression) -> Expression:
        return self.stiffness * phi

    def energy(self, phi: Expression) -> Expression:
        return self.stiffness / 2 * phi**2

    def deflection(self, tau: Expression) -> Expression:
        return (1 / self.stiffness) * tau
