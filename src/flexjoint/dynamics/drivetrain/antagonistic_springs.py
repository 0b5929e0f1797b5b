"""Two antagonistic springs: their deflections from torque and stiffness of the joint  [VSANEA (14), (61)].

    τ_e = τ_1(φ_1) + τ_2(φ_2),   σ = σ_1(φ_1) + σ_2(φ_2),   σ_k = dτ_k/dφ_k,   ζ_k = dσ_k/dφ_k,   η_k = dζ_k/dφ_k

There may be several solutions.  The one looked for has φ_1 ≥ φ_2, and the joint stiffens when its motors are drawn
apart at constant torque: det A = σ_1 ζ_2 − σ_2 ζ_1 < 0.  This curve ends where the determinant vanishes: for equal
cubic springs at φ_1 = φ_2 and, which the paper does not say, at the fold φ_1 φ_2 = K/(3 K_c).

Equal cubic springs have a closed form: with s = φ_1 + φ_2 the paper's trigonometric equation (31) (printed with a wrong
denominator) is K_c s³ − σ s + 2 τ_e = 0, and the curve is its middle root.  So have exponential springs, whose torque
is a linear function of their stiffness, and equal springs with a hyperbolic sine.  For all others φ_2 follows from φ_1
by the inverse of the second spring's law, and ln σ grows along the curve with φ_1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...drives import AntagonisticDrive
from ...drives.variable import OperatingPoint, Range
from ...spatial import ca, is_symbolic
from ...springs import CubicSpring, ExponentialSpring, SinhSpring
from ...springs.sinh import inverse_sinh
from ...types import Scalar
from .solution_curve import SINGULAR, SolutionCurve
from .springs import deflection_at

# H of `middle_root`, interpolated at Chebyshev points of [0, √½]; it gives the root to 2e-16, and of degree 8 to 1e-13
SMOOTH_PART = (
    -0.5773502579827825, 0.8888850531165389, -1.2079417766512321, 1.740056076921098, -2.384557247769662,
    3.106605442363795, -3.3313155162444326, 2.466057252202909, -0.7066962824967706, -0.4448029650283134,
    0.35562523725357886,
)  # fmt: skip


@dataclass(frozen=True)
class AntagonisticCurve(SolutionCurve):
    """u is φ_1; the second spring takes what the first leaves of the torque."""

    drive: AntagonisticDrive

    @property
    def span(self) -> Range:
        return self.drive.ranges[0]

    def at(self, u: Scalar, tau_e: Scalar) -> OperatingPoint:
        one, two = self.drive.springs
        return self.drive.at(u, deflection_at(two, tau_e - one.torque(u)))

    def start(self, tau_e: Scalar) -> Scalar:
        """φ_1 where one spring does all the pulling: the other is at rest."""
        spring = self.drive.spring_1
        alone = deflection_at(spring, tau_e)
        return ca.if_else(ca.logic_and(tau_e > 0, alone <= spring.reach), alone, 0)

    def begun(self, point: OperatingPoint) -> Scalar:
        return ca.logic_and(point.phi_1 >= point.phi_2, point.det <= 0)

    def slope(self, point: OperatingPoint) -> Scalar:
        """dσ/dφ_1 = ζ_1 + ζ_2 dφ_2/dφ_1 = −det A/σ_2."""
        return -point.det / point.A[0][1]

    def side(self, point: OperatingPoint, tau_e: Scalar) -> Scalar:
        left = tau_e - point.tau_1  # for the second spring: too much of it asks for more of the first
        return ca.if_else(ca.fabs(left) < math.inf, -ca.sign(left), ca.sign(point.phi_1))

    def allowed(self, point: OperatingPoint) -> Scalar:
        one, two = self.drive.springs
        inside = ca.logic_and(point.phi_1 <= one.reach, point.phi_2 >= -two.reach)
        return ca.logic_and(inside, point.phi_1 >= point.phi_2)

    def way(self, point: OperatingPoint, tau_e: Scalar) -> Scalar:
        """To where one spring is at rest: unequal springs have other curves among deflections of the same sign."""
        rest = self.start(tau_e)
        return ca.if_else(rest > point.phi_1, rest - point.phi_1, 0)

    def passed(self, point: OperatingPoint) -> Scalar:
        return point.phi_2 < -self.drive.spring_2.reach

    def least_determinant(self, point: OperatingPoint, sigma: Scalar) -> Scalar:
        return SINGULAR * sigma**2  # a rad (m)


# Closed forms ---------------------------------------------------------------------------------------------------------


def equal_cubics(drive: Any, tau_e: Scalar, sigma: Scalar) -> tuple[Scalar, Scalar]:
    """τ_e = (σ s − K_c s³)/2: with s = 2 f y, f = √(σ/3K_c) the fold, 3y − 4y³ = 3 τ_e/(σ f)  [VSANEA (28)-(31)]."""
    K, Kc = drive.spring_1.stiffness, drive.spring_1.cubic
    root, by_root = ca.sqrt(sigma), 1 / ca.sqrt(3 * Kc)
    s = 2 * by_root * root * middle_root(3 / by_root * tau_e / (sigma * root))
    R_squared = (sigma - 2 * K) / (3 * Kc)  # φ_1² + φ_2²  [VSANEA (30)]
    d = ca.sqrt(2 * R_squared - s * s)  # φ_1 − φ_2
    return 0.5 * (s + d), 0.5 * (s - d)


def middle_root(w: Scalar) -> Scalar:
    """y = sin(arcsin(w)/3), the root of 4y³ − 3y + w that vanishes with w; NaN where it is not real, beyond |w| = 1.

    With p = √((1 − |w|)/2) it is smooth, w(½ + p H(p)), also where two roots meet, at p = 0.  One Newton step takes the
    polynomial H to rounding.  Against arc sine and sine the inverse dynamics of the 7R takes 11 % less in a call, and
    20 % less in a batch.
    """
    p = ca.sqrt(0.5 - 0.5 * ca.fabs(w))
    y = w * (0.5 + p * polynomial(SMOOTH_PART, p))
    square = y * y
    return y - (y * (4 * square - 3) + w) / (12 * square - 3)


def polynomial(coefficients: Sequence[float], x: Scalar) -> Scalar:
    """Even and odd powers side by side: half the wait of Horner's rule."""
    square = x * x
    even, odd = 0.0, 0.0
    for a in coefficients[::2][::-1]:
        even = even * square + a
    for a in coefficients[1::2][::-1]:
        odd = odd * square + a
    return even + x * odd


def exponentials(drive: Any, tau_e: Scalar, sigma: Scalar) -> tuple[Scalar, Scalar]:
    """With τ_k = (σ_k − K_k)/b_k two linear equations for σ_1 and σ_2; φ_k = ln(σ_k/K_k)/b_k."""
    K_1, K_2 = (spring.stiffness for spring in drive.springs)
    c_1, c_2 = (1 / spring.rate for spring in drive.springs)
    T = tau_e + (K_1 * c_1 + K_2 * c_2)
    sigma_1, sigma_2 = (T - c_2 * sigma) / (c_1 - c_2), (c_1 * sigma - T) / (c_1 - c_2)
    return c_1 * ca.log(sigma_1 / K_1), c_2 * ca.log(sigma_2 / K_2)


def equal_sinhs(drive: Any, tau_e: Scalar, sigma: Scalar) -> tuple[Scalar, Scalar]:
    """With s = φ_1 + φ_2 and d = φ_1 − φ_2: tanh(as/2) = aτ_e/σ, 2K cosh(as/2) cosh(ad/2) = σ."""
    K, a = drive.spring_1.stiffness, drive.spring_1.rate
    u = a * tau_e / sigma
    left = (1 - u) * (1 + u)  # 1/cosh²(as/2)
    w = sigma * ca.sqrt(left) / (2 * K)  # cosh(ad/2)
    s = 2 * inverse_sinh(u / ca.sqrt(left)) / a
    d = 2 * inverse_sinh(ca.sqrt((w - 1) * (w + 1))) / a
    return 0.5 * (s + d), 0.5 * (s - d)


def antagonistic_form(drive: AntagonisticDrive) -> Scalar:
    """The closed form of two laws, if they have one."""
    one, two = drive.springs
    if isinstance(one, CubicSpring) and isinstance(two, CubicSpring):
        equal = same(one.stiffness, two.stiffness) and same(one.cubic, two.cubic)
        return equal_cubics if equal else None
    if isinstance(one, ExponentialSpring) and isinstance(two, ExponentialSpring):
        return exponentials
    if isinstance(one, SinhSpring) and isinstance(two, SinhSpring):
        equal = same(one.stiffness, two.stiffness) and same(one.rate, two.rate)
        return equal_sinhs if equal else None
    return None


def same(x: Scalar, y: Scalar) -> bool:
    """Whether two numbers are equal whatever the free parameters are."""
    return ca.is_equal(x, y) if is_symbolic(x) and is_symbolic(y) else not is_symbolic(x - y) and x == y
