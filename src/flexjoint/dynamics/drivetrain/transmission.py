"""Between motor and link: the torque of a spring from its deflection φ = θ − q, and back  [EJNEA (7), (8)].

Which quantities come from which sensors  [EJNEA sec. II-B]:

    link and motor encoders            q, θ       τ_e = τ(θ − q)        `spring_torques`
    motor encoder and torque sensor    θ, τ_e     q = θ − φ(τ_e)        `link_state`

and their rates likewise, from one numerical differentiation of what is sensed (`flexjoint.observers`).  With damping
the torque on the link is τ_e = τ(φ) + D φ', and its rate depends on the motor's acceleration: such a joint answers its
motor one derivative earlier than an undamped one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...algorithm.api import algorithm
from ...drives import ElasticDrive
from ...errors import InputError
from ...robot import Joint, Robot, a_robot
from ...spatial import ca, is_zero
from ...types import Jet
from ..inverse import refuse_antagonism
from .deflection import spring_motion
from .orders import joint_order


class SpringTorque(NamedTuple):
    """Torque of the springs on the links, and its rate."""

    tau_e: Any
    tau_e_v: Any


class LinkState(NamedTuple):
    """Position and velocity of the links."""

    q: Any
    v: Any


def relative_degree(robot: Robot) -> tuple[int, ...]:
    """For each joint, which derivative of q its motor torque reaches first: 2 rigid, 3 a damped spring, 4 a spring."""
    return tuple(joint_order(joint) for joint in a_robot("relative_degree", robot).joints)


def spring_torque(joint: Joint, phi: Any, phi_v: Any) -> Jet:
    """[τ_e, τ_e'] of a deflection, the rate without damping's share; zero if there is no spring."""
    if not isinstance(joint.drive, ElasticDrive):
        return [0.0, 0.0]
    k, _ = joint.drive.spring.gradients(phi)
    return [joint.drive.spring.torque(phi) + joint.drive.damping * phi_v, k * phi_v]


def deflection_acceleration(joint: Joint, phi: Any, phi_v: Any, tau_e: Jet) -> Any:
    """φ'' of a spring, damped: τ_e' = k φ' + D φ'', undamped: τ_e'' = k φ'' + k' φ'²; zero if there is no spring."""
    if not isinstance(joint.drive, ElasticDrive):
        return 0.0
    k, slope = joint.drive.spring.gradients(phi)
    if not is_zero(joint.drive.damping):
        return (tau_e[1] - k * phi_v) / joint.drive.damping
    return (tau_e[2] - slope * phi_v**2) / k


@algorithm(SpringTorque)
def spring_torques(robot: Robot, q, v, theta, theta_v):
    """τ_e and its rate from encoders on both sides of the joint  [EJNEA (7), (8)]; zero at rigid joints."""
    refuse_damping(robot, "spring_torques", "its torque rate depends on the motor's acceleration")
    phi, phi_v = theta - q, theta_v - v
    jets = [spring_torque(joint, phi[i], phi_v[i]) for i, joint in enumerate(robot.joints)]
    return SpringTorque(*(ca.vertcat(*x) for x in zip(*jets)))


@algorithm(LinkState)
def link_state(robot: Robot, theta, theta_v, tau_e, tau_e_v):
    """q = θ − φ(τ_e) and q' from motor encoders and joint torque sensors, as on iiwa and Franka  [EJNEA (7)].

    A rigid joint turns with its motor, and its entries of `tau_e` and `tau_e_v` are ignored.
    """
    refuse_damping(robot, "link_state", "its torque does not tell its deflection")
    jets = [spring_motion(joint, [tau_e[i], tau_e_v[i], 0.0]) for i, joint in enumerate(robot.joints)]
    phi, phi_v, _ = (ca.vertcat(*x) for x in zip(*jets))
    return LinkState(theta - phi, theta_v - phi_v)


def refuse_damping(robot: Robot, caller: str, reason: str) -> None:
    refuse_antagonism(caller, robot, "variable_stiffness_linearization, whose state is the deflections of both springs")
    for joint, damped in zip(robot.joints, robot.damped):
        if damped:
            raise InputError(
                f"{caller}: the spring of joint '{joint.name}' is damped, so {reason}; describe its state by "
                "(q, v, theta, theta_v)"
            )
