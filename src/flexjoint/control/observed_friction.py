"""Friction compensation without a friction model: the estimate of a friction observer is added to the torque  [LeTien].

    τ = τ_law + f̂,    f̂' = K (f − f̂)

This is how [DeLuca sec. II-A] would use its residual to compensate unmodelled friction.  The estimate follows static,
load-dependent and any other friction.  It acts like an integrator of bandwidth K: it removes steady errors, and K must
stay below the bandwidth of the loop and the delays of its sensors.  With joint torque sensors, or measured deflections,
f̂ at an elastic joint contains the friction of the motor only, and an external force on the link does not show in it; at
a rigid joint it contains all that the model does not explain, collisions too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError, shown
from ..observers.base import Measurement
from ..observers.friction import FrictionObserver
from ..reprs import short_repr
from ..types import FloatArray, Stack
from .base import Controller, ControllerWrapper, JointState, LawResult
from .friction_compensation import refuse_friction_in_law


@dataclass(frozen=True, eq=False, repr=False)
class ObservedFrictionCompensation(ControllerWrapper):
    """A controller plus compensation of the friction that an observer estimates.

    Build a law that contains the friction of its model, such as `ComputedTorque`, with `robot.without_friction()`.

    Args:
        controller: The controller.
        observer: The observer, with the period of the controller.  With `sensors=True` it reads joint torque sensors.

    Raises:
        InputError: Periods or numbers of joints differ, or the law contains friction already.

    Example:
        >>> import flexjoint as fj
        >>> motor = fj.Motor(0.2, coulomb_friction=3.0, coulomb_velocity=0.02)
        >>> robot = fj.load("hua_3r").rigid().with_drives([fj.RigidDrive(motor)] * 3)
        >>> law = fj.control.PassivityControl(robot.without_friction(), bandwidth=20.0, damping=40.0)
        >>> observer = fj.observers.FrictionObserver(robot, cutoff=30.0, sensors=False)
        >>> law = fj.control.ObservedFrictionCompensation(law, observer)
        >>> motion = fj.trajectory.RestToRest([0.0] * 3, [0.5] * 3, duration=1.0)
        >>> run = fj.simulate(robot, law, motion)
    """

    controller: Controller
    observer: FrictionObserver

    def __post_init__(self) -> None:
        name = type(self).__name__
        self.check_controller()
        if not isinstance(self.observer, FrictionObserver):
            raise InputError(f"{name}: observer is {shown(self.observer)}; give a fj.observers.FrictionObserver")
        sizes = {(x.robot.n, x.robot.motor_count) for x in (self.controller, self.observer)}
        if len(sizes) > 1:
            raise InputError(f"{name}: controller and observer are for different numbers of joints or motors; make "
                             "both for the same robot")  # fmt: skip
        self.check_period(self.period)
        refuse_friction_in_law(name, self.controller, "leave the wrapper out")

    @property
    def gains(self) -> FloatArray:  # type: ignore[override]
        return self.controller.gains

    @property
    def period(self) -> float:
        return self.observer.period

    @property
    def torque_sensors(self) -> bool:  # type: ignore[override]
        return self.controller.torque_sensors or "tau_e" in self.observer.reads

    @property
    def memory_sizes(self) -> tuple[int, ...]:
        """Sizes of the state: the controller's, the observer's, and the last torque."""
        return *self.controller.memory_sizes, *self.observer.memory, self.robot.motor_count

    def start(self, reference: Sequence[Any]) -> tuple[Any, ...]:
        return *self.controller.start(reference), *self.observer.initial_state, np.zeros(self.robot.motor_count)

    def law(self, gains: Stack, state: Stack, reference: Stack, measurement: JointState | Measurement) -> LawResult:
        *inner, watched, last = state
        seen = measurement if isinstance(measurement, Measurement) else Measurement(*measurement, None)
        (watched,), found = self.observer.checked_law([watched], seen, last)
        after, tau = self.controller.checked_law(gains, inner, reference, measurement)
        tau = tau + found["friction"]
        return [*after, watched, tau], tau

    def __repr__(self) -> str:
        return short_repr(self, self.controller, self.observer)
