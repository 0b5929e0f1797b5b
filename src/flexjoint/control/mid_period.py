"""Feedforward at mid-period: a controller whose torque is held is evaluated for the middle of its period.

A torque that is computed for the sample at t and held until t + h is on average h/2 late: the error of a feedforward
torque is of order h.  With the reference of t + h/2 it is of order h².  The feedback must not see this lead, so the
measured state moves along with the reference,

    τ = τ_law(x_d(t + h/2), x + x*(t + h/2) − x*(t)),

where x* = (q_d, q_d', θ_d, θ_d') is the motion of the reference and its motors: errors stay those of the sample.  The
state of the controller, if it has one, is that of mid-period.  Delays of actuators lengthen the lead; with the delay of
sensors x* is that of the time of the measurement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..checks import finite_numbers, positive
from ..dynamics.inverse import motor_motion, needed_order
from ..errors import InputError
from ..reprs import short_repr
from ..robot import Robot
from ..spatial import zeros
from ..types import FloatArray, Stack
from .base import REGISTRY, Controller, ControllerWrapper, JointState, LawResult, require_one_motor_per_joint
from .open_loop import OpenLoop
from .surroundings import KnowsWrenches, Surroundings

MID_PERIOD = "+mid_period"  # behind the name of a registered controller


@dataclass(frozen=True, eq=False, repr=False)
class MidPeriod(ControllerWrapper):
    """A tracking controller whose torque is that of the middle of the period in which it acts.

    Its reference has two stacks [q_d, q_d', ...], first that of mid-period, then that of the sample, at its two `times`
    after the sample.  `simulate` and `online_loop(trajectory=...)` compute both; where the reference is an input, such
    as in exported C, it has the rows of both.  With a reference at rest nothing changes.

    Args:
        controller: A controller that follows a motion, such as FeedforwardPD or ComputedTorque, or OpenLoop; with one
            motor per joint, and without joint torque sensors.
        period: Sampling period, s.
        actuator_delay: Time from a sample to its torque, s, such as that of `simulation.Actuators`; by default 0.
        sensor_delay: Age of a measurement, s, such as that of `simulation.Sensors`; by default 0.

    Raises:
        InputError: The controller does not follow a motion, or has two motors per joint or torque sensors.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("hua_3r")
        >>> law = fj.control.MidPeriod(fj.control.FeedforwardPD(robot, [500.0, 50.0]), period=1e-3)
        >>> law.times
        (0.0005, 0.0)
        >>> motion = fj.trajectory.RestToRest([0.0] * 3, [0.5] * 3, duration=1.0)
        >>> run = fj.simulate(robot, law, motion)
    """

    controller: Controller
    period: float
    actuator_delay: float = 0.0
    sensor_delay: float = 0.0

    def __post_init__(self) -> None:
        self.check_controller()
        owner, law = "MidPeriod", type(self.controller).__name__
        positive(owner, "period", self.period)
        for name in ("actuator_delay", "sensor_delay"):
            (delay,) = finite_numbers(owner, name, getattr(self, name), 1, 0.0).tolist()
            object.__setattr__(self, name, delay)
        self.check_period(self.period)
        if isinstance(self.controller, ControllerWrapper):
            raise InputError(f"{owner}: {law} wraps a controller; put MidPeriod inside: {law}(MidPeriod(...), ...)")
        if self.controller.torque_sensors:
            raise InputError(f"{owner}: {law} reads joint torque sensors; give a controller that measures positions")
        if isinstance(self.controller, OpenLoop):
            return
        require_one_motor_per_joint(self)
        if not self.controller.order:
            raise InputError(
                f"{owner}: {law} regulates; give a controller that follows a motion, such as FeedforwardPD"
            )

    @property
    def gains(self) -> FloatArray:  # type: ignore[override]
        return self.controller.gains

    @property
    def gain_names(self) -> list[str]:
        return self.controller.gain_names

    @property
    def times(self) -> tuple[float, ...]:  # type: ignore[override]
        return self.period / 2 + self.actuator_delay, 0.0 - self.sensor_delay

    def law(self, gains: Stack, state: Stack, reference: Stack, measurement: Any) -> LawResult:
        stacks = reference[: self.order + 1], reference[self.order + 1 :]
        if not isinstance(self.controller, OpenLoop):
            there, here = (self._state_on(x) for x in stacks)
            measurement = JointState(*(x + (b - a) for x, a, b in zip(measurement, here, there)))
        return self.controller.law(gains, state, stacks[0], measurement)

    @cached_property
    def _model(self) -> Robot:
        """The robot whose motors move along the reference: with fewer derivatives that of Spong's model."""
        robot, base = self.robot.without_spring_damping(), getattr(self.controller, "base", False)
        return robot if self.order >= needed_order(robot, base or None) else robot.with_fidelity("spong")

    def _state_on(self, reference: Stack) -> JointState:
        """Positions and velocities of links and motors that follow a reference; derivatives that it lacks are 0."""
        law, robot = self.controller, self._model
        n = robot.n
        known = law.surroundings(reference) if isinstance(law, KnowsWrenches) else Surroundings(reference, None, None)
        motion = [*known.motion, *[zeros(n)] * (needed_order(robot, known.base) - self.order)]
        motors = motor_motion.function(robot, *motion, **known.loads)
        return JointState(motion[0], motion[1], motors.theta, motors.theta_v)

    def __repr__(self) -> str:
        delays = {x: y for x in ("actuator_delay", "sensor_delay") if (y := getattr(self, x))}
        return short_repr(self, self.controller, period=self.period, **delays)


def registered_controller(name: str, robot: Robot, numbers: Sequence[float], period: float) -> Controller:
    """The controller of a registered name and its numbers, with "+mid_period" behind the name at mid-period."""
    law = REGISTRY[name.removesuffix(MID_PERIOD)].from_numbers(robot, numbers, period)
    return MidPeriod(law, period) if name.endswith(MID_PERIOD) else law
