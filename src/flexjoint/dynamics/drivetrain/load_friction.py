"""Load-dependent friction on the link side: torque that it leaves to a link, and torque that must be supplied for it.

A bearing behind a spring takes a(v) m(τ) of the torque τ that the transmission gives to its link,

    m(τ) = √(τ² + τ_0²) − τ_0,    a(v) = ½ [(1 + t) μ₊ + (1 − t) μ₋] t,    t = tanh(v/v_c),    |a| < 1,

τ with the damping and the hysteresis of the spring, and of coupled joints T_aᵀτ_e, which arrives at the joint.  So

    M q'' + n(q, q') = u,    u = τ − a m(τ),

n with the friction that does not depend on the load (`friction.py`).  Where the state gives τ, u follows from it:
forward dynamics, residuals, feedback linearization.  Where the motion gives u, τ is the root of a quadratic equation,

    τ = u [1 + a (u − 2 a τ_0)/(s + τ_0)]/(1 − a²),    s = √((u − a τ_0)² + (1 − a²) τ_0²),

which is [c + a √(c² + (1 − a²) τ_0²)]/(1 − a²) with c = u − a τ_0, without its cancellation at small torques.  With
r = √(τ² + τ_0²) and g = τ/r the derivatives of either follow from the other's, order by order:

    m⁽ᵏ⁾ = g τ⁽ᵏ⁾ + 1/(2r) Σ_{0<l<k} C(k, l) [τ⁽ˡ⁾ τ⁽ᵏ⁻ˡ⁾ − m⁽ˡ⁾ m⁽ᵏ⁻ˡ⁾],    u⁽ᵏ⁾ = τ⁽ᵏ⁾ − Σ_l C(k, l) a⁽ˡ⁾ m⁽ᵏ⁻ˡ⁾,

and the factor of τ⁽ᵏ⁾ in u⁽ᵏ⁾ is 1 − a g > 0.
"""

from __future__ import annotations

import operator
from math import comb

from ...drives import Friction, friction_law
from ...robot import Joint, Robot
from ...spatial import ca, is_zero, leibniz, total, zeros
from ...types import Expression, Jet, Scalar, Stack
from .friction import smooth_magnitude, tanh_jet


def remaining_torque(robot: Robot, rates: Stack, torques: Stack) -> Jet:
    """[u, u', ...] that load-dependent friction leaves to the links, of the torques [τ, τ', ...] of transmissions.

    The same expressions if no joint has such friction, as in `supplied_torque`.

    rates: [q', q'', ...], at least as many as there are torques.
    """
    if not any(map(is_loaded, robot.joints)):
        return list(torques)
    return [x - y for x, y in zip(torques, load_friction(robot, rates, torques))]


def supplied_torque(robot: Robot, rates: Stack, needed: Stack, known: Stack = ()) -> Jet:
    """[τ, τ', ...] that transmissions must supply so that load-dependent friction leaves [u, u', ...] to the links.

    known: The first of the result, where the state gives them.
    """
    found = list(needed)
    for i, joint in enumerate(robot.joints):
        if is_loaded(joint):
            jet = supplied_at(joint, *([x[i] for x in stack] for stack in (rates, needed, known)))
            found = [with_entry(x, i, y) for x, y in zip(found, jet)]
    return found


def supplied_at(joint: Joint, v: Stack, needed: Stack, known: Stack = ()) -> Jet:
    """`supplied_torque` of one joint, from its [q', q'', ...] and [u, u', ...]."""
    if not is_loaded(joint):
        return list(needed)
    law, order = friction_law(joint), len(needed) - 1
    a, scale = coefficient(law, v, order), law.load_scale
    tau = [known[0] if known else root(a[0], needed[0], scale)]
    m, r = [smooth_magnitude(tau[0], scale)], ca.sqrt(tau[0] * tau[0] + scale * scale)
    g = tau[0] / r
    share = 1 / (1 - a[0] * g)
    for k in range(1, order + 1):
        bent = bend(tau, m, r)
        changed = total(comb(k, l) * a[l] * m[k - l] for l in range(1, k + 1))
        tau.append(known[k] if k < len(known) else share * (needed[k] + a[0] * bent + changed))
        m.append(g * tau[k] + bent)
    return tau


def load_friction(robot: Robot, rates: Stack, torques: Stack) -> Jet:
    """Jet of a(q') m(τ) (n,): the friction of the joints that depends on the torques of their transmissions."""
    found = [zeros(robot.n) for _ in torques]
    for i, joint in enumerate(robot.joints):
        if is_loaded(joint):
            law, tau = friction_law(joint), [x[i] for x in torques]
            a = coefficient(law, [x[i] for x in rates], len(tau) - 1)
            for x, y in zip(found, leibniz(operator.mul, a, magnitude_jet(tau, law.load_scale), len(tau) - 1)):
                x[i] = y
    return found


def load_slope(robot: Robot, v: Expression, tau: Expression) -> Expression:
    """a(q') ∂m/∂τ (n,), between −1 and 1: the derivative of `load_friction` by the torques."""
    found = zeros(robot.n)
    for i, joint in enumerate(robot.joints):
        if is_loaded(joint):
            law = friction_law(joint)
            found[i] = coefficient(law, [v[i]], 0)[0] * tau[i] / ca.sqrt(tau[i] * tau[i] + law.load_scale**2)
    return found


def is_loaded(joint: Joint) -> bool:
    """Whether the friction of a joint, on the link side, depends on the load."""
    return any(not is_zero(side.load) for side in friction_law(joint).sides)


# The law ------------------------------------------------------------------------------------------------------------


def coefficient(law: Friction, v: Stack, order: int) -> Jet:
    """Jet of a = ½ [(1 + t) μ₊ + (1 − t) μ₋] t, the friction per magnitude of the load."""
    t = tanh_jet([x / law.velocity for x in v], order)
    if law.backward is None:
        return [law.load * x for x in t]
    mean, half = (law.load + law.backward.load) / 2, (law.load - law.backward.load) / 2
    return [mean * x + half * y for x, y in zip(t, leibniz(operator.mul, t, t, order))]


def root(a: Scalar, u: Scalar, scale: Scalar) -> Scalar:
    """τ with τ − a m(τ) = u."""
    rest = 1 - a * a
    c = u - a * scale
    s = ca.sqrt(c * c + rest * (scale * scale))
    return u * (1 + a * (u - 2 * (a * scale)) / (s + scale)) / rest


def magnitude_jet(tau: Stack, scale: Scalar) -> Jet:
    """[m, m', ...] of [τ, τ', ...]."""
    m, r = [smooth_magnitude(tau[0], scale)], ca.sqrt(tau[0] * tau[0] + scale * scale)
    for k in range(1, len(tau)):
        m.append(tau[0] / r * tau[k] + bend(tau[:k], m, r))
    return m


def bend(tau: Stack, m: Stack, r: Scalar) -> Scalar:
    """m⁽ᵏ⁾ − g τ⁽ᵏ⁾ from the k derivatives below it."""
    k = len(m)
    parts = [comb(k, l) * (tau[l] * tau[k - l] - m[l] * m[k - l]) for l in range(1, k)]
    return total(parts) / (2 * r) if parts else 0.0


def with_entry(x: Expression, i: int, value: Scalar) -> Expression:
    """A copy of a vector with another entry."""
    found = ca.SX(x)
    found[i] = value
    return found
