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
from typing import Any, NamedTuple

from ...algorithm.api import algorithm
from ...robot import Robot
from ...spatial import Inertia, ca, sx, zeros
from ..inverse import refuse_antagonism
from ..links import link_dynamics, wrenches_of_links
from ..recursion.bodies import Body, Rotor, lump_fixed, rigid_motor_inertia, rotors
from ..recursion.composite_bodies import coupling, mass_matrix
from ..recursion.newton_euler import Motion, carrier_torque_jet, joint_torques, newton_euler, spins_of
from .friction import link_friction, motor_friction
from .transmission import spring_torque


class GeneralizedForces(NamedTuple):
    """Torque on each link, motor torque, and force and moment (f, n) that each link receives through its joint."""

    tau_e: Any
    tau: Any
    joint_wrenches: Any


@algorithm("mass_matrix")
def rotor_coupling(robot: Robot, q):
    """S(q): the torque S θ'' on the links, one column a motor, rigidly coupled ones included  [Hoepler (29)]."""
    tree, S = lump_fixed(robot), zeros(robot.n, robot.n)
    for rotor in rotors(robot):
        for i, s in coupling(tree, q, rotor).items():
            S[i, rotor.coordinate] = s
    return S


@algorithm("tau")
def rotor_torque(robot: Robot, q, v, theta_v):
    """C_rotor(q, q', θ'): what the turning of spinning rotors asks of the links  [Hoepler (30)]."""
    still = zeros(robot.n)
    return spin_torque(robot, rotors(robot), [q, v, still], [still, theta_v, still])[1]


@algorithm("tau")
def carrier_torque(robot: Robot, q, v):
    """C_carrier(q, q'): what it takes to turn the rotors along with their carriers, when q'' = 0  [Hoepler (33)]."""
    motions, _ = newton_euler(massless(robot), [q, v, zeros(robot.n)], zeros(3), 0)
    return at_motors(robot, motions)


@algorithm("all_inertias")
def coupled_mass_matrix(robot: Robot, q):
    """[[M, S], [Sᵀ, B]] over the links and the motors behind springs, in this order  [Hua (30), (31)].

    The M of rigid joints contains their motors, as in `mass_matrix`.
    """
    M = mass_matrix.function(robot, q)
    springs = [i for i, elastic in enumerate(robot.elastic) if elastic]
    if not springs:
        return M
    S = rotor_coupling.function(robot, q)[:, springs]
    B = ca.diag(motor_inertias(robot)[springs])
    return ca.vertcat(ca.horzcat(M, S), ca.horzcat(S.T, B))


@algorithm(GeneralizedForces)
def generalized_forces(robot: Robot, q, theta, v, theta_v, a, theta_a, *, wrenches=None, base=None):
    """Forces that a motion of links and motors asks for, of rigid and elastic joints in any mix  [Hua Algorithm 1].

    `tau_e` is what the links need from their springs, at a rigid joint from the motor; `tau` what the motors need
    against the springs as they are deflected.  The two are independent: a motion is possible without further forces
    where `tau_e` is the springs' torque.  At a rigid joint `theta` and its derivatives are ignored.  `wrenches` and
    `base` as in `torque_derivatives`.
    """
    motors = [elastic_or(robot, x, y) for x, y in ((theta, q), (theta_v, v), (theta_a, a))]
    spins = spins_of([rotor for rotor in rotors(robot) if rotor.elastic], motors)
    motions, links = link_dynamics(robot, [q, v, a], sx(robot.gravity), 0, wrenches, base, spins)
    tau_e = links[0] + link_friction(robot, [v], 0)[0] + rigid_motor_inertia(robot) * a
    phi, phi_v = theta - q, theta_v - v
    springs = ca.vertcat(*[spring_torque(joint, phi[i], phi_v[i])[0] for i, joint in enumerate(robot.joints)])
    # Sᵀq'' + B θ'' + C_carrier + friction + τ_e = τ  [Hua (29), (30)]
    tau = springs + motor_inertias(robot) * theta_a + at_motors(robot, motions) + motor_friction(robot, theta_v)
    found = wrenches_of_links(robot, [q, v, a], motors, wrenches, base)
    return GeneralizedForces(tau_e, elastic_or(robot, tau, tau_e), found)


def spin_torque(
    robot: Robot, turning: Sequence[Rotor], q: Sequence[Any], theta: Sequence[Any]
) -> tuple[list[Motion], Any]:
    """Motions of the bodies, and S θ'' + C_rotor of these rotors: what their spins ask of the links.

    Without loops over links: some laws differentiate it.
    """
    tree = massless(robot)
    motions, loads = newton_euler(tree, q, zeros(3), 0, spins=spins_of(turning, theta), loop_from=sys.maxsize)
    return motions, joint_torques(tree, loads, 0)[0]


def massless(robot: Robot) -> list[Body]:
    nothing = Inertia(sx(0.0), zeros(3), zeros(3, 3))
    return [body._replace(inertia=nothing) for body in lump_fixed(robot)]


def motor_inertias(robot: Robot) -> Any:
    """B of all motors, rigidly coupled ones included."""
    refuse_antagonism("the coupling of motors and links", robot, "variable_stiffness_forward_dynamics")
    return sx([joint.drive.motors[0].inertia if joint.drive else 0.0 for joint in robot.joints])


def at_motors(robot: Robot, motions: Sequence[Motion]) -> Any:
    """η I_axial aᵀω' of each rotor's carrier."""
    torque = zeros(robot.n)
    for rotor in rotors(robot):
        torque[rotor.coordinate] = carrier_torque_jet(rotor, motions, 0)[0]
    return torque


def elastic_or(robot: Robot, behind: Any, at: Any) -> Any:
    """Of each joint the motor's entry if it is elastic, else the link's."""
    return ca.vertcat(*[(behind if elastic else at)[i] for i, elastic in enumerate(robot.elastic)])
