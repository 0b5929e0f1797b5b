"""Torques that the links of a robot need from their joints, with time derivatives of any order.

    τ = M(q) q'' + c(q, q') + g(q) + friction − law(q₀ − q) − Jᵀw

by the Newton-Euler recursion (`recursion/newton_euler.py`), with rigidly coupled motors and a moving base; friction and
the parallel springs law(q₀ − q) are in `drivetrain/passive.py`, friction that depends on τ in
`drivetrain/load_friction.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..algorithm.algorithm import algorithm
from ..algorithm.form import Call
from ..algorithm.signals import ON_LINKS
from ..robot import Robot
from ..spatial import ca, sx, zeros
from ..types import Expression, Jet, Stack, Vector
from .drivetrain.coupling import on_links, undeflected
from .drivetrain.load_friction import supplied_torque
from .drivetrain.passive import parallel_torque, passive_torque
from .loads import Base, Wrenches, checked_base, checked_wrenches
from .recursion import packed_jets
from .recursion.bodies import (
    Rotor,
    bodies,
    follower_inertia,
    frames,
    has_tree_structure,
    link_frames,
    moving_bodies,
    rigid_motor_torque,
    rotors,
    tied_rotors,
)
from .recursion.newton_euler import Motion, carrier_torque_jet, joint_torques, newton_euler, spins_of
from .requirements import spong_rotors


def enough_for_order(call: Call) -> str | None:
    """q and its first order + 2 derivatives."""
    order = call.options.get("order", 0)
    if order < 0:
        return f"order is {order}, it must be 0 or more"
    if call.arrays < order + 3:
        return f"order {order} needs q and its first {order + 2} derivatives, {call.arrays - 1} derivatives were given"
    return None


@algorithm(
    "tau",
    arrays=lambda robot, order=0, **_: order + 3,
    packs=True,
    requires=(spong_rotors("adds its own spin to the links: see inverse_dynamics"), enough_for_order),
    signals=ON_LINKS,
)
def torque_derivatives(
    robot: Robot,
    q: Expression,
    v: Expression,
    a: Expression,
    *higher: Expression,
    order: int = 0,
    wrenches: Wrenches = None,
    base: Base = None,
) -> Jet:
    """Joint torques on the link side and their time derivatives, [τ, τ', ... τ⁽ᵒʳᵈᵉʳ⁾].

    The torque is what the transmission delivers to the links: the torque of the spring of an elastic joint; with a
    rigid drive it carries the inertia and friction of the motor too.

    Args:
        q, v, a: Position, velocity and acceleration of the joints, (..., n), rad or m, per second, per second squared.
        higher: The derivatives of q behind a, each (..., n), up to derivative order + 2.
        order: Highest derivative of the torque, 0 by default.
        wrenches: {link: [w, w', ...]}, wrenches (f, n) (..., 6) on the robot at the origin of the link's frame, in base
            coordinates, N and Nm, with absolute derivatives up to `order`; none by default.
        base: A BaseMotion; at rest by default.

    Returns:
        Torques (order + 1, ..., n), Nm or N.

    Raises:
        InputError: If derivatives are missing, or for elastic joints in the complete model of rotors.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> fj.torque_derivatives(fj.load("kuka_lwr"), *np.zeros((5, 7)), order=2).shape
        (3, 7)
    """
    motion = [q, v, a, *higher]
    passive = passive_torque(robot, motion, order)
    tau = link_torques(robot, motion, sx(robot.gravity), order, wrenches, base)
    needed = [tau[k] + passive[k] + rigid_motor_torque(robot, motion[k + 2]) for k in range(order + 1)]
    return supplied_torque(robot, motion[1:], needed)


@algorithm("joint_wrenches", requires=(spong_rotors("has a motion of its own, which generalized_forces takes"),))
def joint_wrenches(
    robot: Robot, q: Expression, v: Expression, a: Expression, *, wrenches: Wrenches = None, base: Base = None
) -> Expression:
    """Force and moment (f, n) that each link receives through its joint, at its frame and in its coordinates.

    Args:
        q, v, a: Position, velocity and acceleration of the joints, (..., n).
        wrenches, base: As in `torque_derivatives`.

    Returns:
        One row per link, fixed ones included, (..., links, 6), N and Nm; that of a link on the base is the reaction of
        the base.  Drive, friction and parallel spring act within the joint: the row is the sum of all its parts.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> fj.joint_wrenches(fj.load("kuka_lwr"), *np.zeros((3, 7))).shape
        (8, 6)
    """
    return wrenches_of_links(robot, [q, v, a], [undeflected(robot, x) for x in (q, v, a)], wrenches, base)


@algorithm("tau", requires=(spong_rotors("adds its own spin to the links: see inverse_dynamics"),), signals=ON_LINKS)
def bias_torque(
    robot: Robot, q: Expression, v: Expression, *, wrenches: Wrenches = None, base: Base = None
) -> Expression:
    """n(q, v) = c + g + friction − parallel springs − Jᵀw (..., n): the torque at zero acceleration  [EJNEA (1)].

    Load-dependent friction is evaluated at this torque, so τ = M q'' + n does not hold at joints that have it.

    Args:
        q, v: Position and velocity of the joints, (..., n).
        wrenches, base: As in `torque_derivatives`.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> fj.bias_torque(fj.load("kuka_lwr"), *np.ones((2, 7))).shape
        (7,)
    """
    return torque_derivatives.function(robot, q, v, zeros(robot.n), wrenches=wrenches, base=base)[0]


@algorithm("tau", signals=ON_LINKS)
def coriolis_torque(robot: Robot, q: Expression, v: Expression) -> Expression:
    """c(q, v) (..., n), the centrifugal and Coriolis torque, Nm or N.

    Args:
        q, v: Position and velocity of the joints, (..., n).

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> bool(fj.coriolis_torque(fj.load("kuka_lwr"), np.ones(7), np.zeros(7)).any())
        False
    """
    return link_torques(robot, [q, v, zeros(robot.n)], zeros(3), 0)[0]


@algorithm("tau", signals=ON_LINKS)
def gravity_torque(robot: Robot, q: Expression) -> Expression:
    """g(q) (..., n), the torque that holds the robot against gravity, Nm or N; parallel springs are in `static_torque`.

    Args:
        q: Position of the joints, (..., n).

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> fj.gravity_torque(fj.load("kuka_lwr"), np.zeros(7)).shape
        (7,)
    """
    return link_torques(robot, [q, zeros(robot.n), zeros(robot.n)], sx(robot.gravity), 0)[0]


@algorithm("tau", signals=ON_LINKS)
def static_torque(robot: Robot, q: Expression) -> Expression:
    """g(q) − law(q₀ − q) (..., n): the torque that holds the robot at rest against gravity and parallel springs.

    Without parallel springs it is `gravity_torque`.

    Args:
        q: Position of the joints, (..., n).

    Returns:
        (..., n), Nm or N.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> robot = fj.load("kuka_lwr")
        >>> bool(np.all(fj.dynamics.static_torque(robot, np.ones(7)) == fj.gravity_torque(robot, np.ones(7))))
        True
    """
    g = gravity_torque.function(robot, q)
    return g - parallel_torque(robot, [q], 0)[0] if robot.parallel_springs else g


# The recursion for a robot -----------------------------------------------------------------------------------------


def link_torques(
    robot: Robot,
    q: Stack,
    gravity: Vector,
    order: int,
    wrenches: Wrenches = None,
    base: Base = None,
    known: Stack = (),
) -> Jet:
    """Torque that the links, and the spin of rotors rigidly coupled to them, need from the joints: a jet."""
    plain = not wrenches and not known and base is None and not tied_rotors(robot)
    if plain and packed_jets.may_be_packed(len(robot.moving_joints), order):
        tree = moving_bodies(robot)
        return joint_torques(tree, packed_jets.packed_newton_euler(tree, q, gravity), order, packed_jets.orders)
    return link_dynamics(robot, q, gravity, order, wrenches, base, known=known)[1]


def link_dynamics(
    robot: Robot,
    q: Stack,
    gravity: Vector,
    order: int,
    wrenches: Wrenches = None,
    base: Base = None,
    spins: Sequence[tuple[Rotor, Jet]] = (),
    known: Stack = (),
    frozen: bool = True,
) -> tuple[list[Motion], Jet]:
    """The motions of the bodies, and jet of the torques.

    `spins` are those of rotors behind springs; without `frozen` these keep out of the links with their axial inertia.
    """
    tree = moving_bodies(robot, frozen)
    tied = tied_rotors(robot)
    place = frames(robot)
    at = [(place[link], stack) for link, stack in checked_wrenches(robot, wrenches, order)]
    spins = [*tied_spins(robot, q), *spins]
    motions, loads = newton_euler(tree, q, gravity, order, checked_base(base, order), at, spins, known)
    tau = joint_torques(tree, loads, order)
    if not tied:
        return motions, tau
    carried = [zeros(robot.n) for _ in range(order + 1)]
    for rotor in tied:
        for found, x in zip(tau if rotor.follows else carried, carrier_torque_jet(rotor, motions, order)):
            found[rotor.coordinate] += x
    return motions, [x + on_links(robot, y) for x, y in zip(tau, carried)]


def tied_spins(robot: Robot, q: Stack) -> list[tuple[Rotor, Jet]]:
    """The rotors that turn rigidly with the links, with the jets of their momenta: at T q', of followers at k q'."""
    tied, turned = tied_rotors(robot), [undeflected(robot, x) for x in q]
    followers = [rotor for rotor in tied if rotor.follows]
    return [*spins_of([x for x in tied if not x.follows], turned), *spins_of(followers, q)]


def follower_motors(robot: Robot, q: Stack, motions: Sequence[Motion], order: int) -> Jet:
    """Jet of what the motors of followers need from the transmissions of their leaders: k²B y'' + η k I_axial aᵀω'.

    In Spong's model k²B y'' alone, without `motions`.
    """
    B = follower_inertia(robot)
    tau = [B * q[k + 2] for k in range(order + 1)]
    for rotor in rotors(robot):
        if rotor.follows:
            for found, x in zip(tau, carrier_torque_jet(rotor, motions, order)):
                found[rotor.coordinate] += x
    return tau


def next_torque(robot: Robot, q: Stack, known: Stack, wrenches: Wrenches = None, base: Base = None) -> Expression:
    """τ⁽ᵏ⁾ of `torque_derivatives` where `known` = [τ, ... τ⁽ᵏ⁻¹⁾] belong to the motion [q, ... q⁽ᵏ⁺²⁾] already.

    All are without load-dependent friction (`remaining_torque`).  The components of the known ones along the joints
    need no computing: 4 % of the feedback linearization of the 7R.
    """
    k = len(known)
    passive = passive_torque(robot, q, k)
    joints = [passive[l] + rigid_motor_torque(robot, q[l + 2]) for l in range(k + 1)]
    links = [tau - x for tau, x in zip(known, joints)] if has_tree_structure(robot) else []
    return link_torques(robot, q, sx(robot.gravity), k, wrenches, base, links)[k] + joints[k]


def wrenches_of_links(robot: Robot, q: Stack, theta: Stack, wrenches: Wrenches, base: Base) -> Expression:
    """Force and moment that each link receives through its joint, one row (f, n) per link."""
    place = link_frames(robot)
    at = [(place[link], stack) for link, stack in checked_wrenches(robot, wrenches, 0)]
    turning = rotors(robot, place)
    tree, spins = bodies(robot), spins_of(turning, theta)
    _, loads = newton_euler(tree, q, sx(robot.gravity), 0, checked_base(base, 0), at, spins)
    turned = [[x[0] if frame.R.is_eye() else frame.R.T @ x[0] for x in load] for frame, load in zip(place, loads)]
    return ca.vertcat(*[ca.horzcat(F.T, N.T) for F, N in turned])
