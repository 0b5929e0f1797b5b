"""Spring laws: the torque τ_e of a deflection φ = θ − q, and its inverse.

A law is a frozen dataclass with `torque(phi)`, one SX expression, from which stiffness k = dτ_e/dφ and its slope are
derived; `deflection(tau)` is its inverse, where that has a closed form; where not, it is searched for within `reach`.
Inverse dynamics differentiates φ twice,

    φ' = τ_e'/k,   φ'' = (τ_e'' − k' φ'²)/k,

so a law must be strictly increasing, with a continuous stiffness whose slope may jump: a spring whose stiffness itself
jumps would ask for infinite motor torque when it passes the edge.

Motors that set the stiffness of their joint differentiate it twice as well  [VSANEA (22)]: for them the slope of the
stiffness must be continuous too, and its own slope may jump.

To add a law: one class in `laws.py`, its name in SPRINGS.  A law of your own needs nothing but the class.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..errors import NOT_NUMBERS, RobotError, shown
from ..numerics import evaluate
from ..spatial import ca, is_symbolic, is_zero

SAMPLES = np.geomspace(1e-6, 1.0, 25)  # rad or m: where a law of unknown form is looked at
MOST_POINTS = 500  # of a law through points: its kernel chooses among as many pieces
INVERSE_TOLERANCE = 1e-6  # relative; a wrong formula errs by more, a poor one by less


class Curve(NamedTuple):
    """Torque, stiffness and slope of the stiffness, each of the shape of the deflection."""

    torque: np.ndarray
    stiffness: np.ndarray
    slope: np.ndarray


@dataclass(frozen=True)
class Spring(ABC):
    """The abstract law.  A subclass without `__post_init__` is tried at some deflections up to 1 rad or m."""

    smoothness: ClassVar[float] = math.inf  # derivatives of the deflection that stay finite

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
        """The largest deflection looked for, in rad or m: of a law without a closed inverse, and of any in a pair."""
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
        phi, x = np.asarray(phi, dtype=float), ca.SX.sym("phi")
        found = evaluate([x], [phi.reshape(-1)], [ca.densify(y) for y in (self.torque(x), *self.gradients(x))])
        return Curve(*(y.reshape(phi.shape) for y in found))

    def plain(self) -> dict[str, Any]:
        """All that tells this law from others, as plain data."""
        data = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        if not type(self).__module__.startswith("flexjoint."):  # its code counts, not only its numbers
            x = ca.SX.sym("x")
            outputs = [self.torque(x), *([self.deflection(x)] if self.invertible else [])]
            data["law"] = ca.Function("law", [x], outputs).serialize()
        return {self.name: data}


def evaluated(function: Callable[[Any], Any], x: Any) -> np.ndarray:
    """An expression in one SX, in numbers, of the shape of x."""
    x = np.asarray(x, dtype=float)
    symbol = ca.SX.sym("x")
    return evaluate([symbol], [x.reshape(-1)], [function(symbol)])[0].reshape(x.shape)


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
    try:
        number = float(value) if isinstance(value, numbers.Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise RobotError(f"{spring.name}: {what} is {shown(value)}; it must be a finite number")
    object.__setattr__(spring, what, number)


def numbers_of(spring: Spring, what: str) -> tuple[float, ...]:
    value: Sequence[float] = getattr(spring, what)
    count = value.size if isinstance(value, np.ndarray) else len(value) if isinstance(value, list | tuple) else 0
    if count > MOST_POINTS:
        raise RobotError(
            f"{spring.name}: {what} has {count} numbers, {MOST_POINTS} are the most: leave some out, or smooth them "
            "with TabulatedSpring.fit"
        )
    try:
        array = np.array(value, dtype=float)
    except NOT_NUMBERS:
        array = np.array(math.nan)
    if array.ndim != 1 or not np.all(np.isfinite(array)):
        raise RobotError(f"{spring.name}: {what} are {shown(value)}; give a list of finite numbers")
    return tuple(array.tolist())
