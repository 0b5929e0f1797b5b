"""What links ask of their joints: torques with derivatives of any order, wrenches, and the parts of the torque.

The recursion is that of `newton_euler.py`; here it meets a robot, with friction, rigidly coupled motors, wrenches and a
moving base.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..algorithm.api import algorithm
from ..errors import InputError
from ..robot import Robot
from ..spatial import ca, sx, zeros
from ..types import Jet, Vector
from .drivetrain.friction import link_friction
from .recursion import packed_jets
from .recursion.bodies import (
    Rotor,
    bodies,
    frames,
    moving_bodies,
    own_frame,
    refuse_spinning_rotors,
    rigid_motor_inertia,
    rotors,
    tied_rotors,
)
from .recursion.newton_euler import Motion, carrier_torque_jet, joint_torques, newton_euler, spins_of


class BaseMotion(NamedTuple):
    """Motion of the base: [ω₀, ω₀', ...] and [a₀, a₀', ...], components along the base axes of this instant,
    absolute time derivatives.  Gravity is the robot's, along the same axes."""

    angular_velocity: Sequence[Any]
    acceleration: Sequence[Any]


@algorithm("tau", arrays=lambda robot, order=0, **_: order + 3, packs=True)
def torque_derivatives(robot: Robot, q, v, a, *higher, order=0, wrenches=None, base=None):
    """Joint torques on the link side and their time derivatives, [τ, τ', ... τ⁽ᵒʳᵈᵉʳ⁾].

    Needs [q, v, a, q''', ...] up to derivative order + 2.  The torque is what the transmission delivers to the
    links: the elastic torque of an elastic joint; with a rigid drive it carries the motor's inertia and friction too.
    `wrenches` maps link names to stacks [w, w', ...] of (f, n) acting on the robot at the origin of the link's
    frame, in base coordinates, with absolute derivatives; `base` is a BaseMotion.
    """
    refuse_spinning_rotors("torque_derivatives", robot, "adds its own spin to the links: see inverse_dynamics")
    if order < 0:
        raise InputError(f"torque_derivatives: order is {order}, it must be 0 or more")
    q = [q, v, a, *higher]
    if len(q) < order + 3:
        raise InputError(
            f"torque_derivatives of order {order} needs q and its first {order + 2} derivatives, "
            f"{len(q) - 1} derivatives were given"
        )
    B, friction = rigid_motor_inertia(robot), link_friction(robot, q[1:], order)
    tau = link_torques(robot, q, sx(robot.gravity), order, wrenches, base)
    return [tau[k] + friction[k] + B * q[k + 2] for k in range(order + 1)]


@algorithm("joint_wrenches")
def joint_wrenches(robot: Robot, q, v, a, *, wrenches=None, base=None):
    """Force and moment (f, n) that each link receives through its joint, at its frame and in its coordinates.

    One row a link, fixed ones included; the row of a link on the base is the base's reaction.
    """
    refuse_spinning_rotors("joint_wrenches", robot, "has a motion of its own, which generalized_forces takes")
    return wrenches_of_links(robot, [q, v, a], [q, v, a], wrenches, base)


@algorithm("tau")
def bias_torque(robot: Robot, q, v, *, wrenches=None, base=None):
    """n(q, v) = c + g + friction − Jᵀw: the torque that leaves the joints unaccelerated  [EJNEA (1)]."""
    return torque_derivatives.function(robot, q, v, zeros(robot.n), wrenches=wrenches, base=base)[0]


@algorithm("tau")
def coriolis_torque(robot: Robot, q, v):
    """c(q, v), the centrifugal and Coriolis torque."""
    return link_torques(robot, [q, v, zeros(robot.n)], zeros(3), 0)[0]


@algorithm("tau")
def gravity_torque(robot: Robot, q):
    """g(q), the torque that holds the robot against gravity."""
    return link_torques(robot, [q, zeros(robot.n), zeros(robot.n)], sx(robot.gravity), 0)[0]


# Of a robot ----------------------------------------------------------------------------------------------------------


def link_torques(
    robot: Robot,
    q: Sequence[Any],
    gravity: Vector,
    order: int,
    wrenches: Mapping[str, Sequence[Any]] | None = None,
    base: Mapping[str, Sequence[Any]] | None = None,
    known: Sequence[Any] = (),
) -> Jet:
    """Jet of what the links, and the spin of rotors rigidly coupled to them, ask of the joints."""
    plain = not wrenches and not known and base is None and not tied_rotors(robot)
    if plain and packed_jets.may_be_packed(robot.n, order):
        tree = moving_bodies(robot)
        return joint_torques(tree, packed_jets.packed_newton_euler(tree, q, gravity), order, packed_jets.orders)
    return link_dynamics(robot, q, gravity, order, wrenches, base, known=known)[1]


def link_dynamics(
    robot: Robot,
    q: Sequence[Any],
    gravity: Vector,
    order: int,
    wrenches: Mapping[str, Sequence[Any]] | None = None,
    base: Mapping[str, Sequence[Any]] | None = None,
    spins: Sequence[tuple[Rotor, Jet]] = (),
    known: Sequence[Any] = (),
    frozen: bool = True,
) -> tuple[list[Motion], Jet]:
    """The motions of the bodies, and jet of the torques.

    `spins` are those of rotors behind springs; without `frozen` these keep out of the links with their axial inertia.
    """
    tree = moving_bodies(robot, frozen)
    tied = tied_rotors(robot)
    place = frames(robot)
    at = [(place[link], stack) for link, stack in checked_wrenches(robot, wrenches, order)]
    spins = [*spins_of(tied, q), *spins]
    motions, loads = newton_euler(tree, q, gravity, order, checked_base(base, order), at, spins, known)
    tau = joint_torques(tree, loads, order)
    for rotor in tied:
        coupling = carrier_torque_jet(rotor, motions, order)
        for k in range(order + 1):
            tau[k][rotor.coordinate] += coupling[k]
    return motions, tau


def next_torque(robot: Robot, q: Sequence[Any], known: Sequence[Any], wrenches: Any = None, base: Any = None) -> Any:
    """τ⁽ᵏ⁾ of `torque_derivatives` where `known` = [τ, ... τ⁽ᵏ⁻¹⁾] belong to the motion [q, ... q⁽ᵏ⁺²⁾] already.

    Their components along the joints need no computing: 4 % of the feedback linearization of the 7R.
    """
    k = len(known)
    B, friction = rigid_motor_inertia(robot), link_friction(robot, q[1:], k)
    joints = [friction[l] + B * q[l + 2] for l in range(k + 1)]
    links = [tau - x for tau, x in zip(known, joints)] if not tied_rotors(robot) else []
    return link_torques(robot, q, sx(robot.gravity), k, wrenches, base, links)[k] + joints[k]


def wrenches_of_links(robot: Robot, q: Sequence[Any], theta: Sequence[Any], wrenches: Any, base: Any) -> Any:
    """What each link receives through its joint, one row (f, n) a link."""
    at = [(own_frame(link), stack) for link, stack in checked_wrenches(robot, wrenches, 0)]
    turning = rotors(robot, [own_frame(i) for i in range(len(robot.links))])
    tree, spins = bodies(robot), spins_of(turning, theta)
    _, loads = newton_euler(tree, q, sx(robot.gravity), 0, checked_base(base, 0), at, spins)
    return ca.vertcat(*[ca.horzcat(F[0].T, N[0].T) for F, N in loads])


def checked_wrenches(robot: Robot, wrenches: Mapping | None, order: int) -> list[tuple[int, Sequence[Any]]]:
    """(link, stack) for each wrench, its stack long enough."""
    for name, stack in (wrenches or {}).items():
        if len(stack) < order + 1:
            raise InputError(
                f"the wrench on '{name}' needs its first {order} derivatives for torque derivatives of order {order}, "
                f"{len(stack) - 1} were given; they are zero only if it is constant in the base frame"
            )
    return [(robot.link_index(name), stack) for name, stack in (wrenches or {}).items()]


def checked_base(base: Any, order: int) -> Mapping[str, Sequence[Any]] | None:
    if base is None:
        return None
    stacks = base._asdict() if hasattr(base, "_asdict") else base
    if unknown := set(stacks) - set(BaseMotion._fields):
        raise InputError(f"base has no {', '.join(sorted(unknown))}; it knows {', '.join(BaseMotion._fields)}")
    for name, needed in (("angular_velocity", order + 2), ("acceleration", order + 1)):
        if len(stacks.get(name, ())) < needed:
            raise InputError(f"base.{name} needs {needed} entries for order {order}, {len(stacks.get(name, ()))} given")
    return stacks
