"""A simulated robot over the wire: `serve` sends its state by UDP and takes torques, in real time or in lock step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..checks import finite, positive, whole
from ..errors import InputError, shown
from ..robot import Robot, a_robot
from .served import MotorFault, Served
from .served_robot import Simulated, in_lock_step, in_real_time
from .wire import Wire, listening


def serve(
    robot: Robot,
    duration: float | None = None,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    period: float = 1e-3,
    lock_step: bool = False,
    q: Any = None,
    stiffness: Any = None,
    substeps: int = 1,
    loss: float = 0.0,
    delay: int = 0,
    faults: Sequence[MotorFault] = (),
    seed: int = 0,
    record: bool = False,
    ready: Callable[[str, int], None] | None = None,
) -> Served:
    """Simulate a robot whose torques come by UDP, and send its state every period.

    The controller greets first; the robot then sends state 0 and begins.  Every period it sends its state, and at the
    end of the period the torque of the newest command acts during the next one: in real time the one that has come by
    then, in lock step the answer to this state.  In lock step the torque acts in the period of its state, as in
    `simulate`.

    Args:
        robot: Any robot that `simulate` takes.
        duration: Simulated time, s; by default until Ctrl-C.
        host: Address to listen at, on this machine alone by default.
        port: UDP port; 0, the default, is any that is free.
        period: Time between two states, s; default 1e-3.
        lock_step: Whether to wait for the answer to every state, instead of real time; default False.
        q: Link positions (n,) at the beginning, rad or m; default 0.
        stiffness: Of joints with two motors at the beginning, Nm/rad or N/m.
        substeps: Integration steps per period; default 1.
        loss: Share of packets, 0 to 1, that are dropped in each direction; default 0.
        delay: Periods by which states arrive late; default 0.
        faults: Motors that give less than their torque; default none.
        seed: Of the packets that are dropped; default 0.
        record: Whether states and torques are kept; default False.
        ready: Called with host and port when the robot listens; default nothing.

    Returns:
        What happened.

    Raises:
        InputError: An argument is wrong, or the port is taken.

    Example:
        >>> import flexjoint as fj
        >>> fj.deployment.serve(fj.load("hua_3r"), 0.0).periods
        0
    """
    a_robot("serve", robot)
    positive("serve", "period", period)
    if duration is not None and not float(finite("serve", "duration", duration)) >= 0:
        raise InputError(f"serve: duration is {shown(duration)}; it must be a time in s, 0 or longer")
    end = None if duration is None else round(float(duration) / period)
    if not 0.0 <= float(finite("serve", "loss", loss)) < 1.0:
        raise InputError(f"serve: loss is {shown(loss)}; it must be a share from 0 to below 1")
    whole("serve", "delay", delay, 0, 1000)
    for fault in faults:
        whole("serve", "motor of a fault", fault.motor, 0, robot.motor_count - 1)
    plant = Simulated(robot, period, q, stiffness, substeps, tuple(faults))
    with listening(host, port) as channel:
        if ready is not None:
            ready(*channel.getsockname()[:2])
        wire = Wire(channel, robot.motor_count, loss, np.random.default_rng(seed))
        loop = in_lock_step if lock_step else in_real_time
        return loop(plant, wire, end, int(delay), record)
