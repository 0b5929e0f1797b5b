"""What a spring law is: the torque τ_e of a deflection φ = θ − q, and its inverse.

A law is a frozen dataclass with `torque(phi)`, one SX expression; the stiffness k = dτ_e/dφ and its slope are derived
from it.  `deflection(tau)` is the inverse in closed form, if there is one; otherwise algorithms search for it within
`reach`.  Inverse dynamics differentiates φ twice,

    φ' = τ_e'/k,   φ'' = (τ_e'' − k' φ'²)/k,

so a law must increase strictly and have a continuous stiffness, whose slope may jump.  A jump of the stiffness itself
would require infinite motor torque.

Motors that set the stiffness of their joint differentiate it twice as well  [VSANEA (22)]: for them the slope of the
stiffness must be continuous too.

To add a law, write one file like `cubic.py`.  `@SPRINGS.register("cubic")` gives the law its name in robot files; its
fields are its keys there, and their metadata holds the unit at a revolute and at a prismatic joint.  A law defined
outside flexjoint works in the same way.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..checks import number, whole
from ..compiler.ir.trace import declare_outputs
from ..errors import NOT_NUMBERS, RobotError, shown
from ..file_limits import require
from ..numerics import evaluate, unsupported
from ..registry import Registry
from ..spatial import ca, is_symbolic
from ..types import Expression, FloatArray

SPRINGS: Registry[type[Spring]] = Registry("spring law")  # by `kind` in robot files
TRIAL_DEFLECTIONS = np.geomspace(1e-6, 1.0, 25)  # rad or m: where a law of unknown form is checked, on both sides
INVERSE_TOLERANCE = 1e-6  # relative; a wrong formula errs by more, an inaccurate one by less
MOST_DERIVATIVES = 100  # of a torque


class Curve(NamedTuple):
    """A spring law in numbers, at given deflections.

    Attributes:
        torque: τ_e, in Nm or N; shape of the deflections.
        stiffness: k = dτ_e/dφ, in Nm/rad or N/m; same shape.
        slope: dk/dφ, in Nm/rad² or N/m²; same shape.
    """

    torque: FloatArray
    stiffness: FloatArray
    slope: FloatArray


@dataclass(frozen=True)
class Spring(ABC):
    """A spring law τ_e(φ): the base class of all laws.

    A subclass is a frozen dataclass with `torque` and, in closed form, `deflection`.  A subclass without
    `__post_init__` is checked at deflections up to 1 rad or m.

    Attributes:
        smoothness: number of derivatives of the deflection that stay finite; infinite by default.

    Raises:
        RobotError: the torque does not increase strictly, `deflection` is not its inverse, or one of them uses a
            function that no kernel has, such as erf.

    Example:
        >>> from dataclasses import dataclass
        >>> from flexjoint.springs import Spring
        >>> @dataclass(frozen=True)
        ... class QuinticSpring(Spring):
        ...     k: float
        ...     def torque(self, phi):
        ...         return self.k * (phi + phi**5)
        >>> QuinticSpring(2.0).curve([0.0, 1.0]).stiffness.tolist()
        [2.0, 12.0]
    """

    smoothness: ClassVar[float] = math.inf

    def __init_subclass__(cls) -> None:
        declare_outputs(cls, torque=1, deflection=1, energy=1)

    def __post_init__(self) -> None:
        if reason := self.unsupported():
            raise RobotError(f"{self.name} {reason}")
        phi = np.concatenate([-TRIAL_DEFLECTIONS[::-1], [0.0], TRIAL_DEFLECTIONS])
        phi = phi[np.isfinite(evaluated(self.torque, phi))]
        torque, stiffness, _ = self.curve(phi)
        if 0.0 not in phi or not np.all(stiffness > 0):
            raise RobotError(
                f"{self.name}: the stiffness falls to {np.min(stiffness, initial=math.inf):g}; the torque of a spring "
                "must be defined at rest and increase strictly with the deflection"
            )
        if self.invertible:
            found = evaluated(self.deflection, torque)
            close = np.isclose(found, phi, rtol=INVERSE_TOLERANCE, atol=INVERSE_TOLERANCE * TRIAL_DEFLECTIONS[0])
            if not np.all(close):
                i = int(np.argmin(close))
                raise RobotError(
                    f"{self.name}: deflection({torque[i]:g}) is {found[i]:g}, but that is the torque at {phi[i]:g}: "
                    "it must be the inverse of torque(phi)"
                )

    @abstractmethod
    def torque(self, phi: Expression) -> Expression:
        """Torque τ_e(φ) as an SX expression; NaN where the law is undefined."""

    def deflection(self, tau: Expression) -> Expression:
        """Deflection φ with τ_e(φ) = τ, as an SX expression; only laws with a closed inverse have it."""
        raise NotImplementedError

    def energy(self, phi: Expression) -> Expression:
        """Elastic energy ∫τ_e dφ from 0 to φ as SX, in J; needed by `spring_energy` and in a ParallelSpring."""
        raise NotImplementedError

    @property
    def reach(self) -> float:
        """Largest deflection of a search, in rad or m: for a law without closed inverse, or in an antagonistic pair."""
        return 1.0

    @property
    def invertible(self) -> bool:
        """Whether the law has a closed inverse."""
        return type(self).deflection is not Spring.deflection

    @property
    def has_energy(self) -> bool:
        """Whether the law has its energy in closed form, as all laws of flexjoint."""
        return type(self).energy is not Spring.energy

    @property
    def name(self) -> str:
        """Name of the class, for messages."""
        return type(self).__name__

    def gradients(self, phi: Expression, order: int = 2) -> list[Expression]:
        """Stiffness k(φ), its slope dk/dφ, and so on, by automatic differentiation.

        Args:
            phi: deflection, one SX element.
            order: number of derivatives of the torque; 2 by default.
        """
        x = ca.SX.sym("phi")
        found = [self.torque(x)]
        for _ in range(whole(f"{self.name}.gradients", "order", order, largest=MOST_DERIVATIVES)):
            found.append(ca.jacobian(found[-1], x))
        return ca.substitute(found[1:], [x], [ca.SX(phi)])

    def unsupported(self) -> str:
        """Which function of the law or of its derivatives no kernel has, and which it can use; "" if there is none."""
        x = ca.SX.sym("x")
        return unsupported([self.torque(x), *self.gradients(x), *([self.deflection(x)] if self.invertible else [])])

    def curve(self, phi: ArrayLike) -> Curve:
        """Torque, stiffness and slope of the stiffness as numbers.

        Args:
            phi: deflections of any shape, in rad or m.

        Returns:
            `Curve` of three arrays of that shape; NaN where the law is undefined.
        """
        phi, x = np.asarray(phi, dtype=float), ca.SX.sym("phi")
        found = evaluate([x], [phi.reshape(-1)], [ca.densify(y) for y in (self.torque(x), *self.gradients(x))])
        return Curve(*(y.reshape(phi.shape) for y in found))

    def plain(self) -> dict[str, Any]:
        """Plain data that identify the law, for the digest of a robot."""
        data = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        if not type(self).__module__.startswith("flexjoint."):  # its code counts, not only its numbers
            x = ca.SX.sym("x")
            outputs = [self.torque(x), *([self.deflection(x)] if self.invertible else [])]
            data["law"] = ca.Function("law", [x], outputs).serialize()
        return {self.name: data}


def evaluated(function: Callable[[Expression], Expression], x: ArrayLike) -> FloatArray:
    """Values of a function of one SX element, of the shape of x."""
    x = np.asarray(x, dtype=float)
    symbol = ca.SX.sym("x")
    return evaluate([symbol], [x.reshape(-1)], [function(symbol)])[0].reshape(x.shape)


# Checks of the numbers of a law -------------------------------------------------------------------------------------

SIGNS: dict[str, tuple[Callable[[float], bool], str]] = {
    "positive": (lambda x: x > 0, "be positive"),
    "not negative": (lambda x: x >= 0, "not be negative"),
    "not 0": (lambda x: x != 0, "not be 0: use a LinearSpring"),
}


def set_numbers(spring: Any, **signs: str) -> None:
    """Turn fields into floats, so that equal laws are equal robots; a free parameter (SX) stays as it is.

    Args:
        spring: a law with a `name`, while it is made.
        signs: by field, "positive", "not negative" or "not 0".

    Raises:
        RobotError: a field is not a finite number, or has another sign.
    """
    for field, sign in signs.items():
        value = getattr(spring, field)
        if is_symbolic(value):
            continue
        value = number(spring.name, field, value, error=RobotError)
        holds, wanted = SIGNS[sign]
        if not holds(value):
            raise RobotError(f"{spring.name}: {field} is {value:g}; it must {wanted}")
        object.__setattr__(spring, field, value)


def points_repr(spring: Any) -> str:
    """The repr of a law through points."""
    x = spring.deflections
    return f"{spring.name}({len(x)} points, deflections from {x[0]:g} to {x[-1]:g})"


def set_points(spring: Spring, *fields: str) -> None:
    """Turn fields into tuples of at most 500 floats.

    Raises:
        RobotError: a field is not a list of finite numbers, or too long.
    """
    for field in fields:
        value = getattr(spring, field)
        count = value.size if isinstance(value, np.ndarray) else len(value) if isinstance(value, list | tuple) else 0
        require("spring_points", count, f"{spring.name}: {field}", RobotError, "smooth them with TabulatedSpring.fit")
        try:
            array = np.array(value, dtype=float)
        except NOT_NUMBERS:
            array = np.array(math.nan)
        if array.ndim != 1 or not np.all(np.isfinite(array)):
            raise RobotError(f"{spring.name}: {field} are {shown(value)}; give a list of finite numbers")
        object.__setattr__(spring, field, tuple(array.tolist()))
