"""Between motor and link: the torque of a spring from its deflection φ = θ − q, and back  [EJNEA (7), (8)].

With damping the torque on the link is τ_e = K φ + D φ', and its rate depends on the motor's acceleration: such a joint
answers its motor one derivative earlier than an undamped one.  Rigid joints have neither spring nor deflection; their
entries here are zero.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..api import algorithm
from ..drives import ElasticDrive
from ..errors import InputError
from ..robot import Robot
from ..spatial import ca, sx
from .friction import motor_friction


class SpringTorque(NamedTuple):
    """Torque of the springs on the links, and its rate."""

    tau_e: Any
    tau_e_rate: Any


class LinkState(NamedTuple):
    """Position and velocity of the links."""

    q: Any
    v: Any


class Deflection(NamedTuple):
    """φ = θ − q and φ'."""

    phi: Any
    phi_v: Any


def relative_degree(robot: Robot) -> tuple[int, ...]:
    """For each joint, which derivative of q its motor torque reaches first: 2 rigid, 3 a damped spring, 4 a spring."""
    drives = [joint.drive for joint in robot.joints]
    return tuple((3 if d.damping else 4) if isinstance(d, ElasticDrive) else 2 for d in drives)


def elastic_values(robot: Robot, name: str) -> Any:
    """A number of every elastic drive, zero at the other joints."""
    return sx([getattr(j.drive, name) if isinstance(j.drive, ElasticDrive) else 0.0 for j in robot.joints])


def elastic_motor_inertia(robot: Robot) -> Any:
    """B of the motors behind springs, zero for the others."""
    return sx([j.drive.motor.inertia if isinstance(j.drive, ElasticDrive) else 0.0 for j in robot.joints])


def spring_torque(robot: Robot, deflection: Deflection) -> Any:
    """τ_e = K φ + D φ'."""
    phi, phi_v = deflection
    return elastic_values(robot, "stiffness") * phi + elastic_values(robot, "damping") * phi_v


def spring_torque_rate(robot: Robot, deflection: Deflection) -> Any:
    """τ_e' = K φ' of undamped springs."""
    return elastic_values(robot, "stiffness") * deflection.phi_v


def deflection_of(robot: Robot, tau_e: Any, tau_e_rate: Any) -> Deflection:
    """φ and φ' from the torque of undamped springs and its rate."""
    K = elastic_values(robot, "stiffness")
    return Deflection(*[at_elastic_joints(robot, lambda i, x=x: x[i] / K[i]) for x in (tau_e, tau_e_rate)])


def deflection_acceleration(robot: Robot, deflection: Deflection, tau_e_rate: Any, tau_e_second: Any) -> Any:
    """φ'', of a damped joint from τ_e' = K φ' + D φ'', of an undamped one from τ_e'' = K φ''."""
    K, D = elastic_values(robot, "stiffness"), elastic_values(robot, "damping")

    def of_joint(i: int) -> Any:
        if relative_degree(robot)[i] == 3:
            return (tau_e_rate[i] - K[i] * deflection.phi_v[i]) / D[i]
        return tau_e_second[i] / K[i]

    return at_elastic_joints(robot, of_joint)


def motor_torque(robot: Robot, v: Any, a: Any, deflection: Deflection, phi_a: Any, tau_e: Any) -> Any:
    """τ = B θ'' + friction + τ_e behind springs  [EJNEA (10)]; zero at rigid joints."""
    theta_v = v + deflection.phi_v
    tau = elastic_motor_inertia(robot) * (a + phi_a) + motor_friction(robot, theta_v) + tau_e
    return at_elastic_joints(robot, lambda i: tau[i])


def at_elastic_joints(robot: Robot, value: Any) -> Any:
    return ca.vertcat(*[value(i) if elastic else 0.0 for i, elastic in enumerate(robot.elastic)])


@algorithm(SpringTorque)
def spring_torques(robot: Robot, q, v, theta, theta_v):
    """τ_e = K (θ − q) and its rate from encoders on both sides of the joint  [EJNEA (7), (8)]; zero at rigid joints."""
    refuse_damping(robot, "spring_torques", "its rate depends on the motor's acceleration")
    deflection = Deflection(theta - q, theta_v - v)
    return SpringTorque(spring_torque(robot, deflection), spring_torque_rate(robot, deflection))


@algorithm(LinkState)
def link_state(robot: Robot, theta, theta_v, tau_e, tau_e_rate):
    """q = θ − τ_e/K and q' from motor encoders and joint torque sensors, as on iiwa and Franka  [EJNEA (7)].

    A rigid joint turns with its motor, and its entries of `tau_e` and `tau_e_rate` are ignored.
    """
    refuse_damping(robot, "link_state", "the sensed torque contains D (θ' − q')")
    phi, phi_v = deflection_of(robot, tau_e, tau_e_rate)
    return LinkState(theta - phi, theta_v - phi_v)


def refuse_damping(robot: Robot, caller: str, reason: str) -> None:
    degrees = relative_degree(robot)
    if 3 in degrees:
        joint = robot.joints[degrees.index(3)]
        assert isinstance(joint.drive, ElasticDrive)
        raise InputError(
            f"{caller}: the spring of joint '{joint.name}' has the damping {joint.drive.damping:g} and {reason}; "
            "give the state as (q, v, theta, theta_v)"
        )
