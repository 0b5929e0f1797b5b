"""Hysteresis of gears: the torque of a transmission that depends on how its deflection came about.

Harmonic drives show loops of torque over deflection whose area is lost as heat.  Beside the spring there is a second
path for the torque, elastic for small deflections and slipping for large ones.  z is its torque relative to the
greatest one, T, and changes with the part of the deflection rate φ' that does not slip:

    τ_h = T z,    z' = (σ/T) (φ' − slip(z, φ')),    |z| ≤ 1.

The path stores T² z²/(2σ), so that T z · slip is lost: a law is admissible if this is never negative  [Erlicher].

To add a law, write a class like `Dahl`: its fields are its keys in robot files.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

from ..compiler.ir.trace import declare_outputs
from ..errors import RobotError
from ..registry import Registry
from ..reprs import repr_without_defaults
from ..spatial import ca, is_symbolic
from ..springs.base import set_numbers
from ..types import Scalar

HYSTERESES: Registry[type[Any]] = Registry("hysteresis")  # by `kind` in robot files
SMALLEST = 1e-300  # in place of |z| = 0, where a power of it has no derivative


@dataclass(frozen=True, repr=False)
class Hysteresis(ABC):
    """The hysteresis of a gear: the base class of all laws.

    Args:
        torque: T, greatest torque in addition to that of the spring: half the height of a wide loop, in Nm or N.
        stiffness: σ, slope of the torque at z = 0 in addition to that of the spring, in Nm/rad or N/m.

    Raises:
        RobotError: a number is not positive.
    """

    torque: float = field(metadata={"unit": "Nm | N"})
    stiffness: float = field(metadata={"unit": "Nm/rad | N/m"})

    def __init_subclass__(cls) -> None:
        declare_outputs(cls, slip=1)

    def __post_init__(self) -> None:
        set_numbers(self, torque="positive", stiffness="positive")

    @abstractmethod
    def slip(self, z: Scalar, phi_v: Scalar) -> Scalar:
        """The part of the deflection rate φ' that slips; of the sign of z, or zero, where the law is admissible."""

    @property
    @abstractmethod
    def steepest(self) -> Scalar:
        """Greatest slope dτ_h/dφ, in Nm/rad or N/m; the integration step depends on it."""

    def rate(self, z: Scalar, phi_v: Scalar) -> Scalar:
        """z' = (σ/T) (φ' − slip), in 1/s."""
        return self.stiffness / self.torque * (phi_v - self.slip(z, phi_v))

    def energy(self, z: Scalar) -> Scalar:
        """Elastic energy T² z²/(2σ), in J."""
        return self.torque * self.torque / (2 * self.stiffness) * z * z

    def dissipation(self, z: Scalar, phi_v: Scalar) -> Scalar:
        """Power lost as heat, T z · slip ≥ 0, in W."""
        return self.torque * z * self.slip(z, phi_v)

    @property
    def name(self) -> str:
        """Name of the class, for messages."""
        return type(self).__name__

    __repr__ = repr_without_defaults


@HYSTERESES.register("dahl")
@dataclass(frozen=True, repr=False)
class Dahl(Hysteresis):
    """Dahl's law: dτ_h/dφ = σ (1 − sign(φ') τ_h/T)  [Dahl].

    Between two reversals τ_h approaches ±T exponentially in φ, with the constant T/σ.
    In robot files: `{kind = "dahl", torque = 2, stiffness = 4000}`.

    Example:
        >>> import flexjoint as fj
        >>> fj.drives.Dahl(torque=2.0, stiffness=4000.0).steepest
        8000.0
    """

    def slip(self, z: Scalar, phi_v: Scalar) -> Scalar:
        """|φ'| z."""
        return ca.fabs(phi_v) * z

    @property
    def steepest(self) -> Scalar:
        """2σ, right after a reversal at full torque."""
        return 2 * self.stiffness


@HYSTERESES.register("bouc_wen")
@dataclass(frozen=True, repr=False)
class BoucWen(Hysteresis):
    """The law of Bouc and Wen: z' = (σ/T) (φ' − β |φ'| |z|ⁿ⁻¹ z − γ φ' |z|ⁿ) with β + γ = 1  [Wen].

    β = reversal/2; its admissible values, |γ| ≤ β, are those with reversal ≥ 1.  With exponent 1 and reversal 2 it is
    Dahl's law.
    In robot files: `{kind = "bouc_wen", torque = 2, stiffness = 4000, exponent = 2, reversal = 1}`.

    Args:
        exponent: n ≥ 1: how sharply the loop bends from sticking to slipping; 1 by default.
        reversal: slope right after a reversal at full torque, relative to σ; at least 1: the loop unloads along
            straight lines, by default.

    Example:
        >>> import flexjoint as fj
        >>> fj.drives.BoucWen(torque=2.0, stiffness=4000.0, exponent=2.0).reversal
        1.0
    """

    exponent: float = field(default=1.0, metadata={"unit": "1 | 1", "free": False})  # decides the form of the law
    reversal: float = field(default=1.0, metadata={"unit": "1 | 1"})

    def __post_init__(self) -> None:
        set_numbers(self, torque="positive", stiffness="positive", exponent="positive", reversal="positive")
        if self.exponent < 1:
            raise RobotError(f"{self.name}: exponent is {self.exponent:g}; it must be 1 or more")
        if not is_symbolic(self.reversal) and self.reversal < 1:
            raise RobotError(
                f"{self.name}: reversal is {self.reversal:g}; it must be 1 or more, or the gear would generate energy"
            )

    def slip(self, z: Scalar, phi_v: Scalar) -> Scalar:
        """|z|ⁿ⁻¹ (β |φ'| z + γ φ' |z|)."""
        beta, size = self.reversal / 2, ca.fabs(z)
        linear = beta * (ca.fabs(phi_v) * z) + (1 - beta) * (phi_v * size)
        return linear if self.exponent == 1 else ca.fmax(size, SMALLEST) ** (self.exponent - 1) * linear

    @property
    def steepest(self) -> Scalar:
        """σ times `reversal`, right after a reversal at full torque."""
        return self.reversal * self.stiffness
