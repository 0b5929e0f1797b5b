"""Tracking by feedback linearization, as a sampled controller  [EJNEA sec. IV].

    q⁽ʳ⁾ = q_d⁽ʳ⁾ + Σ K_k (q_d⁽ᵏ⁾ − q⁽ᵏ⁾),   k = 0 ... r − 1

The law, with gains and reference, is one kernel (`linearizing_control`), for each set of sensors of [EJNEA sec. II-B]:
link and motor encoders, link encoders and torque sensors, motor encoders and torque sensors.

If the joints have different relative degrees, the controller needs integrators: of the torques of rigid joints, and of
the torque rates of damped springs next to undamped ones; in the complete model of rotors, of derivatives of the motors
that act on other links, and of higher derivatives of q.  Between samples the integrated derivative is constant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from ..algorithm.form import Call
from ..checks import positive
from ..dynamics.dynamic_extension import (
    extension_size,
    extension_state,
    linearizing_output,
    mean_rate,
    rotors_behind_springs,
)
from ..dynamics.linearization import (
    STATES,
    chain_length,
    held_torques,
    holds_torques,
    known_state,
    measured_positions,
    one_deflection,
)
from ..dynamics.links import torque_derivatives
from ..dynamics.loads import Base, Wrenches
from ..dynamics.requirements import require
from ..observers.base import Measurement
from ..robot import Robot
from ..spatial import sx
from ..types import Expression, FloatArray, Signal, Stack
from .base import JointState, LawResult, Registration, require_one_motor_per_joint
from .gains import check_gains, gains_from_poles
from .laws.linearizing import linearizing_control
from .surroundings import KnowsSurroundings


class ControllerState(NamedTuple):
    """State of `FeedbackLinearization`: the torques of joints that it integrates; see `linearizing_control`.

    Args:
        tau_e: Torques (..., n), Nm or N; zero at joints whose torque is not integrated.
        tau_e_v: Their rates (..., n), Nm/s or N/s.
    """

    tau_e: Signal
    tau_e_v: Signal


class ExtensionState(NamedTuple):
    """State of `FeedbackLinearization` in the complete model of rotors.

    Args:
        extension: (..., `extension_size(robot)`), see `dynamics.extension_state`.
    """

    extension: Signal


@dataclass(frozen=True, eq=False, repr=False)
class FeedbackLinearization(KnowsSurroundings):
    """Feedback linearization with the springs compensated exactly, to track a trajectory.

    In the complete model of rotors the trajectory must have r = `chain_length(robot)` derivatives, and the controller
    has `extension_size(robot)` states: 42 for the arm like the LBR 2, 84 for seven axes in general position.

    Args:
        robot: The model, rigid and elastic joints in any mix, with one motor per joint.
        gains: [K_0, ... K_(r−1)] as numbers (r,) or per joint (r, n), with r = `chain_length(robot)`:
            `gains_from_poles` of r poles.
        period: Sampling period, s; it must be below `sampling_period_limit`.
        measured: The sensors that the law reads, with their rates:
            "q theta" (default): encoders on both sides of the springs
            "q tau_e": link encoders and joint torque sensors
            "theta tau_e": motor encoders and joint torque sensors, as on iiwa and Franka
        wrenches: Known wrenches (f, n) by link name, at the origin of the link's frame, in base coordinates, N and Nm:
            six constant numbers, or None for six more columns of the reference; none by default.
        base: Whether the reference has six more columns, the pose of a moving base, which `simulate(..., base=)` adds;
            False by default.

    Raises:
        InputError: A joint has two motors, q is not a linearizing output because of complete rotors, the gains are not
            stable, or the torque of a damped spring is measured, which does not determine its deflection.

    Example:
        >>> import numpy as np
        >>> import flexjoint as fj
        >>> robot = fj.load("hua_3r")
        >>> controller = fj.control.FeedbackLinearization(robot, fj.control.gains_from_poles([-10.0] * 4), period=1e-3)
        >>> reference = fj.trajectory.RestToRest([0.0] * 3, [0.5] * 3, duration=1.0)(0.0)
        >>> state = controller.start(reference)
        >>> rest = fj.motor_motion(robot, *reference)
        >>> still = np.zeros(3)
        >>> state, tau = controller(state, reference, fj.control.JointState(still, still, rest.theta, still))
        >>> bool(np.allclose(tau, rest.tau))
        True
    """

    robot: Robot
    gains: FloatArray
    period: float
    measured: str = "q theta"
    memory: ClassVar[int] = 2
    contains_friction: ClassVar[bool] = True
    registration: ClassVar[Registration] = Registration(
        "feedback_linearization", "tracking, the springs compensated exactly"
    )

    def __post_init__(self) -> None:
        robot = require_one_motor_per_joint(self)
        known = {"base": None} if self.base else {}
        call = Call(robot, keyword_arrays=known, options={"measured": self.measured})
        checks = known_state, one_deflection, linearizing_output, measured_positions
        require("FeedbackLinearization", call, *checks)
        positive("FeedbackLinearization", "period", self.period)
        object.__setattr__(self, "gains", check_gains(self.gains, chain_length(robot), robot.n))
        self.check_surroundings()

    @classmethod
    def from_numbers(cls, robot: Robot, numbers: Sequence[float], period: float) -> Self:
        (pole,) = numbers
        return cls(robot, gains_from_poles([pole] * chain_length(robot)), period)

    @cached_property
    def order(self) -> int:
        return chain_length(self.robot)

    @property
    def torque_sensors(self) -> bool:  # type: ignore[override]
        return "tau_e" in STATES[self.measured]

    @cached_property
    def memory_sizes(self) -> tuple[int, ...]:
        if not rotors_behind_springs(self.robot):
            return super().memory_sizes
        size = extension_size(self.robot)
        return (size,) if size else ()

    def start(self, reference: Sequence[Any]) -> tuple[Any, ...]:
        """The state on a reference [q_d, q_d', ...]: the torques that this motion takes, or the extension on it."""
        known = self.surroundings(self.stack(reference))
        if rotors_behind_springs(self.robot):
            if not self.memory_sizes:
                return ()
            return ExtensionState(extension_state(self.robot, *known.motion, wrenches=known.wrenches))
        if not holds_torques(self.robot):  # nothing is integrated, so no torque is computed
            return ControllerState(0 * known.motion[0], 0 * known.motion[0])
        return ControllerState(*held_on(self.robot, known.motion, **known.loads))

    def law(self, gains: Stack, state: Stack, reference: Stack, measurement: JointState | Measurement) -> LawResult:
        known = self.surroundings(reference)
        sensed = [getattr(measurement, name) for name in STATES[self.measured]]
        options = {"tracking": {"reference": known.motion, "gains": gains}, "measured": self.measured, **known.loads}
        found = linearizing_control.function(self.robot, *sensed, *state, **options)
        if not self.memory_sizes:
            return (), found
        if rotors_behind_springs(self.robot):
            (extension,) = state
            mean = mean_rate(self.robot, extension, found.extension_rate, self.period)
            return ExtensionState(extension + self.period * mean), found.tau
        return ControllerState(*held_ahead(self.robot, self.period, state, found.tau_e_top)), found.tau


# Torques that controllers hold ----------------------------------------------------------------------------------------


def held_on(robot: Robot, motion: Sequence[Any], wrenches: Wrenches = None, base: Base = None) -> list[Signal]:
    """[torques, rates] that a motion [q, q', ...] takes."""
    tau = torque_derivatives(robot, *motion, order=chain_length(robot) - 2, wrenches=wrenches, base=base)
    return held(robot, [*tau, 0 * tau[0]])


def held_ahead(robot: Robot, h: float, state: Sequence[Expression], top: Expression) -> list[Signal]:
    """[torques, rates] a period later, the highest derivative of the torques being constant in between."""
    tau_e, tau_e_v = state
    rates = [tau_e_v, top] if chain_length(robot) == 4 else [top, 0 * top]
    return held(robot, [tau_e + h * rates[0] + h * h / 2 * rates[1], tau_e_v + h * rates[1]])


def held(robot: Robot, torques: Sequence[Signal]) -> list[Signal]:
    """[torques, rates], zero at joints where controllers do not integrate them."""
    chosen = [np.isin(np.arange(robot.n), joints) for joints in held_torques(robot)]
    return [x * (mask if isinstance(x, np.ndarray) else sx(mask)) for x, mask in zip(torques, chosen)]
