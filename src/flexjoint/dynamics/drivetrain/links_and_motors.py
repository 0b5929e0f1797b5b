"""Momentum and Coriolis forces over links and motors: the complete model in the coordinates (q, θ).

[DeLuca (2)-(4), (7)] over the inertias [[M, S], [Sᵀ, B]] of [Hoepler] and [Hua].  The kinetic energy does not depend on
θ: of Cᵀ(q', θ') = ∂T/∂(q, θ) the motors' part is zero.  Arrays of motors have one entry a joint, as in
`generalized_forces`; those of rigid joints, whose motors belong to their links, are ignored, and zero in results.
Matrices have the links first, then the motors behind springs, as in `coupled_mass_matrix`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...algorithm.api import algorithm
from ...robot import Robot
from ...spatial import TimeDerivatives, zeros
from ..recursion.bodies import moving_bodies, rigid_motor_inertia, rotors
from ..recursion.coriolis import TwoSpeeds, energy_gradient, two_velocity_forces
from ..recursion.coriolis_columns import whole_matrix
from ..recursion.energy import spins, subtree_momenta, turned_along
from ..recursion.kinematics import along_joints, velocities
from .rotors import coupled_mass_matrix, elastic_or, motor_inertias


class CoupledMomentum(NamedTuple):
    """M q' + S θ' and Sᵀq' + B θ'."""

    links: Any
    motors: Any


class CoupledTorques(NamedTuple):
    """On the links, and on the motors behind springs."""

    tau_e: Any
    tau: Any


@algorithm(CoupledMomentum)
def coupled_momentum(robot: Robot, q, v, theta_v):
    """Generalized momenta of links and motors, in one velocity and one momentum sweep."""
    tree = moving_bodies(robot)
    motions = velocities(tree, q, v)
    links = along_joints(tree, subtree_momenta(tree, q, motions, spins(robot, v, theta_v)))
    carried = zeros(robot.n)
    for rotor in rotors(robot):
        carried[rotor.coordinate] = turned_along(rotor, motions)
    still = zeros(robot.n)
    links += rigid_motor_inertia(robot) * v + elastic_or(robot, still, carried)
    return CoupledMomentum(links, elastic_or(robot, motor_inertias(robot) * theta_v + carried, still))


@algorithm(CoupledTorques)
def coupled_coriolis_product(robot: Robot, q, v, theta_v, v_a, theta_v_a, *, variant="christoffel"):
    """C(q, q', θ') (q_a', θ_a') in one sweep; `variant` as in `modified_newton_euler`."""
    still = zeros(robot.n)
    links, motors = TwoSpeeds(v, v_a, still), TwoSpeeds(theta_v, theta_v_a, still)
    return CoupledTorques(*two_velocity_forces(robot, q, links, zeros(3), variant, motors))


@algorithm("tau")
def coupled_transpose_product(robot: Robot, q, v, theta_v):
    """∂T/∂q = Cᵀ(q', θ') on the links, in one velocity and one momentum sweep; on the motors it is zero."""
    return energy_gradient(robot, q, v, spins(robot, v, theta_v))


@algorithm("coupled_rates")
def coupled_coriolis_matrix(robot: Robot, q, v, theta_v, *, variant="christoffel"):
    """C(q, q', θ') over links and motors: C (q', θ') = c, and C + Cᵀ the rate of `coupled_mass_matrix`."""
    behind = [i for i, elastic in enumerate(robot.elastic) if elastic]
    row = {**{i: i for i in range(robot.n)}, **{i: robot.n + k for k, i in enumerate(behind)}}
    spinning = spins(robot, v, theta_v)
    rows = [row[spin.rotor.coordinate] for spin in spinning]
    return whole_matrix(robot, q, v, spinning, rows, variant, robot.n + len(behind))


@algorithm("coupled_rates")
def coupled_mass_matrix_rate(robot: Robot, q, v):
    """d/dt [[M, S], [Sᵀ, B]] along a motion of the links."""
    return TimeDerivatives(lambda x: coupled_mass_matrix.function(robot, x[0]), 1, (2, robot.n))(1, [q, v])
