"""A push: a force on a link for a short time, a half-sine pulse.

Force, time and duration are inputs of the kernel, so that pushes of one link share it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import finite, positive
from ..control.base import JointState
from ..errors import InputError
from ..spatial import ca, sx
from ..types import Expression, FloatArray, Scalar

NUMBERS = 5  # force (3,), time, duration


@dataclass(frozen=True)
class Push:
    """A contact for `simulate`: a half-sine force F sin(π (t − time)/duration) from `time` to `time` + `duration`.

    Simulations with other values of force, time and duration share one kernel.

    Args:
        link: Name of the link, such as robot.tool.
        force: Largest force, (3,), N, base coordinates; it acts on the origin of the link's frame.
        time: Beginning, s.
        duration: s; default 0.1.

    Raises:
        InputError: A number is not finite, or the duration is not positive.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("hua_3r")
        >>> push = fj.simulation.Push(robot.tool, [0.0, 0.0, -40.0], time=0.1, duration=0.05)
        >>> run = fj.simulate(robot, fj.control.MotorPD(robot, [400.0, 40.0]), [0.1] * 3, 0.2, contact=push)
        >>> run.t.size
        201
    """

    link: str
    force: tuple[float, float, float]
    time: float
    duration: float = 0.1

    def __post_init__(self) -> None:
        force = finite("Push", "force", self.force)
        if force.shape != (3,):
            raise InputError(f"Push: force has shape {force.shape}; give three numbers, N, in base coordinates")
        object.__setattr__(self, "force", tuple(force.tolist()))
        object.__setattr__(self, "time", float(finite("Push", "time", self.time)))
        object.__setattr__(self, "duration", float(positive("Push", "duration", self.duration)))

    @property
    def numbers(self) -> FloatArray:
        """Force, time and duration, (5,)."""
        return np.array([*self.force, self.time, self.duration])

    def __call__(self, t: Scalar, state: JointState) -> Mapping[str, Expression]:
        """The wrench by link, in SX."""
        return {self.link: push_wrench(t, sx(self.numbers))}

    def force_at(self, t: Any) -> FloatArray:
        """The force, (..., 3), N, at times t (...), for pictures."""
        phase = (np.asarray(t, dtype=float)[..., None] - self.time) / self.duration
        return np.where((phase >= 0) & (phase <= 1), np.sin(np.pi * phase), 0.0) * np.array(self.force)


@dataclass(frozen=True)
class PushedLink:
    """What a push is without its numbers: a contact of a ClosedLoop."""

    link: str

    def __call__(self, t: Scalar, state: JointState) -> Mapping[str, Expression]:
        """No force: what checks of stability see."""
        return {self.link: sx(np.zeros(6))}

    def pushed(self, numbers: Expression) -> Any:
        """The contact with the numbers of a push, (5, 1)."""
        return lambda t, state: {self.link: push_wrench(t, numbers)}


def push_wrench(t: Scalar, numbers: Expression) -> Expression:
    """The wrench (6, 1) of a push at a time."""
    phase = (t - numbers[3]) / numbers[4]
    within = ca.logic_and(phase >= 0, phase <= 1)
    size = ca.if_else(within, ca.sin(math.pi * ca.if_else(within, phase, 0)), 0)
    return ca.vertcat(numbers[:3] * size, sx(np.zeros(3)))
