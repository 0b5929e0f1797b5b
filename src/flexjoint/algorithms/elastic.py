"""Inverse dynamics of robots with rigid and elastic joints, in any mix  [EJNEA sec. II-A, III]."""

from __future__ import annotations

from ..api import algorithm
from ..drives import ElasticDrive
from ..errors import InputError
from ..robot import Robot
from ..spatial import sx
from .newton_euler import torque_derivatives


def needed_order(robot: Robot) -> int:
    """Highest derivative of q that the motor torque depends on."""
    return 4 if any(robot.elastic) else 2


@algorithm("tau", arrays=lambda robot: needed_order(robot) + 1, packs=True)
def inverse_dynamics(robot: Robot, q, v, a, *higher, wrenches=None, base=None):
    """Motor torque for a motion of the links, from [q, v, a] or, with elastic joints, [q, v, a, q''', q''''].

    Further derivatives are accepted and not used, so a trajectory's stack can be unpacked as it is.
    `wrenches` and `base` are those of `torque_derivatives`; elastic joints need the first two derivatives.
    """
    q = [q, v, a, *higher]
    order = needed_order(robot)
    if len(q) <= order:
        joint = robot.joints[robot.elastic.index(True)].name
        raise InputError(
            f"inverse_dynamics: joint '{joint}' is elastic and needs q and its first {order} derivatives, "
            f"{len(q) - 1} derivatives were given; robot.rigid() is the robot with stiff joints"
        )
    tau = torque_derivatives.function(robot, *q, order=order - 2, wrenches=wrenches, base=base)
    if order == 2:
        return tau[0]
    drives = [joint.drive for joint in robot.joints]
    B = sx([d.motor.inertia if isinstance(d, ElasticDrive) else 0.0 for d in drives])
    B_over_K = sx([d.motor.inertia / d.stiffness if isinstance(d, ElasticDrive) else 0.0 for d in drives])
    return tau[0] + B * q[2] + B_over_K * tau[2]  # τ = τ_e + B θ'', θ'' = q'' + τ_e''/K  [EJNEA (9), (10)]
