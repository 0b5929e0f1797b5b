"""Spring torques from motor encoders: a momentum observer of the motors  [Haddadin].

    B θ'' = τ − τ_f − τ_e,   τ̂_e' = K (τ_e − τ̂_e)

The spring torque τ_e is the unknown input of the motor's momentum balance, with motor inertia B and friction τ_f.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ..checks import positive
from ..dynamics.drivetrain.friction import friction
from ..dynamics.requirements import require, unloaded_motors
from ..robot import Robot
from ..spatial import sx
from ..types import Expression
from .base import Measurement
from .momentum import MAX_GAP, motors_behind_springs
from .residual import Balance, Residual, check_residual

known_friction = unloaded_motors(
    "the spring torque that is to be found from it",
    "measure the deflections or the torques (JointTorqueResidual), or give the motor friction.at_load(mean torque)",
)


@dataclass(frozen=True, eq=False, repr=False)
class SpringTorqueObserver(Residual):
    """The torque of each motor's spring, filtered: K/(s + K) τ_e.

    It reads theta and theta_v.  Outputs: `spring` (m,), Nm or N, the motor torque where the motor turns with the link;
    `status`, see `Status`; `blind`, the time in s since the last new estimate.

    Args:
        robot: The model.
        cutoff: K, rad/s.
        period: Time between two calls, s; 1e-3 by default.
        max_gap: Longest time between two samples that is bridged, s; 0.05 by default.

    Raises:
        InputError: A number is not positive, or the friction of a motor depends on the load.
    """

    robot: Robot
    cutoff: float
    period: float = 1e-3
    max_gap: float = MAX_GAP
    reads: ClassVar[tuple[str, ...]] = ("theta", "theta_v")
    starts_at_zero: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_residual(self)
        positive("SpringTorqueObserver", "cutoff", self.cutoff)
        require("SpringTorqueObserver", self.robot, known_friction)

    @property
    def channels(self) -> dict[str, int]:
        return {"spring": self.robot.motor_count}

    @property
    def position_count(self) -> int:
        return self.robot.motor_count

    def balance(self, measurement: Measurement) -> Balance:
        motors = motors_behind_springs(self.robot)
        B = sx([motor.inertia for motor in motors])
        # p = −B θ': its unknown input is τ_e
        return Balance(-B * measurement.theta_v, friction(motors, [measurement.theta_v], 0)[0], measurement.theta)

    def motor_input(self, torque: Expression) -> Expression:
        return -torque
