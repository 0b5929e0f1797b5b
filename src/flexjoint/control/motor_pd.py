"""Regulation by PD control of the motors with the gravity torque of the goal  [Tomei].

    τ = K_P (θ_d − θ) − K_D θ' + g(q_d),   θ_d = q_d + φ(g(q_d))

g contains parallel springs, and φ is the deflection of the springs that carry it; at a rigid joint θ = q and φ = 0.
Where a transmission couples joints, θ_d = T q_d + T_b φ(T_a⁻ᵀg), and g becomes T⁻ᵀg.  The law measures motor positions
and velocities only.  Every goal is globally stable if K_D > 0 and K_P and the joint stiffness K exceed the steepest
change of gravity: λ_min [[K, −K], [−K, K + K_P]] > |∂g/∂q|.  A moving reference is followed with a lag.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..dynamics.drivetrain.coupling import at_springs, by_deflection, on_motors, undeflected
from ..dynamics.drivetrain.springs import spring_motion
from ..dynamics.links import static_torque
from ..robot import Robot
from ..spatial import ca
from ..types import Expression, FloatArray, Stack
from .base import Controller, Gain, JointState, LawResult, Registration

PD_GAINS = (
    Gain("K_P", "Nm/rad | N/m", "feedback of the motor position"),
    Gain("K_D", "Nm s/rad | N s/m", "feedback of the motor velocity"),
)


@dataclass(frozen=True, eq=False, repr=False)
class MotorPD(Controller):
    """PD control of the motors with gravity compensation, to regulate a constant goal.

    Args:
        robot: The model, rigid and elastic joints in any mix, with one motor per joint.
        gains: [K_P, K_D], each a number or one per joint (n,), none negative: the feedback of motor position, Nm/rad or
            N/m, and of motor velocity, Nm s/rad or N s/m.

    Raises:
        InputError: A joint has two motors, or the gains have a wrong shape or sign.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("hua_3r")
        >>> controller = fj.control.MotorPD(robot, [500.0, 50.0])
        >>> controller
        MotorPD('hua_3r', K_P=500, K_D=50)
        >>> start = fj.simulation.at_rest(robot, [0.0, 0.0, 0.0])
        >>> run = fj.simulate(robot, controller, [0.3, 0.6, -0.9], 3.0, period=1e-3, start=start)
        >>> bool(abs(run.error[-1]).max() < 1e-3)
        True
    """

    robot: Robot
    gains: FloatArray
    registration: ClassVar[Registration] = Registration(
        "motor_pd", "regulation: PD of the motors, gravity compensation", gains=PD_GAINS
    )

    @property
    def order(self) -> int:
        return 0

    def law(self, gains: Stack, state: Stack, reference: Stack, measurement: JointState) -> LawResult:
        K_P, K_D = gains
        return state, motor_regulation(self.robot, K_P, K_D, reference[0], measurement.theta, measurement.theta_v)


def motor_regulation(
    robot: Robot, K_P: Expression, K_D: Expression, q_d: Expression, theta: Expression, theta_v: Expression
) -> Expression:
    """Motor torque K_P (θ_d − θ) − K_D θ' + g(q_d)  [Tomei], g with the torque of parallel springs."""
    g = static_torque.function(robot, q_d)
    tau_e = at_springs(robot, g)
    phi = ca.vertcat(*[spring_motion(joint, [tau_e[i], 0, 0])[0] for i, joint in enumerate(robot.joints)])
    theta_d = undeflected(robot, q_d) + by_deflection(robot, phi)
    return K_P * (theta_d - theta) - K_D * theta_v + on_motors(robot, tau_e)
