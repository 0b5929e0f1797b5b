"""The spring whose stiffness is piecewise linear in the deflection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import ClassVar

from ..errors import RobotError
from ..spatial import ca, is_zero, total
from ..types import Expression
from .base import SPRINGS, Spring, points_repr, set_points


@SPRINGS.register("piecewise")
@dataclass(frozen=True)
class PiecewiseSpring(Spring):
    """A spring whose stiffness is linear between given points, constant beyond the last one, and even in φ.

    The torque is a parabola between the points; its stiffness is continuous.
    In robot files: `{kind = "piecewise", deflections = [0, 0.1], stiffnesses = [100, 300]}`.

    Args:
        deflections: (m,), increasing from 0, in rad or m; at most 500.
        stiffnesses: (m,), positive, in Nm/rad or N/m.

    Raises:
        RobotError: the deflections do not increase from 0, or a stiffness is not positive.

    Example:
        >>> from flexjoint.springs import PiecewiseSpring
        >>> PiecewiseSpring([0.0, 0.1], [100.0, 300.0]).curve([0.0, 0.05, 0.2]).stiffness.tolist()
        [100.0, 200.0, 300.0]
    """

    deflections: Sequence[float] = field(metadata={"unit": "rad | m"})
    stiffnesses: Sequence[float] = field(metadata={"unit": "Nm/rad | N/m"})

    smoothness: ClassVar[float] = 2

    __repr__ = points_repr

    def __post_init__(self) -> None:
        set_points(self, "deflections", "stiffnesses")
        x, k = self.deflections, self.stiffnesses
        if len(x) != len(k) or not x:
            raise RobotError(f"{self.name}: {len(x)} deflections and {len(k)} stiffnesses; give one stiffness each")
        if x[0] != 0 or any(b <= a for a, b in pairwise(x)):
            raise RobotError(f"{self.name}: the deflections are {list(x)}; they must start at 0 and increase")
        if min(k) <= 0:
            raise RobotError(f"{self.name}: a stiffness is {min(k):g}; all must be positive: the torque must increase")

    @property
    def slopes(self) -> list[float]:
        """dk/dφ after each point."""
        points = pairwise(zip(self.deflections, self.stiffnesses))
        return [*((k1 - k0) / (x1 - x0) for (x0, k0), (x1, k1) in points), 0.0]

    def torque(self, phi: Expression) -> Expression:
        """k₀ φ + ½ Σ Δs_j (φ − x_j)², over the points x_j passed on either side."""
        bends = [s1 - s0 for s0, s1 in pairwise([0.0, *self.slopes])]
        passed = [ca.fmax(phi - x, 0) ** 2 - ca.fmax(-phi - x, 0) ** 2 for x in self.deflections]
        return total([self.stiffnesses[0] * phi, *(bend / 2 * square for bend, square in zip(bends, passed))])

    def energy(self, phi: Expression) -> Expression:
        """½ k₀ φ² + ⅙ Σ Δs_j |φ − x_j|³, over the points passed."""
        bends = [s1 - s0 for s0, s1 in pairwise([0.0, *self.slopes])]
        passed = [ca.fmax(phi - x, 0) ** 3 + ca.fmax(-phi - x, 0) ** 3 for x in self.deflections]
        return total([self.stiffnesses[0] / 2 * phi**2, *(bend / 6 * cube for bend, cube in zip(bends, passed))])

    def deflection(self, tau: Expression) -> Expression:
        """Sum over the pieces of the deflection 2Δ/(k + √(k² + 2sΔ)) that takes up the part Δ of the torque.

        No sign or absolute value: their derivatives vanish at τ = 0, where dφ/dτ is 1/k.
        """
        x, k = self.deflections, self.stiffnesses
        side = ca.if_else(tau < 0, -1, 1)
        taken = [(x1 - x0) * (k0 + k1) / 2 for x0, x1, k0, k1 in zip(x, x[1:], k, k[1:])]
        start = [0.0, *accumulate(taken)]
        ways = []
        for k0, s, t0, most in zip(k, self.slopes, start, [*taken, None]):
            Delta = side * tau if is_zero(t0) else ca.fmax(side * tau - t0, 0)
            Delta = Delta if most is None else ca.fmin(Delta, most)
            ways.append(Delta / k0 if is_zero(s) else 2 * Delta / (k0 + ca.sqrt(k0 * k0 + (2 * s) * Delta)))
        return side * total(ways)
