"""Feedback linearization of the complete model of rotors, with q as the linearizing output: dynamic extension.

Where the link equations determine the motors one after the other (`drivetrain/orders.py`), q and its derivatives give θ
and τ  [Hoepler sec. V-B], so that a dynamic feedback turns the robot into n chains of r integrators  [DeLucaLucibello],
r the order of inverse dynamics.  The state of robot and controller is then a change of coordinates away from
(q, q', ... q⁽ʳ⁻¹⁾).  With d_i the number of times link equation i is differentiated (0 at a rigid joint) joint i has

    of the robot        q_i, q_i', and behind a spring θ_i, θ_i'
    of the controller   θ_i'', ... θ_i⁽ᵈ⁻¹⁾  and  q_i⁽ᵈ⁺²⁾, ... q_i⁽ʳ⁻¹⁾:  r − 4 numbers, r − 2 at a rigid joint.

From these the motion follows order by order.  Link equation i, differentiated k times,

    Σ_j M_ij q_j⁽ᵏ⁺²⁾ = τ_e,i⁽ᵏ⁾ − [S θ'' + C_rotor + c + g + friction]_i⁽ᵏ⁾ with q⁽ᵏ⁺²⁾ = 0 in it,

holds θ_i⁽ᵏ⁾ and θ_j⁽ᵏ⁺²⁾ (θ_j⁽ᵏ⁺¹⁾ through C_rotor), and d_j ≥ d_i + 2 (d_i + 1): for k < d_i the right side is known.
These equations are solved for the q_i⁽ᵏ⁺²⁾ with k < d_i; the others are states of the controller.  The matrix is a
principal submatrix of M, so there is no singularity.  Every state of the controller is admissible: it need not agree
with anything measured.  docs/rotors.md has the proof.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial
from typing import Any, NamedTuple

from ..algorithm.algorithm import algorithm
from ..algorithm.form import Call, Form
from ..algorithm.signals import Signal
from ..robot import Robot, a_robot
from ..spatial import ca, sx, total, zeros
from ..types import Expression, FloatArray, Jet, Scalar, Stack
from .drivetrain.coupling import by_deflection, links_at_springs, motors_at_springs, on_links, undeflected
from .drivetrain.elimination import LOOP_FROM, eliminated, place_jets
from .drivetrain.load_friction import remaining_torque
from .drivetrain.orders import JointOrders, Orders, blocks, derivative_orders, find_cycle, link_equations
from .drivetrain.passive import joint_passive_torque
from .drivetrain.springs import torque_jet
from .inverse import arrays_needed, assembled
from .links import follower_motors, tied_spins
from .loads import Wrenches, checked_wrenches
from .recursion.bodies import frames, moving_bodies, rotors
from .recursion.composite_bodies import Rows, ancestors, factorize, link_mass_matrix, solve
from .recursion.definiteness import check_inertia
from .recursion.newton_euler import joint_torques, newton_euler, spins_of
from .requirements import enough_derivatives, lossless_gears

UNIT = "rad/sᵏ | m/sᵏ"
COUPLED = "in whose complete model rotors couple the links"


class ExtendedTorque(NamedTuple):
    """Motor torque (..., motors), and the rate of the controller's state (..., size)."""

    tau: Expression | FloatArray
    extension_rate: Expression | FloatArray


class Chain(NamedTuple):
    """The derivatives of one joint that the controller holds: of its motor, then of its link."""

    motor: range
    link: range


def rotors_behind_springs(robot: Robot) -> bool:
    """Whether rotors with coordinates of their own act on the links, as in the complete model."""
    return any(rotor.elastic for rotor in rotors(robot))


def chains(orders: Orders) -> list[Chain]:
    """What the controller holds of each joint."""
    often = [joint.differentiations for joint in orders.joints]
    return [Chain(range(2, d), range(d + 2, orders.motion)) for d in often]


def extension_size(robot: Robot) -> int:
    """Number of states that the linearizing controller has because of rotors; 0 in Spong's model.

    Args:
        robot: Any robot.

    Raises:
        InputError: Link equations contain each other's motors in a cycle.

    Example:
        >>> import flexjoint as fj
        >>> fj.dynamics.extension_size(fj.load("dlr_lbr2"))
        42
    """
    if not rotors_behind_springs(a_robot("extension_size", robot)):
        return 0
    return sum(len(held) for chain in chains(derivative_orders(robot)) for held in chain)


def linearizing_output(call: Call) -> str | None:
    """Rotors with which q is a linearizing output: link equations without a cycle, undamped springs, a base at rest."""
    robot = call.robot
    if not rotors_behind_springs(robot):
        return None
    if any(robot.variable_stiffness):
        joint = robot.joints[robot.variable_stiffness.index(True)]
        return (
            f"in the complete model of '{robot.name}' joint '{joint.name}' has two motors, whose rotors couple motion "
            "and stiffness to the other links, and no law for that is known here; use robot.with_fidelity('spong') as "
            "the model"
        )
    if cycle := find_cycle(link_equations(robot), robot.compliant):
        shown = " -> ".join(f"'{robot.joints[i].name}'" for i in cycle)
        return (
            f"in the complete model of '{robot.name}' link equations contain each other's motors in a cycle, {shown}: "
            "q is not a linearizing output (another one may exist); use robot.with_fidelity('spong'), move a motor of "
            "this cycle to its joint's parent link, or turn its axis"
        )
    if any(robot.damped):
        joint = robot.joints[robot.damped.index(True)]
        return (
            f"in the complete model of '{robot.name}' the damped spring of joint '{joint.name}' is a filter, whose "
            "state q does not determine; give the law robot.without_spring_damping(), or use "
            "robot.with_fidelity('spong')"
        )
    if "base" in call.keyword_arrays:
        return f"in the complete model of '{robot.name}' the law is for a base at rest; leave base= out"
    return None


def extension_signals(robot: Robot) -> dict[str, Signal]:
    """Shapes of the controller's state and its rate."""
    size = extension_size(robot)
    return {"extension": Signal((size,), UNIT), "extension_rate": Signal((size,), UNIT)}


def state_form(robot: Robot, options: Any) -> Form:
    """The state of the controller alone."""
    return Form(("q", "v", "a"), "extension", extension_signals(robot))


def coupled_rotors(call: Call) -> str | None:
    """Rotors with coordinates of their own that act on the links."""
    if rotors_behind_springs(call.robot):
        return None
    return (
        f"no motor behind a spring acts on other links of '{call.robot.name}', so the controller has no extension; "
        "linearizing_control takes the torques that it holds"
    )


@algorithm(
    state_form,
    arrays=arrays_needed,
    requires=(lossless_gears, coupled_rotors, linearizing_output, enough_derivatives()),
)
def extension_state(
    robot: Robot, q: Expression, v: Expression, a: Expression, *higher: Expression, wrenches: Wrenches = None
) -> Expression:
    """State of the linearizing controller on a motion, for the complete model of rotors.

    Args:
        q, v, a: Position, velocity and acceleration of the links, (..., n), rad or m.
        higher: The derivatives of q behind a, each (..., n), as many as `inverse_dynamics` takes.
        wrenches: As in `inverse_dynamics`.

    Returns:
        (..., `extension_size(robot)`), rad or m per powers of s.

    Raises:
        InputError: In Spong's model, where q is not a linearizing output, or if derivatives are missing.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> fj.dynamics.extension_state(fj.load("dlr_lbr2"), *np.zeros((11, 7))).shape
        (42,)
    """
    motion = [q, v, a, *higher]
    theta = motor_jets(robot, motion, eliminated(robot, motion, wrenches).deflections)
    held = [
        [*(theta[i][k] for k in chain.motor), *(motion[k][i] for k in chain.link)]
        for i, chain in enumerate(chains(derivative_orders(robot)))
    ]
    return ca.vertcat(zeros(0), *[x for joint in held for x in joint])


def extended(
    robot: Robot,
    q: Expression,
    v: Expression,
    theta: Expression,
    theta_v: Expression,
    extension: Expression | None,
    command: Callable[[Stack], Expression],
    wrenches: Wrenches,
) -> ExtendedTorque | Expression:
    """The linearizing law with q⁽ʳ⁾ = command(q, ... q⁽ʳ⁻¹⁾); the torque alone if there is no extension."""
    held = zeros(0) if extension is None else extension
    motion = extended_motion(robot, q, v, theta, theta_v, held, wrenches)
    found = extended_torque(robot, [*motion, command(motion)], held, wrenches)
    return found.tau if extension is None else found


def extended_motion(
    robot: Robot,
    q: Expression,
    v: Expression,
    theta: Expression,
    theta_v: Expression,
    extension: Expression,
    wrenches: Wrenches = None,
) -> list[Expression]:
    """[q, q', ... q⁽ʳ⁻¹⁾] of robot and controller."""
    orders = derivative_orders(robot)
    at_motors, at_links = unpacked(orders, theta, theta_v, extension)
    M, parents = link_mass_matrix(robot, q)
    check_inertia(robot, [M[i][i] for i in range(robot.n)])
    motion = [q, v]
    for k in range(orders.motion - 2):
        # M_aa q_a⁽ᵏ⁺²⁾ = τ_e,a⁽ᵏ⁾ − the torque that the motion needs with q_a⁽ᵏ⁺²⁾ = 0, a: joints with k < d
        given: list[Scalar] = [held.get(k + 2, zeros(1)) for held in at_links]
        solved = [i for i, joint in enumerate(orders.joints) if k < joint.differentiations]
        if solved:
            phi, springs = spring_jets(robot, at_motors, motion), [zeros(robot.n) for _ in range(k + 1)]
            for i in solved:
                for x, y in zip(springs, torque_jet(robot.joints[i], phi[i])):
                    x[i] = y
            tau = remaining_torque(robot, motion[1:], [on_links(robot, x) for x in springs])[k]
            equations = [orders.joints[i] for i in solved]
            needed = torque_needed(robot, [*motion, ca.vertcat(*given)], at_motors, equations, wrenches)
            b = [tau[i] - needed[i] for i in solved]
            for i, x in zip(solved, solve_part(M, parents, solved, b)):
                given[i] = x
        motion.append(ca.vertcat(*given))
    return motion


def extended_torque(robot: Robot, motion: Stack, extension: Expression, wrenches: Wrenches = None) -> ExtendedTorque:
    """Torque and rate of the controller's state for the motion [q, ... q⁽ʳ⁾], its last the command."""
    found = eliminated(robot, motion, wrenches)
    tau = assembled(robot, motion, found.tau_e, found.deflections, found.at_motors).tau
    theta = motor_jets(robot, motion, found.deflections)
    rates: list[Scalar] = []
    place = 0
    for i, chain in enumerate(chains(derivative_orders(robot))):
        for held, jet in ((chain.motor, theta[i]), (chain.link, [x[i] for x in motion])):
            if held:  # each is the derivative of the one before; what enters the chain comes from the motion
                rates += [*ca.vertsplit(extension[place + 1 : place + len(held)]), jet[held.stop]]
                place += len(held)
    return ExtendedTorque(tau, ca.vertcat(zeros(0), *rates))


def mean_rate(robot: Robot, extension: Expression, rate: Expression, h: Scalar) -> Expression:
    """Mean over h seconds of the rate of the controller's state: chains of integrators, what enters them held."""
    mean: list[Scalar] = []
    for chain in chains(derivative_orders(robot)):
        for held in filter(len, chain):
            place = len(mean)
            stack = [*ca.vertsplit(extension[place + 1 : place + len(held)]), rate[place + len(held) - 1]]
            mean += [
                total(h**l / factorial(l + 1) * x for l, x in enumerate(stack[first:])) for first in range(len(held))
            ]
    return ca.vertcat(*mean)


def motor_jets(robot: Robot, motion: Stack, deflections: list[Jet]) -> list[Jet]:
    """[θ, θ', ...] of each joint as far as its deflection is known: θ = T q + T_b φ."""
    ends = [undeflected(robot, x) for x in motion]
    moved = list(deflections)
    for block in blocks(robot, range(robot.n)):
        place_jets(robot, block, moved, by_deflection)
    return [[x[i] + y for x, y in zip(ends, jet)] for i, jet in enumerate(moved)]


def unpacked(
    orders: Orders, theta: Expression, theta_v: Expression, extension: Expression
) -> tuple[list[Jet], list[dict[int, Scalar]]]:
    """Jets [θ, θ', ...] per joint, and the derivatives of q that the controller holds, by their order."""
    at_motors: list[Jet] = []
    at_links: list[dict[int, Scalar]] = []
    held = iter(ca.vertsplit(extension))
    for i, chain in enumerate(chains(orders)):
        at_motors.append([theta[i], theta_v[i], *(next(held) for _ in chain.motor)])
        at_links.append({k: next(held) for k in chain.link})
    return at_motors, at_links


def spring_jets(robot: Robot, theta: Sequence[Jet], motion: Stack) -> list[Jet]:
    """[φ, φ', ...] of each spring as far as θ and q are known: T_b⁻¹θ − T_a q."""
    ends = [links_at_springs(robot, x) for x in motion]
    moved = list(theta)
    for block in blocks(robot, range(robot.n)):
        place_jets(robot, block, moved, motors_at_springs)
    return [[x - y[i] for x, y in zip(jet, ends)] for i, jet in enumerate(moved)]


def torque_needed(
    robot: Robot, motion: Stack, theta: list[Jet], equations: list[JointOrders], wrenches: Wrenches
) -> Expression:
    """[M q'' + S θ'' + C_rotor + c + g + friction − Jᵀw]⁽ᵏ⁾ for [q, ... q⁽ᵏ⁺²⁾]; right in these equations."""
    k = len(motion) - 3
    often = [joint.differentiations for joint in derivative_orders(robot).joints]
    contained = {j for equation in equations for j in (*equation.accelerations, *equation.velocities)}
    # Derivatives beyond the known ones have zero factors in these equations.
    stacks = [ca.vertcat(*[jet[l] if l < len(jet) else zeros(1) for jet in theta]) for l in range(k + 3)]
    turning = [rotor for rotor in rotors(robot) if rotor.elastic and rotor.coordinate in contained]
    spins = [*tied_spins(robot, motion), *spins_of(turning, stacks)]
    place, tree = frames(robot), moving_bodies(robot)
    at = [(place[link], stack) for link, stack in checked_wrenches(robot, wrenches, k)]
    motions, loads = newton_euler(tree, motion, sx(robot.gravity), k, None, at, spins, loop_from=LOOP_FROM)
    tau = joint_torques(tree, loads, k)[k] + joint_passive_torque(robot, motion, k, often)[k]
    return tau + follower_motors(robot, motion, motions, k)[k] if robot.followers else tau


def solve_part(M: Rows, parents: list[int], chosen: list[int], b: list[Scalar]) -> list[Scalar]:
    """x with M_aa x = b for the chosen joints a, ascending: the tree of the joints with the others left out."""
    index = {joint: k for k, joint in enumerate(chosen)}
    part = [{index[j]: x for j, x in M[i].items() if j in index} for i in chosen]
    up = [next((index[j] for j in ancestors(i, parents) if j in index), -1) for i in chosen]
    return ca.vertsplit(solve(factorize(part, up), up, ca.vertcat(*b)))
