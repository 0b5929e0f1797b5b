"""Forward dynamics of robots with rigid and elastic joints in any mix: the 2N coordinates (q, θ)  [EJNEA (4)].

Links and motors meet in the torques of the springs alone, so the links' accelerations are those of a rigid robot whose
elastic joints are driven by their springs, and each motor's is a division.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..api import algorithm
from ..robot import Robot
from ..spatial import ca
from .articulated_body import joint_accelerations
from .friction import motor_friction
from .transmission import Deflection, elastic_motor_inertia, spring_torque


class Accelerations(NamedTuple):
    """q'' of the links and θ'' of the motors."""

    a: Any
    theta_a: Any


@algorithm(Accelerations)
def elastic_forward_dynamics(robot: Robot, q, theta, v, theta_v, tau, *, wrenches=None, base=None):
    """Accelerations of links and motors from their positions, velocities and the motor torques.

    At a rigid joint `theta` and `theta_v` are ignored and θ'' = q''.  `wrenches` and `base` as in `torque_derivatives`.
    """
    tau_e = spring_torque(robot, Deflection(theta - q, theta_v - v))
    driving = ca.vertcat(*[tau_e[i] if elastic else tau[i] for i, elastic in enumerate(robot.elastic)])
    a = joint_accelerations(robot, q, v, driving, wrenches, base)
    rest = tau - tau_e - motor_friction(robot, theta_v)  # B θ'' = τ − τ_e − friction  [EJNEA (4b)]
    B = elastic_motor_inertia(robot)
    theta_a = ca.vertcat(*[rest[i] / B[i] if elastic else a[i] for i, elastic in enumerate(robot.elastic)])
    return Accelerations(a, theta_a)
