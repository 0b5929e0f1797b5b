"""Tracking with rigid and elastic joints in any mix: the inverse dynamics controller of [Hua sec. IV], and adaptive.

With e_q = q_d − q, v_r = q_d' + Λ_q e_q, σ_q = v_r − q' and Λ = K_D⁻¹K_P, the links shall get the torque

    τ_qc = M v_r' + S θ'' + C(q, q') v_r + C_1 θ' + G + D v_r + K_Dq σ_q                                  [Hua (39)]

from their motors, and through springs from motors that follow θ_d = q + τ_qc/K,  e_θ = θ_d − θ:

    θ_r' = θ_d' + Λ_θ e_θ + σ_q,  σ_θ = θ_r' − θ',   B σ_θ' + K_Dθ σ_θ + K e_θ = 0                   [Hua (45)-(50)]

    V₂ = ½ σ_qᵀM σ_q + e_qᵀΛ_q K_Dq e_q + ½ σ_θᵀB σ_θ + ½ e_θᵀK e_θ                                       [Hua (51)]
    V₂' = −e_q'ᵀK_Dq e_q' − e_qᵀΛ_q K_Dq Λ_q e_q − σ_θᵀK_Dθ σ_θ − e_θᵀK Λ_θ e_θ                             [Hua (52)]

Friction is compensated at v_r and θ_r', which takes σᵀ[f(v_r) − f(q')] more from V₂', ≥ 0 where f grows with velocity.
What depends on the load is taken at the springs' torques; on the link side θ_d'' contains it with θ'', times less than
1, and (50) is solved for θ''.  C is Christoffel's.

A known wrench w on a link is τ_ex = Jᵀw of (30).  −Jᵀw in τ_qc leaves (40), (50) and V₂ as they are; where joints are
elastic, θ_d' and θ_d'' take the derivatives of w.

The paper does not say where θ_d', θ_d'', q'' and θ'' come from.  Here: (39) makes the links' closed loop
M q'' = (τ_qc or the springs' torque) − C q' − G without S θ'' and C_1 θ', which gives q'', differentiated q''', and so
τ_qc' and τ_qc'' along the closed loop; then (50) gives θ'', and this the torques.  Measured are q, q', θ, θ' alone.

That closes only where no link equation of an elastic joint contains the motor of another one: θ_d'' would contain
θ''''.  Elsewhere the couplings are exact by another way (`couplings.py`), or neglected: then S θ'' and C_1 θ' are
left out of θ_d at elastic joints, q'' follows from θ'' and the link equation, (50) still holds, and V₂' has the
disturbance −σ_qᵀ(S θ'' + C_1 θ') at those joints.  It is not small on stiff arms: on `dlr_lbr2` the pose decides if the
loop is stable, for gains of any size (`MixedInverseDynamics.check_reference`).  Springs are linear and undamped.

The adaptive law neglects these couplings.  It knows rotors, stiffness and friction, but not the links: these give Y π̂
in τ_qc, π̂' = Γ Yᵀσ_q.  Then

    V = V₂ + ½ (π − π̂)ᵀΓ⁻¹(π − π̂)   has the V' of (52):   σ_qᵀ(M σ_q' + C σ_q + K_Dq σ_q − e_τ) = σ_qᵀY (π − π̂)

is cancelled by the update, and (50) holds whatever π̂ is, if θ_d', θ_d'' are the derivatives of θ_d.  They contain the
links' q'' and q''', which no longer follow from a known model: `adaptive_mixed_torque` takes them as measured, and
keeps the promise where there are no couplings; `adaptive_mixed_torque_from_positions` computes them with π̂, which is
right in the limit Y (π − π̂) → 0, and no proof for the way there.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import inf
from typing import Any, NamedTuple

from ...algorithm.algorithm import algorithm
from ...algorithm.form import Call, Requirement
from ...dynamics.drivetrain.friction import motor_friction
from ...dynamics.drivetrain.load_friction import is_loaded, load_friction, load_slope, remaining_torque
from ...dynamics.drivetrain.orders import derivative_orders
from ...dynamics.drivetrain.rotors import at_motors, motor_inertias, spin_torque
from ...dynamics.drivetrain.transmission import of_joints
from ...dynamics.loads import Base, Wrenches
from ...dynamics.recursion.bodies import Body, lump_fixed, moving_bodies, rotors
from ...dynamics.recursion.composite_bodies import factorize, link_mass_matrix, solve
from ...dynamics.recursion.coriolis import two_motions
from ...dynamics.recursion.definiteness import check_inertia
from ...dynamics.recursion.kinematics import jacobian
from ...dynamics.recursion.regressor import ROBOTS_KEPT, base_parts, estimated_bodies, parameter_powers
from ...dynamics.requirements import (
    constant_stiffness,
    linear_undamped_springs,
    lossless_gears,
    uncoupled_transmissions,
)
from ...errors import shown
from ...robot import Robot
from ...spatial import TimeDerivatives, ca, sx, zeros
from ...types import Expression, FloatArray, Jet, Stack, Vector
from .couplings import DEEPEST, Loop, State, coupling_depth, exact_torque, stiffness
from .passivity import load_torque

GAINS = ("K_P", "K_D", "motor K_P", "motor K_D")
COUPLINGS = AUTOMATIC, EXACT, NEGLECTED = "automatic", "exact", "neglected"


class MixedTorque(NamedTuple):
    """Motor torque (..., n), and the desired θ_d, θ_d' of motors behind springs; q and q' at rigid joints."""

    tau: Expression | FloatArray
    theta_d: Expression | FloatArray
    theta_d_v: Expression | FloatArray


class AdaptiveMixedTorque(NamedTuple):
    """Motor torque (..., n), θ_d and θ_d' as in `MixedTorque`, and the rate of the estimated base parameters."""

    tau: Expression | FloatArray
    theta_d: Expression | FloatArray
    theta_d_v: Expression | FloatArray
    estimate_rate: Expression | FloatArray


def long_enough(couplings: str) -> tuple[Requirement, Requirement]:
    """All gains and all derivatives of the reference, and of the wrenches those that the torque on the links has."""

    def order_of(call: Call) -> int:
        carried = call.keyword_arrays.get("base") is not None
        return reference_order(call.robot, call.options.get("couplings", couplings), carried)

    def tracking(call: Call) -> str | None:
        given, order = dict(call.keyword_arrays.get("tracking") or {}), order_of(call)
        for name, needed in (("reference", order + 1), ("gains", len(GAINS))):
            if len(given.get(name, ())) < needed:
                text = f"q_d and its first {order} derivatives" if name == "reference" else ", ".join(GAINS)
                return f"tracking needs {needed} arrays in '{name}' ({text}), {len(given.get(name, ()))} were given"
        return None

    def wrenches(call: Call) -> str | None:
        order = order_of(call) - 2
        for link, stack in dict(call.keyword_arrays.get("wrenches") or {}).items():
            if len(stack) <= order:
                return (
                    f"the wrench on '{link}' needs its first {order} derivatives, as joints are elastic, "
                    f"{len(stack) - 1} were given; they are zero only if it is constant in the base frame"
                )
        return None

    return tracking, wrenches


def possible_couplings(call: Call) -> str | None:
    """Couplings, and a moving base, that the controller can follow."""
    robot, carried = call.robot, call.keyword_arrays.get("base") is not None
    couplings, depth = call.options.get("couplings", AUTOMATIC), coupling_depth(robot, carried)
    instead = "MotorPD" if depth == inf else "FeedforwardPD"
    if couplings not in COUPLINGS:
        return f"couplings is {shown(couplings)}; it must be one of {', '.join(map(repr, COUPLINGS))}"
    if carried and (couplings == NEGLECTED or depth > DEEPEST):
        why = "the couplings are neglected" if couplings == NEGLECTED else f"{too_deep(robot, depth)} on a moving base"
        return f"{why}; use {instead}" + (", which knows the motion of the base" if depth < inf else "")
    if couplings == EXACT and depth > DEEPEST:
        return f"{too_deep(robot, depth)}; use {instead}, or couplings='neglected' where that is stable"
    return None


def too_deep(robot: Robot, depth: float) -> str:
    if depth == inf:
        return f"link equations of '{robot.name}' contain each other's motors in a cycle"
    return f"the couplings of '{robot.name}' need q to order {4 + 2 * depth:.0f}; the controller follows 8"


linear_springs = (
    lossless_gears,
    constant_stiffness("motion_and_stiffness_control"),
    uncoupled_transmissions,
    linear_undamped_springs,
)


following_couplings = (*linear_springs, possible_couplings, *long_enough(AUTOMATIC))


def no_motor_positions(
    robot: Robot, *state: Any, couplings: str = AUTOMATIC, base: Any = None, **given: Any
) -> str | None:
    """Why a torque with exact couplings is NaN."""
    if not by_search(robot, couplings, base is not None):
        return None
    return "no θ_d leads to the measured θ and θ': start closer to the reference, or lower the gains of the motors"


@algorithm(MixedTorque, requires=following_couplings, explain=no_motor_positions)
def mixed_torque(
    robot: Robot,
    q: Expression,
    v: Expression,
    theta: Expression,
    theta_v: Expression,
    *,
    tracking: dict[str, Stack] | None = None,
    wrenches: Wrenches = None,
    base: Base = None,
    couplings: str = AUTOMATIC,
) -> MixedTorque:
    """Motor torque that makes the links track a reference  [Hua (37)-(50)].

    Args:
        q, v: Position and velocity of the links, (..., n).
        theta, theta_v: The same of the motors, (..., n); ignored at rigid joints.
        tracking: {"reference": [q_d, q_d', ... q_d''''], to q_d'' if no joint is elastic, "gains": [K_P, K_D, motor
            K_P, motor K_D], positive, the last two ignored at rigid joints}, each (..., n).  Exact couplings take
            further derivatives, up to the eighth: as many as `inverse_dynamics`.
        wrenches: {link: [w, w', w'']}, known wrenches (f, n) (..., 6) on links at the origins of their frames, in base
            coordinates, with their derivatives; [w] if no joint is elastic; none by default.  A known payload belongs
            to the robot: `robot.with_payload(...)`.  Exact couplings take two derivatives less than of the reference.
        base: A BaseMotion; at rest by default.
        couplings: Torques S θ'' + C_1 θ' of motors in the link equations of elastic joints: "exact" or "neglected" in
            θ_d; by default "automatic", exact where no torque needs a derivative of q beyond the eighth.

    Returns:
        MixedTorque(tau, theta_d, theta_d_v); with exact couplings NaN where no θ_d leads to the measured θ and θ'.

    Raises:
        InputError: For springs that are damped, not linear or of variable stiffness, and for couplings that are too
            deep to be exact.
    """
    state = State(q, v, theta, theta_v)
    if not by_search(robot, couplings, base is not None):
        return follow(law_of(robot, tracking, wrenches), state)[0]
    found, K = exact_torque(loop_of(robot, state, tracking, wrenches, base)), stiffness(robot)
    followed = [of_joints(robot, x + e / K, y) for x, e, y in ((theta, found.error, q), (theta_v, found.error_v, v))]
    return MixedTorque(found.tau, *followed)


@algorithm(AdaptiveMixedTorque, requires=(*linear_springs, *long_enough(NEGLECTED)))
def adaptive_mixed_torque(
    robot: Robot,
    q: Expression,
    v: Expression,
    a: Expression,
    jerk: Expression,
    theta: Expression,
    theta_v: Expression,
    estimate: Expression,
    Gamma: Expression,
    *,
    tracking: dict[str, Stack] | None = None,
    wrenches: Wrenches = None,
) -> AdaptiveMixedTorque:
    """`mixed_torque` with estimated base parameters of the links, and their rate Γ Yᵀσ_q; q'' and q''' are measured.

    Args:
        a, jerk: Measured q'' and q''', (..., n).
        estimate, Gamma: Base parameters of the links, and the diagonal of the gains of their update, (..., parameters).

    The other arguments are those of `mixed_torque`.
    """
    torque, rate = follow(
        law_of(robot, tracking, wrenches), State(q, v, theta, theta_v), Adaptation(estimate, Gamma), [a, jerk]
    )
    return AdaptiveMixedTorque(*torque, rate)


@algorithm(AdaptiveMixedTorque, requires=(*linear_springs, *long_enough(NEGLECTED)))
def adaptive_mixed_torque_from_positions(
    robot: Robot,
    q: Expression,
    v: Expression,
    theta: Expression,
    theta_v: Expression,
    estimate: Expression,
    Gamma: Expression,
    *,
    tracking: dict[str, Stack] | None = None,
    wrenches: Wrenches = None,
) -> AdaptiveMixedTorque:
    """`adaptive_mixed_torque` with q'' and q''' from the estimated model, whose mass matrix must be regular.

    The arguments are those of `adaptive_mixed_torque`.
    """
    torque, rate = follow(law_of(robot, tracking, wrenches), State(q, v, theta, theta_v), Adaptation(estimate, Gamma))
    return AdaptiveMixedTorque(*torque, rate)


def reference_order(robot: Robot, couplings: str = NEGLECTED, carried: bool = False) -> int:
    """How many derivatives of the reference the controller reads; `carried` by a moving base."""
    if by_search(robot, couplings, carried):
        return derivative_orders(robot, carried).motion
    return 4 if any(robot.compliant) else 2


def by_search(robot: Robot, couplings: str, carried: bool = False) -> bool:
    """Whether the torque is that of `couplings`."""
    return couplings != NEGLECTED and (carried or 0 < coupling_depth(robot) <= DEEPEST)


# The law ------------------------------------------------------------------------------------------------------------


class Adaptation(NamedTuple):
    """Base parameters of the links as they are estimated, and the gains of their update."""

    estimate: Expression
    Gamma: Expression


class Law(NamedTuple):
    """A robot, its reference [q_d, q_d', ...], the wrenches [w, w', ...] on its `touched` links one below the other,
    and the diagonals of the gains."""

    robot: Robot
    reference: Stack
    touched: tuple[str, ...]
    wrenches: Stack
    K_P: Expression
    K_D: Expression
    motor_K_P: Expression
    motor_K_D: Expression


def follow(
    law: Law, state: State, adaptation: Adaptation | None = None, measured: Stack = ()
) -> tuple[MixedTorque, Expression]:
    """The torque, and the rate of the estimate; q'' and q''' are the model's where they are not measured."""
    robot, K = law.robot, stiffness(law.robot)
    loaded = any(map(is_loaded, robot.joints))
    learnt = [adaptation.estimate] if adaptation else []
    load = load_side(robot, adaptation is not None, law.touched)
    solved = inverse_inertia(robot, bodies_with(robot, learnt), state.q)
    springs = [K * (state.theta - state.q), K * (state.theta_v - state.v)]
    links: list[Expression] = [state.q, state.v]
    tau_qc: list[Expression] = []

    def acceleration(k: int, more: Expression = 0.0) -> Expression:
        """q⁽ᵏ⁺²⁾ from M q⁽ᵏ⁺²⁾ = (τ_qc or K (θ − q))⁽ᵏ⁾ − what the motion asks for without it."""
        driving = of_joints(robot, remaining_torque(robot, links[1:], springs[: k + 1])[k], tau_qc[k])
        return solved(driving - load.asked(k, [*links[: k + 2], zeros(robot.n)], law.wrenches, learnt) - more)

    for k in range(reference_order(robot) - 1):
        tau_qc.append(load.command(k, links, law.reference, [law.K_P], [law.K_D], law.wrenches, learnt))
        if loaded:
            torques = [*springs, *(-K * x for x in links[2:3])][: k + 1]  # without θ'', which comes later
            tau_qc[k] += load_friction(robot, reference_rates(law, links, k), torques)[k]
        if adaptation and load.powers and k < len(springs):
            learnt.append(adaptation.Gamma * load.powers(k, links, law.reference, [law.K_P], [law.K_D]))
        if k < len(springs):
            links.append(measured[k] if measured else acceleration(k))

    rate = learnt[1] if adaptation else None
    if not any(robot.compliant):
        return MixedTorque(tau_qc[0], state.q, state.v), rate
    theta_d = [x + y / K for x, y in zip(links, tau_qc)]  # [Hua (43)]
    theta_a = motor_acceleration(law, state, links, theta_d, springs[0])
    if loaded:
        theta_a = theta_a / (1 - load_slope(robot, reference_rates(law, links, 0)[0], springs[0]))
    spinning = [rotor for rotor in rotors(robot) if rotor.elastic]
    S_theta = spin_torque(robot, spinning, links[:3], [state.theta, state.theta_v, theta_a])[1]  # S θ'' + C_1 θ'
    a = (
        links[2]
        if measured or coupling_depth(robot) == 0
        else acceleration(0, of_joints(robot, S_theta, zeros(robot.n)))
    )
    carried = at_motors(robot, spin_torque(robot, [], [state.q, state.v, a], [])[0])  # Sᵀq'' + C_2 q'
    tau_m = springs[0] + motor_inertias(robot) * theta_a + carried + motor_friction(robot, state.theta_v, springs[0])
    tau = of_joints(robot, tau_m, tau_qc[0] + S_theta)  # [Hua (49), (39)]
    shown = [of_joints(robot, x, y) for x, y in zip(theta_d, links)]
    return MixedTorque(tau, *shown[:2]), rate


def reference_rates(law: Law, links: Stack, order: int) -> Jet:
    """[v_r, v_r', ...]  [Hua (37)]."""
    Lambda, q_d = law.K_P / law.K_D, law.reference
    return [q_d[k + 1] + Lambda * (q_d[k] - links[k]) for k in range(order + 1)]


def motor_acceleration(law: Law, state: State, links: Stack, theta_d: Jet, loads: Expression) -> Expression:
    """θ'' of motors behind springs, from B σ_θ' + K_Dθ σ_θ + K e_θ + f(θ_r') − f(θ') = 0  [Hua (50)]."""
    robot, Lambda = law.robot, law.motor_K_P / law.motor_K_D
    _, a_r, sigma = sliding(links, law.reference, law.K_P, law.K_D)
    e, e_v = theta_d[0] - state.theta, theta_d[1] - state.theta_v
    theta_r_v = theta_d[1] + Lambda * e + sigma  # [Hua (45)]
    theta_r_a = theta_d[2] + Lambda * e_v + (a_r - links[2])
    pulled = law.motor_K_D * (theta_r_v - state.theta_v) + stiffness(robot) * e
    rubbed = motor_friction(robot, theta_r_v, loads) - motor_friction(robot, state.theta_v, loads)
    B = of_joints(robot, motor_inertias(robot), sx([1.0] * robot.n))
    return theta_r_a + (pulled + rubbed) / B


# The load side ------------------------------------------------------------------------------------------------------


class LoadSide(NamedTuple):
    """Functions along a motion: of (links, reference, K_P, K_D, wrenches, estimate) τ_qc without S θ'' + C_1 θ', of
    (links, wrenches, estimate) what a motion asks for, of (links, reference, K_P, K_D) Yᵀσ_q."""

    command: TimeDerivatives
    asked: TimeDerivatives
    powers: TimeDerivatives | None


@lru_cache(ROBOTS_KEPT)
def load_side(robot: Robot, adaptive: bool, touched: tuple[str, ...]) -> LoadSide:
    n = robot.n
    links, reference, gain = (4, n), (reference_order(robot) + 1, n), (1, n)
    wrenches = (reference_order(robot) - 1, 6 * len(touched)) if touched else (0, 0)
    estimate = (3, len(base_parts(robot))) if adaptive else (0, 0)

    def command(x: Stack, wanted: Stack, K_P: Stack, K_D: Stack, w: Stack, pi: Stack) -> Expression:
        v_r, a_r, sigma = sliding(x, wanted, K_P[0], K_D[0])
        # τ_qc = M v_r' + C(q, q') v_r + G − Jᵀw + K_Dq σ_q  [Hua (39)], with τ_ex = Jᵀw of (30)
        load = load_torque(robot, bodies_with(robot, pi), x[0], x[1], v_r, a_r)
        return load - external_torque(robot, x[0], touched, w) + K_D[0] * sigma

    def asked(x: Stack, w: Stack, pi: Stack) -> Expression:
        load = load_torque(robot, bodies_with(robot, pi), x[0], x[1], x[1], x[2])
        return load - external_torque(robot, x[0], touched, w)

    def powers(x: Stack, wanted: Stack, K_P: Stack, K_D: Stack) -> Expression:
        v_r, a_r, sigma = sliding(x, wanted, K_P[0], K_D[0])
        motions = two_motions(lump_fixed(robot), x[0], x[1], v_r, a_r, sx(robot.gravity))
        return parameter_powers(robot, motions, x[0], sigma)

    return LoadSide(
        TimeDerivatives(command, reference_order(robot) - 2, links, reference, gain, gain, wrenches, estimate),
        TimeDerivatives(asked, min(1, reference_order(robot) - 2), links, wrenches, estimate),
        TimeDerivatives(powers, 1, links, reference, gain, gain) if adaptive else None,
    )


def sliding(links: Stack, reference: Stack, K_P: Expression, K_D: Expression) -> tuple[Vector, Vector, Vector]:
    """v_r, v_r' and σ_q  [Hua (37), (38)]."""
    Lambda = K_P / K_D
    v_r = reference[1] + Lambda * (reference[0] - links[0])
    return v_r, reference[2] + Lambda * (reference[1] - links[1]), v_r - links[1]


def external_torque(robot: Robot, q: Expression, touched: tuple[str, ...], wrenches: Stack) -> Expression:
    """Jᵀw of the wrenches on the `touched` links, τ_ex of [Hua (30)]."""
    torque = zeros(robot.n)
    for k, link in enumerate(touched):
        torque = torque + jacobian.function(robot, q, link=link).T @ wrenches[0][6 * k : 6 * k + 6]
    return torque


def bodies_with(robot: Robot, learnt: Stack) -> list[Body]:
    """Those of the robot, or with the inertia that an estimate gives them."""
    return estimated_bodies(robot, learnt[0]) if learnt else moving_bodies(robot)


def inverse_inertia(robot: Robot, tree: list[Body], q: Expression) -> Callable[[Expression], Expression]:
    """b -> M⁻¹b with one factorization."""
    M, parents = link_mass_matrix(robot, q, tree=tree)
    check_inertia(robot, [M[i][i] for i in range(robot.n)])
    factors = factorize(M, parents)
    return lambda b: solve(factors, parents, b)


def loop_of(robot: Robot, state: State, tracking: Any, wrenches: Wrenches, base: Base) -> Loop:
    """The loop of `couplings`, with as much of the reference and the wrenches as it reads."""
    order = derivative_orders(robot, base is not None).motion
    acting = tuple((link, list(w[: order - 1])) for link, w in (wrenches or {}).items())
    reference, gains = tracking["reference"][: order + 1], tracking["gains"][: len(GAINS)]
    return Loop(robot, state, list(reference), list(gains), acting, base)


def law_of(robot: Robot, tracking: Any, wrenches: Wrenches) -> Law:
    """As much of the reference, the gains and the wrenches as the law reads."""
    order, given = reference_order(robot), dict(wrenches or {})
    known = [ca.densify(ca.vertcat(*(x[k] for x in given.values()))) for k in range(order - 1)] if given else []
    return Law(robot, list(tracking["reference"][: order + 1]), tuple(given), known, *tracking["gains"][: len(GAINS)])
