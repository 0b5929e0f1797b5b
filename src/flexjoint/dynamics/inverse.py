"""Inverse dynamics: motor torques for a motion of the links, whatever the drives of the joints, in any mix.

Source: [EJNEA sec. II-A, III], [VSANEA sec. III].  The links need the torques τ_e of their transmissions, with their
derivatives (`links.py`).  With φ = θ − q and k = dτ_e/dφ an elastic joint follows with

    φ' = τ_e'/k,   φ'' = (τ_e'' − k' φ'²)/k,   τ = B θ'' + D_m θ' + F_m tanh(θ'/v_m) + τ_e,

a rigid joint with θ = q, a joint of variable stiffness as in `drivetrain/variable_stiffness.py`, and joints that share
a transmission as in `drivetrain/coupling.py`.  A damped spring has no such formula, it is a filter
(`drivetrain/damped_spring.py`, `drivetrain/damped_variable_stiffness.py`); for the complete model of rotors see
`drivetrain/elimination.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..algorithm.algorithm import algorithm
from ..algorithm.form import Call, Form
from ..robot import Robot
from ..spatial import ca, sx, zeros
from ..types import Expression, FloatArray, Jet, Stack
from .drivetrain.coupling import at_springs, undeflected
from .drivetrain.damped_spring import Before, deflections_after, filtered_jet
from .drivetrain.damped_variable_stiffness import commanded_damper, damped_pairs, rates_under, with_dampers
from .drivetrain.elimination import eliminated
from .drivetrain.friction import friction, rigid_motors
from .drivetrain.load_friction import supplied_torque
from .drivetrain.motor_side import MotorSide, coupled_motors, single_motors
from .drivetrain.orders import derivative_orders
from .drivetrain.passive import joint_passive_torque
from .drivetrain.springs import spring_motion
from .drivetrain.transmission import motors, of_joints
from .drivetrain.variable_stiffness import in_order, motor_sides, pair_sides, unreachable_stiffness
from .links import follower_motors, link_torques, torque_derivatives
from .loads import Base, Wrenches
from .recursion.bodies import own_motor_inertia
from .requirements import (
    enough_derivatives,
    linear_filters,
    lossless_gears,
    moderate_link_friction,
    stateless_springs,
    stiffness_given,
)

UNDAMPED = (lossless_gears, stateless_springs, stiffness_given, enough_derivatives(), moderate_link_friction)


class MotorMotion(NamedTuple):
    """State of the whole drivetrain; motors in the order of `robot.motor_names`, after the reduction.

    Attributes:
        theta, theta_v, theta_a: Position, velocity and acceleration of the motors, (..., motors).
        deflection, deflection_v: Of the spring behind each motor, θ − q, and its rate, (..., motors); 0 at rigid
            joints; T_b⁻¹θ − T_a q where a transmission couples joints.
        spring_torque: Torque of the spring on each motor, (..., motors); of coupled joints with springs at the joints
            that of the spring itself; at a rigid joint the torque that the motor passes on, `tau` less its own inertia
            and friction.
        tau_e: Torque of each joint, (..., n), as in `feedback_linearization`, `Measurement` and logs: that of its
            spring, as a sensor in it measures it, or of both springs on the link; at a rigid joint the motor torque.
        tau: Motor torque, (..., motors).
    """

    theta: Expression | FloatArray
    theta_v: Expression | FloatArray
    theta_a: Expression | FloatArray
    deflection: Expression | FloatArray
    deflection_v: Expression | FloatArray
    spring_torque: Expression | FloatArray
    tau_e: Expression | FloatArray
    tau: Expression | FloatArray


class SteppedMotion(NamedTuple):
    """A MotorMotion with the rate of tau_e.

    (deflection_v, tau_e, tau_e_v) is the state, with `deflection` where a damped joint has variable stiffness.
    """

    theta: Expression | FloatArray
    theta_v: Expression | FloatArray
    theta_a: Expression | FloatArray
    deflection: Expression | FloatArray
    deflection_v: Expression | FloatArray
    spring_torque: Expression | FloatArray
    tau_e: Expression | FloatArray
    tau: Expression | FloatArray
    tau_e_v: Expression | FloatArray


class FilteredMotion(NamedTuple):
    """A MotorMotion in the complete model of rotors with the state of its damped springs, (..., n) each, 0 elsewhere.

    Attributes:
        deflection_top: φ⁽ᵐ⁾, where m is the highest derivative of θ that other joints need, at least 1.
        tau_e_low, tau_e_top: τ_e⁽ᵐ⁻¹⁾ and τ_e⁽ᵐ⁾.
    """

    theta: Expression | FloatArray
    theta_v: Expression | FloatArray
    theta_a: Expression | FloatArray
    deflection: Expression | FloatArray
    deflection_v: Expression | FloatArray
    spring_torque: Expression | FloatArray
    tau_e: Expression | FloatArray
    tau: Expression | FloatArray
    deflection_top: Expression | FloatArray
    tau_e_low: Expression | FloatArray
    tau_e_top: Expression | FloatArray


def needed_order(robot: Robot, base: Any = None) -> int:
    """Highest derivative of q that any motor torque depends on; the joints are coupled, so all must be that smooth.

    base: What the algorithm is given as `base`; None for a base at rest.
    """
    return derivative_orders(robot, base is not None).motion


def arrays_needed(robot: Robot, base: Any = None, **_: Any) -> int:
    """The arrays of a motion that inverse dynamics takes."""
    return needed_order(robot, base) + 1


def unreachable(
    robot: Robot, q: Any, v: Any, a: Any, *higher: Any, stiffness: Any = None, wrenches: Any = None, base: Any = None,
    warm_start: Any = None,
) -> str | None:  # fmt: skip
    """Which joint cannot have its stiffness at the torque of the motion, and which it could have."""
    if stiffness is None:
        return None
    spong = robot.with_fidelity("spong")  # whose torques differ by the couplings of rotors
    (tau_e,) = torque_derivatives(spong, q, v, a, wrenches=wrenches, base=base)
    return unreachable_stiffness(spong, tau_e, stiffness[0], warm_start is not None)


def unreachable_step(
    robot: Robot, deflection_v: Any, tau_e: Any, tau_e_v: Any, h: Any, q: Any, v: Any, a: Any, *higher: Any,
    warm_start: Any = None, damping: Any = None, **given: Any,
) -> str | None:  # fmt: skip
    """The same for a step, that a damper does not damp, or that the step is too long."""
    for joint, D in zip(robot.joints, () if damping is None else damping):
        if commanded_damper(joint.drive) and not D > 0:
            return f"damping is {D:g} at joint '{joint.name}'; give a positive number where there is a damper"
    reason = unreachable(robot, q, v, a, **given)
    if reason is None and warm_start is not None:
        return "Newton's method does not lead from warm_start to the deflections; take shorter steps"
    return reason


@algorithm("tau", arrays=arrays_needed, packs=True, explain=unreachable, requires=UNDAMPED)
def inverse_dynamics(
    robot: Robot,
    q: Expression,
    v: Expression,
    a: Expression,
    *higher: Expression,
    stiffness: Stack | None = None,
    wrenches: Wrenches = None,
    base: Base = None,
    warm_start: Expression = None,
) -> Expression:
    """Motor torques for a motion of the links, for every kind of drive.

    Args:
        q, v, a: Position, velocity and acceleration of the links, (..., n), rad or m.
        higher: Higher derivatives of q, each (..., n): q''' and q'''' if a joint has a spring; the complete rotor model
            needs more, see `explain_orders(robot)`.  Additional ones are ignored, so `*trajectory(t)` works.
        stiffness: [σ, σ', σ''], each (..., n), Nm/rad: required if a joint has variable stiffness, ignored at the
            others; higher derivatives too where the complete rotor model needs them.
        wrenches: {link: [w, w', w'']}, wrenches (f, n) (..., 6) on links, in base coordinates, with two derivatives
            where a joint has a spring; none by default.
        base: A BaseMotion; at rest by default.
        warm_start: Deflections (..., motors) of the previous sample: for springs without a closed form, a few Newton
            steps from there replace the root search (`deflection_steps`); none by default.

    Returns:
        Motor torques (..., motors), Nm or N, in the order of `robot.motor_names`.

    Raises:
        InputError: If derivatives or the stiffness are missing, or if a spring is damped: then use
            `inverse_dynamics_along`, `inverse_dynamics_step` or `robot.without_spring_damping()`.
        NonFiniteError: If a stiffness is out of reach; in a batch the row is NaN.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> fj.inverse_dynamics(fj.load("kuka_lwr"), *np.zeros((5, 7))).shape
        (7,)
    """
    return undamped_motion(robot, [q, v, a, *higher], stiffness, wrenches, base, warm_start).tau


@algorithm(MotorMotion, arrays=arrays_needed, packs=True, explain=unreachable, requires=UNDAMPED)
def motor_motion(
    robot: Robot,
    q: Expression,
    v: Expression,
    a: Expression,
    *higher: Expression,
    stiffness: Stack | None = None,
    wrenches: Wrenches = None,
    base: Base = None,
    warm_start: Expression = None,
) -> MotorMotion:
    """Motion and torque of the motors, and deflection and torque of the springs, for a motion of the links.

    All arguments are those of `inverse_dynamics`.

    Returns:
        MotorMotion.

    Raises:
        InputError, NonFiniteError: As `inverse_dynamics`.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> fj.motor_motion(fj.load("kuka_lwr"), *np.zeros((5, 7))).deflection.shape
        (7,)
    """
    return undamped_motion(robot, [q, v, a, *higher], stiffness, wrenches, base, warm_start)


def stepped_form(robot: Robot, options: Mapping[str, Any]) -> Form:
    """The state of the filters, which is of higher order in the complete model of rotors."""
    motion = ("h", "q", "v", "a", "jerk")
    if robot.fidelity == "complete":
        return Form(("deflection_top", "tau_e_low", "tau_e_top", *motion), FilteredMotion)
    return Form(("deflection_v", "tau_e", "tau_e_v", *motion), SteppedMotion)


def dampers_to_command(call: Call) -> str | None:
    """A damper that can be commanded, where a damping is given."""
    if "damping" not in call.keyword_arrays or any(commanded_damper(joint.drive) for joint in call.robot.joints):
        return None
    return (
        f"no joint of '{call.robot.name}' has a damper that can be commanded; leave damping= out, or give a drive of "
        "variable stiffness a greatest_damping"
    )


@algorithm(
    stepped_form,
    arrays=lambda robot, base=None, **_: 5 + max(3, needed_order(robot, base)),
    explain=unreachable_step,
    requires=(
        lossless_gears,
        linear_filters,
        stiffness_given,
        enough_derivatives(first_of_motion=4),
        moderate_link_friction,
        dampers_to_command,
    ),
)
def inverse_dynamics_step(
    robot: Robot,
    deflection_v: Expression,
    tau_e: Expression,
    tau_e_v: Expression,
    h: Expression,
    q: Expression,
    v: Expression,
    a: Expression,
    jerk: Expression,
    *higher: Expression,
    stiffness: Stack | None = None,
    wrenches: Wrenches = None,
    base: Base = None,
    warm_start: Expression = None,
    damping: Expression = None,
) -> SteppedMotion | FilteredMotion:
    """Motor torques and motion with damped springs, h seconds after the sample of the given state.

    Damping makes inverse dynamics a filter with one state per damped joint.  The state is in the result, ready for the
    next sample.  Undamped joints may be mixed in; their entries of the state are ignored.

    Args:
        deflection_v: Rate of the deflections at the state, (..., motors); zeros at rest.  In the complete model of
            rotors deflection_top of the state.
        tau_e, tau_e_v: Torque of the joints and its rate at the state, (..., n), as in `MotorMotion`.  In the complete
            model tau_e_low and tau_e_top.
        h: Time since the state, (...), s, at least 0.  With h = 0 only deflection_v is used: zeros start at rest
            equilibrium, where the springs alone carry τ_e.
        q, v, a, jerk: Position of the links and its first three derivatives, (..., n).
        higher: q'''', if a joint has an undamped spring; more in the complete model, see `explain_orders`.
        stiffness, wrenches, base: As in `inverse_dynamics`.
        warm_start: Deflections at the state, (..., motors).  Damped variable-stiffness joints need them; a call without
            them starts a motion, with deflection_v and any h.  Undamped joints of variable stiffness follow them as in
            `inverse_dynamics`.
        damping: Commanded damping from the state until now, (..., n), Nm s/rad, positive at joints with such a damper,
            at most the `greatest_damping` of their drives.  It may change from sample to sample. Off by default.

    Returns:
        SteppedMotion, a MotorMotion with tau_e_v.  In the complete model FilteredMotion, a MotorMotion with its state.

    Raises:
        InputError: If derivatives or the stiffness are missing, if a damping is out of range, or if in the complete
            model other joints need the motor of a nonlinear damped spring.
        NonFiniteError: If a stiffness is out of reach, or too far from that of the state; in a batch the row is NaN.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> robot, rest, h = fj.load("kuka_lwr"), np.zeros((3, 7)), np.array(0.0)
        >>> fj.inverse_dynamics_step(robot, *rest, h, *np.zeros((5, 7))).tau.shape
        (7,)
    """
    motion = [q, v, a, jerk, *higher]
    if robot.fidelity == "complete":
        return filtered_motion(robot, deflection_v, tau_e, tau_e_v, h, motion, wrenches, base)
    if damping is not None:
        robot = with_dampers(robot, damping)
        deflection_v = deflection_v if warm_start is None else rates_under(robot, warm_start, deflection_v, tau_e)
    tau = transmitted_torque(robot, motion, max(1, needed_order(robot) - 2), wrenches, base)
    springs, rate = [at_springs(robot, x) for x in tau], torque_rate(robot, motion, tau[1])
    torques = [[x[i] for x in springs] for i in range(robot.n)]
    damped = [i for i in range(robot.n) if robot.damped[i] and not robot.variable_stiffness[i]]
    before = [Before(deflection_v[i], tau_e[i], tau_e_v[i]) for i in damped]
    filtered = deflections_after([robot.joints[i].drive for i in damped], h, before, [torques[i] for i in damped])
    phi = dict(zip(damped, filtered))
    if stiffness is None or not any(robot.variable_stiffness):
        jets = [phi[i] if i in phi else spring_motion(joint, torques[i]) for i, joint in enumerate(robot.joints)]
        return SteppedMotion(*assembled(robot, motion, tau[0], jets), rate)
    pairs = damped_pairs(robot, h, deflection_v, tau_e_v, warm_start, motion, tau, stiffness)
    sides = motor_sides(robot, motion, tau, stiffness, warm_start, pairs, phi)
    return SteppedMotion(*gathered(robot, sides, tau[0]), rate)


# Parts of the drivetrain --------------------------------------------------------------------------------------------


def filtered_motion(
    robot: Robot,
    top: Expression,
    low: Expression,
    high: Expression,
    h: Expression,
    motion: Stack,
    wrenches: Wrenches,
    base: Base,
) -> FilteredMotion:
    """Motion of the motors in the complete model, h seconds after the state (φ⁽ᵐ⁾, τ_e⁽ᵐ⁻¹⁾, τ_e⁽ᵐ⁾)."""

    def deflected(i: int, torque: Jet) -> Jet:
        if robot.damped[i]:
            return filtered_jet(robot.joints[i].drive, h, Before(top[i], low[i], high[i]), torque)
        return spring_motion(robot.joints[i], torque)

    found = eliminated(robot, motion, wrenches, base, deflected)
    moved = assembled(robot, motion, found.tau_e, found.deflections, found.at_motors)
    states = [
        (phi[len(tau) - 1], *tau[-2:]) if damped else (zeros(1),) * 3
        for damped, phi, tau in zip(robot.damped, found.deflections, found.torques)
    ]
    return FilteredMotion(*moved, *(ca.vertcat(*x) for x in zip(*states)))


def undamped_motion(
    robot: Robot, q: Stack, stiffness: Stack | None, wrenches: Wrenches, base: Base, warm_start: Expression
) -> MotorMotion:
    """Motion of the motors from that of the links."""
    if robot.fidelity == "complete":
        found = eliminated(robot, q, wrenches, base, None, stiffness or (), warm_start)
        if not found.pairs:
            return assembled(robot, q, found.tau_e, found.deflections, found.at_motors)
        pairs = {i: pair_sides(robot.joints[i].drive, x, [y[i] for y in q[:3]]) for i, x in found.pairs.items()}
        alone = {i: jet for i, jet in enumerate(found.deflections) if i not in pairs}
        sides = pairs | single_motors(robot, q, found.tau_e, alone)
        return gathered(robot, in_order(robot, sides), found.tau_e, found.at_motors)
    tau = transmitted_torque(robot, q, needed_order(robot) - 2, wrenches, base)
    if stiffness is not None and any(robot.variable_stiffness):
        return gathered(robot, motor_sides(robot, q, tau, stiffness, warm_start), tau[0])
    springs = [at_springs(robot, x) for x in tau]
    phi = [spring_motion(joint, [x[i] for x in springs]) for i, joint in enumerate(robot.joints)]
    return assembled(robot, q, tau[0], phi)


def gathered(
    robot: Robot, sides: Sequence[MotorSide], tau: Expression, at_motors: Expression | None = None
) -> MotorMotion:
    """All motors together, and the torque of the joints, from the torque on the links."""
    side = MotorSide(*(ca.vertcat(*x) for x in zip(*sides)))
    side = side if at_motors is None else side._replace(tau=side.tau + at_motors)
    return MotorMotion(*side[:6], of_joints(robot, at_springs(robot, tau), side.tau), side.tau)


def assembled(
    robot: Robot, q: Stack, tau: Expression, deflections: Sequence[Jet], at_motors: Expression | None = None
) -> MotorMotion:
    """One motor per joint: from the motion of the links, the torque on them and [φ, φ', φ''] of each joint.

    at_motors: What turning the rotors with their carriers takes, in the complete model.
    """
    phi = [ca.vertcat(*[jet[k] for jet in deflections]) for k in range(3)]
    side = coupled_motors(robot, motors(robot), q, tau, phi)
    driving = side.tau if at_motors is None else side.tau + at_motors
    tau_e = of_joints(robot, at_springs(robot, tau), driving)
    return MotorMotion(*side[:6], tau_e, driving)


def torque_rate(robot: Robot, q: Stack, tau_v: Expression) -> Expression:
    """τ_e' of the joints in Spong's model, from the motion [q, ... q'''] and the torque rate on the links."""
    turned = [undeflected(robot, x) for x in q[1:4]]
    own = friction(rigid_motors(robot), turned[:2], 1)[1] + own_motor_inertia(robot) * turned[2]
    return at_springs(robot, tau_v) + own


def transmitted_torque(robot: Robot, q: Stack, order: int, wrenches: Wrenches = None, base: Base = None) -> Jet:
    """Torque each transmission must supply to its link, friction of the joint included, with its time derivatives.

    Followers and their motors are among what the transmission of their leader moves.
    """
    tau = link_torques(robot, q, sx(robot.gravity), order, wrenches, base)
    tau = [x + y for x, y in zip(tau, joint_passive_torque(robot, q, order))]
    if robot.followers:
        tau = [x + y for x, y in zip(tau, follower_motors(robot, q, [], order))]
    return supplied_torque(robot, q[1:], tau)
