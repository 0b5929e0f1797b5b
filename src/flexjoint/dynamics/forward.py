"""Forward dynamics of robots with rigid and elastic joints in any mix: the 2N coordinates (q, θ)  [EJNEA (4)].

In Spong's model links and motors meet in the torques of the springs alone, so the links' accelerations are those of a
rigid robot whose elastic joints are driven by their springs, and each motor's is a division.

In the complete model  [Hua (31)-(36)], M q'' + S θ'' + ... and Sᵀq'' + B θ'' + ..., eliminating θ'' leaves M − S B⁻¹Sᵀ,
which is the mass matrix of links that do not turn their rotors about the axes: a rotor's absolute momentum along its
axis, Λ = I_axial (aᵀω + η θ'), changes by the motor's doing alone,

    η Λ' = τ − τ_e − friction,

and the links carry it as a moment Λ'a + ω × Λa.  So neither S nor a matrix of links and motors is ever built, and the
paper's N + N_e recursions and its inverse become one of either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..algorithm.api import algorithm
from ..drives import ElasticDrive
from ..robot import Robot
from ..spatial import ca, sx, zeros
from ..types import Jet
from .drivetrain.friction import motor_friction
from .drivetrain.transmission import spring_torque
from .inverse import refuse_antagonism
from .links import checked_base
from .recursion.articulated_body import joint_accelerations
from .recursion.bodies import Rotor, moving_bodies, rotors
from .recursion.joint_jets import joint_motion
from .recursion.newton_euler import Motion, base_motion, forward_recursion


class Accelerations(NamedTuple):
    """q'' of the links and θ'' of the motors."""

    a: Any
    theta_a: Any


@algorithm(Accelerations)
def elastic_forward_dynamics(robot: Robot, q, theta, v, theta_v, tau, *, wrenches=None, base=None):
    """Accelerations of links and motors from their positions, velocities and the motor torques.

    At a rigid joint `theta` and `theta_v` are ignored and θ'' = q''.  `wrenches` and `base` as in `torque_derivatives`.
    """
    return accelerations(robot, q, theta, v, theta_v, tau, wrenches, base)


def accelerations(
    robot: Robot, q: Any, theta: Any, v: Any, theta_v: Any, tau: Any, wrenches: Any, base: Any, push: Any = None
) -> Accelerations:
    """The same, with a further torque on the links if there is one."""
    refuse_antagonism("elastic_forward_dynamics", robot, "variable_stiffness_forward_dynamics")
    phi, phi_v, friction = theta - q, theta_v - v, motor_friction(robot, theta_v)
    springs = [spring_torque(joint, phi[i], phi_v[i])[0] for i, joint in enumerate(robot.joints)]
    driving = ca.vertcat(*[springs[i] if elastic else tau[i] for i, elastic in enumerate(robot.elastic)])
    driving = driving if push is None else driving + push
    left = [tau[i] - springs[i] - friction[i] for i in range(robot.n)]
    spinning = [rotor for rotor in rotors(robot) if rotor.elastic]
    motions = carrier_motions(robot, [q, v, zeros(robot.n)], base)
    spins = [(rotor, absolute_momentum(rotor, motions, theta_v, left)) for rotor in spinning]
    a = joint_accelerations(robot, q, v, driving, wrenches, base, spins)
    # B θ'' = τ − τ_e − friction  [EJNEA (4b)], less B/η aᵀω' where rotors are carried  [Hua (8), (29)]
    theta_a = [
        left[i] / joint.drive.motor.inertia if isinstance(joint.drive, ElasticDrive) else a[i]
        for i, joint in enumerate(robot.joints)
    ]
    motions = carrier_motions(robot, [q, v, a], base)
    for rotor in spinning:
        theta_a[rotor.coordinate] -= ca.dot(rotor.axis, motions[rotor.body].omega[1]) / rotor.eta
    return Accelerations(a, ca.vertcat(*theta_a))


def carrier_motions(robot: Robot, q: Sequence[Any], base: Any) -> list[Motion]:
    """Motions of the bodies, the base's last."""
    if not rotors(robot):
        return []
    tree, base_now = moving_bodies(robot), base_motion(sx(robot.gravity), 0, checked_base(base, 0))
    motions, _ = forward_recursion(tree, [joint_motion(body, q, 0) for body in tree], base_now)
    return [*motions, base_now]


def absolute_momentum(rotor: Rotor, motions: Sequence[Motion], theta_v: Any, left: Sequence[Any]) -> Jet:
    """[Λ, Λ'] of a rotor about its axis."""
    turning = ca.dot(rotor.axis, motions[rotor.body].omega[0])
    Lambda = (rotor.momentum / rotor.eta) * turning + rotor.momentum * theta_v[rotor.coordinate]
    return [Lambda, left[rotor.coordinate] / rotor.eta]
