"""A damped spring, τ_e = K φ + D φ': its deflection is the state of a filter driven by the torque on the link.

The links need τ_e(t); the deflection follows from D φ' = τ_e − K φ, and the motor from

    θ' = q' + φ',   θ'' = q'' + φ'',   φ'' = (τ_e' − K φ')/D,

so the relative degree falls from 4 to 3.  The state is φ' rather than φ, which is the same thing, φ = (τ_e − D φ')/K:
from φ the rounding of τ_e would enter φ'' with K/D², from φ' that of τ_e' enters with 1/D.  A step is exact for the
torque that runs between two samples as the cubic with their values and rates: stable for every step, of fourth order
in it.
"""

from __future__ import annotations

import math
from typing import Any

from ...spatial import ca
from ...types import Jet, Scalar

TERMS = 17  # of the exponential's series: all that is above rounding where |z| < 1


def deflection_after(drive: Any, h: Scalar, before: tuple[Scalar, Scalar, Scalar], tau_e: Jet) -> Jet:
    """[φ, φ', φ''] a time h after the state (φ', τ_e, τ_e'), from [τ_e, τ_e'] now, of a linear spring."""
    K, D = drive.spring.stiffness, drive.damping
    rate = stepped_rate(K, D, h, before[0], before[1:], (tau_e[0], tau_e[1]))
    return [(tau_e[0] - D * rate) / K, rate, (tau_e[1] - K * rate) / D]


def stepped_rate(
    K: Scalar, D: Scalar, h: Scalar, rate: Scalar, before: tuple[Scalar, Scalar], after: tuple[Scalar, Scalar]
) -> Scalar:
    """φ' a time h later, D φ'' + K φ' = τ_e', from (τ_e, τ_e') at both ends.

    With s the fraction of the step τ_e' = r₀ + r₁ s + r₂ s², and φ' = e⁻ᶻ φ₀' + (g₁ r₀ + g₂ r₁ + 2 g₃ r₂)/K, z = h K/D.
    """
    (tau0, d0), (tau1, d1) = before, after
    mean = ca.if_else(h == 0, 0, (tau1 - tau0) / h)
    r0, r1, r2 = d0, 6 * mean - 4 * d0 - 2 * d1, 3 * (d0 + d1 - 2 * mean)
    z = (K / D) * h
    g1, g2, g3 = weights(z)
    return ca.exp(-z) * rate + (g1 * r0 + g2 * r1 + 2 * g3 * r2) / K


def weights(z: Scalar) -> tuple[Scalar, Scalar, Scalar]:
    """g_j = z ∫₀¹ e^(−z(1−s)) sʲ⁻¹/(j−1)! ds, that is 1 − e⁻ᶻ, 1 − g₁/z, 1/2 − g₂/z; by the series where z is small."""
    few = ca.fabs(z) < 1
    small, large = ca.if_else(few, z, 0), ca.if_else(few, 1, z)
    p3: Scalar = 1 / math.factorial(TERMS + 2)
    for i in range(TERMS + 1, 2, -1):
        p3 = 1 / math.factorial(i) - small * p3
    p2 = 1 / 2 - small * p3
    p1 = 1 - small * p2
    f1 = 1 - ca.exp(-large)
    f2 = 1 - f1 / large
    f3 = 1 / 2 - f2 / large
    g1, g2, g3 = (ca.if_else(few, z * p, f) for p, f in ((p1, f1), (p2, f2), (p3, f3)))
    return g1, g2, g3
