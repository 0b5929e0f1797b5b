"""Forward dynamics of robots with rigid and elastic joints in any mix: the 2N coordinates (q, θ)  [EJNEA (4)].

Links and motors meet in the torques of the springs alone, so the links' accelerations are those of a rigid robot whose
elastic joints are driven by their springs, and each motor's is a division.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..api import algorithm
from ..drives import ElasticDrive
from ..robot import Robot
from ..spatial import ca
from .articulated_body import joint_accelerations
from .elastic import refuse_antagonism
from .friction import motor_friction
from .transmission import spring_torque


class Accelerations(NamedTuple):
    """q'' of the links and θ'' of the motors."""

    a: Any
    theta_a: Any


@algorithm(Accelerations)
def elastic_forward_dynamics(robot: Robot, q, theta, v, theta_v, tau, *, wrenches=None, base=None):
    """Accelerations of links and motors from their positions, velocities and the motor torques.

    At a rigid joint `theta` and `theta_v` are ignored and θ'' = q''.  `wrenches` and `base` as in `torque_derivatives`.
    """
    refuse_antagonism("elastic_forward_dynamics", robot, "variable_stiffness_forward_dynamics")
    phi, phi_v, friction = theta - q, theta_v - v, motor_friction(robot, theta_v)
    springs = [spring_torque(joint, phi[i], phi_v[i])[0] for i, joint in enumerate(robot.joints)]
    driving = [springs[i] if elastic else tau[i] for i, elastic in enumerate(robot.elastic)]
    a = joint_accelerations(robot, q, v, ca.vertcat(*driving), wrenches, base)
    # B θ'' = τ − τ_e − friction  [EJNEA (4b)]
    theta_a = [
        (tau[i] - springs[i] - friction[i]) / joint.drive.motor.inertia
        if isinstance(joint.drive, ElasticDrive)
        else a[i]
        for i, joint in enumerate(robot.joints)
    ]
    return Accelerations(a, ca.vertcat(*theta_a))
