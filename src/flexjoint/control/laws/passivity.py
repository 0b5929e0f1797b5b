"""Passivity-based tracking of rigid robots  [DeLuca sec. II-B, (25)], and its adaptive form  [SlotineLi].

With e = q_d − q, the reference velocity v_r = v_d + Λ e and s = v_r − v = e' + Λ e, the law

    τ = M a_r + C(q, v) v_r + g + D v_r + K_P e + K_D e'         makes of      V = ½ sᵀM s + ½ eᵀ(K_P + Λ K_D) e
    V' = −e'ᵀK_D e' − eᵀΛ K_P e − sᵀD s                          for every C with Ṁ = C + Cᵀ.

The adaptive law knows friction and motors but not the links: their part is Y π̂ with π̂' = Γ Yᵀs, in base parameters and
with Christoffel's C, which regrouping leaves alone.  Neither Y π̂ nor Yᵀs needs Y: one is the sweep for bodies with the
estimated inertia, the other the power of each parameter's load at the velocity s.  Then

    V = ½ sᵀM s + ½ (π − π̂)ᵀΓ⁻¹(π − π̂),    V' = −sᵀ(K_D + D) s.
"""

from __future__ import annotations

from typing import NamedTuple

from ...algorithm.algorithm import algorithm
from ...dynamics.coriolis import modified_newton_euler
from ...dynamics.drivetrain.coupling import at_springs
from ...dynamics.drivetrain.passive import passive_torque
from ...dynamics.recursion.bodies import Body, lump_fixed, rigid_motor_torque
from ...dynamics.recursion.coriolis import TwoSpeeds, inertial_load, rotor_loads, two_motions
from ...dynamics.recursion.kinematics import along_joints, carried_loads
from ...dynamics.recursion.regressor import estimated_bodies, parameter_powers
from ...dynamics.requirements import rigid_joints
from ...robot import Robot
from ...spatial import sx
from ...types import Expression, FloatArray


class AdaptiveTorque(NamedTuple):
    """Motor torque (..., n), and the rate of the estimated base parameters."""

    tau: Expression | FloatArray
    estimate_rate: Expression | FloatArray


@algorithm("tau", requires=(rigid_joints,))
def passivity_torque(
    robot: Robot,
    q: Expression,
    v: Expression,
    q_d: Expression,
    v_d: Expression,
    a_d: Expression,
    Lambda: Expression,
    K_P: Expression,
    K_D: Expression,
    *,
    variant: str = "christoffel",
) -> Expression:
    """Motor torque that tracks [q_d, v_d, a_d], for rigid joints  [DeLuca (8), (25)].

    Args:
        q, v: Position and velocity of the links, (..., n).
        q_d, v_d, a_d: Reference and its derivatives, (..., n).
        Lambda, K_P, K_D: Diagonals of the gains, (..., n); K_P = Λ K_D is the usual choice.
        variant: As in `modified_newton_euler`.

    Returns:
        Motor torques (..., n), Nm or N.

    Raises:
        InputError: If a joint has a spring.
    """
    e, de = q_d - q, v_d - v
    tau = modified_newton_euler.function(robot, q, v, v_d + Lambda * e, a_d + Lambda * de, variant=variant)
    return at_springs(robot, tau + K_P * e + K_D * de)


@algorithm(AdaptiveTorque, requires=(rigid_joints,))
def adaptive_torque(
    robot: Robot,
    q: Expression,
    v: Expression,
    q_d: Expression,
    v_d: Expression,
    a_d: Expression,
    Lambda: Expression,
    K_D: Expression,
    Gamma: Expression,
    estimate: Expression,
) -> AdaptiveTorque:
    """Torque Y π̂ + D v_r + B a_r + K_D s and the rate Γ Yᵀs of the estimate π̂ of the base parameters, in O(N).

    Args:
        q, v: Position and velocity of the links, (..., n).
        q_d, v_d, a_d: Reference and its derivatives, (..., n).
        Lambda, K_D: Diagonals of the gains, (..., n).
        Gamma: Diagonal of the gains of the estimate, (..., base parameters).
        estimate: Base parameters of the links, in the order of `base_parameters(robot)`.

    Returns:
        AdaptiveTorque(tau, estimate_rate).

    Raises:
        InputError: If a joint has a spring.
    """
    e, de = q_d - q, v_d - v
    v_r, a_r, s = v_d + Lambda * e, a_d + Lambda * de, de + Lambda * e
    motions = two_motions(lump_fixed(robot), q, v, v_r, a_r, sx(robot.gravity))
    tau = load_torque(robot, estimated_bodies(robot, estimate), q, v, v_r, a_r) + K_D * s
    return AdaptiveTorque(at_springs(robot, tau), Gamma * parameter_powers(robot, motions, q, s))


def load_torque(
    robot: Robot, tree: list[Body], q: Expression, v: Expression, v_a: Expression, a: Expression
) -> Expression:
    """M a + C(q, v) v_a + g + D v_a of these bodies and of the motors that turn with their joints."""
    motions = two_motions(tree, q, v, v_a, a, sx(robot.gravity))
    moments, at_rotors = rotor_loads(robot, motions, TwoSpeeds(v, v_a, a))
    carried = [inertial_load(body.inertia, motion) for body, motion in zip(tree, motions)]
    loads = [(f, n + moment) for (f, n), moment in zip(carried, moments)]
    tau = along_joints(tree, carried_loads(tree, q, loads)) + at_rotors.links
    return tau + rigid_motor_torque(robot, a) + passive_torque(robot, [q, v_a], 0)[0]
