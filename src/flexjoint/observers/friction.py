"""An observer of friction: what the motors lose on their way, without a model of it  [LeTien].

It is the residual of the motors of a robot whose friction is not known, with the other sign.  Added to the command it
compensates friction.  With joint torque sensors a collision, which acts on the link, does not show in it; at a rigid
joint it does.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..drives import ElasticDrive, RigidDrive, VariableStiffnessDrive
from ..robot import Link, Robot
from ..spatial import ca
from .base import Measurement
from .momentum import LONGEST, JointTorqueResidual
from .residual import TransferFunction
from .timed import TimedObserver


@dataclass(frozen=True, eq=False, repr=False)
class FrictionObserver(TimedObserver):
    """The torque of friction at each motor, f̂' = K (f − f̂): at elastic joints that of the motor alone.

    `cutoff` is K in rad/s, a number or one a joint.  What the robot says of friction is ignored.  Outputs: `friction`
    (motors,), `status`, `blind`.
    """

    robot: Robot
    cutoff: Any
    period: float = 1e-3
    longest: float = LONGEST
    sensors: bool = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "cutoff", self.residual.link_cutoff)

    @cached_property
    def residual(self) -> JointTorqueResidual:
        smooth = without_friction(self.robot)
        return JointTorqueResidual(smooth, self.cutoff, self.cutoff, self.period, self.longest, self.sensors)

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
        return self.residual.transfer_function(self.robot.motor_joints[channel])

    def step(self, state: Any, h: Any, measurement: Measurement, torque: Any) -> tuple[Any, dict[str, Any]]:
        after, found = self.residual.step(state, h, measurement, torque)
        behind = [self.robot.compliant[i] for i in self.robot.motor_joints]
        lost = [-(found["motor"] if spring else found["link"])[k] for k, spring in enumerate(behind)]
        return after, {"friction": ca.vertcat(*lost), "status": found["status"], "blind": found["blind"]}


def without_friction(robot: Robot) -> Robot:
    """The same robot, joints and motors running freely."""
    return robot.replace(links=tuple(map(freed, robot.links)))


def freed(link: Link) -> Link:
    drive = link.joint.drive
    if isinstance(drive, RigidDrive | ElasticDrive):
        drive = dataclasses.replace(drive, motor=running_freely(drive.motor))
    elif isinstance(drive, VariableStiffnessDrive):
        one, two = map(running_freely, drive.motors)
        drive = dataclasses.replace(drive, motor_1=one, motor_2=two)  # type: ignore[type-var]
    return dataclasses.replace(link, joint=dataclasses.replace(running_freely(link.joint), drive=drive))


def running_freely(item: Any) -> Any:
    """A joint or a motor without friction."""
    return dataclasses.replace(item, viscous_friction=0.0, coulomb_friction=0.0)
