"""The drive with a spring between a lever and a pin, whose pretension a second motor sets: the MACCEPA  [Maccepa].

The first motor turns a lever of length B about the joint axis.  A spring pulls its end towards a pin on the link at the
distance C from the axis, through a cable that the second motor winds on a drum of radius r: P = r θ_2.  At the angle
α = φ_1 between lever and link, lever end and pin are A = √(B² + C² − 2BC cos α) apart:

    U = ½ κ (A − |C − B| + P)²,   τ_e = κ B C sin α (1 + (P − |C − B|)/A).

The second motor always carries the tension of the spring, τ_2 = r κ (A − |C − B| + P).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

from ..checks import positive
from ..errors import RobotError
from ..spatial import ca, is_symbolic
from ..types import Expression
from .kinds import DRIVES
from .limits import NO_SPRING_LIMITS, SpringLimits
from .motor import Motor
from .variable import Range, VariableStiffnessDrive

POSITIVE = ("spring", "lever", "pin", "drum", "least_pretension", "greatest_pretension", "greatest_angle")


@DRIVES.register("maccepa")
@dataclass(frozen=True, repr=False)
class MaccepaDrive(VariableStiffnessDrive):
    """A drive whose first motor turns a lever that a spring pulls to the link; the second motor sets its pretension.

    In robot files: `{kind = "maccepa", spring = 800, lever = 0.03, pin = 0.12, drum = 0.01, least_pretension = 0.005,
    greatest_pretension = 0.06, motor_1 = {inertia = 0.1}, motor_2 = {inertia = 0.01}}`.

    Args:
        spring: stiffness κ of the spring, positive, in N/m.
        lever: length B of the lever, positive, in m.
        pin: distance C of the pin from the joint axis, positive, in m, other than `lever`.
        drum: radius r of the drum that winds the cable, positive, in m.
        least_pretension: smallest pretension P = r θ_2, positive, in m: without any the joint has no stiffness at rest.
        greatest_pretension: largest pretension, in m.
        motor_1: the motor that turns the lever.
        motor_2: the motor of the drum.
        greatest_angle: largest |φ_1| that is used, in rad; π/4 by default.
        damping: D ≥ 0 between link and motor 1, in Nm s/rad; 0 by default.
        greatest_stiffness: largest stiffness that may be commanded, in Nm/rad; infinite by default.
        greatest_damping: largest damping of a commanded damper in parallel with the springs, in Nm s/rad; 0 by default,
            no such damper.
        spring_limits: bounds of torques and deflections; none by default.

    Raises:
        RobotError: a number is not positive, or lever and pin, or the two pretensions, do not fit.

    Example:
        >>> import flexjoint as fj
        >>> fj.drives.MaccepaDrive(800.0, 0.03, 0.12, 0.01, 0.005, 0.06, fj.Motor(0.1), fj.Motor(0.01)).ranges[1].upper
        6.0
    """

    spring: float = field(metadata={"unit": "N/m | N/m"})
    lever: float = field(metadata={"unit": "m | m"})
    pin: float = field(metadata={"unit": "m | m"})
    drum: float = field(metadata={"unit": "m | m"})
    least_pretension: float
    greatest_pretension: float
    motor_1: Motor
    motor_2: Motor
    greatest_angle: float = math.pi / 4
    damping: float = 0.0
    greatest_stiffness: float = math.inf
    greatest_damping: float = 0.0
    spring_limits: SpringLimits = NO_SPRING_LIMITS

    follows: ClassVar[bool] = False

    def __post_init__(self) -> None:
        numbers = {name: getattr(self, name) for name in POSITIVE}
        if any(map(is_symbolic, numbers.values())):
            return
        for name, value in numbers.items():
            object.__setattr__(self, name, positive("MaccepaDrive", name, value, error=RobotError))
        if self.lever == self.pin:
            raise RobotError(f"MaccepaDrive: lever and pin are both {self.pin:g} m; they must differ")
        if not self.least_pretension < self.greatest_pretension:
            raise RobotError(
                f"MaccepaDrive: least_pretension {self.least_pretension:g} m must be below greatest_pretension "
                f"{self.greatest_pretension:g} m"
            )
        if self.greatest_angle >= math.pi:
            raise RobotError(f"MaccepaDrive: greatest_angle is {self.greatest_angle:g} rad; it must be below pi")

    @property
    def ranges(self) -> tuple[Range, Range]:
        pretension = Range(self.least_pretension / self.drum, self.greatest_pretension / self.drum)
        return Range(-self.greatest_angle, self.greatest_angle), pretension

    def energy(self, phi_1: Expression, phi_2: Expression) -> Expression:
        return self.spring / 2 * self.extension(phi_1, phi_2)[1] ** 2

    def extension(self, phi_1: Expression, phi_2: Expression) -> tuple[Expression, Expression]:
        """A, and by how much the spring is longer than at rest."""
        B, C = self.lever, self.pin
        A = ca.sqrt(B * B + C * C - 2 * B * C * ca.cos(phi_1))
        return A, A - ca.fabs(C - B) + self.drum * phi_2

    def torques(self, phi_1: Expression, phi_2: Expression) -> tuple[Expression, Expression]:
        A, longer = self.extension(phi_1, phi_2)
        return (
            self.spring * self.lever * self.pin * ca.sin(phi_1) * longer / A,
            self.drum * self.spring * longer,
        )
