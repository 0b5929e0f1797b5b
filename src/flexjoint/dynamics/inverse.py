"""Inverse dynamics of robots with rigid and elastic joints, in any mix  [EJNEA sec. II-A, III].

It differs from the paper in what a joint may have: friction on both sides, and springs that are not linear.  With
φ = θ − q and k = dτ_e/dφ the motor moves by

    φ' = τ_e'/k,   φ'' = (τ_e'' − k' φ'²)/k,   τ = B θ'' + D_m θ' + F_m tanh(θ'/v_m) + τ_e,

a rigid joint by θ = q.  A damped spring has no such formula: see `damped.py`; for the complete model of rotors see
`elimination.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..algorithm.api import algorithm
from ..drives import Motor
from ..errors import InputError, warn
from ..robot import Robot
from ..spatial import ca, is_symbolic, sx
from ..types import Jet
from .drivetrain.deflection import spring_motion
from .drivetrain.elimination import eliminated
from .drivetrain.friction import coulomb_command, friction, joint_friction
from .drivetrain.orders import derivative_orders, joint_order
from .links import link_torques


class MotorMotion(NamedTuple):
    """Motor position, velocity and acceleration, torque passed to the link, deflection θ − q, motor torque."""

    theta: Any
    theta_v: Any
    theta_a: Any
    tau_e: Any
    deflection: Any
    tau: Any


def needed_order(robot: Robot, base: Any = None) -> int:
    """Highest derivative of q that any motor torque depends on; the joints are coupled, so all must be that smooth."""
    return derivative_orders(robot, base is not None).motion


@algorithm("tau", arrays=lambda robot, base=None, **_: needed_order(robot, base) + 1, packs=True)
def inverse_dynamics(robot: Robot, q, v, a, *higher, wrenches=None, base=None):
    """Motor torque for a motion of the links, from [q, v, a] or, with elastic joints, [q, v, a, q''', q''''].

    The complete model of rotors needs more, `explain_orders(robot)` tells how many and why.
    Further derivatives are accepted and not used, so a trajectory's stack can be unpacked as it is.
    `wrenches` and `base` are those of `torque_derivatives`; elastic joints need the first two derivatives.
    """
    refuse_damping("inverse_dynamics", robot)
    return undamped_motion("inverse_dynamics", robot, [q, v, a, *higher], wrenches, base).tau


@algorithm(MotorMotion, arrays=lambda robot, base=None, **_: needed_order(robot, base) + 1, packs=True)
def motor_motion(robot: Robot, q, v, a, *higher, wrenches=None, base=None):
    """How the motors must move, and with what torque, for a motion of the links; arguments as `inverse_dynamics`.

    `tau_e` is the torque that the transmission passes to the link: of the spring, or of the shaft of a rigid joint,
    whose motor moves with the link and whose `deflection` is zero.
    """
    refuse_damping("motor_motion", robot)
    return undamped_motion("motor_motion", robot, [q, v, a, *higher], wrenches, base)


def undamped_motion(name: str, robot: Robot, q: Sequence[Any], wrenches: Any, base: Any) -> MotorMotion:
    check_derivatives(name, robot, q, base)
    if robot.fidelity == "complete":
        tau_e, phi, at_motors = eliminated(robot, q, wrenches, base)
        motion = motor_side(motors(robot), q, tau_e, phi)
        return motion._replace(tau=motion.tau + at_motors)
    tau_e = transmitted_torque(robot, q, needed_order(robot) - 2, wrenches, base)
    phi = [spring_motion(joint, [x[i] for x in tau_e]) for i, joint in enumerate(robot.joints)]
    return motor_side(motors(robot), q, tau_e[0], phi)


def motors(robot: Robot, k: int = 0) -> list[Motor]:
    """The k-th motor of each joint, one without inertia where there is none."""
    drives = [joint.drive for joint in robot.joints]
    return [drive.motors[k] if drive and k < len(drive.motors) else Motor(0.0) for drive in drives]


def motor_side(motors: Sequence[Motor], q: Sequence[Any], tau_e: Any, deflections: Sequence[Jet]) -> MotorMotion:
    """From the motion of the links, the torque passed to them and [φ, φ', φ''] of each joint."""
    phi = [ca.vertcat(*[jet[k] for jet in deflections]) for k in range(3)]
    theta, theta_v, theta_a = (x + y for x, y in zip(q, phi))
    B = sx([motor.inertia for motor in motors])
    tau = tau_e + friction(motors, [theta_v], 0)[0] + B * theta_a  # τ = τ_e + B θ''  [EJNEA (4b), (9), (10)]
    return MotorMotion(theta, theta_v, theta_a, tau_e, phi[0], tau)


def transmitted_torque(robot: Robot, q: Sequence[Any], order: int, wrenches: Any = None, base: Any = None) -> Jet:
    """Jet of what the links and the friction of their joints ask of the transmissions."""
    tau = link_torques(robot, q, sx(robot.gravity), order, wrenches, base)
    return [x + y for x, y in zip(tau, joint_friction(robot, q[1:], order))]


# Checks -----------------------------------------------------------------------------------------------------


def check_derivatives(name: str, robot: Robot, q: Sequence[Any], base: Any = None) -> None:
    """Enough derivatives for every joint; and a warning where friction makes poor use of them."""
    refuse_antagonism(name, robot, "variable_stiffness_inverse_dynamics or variable_stiffness_motion, which take it")
    order = needed_order(robot, base)
    if len(q) <= order and order > 4:
        raise InputError(
            f"{name}: in the complete model of '{robot.name}' link equations contain the motors of other joints; they "
            f"need q and its first {order} derivatives, {len(q) - 1} derivatives were given; explain_orders(robot) "
            "tells why, robot.with_fidelity('spong') does with fewer"
        )
    if len(q) <= order:
        needs = [
            which(robot, [joint_order(joint) == k for joint in robot.joints], what, f"q and its first {k} derivatives")
            for k, what in ((4, "elastic"), (3, "elastic with a damped spring"))
            if any(joint_order(joint) == k > len(q) - 1 for joint in robot.joints)
        ]
        raise InputError(
            f"{name}: {' and '.join(needs)}, {len(q) - 1} derivatives were given; as the joints are coupled, every "
            "joint's are used; a trajectory that is not smooth enough gives fewer, and require_smoothness(trajectory, "
            "robot=robot) says what to change; robot.rigid() is the robot with stiff joints"
        )
    warn_of_friction(robot)


def warn_of_friction(robot: Robot) -> None:
    """Coulomb friction that costs more torque than it exerts."""
    for joint, torque in zip(robot.joints, coulomb_command(robot)):
        if torque and torque > joint.coulomb_friction:  # 0 where numbers are free
            warn(
                f"{robot.name}: the Coulomb friction of joint '{joint.name}' acts on the link of an elastic joint and "
                f"is differentiated twice: {joint.coulomb_friction:g} Nm (N) of it cost up to {torque:.3g} Nm (N) of "
                "motor torque where the joint turns round at 1 rad/s² (m/s²); move it to the motor, or raise its "
                "coulomb_velocity"
            )


def which(robot: Robot, chosen: Sequence[bool], what: str, need: str) -> str:
    names = [f"'{joint.name}'" for joint, x in zip(robot.joints, chosen) if x]
    if len(names) == 1:
        return f"joint {names[0]} is {what} and needs {need}"
    return f"joints {', '.join(names)} are {what} and need {need}"


def refuse_antagonism(name: str, robot: Robot, instead: str) -> None:
    """Of a joint of variable stiffness its stiffness must be given too."""
    if any(robot.antagonistic):
        joint = robot.joints[robot.antagonistic.index(True)]
        raise InputError(f"{name}: joint '{joint.name}' has two motors, which set its stiffness too; use {instead}")


def refuse_damping(name: str, robot: Robot) -> None:
    if any(robot.damped) and not any(robot.antagonistic):
        joint = robot.joints[robot.damped.index(True)]
        damping = joint.drive.damping  # type: ignore[union-attr]
        D = "free" if is_symbolic(damping) else f"{damping:g}"
        raise InputError(
            f"{name}: the spring of joint '{joint.name}' is damped (D = {D}), so the motor torque depends on the past "
            "of the motion, not only on its derivatives now; use damped_inverse_dynamics, which carries the deflection "
            "along, or damped_motion for a whole trajectory"
        )
