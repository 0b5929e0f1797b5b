"""Backlash of gears: a spring that feels its deflection only beyond a gap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..spatial import ca
from ..springs import Spring
from ..types import Expression, Scalar


@dataclass(frozen=True)
class DeadZone(Spring):
    """A spring law behind a gap: τ_e(φ) = f(φ − g/2) beyond it, f(φ + g/2) below it, and 0 within |φ| ≤ g/2.

    Args:
        law: f, the spring without the gap.
        gap: g, the whole width, in rad or m.
    """

    law: Spring
    gap: Scalar

    smoothness: ClassVar[float] = 1

    def __post_init__(self) -> None:
        """Nothing to check: the robot checks the gap, and the law has checked itself."""

    def beyond(self, phi: Expression) -> Expression:
        """The part of a deflection that the law feels."""
        return ca.fmax(phi - self.gap / 2, 0) + ca.fmin(phi + self.gap / 2, 0)

    def torque(self, phi: Expression) -> Expression:
        """f of the deflection beyond the gap."""
        return self.law.torque(self.beyond(phi))

    def energy(self, phi: Expression) -> Expression:
        """That of the law at the deflection beyond the gap."""
        return self.law.energy(self.beyond(phi))

    def deflection(self, tau: Expression) -> Expression:
        """The deflection at rest under a torque; the middle of the gap without one."""
        return self.law.deflection(tau) + ca.sign(tau) * (self.gap / 2)

    @property
    def reach(self) -> float:
        """That of the law, and half the gap."""
        return self.law.reach + self.gap / 2

    @property
    def invertible(self) -> bool:
        """Whether the law has a closed inverse."""
        return self.law.invertible

    @property
    def has_energy(self) -> bool:
        """Whether the law gives its energy."""
        return self.law.has_energy
