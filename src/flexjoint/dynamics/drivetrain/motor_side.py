"""The motor side of the springs: τ = τ_k + B θ'' + friction(θ', τ_k), θ = q + φ  [EJNEA (4b), (9), (10)]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ...drives import Motor
from ...robot import Robot
from ...spatial import ca, sx
from ...types import Expression, Jet, Stack
from .coupling import at_springs, by_deflection, on_motors, undeflected
from .friction import friction
from .transmission import motors


class MotorSide(NamedTuple):
    """Motion of motors, deflection of their springs and its rate, torque of the springs, motor torque."""

    theta: Expression
    theta_v: Expression
    theta_a: Expression
    deflection: Expression
    deflection_v: Expression
    spring_torque: Expression
    tau: Expression


def motor_side(these: Sequence[Motor], q: Stack, spring_torque: Expression, phi: Stack) -> MotorSide:
    """Of these motors, from [q, q', q''] behind their springs, the torques of these and [φ, φ', φ''], uncoupled."""
    theta, theta_v, theta_a = (x + y for x, y in zip(q, phi))
    B = sx([motor.inertia for motor in these])
    tau = spring_torque + friction(these, [theta_v], 0, spring_torque)[0] + B * theta_a
    return MotorSide(theta, theta_v, theta_a, phi[0], phi[1], spring_torque, tau)


def coupled_motors(robot: Robot, these: Sequence[Motor], q: Stack, tau: Expression, phi: Stack) -> MotorSide:
    """Of one motor per joint, from [q, q', q''], the torque on the links and [φ, φ', φ''] of the springs.

    τ = T_b⁻ᵀτ_e + B θ'' + friction,  τ_e = T_a⁻ᵀτ_links,  θ = T q + T_b φ.
    """
    if not robot.transmissions:
        return motor_side(these, q, tau, phi)
    tau_e = at_springs(robot, tau)
    ends = [undeflected(robot, x) for x in q[:3]]
    side = motor_side(these, ends, on_motors(robot, tau_e), [by_deflection(robot, x) for x in phi])
    return side._replace(deflection=phi[0], deflection_v=phi[1], spring_torque=tau_e)


def single_motors(robot: Robot, q: Stack, tau: Expression, phi: Mapping[int, Jet]) -> dict[int, list[MotorSide]]:
    """The motor of each joint that `phi` has [φ, φ', φ''] of, by joint; of a group it has all joints or none."""
    if not robot.transmissions:
        of = motors(robot)
        return {i: [motor_side([of[i]], [x[i] for x in q[:3]], tau[i], jet)] for i, jet in phi.items()}
    stack = [ca.vertcat(*[phi[i][k] if i in phi else 0.0 for i in range(robot.n)]) for k in range(3)]
    first = [motor for k, motor in enumerate(motors(robot)) if k < robot.n]
    side = coupled_motors(robot, first, q, tau, stack)
    return {i: [MotorSide(*(x[i] for x in side))] for i in phi}
