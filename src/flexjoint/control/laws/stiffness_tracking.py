"""Tracking of motion and stiffness at once: the linear law  [VSANEA (32)]  on top of the feedback linearization.

    v_q = q_d'''' + K_3 (q_d''' − q''') + K_2 (q_d'' − q'') + K_1 (q_d' − q') + K_0 (q_d − q) + K_I ∫(q_d − q)
    v_σ = σ_d'' + L_1 (σ_d' − σ') + L_0 (σ_d − σ) + L_I ∫(σ_d − σ)

The paper's (32a) is printed with lost dots and without K_0.  q'' and q''' are not measured: they follow from the state,
as σ and σ' do  [VSANEA (34), (35)]; the linearization computes the same values, which a kernel holds once.

Beyond the paper: the integrals, which it only mentions, and limits.  A motor at its limit cannot do all that is asked.
Both torques of a joint change linearly with v_σ, so the v_σ next to the one asked for is taken that keeps both within
their limits: the motion goes on as commanded and the stiffness gives way.  Where no v_σ does, torques are cut off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ...algorithm.api import algorithm
from ...drives import VariableStiffnessDrive
from ...dynamics.drivetrain.settings import regular
from ...dynamics.drivetrain.transmission import spring_torque
from ...dynamics.drivetrain.variable_stiffness import (
    refuse_damping,
    require_springs,
    singular,
    variable_stiffness_linearization,
)
from ...dynamics.linearization import link_motion
from ...errors import InputError
from ...robot import Joint, Robot
from ...spatial import ca, total

NAME = "variable_stiffness_control"
TRACKING = {"reference": 5, "gains": 4, "stiffness": 3, "stiffness_gains": 2}
OPTIONS = {"integrals": 2, "integral_gains": 2, "limits": 2, "band": 2}
NEEDS = {"integrals": "integral_gains", "integral_gains": "integrals"}
UNBOUNDED = 1e300  # in place of what is infinite


class VariableStiffnessControl(NamedTuple):
    """Torques of both motors; errors of motion and stiffness for the integrals, 0 where a limit holds them up."""

    tau_1: Any
    tau_2: Any
    error: Any
    stiffness_error: Any


class Springs(NamedTuple):
    """At one joint: [τ_e, τ_e'] on the link, its [σ, σ'], how the torques of its motors grow with v_σ, and whether both
    act on the link."""

    tau_e: Sequence[Any]
    sigma: Sequence[Any]
    gain: Sequence[Any] = ()
    share: bool = False


class Limited(NamedTuple):
    """Torques of both motors of a joint, and whether its motion and its stiffness are as commanded."""

    tau: Sequence[Any]
    moves: Any
    stiffens: Any


@algorithm(VariableStiffnessControl, explain=singular)
def variable_stiffness_control(
    robot: Robot, q, v, phi_1, phi_2, phi_1_v, phi_2_v, *, tracking=None, wrenches=None, base=None
):
    """Motor torques that make links and stiffness follow a reference with the poles of the gains  [VSANEA (32)].

    The state is that of `variable_stiffness_linearization`.  `tracking` has "reference" = [q_d, ... q_d''''], "gains" =
    [K_0, ... K_3], "stiffness" = [σ_d, σ_d', σ_d''] and "stiffness_gains" = [L_0, L_1]; on request "integrals" = [∫e_q,
    ∫e_σ] with "integral_gains" = [K_I, L_I], "limits" = torques [of motors 1, of motors 2] that are not exceeded, and
    "band" = [least, greatest] stiffness: a reference beyond is replaced by the end of the band, at rest.  All are
    (..., n); what concerns stiffness is ignored at joints that cannot change theirs.
    """
    refuse_damping(NAME, robot)
    require_springs(NAME, robot)
    goal = checked_tracking(tracking)
    q_d, sigma_d = goal["reference"], within_band(goal["stiffness"], goal.get("band"))
    springs = [springs_of(joint, phi_1[i], phi_2[i], phi_1_v[i], phi_2_v[i]) for i, joint in enumerate(robot.joints)]
    tau_e, tau_e_v, *sigma = (ca.vertcat(*x) for x in zip(*((*x.tau_e, *x.sigma) for x in springs)))
    a, jerk = link_motion.function(robot, q, v, tau_e, tau_e_v, wrenches=wrenches, base=base)
    errors = [d - x for d, x in zip(q_d, (q, v, a, jerk))]
    stiffness_errors = [d - x for d, x in zip(sigma_d, sigma)]
    v_q = q_d[4] + total(K * e for K, e in zip(goal["gains"], errors))  # [VSANEA (32a)]
    v_s = sigma_d[2] + total(L * e for L, e in zip(goal["stiffness_gains"], stiffness_errors))  # [VSANEA (32b)]
    if "integrals" in goal:
        v_q, v_s = (x + K * I for x, K, I in zip((v_q, v_s), goal["integral_gains"], goal["integrals"]))
    state = (q, v, phi_1, phi_2, phi_1_v, phi_2_v)
    tau = variable_stiffness_linearization.function(robot, *state, v_q, v_s, wrenches=wrenches, base=base)
    limited = [
        within_limits([x[i] for x in tau], spring, [x[i] for x in goal["limits"]] if "limits" in goal else None)
        for i, spring in enumerate(springs)
    ]
    tau_1, tau_2, moves, stiffens = (ca.vertcat(*x) for x in zip(*((*x.tau, x.moves, x.stiffens) for x in limited)))
    return VariableStiffnessControl(tau_1, tau_2, moves * errors[0], stiffens * stiffness_errors[0])


def springs_of(joint: Joint, phi_1: Any, phi_2: Any, phi_1_v: Any, phi_2_v: Any) -> Springs:
    """Torque and stiffness from the deflections; a joint that cannot change its stiffness has [0, 0] and no gain."""
    drive, rates = joint.drive, ca.vertcat(phi_1_v, phi_2_v)
    if not isinstance(drive, VariableStiffnessDrive):
        return Springs(spring_torque(joint, phi_1, phi_1_v), [0, 0])
    found = regular(drive, drive.at(phi_1, phi_2))
    tau_e_v, sigma_v = (ca.mtimes(row, rates) for row in found.A)  # [VSANEA (17), (18)]
    gain = [motor.inertia * x for motor, x in zip(drive.motors, found.solve(0, 1))]  # τ_k = B_k φ_k'' + ...
    return Springs([found.tau_e, tau_e_v], [found.sigma, sigma_v], gain, drive.follows)


def within_band(sigma_d: Sequence[Any], band: Sequence[Any] | None) -> Sequence[Any]:
    """[σ_d, σ_d', σ_d''], at rest at the end of the band that it passes."""
    if band is None:
        return sigma_d
    kept = ca.fmin(ca.fmax(sigma_d[0], band[0]), band[1])
    inside = kept == sigma_d[0]
    return [kept, *(ca.if_else(inside, x, 0) for x in sigma_d[1:])]


def within_limits(tau: Sequence[Any], spring: Springs, limits: Sequence[Any] | None) -> Limited:
    """The torques of a joint kept within limits: by another v_σ if that is enough, else cut off.

    Where it is not enough, another v_σ still gives the link more of its torque, if both motors act on it.
    """
    gain = spring.gain
    if limits is None:
        return Limited(tau, 1, bool(gain))
    moves, stiffens = ca.fabs(tau[0]) <= limits[0], 0
    if gain:
        ends = [changes(x, g, limit) for x, g, limit in zip(tau, gain, limits)]
        least, most = ca.fmax(ends[0][0], ends[1][0]), ca.fmin(ends[0][1], ends[1][1])
        moves = least <= most
        change = ca.fmin(ca.fmax(0, least), most)  # of v_σ
        change = change if spring.share else ca.if_else(moves, change, 0)
        tau = [x + g * change for x, g in zip(tau, gain)]
        stiffens = ca.logic_and(moves, change == 0)
    return Limited([ca.fmin(ca.fmax(x, -limit), limit) for x, limit in zip(tau, limits)], moves, stiffens)


def changes(tau: Any, gain: Any, limit: Any) -> tuple[Any, Any]:
    """Between which changes of v_σ a torque is within its limit; any or none if it does not depend on it."""
    ends = [(end - tau) / gain for end in (-limit, limit)]
    far = ca.if_else(ca.fabs(tau) <= limit, UNBOUNDED, -UNBOUNDED)
    return ca.if_else(gain == 0, -far, ca.fmin(*ends)), ca.if_else(gain == 0, far, ca.fmax(*ends))


def checked_tracking(tracking: Any) -> Mapping[str, Any]:
    given = dict(tracking or {})
    if unknown := sorted(set(given) - {*TRACKING, *OPTIONS}):
        known = ", ".join([*TRACKING, *OPTIONS])
        raise InputError(f"{NAME}: tracking has no '{unknown[0]}'; it knows {known}")
    for name, needed in {**TRACKING, **OPTIONS}.items():
        count = len(given.get(name, ()))
        asked = name in given or name in TRACKING or NEEDS.get(name) in given
        if asked and count != needed:
            raise InputError(f"{NAME}: tracking needs {needed} arrays in '{name}', {count} were given")
    return given
