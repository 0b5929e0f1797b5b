"""Feedback linearization of robots with springs: motor torques that make the links obey q'''' = command.

Source: [EJNEA sec. IV], equations (12), (14), (15), (45)-(52) in their corrected form: q'' from the link equation, q'''
from its derivative, both with one factorization M = LᵀDL, then the torque for the motion [q, q', q'', q''', command].
The three recursions share what they have in common, since equal expressions become one value of the Program; and the
joint torques of lower order are known when the next order is computed, so they are not computed again (`next_torque`).
Joints of variable stiffness also obey σ'' = stiffness_command  [VSANEA sec. III-C].

Beyond the paper: rigid joints and damped springs, which answer their motor after two and three derivatives.  Where they
stand beside joints that answer later, their torques become states of the controller (dynamic extension): see
`control/laws/linearizing.py`.  And the complete model of rotors, whose law has a state too: see `dynamic_extension.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..algorithm.algorithm import algorithm
from ..algorithm.form import Call, Form
from ..drives import VariableStiffnessDrive
from ..robot import Robot, a_robot
from ..spatial import ca, zeros
from ..types import Expression, FloatArray, Jet, Scalar, Stack
from .drivetrain.coupling import at_springs, deflections, on_links
from .drivetrain.load_friction import remaining_torque, supplied_torque
from .drivetrain.motor_side import coupled_motors, single_motors
from .drivetrain.orders import derivative_orders
from .drivetrain.springs import deflection_acceleration, link_state, relative_degree, spring_motion, spring_torque
from .drivetrain.transmission import motors, of_joints, second_motors, spring_deflections
from .drivetrain.variable_stiffness import commanded_motors, decoupling, transmission_torque
from .dynamic_extension import (
    COUPLED,
    ExtendedTorque,
    extended,
    extension_signals,
    extension_size,
    linearizing_output,
    rotors_behind_springs,
)
from .links import next_torque
from .loads import Base, Wrenches, checked_base, checked_wrenches
from .recursion.articulated_body import by_articulated_bodies
from .recursion.bodies import has_tree_structure
from .recursion.composite_bodies import FEW_JOINTS, factorize, link_mass_matrix, solve
from .recursion.definiteness import check_inertia
from .requirements import (
    drives_in_words,
    equal_relative_degrees,
    lossless_gears,
    moderate_link_friction,
    spong_rotors,
    undamped_springs,
)

Command: TypeAlias = Callable[[Stack], Expression]  # the highest derivative of the motion, from those below it

STATES = {
    "q theta": ("q", "v", "theta", "theta_v"),
    "q tau_e": ("q", "v", "tau_e", "tau_e_v"),
    "theta tau_e": ("theta", "theta_v", "tau_e", "tau_e_v"),
}  # what `measured` may be, and the arrays it stands for

uncoupled_motors = spong_rotors("couples the links to each other's motors")
told_by_torque = undamped_springs("its torque does not tell its deflection", "use measured='q theta'")


class LinkMotion(NamedTuple):
    """q'' and q''' of the links, (..., n)."""

    a: Expression | FloatArray
    jerk: Expression | FloatArray


class LinearizingTorque(NamedTuple):
    """Motor torque (..., motors), and the highest derivative of the joint torques τ_e that it causes (..., n).

    τ_e is the torque of the spring, or of both springs on the link; at a rigid joint the motor torque.
    """

    tau: Expression | FloatArray
    tau_e_top: Expression | FloatArray


def inertia_solver(robot: Robot, q: Expression) -> Callable[[Expression], Expression]:
    """b -> M⁻¹b, any number of times: one factorization, or on long chains articulated bodies.

    Operations of `link_motion` for chains of 7, 16 and 30 joints in general position: 5013, 15959 and 41495 by
    factorization, 6153, 16368 and 32258 by articulated bodies.
    """
    if robot.n > FEW_JOINTS and has_tree_structure(robot):
        return lambda b: by_articulated_bodies(robot, q, zeros(robot.n), b, inertial=True)
    M, parents = link_mass_matrix(robot, q)
    check_inertia(robot, [M[i][i] for i in range(robot.n)])
    factors = factorize(M, parents)
    return lambda b: solve(factors, parents, b)


def link_derivatives(
    robot: Robot, q: Expression, v: Expression, torques: Stack, wrenches: Wrenches, base: Base
) -> list[Expression]:
    """[q'', q''', ...] from the torques on the links and their derivatives, [τ, τ', ...]: one factorization."""
    if not torques:
        return []
    solved = inertia_solver(robot, q)
    motion = [q, v]
    for k in range(len(torques)):
        # M q⁽ᵏ⁺²⁾ = τ⁽ᵏ⁾ − what the motion asks for when q⁽ᵏ⁺²⁾ = 0  [EJNEA (47)-(52)]
        *known, tau = remaining_torque(robot, motion[1:], torques[: k + 1])
        b = tau - next_torque(robot, [*motion, zeros(robot.n)], known, wrenches, base)
        motion.append(solved(b))
    return motion[2:]


@algorithm(LinkMotion, requires=(uncoupled_motors,))
def link_motion(
    robot: Robot,
    q: Expression,
    v: Expression,
    tau_e: Expression,
    tau_e_v: Expression,
    *,
    wrenches: Wrenches = None,
    base: Base = None,
) -> LinkMotion:
    """q'' and q''' of the links from the torque on them and its rate  [EJNEA (14), (15)].

    Args:
        q, v: Position and velocity of the links, (..., n).
        tau_e, tau_e_v: Torque of the joints and its rate, (..., n), Nm or N, as in `MotorMotion`: of the spring, at a
            rigid joint of the motor.
        wrenches, base: As in `torque_derivatives`, with one derivative.

    Returns:
        LinkMotion(a, jerk), (..., n) each.
    """
    return LinkMotion(*link_derivatives(robot, q, v, [on_links(robot, x) for x in (tau_e, tau_e_v)], wrenches, base))


def linearized(
    robot: Robot,
    q: Expression,
    v: Expression,
    torques: Stack,
    command: Command,
    wrenches: Wrenches = None,
    base: Base = None,
) -> tuple[list[Expression], Jet]:
    """The motion [q, ... q⁽ʳ⁾] and torques on the links [τ_e, ... τ_e⁽ʳ⁻²⁾], from the state and the last of the motion.

    `torques` = [τ_e, τ_e'] for chains of 4, [τ_e] for chains of 3, [] for rigid joints; `command` gives q⁽ʳ⁾ from the
    derivatives below it.
    """
    checked_wrenches(robot, wrenches, len(torques))
    checked_base(base, len(torques))
    motion = [q, v, *link_derivatives(robot, q, v, torques, wrenches, base)]
    motion.append(command(motion))
    known = remaining_torque(robot, motion[1:], torques)
    needed = [*known, next_torque(robot, motion, known, wrenches, base)]
    return motion, supplied_torque(robot, motion[1:], needed, torques)


def driving_torque(robot: Robot, motion: Stack, tau_e: Jet, deflections: Sequence[Jet]) -> Expression:
    """Motor torque: behind springs τ_e + B θ'' + friction, at rigid joints that of the link itself, T⁻ᵀτ in a group."""
    phi = [ca.vertcat(*[jet[k] for jet in deflections]) for k in range(3)]
    behind = coupled_motors(robot, motors(robot), motion, tau_e[0], phi)
    return of_joints(robot, behind.tau, behind.spring_torque)


# Feedback linearization ---------------------------------------------------------------------------------------------


def measured_form(robot: Robot, options: Mapping[str, Any]) -> Form:
    """The state by what is measured; beside joints of variable stiffness also the torques that the controller holds, in
    the complete model of rotors the extension."""
    state, reason = STATES.get(options["measured"], STATES["q theta"]), drives_in_words(robot)
    if linearizing_output(Call(robot)) is None and extension_size(robot):
        over = (*STATES["q theta"], "command", "extension")
        return Form(over, ExtendedTorque, extension_signals(robot), COUPLED)
    if any(robot.variable_stiffness) and holds_torques(robot):
        inputs = (*STATES["q theta"], "tau_e", "tau_e_v", "command")
        return Form(inputs, LinearizingTorque, reason=held_in_words(robot))
    return Form((*state, "command"), "tau", reason=reason)


def held_in_words(robot: Robot) -> str:
    """Which joints have springs, and which torques the controller holds, behind "for 'robot', "."""
    names = ", ".join(f"'{robot.joints[i].name}'" for i in held_torques(robot)[chain_length(robot) - 3])
    return f"{drives_in_words(robot)} beside rigid or damped ones: tau_e and tau_e_v are what the law holds of {names}"


def one_deflection(call: Call) -> str | None:
    """Undamped springs where torques are measured: only then a torque tells the deflection."""
    return None if call.options.get("measured", "q theta") == "q theta" else told_by_torque(call)


def known_state(call: Call) -> str | None:
    """`measured` names a state, of joints of variable stiffness the one with θ."""
    measured = call.options.get("measured", "q theta")
    if measured not in tuple(STATES):  # which takes what cannot be hashed
        return f"measured is {measured!r}; choose one of {', '.join(map(repr, STATES))}"
    if any(call.robot.variable_stiffness) and measured != "q theta":
        joint = call.robot.joints[call.robot.variable_stiffness.index(True)]
        return (
            f"measured is {measured!r}, but joint '{joint.name}' has variable stiffness, and one torque does not tell "
            "the deflections of two springs; use measured='q theta'"
        )
    return None


def measured_positions(call: Call) -> str | None:
    """Link and motor positions in the complete model of rotors."""
    measured = call.options.get("measured", "q theta")
    if measured == "q theta" or not rotors_behind_springs(call.robot):
        return None
    return f"measured is {measured!r}; in the complete model of '{call.robot.name}' use measured='q theta'"


def stiffness_commanded(call: Call) -> str | None:
    """A stiffness command for joints of variable stiffness."""
    if any(call.robot.variable_stiffness) and "stiffness_command" not in call.keyword_arrays:
        joint = call.robot.joints[call.robot.variable_stiffness.index(True)]
        return (
            f"stiffness_command is missing: joint '{joint.name}' has variable stiffness; give stiffness_command=σ'' of "
            "each joint, (n,)"
        )
    return None


def fitting_degrees(call: Call) -> str | None:
    """Equal relative degrees; any mix beside joints of variable stiffness and in the complete model of rotors."""
    any_mix = any(call.robot.variable_stiffness) or rotors_behind_springs(call.robot)
    return None if any_mix else equal_relative_degrees(call)


def singular(robot: Robot, q: Any, v: Any, theta: Any, theta_v: Any, *rest: Any, **keywords: Any) -> str | None:
    """Which joint cannot have motion and stiffness controlled separately where it is."""
    second = second_motors(robot)
    for i, joint in enumerate(robot.joints):
        drive = joint.drive
        if isinstance(drive, VariableStiffnessDrive):
            phi = theta[i] - q[i], theta[second[i]] - drive.c * q[i]
            det = float(decoupling(drive, drive.at(ca.SX(phi[0]), ca.SX(phi[1]))).det)
            if np.isnan(det):
                return (
                    f"the springs of joint '{joint.name}' cannot set motion and stiffness apart at the deflections "
                    f"{phi[0]:g} and {phi[1]:g} (the decoupling matrix is singular, or a law undefined); draw the "
                    "motors apart"
                )
    return None


@algorithm(
    measured_form,
    explain=singular,
    requires=(
        lossless_gears,
        known_state,
        stiffness_commanded,
        linearizing_output,
        measured_positions,
        fitting_degrees,
        moderate_link_friction,
    ),
)
def feedback_linearization(
    robot: Robot,
    q: Expression,
    v: Expression,
    theta: Expression,
    theta_v: Expression,
    tau_e: Expression,
    tau_e_v: Expression,
    command: Expression,
    extension: Expression,
    *,
    stiffness_command: Expression = None,
    measured: str = "q theta",
    wrenches: Wrenches = None,
    base: Base = None,
) -> Expression | LinearizingTorque | ExtendedTorque:
    """Motor torque that gives the links q'''' = command, and joints of variable stiffness σ'' = stiffness_command.

    [EJNEA (12), (45)], [VSANEA sec. III-C].  Called with four state arrays and the command.  If all springs are damped,
    the command is the jerk: with damping the relative degree is 3.  `linearizing_control` takes every mix of rigid,
    damped and undamped joints with one motor each.

    A robot with joints of variable stiffness among rigid or damped ones takes two arrays more, (robot, q, v, theta,
    theta_v, tau_e, tau_e_v, command), and returns LinearizingTorque(tau, tau_e_top): the controller integrates
    tau_e_top at joints of smaller relative degree (dynamic extension).

    In the complete model of rotors the command is q⁽ʳ⁾, r = `chain_length(robot)`.  If r > 4 or a joint is rigid, the
    law is dynamic  [DeLucaLucibello]: it takes the state of the controller, `extension`, and returns its rate.

    Args:
        q, v, theta, theta_v: The state as `measured` says; q and tau_e (..., n), theta (..., motors).
        tau_e, tau_e_v: Torques of the joints and their rates (..., n), Nm or N, as in `MotorMotion`: measured ones, see
            `measured`; or those that the controller holds, of which it takes both of rigid joints (motor torque and its
            rate) and the rates of damped springs.
        command: Desired q'''' (or jerk, or q⁽ʳ⁾) of the links, (..., n).
        extension: Only for a dynamic law of the complete model: state of the controller, (...,
            `extension_size(robot)`); `extension_state` gives that on a motion, any other is admissible.
        stiffness_command: Desired σ'', (..., n), Nm/(rad s²); required if a joint has variable stiffness.
        measured: What the four state arrays are:
            "q theta" (default): q, v, theta, theta_v: encoders on both sides of the springs
            "q tau_e": q, v, tau_e, tau_e_v: link encoders and joint torque sensors
            "theta tau_e": theta, theta_v, tau_e, tau_e_v: motor encoders and torque sensors, as on iiwa and Franka
        wrenches, base: As in `torque_derivatives`, with two derivatives.

    Returns:
        Motor torques (..., motors), Nm or N; LinearizingTorque(tau, tau_e_top) where the controller holds torques,
        ExtendedTorque(tau, extension_rate) where it holds an extension: the second is to be integrated.

    Raises:
        InputError: For single-motor joints with different relative degrees, and if q is not a linearizing output
            because of complete rotors.
        NonFiniteError: Where motion and stiffness cannot be controlled separately.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> fj.feedback_linearization(fj.load("kuka_lwr"), *np.zeros((5, 7))).shape
        (7,)
    """
    if rotors_behind_springs(robot):
        return extended(robot, q, v, theta, theta_v, extension, lambda _: command, wrenches)
    if any(robot.variable_stiffness):
        known = (q, v, theta, theta_v, tau_e, tau_e_v)
        found = with_variable_stiffness(robot, *known, command, stiffness_command, wrenches, base)
        return found if holds_torques(robot) else found.tau
    arrays = {"q": q, "v": v, "theta": theta, "theta_v": theta_v, "tau_e": tau_e, "tau_e_v": tau_e_v}
    state, held = [arrays[name] for name in STATES[measured]], [zeros(robot.n)] * 2
    return from_measured(robot, measured, state, held, lambda _: command, wrenches, base).tau


def from_measured(
    robot: Robot, measured: str, state: Stack, held: Stack, command: Command, wrenches: Wrenches, base: Base
) -> LinearizingTorque:
    """The linearizing torque from what the sensors measure  [EJNEA sec. II-B].

    Args:
        measured: A key of `STATES`.
        state: The four arrays that it stands for.
        held: [τ_e, τ_e'] of joints whose torques the controller integrates.
        command: q⁽ʳ⁾ from the derivatives below it.
    """
    if measured == "q theta":
        q, v, theta, theta_v = state
        return from_positions(robot, q, v, theta, theta_v, held, command, wrenches, base)
    q, v, tau_e, tau_e_v = state
    if measured == "theta tau_e":
        q, v = link_state.function(robot, *state)  # q = θ − φ(τ_e)  [EJNEA (7)]
    return from_torques(robot, q, v, tau_e, tau_e_v, held, command, wrenches, base)


def from_torques(
    robot: Robot,
    q: Expression,
    v: Expression,
    tau_e: Expression,
    tau_e_v: Expression,
    held: Stack,
    command: Command,
    wrenches: Wrenches,
    base: Base,
) -> LinearizingTorque:
    """The linearizing torque from torque sensors at undamped springs and the torques that the controller holds."""
    known = [on_links(robot, of_joints(robot, *x)) for x in zip((tau_e, tau_e_v), held)][: chain_length(robot) - 2]
    motion, tau = linearized(robot, q, v, known, command, wrenches, base)
    springs = [at_springs(robot, x) for x in tau]
    jets = [spring_motion(joint, [x[i] for x in springs]) for i, joint in enumerate(robot.joints)]
    return LinearizingTorque(driving_torque(robot, motion, tau, jets), springs[-1])


def from_positions(
    robot: Robot,
    q: Expression,
    v: Expression,
    theta: Expression,
    theta_v: Expression,
    held: Stack,
    command: Command,
    wrenches: Wrenches,
    base: Base,
) -> LinearizingTorque:
    """The linearizing torque from deflections and from the torques that the controller holds."""
    phi, phi_v = deflections(robot, q, theta), deflections(robot, v, theta_v)
    motion, tau = linearized(robot, q, v, torques_on_links(robot, phi, phi_v, *held), command, wrenches, base)
    springs = [at_springs(robot, x) for x in tau]
    jets = [
        [phi[i], phi_v[i], deflection_acceleration(joint, phi[i], phi_v[i], [x[i] for x in springs])]
        for i, joint in enumerate(robot.joints)
    ]
    return LinearizingTorque(driving_torque(robot, motion, tau, jets), springs[-1])


def torques_on_links(
    robot: Robot, phi: Expression, phi_v: Expression, tau_e: Expression, tau_e_v: Expression
) -> list[Expression]:
    """[τ_e, τ_e'] as far as the chain needs them: what the deflection gives, else what the controller holds."""
    springs = [spring_torque(joint, phi[i], phi_v[i]) for i, joint in enumerate(robot.joints)]
    return known_torques(robot, springs, tau_e, tau_e_v)


def known_torques(robot: Robot, springs: Sequence[Jet], tau_e: Expression, tau_e_v: Expression) -> list[Expression]:
    """Torque on the links and its rate as far as the chain needs them, from [τ_e, τ_e'] of springs and held ones."""
    degrees = relative_degree(robot)
    return [
        on_links(robot, ca.vertcat(*[springs[i][k] if degree > 2 + k else held[i] for i, degree in enumerate(degrees)]))
        for k, held in enumerate([tau_e, tau_e_v][: chain_length(robot) - 2])
    ]


def held_torques(robot: Robot) -> tuple[list[int], list[int]]:
    """The joints whose torque, and those whose torque rate, the controller holds."""
    degrees, length = relative_degree(robot), chain_length(robot)
    torques, rates = ([i for i, x in enumerate(degrees) if x <= 2 + k < length] for k in range(2))
    return torques, rates


def holds_torques(robot: Robot) -> bool:
    """Whether a linearizing controller has a state, because joints answer their motors after different numbers."""
    return any(map(len, held_torques(robot)))


def chain_length(robot: Robot) -> int:
    """Number of integrators that each joint becomes: 4 if a spring is undamped, 3 if all are damped, 2 without springs.

    In the complete model of rotors it is the order of inverse dynamics, see `explain_orders`.

    Example:
        >>> import flexjoint as fj
        >>> fj.dynamics.chain_length(fj.load("kuka_lwr"))
        4
    """
    if rotors_behind_springs(a_robot("chain_length", robot)):
        return derivative_orders(robot).motion
    return max(relative_degree(robot), default=2)


def with_variable_stiffness(
    robot: Robot,
    q: Expression,
    v: Expression,
    theta: Expression,
    theta_v: Expression,
    tau_e: Expression,
    tau_e_v: Expression,
    command: Expression,
    stiffness_command: Expression,
    wrenches: Wrenches,
    base: Base,
) -> LinearizingTorque:
    """Motor torques (motors,) for q'''' and σ''; no equation is solved but linear ones  [VSANEA sec. III-C].

    Rigid joints and damped springs may be among the others: (tau_e, tau_e_v) has what the controller holds of them.
    """
    phi, phi_v = spring_deflections(robot, q, theta), spring_deflections(robot, v, theta_v)
    second = second_motors(robot)
    drives = {i: joint.drive for i, joint in enumerate(robot.joints) if isinstance(joint.drive, VariableStiffnessDrive)}
    rates = {i: [phi_v[i], phi_v[second[i]]] for i in drives}
    points = {i: drive.at(phi[i], phi[second[i]]) for i, drive in drives.items()}
    springs = [
        transmission_torque(drives[i], points[i], rates[i]) if i in points else spring_torque(joint, phi[i], phi_v[i])
        for i, joint in enumerate(robot.joints)
    ]
    known = known_torques(robot, springs, tau_e, tau_e_v)  # τ_e, τ_e'  [VSANEA (6), (17)]
    moved, torque = linearized(robot, q, v, known, lambda _: command, wrenches, base)  # [VSANEA (34), (35)]
    at_all = [at_springs(robot, x) for x in torque]
    jets = {
        i: [phi[i], phi_v[i], deflection_acceleration(joint, phi[i], phi_v[i], [x[i] for x in at_all])]
        for i, joint in enumerate(robot.joints)
        if i not in points
    }
    alone = single_motors(robot, moved, torque[0], jets)
    torques: list[Scalar] = [0.0] * robot.motor_count
    for i in range(robot.n):
        q_i, tau_i = [x[i] for x in moved[:3]], [x[i] for x in torque]
        if i in points:
            sides = commanded_motors(drives[i], points[i], q_i, rates[i], tau_i, stiffness_command[i])
            torques[i], torques[second[i]] = (side.tau for side in sides)
        else:
            torques[i] = alone[i][0].tau if robot.compliant[i] else at_all[0][i]
    return LinearizingTorque(ca.vertcat(*torques), at_all[-1])
