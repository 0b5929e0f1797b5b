"""Tracking by feedback linearization as a controller with a sampling period  [EJNEA sec. IV].

The law itself, with gains and reference, is one kernel (`linearizing_control`).  Robots whose joints do not all answer
their motors after the same number of derivatives need integrators in the controller: the torques of rigid joints, and
the torque rates of damped springs beside undamped ones.  Between samples the derivative that these integrate is
constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..algorithms.elastic import needed_order
from ..algorithms.feedback_linearization import chain_length, held_torques, linearizing_control
from ..algorithms.newton_euler import torque_derivatives
from ..api import compile
from ..compiler.kernel import Kernel
from ..errors import InputError
from ..robot import Robot
from .gains import check_gains, positive


class JointState(NamedTuple):
    """What is measured or estimated: positions and velocities of links and motors."""

    q: Any
    v: Any
    theta: Any
    theta_v: Any


class ControllerState(NamedTuple):
    """The torques on the links that the controller integrates, and their rates; see `linearizing_control`."""

    tau_e: Any
    tau_e_v: Any


@dataclass(frozen=True, eq=False)
class FeedbackLinearization:
    """q⁽ʳ⁾ = q_d⁽ʳ⁾ + Σ K_k (q_d⁽ᵏ⁾ − q⁽ᵏ⁾), r = `chain_length(robot)`, with `gains` (r,) or (r, n), every `period`.

    `controller(state, reference, measurement)` returns the next state and the motor torque; the reference is a stack
    [q_d, q_d', ... q_d⁽ʳ⁾], as trajectories give it.  Check the period against `sampling_period_limit`.
    """

    robot: Robot
    gains: np.ndarray
    period: float
    kernel: Kernel = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.robot, Robot):
            raise InputError(f"FeedbackLinearization: robot must be a Robot, not {type(self.robot).__name__}")
        positive("FeedbackLinearization", "period", self.period)
        length = chain_length(self.robot)
        object.__setattr__(self, "gains", check_gains(self.gains, length, self.robot.n))
        tracking = {"reference": length + 1, "gains": length}
        object.__setattr__(self, "kernel", compile(linearizing_control, self.robot, tracking=tracking))

    def start(self, reference: Sequence[Any]) -> ControllerState:
        """The state that belongs to the motion [q_d, q_d', ...]: the torques it takes."""
        order = needed_order(self.robot) - 2
        stack = self.stack(reference)
        tau = [*torque_derivatives(self.robot, *stack, order=order), np.zeros(self.robot.n)]
        return ControllerState(tau[0], tau[1])

    def __call__(
        self, state: ControllerState, reference: Sequence[Any], measurement: JointState
    ) -> tuple[ControllerState, np.ndarray]:
        tau, top = self.kernel(*measurement, *state, *self.stack(reference), *self.gains)
        return self.integrated(state, top), tau

    def integrated(self, state: ControllerState, top: np.ndarray) -> ControllerState:
        """The state a period later; zero where nothing is held."""
        h = self.period
        rates = [state.tau_e_v, top] if len(self.gains) == 4 else [top, 0 * top]
        ahead = (state.tau_e + h * rates[0] + h * h / 2 * rates[1], state.tau_e_v + h * rates[1])
        state = ControllerState(*np.zeros((2, self.robot.n)))
        for column, x, joints in zip(state, ahead, held_torques(self.robot)):
            column[joints] = x[joints]
        return state

    def stack(self, reference: Sequence[Any]) -> Sequence[Any]:
        length = len(self.gains)
        if len(reference) <= length:
            raise InputError(
                f"FeedbackLinearization: the reference has {len(reference) - 1} derivatives, the law needs {length}: "
                f"call the trajectory with order={length}"
            )
        return reference[: length + 1]
