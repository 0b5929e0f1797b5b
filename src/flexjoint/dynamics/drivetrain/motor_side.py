"""The motor side of the springs: τ = τ_k + B θ'' + D_m θ' + F_m tanh(θ'/v_m), θ = q + φ  [EJNEA (4b), (9), (10)]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...drives import Motor
from ...spatial import sx
from ...types import Expression, Stack
from .friction import friction


class MotorSide(NamedTuple):
    """Motion of motors, deflection of their springs and its rate, torque of the springs, motor torque."""

    theta: Expression
    theta_v: Expression
    theta_a: Expression
    deflection: Expression
    deflection_v: Expression
    spring_torque: Expression
    tau: Expression


def motor_side(motors: Sequence[Motor], q: Stack, spring_torque: Expression, phi: Stack) -> MotorSide:
    """Of these motors, from [q, q', q''] behind their springs, the torques of these and [φ, φ', φ'']."""
    theta, theta_v, theta_a = (x + y for x, y in zip(q, phi))
    B = sx([motor.inertia for motor in motors])
    tau = spring_torque + friction(motors, [theta_v], 0)[0] + B * theta_a
    return MotorSide(theta, theta_v, theta_a, phi[0], phi[1], spring_torque, tau)
