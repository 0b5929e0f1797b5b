"""Feedback linearization of robots with elastic joints: motor torques that make the links obey q'''' = command.

Source: [EJNEA sec. IV], equations (12), (14), (15), (45)-(52) in their corrected form: q'' from the link equation, q'''
from its derivative, both with one factorization M = LᵀDL, then the torque for the motion [q, q', q'', q''', command].
The three recursions share what they have in common, since equal expressions become one value of the Program; and the
joint torques of lower order are known when the next order is computed, so they are not computed again (`next_torque`).

Beyond the paper: rigid joints and damped springs, which answer their motor after two and three derivatives.  Where they
stand beside joints that answer later, their torques become states of the controller (dynamic extension).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..algorithm.api import algorithm
from ..errors import InputError
from ..robot import Robot
from ..spatial import ca, total, zeros
from ..types import Jet
from .drivetrain.deflection import spring_motion
from .drivetrain.transmission import deflection_acceleration, link_state, relative_degree, spring_torque
from .inverse import motor_side, motors, refuse_antagonism, warn_of_friction
from .links import checked_base, checked_wrenches, next_torque
from .recursion.articulated_body import by_articulated_bodies
from .recursion.bodies import refuse_spinning_rotors, tied_rotors
from .recursion.composite_bodies import FEW_JOINTS, factorize, link_mass_matrix, solve
from .recursion.definiteness import check_inertia

LINEARIZED = "variable_stiffness_linearization"


class LinkMotion(NamedTuple):
    """q'' and q''' of the links."""

    a: Any
    jerk: Any


class LinearizingTorque(NamedTuple):
    """Motor torque, and the highest derivative of the torques on the links that it brings about."""

    tau: Any
    tau_e_top: Any


def inertia_solver(robot: Robot, q: Any) -> Callable[[Any], Any]:
    """b -> M⁻¹b, any number of times: one factorization, or on long chains articulated bodies.

    Operations of `link_motion` for chains of 7, 16 and 30 joints in general position: 5013, 15959 and 41495 by
    factorization, 6153, 16368 and 32258 by articulated bodies.
    """
    if robot.n > FEW_JOINTS and not tied_rotors(robot):
        return lambda b: by_articulated_bodies(robot, q, zeros(robot.n), b, gravity=zeros(3))
    M, parents = link_mass_matrix(robot, q)
    check_inertia(robot, [M[i][i] for i in range(robot.n)])
    factors = factorize(M, parents)
    return lambda b: solve(factors, parents, b)


def link_derivatives(robot: Robot, q: Any, v: Any, torques: Sequence[Any], wrenches: Any, base: Any) -> list[Any]:
    """[q'', q''', ...] from the torques on the links and their derivatives, [τ, τ', ...]: one factorization."""
    refuse_coupled_motors("feedback linearization", robot)
    if not torques:
        return []
    solved = inertia_solver(robot, q)
    motion = [q, v]
    for k, tau in enumerate(torques):
        # M q⁽ᵏ⁺²⁾ = τ⁽ᵏ⁾ − what the motion asks for when q⁽ᵏ⁺²⁾ = 0  [EJNEA (47)-(52)]
        b = tau - next_torque(robot, [*motion, zeros(robot.n)], torques[:k], wrenches, base)
        motion.append(solved(b))
    return motion[2:]


@algorithm(LinkMotion)
def link_motion(robot: Robot, q, v, tau_e, tau_e_v, *, wrenches=None, base=None):
    """q'' and q''' of the links from the torque on them and its rate  [EJNEA (14), (15)].

    Of an elastic joint that is the torque of the spring, of a rigid one the motor torque.  `wrenches` and `base` as in
    `torque_derivatives`, with one derivative.
    """
    return LinkMotion(*link_derivatives(robot, q, v, [tau_e, tau_e_v], wrenches, base))


def linearized(
    robot: Robot,
    q: Any,
    v: Any,
    torques: Sequence[Any],
    command: Callable[[Sequence[Any]], Any],
    wrenches: Any = None,
    base: Any = None,
) -> tuple[list[Any], Jet]:
    """The motion [q, ... q⁽ʳ⁾] and torques on the links [τ_e, ... τ_e⁽ʳ⁻²⁾], from the state and the last of the motion.

    `torques` = [τ_e, τ_e'] for chains of 4, [τ_e] for chains of 3, [] for rigid joints; `command` gives q⁽ʳ⁾ from the
    derivatives below it.
    """
    checked_wrenches(robot, wrenches, len(torques))
    checked_base(base, len(torques))
    warn_of_friction(robot)
    motion = [q, v, *link_derivatives(robot, q, v, torques, wrenches, base)]
    motion.append(command(motion))
    return motion, [*torques, next_torque(robot, motion, torques, wrenches, base)]


def driving_torque(robot: Robot, motion: Sequence[Any], tau_e: Jet, deflections: Sequence[Jet]) -> Any:
    """Motor torque: behind springs τ_e + B θ'' + friction, at rigid joints the torque on the link itself."""
    behind_springs = motor_side(motors(robot), motion, tau_e[0], deflections).tau
    return ca.vertcat(*[(behind_springs if elastic else tau_e[0])[i] for i, elastic in enumerate(robot.elastic)])


@algorithm("tau")
def feedback_linearization(robot: Robot, q, v, tau_e, tau_e_v, command, *, wrenches=None, base=None):
    """Motor torque that gives the links q'''' = command, whatever their motion  [EJNEA (12), (45)].

    The state is q, q' and the torques of the springs with their rates; `feedback_linearization_from_positions` and
    `feedback_linearization_from_torques` take what other sensors give, `linearizing_control` rigid and damped joints
    too.  `wrenches` and `base` as in `torque_derivatives`, with two derivatives.
    """
    check_joints(robot, "feedback_linearization", {4})
    motion, tau = linearized(robot, q, v, [tau_e, tau_e_v], lambda _: command, wrenches, base)
    phi = [spring_motion(joint, [x[i] for x in tau]) for i, joint in enumerate(robot.joints)]
    return driving_torque(robot, motion, tau, phi)


@algorithm("tau")
def feedback_linearization_from_positions(robot: Robot, q, v, theta, theta_v, command, *, wrenches=None, base=None):
    """`feedback_linearization` from positions and velocities on both sides of the springs: link and motor encoders.

    If all springs are damped the command is the jerk: damping passes the motor torque on one derivative earlier.
    """
    check_joints(robot, "feedback_linearization_from_positions", {3, 4})
    held = zeros(robot.n)
    return from_positions(robot, q, v, theta, theta_v, held, held, lambda _: command, wrenches, base).tau


@algorithm("tau")
def feedback_linearization_from_torques(
    robot: Robot, theta, theta_v, tau_e, tau_e_v, command, *, wrenches=None, base=None
):
    """`feedback_linearization` from motor encoders and joint torque sensors, as on iiwa and Franka  [EJNEA sec. II-B].

    q = θ − τ_e/K and its rate replace link encoders.
    """
    check_joints(robot, "feedback_linearization_from_torques", {4})
    q, v = link_state.function(robot, theta, theta_v, tau_e, tau_e_v)
    return feedback_linearization.function(robot, q, v, tau_e, tau_e_v, command, wrenches=wrenches, base=base)


@algorithm(LinearizingTorque)
def linearizing_control(robot: Robot, q, v, theta, theta_v, tau_e, tau_e_v, *, tracking=None, wrenches=None, base=None):
    """Linearization and tracking law in one, for any mix of joints  [EJNEA (12), (13)].

    All joints become chains of `chain_length(robot)` integrators.  Those that would answer their motor earlier are held
    back by integrators in the controller: `tau_e` and `tau_e_v` are the torques of rigid joints and their rates, and
    `tau_e_v` also that of damped springs beside undamped ones; other entries are ignored.  The second result is the
    derivative of these torques that the controller integrates.  At a rigid joint `theta` and `theta_v` are ignored.

    `tracking` has "reference" = [q_d, q_d', ...], one more than the chain is long, and "gains" = [K₀, K₁, ...].
    """
    refuse_antagonism("linearizing_control", robot, LINEARIZED)
    refuse_coupled_motors("linearizing_control", robot)
    length = chain_length(robot)
    reference, gains = checked_tracking(tracking, length)

    def command(motion: Sequence[Any]) -> Any:
        # q⁽ʳ⁾ = q_d⁽ʳ⁾ + Σ K_k (q_d⁽ᵏ⁾ − q⁽ᵏ⁾)  [EJNEA (13)]
        return reference[length] + total(K * (d - x) for K, d, x in zip(gains, reference, motion))

    return from_positions(robot, q, v, theta, theta_v, tau_e, tau_e_v, command, wrenches, base)


def from_positions(
    robot: Robot,
    q: Any,
    v: Any,
    theta: Any,
    theta_v: Any,
    tau_e: Any,
    tau_e_v: Any,
    command: Callable[[Sequence[Any]], Any],
    wrenches: Any,
    base: Any,
) -> LinearizingTorque:
    """The linearizing torque from deflections and from the torques that the controller holds."""
    phi, phi_v = theta - q, theta_v - v
    motion, tau = linearized(robot, q, v, torques_on_links(robot, phi, phi_v, tau_e, tau_e_v), command, wrenches, base)
    deflections = [
        [phi[i], phi_v[i], deflection_acceleration(joint, phi[i], phi_v[i], [x[i] for x in tau])]
        for i, joint in enumerate(robot.joints)
    ]
    return LinearizingTorque(driving_torque(robot, motion, tau, deflections), tau[-1])


def torques_on_links(robot: Robot, phi: Any, phi_v: Any, tau_e: Any, tau_e_v: Any) -> list[Any]:
    """[τ_e, τ_e'] as far as the chain needs them: what the deflection gives, else what the controller holds."""
    springs = [spring_torque(joint, phi[i], phi_v[i]) for i, joint in enumerate(robot.joints)]
    return [
        ca.vertcat(*[springs[i][k] if degree > 2 + k else held[i] for i, degree in enumerate(relative_degree(robot))])
        for k, held in enumerate([tau_e, tau_e_v][: chain_length(robot) - 2])
    ]


def held_torques(robot: Robot) -> tuple[list[int], list[int]]:
    """The joints whose torque, and those whose torque rate, the controller holds."""
    degrees, length = relative_degree(robot), chain_length(robot)
    torques, rates = ([i for i, x in enumerate(degrees) if x <= 2 + k < length] for k in range(2))
    return torques, rates


def chain_length(robot: Robot) -> int:
    """How many integrators each joint becomes: 4 with an undamped spring in the robot, 3 with damped ones, else 2."""
    return max(relative_degree(robot), default=2)


def refuse_coupled_motors(caller: str, robot: Robot) -> None:
    refuse_spinning_rotors(caller, robot, "couples the links to each other's motors")


def check_joints(robot: Robot, caller: str, allowed: set[int]) -> None:
    """All joints must answer their motors after the same, allowed number of derivatives."""
    refuse_antagonism(caller, robot, LINEARIZED)
    names = {2: "rigid", 3: "elastic with a damped spring", 4: "elastic without damping"}
    degrees = relative_degree(robot)
    for joint, degree in zip(robot.joints, degrees):
        if degree not in allowed or degree != max(degrees):
            raise InputError(
                f"{caller}: joint '{joint.name}' is {names[degree]}, which this state and command do not fit; "
                "linearizing_control takes every mix of joints"
            )


def checked_tracking(tracking: Any, length: int) -> tuple[Sequence[Any], Sequence[Any]]:
    given = dict(tracking or {})
    for name, needed in (("reference", length + 1), ("gains", length)):
        if len(given.get(name, ())) != needed:
            raise InputError(
                f"linearizing_control: tracking needs {needed} arrays in '{name}' for chains of {length} integrators, "
                f"{len(given.get(name, ()))} were given"
            )
    return given["reference"], given["gains"]
