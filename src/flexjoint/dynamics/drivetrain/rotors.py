"""Rotors and the links that carry them: inertial couplings, gyroscopic torques, forces of a mixed robot.

Sources: [Hoepler sec. V-A] for the operators, [Hua sec. II] for rigid and elastic joints in any mix and motors on any
link.  With θ after the reduction and all motors elastic

    M q'' + S θ'' + c + C_rotor + g = τ_e,    Sᵀq'' + B θ'' + C_carrier + τ_e = τ,

S = [η_j I_axial,j J_ω(c_j)ᵀ a_j] for rotor j about the axis a_j on link c_j; of a rigid joint θ is q, which adds its
two equations.  Differences: 001 has θ before the reduction (its S, I and τ are ours divided by η, η² and η), its rotor
of joint i sits on link i − 1, ours on any; 003 prints the wrench on the tip and the momenta in (21) with the wrong
signs, and exchanges (8) and (9) in its Algorithm 1.  In Spong's model S, C_rotor and C_carrier are zero.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import NamedTuple

from ...algorithm.algorithm import algorithm
from ...algorithm.signals import ON_LINKS
from ...robot import Robot
from ...spatial import Inertia, ca, sx, zeros
from ...types import Expression, FloatArray, Stack
from ..links import link_dynamics, wrenches_of_links
from ..loads import Base, Wrenches
from ..recursion.bodies import Body, Rotor, lump_fixed, rigid_motor_torque, rotors
from ..recursion.composite_bodies import coupling
from ..recursion.newton_euler import Motion, carrier_torque_jet, joint_torques, newton_euler, spins_of
from ..requirements import memoryless_gears
from .coupling import at_springs, undeflected
from .friction import motor_friction
from .load_friction import supplied_torque
from .passive import passive_torque
from .transmission import motors, of_motors, transmitted


class GeneralizedForces(NamedTuple):
    """Torque of each joint (..., n), motor torque (..., motors), and force and moment (f, n) that each link receives
    through its joint (..., links, 6)."""

    tau_e: Expression | FloatArray
    tau: Expression | FloatArray
    joint_wrenches: Expression | FloatArray


@algorithm("rotor_coupling")
def rotor_coupling(robot: Robot, q: Expression) -> Expression:
    """S(q) (..., n, motors): the torque S θ'' on the links, one column per motor  [Hoepler (29)].

    Columns of rigidly coupled motors are included.  In Spong's model S is zero.  Motors of followers belong to the
    links.

    Args:
        q: Position of the links, (..., n).
    """
    tree, S = lump_fixed(robot), zeros(robot.n, robot.motor_count)
    for rotor in rotors(robot):
        if not rotor.follows:
            for i, s in coupling(tree, q, rotor).items():
                S[i, rotor.coordinate] = s
    return S


@algorithm("tau", signals=ON_LINKS)
def rotor_torque(robot: Robot, q: Expression, v: Expression, theta_v: Expression) -> Expression:
    """C_rotor(q, q', θ') (..., n): gyroscopic torque of spinning rotors on the links  [Hoepler (30)].

    Args:
        q, v: Position and velocity of the links, (..., n).
        theta_v: Velocity of the motors, (..., motors).
    """
    still, unmoved = zeros(robot.n), zeros(robot.motor_count)
    own = [rotor for rotor in rotors(robot) if not rotor.follows]
    return spin_torque(robot, own, [q, v, still], [unmoved, theta_v, unmoved])[1]


@algorithm("tau")
def carrier_torque(robot: Robot, q: Expression, v: Expression) -> Expression:
    """C_carrier(q, q') (..., motors): torque that turns the rotors with their carriers at q'' = 0  [Hoepler (33)].

    Args:
        q, v: Position and velocity of the links, (..., n).
    """
    motions, _ = newton_euler(massless(robot), [q, v, zeros(robot.n)], zeros(3), 0)
    return at_motors(robot, motions)


@algorithm(GeneralizedForces, requires=(memoryless_gears,))
def generalized_forces(
    robot: Robot,
    q: Expression,
    v: Expression,
    theta: Expression,
    theta_v: Expression,
    a: Expression,
    theta_a: Expression,
    *,
    wrenches: Wrenches = None,
    base: Base = None,
) -> GeneralizedForces:
    """Forces that a motion of links and motors needs, for any mix of joints  [Hua Algorithm 1].

    `tau_e` is the torque that the links need from their springs, at a rigid joint the motor torque; `tau` is the motor
    torque against the springs at their deflections.  The two are independent: the motion needs no further forces if
    `tau_e` equals the torque of the springs.

    Args:
        q, v, a: Position, velocity and acceleration of the links, (..., n).
        theta, theta_v, theta_a: The same of the motors, (..., motors); ignored at rigid joints, where θ = q, or T q.
        wrenches, base: As in `torque_derivatives`.

    Returns:
        GeneralizedForces(tau_e, tau, joint_wrenches).

    Raises:
        InputError: A gear has hysteresis.
    """
    moved = [of_motors(robot, x, undeflected(robot, y)) for x, y in ((theta, q), (theta_v, v), (theta_a, a))]
    spins = spins_of([rotor for rotor in rotors(robot) if rotor.elastic], moved)
    motions, links = link_dynamics(robot, [q, v, a], sx(robot.gravity), 0, wrenches, base, spins)
    needed = links[0] + passive_torque(robot, [q, v], 0)[0] + rigid_motor_torque(robot, a)
    tau_e = at_springs(robot, supplied_torque(robot, [v], [needed])[0])
    springs = ca.vertcat(*transmitted(robot, q, v, theta, theta_v)[0])
    # Sᵀq'' + B θ'' + C_carrier + friction + τ_e = τ  [Hua (29), (30)]
    rubbing = motor_friction(robot, theta_v, springs)
    tau = springs + motor_inertias(robot) * theta_a + at_motors(robot, motions) + rubbing
    found = wrenches_of_links(robot, [q, v, a], moved, wrenches, base)
    return GeneralizedForces(tau_e, of_motors(robot, tau, tau_e), found)


def spin_torque(robot: Robot, turning: Sequence[Rotor], q: Stack, theta: Stack) -> tuple[list[Motion], Expression]:
    """Motions of the bodies, and S θ'' + C_rotor of these rotors: the torque of their spins on the links.

    Without loops over links: some laws differentiate it.
    """
    tree = massless(robot)
    motions, loads = newton_euler(tree, q, zeros(3), 0, spins=spins_of(turning, theta), loop_from=sys.maxsize)
    return motions, joint_torques(tree, loads, 0)[0]


def massless(robot: Robot) -> list[Body]:
    """The bodies without their inertia."""
    nothing = Inertia(sx(0.0), zeros(3), zeros(3, 3))
    return [body._replace(inertia=nothing) for body in lump_fixed(robot)]


def motor_inertias(robot: Robot) -> Expression:
    """B of all motors (motors,), rigidly coupled ones included."""
    return sx([motor.inertia for motor in motors(robot)])


def at_motors(robot: Robot, motions: Sequence[Motion]) -> Expression:
    """η I_axial aᵀω' of the carrier of each rotor, (motors,)."""
    torque = zeros(robot.motor_count)
    for rotor in rotors(robot):
        if not rotor.follows:
            torque[rotor.coordinate] = carrier_torque_jet(rotor, motions, 0)[0]
    return torque
