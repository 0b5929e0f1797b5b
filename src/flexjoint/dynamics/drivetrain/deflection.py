"""The deflection of a spring and its time derivatives, from those of its torque.

With f = τ_e(φ) the law and F_m = f⁽ᵐ⁾(φ(t)), F₁ = k the stiffness, τ_e' = F₁ φ' and F_m' = F_{m+1} φ', so by Leibniz

    F₁ φ⁽ⁿ⁺¹⁾ = τ_e⁽ⁿ⁺¹⁾ − Σ_{l=1..n} C(n, l) F₁⁽ˡ⁾ φ⁽ⁿ⁺¹⁻ˡ⁾,    F_m⁽ˡ⁺¹⁾ = Σ_p C(l, p) F_{m+1}⁽ᵖ⁾ φ⁽ˡ⁺¹⁻ᵖ⁾:

φ' = τ_e'/k and φ'' = (τ_e'' − k' φ'²)/k for joints of Spong's model, more for those of the complete one.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, inf, nan
from typing import Any

from ...drives import ElasticDrive
from ...errors import InputError
from ...numerics.roots import root_of_increasing
from ...robot import Joint
from ...spatial import ca, total, zeros
from ...springs import LinearSpring, Spring
from ...types import Jet

SEARCH = 40  # steps: a law may be undefined on most of its reach
FOUND = 1e-9  # of a law's reach: a deflection known less well was not found
BEYOND = 1e200  # Nm/rad: the slope of a torque where its law is not defined, which counts as too large


def spring_motion(joint: Joint, tau: Sequence[Any]) -> Jet:
    """[φ, φ', ...] from the jet of the spring's torque; at least three zeros if there is no spring."""
    if not isinstance(joint.drive, ElasticDrive):
        return [zeros(1)] * max(3, len(tau))
    spring = joint.drive.spring
    if len(tau) - 1 > spring.smoothness:
        raise InputError(
            f"joint '{joint.name}': in the complete model other motors need {len(tau) - 1} derivatives of its spring's "
            f"deflection, and a {spring.name} has {spring.smoothness}; use a CubicSpring or a HardeningSpring"
        )
    return deflection_jet(spring, tau)


def deflection_jet(spring: Spring, tau: Sequence[Any]) -> Jet:
    if isinstance(spring, LinearSpring):
        return [spring.deflection(x) for x in tau]
    phi = [spring.deflection(tau[0]) if spring.invertible else sought_deflection(spring, tau[0])]
    top = len(tau) - 1
    F = {(m, 0): slope for m, slope in enumerate(spring.gradients(phi[0], top), start=1)}
    for n in range(top):
        for l in range(1, n + 1):  # F_m⁽ˡ⁾ as far as φ⁽ⁿ⁾ and F_top allow
            m = n + 1 - l
            F[m, l] = total(comb(l - 1, p) * F[m + 1, p] * phi[l - p] for p in range(l))
        rest = [comb(n, l) * F[1, l] * phi[n + 1 - l] for l in range(1, n + 1)]
        phi.append((1 / F[1, 0]) * total([tau[n + 1], *(-x for x in rest)]))
    return phi


def sought_deflection(spring: Spring, tau: Any) -> Any:
    """φ with τ_e(φ) = τ of a law without a closed inverse; NaN where none was found within its reach."""
    reach = ca.SX(spring.reach)

    def excess(phi: Any) -> Any:
        torque = spring.torque(phi)
        return ca.if_else(ca.fabs(torque) < inf, torque, BEYOND * phi) - tau

    phi = root_of_increasing(excess, -reach, reach, steps=SEARCH)
    k, _ = spring.gradients(phi)
    return ca.if_else(ca.fabs(excess(phi)) <= FOUND * reach * k, phi, nan)
