"""Tracking by feedback linearization as a controller with a sampling period  [EJNEA sec. IV].

The law itself, with gains and reference, is one kernel (`linearizing_control`).  Robots whose joints do not all answer
their motors after the same number of derivatives need integrators in the controller: the torques of rigid joints, and
the torque rates of damped springs beside undamped ones.  Between samples the derivative that these integrate is
constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..checks import positive
from ..dynamics.linearization import chain_length, held_torques, uncoupled_motors
from ..dynamics.links import torque_derivatives
from ..dynamics.requirements import require
from ..robot import Robot
from ..spatial import sx
from .base import Controller, JointState, with_one_motor_a_joint
from .gains import check_gains
from .laws.linearizing import linearizing_control


class ControllerState(NamedTuple):
    """The torques on the links that the controller integrates, and their rates; see `linearizing_control`."""

    tau_e: Any
    tau_e_v: Any


@dataclass(frozen=True, eq=False)
class FeedbackLinearization(Controller):
    """q⁽ʳ⁾ = q_d⁽ʳ⁾ + Σ K_k (q_d⁽ᵏ⁾ − q⁽ᵏ⁾), r = `chain_length(robot)`, with `gains` (r,) or (r, n), every `period`.

    `controller(state, reference, measurement)` returns the next state and the motor torque; the reference is a stack
    [q_d, q_d', ... q_d⁽ʳ⁾], as trajectories give it.  Check the period against `sampling_period_limit`.
    """

    robot: Robot
    gains: np.ndarray
    period: float
    memory: ClassVar[int] = 2

    def __post_init__(self) -> None:
        robot = with_one_motor_a_joint(self)
        require("FeedbackLinearization", robot, uncoupled_motors)
        positive("FeedbackLinearization", "period", self.period)
        object.__setattr__(self, "gains", check_gains(self.gains, chain_length(robot), robot.n))

    @cached_property
    def order(self) -> int:
        return chain_length(self.robot)

    def start(self, reference: Sequence[Any]) -> ControllerState:
        """The state that belongs to the motion [q_d, q_d', ...]: the torques it takes."""
        tau = torque_derivatives(self.robot, *self.stack(reference), order=self.order - 2)
        return ControllerState(*self.held([*tau, np.zeros_like(tau[0])]))

    def law(self, gains: Sequence[Any], state: Any, reference: Sequence[Any], measurement: JointState) -> tuple:
        tracking = {"reference": reference, "gains": gains}
        tau, top = linearizing_control.function(self.robot, *measurement, *state, tracking=tracking)
        h, (tau_e, tau_e_v) = self.period, state
        rates = [tau_e_v, top] if self.order == 4 else [top, 0 * top]
        ahead = (tau_e + h * rates[0] + h * h / 2 * rates[1], tau_e_v + h * rates[1])
        return ControllerState(*self.held(ahead)), tau

    def held(self, torques: Sequence[Any]) -> list[Any]:
        """The torques and their rates where the controller integrates them, zero elsewhere."""
        chosen = [np.isin(np.arange(self.robot.n), joints) for joints in held_torques(self.robot)]
        return [x * (mask if isinstance(x, np.ndarray) else sx(mask)) for x, mask in zip(torques, chosen)]
