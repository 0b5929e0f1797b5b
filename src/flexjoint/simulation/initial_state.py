"""Where a run begins: at rest on its reference, at a given state, or where another run ended."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

from ..control.base import Controller, JointState
from ..errors import NOT_NUMBERS, InputError
from ..robot import Robot
from ..types import FloatArray
from .closed_loop import ClosedLoop
from .equilibrium import resting
from .records import flatten
from .reference import Reference
from .result import Simulation


class InitialState(NamedTuple):
    """The state of the robot, those of controller and instruments, and how many periods are over.

    `torque` is that of the motors before instruments that begin anew; None for instruments that go on.
    """

    state: JointState
    memory: Any  # of the controller: arrays, or anything if it is a Python function
    instruments: Sequence[FloatArray]
    begin: int
    torque: Any = None

    def with_parameters(self, loop: ClosedLoop, free: Sequence[FloatArray]) -> InitialState:
        """With instruments that see the robot as it is with these values of `loop.free`."""
        if self.torque is None or not loop.free:
            return self
        instruments = loop.instrumentation.start(loop.robot, self.state, self.torque, dict(zip(loop.free, free)))
        return self._replace(instruments=flatten(instruments))


def initial_state(start: Any, loop: ClosedLoop, controller: Any, reference: Reference) -> InitialState:
    """Where an earlier simulation ended, at a given state, or at rest on the reference if `start` is None."""
    if isinstance(start, Simulation):
        return continued(start, loop, controller)
    remembers = bool(controller.memory_sizes) if isinstance(controller, Controller) else hasattr(controller, "start")
    stack: Any = reference(np.zeros(())) if remembers or start is None else ()
    memory = controller.start(stack) if remembers else ()
    state = resting(loop.robot, controller, stack[0]) if start is None else given_state(start, loop.robot)
    return InitialState(contiguous(state), memory, flatten(loop.instrumentation.start(loop.robot, state)), 0, 0.0)


def continued(start: Simulation, loop: ClosedLoop, controller: Any) -> InitialState:
    """Where an earlier simulation ended."""
    robot = loop.robot
    if (start.robot.n, start.robot.motor_count, start.period) != (robot.n, robot.motor_count, loop.period):
        raise InputError("simulate: start is a simulation of another number of joints or motors, or another period")
    if np.any(start.diverged):
        raise InputError("simulate: start is a simulation that diverged; there is nothing to continue")
    if isinstance(controller, Controller) and widths(start.memory) != [*controller.memory_sizes]:
        raise InputError(
            f"simulate: start is a simulation under another controller, {start.provenance.get('controller')}, "
            f"whose memory does not suit {type(controller).__name__}; begin anew at its last state, start=run.last"
        )
    instruments, torque = start.instruments, None
    if widths(instruments) != flatten(loop.instrumentation.sizes(robot)):
        torque = start.tau[..., -1, :]
        instruments = flatten(loop.instrumentation.start(robot, start.last, torque))
    # A controller in Python may write into its memory: that of the earlier run stays as it is.
    return InitialState(contiguous(start.last), deepcopy(start.memory), instruments, int(np.max(start.periods)), torque)


def widths(arrays: Any) -> list[int] | None:
    """How many numbers each of several arrays (..., size) has; None for anything else."""
    try:
        return [np.shape(x)[-1] for x in arrays]
    except (TypeError, IndexError):
        return None


def contiguous(state: JointState) -> JointState:
    """Copies of the arrays."""
    return JointState(*(np.array(x, dtype=float, order="C") for x in state))


def given_state(start: Any, robot: Robot) -> JointState:
    """The argument `start`, checked; the motors of rigid joints are at their links."""
    try:
        state = JointState(*(np.asarray(x, dtype=float) for x in start))
    except NOT_NUMBERS:
        raise InputError("simulate: start must be a JointState (q, v, theta, theta_v) or a Simulation") from None
    for name, x in zip(JointState._fields, state):
        size = robot.n if name in ("q", "v") else robot.motor_count
        if x.shape[-1:] != (size,) or not np.isfinite(x).all():
            raise InputError(f"simulate: start.{name} has shape {x.shape}; it must be (..., {size}) finite numbers")
    return tied(robot, state)


def tied(robot: Robot, state: JointState) -> JointState:
    """The state with motors of rigid joints at their links."""
    joints = list(robot.motor_joints)
    elastic = np.array(robot.compliant)[joints]
    theta, theta_v = (
        np.where(elastic, motor, link[..., joints])
        for motor, link in ((state.theta, state.q), (state.theta_v, state.v))
    )
    return JointState(state.q, state.v, theta, theta_v)
