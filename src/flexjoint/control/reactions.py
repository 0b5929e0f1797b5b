"""Reactions to a collision or fault, and a controller that switches to one of them at an alarm  [Haddadin sec. VIII].

A reaction is a control law without reference.  `Guarded` runs a controller and a detector in one kernel and switches to
the reaction at an alarm, or if the residual has not been updated for too long.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..checks import finite_numbers, positive
from ..compiler.ir.scan import mapped
from ..compiler.ir.trace import declared
from ..dynamics.drivetrain.coupling import held_by_motors
from ..dynamics.links import static_torque
from ..dynamics.requirements import constant_stiffness, require
from ..errors import InputError, shown
from ..observers.base import Measurement
from ..observers.detector import Detector
from ..reprs import short_repr
from ..robot import Robot
from ..spatial import ca, sx
from ..types import Expression, FloatArray, Stack
from .base import Controller, ControllerWrapper, JointState, LawResult, joint_state, torque_array


class Reaction(ABC):
    """A torque for the motors after an alarm.  Subclasses are frozen dataclasses.

    Attributes:
        robot: The model inside the law.
    """

    robot: Robot

    @abstractmethod
    def law(self, measurement: JointState, residual: Expression) -> Expression:
        """The motor torque, in SX.

        Args:
            measurement: Columns (n, 1) of the links and (m, 1) of the motors.
            residual: The first channel of the detector, usually the external torque (n, 1) on the links, Nm or N.
        """


@dataclass(frozen=True, eq=False)
class Stop(Reaction):
    """A reaction that brakes: τ = g(q) − D θ'; g includes parallel springs.

    Args:
        robot: The model, with one motor per joint.
        damping: D, Nm s/rad or N s/m, a number or one per joint (n,), not negative.
    """

    robot: Robot
    damping: Any

    def __post_init__(self) -> None:
        check_reaction(self, "damping")

    def law(self, measurement: JointState, residual: Expression) -> Expression:
        return holding_torque(self.robot, measurement.q) - sx(self.damping) * measurement.theta_v


@dataclass(frozen=True, eq=False)
class ZeroGravity(Reaction):
    """A reaction that compensates only gravity and parallel springs, so that the robot can be pushed by hand: τ = g(q).

    Args:
        robot: The model, with one motor per joint.
    """

    robot: Robot

    def __post_init__(self) -> None:
        check_reaction(self)

    def law(self, measurement: JointState, residual: Expression) -> Expression:
        return holding_torque(self.robot, measurement.q)


@dataclass(frozen=True, eq=False)
class Reflex(Reaction):
    """A reaction that moves away from the contact: τ = g(q) + G r − D θ'.

    Once r has settled, the robot yields as if its inertia were 1 + G times smaller.  D ends the motion.

    Args:
        robot: The model, with one motor per joint.
        gain: G, a number or one per joint (n,), not negative.
        damping: D, Nm s/rad or N s/m, a number or one per joint (n,), not negative; 0 by default.
    """

    robot: Robot
    gain: Any
    damping: Any = 0.0

    def __post_init__(self) -> None:
        check_reaction(self, "gain", "damping")

    def law(self, measurement: JointState, residual: Expression) -> Expression:
        braked = holding_torque(self.robot, measurement.q) - sx(self.damping) * measurement.theta_v
        return braked + held_by_motors(self.robot, sx(self.gain) * residual)


@dataclass(frozen=True, eq=False, repr=False)
class Guarded(ControllerWrapper):
    """A controller that switches to a reaction at an alarm.

    The detector sees the measurement of the controller and the commanded torque.

    Args:
        controller: The controller before an alarm.
        detector: A detector; one that reads torque sensors makes this a law that reads them (`torque_sensors`).
        reaction: The law after an alarm.
        latched: Whether the reaction continues after the alarm ends; True by default.
            patience: Time, s, without a new residual after which an alarm is raised; 0.1 by default.

    Raises:
        InputError: The detector has no residual of the links, or sizes or periods differ.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("hua_3r")
        >>> residual = fj.observers.JointTorqueResidual(robot, 50.0, 50.0, sensors=False)
        >>> detector = fj.observers.Detector(residual, {"link": 1.0})
        >>> controller = fj.control.MotorPD(robot, [500.0, 50.0])
        >>> guarded = fj.control.Guarded(controller, detector, fj.control.Stop(robot, 5.0))
        >>> run = fj.simulate(robot, guarded, [0.3, 0.6, -0.9], 0.1, period=1e-3)
    """

    controller: Controller
    detector: Detector
    reaction: Reaction
    latched: bool = True
    patience: float = 0.1

    def __post_init__(self) -> None:
        self.check_controller()
        for name, kind in (("detector", Detector), ("reaction", Reaction)):
            if not isinstance(given := getattr(self, name), kind):
                raise InputError(f"Guarded: {name} is {shown(given)}; give a {kind.__name__}")
        positive("Guarded", "patience", self.patience)
        if isinstance(self.reaction, Reflex) and not {"residual", "link"} & set(self.detector.channels):
            has = ", ".join(self.detector.channels)
            raise InputError(
                f"Guarded: Reflex needs the residual of the links, the detector has {has}; use a MomentumResidual, "
                "JointTorqueResidual or MotorEncoderResidual"
            )
        sizes = {(x.robot.n, x.robot.motor_count) for x in (self.controller, self.detector, self.reaction)}
        if len(sizes) > 1:
            raise InputError(
                "Guarded: controller, detector and reaction are for different numbers of joints or motors; make all "
                "three for the same robot"
            )
        self.check_period(self.period)

    @property
    def gains(self) -> FloatArray:  # type: ignore[override]
        return self.controller.gains

    @property
    def period(self) -> float:
        return self.detector.period

    @property
    def torque_sensors(self) -> bool:  # type: ignore[override]
        return self.controller.torque_sensors or "tau_e" in self.detector.reads

    @property
    def memory_sizes(self) -> tuple[int, ...]:
        """Sizes of the state: the controller's, the detector's, the last torque, and whether there was an alarm."""
        return *self.controller.memory_sizes, *self.detector.memory, self.robot.motor_count, 1

    def start(self, reference: Sequence[Any]) -> tuple[Any, ...]:
        m = self.robot.motor_count
        return *self.controller.start(reference), *self.detector.initial_state, np.zeros(m), np.zeros(1)

    def law(self, gains: Stack, state: Stack, reference: Stack, measurement: JointState | Measurement) -> LawResult:
        *inner, watched, last, tripped = state
        sensed = measurement if isinstance(measurement, Measurement) else Measurement(*measurement, None)
        (watched,), found = self.detector.checked_law([watched], sensed, last)
        alarms = ca.vertcat(
            *(found[f"{name}_alarm"] for name in self.detector.thresholds), found["blind"] > self.patience
        )
        alarm = ca.mmax(alarms)
        tripped = ca.fmax(tripped, alarm) if self.latched else alarm
        after, tau = self.controller.checked_law(gains, inner, reference, measurement)
        residual = found[next(iter(self.detector.channels))]
        reaction = self.reaction.law(*mapped((joint_state(measurement), residual), ca.SX))
        reaction = declared(f"{type(self.reaction).__name__}.law", torque_array(self.robot), reaction)
        tau = ca.if_else(tripped > 0, reaction, tau)
        return [*after, watched, tau, tripped], tau

    def __repr__(self) -> str:
        return short_repr(self, self.controller, self.detector, self.reaction, latched=self.latched)


def holding_torque(robot: Robot, q: Expression) -> Expression:
    """Motor torque that holds the robot against gravity and parallel springs: g, or T⁻ᵀg of coupled joints."""
    return held_by_motors(robot, static_torque.function(robot, q))


def check_reaction(reaction: Reaction, *names: str) -> None:
    """Checks the robot of a reaction and makes the named fields tuples with one number per joint."""
    owner = type(reaction).__name__
    require(owner, reaction.robot, constant_stiffness("a law of your own under Reaction"))
    for name in names:
        numbers = finite_numbers(owner, name, getattr(reaction, name), reaction.robot.n, 0.0)
        object.__setattr__(reaction, name, tuple(numbers.tolist()))
