"""A damped spring, τ_e = f(φ) + D φ': its deflection is the state of a filter driven by the torque on the link.

The links need τ_e(t); the deflection follows from D φ' = τ_e − f(φ), and the motor from

    θ' = q' + φ',   θ'' = q'' + φ'',   φ'' = (τ_e' − k φ')/D,   k = df/dφ,

so the relative degree falls from 4 to 3.  The state is φ' rather than φ, which is the same thing, f(φ) = τ_e − D φ':
from φ the rounding of τ_e would enter φ'' with k/D², from φ' that of τ_e' enters with 1/D.

A step of a linear spring, D φ' + K φ = τ_e, is exact for the torque that runs between two samples as the cubic with
their values and rates: stable for every step, of fourth order in it.  Of any other law the step is that of the linear
spring with the stiffness K at its start, under the torque that is left,

    D φ' + K φ = p,   p = τ_e − f(φ) + K φ,   p' = τ_e' − (k − K) φ'.

p and p' at the end depend on the deflection there: one equation per joint, increasing in the unknown.  Its order and
its accuracy are those of the linear spring, and it is stable for every step: of a spring whose stiffness is 10⁻³ to 10³
times K the step damps what it starts with, and forgets it where D/K is much shorter than the step.

In the complete model of rotors other joints need θ to a derivative m ≥ 2.  Then the state is φ⁽ᵐ⁾, which is filtered
like φ', D φ⁽ᵐ⁺¹⁾ + K φ⁽ᵐ⁾ = τ_e⁽ᵐ⁾, and the lower derivatives follow from φ⁽ᵏ⁾ = (τ_e⁽ᵏ⁾ − D φ⁽ᵏ⁺¹⁾)/K.  From φ'
upwards every order would multiply rounding by K/D.  And with the state φ⁽ᵐ⁻¹⁾, which would save a derivative, the error
of φ⁽ᵐ⁾ is of the order h² where D/K is shorter than the step, h at a joint that needs it, and 1 at the next.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...numerics.roots import at_root, root_of_increasing
from ...spatial import ca
from ...springs import LinearSpring, Spring
from ...types import Jet, Scalar
from .springs import BEYOND, FOUND, SEARCH, deflection_at

TERMS = 17  # of the exponential's series: all that is above rounding where |z| < 1


class Before(NamedTuple):
    """State of the filter at the last sample: φ', τ_e and τ_e'."""

    rate: Scalar
    tau_e: Scalar
    tau_e_v: Scalar


def deflections_after(drives: Sequence[Any], h: Scalar, before: Sequence[Before], tau_e: Sequence[Jet]) -> list[Jet]:
    """[φ, φ', φ''] of damped springs a time h after their states, from [τ_e, τ_e'] now."""
    bent = [k for k, drive in enumerate(drives) if not isinstance(drive.spring, LinearSpring)]
    others = sought([drives[k] for k in bent], h, [before[k] for k in bent], [tau_e[k] for k in bent]) if bent else ()
    found = dict(zip(bent, others))
    return [found[k] if k in found else linear(drive, h, before[k], tau_e[k]) for k, drive in enumerate(drives)]


def filtered_jet(drive: Any, h: Scalar, before: Before, tau_e: Jet) -> Jet:
    """[φ, ... φ⁽ᵐ⁺¹⁾] of a damped spring, from [τ_e, ... τ_e⁽ᵐ⁾] a time h after the state (φ⁽ᵐ⁾, τ_e⁽ᵐ⁻¹⁾, τ_e⁽ᵐ⁾).

    Any law for m = 1, a linear spring for more.  The last derivative is for the motor alone.
    """
    (jet,) = deflections_after([drive], h, [before], [tau_e[-2:]])
    for tau in reversed(tau_e[:-2]):
        jet = [(tau - drive.damping * jet[0]) / drive.spring.stiffness, *jet]
    return jet


# The linear spring ----------------------------------------------------------------------------------------------------


def linear(drive: Any, h: Scalar, before: Before, tau_e: Jet) -> Jet:
    """[φ, φ', φ''] of a linear spring."""
    K, D = drive.spring.stiffness, drive.damping
    rate = stepped_rate(K, D, h, before.rate, before[1:], (tau_e[0], tau_e[1]))
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


# Any law --------------------------------------------------------------------------------------------------------------


class Transmission(NamedTuple):
    """A transmission as its damper sees it: f' = k φ' + drift, where the law itself may change with time."""

    deflection: Scalar
    torque: Scalar  # f, without the damper's
    stiffness: Scalar  # k
    drift: Scalar


class Step(NamedTuple):
    """What the end of a step depends on: φ' = c + u p + w p' with p = τ_e − f + K φ, p' = τ_e' − drift − (k − K) φ'."""

    tau_e: Scalar  # at the end
    K: Scalar
    D: Scalar
    c: Scalar  # with u τ_e + w τ_e'
    u: Scalar
    w: Scalar

    def rate(self, end: Transmission) -> Scalar:
        """φ' at the end, which p' contains."""
        known = self.c + self.u * (self.K * end.deflection - end.torque) - self.w * end.drift
        return known / (1 + self.w * (end.stiffness - self.K))

    def excess(self, end: Transmission) -> Scalar:
        """f + D φ' − τ_e: 0 at the deflection of the end."""
        return end.torque + self.D * self.rate(end) - self.tau_e


def step_from(start: Transmission, rate: Scalar, tau_e_v: Scalar, D: Scalar, h: Scalar, tau_e: Jet) -> Step:
    """A step from the deflection, φ' and τ_e' at its start to [τ_e, τ_e'], by the weights of `stepped_rate`."""
    K = start.stiffness
    g1, g2, g3 = weights((K / D) * h)
    u = ca.if_else(h == 0, 0, (6 * g2 - 12 * g3) / (K * h))
    w = (6 * g3 - 2 * g2) / K
    p, p_v = D * rate + K * start.deflection, tau_e_v - start.drift
    c = ca.exp(-(K / D) * h) * rate + (g1 - 4 * g2 + 6 * g3) / K * p_v + u * (tau_e[0] - p) + w * tau_e[1]
    return Step(*map(ca.SX, (tau_e[0], K, D, c, u, w)))


def sought(drives: Sequence[Any], h: Scalar, before: Sequence[Before], tau_e: Sequence[Jet]) -> list[Jet]:
    """[φ, φ', φ''] of springs that are not linear; NaN where a law does not reach so far."""
    steps, brackets = [], []
    for drive, state, tau in zip(drives, before, tau_e):
        start = ca.if_else(h == 0, tau[0], state.tau_e)  # where no time passes only φ' counts
        borne = start - drive.damping * state.rate
        at_start = sprung(drive.spring, deflection_at(drive.spring, borne))
        steps.append(step_from(at_start, state.rate, state.tau_e_v, drive.damping, h, tau))
        # the cubic lies between the least and the greatest of these, and the spring's torque between its start and that
        course = [start, start + h / 3 * state.tau_e_v, tau[0] - h / 3 * tau[1], tau[0], borne]
        brackets.append(bracket(drive.spring, course))

    def excess(phi: Scalar, steps: Sequence[Step]) -> Scalar:
        values = []
        for k, drive in enumerate(drives):
            end = sprung(drive.spring, phi[k])
            values.append(ca.if_else(ca.fabs(end.torque) < math.inf, steps[k].excess(end), BEYOND * phi[k]))
        return ca.vertcat(*values)

    lower, upper = (ca.vertcat(*x) for x in zip(*brackets))
    phi = root_of_increasing(excess, lower, upper, steps=SEARCH, given=[steps])
    missed = excess(phi, steps)
    found = []
    for k, drive in enumerate(drives):
        end = sprung(drive.spring, phi[k])
        rate = steps[k].rate(end)
        near = at_root(ca.fabs(missed[k]) <= FOUND * drive.spring.reach * end.stiffness)
        found.append([ca.if_else(near, phi[k], math.nan), rate, (tau_e[k][1] - end.stiffness * rate) / drive.damping])
    return found


def sprung(spring: Spring, phi: Scalar) -> Transmission:
    """A spring law at a deflection."""
    return Transmission(phi, spring.torque(phi), spring.gradients(phi, 1)[0], 0.0)


def bracket(spring: Spring, torques: Sequence[Scalar]) -> tuple[Scalar, Scalar]:
    """Deflections below and above those of all the torques, with as much room again; the reach where there are none."""
    if not spring.invertible:
        return ca.SX(-spring.reach), ca.SX(spring.reach)
    least, most = torques[0], torques[0]
    for x in torques[1:]:
        least, most = ca.fmin(least, x), ca.fmax(most, x)
    lower, upper = (
        ca.if_else(ca.fabs(phi) < math.inf, phi, end * spring.reach)
        for end, phi in ((-1, spring.deflection(least)), (1, spring.deflection(most)))
    )
    room = upper - lower + FOUND * spring.reach
    return lower - room, upper + room
