"""Forward dynamics: accelerations of links and motors from their state and the motor torques.

A robot without springs has the coordinates q: M q'' + n(q, q') = τ.  Springs make θ coordinates of their own, one per
elastic joint and two per joint of variable stiffness  [EJNEA (4)], [VSANEA (5)]:

    M q'' + n(q, q') = τ_e(θ − q, θ' − q'),    B θ'' + friction + τ_k = τ.

In Spong's model links and motors meet in the torques of the springs alone, so the links accelerate as those of a rigid
robot that is driven by its springs, and each motor by a division.

In the complete model  [Hua (31)-(36)], M q'' + S θ'' + ... and Sᵀq'' + B θ'' + ..., eliminating θ'' leaves M − S B⁻¹Sᵀ,
which is the mass matrix of links that do not turn their rotors about the axes.  The absolute momentum of a rotor along
its axis, Λ = I_axial (aᵀω + η θ'), is changed by the motor alone,

    η Λ' = τ − τ_e − friction,

and the links carry it as a moment Λ'a + ω × Λa.  So neither S nor a matrix of links and motors is built, and the
paper's N + N_e recursions and its inverse become one of either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..algorithm.algorithm import algorithm
from ..algorithm.form import Form
from ..robot import Robot
from ..spatial import ca, sx, zeros
from ..types import Expression, FloatArray, Jet, Scalar, Stack
from .drivetrain.coupling import on_links, undeflected
from .drivetrain.friction import motor_friction
from .drivetrain.load_friction import remaining_torque
from .drivetrain.transmission import motors, of_joints, transmitted
from .loads import Base, Wrenches, checked_base
from .recursion.articulated_body import joint_accelerations
from .recursion.bodies import Rotor, moving_bodies, rotors
from .recursion.joint_jets import joint_motion
from .recursion.newton_euler import Motion, base_motion, forward_recursion
from .requirements import drives_in_words, hysteresis_given


class Accelerations(NamedTuple):
    """q'' of the links (..., n) and θ'' of the motors (..., motors), rad/s² or m/s²."""

    a: Expression | FloatArray
    theta_a: Expression | FloatArray


def forward_form(robot: Robot, options: Mapping[str, Any]) -> Form:
    """Springs make the state of the motors a part of the state."""
    reason = drives_in_words(robot)
    if any(robot.compliant):
        return Form(("q", "v", "theta", "theta_v", "tau"), Accelerations, reason=reason)
    return Form(("q", "v", "tau"), "a", reason=reason)


@algorithm(forward_form, requires=(hysteresis_given,))
def forward_dynamics(
    robot: Robot,
    q: Expression,
    v: Expression,
    theta: Expression,
    theta_v: Expression,
    tau: Expression,
    *,
    wrenches: Wrenches = None,
    base: Base = None,
    damping: Expression = None,
    hysteresis: Expression = None,
) -> Expression | Accelerations:
    """Accelerations of links and motors from the state and the motor torques.

    A robot without springs takes (robot, q, v, tau) and returns q'' alone.

    Args:
        q, v: Position and velocity of the links, (..., n), rad or m.
        theta, theta_v: Position and velocity of the motors, (..., motors), after the reduction, in the order of
            `robot.motor_names`; ignored at rigid joints, where θ = q.
        tau: Motor torque, (..., motors), Nm or N.
        wrenches: {link: [w]}, wrenches (f, n) (..., 6) on links, in base coordinates; none by default.
        base: A BaseMotion; at rest by default.
        damping: Commanded damping, (..., n), Nm s/rad, limited to 0 ... `greatest_damping` of the drive; 0 by default.
        hysteresis: State z of the hysteresis of gears, (..., n), torque relative to the greatest, from −1 to 1; ignored
            at joints without; needed if there is one.

    Returns:
        Accelerations(a, theta_a), (..., n) and (..., motors); for a robot without springs the array a (..., n).

    Raises:
        InputError: An array is missing or superfluous; the message names it.  A gear has hysteresis, and its state is
            missing.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> fj.forward_dynamics(fj.load("kuka_lwr"), *np.zeros((5, 7))).theta_a.shape
        (7,)
    """
    if not any(robot.compliant):
        return joint_accelerations(robot, q, v, on_links(robot, tau), wrenches, base)
    return accelerations(robot, q, v, theta, theta_v, tau, wrenches, base, damping, z=hysteresis)


def accelerations(
    robot: Robot,
    q: Expression,
    v: Expression,
    theta: Expression,
    theta_v: Expression,
    tau: Expression,
    wrenches: Wrenches = None,
    base: Base = None,
    damping: Expression = None,
    push: Expression = None,
    z: Expression = None,
) -> Accelerations:
    """q'' and θ'' of any robot, with a further torque `push` on the links, and the state `z` (n,) of the hysteresis."""
    on_motors, by_springs = transmitted(robot, q, v, theta, theta_v, damping, z)
    friction = motor_friction(robot, theta_v, on_motors)
    driving = of_joints(robot, remaining_torque(robot, [v], [by_springs])[0], on_links(robot, tau))
    driving = driving if push is None else driving + push
    left = [tau[k] - on_motors[k] - friction[k] for k in range(robot.motor_count)]
    spinning = [rotor for rotor in rotors(robot) if rotor.elastic]
    motions = carrier_motions(robot, [q, v, zeros(robot.n)], base)
    spins = [(rotor, absolute_momentum(rotor, motions, theta_v, left)) for rotor in spinning]
    a = joint_accelerations(robot, q, v, driving, wrenches, base, spins)
    # B θ'' = τ − τ_k − friction  [EJNEA (4b), VSANEA (5b)], less B/η aᵀω' where rotors are carried  [Hua (8), (29)]
    tied = undeflected(robot, a)
    theta_a = [
        left[k] / motor.inertia if robot.compliant[i] else tied[i]
        for k, (i, motor) in enumerate(zip(robot.motor_joints, motors(robot)))
    ]
    motions = carrier_motions(robot, [q, v, a], base)
    for rotor in spinning:
        theta_a[rotor.coordinate] -= ca.dot(rotor.axis, motions[rotor.body].omega[1]) / rotor.eta
    return Accelerations(a, ca.vertcat(*theta_a))


def carrier_motions(robot: Robot, q: Stack, base: Base) -> list[Motion]:
    """Motions of the bodies, that of the base last."""
    if not rotors(robot):
        return []
    tree, base_now = moving_bodies(robot), base_motion(sx(robot.gravity), 0, checked_base(base, 0))
    motions, _ = forward_recursion(tree, [joint_motion(body, q, 0) for body in tree], base_now)
    return [*motions, base_now]


def absolute_momentum(rotor: Rotor, motions: Sequence[Motion], theta_v: Expression, left: Sequence[Scalar]) -> Jet:
    """[Λ, Λ'] of a rotor about its axis."""
    turning = ca.dot(rotor.axis, motions[rotor.body].omega[0])
    Lambda = (rotor.momentum / rotor.eta) * turning + rotor.momentum * theta_v[rotor.coordinate]
    return [Lambda, left[rotor.coordinate] / rotor.eta]
