"""The spring of an elastic joint: torque from deflection φ = θ − q, and deflection from torque  [EJNEA (7), (8)].

Which quantities come from which sensors  [EJNEA sec. II-B]:

    link and motor encoders            q, θ       τ_e = τ(θ − q)        `spring_torques`
    motor encoder and torque sensor    θ, τ_e     q = θ − φ(τ_e)        `link_state`

and their rates likewise, from one numerical differentiation of what is sensed (`flexjoint.observers`).  With damping
the torque on the link is τ_e = τ(φ) + D φ', and its rate depends on the motor's acceleration: such a joint answers its
motor one derivative earlier than an undamped one.

The other way, with f = τ_e(φ) the law and F_m = f⁽ᵐ⁾(φ(t)), F₁ = k the stiffness, τ_e' = F₁ φ' and F_m' = F_{m+1} φ',
so by Leibniz

    F₁ φ⁽ⁿ⁺¹⁾ = τ_e⁽ⁿ⁺¹⁾ − Σ_{l=1..n} C(n, l) F₁⁽ˡ⁾ φ⁽ⁿ⁺¹⁻ˡ⁾,    F_m⁽ˡ⁺¹⁾ = Σ_p C(l, p) F_{m+1}⁽ᵖ⁾ φ⁽ˡ⁺¹⁻ᵖ⁾:

φ' = τ_e'/k and φ'' = (τ_e'' − k' φ'²)/k for joints of Spong's model, more for those of the complete one.
"""

from __future__ import annotations

from math import comb, inf, nan
from typing import NamedTuple

from ...algorithm.algorithm import algorithm
from ...drives import ElasticDrive
from ...errors import InputError
from ...numerics.roots import at_root, root_of_increasing
from ...robot import Joint, Robot, a_robot
from ...spatial import ca, is_zero, total, zeros
from ...springs import LinearSpring, Spring
from ...types import Expression, FloatArray, Jet, Scalar, Stack
from ..requirements import constant_stiffness, lossless_gears, undamped_springs
from .coupling import deflections, links_behind
from .orders import joint_order

SEARCH = 40  # steps: a law may be undefined on most of its reach
FOUND = 1e-9  # of a law's reach: a deflection known less well was not found
BEYOND = 1e200  # Nm/rad: the slope of a torque where its law is not defined, which counts as too large

BY_POSITIONS = "describe its state by (q, v, theta, theta_v)"


class SpringTorque(NamedTuple):
    """Torque of the springs (..., n), which is that on the links unless a transmission couples them, and its rate."""

    tau_e: Expression | FloatArray
    tau_e_v: Expression | FloatArray


class LinkState(NamedTuple):
    """Position and velocity of the links, (..., n)."""

    q: Expression | FloatArray
    v: Expression | FloatArray


def relative_degree(robot: Robot) -> tuple[int, ...]:
    """Relative degree of each joint, the derivative of q that its motor torque enters: 2 rigid, 3 damped, 4 elastic.

    Example:
        >>> import flexjoint as fj
        >>> fj.dynamics.relative_degree(fj.load("hua_3r"))
        (2, 2, 4)
    """
    return tuple(joint_order(joint) for joint in a_robot("relative_degree", robot).joints)


# Torque from deflection ---------------------------------------------------------------------------------------------


def spring_torque(joint: Joint, phi: Scalar, phi_v: Scalar) -> Jet:
    """[τ_e, τ_e'] of a deflection, the rate without the part of damping; zero if there is no spring."""
    if not isinstance(joint.drive, ElasticDrive):
        return [0.0, 0.0]
    k, _ = joint.drive.spring.gradients(phi)
    return [joint.drive.spring.torque(phi) + joint.drive.damping * phi_v, k * phi_v]


def torque_jet(joint: Joint, phi: Jet) -> Jet:
    """[τ_e, τ_e', ...] of a spring without damping from the jet of its deflection."""
    return law_jet(joint.drive.spring, phi)  # type: ignore[union-attr]


def law_jet(spring: Spring, phi: Jet) -> Jet:
    """[τ, τ', ...] of a spring law from the jet of its deflection."""
    if isinstance(spring, LinearSpring):
        return [spring.torque(x) for x in phi]
    top = len(phi) - 1
    tau = [spring.torque(phi[0])]
    F = dict(enumerate(spring.gradients(phi[0], top), start=1)) if top else {}
    slopes = {m: [x] for m, x in F.items()}  # F_m and its time derivatives
    for n in range(top):
        tau.append(total(comb(n, l) * slopes[1][l] * phi[n + 1 - l] for l in range(n + 1)))
        for m in range(1, top - n):
            slopes[m].append(total(comb(n, p) * slopes[m + 1][p] * phi[n + 1 - p] for p in range(n + 1)))
    return tau


def deflection_acceleration(joint: Joint, phi: Scalar, phi_v: Scalar, tau_e: Jet) -> Scalar:
    """φ'' of a spring, damped: τ_e' = k φ' + D φ'', undamped: τ_e'' = k φ'' + k' φ'²; zero if there is no spring."""
    if not isinstance(joint.drive, ElasticDrive):
        return 0.0
    k, slope = joint.drive.spring.gradients(phi)
    if not is_zero(joint.drive.damping):
        return (tau_e[1] - k * phi_v) / joint.drive.damping
    return (tau_e[2] - slope * phi_v**2) / k


@algorithm(
    SpringTorque,
    requires=(
        lossless_gears,
        constant_stiffness("motor_motion, whose result has the torque of every spring"),
        undamped_springs("its torque rate depends on the motor's acceleration", BY_POSITIONS),
    ),
)
def spring_torques(robot: Robot, q: Expression, v: Expression, theta: Expression, theta_v: Expression) -> SpringTorque:
    """Torque of the springs and its rate, from encoders on both sides of the joints  [EJNEA (7), (8)].

    Args:
        q, v: Position and velocity of the links, (..., n).
        theta, theta_v: Position and velocity of the motors, (..., n), after the reduction.

    Returns:
        SpringTorque(tau_e, tau_e_v), each (..., n), Nm or N and per second; zero at rigid joints.

    Raises:
        InputError: For damped springs and for joints of variable stiffness.
    """
    phi, phi_v = deflections(robot, q, theta), deflections(robot, v, theta_v)
    jets = [spring_torque(joint, phi[i], phi_v[i]) for i, joint in enumerate(robot.joints)]
    return SpringTorque(*(ca.vertcat(*x) for x in zip(*jets)))


# Deflection from torque ---------------------------------------------------------------------------------------------


@algorithm(
    LinkState,
    requires=(
        lossless_gears,
        constant_stiffness("encoders on the links: one torque does not tell two deflections"),
        undamped_springs("its torque does not tell its deflection", BY_POSITIONS),
    ),
)
def link_state(
    robot: Robot, theta: Expression, theta_v: Expression, tau_e: Expression, tau_e_v: Expression
) -> LinkState:
    """Position and velocity of the links from motor encoders and joint torque sensors, as on iiwa and Franka.

    q = θ − φ(τ_e)  [EJNEA (7)].

    Args:
        theta, theta_v: Position and velocity of the motors, (..., n), after the reduction.
        tau_e, tau_e_v: Torque of the springs and its rate, (..., n), Nm or N; ignored at rigid joints.

    Returns:
        LinkState(q, v), each (..., n).

    Raises:
        InputError: For damped springs and for joints of variable stiffness.
    """
    jets = [spring_motion(joint, [tau_e[i], tau_e_v[i], 0.0]) for i, joint in enumerate(robot.joints)]
    phi, phi_v, _ = (ca.vertcat(*x) for x in zip(*jets))
    return LinkState(*(links_behind(robot, x, y) for x, y in ((theta, phi), (theta_v, phi_v))))


def spring_motion(joint: Joint, tau: Stack) -> Jet:
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


def deflection_jet(spring: Spring, tau: Stack) -> Jet:
    """[φ, φ', ...] of a spring law from the jet of its torque."""
    if isinstance(spring, LinearSpring):
        return [spring.deflection(x) for x in tau]
    phi = [deflection_at(spring, tau[0])]
    top = len(tau) - 1
    F = {(m, 0): slope for m, slope in enumerate(spring.gradients(phi[0], top), start=1)}
    for n in range(top):
        for l in range(1, n + 1):  # F_m⁽ˡ⁾ as far as φ⁽ⁿ⁾ and F_top allow
            m = n + 1 - l
            F[m, l] = total(comb(l - 1, p) * F[m + 1, p] * phi[l - p] for p in range(l))
        rest = [comb(n, l) * F[1, l] * phi[n + 1 - l] for l in range(1, n + 1)]
        phi.append((1 / F[1, 0]) * total([tau[n + 1], *(-x for x in rest)]))
    return phi


def deflection_at(spring: Spring, tau: Scalar) -> Scalar:
    """φ with τ_e(φ) = τ, in closed form where the law has one."""
    return spring.deflection(tau) if spring.invertible else sought_deflection(spring, tau)


def sought_deflection(spring: Spring, tau: Scalar) -> Scalar:
    """φ with τ_e(φ) = τ of a law without a closed inverse; NaN where none was found within its reach."""
    reach = ca.SX(spring.reach)

    def excess(phi: Scalar, tau: Scalar) -> Scalar:
        torque = spring.torque(phi)
        return ca.if_else(ca.fabs(torque) < inf, torque, BEYOND * phi) - tau

    phi = root_of_increasing(excess, -reach, reach, steps=SEARCH, given=[ca.SX(tau)])
    k, _ = spring.gradients(phi)
    return ca.if_else(at_root(ca.fabs(excess(phi, tau)) <= FOUND * reach * k), phi, nan)
