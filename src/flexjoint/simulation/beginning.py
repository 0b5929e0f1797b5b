"""Where a run begins: at rest on its reference, at a given state, or where another run ended."""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

from ..control.base import Controller, JointState
from ..errors import NOT_NUMBERS, InputError
from ..robot import Robot
from .loop import Setup
from .reference import Reference
from .rest import resting
from .result import Simulation


class Beginning(NamedTuple):
    """State of the robot, memory of controller and instruments, and periods that are over."""

    state: JointState
    memory: Any
    instruments: Sequence[Any]
    begin: int


def beginning(start: Any, setup: Setup, controller: Any, wanted: Reference) -> Beginning:
    """Where an earlier simulation ended, at a given state, or at rest on the reference."""
    robot = setup.robot
    if isinstance(start, Simulation):
        if (start.robot.n, start.robot.motor_count, start.period) != (robot.n, robot.motor_count, setup.period):
            raise InputError("simulate: start is a simulation of another number of joints or motors, or another period")
        if np.any(start.diverged):
            raise InputError("simulate: start is a simulation that diverged; there is nothing to continue")
        if isinstance(controller, Controller) and widths(start.memory) != [*controller.memory_sizes]:
            raise InputError(
                f"simulate: start is a simulation under another controller, {start.provenance.get('controller')}, "
                f"whose memory does not suit {type(controller).__name__}; begin anew at its last state, start=run.last"
            )
        begin = int(np.max(start.periods))
        instruments = start.instruments
        if widths(instruments) != setup.instruments.sizes(robot).flat:
            instruments = setup.instruments.start(robot, start.last, start.tau[..., -1, :]).flat
        # A controller in Python may write into its memory: that of the earlier run stays as it is.
        return Beginning(contiguous(start.last), deepcopy(start.memory), instruments, begin)
    remembers = bool(controller.memory_sizes) if isinstance(controller, Controller) else hasattr(controller, "start")
    stack: Any = wanted(np.zeros(())) if remembers or start is None else ()
    memory = controller.start(stack) if remembers else ()
    state = resting(robot, controller, stack[0]) if start is None else given_state(start, robot)
    return Beginning(contiguous(state), memory, setup.instruments.start(robot, state).flat, 0)


def widths(arrays: Any) -> list[int] | None:
    """How many numbers each of several arrays (..., size) has; None of anything else."""
    try:
        return [np.shape(x)[-1] for x in arrays]
    except (TypeError, IndexError):
        return None


def contiguous(state: JointState) -> JointState:
    return JointState(*(np.array(x, dtype=float, order="C") for x in state))


def given_state(start: Any, robot: Robot) -> JointState:
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
