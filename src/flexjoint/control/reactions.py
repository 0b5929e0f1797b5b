"""What a robot does after an alarm: three torques, and a controller that changes to one of them  [Haddadin sec. VIII].

A reaction is a small law of its own.  `Guarded` runs a controller and a detector side by side, in one kernel, and
hands the motors to the reaction at an alarm, or when the detector has been blind for too long.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import gain_rows, positive
from ..compiler.ir.scan import mapped
from ..compiler.ir.trace import declared
from ..dynamics.links import gravity_torque
from ..dynamics.requirements import constant_stiffness, require
from ..errors import InputError
from ..observers.base import Measurement
from ..observers.detector import Detector
from ..robot import Robot
from ..spatial import ca, sx
from .base import Around, Controller, JointState, torque_array


class Reaction(ABC):
    """A torque for the motors of `robot`; subclasses are frozen dataclasses."""

    robot: Robot

    @abstractmethod
    def law(self, measurement: JointState, residual: Any) -> Any:
        """The torque in SX, from what is measured and the residual of the links."""


@dataclass(frozen=True, eq=False)
class Stop(Reaction):
    """Brakes: τ = g(q) − D θ', with the `damping` D in Nm s/rad or N s/m, a number or one a joint."""

    robot: Robot
    damping: Any

    def __post_init__(self) -> None:
        checked(self, "damping")

    def law(self, measurement: JointState, residual: Any) -> Any:
        return gravity_torque.function(self.robot, measurement.q) - sx(self.damping) * measurement.theta_v


@dataclass(frozen=True, eq=False)
class ZeroGravity(Reaction):
    """Floats: τ = g(q), so that the robot can be pushed away by hand."""

    robot: Robot

    def __post_init__(self) -> None:
        checked(self)

    def law(self, measurement: JointState, residual: Any) -> Any:
        return gravity_torque.function(self.robot, measurement.q)


@dataclass(frozen=True, eq=False)
class Reflex(Reaction):
    """Flees: τ = g(q) + G r − D θ'.

    With the `gain` G the robot yields as one whose inertia is 1 + G times smaller, once r has settled; the `damping` D
    ends its flight.  Both are numbers or one a joint.
    """

    robot: Robot
    gain: Any
    damping: Any = 0.0

    def __post_init__(self) -> None:
        checked(self, "gain", "damping")

    def law(self, measurement: JointState, residual: Any) -> Any:
        braked = gravity_torque.function(self.robot, measurement.q) - sx(self.damping) * measurement.theta_v
        return braked + sx(self.gain) * residual


@dataclass(frozen=True, eq=False)
class Guarded(Around):
    """A controller until an alarm, then a reaction.

    The detector sees what the controller sees, so its residual must do without torque sensors (`sensors=False`), and
    the torque that was commanded.  With `latched` the reaction lasts; otherwise until the alarm ends.  A detector that
    is blind for longer than `patience` s counts as an alarm.
    """

    controller: Controller
    detector: Detector
    reaction: Reaction
    latched: bool = True
    patience: float = 0.1

    def __post_init__(self) -> None:
        positive("Guarded", "patience", self.patience)
        if "tau_e" in self.detector.reads:
            raise InputError("Guarded: the detector needs torque sensors, a controller has none; use sensors=False")
        if isinstance(self.reaction, Reflex) and not {"residual", "link"} & set(self.detector.channels):
            has = ", ".join(self.detector.channels)
            raise InputError(f"Guarded: Reflex flees by the residual of the links, the detector has {has}")
        sizes = {(x.robot.n, x.robot.motor_count) for x in (self.controller, self.detector, self.reaction)}
        if len(sizes) > 1:
            raise InputError("Guarded: controller, detector and reaction are for different numbers of joints or motors")
        self.check_period(self.period)

    @property
    def gains(self) -> np.ndarray:  # type: ignore[override]
        return self.controller.gains

    @property
    def period(self) -> float:
        return self.detector.period

    @property
    def memory_sizes(self) -> tuple[int, ...]:
        """Of the controller, the detector, the last torque, and whether there was an alarm."""
        return *self.controller.memory_sizes, *self.detector.memory, self.robot.motor_count, 1

    def start(self, reference: Sequence[Any]) -> tuple:
        return *self.controller.start(reference), *self.detector.blank, np.zeros(self.robot.motor_count), np.zeros(1)

    def law(self, gains: Sequence[Any], state: Any, reference: Sequence[Any], measurement: JointState) -> tuple:
        *inner, watched, last, tripped = state
        (watched,), found = self.detector.checked_law([watched], Measurement(*measurement, None), last)
        alarms = ca.vertcat(
            *(found[f"{name}_alarm"] for name in self.detector.thresholds), found["blind"] > self.patience
        )
        alarm = ca.mmax(alarms)
        tripped = ca.fmax(tripped, alarm) if self.latched else alarm
        after, tau = self.controller.checked_law(gains, inner, reference, measurement)
        residual = found[next(iter(self.detector.channels))]
        reaction = self.reaction.law(*mapped((measurement, residual), ca.SX))
        reaction = declared(f"{type(self.reaction).__name__}.law", torque_array(self.robot), reaction)
        tau = ca.if_else(tripped > 0, reaction, tau)
        return [*after, watched, tau, tripped], tau


def checked(reaction: Any, *names: str) -> None:
    """The numbers of a reaction, one a joint."""
    owner = type(reaction).__name__
    require(owner, reaction.robot, constant_stiffness("a law of your own under Reaction"))
    for name in names:
        (row,) = gain_rows(owner, [name], [getattr(reaction, name)], reaction.robot.n)
        object.__setattr__(reaction, name, tuple(row.tolist()))
