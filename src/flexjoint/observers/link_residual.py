"""The momentum residual of the links from joint torque sensors, without motor torques  [Haddadin].

p = M v,   p' = Cᵀv − g − friction + τ_e + u
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from ..dynamics.drivetrain.coupling import on_links
from ..dynamics.drivetrain.load_friction import remaining_torque
from ..dynamics.requirements import require, spong_rotors
from ..robot import Robot
from ..spatial import zeros
from ..types import Expression
from .base import Measurement
from .momentum import MAX_GAP, link_balance
from .residual import Balance, Residual, check_residual


@dataclass(frozen=True, eq=False, repr=False)
class LinkResidual(Residual):
    """The external torque on the links, filtered, from their motion and the torques of their transmissions.

    Motor torques do not enter, so it shows collisions and loads and no actuator fault.  It reads q, v and tau_e, the
    torque on the link at every joint, or of the spring where a transmission couples joints.  At a rigid joint without
    sensor tau_e is the motor torque, and the motor inertia counts as part of the link's.

    Outputs: `link` (n,), Nm or N; `status`, see `Status`; `blind`, the time in s since the last new residual.

    Args:
        robot: The model.
        cutoff: K, rad/s, a positive number or one per joint (n,).
        period: Time between two calls, s; 1e-3 by default.
        max_gap: Longest time between two samples that is bridged, s; 0.05 by default.

    Raises:
        InputError: A number is not positive, or rotors couple to other links.

    Example:
        >>> import flexjoint as fj
        >>> fj.observers.LinkResidual(fj.load("kuka_lwr"), cutoff=50.0).outputs
        {'link': 7, 'status': 1, 'blind': 1}
    """

    robot: Robot
    cutoff: Any
    period: float = 1e-3
    max_gap: float = MAX_GAP
    reads: ClassVar[tuple[str, ...]] = ("q", "v", "tau_e")
    causes: ClassVar[Mapping[str, str]] = {"link": "collision or load"}

    def __post_init__(self) -> None:
        check_residual(self, "cutoff")
        require("LinkResidual", self.robot, spong_rotors("takes part in the momentum of the links"))

    @property
    def channels(self) -> dict[str, int]:
        return {"link": self.robot.n}

    @property
    def reads_torque(self) -> bool:
        return False

    def balance(self, measurement: Measurement) -> Balance:
        return transmission_balance(self.robot, measurement.q, measurement.v, measurement.tau_e)

    def motor_input(self, torque: Expression) -> Expression:
        return zeros(self.robot.n)


def transmission_balance(robot: Robot, q: Expression, v: Expression, tau_e: Expression) -> Balance:
    """The balance of the links under the torques of their transmissions."""
    links = link_balance(robot, q, v)
    left = remaining_torque(robot, [v], [on_links(robot, tau_e)])[0]
    return links._replace(rate=links.rate + left)
