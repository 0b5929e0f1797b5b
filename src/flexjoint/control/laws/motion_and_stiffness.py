"""Tracking of motion and stiffness at once: the linear law  [VSANEA (32)]  on top of the feedback linearization.

    v_q = q_d'''' + K_3 (q_d''' − q''') + K_2 (q_d'' − q'') + K_1 (q_d' − q') + K_0 (q_d − q) + K_I ∫(q_d − q)
    v_σ = σ_d'' + L_1 (σ_d' − σ') + L_0 (σ_d − σ) + L_I ∫(σ_d − σ)

The paper's (32a) is printed with lost dots and without K_0.  q'' and q''' are not measured: they follow from the state,
as σ and σ' do  [VSANEA (34), (35)]; the linearization computes the same values, which a kernel holds once.

Beyond the paper: the integrals, which it only mentions, and limits.  A motor at its limit cannot do all that is asked.
Both torques of a joint change linearly with v_σ, so the v_σ next to the one asked for is taken that keeps both within
their limits: the motion goes on as commanded and the stiffness gives way.  Where no v_σ does, torques are cut off.

Rigid joints and damped springs answer their motors earlier: among the others their torques are states of the controller
(dynamic extension), as in `linearizing.py`.  If every spring is damped, all chains are one integrator shorter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...algorithm.algorithm import algorithm
from ...algorithm.form import Call, Form
from ...drives import ElasticDrive, VariableStiffnessDrive
from ...dynamics.drivetrain.springs import spring_torque
from ...dynamics.drivetrain.transmission import second_motors, spring_deflections
from ...dynamics.drivetrain.variable_stiffness import decoupling, transmission_torque
from ...dynamics.linearization import (
    STATES,
    chain_length,
    held_in_words,
    holds_torques,
    known_torques,
    link_derivatives,
    singular,
    uncoupled_motors,
    with_variable_stiffness,
)
from ...dynamics.loads import Base, Wrenches
from ...dynamics.requirements import drives_in_words, lossless_gears, moderate_link_friction
from ...robot import Joint, Robot
from ...spatial import ca, total
from ...types import Expression, FloatArray, Jet, Scalar, Stack

TRACKING = ("reference", "gains", "stiffness", "stiffness_gains")
OPTIONS = {"integrals": 2, "integral_gains": 2, "limits": 1, "band": 2}
NEEDS = {"integrals": "integral_gains", "integral_gains": "integrals"}
UNBOUNDED = 1e300  # in place of what is infinite


class MotionAndStiffnessTorque(NamedTuple):
    """Motor torques (..., motors); errors of motion and stiffness for the integrals (..., n), 0 where a limit holds."""

    tau: Expression | FloatArray
    error: Expression | FloatArray
    stiffness_error: Expression | FloatArray


class MixedMotionAndStiffnessTorque(NamedTuple):
    """As `MotionAndStiffnessTorque`, with the highest derivative of the torques on the links (..., n) to integrate."""

    tau: Expression | FloatArray
    error: Expression | FloatArray
    stiffness_error: Expression | FloatArray
    tau_e_top: Expression | FloatArray


class Springs(NamedTuple):
    """At one joint: [τ_e, τ_e'] on the link, its [σ, σ'], how the torques of its motors grow with v_σ, whether both
    act on the link, and whether there is no spring, so that the controller holds the torque."""

    tau_e: Jet
    sigma: Sequence[Scalar]
    gain: Sequence[Scalar] = ()
    share: bool = False
    held: bool = False


class Limited(NamedTuple):
    """Torques of the motors of a joint, and whether its motion and its stiffness are as commanded."""

    tau: Sequence[Scalar]
    moves: Scalar
    stiffens: Scalar


def law_form(robot: Robot, options: Mapping[str, Any]) -> Form:
    """Joints that answer their motors after different numbers of derivatives make torques states of the controller."""
    if holds_torques(robot):
        inputs = (*STATES["q theta"], "tau_e", "tau_e_v")
        return Form(inputs, MixedMotionAndStiffnessTorque, reason=held_in_words(robot))
    return Form(STATES["q theta"], MotionAndStiffnessTorque, reason=drives_in_words(robot))


def known_tracking(call: Call) -> str | None:
    """All that the law needs of `tracking`, and nothing it does not know."""
    given, length = dict(call.keyword_arrays.get("tracking") or {}), chain_length(call.robot)
    if unknown := sorted(set(given) - {*TRACKING, *OPTIONS}):
        return f"tracking has no '{unknown[0]}'; it knows {', '.join([*TRACKING, *OPTIONS])}"
    for name, needed in {**dict(zip(TRACKING, (length + 1, length, 3, 2))), **OPTIONS}.items():
        count = len(given.get(name, ()))
        asked = name in given or name in TRACKING or NEEDS.get(name) in given
        if asked and count != needed:
            return f"tracking needs {needed} arrays in '{name}', {count} were given"
    return None


@algorithm(
    law_form,
    explain=singular,
    requires=(lossless_gears, uncoupled_motors, known_tracking, moderate_link_friction),
)
def motion_and_stiffness_control(
    robot: Robot,
    q: Expression,
    v: Expression,
    theta: Expression,
    theta_v: Expression,
    tau_e: Expression,
    tau_e_v: Expression,
    *,
    tracking: dict[str, Stack] | None = None,
    wrenches: Wrenches = None,
    base: Base = None,
) -> MotionAndStiffnessTorque | MixedMotionAndStiffnessTorque:
    """Motor torques that make links and stiffness follow a reference with the poles of the gains  [VSANEA (32)].

    Joints may be rigid, elastic, damped or of variable stiffness, in any mix.  A robot whose joints all have undamped
    springs (or all damped ones) takes (robot, q, v, theta, theta_v).

    Args:
        q, v: Position and velocity of the links, (..., n).
        theta, theta_v: The same of the motors, (..., motors); ignored at rigid joints.
        tau_e, tau_e_v: State of the controller, (..., n): motor torque of rigid joints and its rate, the rate also of
            damped springs beside undamped ones; other entries are ignored.
        tracking: {"reference": [q_d, ... q_d''''], "gains": [K_0, ... K_3], "stiffness": [σ_d, σ_d', σ_d''],
            "stiffness_gains": [L_0, L_1]}, each array (..., n); what concerns stiffness is ignored at joints that
            cannot change theirs.  `chain_length(robot)` is the number of gains: 4, or 3 if all springs are damped.
            Optional are "integrals": [∫e_q, ∫e_σ] with "integral_gains": [K_I, L_I]; "limits": [tau_max], motor
            torques (..., motors) that are not exceeded; and "band": [least, greatest] stiffness: a reference beyond it
            is replaced by the end of the band, at rest.
        wrenches, base: As in `torque_derivatives`, with two derivatives.

    Returns:
        MotionAndStiffnessTorque(tau, error, stiffness_error); MixedMotionAndStiffnessTorque with tau_e_top, the
        derivative of the state that the controller integrates, if there is such a state.

    Raises:
        InputError: In the complete model of rotors.
    """
    goal = dict(tracking or {})
    q_d, sigma_d = goal["reference"], within_band(goal["stiffness"], goal.get("band"))
    phi, phi_v = spring_deflections(robot, q, theta), spring_deflections(robot, v, theta_v)
    second = second_motors(robot)
    places = [[i, second[i]] if i in second else [i] for i in range(robot.n)]  # motors of each joint
    springs = [
        springs_of(joint, [phi[k] for k in own], [phi_v[k] for k in own]) for joint, own in zip(robot.joints, places)
    ]
    known = known_torques(robot, [x.tau_e for x in springs], tau_e, tau_e_v)
    sigma = [ca.vertcat(*x) for x in zip(*(x.sigma for x in springs))]
    errors = [d - x for d, x in zip(q_d, (q, v, *link_derivatives(robot, q, v, known, wrenches, base)))]
    stiffness_errors = [d - x for d, x in zip(sigma_d, sigma)]
    v_q = q_d[len(errors)] + total(K * e for K, e in zip(goal["gains"], errors))  # [VSANEA (32a)]
    v_s = sigma_d[2] + total(L * e for L, e in zip(goal["stiffness_gains"], stiffness_errors))  # [VSANEA (32b)]
    if "integrals" in goal:
        v_q, v_s = (x + K * I for x, K, I in zip((v_q, v_s), goal["integral_gains"], goal["integrals"]))
    tau, top = with_variable_stiffness(robot, q, v, theta, theta_v, tau_e, tau_e_v, v_q, v_s, wrenches, base)
    limits = goal["limits"][0] if "limits" in goal else None
    limited = [
        within_limits([tau[k] for k in own], spring, None if limits is None else [limits[k] for k in own])
        for spring, own in zip(springs, places)
    ]
    kept = {k: x for own, joint in zip(places, limited) for k, x in zip(own, joint.tau)}
    moves, stiffens = (ca.vertcat(*x) for x in zip(*((x.moves, x.stiffens) for x in limited)))
    torques = ca.vertcat(*(kept[k] for k in range(robot.motor_count)))
    found = MotionAndStiffnessTorque(torques, moves * errors[0], stiffens * stiffness_errors[0])
    return MixedMotionAndStiffnessTorque(*found, top) if holds_torques(robot) else found


def springs_of(joint: Joint, phi: Sequence[Scalar], phi_v: Sequence[Scalar]) -> Springs:
    """Torque and stiffness from the deflections; a joint that cannot change its stiffness has [0, 0] and no gain."""
    drive = joint.drive
    if not isinstance(drive, VariableStiffnessDrive):
        held = not isinstance(drive, ElasticDrive)
        return Springs(spring_torque(joint, phi[0], phi_v[0]), [0, 0], held=held)
    found = drive.at(phi[0], phi[1])
    sigma_v = ca.mtimes(found.A[1], ca.vertcat(*phi_v))  # [VSANEA (18)]
    changed = decoupling(drive, found).solve(0, 1)  # φ'' by σ''
    gain = [motor.inertia * x for motor, x in zip(drive.motors, changed)]  # τ_k = B_k φ_k'' + ...
    return Springs(transmission_torque(drive, found, phi_v), [found.sigma, sigma_v], gain, drive.follows)


def within_band(sigma_d: Stack, band: Stack | None) -> Stack:
    """[σ_d, σ_d', σ_d''], at rest at the end of the band that it passes."""
    if band is None:
        return sigma_d
    kept = ca.fmin(ca.fmax(sigma_d[0], band[0]), band[1])
    inside = kept == sigma_d[0]
    return [kept, *(ca.if_else(inside, x, 0) for x in sigma_d[1:])]


def within_limits(tau: Sequence[Scalar], spring: Springs, limits: Sequence[Scalar] | None) -> Limited:
    """The torques of a joint kept within limits: by another v_σ if that is enough, else cut off.

    Where it is not enough, another v_σ still gives the link more of its torque, if both motors act on it.
    """
    gain = spring.gain
    if limits is None:
        return Limited(tau, 1, bool(gain))
    size = ca.fabs(tau[0])
    moves: Scalar = size < limits[0] if spring.held else size <= limits[0]  # a held torque rests at its limit
    stiffens: Scalar = 0
    if gain:
        ends = [changes(x, g, limit) for x, g, limit in zip(tau, gain, limits)]
        least, most = ca.fmax(ends[0][0], ends[1][0]), ca.fmin(ends[0][1], ends[1][1])
        moves = least <= most
        change: Scalar = ca.fmin(ca.fmax(0, least), most)  # of v_σ
        change = change if spring.share else ca.if_else(moves, change, 0)
        tau = [x + g * change for x, g in zip(tau, gain)]
        stiffens = ca.logic_and(moves, change == 0)
    return Limited([ca.fmin(ca.fmax(x, -limit), limit) for x, limit in zip(tau, limits)], moves, stiffens)


def changes(tau: Scalar, gain: Scalar, limit: Scalar) -> tuple[Scalar, Scalar]:
    """Between which changes of v_σ a torque is within its limit; any or none if it does not depend on it."""
    ends = [(end - tau) / gain for end in (-limit, limit)]
    far = ca.if_else(ca.fabs(tau) <= limit, UNBOUNDED, -UNBOUNDED)
    return ca.if_else(gain == 0, -far, ca.fmin(*ends)), ca.if_else(gain == 0, far, ca.fmax(*ends))
