"""The drive with two motors, each behind its own spring  [VSANEA (5), (9)-(11)]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ..spatial import ca
from ..springs import TRIAL_DEFLECTIONS, CubicSpring, Spring
from ..types import Expression
from .kinds import DRIVES
from .limits import NO_SPRING_LIMITS, SpringLimits
from .motor import Motor
from .variable import SINGULAR, OperatingPoint, Range, VariableStiffnessDrive


@DRIVES.register("antagonistic")
@dataclass(frozen=True, repr=False)
class AntagonisticDrive(VariableStiffnessDrive):
    """A drive with two motors, each behind its own spring, that sets position and stiffness  [VSANEA (5), (9)-(11)].

    With φ_k = θ_k − q, the torque τ_e = τ_1(φ_1) + τ_2(φ_2) acts on the link, the stiffness of the joint is σ =
    dτ_1/dφ_1 + dτ_2/dφ_2, and the torque of motor k is B_k θ_k'' + τ_k(φ_k).  σ grows when θ_1 increases and θ_2
    decreases: give springs that stiffen on one side only in this order.

    In robot files: `{kind = "antagonistic", spring_1 = {kind = "cubic", ...}, spring_2 = {...}, motor_1 = {inertia =
    3.2}, motor_2 = {...}}`.

    Args:
        spring_1: spring law between motor 1 and the link; at least one of the two must stiffen.
        spring_2: spring law between motor 2 and the link.
        motor_1: motor 1.
        motor_2: motor 2.
        damping: D ≥ 0, which adds D φ_k' to the torque of each spring, in Nm s/rad or N s/m; 0 by default.
        greatest_stiffness: largest stiffness that may be commanded, in Nm/rad or N/m; infinite by default.
        greatest_damping: largest damping of a commanded damper in parallel with the springs, in Nm s/rad or N s/m; 0 by
            default, no such damper.

    Example:
        >>> import flexjoint as fj
        >>> spring, motor = fj.springs.CubicSpring(400.0, 2e3), fj.Motor(1.0)
        >>> fj.drives.AntagonisticDrive(spring, spring, motor, motor)  # doctest: +NORMALIZE_WHITESPACE
        AntagonisticDrive(spring_1=CubicSpring(stiffness=400.0, cubic=2000.0),
            spring_2=CubicSpring(stiffness=400.0, cubic=2000.0), motor_1=Motor(inertia=1.0), motor_2=Motor(inertia=1.0))
    """

    spring_1: Spring
    spring_2: Spring
    motor_1: Motor
    motor_2: Motor
    damping: float = 0.0
    greatest_stiffness: float = math.inf
    greatest_damping: float = 0.0
    spring_limits: SpringLimits = NO_SPRING_LIMITS

    stiffens: ClassVar[int] = -1

    @property
    def springs(self) -> tuple[Spring, Spring]:
        """Both spring laws."""
        return self.spring_1, self.spring_2

    @property
    def ranges(self) -> tuple[Range, Range]:
        one, two = self.springs
        return Range(-one.reach, one.reach), Range(-two.reach, two.reach)

    def energy(self, phi_1: Expression, phi_2: Expression) -> Expression:
        return self.spring_1.energy(phi_1) + self.spring_2.energy(phi_2)

    @property
    def has_energy(self) -> bool:
        return all(spring.has_energy for spring in self.springs)

    def torques(self, phi_1: Expression, phi_2: Expression) -> tuple[Expression, Expression]:
        return self.spring_1.torque(phi_1), self.spring_2.torque(phi_2)

    def at(self, phi_1: Expression, phi_2: Expression) -> OperatingPoint:
        """The transmission at given deflections, with the derivatives that the spring laws give."""
        tau_1, tau_2 = self.torques(phi_1, phi_2)
        slopes = zip(self.spring_1.gradients(phi_1, 3), self.spring_2.gradients(phi_2, 3))
        sigma, zeta, eta = (ca.horzcat(one, two) for one, two in slopes)
        bends = ca.diag(zeta), ca.diag(eta)
        det = sigma[0] * zeta[1] - sigma[1] * zeta[0]
        return OperatingPoint(phi_1, phi_2, tau_1, tau_2, tau_1 + tau_2, sigma[0] + sigma[1], (sigma, zeta), bends, det)

    @cached_property
    def gain(self) -> float:
        """Largest −det A relative to its terms, over deflections φ_1 ≥ φ_2 up to 1 rad or m  [VSANEA (19)]."""
        cubic = [spring.cubic for spring in self.springs if isinstance(spring, CubicSpring)]
        if len(cubic) == 2 and any(cubic):
            return 1.0  # at φ_1 = −φ_2; without CasADi, so that robots with cached kernels load without it
        phi = np.concatenate([-TRIAL_DEFLECTIONS[::-1], [0.0], TRIAL_DEFLECTIONS])
        one, two = (spring.curve(phi) for spring in self.springs)
        with np.errstate(over="ignore", invalid="ignore"):
            gain = one.slope[:, None] * two.stiffness - one.stiffness[:, None] * two.slope
            terms = abs(one.slope[:, None] * two.stiffness) + abs(one.stiffness[:, None] * two.slope)
        apart = (phi[:, None] >= phi) & np.isfinite(gain) & (terms > 0)
        best = max((gain[apart] / terms[apart]).tolist(), default=0.0)
        return best if abs(best) > SINGULAR else 0.0
