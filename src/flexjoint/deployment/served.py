"""Motor faults, which `serve` takes, and the record of a run, which it returns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..types import FloatArray


class MotorFault(NamedTuple):
    """A motor that gives a share of its torque from a time on.

    Args:
        motor: Its number, from 0.
        share: 0 for a motor that fails, 0.5 for half of the torque.
        begin: Time, s; default 0.
    """

    motor: int
    share: float
    begin: float = 0.0


@dataclass
class Served:
    """What happened in a run of `serve`.

    Args:
        periods: Periods simulated.
        late: Periods that ended after their deadline by more than a period; in real time only.
        lateness: Time, s, by which each period ended after its deadline, (periods,); in real time only.
        held: Periods without a new command: the torque before was held.
        released: Periods without torque, because no command had come for long.
        limited: Periods whose command was cut off at a limit of torque or torque rate of the motors.
        malformed, foreign, replayed: Packets that were ignored: no command, from another address, or answering no state
            that waits for an answer.
        lost: Packets that were dropped on purpose.
        history: States (periods, numbers) before each period: q, v, theta, theta_v, tau_e; empty unless asked for.
        torques: Torques (periods, motors) that acted; empty unless asked for.
        state: State at the end, by name.
    """

    periods: int = 0
    late: int = 0
    lateness: FloatArray = field(default_factory=lambda: np.zeros(0))
    held: int = 0
    released: int = 0
    limited: int = 0
    malformed: int = 0
    foreign: int = 0
    replayed: int = 0
    lost: int = 0
    history: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    torques: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    state: dict[str, FloatArray] = field(default_factory=dict)
