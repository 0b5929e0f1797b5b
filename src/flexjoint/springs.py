"""Spring laws: the torque τ_e of a deflection φ = θ − q, and its inverse.

A law is a frozen dataclass with `torque(phi)`, one SX expression, from which stiffness k = dτ_e/dφ and its slope are
derived; `deflection(tau)` is its inverse, where that has a closed form; where not, it is searched for within `reach`.
Inverse dynamics differentiates φ twice,

    φ' = τ_e'/k,   φ'' = (τ_e'' − k' φ'²)/k,

so a law must be strictly increasing, with a continuous stiffness whose slope may jump: a spring whose stiffness itself
jumps would ask for infinite motor torque when it passes the edge.

To add a law: one class here, its name in SPRINGS.  A law of your own needs nothing but the class.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from .errors import RobotError
from .spatial import ca, is_symbolic, is_zero, total

SAMPLES = np.geomspace(1e-6, 1.0, 25)  # rad or m: where a law of unknown form is looked at
INVERSE_TOLERANCE = 1e-6  # relative; a wrong formula errs by more, a poor one by less


class Curve(NamedTuple):
    """Torque, stiffness and slope of the stiffness, each of the shape of the deflection."""

    torque: np.ndarray
    stiffness: np.ndarray
    slope: np.ndarray


@dataclass(frozen=True)
class Spring(ABC):
    """The abstract law.  A subclass without `__post_init__` is tried at some deflections up to 1 rad or m."""

    def __post_init__(self) -> None:
        phi = np.concatenate([-SAMPLES[::-1], [0.0], SAMPLES])
        phi = phi[np.isfinite(evaluated(self.torque, phi))]
        torque, stiffness, _ = self.curve(phi)
        if 0.0 not in phi or not np.all(stiffness > 0):
            raise RobotError(
                f"{self.name}: the stiffness falls to {np.min(stiffness, initial=math.inf):g}; the torque of a spring "
                "must be defined at rest and increase strictly with the deflection"
            )
        if self.invertible:
            found = evaluated(self.deflection, torque)
            close = np.isclose(found, phi, rtol=INVERSE_TOLERANCE, atol=INVERSE_TOLERANCE * SAMPLES[0])
            if not np.all(close):
                i = int(np.argmin(close))
                raise RobotError(
                    f"{self.name}: deflection({torque[i]:g}) is {found[i]:g}, but that is the torque at {phi[i]:g}: "
                    "it must be the inverse of torque(phi)"
                )

    @abstractmethod
    def torque(self, phi: Any) -> Any:
        """τ_e(φ) as an SX expression; NaN where the spring cannot be."""

    def deflection(self, tau: Any) -> Any:
        """φ with τ_e(φ) = τ, as an SX expression."""
        raise NotImplementedError

    @property
    def reach(self) -> float:
        """The largest deflection looked for where the inverse has no closed form, in rad or m."""
        return 1.0

    @property
    def invertible(self) -> bool:
        """Whether the law has a closed inverse."""
        return type(self).deflection is not Spring.deflection

    @property
    def name(self) -> str:
        return type(self).__name__

    def gradients(self, phi: Any, order: int = 2) -> list[Any]:
        """k(φ), its slope dk/dφ, and so on: `order` derivatives of the torque, by automatic differentiation."""
        x = ca.SX.sym("phi")
        found = [self.torque(x)]
        for _ in range(order):
            found.append(ca.jacobian(found[-1], x))
        return ca.substitute(found[1:], [x], [ca.SX(phi)])

    def curve(self, phi: Any) -> Curve:
        """The law in numbers."""
        stiffness, slope = (evaluated(lambda x, k=k: self.gradients(x)[k], phi) for k in (0, 1))  # type: ignore[misc]
        return Curve(evaluated(self.torque, phi), stiffness, slope)

    def plain(self) -> dict[str, Any]:
        """All that tells this law from others, as plain data."""
        data = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        if type(self) not in SPRINGS.values():  # its code counts, not only its numbers
            x = ca.SX.sym("x")
            outputs = [self.torque(x), *([self.deflection(x)] if self.invertible else [])]
            data["law"] = ca.Function("law", [x], outputs).serialize()
        return {self.name: data}


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
        """The way through each piece, 2Δ/(k + √(k² + 2sΔ)) for the torque Δ it takes up."""
        x, k = self.deflections, self.stiffnesses
        taken = [(x1 - x0) * (k0 + k1) / 2 for x0, x1, k0, k1 in zip(x, x[1:], k, k[1:])]
        start = [0.0, *accumulate(taken)]
        ways = []
        for k0, s, t0, most in zip(k, self.slopes, start, [*taken, None]):
            Delta = ca.fmax(ca.fabs(tau) - t0, 0)
            Delta = Delta if most is None else ca.fmin(Delta, most)
            ways.append(Delta / k0 if is_zero(s) else 2 * Delta / (k0 + ca.sqrt(k0 * k0 + (2 * s) * Delta)))
        return ca.sign(tau) * total(ways)


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
        return self.stiffness / self.rate * (ca.exp(self.rate * phi) - 1)

    def deflection(self, tau: Any) -> Any:
        return ca.log(1 + self.rate / self.stiffness * tau) / self.rate


SPRINGS: dict[str, type[Spring]] = {
    "linear": LinearSpring,
    "cubic": CubicSpring,
    "hardening": HardeningSpring,
    "piecewise": PiecewiseSpring,
    "quadratic": QuadraticSpring,
    "exponential": ExponentialSpring,
}


def evaluated(function: Callable[[Any], Any], x: Any) -> np.ndarray:
    """An expression in one SX, in numbers, of the shape of x."""
    x = np.asarray(x, dtype=float)
    symbol = ca.SX.sym("x")
    f = ca.Function("f", [symbol], [ca.densify(function(symbol))])
    return np.array(f(x.reshape(1, -1))).reshape(x.shape)


def positive(spring: Spring, what: str, or_zero: bool = False) -> None:
    """A finite number above zero, or a free parameter; kept as a float, so that equal laws are equal robots."""
    of_any_size(spring, what)
    value = getattr(spring, what)
    if not is_symbolic(value) and (value < 0 or (value == 0 and not or_zero)):
        wanted = "not be negative" if or_zero else "be positive"
        raise RobotError(f"{spring.name}: {what} is {value:g}; it must {wanted}")


def of_either_sign(spring: Spring, what: str) -> None:
    """A finite number other than zero, or a free parameter."""
    of_any_size(spring, what)
    if is_zero(getattr(spring, what)):
        raise RobotError(f"{spring.name}: {what} is 0; it must not vanish: a LinearSpring has none")


def of_any_size(spring: Spring, what: str) -> None:
    value = getattr(spring, what)
    if is_symbolic(value):
        return
    if not isinstance(value, numbers.Real) or isinstance(value, bool) or not math.isfinite(value):
        raise RobotError(f"{spring.name}: {what} is {value!r}; it must be a finite number")
    object.__setattr__(spring, what, float(value))


def numbers_of(spring: Spring, what: str) -> tuple[float, ...]:
    value: Sequence[float] = getattr(spring, what)
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        array = np.array(math.nan)
    if array.ndim != 1 or not np.all(np.isfinite(array)):
        raise RobotError(f"{spring.name}: {what} are {value!r}; give a list of finite numbers")
    return tuple(array.tolist())
