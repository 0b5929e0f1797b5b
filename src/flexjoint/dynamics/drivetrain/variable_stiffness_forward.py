"""Forward dynamics of robots some of whose joints have two motors: 3N coordinates  [VSANEA (5)].

Links and motors meet in the torques of the springs alone, as in `elastic_forward.py`.  Beyond the paper: rigid and
elastic joints among the others, and dampers, constant or commanded, beside the springs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ...algorithm.api import algorithm
from ...drives import VariableStiffnessDrive
from ...errors import InputError
from ...robot import Joint, Robot
from ...spatial import ca, is_zero, zeros
from ..inverse import motors
from ..recursion.articulated_body import joint_accelerations
from .friction import friction
from .transmission import spring_torque


class VariableStiffnessAccelerations(NamedTuple):
    """q'' of the links, θ'' of both motors."""

    a: Any
    theta_1_a: Any
    theta_2_a: Any


@algorithm(VariableStiffnessAccelerations)
def variable_stiffness_forward_dynamics(
    robot: Robot, q, theta_1, theta_2, v, theta_1_v, theta_2_v, tau_1, tau_2, *, wrenches=None, base=None, damping=None
):
    """Accelerations of links and motors from their positions, velocities and the motor torques  [VSANEA (5)].

    At a rigid joint `theta_1` and `theta_1_v` are ignored and θ_1'' = q''.  `wrenches` and `base` as in
    `torque_derivatives`.  `damping` = {"command": [D]} sets dampers that can be commanded: what is asked of each, (n,),
    is cut off at 0 and at the `greatest_damping` of its drive, and is 0 without it.
    """
    if damping is not None and (set(damping) != {"command"} or len(damping["command"]) != 1):
        raise InputError("variable_stiffness_forward_dynamics: damping is {'command': [D]}, D a number for each joint")
    commanded = zeros(robot.n) if damping is None else damping["command"][0]
    theta, theta_v, tau = (theta_1, theta_2), (theta_1_v, theta_2_v), (tau_1, tau_2)
    return accelerations(robot, q, theta, v, theta_v, tau, commanded, wrenches, base)


def accelerations(
    robot: Robot,
    q: Any,
    theta: Sequence[Any],
    v: Any,
    theta_v: Sequence[Any],
    tau: Sequence[Any],
    damping: Any,
    wrenches: Any = None,
    base: Any = None,
    push: Any = None,
) -> VariableStiffnessAccelerations:
    """The same, pairs for both motors, with a further torque on the links if there is one."""
    passed, on_links = transmitted(robot, q, theta, v, theta_v, damping)
    driving = ca.vertcat(*[(on_links if elastic else tau[0])[i] for i, elastic in enumerate(robot.elastic)])
    a = joint_accelerations(robot, q, v, driving if push is None else driving + push, wrenches, base)
    theta_a = []
    for k, held in enumerate((a, zeros(robot.n))):  # by joints without springs, or without a second motor
        side = motors(robot, k)
        # B θ'' = τ − τ_k − friction  [VSANEA (5b), (5c)]
        rest = tau[k] - passed[k] - friction(side, [theta_v[k]], 0)[0]
        turning = [elastic and not is_zero(motor.inertia) for elastic, motor in zip(robot.elastic, side)]
        theta_a.append(ca.vertcat(*[rest[i] / side[i].inertia if x else held[i] for i, x in enumerate(turning)]))
    return VariableStiffnessAccelerations(a, *theta_a)


def transmitted(
    robot: Robot, q: Any, theta: Sequence[Any], v: Any, theta_v: Sequence[Any], damping: Any
) -> tuple[Sequence[Any], Any]:
    """What the springs take from the first and from the second motors, and what they give to the links."""
    counts = ca.vertcat(*[getattr(joint.drive, "c", 1) for joint in robot.joints])  # whether θ_2 does from the link
    phi_1, phi_2 = (theta[0] - q, theta_v[0] - v), (theta[1] - counts * q, theta_v[1] - counts * v)
    springs = [
        loads(joint, [x[i] for x in phi_1], [x[i] for x in phi_2], damping[i]) for i, joint in enumerate(robot.joints)
    ]
    passed = [ca.vertcat(*x) for x in zip(*springs)]
    return passed, passed[0] + counts * passed[1]


def loads(joint: Joint, phi_1: Sequence[Any], phi_2: Sequence[Any], commanded: Any) -> Sequence[Any]:
    """What both motors feel, from deflections and their rates; with dampers where φ counts from the link."""
    drive = joint.drive
    if not isinstance(drive, VariableStiffnessDrive):
        return [spring_torque(joint, *phi_1)[0], 0.0]
    tau_1, tau_2 = drive.torques(phi_1[0], phi_2[0])
    D = drive.damping
    if not is_zero(drive.greatest_damping):
        D = D + ca.fmax(ca.fmin(commanded, drive.greatest_damping), 0)
    return tau_1 + D * phi_1[1], tau_2 + drive.c * D * phi_2[1]
