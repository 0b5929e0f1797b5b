"""Regulation by feedback of motor position and velocity, joint torque and its rate  [AlbuSchaeffer].

    τ = (1 + K_T) u − K_T τ_e − K_S τ_e',   u = K_P (θ_d − θ) − K_D θ' + g(q_d)

Torque feedback reduces the apparent motor inertia: with K_S = 0 the closed loop is that of `MotorPD`, the law u, on a
robot with motors of inertia B/(1 + K_T), and Tomei's stability condition holds unchanged.  K_S damps the springs.  The
paper compensates gravity at the measured position, this law at the goal.  A rigid joint has no spring torque to feed
back and is under u alone.  Of joints that share a transmission τ_e is what each motor feels, T_b⁻ᵀτ_e.  The law
measures positions and velocities of links and motors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..dynamics.drivetrain.coupling import deflections, on_motors
from ..dynamics.drivetrain.springs import spring_torque
from ..robot import Robot
from ..spatial import ca
from ..types import FloatArray, Stack
from .base import Controller, Gain, JointState, LawResult, Registration
from .motor_pd import PD_GAINS, motor_regulation


@dataclass(frozen=True, eq=False, repr=False)
class FullStateFeedback(Controller):
    """Feedback of the full state of elastic joints, to regulate a constant goal.

    Args:
        robot: The model, rigid and elastic joints in any mix, with one motor per joint.
        gains: [K_P, K_D, K_T, K_S], each a number or one per joint (n,), none negative: the feedback of motor position,
            Nm/rad or N/m, of motor velocity, Nm s/rad or N s/m, of joint torque, 1, and of its rate, s.

    Raises:
        InputError: A joint has two motors, or the gains have a wrong shape or sign.

    Example:
        >>> import flexjoint as fj
        >>> fj.control.FullStateFeedback(fj.load("kuka_lwr"), [2000.0, 100.0, 1.0, 0.002])
        FullStateFeedback('kuka_lwr', K_P=2000, K_D=100, K_T=1, K_S=0.002)
    """

    robot: Robot
    gains: FloatArray
    registration: ClassVar[Registration] = Registration(
        "full_state_feedback",
        "regulation with feedback of joint torques",
        gains=(
            *PD_GAINS,
            Gain("K_T", "1", "feedback of the joint torque"),
            Gain("K_S", "s", "feedback of the rate of the joint torque"),
        ),
    )

    @property
    def order(self) -> int:
        return 0

    def law(self, gains: Stack, state: Stack, reference: Stack, measurement: JointState) -> LawResult:
        K_P, K_D, K_T, K_S = gains
        q, v, theta, theta_v = measurement
        u = motor_regulation(self.robot, K_P, K_D, reference[0], theta, theta_v)
        phi, phi_v = deflections(self.robot, q, theta), deflections(self.robot, v, theta_v)
        springs = [spring_torque(joint, phi[i], phi_v[i]) for i, joint in enumerate(self.robot.joints)]
        tau_e, tau_e_v = (on_motors(self.robot, ca.vertcat(*x)) for x in zip(*springs))  # as the motors feel them
        tau = []
        for i, compliant in enumerate(self.robot.compliant):
            factor = 1 + K_T[i] if compliant else 1
            tau.append(factor * u[i] - K_T[i] * tau_e[i] - K_S[i] * tau_e_v[i])
        return state, ca.vertcat(*tau)
