"""An observer of friction that needs no friction model  [LeTien].

Its output is the motor residual of the robot without friction, with the opposite sign.  Added to the commanded torque
it compensates friction.  With joint torque sensors a collision, which acts on the link, does not show in it; at a rigid
joint it does.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..dynamics.drivetrain.coupling import at_springs
from ..dynamics.requirements import lossless_gears, require
from ..robot import Robot
from ..spatial import ca
from ..types import Expression
from .base import Measurement
from .momentum import MAX_GAP, JointTorqueResidual
from .residual import TransferFunction, check_residual
from .timed import StepResult, TimedObserver


@dataclass(frozen=True, eq=False, repr=False)
class FrictionObserver(TimedObserver):
    """The friction torque at each motor, filtered: f̂' = K (f − f̂).

    At an elastic joint it is the friction of the motor, at a rigid one that of motor and joint.  It reads the same as
    `JointTorqueResidual`.  Outputs: `friction` (m,), Nm or N; `status`, see `Status`; `blind`, the time in s since
    the last new estimate.

    Args:
        robot: The model; its friction is ignored.
        cutoff: K, rad/s, a positive number or one per joint (n,).
        period: Time between two calls, s; 1e-3 by default.
        max_gap: Longest time between two samples that is bridged, s; 0.05 by default.
        sensors: Whether joint torques tau_e are measured, as by default; otherwise deflections give them.

    Raises:
        InputError: A number is not positive; or a gear has hysteresis or backlash, and no torques are measured.

    Example:
        >>> import flexjoint as fj
        >>> fj.observers.FrictionObserver(fj.load("kuka_lwr"), cutoff=100.0).outputs
        {'friction': 7, 'status': 1, 'blind': 1}
    """

    robot: Robot
    cutoff: Any
    period: float = 1e-3
    max_gap: float = MAX_GAP
    sensors: bool = True

    def __post_init__(self) -> None:
        check_residual(self, "cutoff")
        if not self.sensors:
            require("FrictionObserver", self.robot, lossless_gears)

    @cached_property
    def residual(self) -> JointTorqueResidual:
        """The residual of the robot without friction."""
        smooth = self.robot.without_friction()
        return JointTorqueResidual(smooth, self.cutoff, self.cutoff, self.period, self.max_gap, self.sensors)

    @property
    def reads(self) -> tuple[str, ...]:
        return self.residual.reads

    @property
    def channels(self) -> dict[str, int]:
        return {"friction": self.robot.motor_count}

    @property
    def outputs(self) -> dict[str, int]:
        return {**self.channels, "status": 1, "blind": 1}

    @property
    def memory(self) -> tuple[int, ...]:
        return self.residual.memory

    def transfer_function(self, channel: int = 0) -> TransferFunction:
        """The filter from the friction of a motor to its estimate: K/(s + K)."""
        return self.residual.transfer_function(self.robot.motor_joints[channel])

    def step(self, state: Expression, h: Expression, measurement: Measurement, torque: Expression) -> StepResult:
        after, found = self.residual.step(state, h, measurement, torque)
        behind = [self.robot.compliant[i] for i in self.robot.motor_joints]
        rigid = at_springs(self.robot, found["link"])
        lost = [-(found["motor"] if spring else rigid)[k] for k, spring in enumerate(behind)]
        return after, {"friction": ca.vertcat(*lost), "status": found["status"], "blind": found["blind"]}
