"""Two motors, each behind a spring of its own: motion and stiffness of the joint at will  [VSANEA (5), (9)-(11)]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..spatial import ca
from ..springs import SAMPLES, CubicSpring, Spring
from .motor import Motor
from .variable import SINGULAR, OperatingPoint, Range, VariableStiffnessDrive


@dataclass(frozen=True)
class AntagonisticDrive(VariableStiffnessDrive):
    """Two motors, each behind a spring of its own: motion and stiffness of the joint at will  [VSANEA (5), (9)-(11)].

    With φ_k = θ_k − q, τ_e = τ_1(φ_1) + τ_2(φ_2) acts on the link, with the stiffness σ = dτ_1/dφ_1 + dτ_2/dφ_2, and
    B_k θ_k'' + τ_k(φ_k) is the torque of motor k.  σ grows as the motors are drawn apart, φ_1 upwards, φ_2 downwards:
    springs that stiffen on one side only are given in this order.  `damping` adds D φ_k' to each spring's torque.
    """

    spring_1: Spring
    spring_2: Spring
    motor_1: Motor
    motor_2: Motor
    damping: float = 0.0
    greatest_stiffness: float = math.inf
    greatest_damping: float = 0.0

    stiffens: ClassVar[int] = -1

    @property
    def springs(self) -> tuple[Spring, Spring]:
        return self.spring_1, self.spring_2

    @property
    def ranges(self) -> tuple[Range, Range]:
        one, two = self.springs
        return Range(-one.reach, one.reach), Range(-two.reach, two.reach)

    def torques(self, phi_1: Any, phi_2: Any) -> tuple[Any, Any]:
        return self.spring_1.torque(phi_1), self.spring_2.torque(phi_2)

    def at(self, phi_1: Any, phi_2: Any) -> OperatingPoint:
        """As every drive's, with the derivatives as the laws of the springs give them."""
        tau_1, tau_2 = self.torques(phi_1, phi_2)
        slopes = zip(self.spring_1.gradients(phi_1, 3), self.spring_2.gradients(phi_2, 3))
        sigma, zeta, eta = (ca.horzcat(one, two) for one, two in slopes)
        bends = ca.diag(zeta), ca.diag(eta)
        det = sigma[0] * zeta[1] - sigma[1] * zeta[0]
        return OperatingPoint(phi_1, phi_2, tau_1, tau_2, tau_1 + tau_2, sigma[0] + sigma[1], (sigma, zeta), bends, det)

    @cached_property
    def gain(self) -> float:
        """−det A relative to its terms, at best, over deflections φ_1 ≥ φ_2 up to 1 rad or m  [VSANEA (19)]."""
        cubic = [spring.cubic for spring in self.springs if isinstance(spring, CubicSpring)]
        if len(cubic) == 2 and any(cubic):
            return 1.0  # at φ_1 = −φ_2: known without CasADi, so that robots with cached kernels load without it
        phi = np.concatenate([-SAMPLES[::-1], [0.0], SAMPLES])
        one, two = (spring.curve(phi) for spring in self.springs)
        with np.errstate(over="ignore", invalid="ignore"):
            gain = one.slope[:, None] * two.stiffness - one.stiffness[:, None] * two.slope
            terms = abs(one.slope[:, None] * two.stiffness) + abs(one.stiffness[:, None] * two.slope)
        apart = (phi[:, None] >= phi) & np.isfinite(gain) & (terms > 0)
        best = max((gain[apart] / terms[apart]).tolist(), default=0.0)
        return best if abs(best) > SINGULAR else 0.0
