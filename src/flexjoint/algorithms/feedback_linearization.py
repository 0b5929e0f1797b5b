"""Feedback linearization of robots with elastic joints: motor torques that make the links obey q'''' = command.

Source: [EJNEA sec. IV], equations (12), (14), (15), (45)-(52) in their corrected form: q'' from the link equation, q''' from
its derivative, both with one factorization M = LᵀDL, then the torque for the motion [q, q', q'', q''', command].  The
three recursions share what they have in common, since equal expressions become one value of the Program; and the joint
torques of lower order are known when the next order is computed, so they are not computed again (`next_torque`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..api import algorithm
from ..robot import Robot
from ..spatial import sx, zeros
from .mass_matrix import check_inertia, factorize, link_mass_matrix, solve
from .newton_euler import next_torque


class LinkMotion(NamedTuple):
    """q'' and q''' of the links."""

    a: Any
    jerk: Any


def link_derivatives(robot: Robot, q: Any, v: Any, torques: Sequence[Any], wrenches: Any, base: Any) -> list[Any]:
    """[q'', q''', ...] from the torques on the links and their derivatives, [τ, τ', ...]: one factorization."""
    M, parents = link_mass_matrix(robot, q)
    check_inertia(robot, [M[i][i] for i in range(robot.n)])
    factors = factorize(M, parents)
    motion = [q, v]
    for k, tau in enumerate(torques):
        # M q⁽ᵏ⁺²⁾ = τ⁽ᵏ⁾ − what the motion asks for when q⁽ᵏ⁺²⁾ = 0  [EJNEA (47)-(52)]
        b = tau - next_torque(robot, [*motion, zeros(robot.n)], torques[:k], wrenches, base)
        motion.append(solve(factors, parents, b))
    return motion[2:]


@algorithm(LinkMotion)
def link_motion(robot: Robot, q, v, tau_e, tau_e_rate, *, wrenches=None, base=None):
    """q'' and q''' of the links from the torque on them and its rate  [EJNEA (14), (15)].

    Of an elastic joint that is the torque of the spring, of a rigid one the motor torque.  `wrenches` and `base` as in
    `torque_derivatives`, with one derivative.
    """
    return LinkMotion(*link_derivatives(robot, q, v, [tau_e, tau_e_rate], wrenches, base))


@algorithm("tau")
def feedback_linearization(robot: Robot, q, v, tau_e, tau_e_rate, command, *, wrenches=None, base=None):
    """Motor torque that gives the links q'''' = command, whatever their motion  [EJNEA (12), (45)].

    The state is q, q' and the torques of the springs with their rates  [EJNEA sec. II-B].
    """
    tau = [tau_e, tau_e_rate]
    a, jerk = link_derivatives(robot, q, v, tau, wrenches, base)
    tau.append(next_torque(robot, [q, v, a, jerk, command], tau, wrenches, base))
    B = sx([joint.drive.motor.inertia for joint in robot.joints])
    K = sx([joint.drive.stiffness for joint in robot.joints])
    return tau_e + B * a + B / K * tau[2]
