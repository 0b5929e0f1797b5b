"""Spring laws with a closed inverse."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, ClassVar

from ..errors import RobotError
from ..spatial import ca, is_zero, total
from .base import Spring, numbers_of, of_either_sign, positive

SMALL = 0.5  # of an exponent: below it, eˣ − 1 is taken without a difference


@dataclass(frozen=True)
class LinearSpring(Spring):
    """τ_e = K φ, K the `stiffness`."""

    stiffness: float

    def __post_init__(self) -> None:
        positive(self, "stiffness")

    def torque(self, phi: Any) -> Any:
        return self.stiffness * phi

    def deflection(self, tau: Any) -> Any:
        return (1 / self.stiffness) * tau


@dataclass(frozen=True)
class CubicSpring(Spring):
    """τ_e = K φ + K_c φ³: `stiffness` K > 0 and `cubic` K_c ≥ 0, in Nm/rad and Nm/rad³ or N/m and N/m³."""

    stiffness: float
    cubic: float

    def __post_init__(self) -> None:
        positive(self, "stiffness")
        positive(self, "cubic", or_zero=True)

    def torque(self, phi: Any) -> Any:
        return self.stiffness * phi + self.cubic * phi**3

    def deflection(self, tau: Any) -> Any:
        """With φ = c y, c = √(K/3K_c): y³ + 3y = 2w, w = 3τ/(2 K c); Cardano's a − 1/a without its cancellation."""
        if is_zero(self.cubic):
            return (1 / self.stiffness) * tau
        c = ca.sqrt(self.stiffness / (3 * self.cubic))
        w = (3 / (2 * self.stiffness * c)) * tau
        a = (ca.fabs(w) + ca.sqrt(w * w + 1)) ** (1 / 3)  # a³ − a⁻³ = 2|w|
        return (2 * c) * w / (a * a + 1 + 1 / (a * a))


@dataclass(frozen=True)
class HardeningSpring(Spring):
    """τ_e = K c tan(φ/c), c = 2·limit/π: stiffness K at rest, growing without bound towards the stop at ±limit."""

    stiffness: float
    limit: float

    def __post_init__(self) -> None:
        positive(self, "stiffness")
        positive(self, "limit")

    @property
    def c(self) -> float:
        return 2 * self.limit / math.pi

    def torque(self, phi: Any) -> Any:
        inside = ca.fabs(phi) < self.limit
        return ca.if_else(inside, self.stiffness * self.c * ca.tan(phi / self.c), math.nan)

    def deflection(self, tau: Any) -> Any:
        return self.c * ca.atan(tau / (self.stiffness * self.c))


@dataclass(frozen=True)
class PiecewiseSpring(Spring):
    """Stiffness linear between the given points (deflection ≥ 0, stiffness), constant beyond the last, even in φ.

    The torque, a parabola between the points, has a continuous stiffness.  The first deflection is 0.
    """

    deflections: tuple[float, ...]
    stiffnesses: tuple[float, ...]

    smoothness: ClassVar[float] = 2

    def __post_init__(self) -> None:
        for what in ("deflections", "stiffnesses"):
            object.__setattr__(self, what, numbers_of(self, what))
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

    def torque(self, phi: Any) -> Any:
        """k₀ φ + ½ Σ Δs_j (φ − x_j)² over the points passed on either side."""
        bends = [s1 - s0 for s0, s1 in pairwise([0.0, *self.slopes])]
        passed = [ca.fmax(phi - x, 0) ** 2 - ca.fmax(-phi - x, 0) ** 2 for x in self.deflections]
        return total([self.stiffnesses[0] * phi, *(bend / 2 * square for bend, square in zip(bends, passed))])

    def deflection(self, tau: Any) -> Any:
        """The way through each piece, 2Δ/(k + √(k² + 2sΔ)) for the torque Δ it takes up.

        Neither sign nor absolute value: their derivatives vanish at τ = 0, where that of φ is 1/k.
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


@dataclass(frozen=True)
class QuadraticSpring(Spring):
    """τ_e = K φ + ½ s φ²: stiffness K + s φ, positive on one side of −K/s only; K > 0 is the `stiffness` at rest.

    The `slope` s is in Nm/rad² or N/m².  If it is negative, the spring stiffens as φ falls.
    """

    stiffness: float
    slope: float

    def __post_init__(self) -> None:
        positive(self, "stiffness")
        of_either_sign(self, "slope")

    def torque(self, phi: Any) -> Any:
        defined = self.stiffness + self.slope * phi > 0
        return ca.if_else(defined, self.stiffness * phi + self.slope / 2 * phi**2, math.nan)

    def deflection(self, tau: Any) -> Any:
        return 2 * tau / (self.stiffness + ca.sqrt(self.stiffness**2 + 2 * self.slope * tau))


@dataclass(frozen=True)
class ExponentialSpring(Spring):
    """τ_e = K/b (e^(bφ) − 1): stiffness K e^(bφ); K > 0 is the `stiffness` at rest, b the `rate`, in 1/rad or 1/m.

    If b is negative, the spring stiffens as φ falls.
    """

    stiffness: float
    rate: float

    def __post_init__(self) -> None:
        positive(self, "stiffness")
        of_either_sign(self, "rate")

    def torque(self, phi: Any) -> Any:
        """Where x = bφ is small, eˣ − 1 as it stands loses its digits; where it is not, its derivatives are best so."""
        x = self.rate * phi
        return self.stiffness / self.rate * ca.if_else(ca.fabs(x) < SMALL, exponential_rise(x), ca.exp(x) - 1)

    def gradients(self, phi: Any, order: int = 2) -> list[Any]:
        """K e^(bφ), b K e^(bφ), ..."""
        found = [self.stiffness * ca.exp(self.rate * phi)]
        for _ in range(order - 1):
            found.append(self.rate * found[-1])
        return found

    def deflection(self, tau: Any) -> Any:
        """y/b with y = ln(1 + x), x = bτ/K; a Newton step gives back the digits that 1 + x takes from a small x."""
        x = self.rate / self.stiffness * tau
        y = ca.log(1 + x)
        return (y - (exponential_rise(y) - x) / (1 + x)) / self.rate


def exponential_rise(x: Any) -> Any:
    """eˣ − 1 with all its digits, however small x is.  Its derivatives lose digits where eˣ is small."""
    return ca.tanh(x / 2) * (ca.exp(x) + 1)
