"""Tracking of motion and stiffness as a sampled controller  [VSANEA sec. III-C].

The law is one kernel (`motion_and_stiffness_control`).  The controller keeps its integrals: every period adds the
errors, except those of a joint at a limit.  If a motor reaches its effort limit, the law first changes the stiffness,
which leaves the motion as commanded; only if that is not enough are torques saturated.  `band` bounds the reference of
the stiffness, away from configurations where motion and stiffness cannot be set independently.

Among rigid joints and damped springs the controller also integrates torques, as `FeedbackLinearization` does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from ..checks import frozen, positive, positive_numbers
from ..dynamics.drivetrain.stiffness_range import feasible_stiffness_along
from ..dynamics.linearization import chain_length, holds_torques, uncoupled_motors
from ..dynamics.requirements import lossless_gears, require
from ..errors import InputError
from ..robot import Robot
from ..spatial import ca, sx, zeros
from ..trajectory import Trajectory
from ..types import Expression, FloatArray, Signal, Stack
from .base import Controller, JointState, LawResult, Registration
from .feedback_linearization import held_ahead, held_on
from .gains import check_gains, gains_from_poles
from .laws.motion_and_stiffness import UNBOUNDED, motion_and_stiffness_control

NAME = "VariableStiffnessTracking"
ROWS = ("K_I", "K_0", "K_1", "K_2", "K_3")
STIFFNESS_ROWS = ("L_I", "L_0", "L_1")
MARGIN = 0.01  # relative distance from the ends of a stiffness band
SAMPLES = 201  # times at which a motion is examined


class TrackingIntegrals(NamedTuple):
    """State of `VariableStiffnessTracking`.

    Args:
        motion: ∫(q_d − q) dt (..., n), rad s or m s.
        stiffness: ∫(σ_d − σ) dt (..., n), Nm s/rad or N s/m; zero at joints with one motor.
    """

    motion: Signal
    stiffness: Signal


class TrackingState(NamedTuple):
    """State of `VariableStiffnessTracking` for robots that also have rigid joints or damped springs.

    Args:
        motion, stiffness: As of `TrackingIntegrals`.
        tau_e, tau_e_v: Torques of joints and their rates (..., n), Nm or N and per second, as of `ControllerState`.
    """

    motion: Signal
    stiffness: Signal
    tau_e: Signal
    tau_e_v: Signal


@dataclass(frozen=True, eq=False, repr=False)
class VariableStiffnessTracking(Controller):
    """Tracks the motion of the links and the stiffness of the joints with two motors, within the limits of the motors.

    The reference has n columns of link positions, then one column of stiffness per joint with two motors, in order:
    `MotionAndStiffness` makes it of two trajectories.

    Args:
        robot: The model; at least one joint has two motors, the others may be rigid, elastic or damped.
        gains: [K_I, K_0, K_1, K_2, K_3] of the motion, without K_3 if every spring is damped, then [L_I, L_0, L_1] of
            the stiffness, as numbers (8,) or per joint (8, n); `from_poles` makes them.
        period: Sampling period, s.
        effort: Largest motor torque, Nm or N, a positive number or one per motor (m,).  By default the effort limits of
            the joints; infinite is without limit.
        band: (least, greatest) stiffness, Nm/rad or N/m, each a positive number or one per joint with two motors, to
            which the reference is clipped.  By default it is not; `stiffness_band` computes it for a motion.

    Raises:
        InputError: No joint has two motors, rotors couple to other links, or a number has a wrong shape or sign.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("vsa_3r")
        >>> fj.control.VariableStiffnessTracking.from_poles(robot, [-20.0] * 4, [-20.0] * 2, period=1e-3).width
        6
    """

    robot: Robot
    gains: FloatArray
    period: float
    effort: Any = None
    band: Any = None
    contains_friction: ClassVar[bool] = True
    registration: ClassVar[Registration] = Registration(
        "variable_stiffness_tracking", "tracking of motion and stiffness (--stiffness)", "two motors per joint"
    )

    def __post_init__(self) -> None:
        if not isinstance(self.robot, Robot) or not any(self.robot.variable_stiffness):
            raise InputError(f"{NAME}: the robot has no joint of variable stiffness; use FeedbackLinearization")
        require(NAME, self.robot, lossless_gears, uncoupled_motors)
        positive(NAME, "period", self.period)
        efforts = self.robot.motor_efforts if self.effort is None else self.effort
        count = len(self.variable_joints)
        own = {
            "gains": checked_gains(self.gains, chain_length(self.robot), self.robot.n),
            "effort": tuple(min(x, UNBOUNDED) for x in bounds("effort", efforts, self.robot.motor_count)),
            "band": None if self.band is None else tuple(bounds("band", x, count) for x in checked_band(self.band)),
        }
        for name, value in own.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_poles(
        cls, robot: Robot, poles: ArrayLike, stiffness_poles: ArrayLike, period: float, **limits: Any
    ) -> Self:
        """The controller with the wanted closed-loop poles.

        Args:
            robot: The model.
            poles: Four poles of the motion, or five with integral action, in 1/s: (r,), or (n, r), one row per joint;
                one less of them if every spring is damped.
            stiffness_poles: Two poles of the stiffness, or three with integral action.
            period: Sampling period, s.
            limits: `effort` and `band`, as the class takes them.

        Raises:
            InputError: A pole is not stable, or their number is wrong.
        """
        lengths = ((poles, chain_length(robot)), (stiffness_poles, 2))
        rows = [integral_first(gains_from_poles(x), r) for x, r in lengths]
        return cls(robot, np.concatenate([np.broadcast_to(x, (len(x), robot.n)) for x in rows]), period, **limits)

    @classmethod
    def from_numbers(cls, robot: Robot, numbers: Sequence[float], period: float) -> Self:
        (pole,) = numbers
        return cls.from_poles(robot, [pole] * chain_length(robot), [pole] * 2, period)

    @property
    def memory(self) -> int:  # type: ignore[override]
        return 4 if holds_torques(self.robot) else 2

    @property
    def gain_names(self) -> list[str]:
        return [*ROWS[: 1 + self.order], *STIFFNESS_ROWS]

    @property
    def width(self) -> int:
        return self.robot.n + len(self.variable_joints)

    @property
    def order(self) -> int:
        return chain_length(self.robot)

    @property
    def variable_joints(self) -> list[int]:
        """Indices of the joints with two motors."""
        return list(self.robot.motor_joints[self.robot.n :])

    def start(self, reference: Sequence[Any]) -> TrackingIntegrals | TrackingState:
        """Integrals of zero; torques that the controller holds are those of the motion of the reference."""
        integrals = np.zeros((2, self.robot.n))
        if not holds_torques(self.robot):
            return TrackingIntegrals(*integrals)
        return TrackingState(*integrals, *held_on(self.robot, [x[: self.robot.n] for x in self.stack(reference)]))

    def law(self, gains: Stack, state: Stack, reference: Stack, measurement: JointState) -> LawResult:
        robot, n = self.robot, self.robot.n
        motion, stiffness = gains[: 1 + self.order], gains[1 + self.order :]
        integrals, held = state[:2], state[2:]
        tracking = {
            "reference": [x[:n] for x in reference],
            "gains": motion[1:],
            "stiffness": [self._scattered(x[n:]) for x in reference[:3]],
            "stiffness_gains": stiffness[1:],
            "integrals": list(integrals),
            "integral_gains": [motion[0], stiffness[0]],
        }
        if any(x < UNBOUNDED for x in self.effort):
            tracking["limits"] = [sx(self.effort)]
        if self.band is not None:
            tracking["band"] = [self._scattered(sx(x)) for x in self.band]
        tau, *found = motion_and_stiffness_control.function(robot, *measurement, *held, tracking=tracking)
        after = [x + self.period * e for x, e in zip(integrals, found)]
        if not held:
            return TrackingIntegrals(*after), tau
        ahead = held_ahead(robot, self.period, held, found[2])
        return TrackingState(*after, *self._within_effort(ahead)), tau

    def _within_effort(self, held: Sequence[Expression]) -> list[Expression]:
        """Torques of rigid joints and their rates, at rest at the limits of the motors."""
        limit = sx(self.effort)[: self.robot.n]
        kept = ca.fmin(ca.fmax(held[0], -limit), limit)
        return [kept, ca.if_else(kept == held[0], held[1], 0)]

    def _scattered(self, x: Expression) -> Expression:
        """A column (n, 1) with the entries of x at the joints with two motors, zero elsewhere."""
        full = zeros(self.robot.n)
        full[self.variable_joints] = x
        return full


def stiffness_band(robot: Robot, motion: Trajectory, margin: float = MARGIN) -> tuple[FloatArray, FloatArray]:
    """Least and greatest stiffness that the joints with two motors can have along the whole motion.

    Args:
        robot: A robot with joints of variable stiffness.
        motion: Trajectory of the links.
        margin: Relative distance from both ends, 0.01 by default, since torques differ off the trajectory.

    Returns:
        Two arrays, one entry per joint with two motors, Nm/rad or N/m.

    Raises:
        InputError: A joint has no stiffness that is feasible along the whole motion.
    """
    chosen = np.flatnonzero(robot.variable_stiffness)
    t = np.linspace(0.0, motion.duration, SAMPLES)
    lower, upper = (x[:, chosen] for x in feasible_stiffness_along(robot, motion, t))
    least, greatest = (1 + margin) * lower.max(axis=0), (1 - margin) * upper.min(axis=0)
    for i, a, b in zip(chosen, least, greatest):
        if not a < b:  # NaN where the springs cannot bear a torque
            raise InputError(f"stiffness_band: no stiffness of joint '{robot.joints[i].name}' suits the whole motion")
    return least, greatest


# Checks ---------------------------------------------------------------------------------------------------------------


def integral_first(gains: FloatArray, length: int) -> FloatArray:
    """[K_I, K_0, ...] as a matrix; K_I is 0 if there are only `length` gains."""
    rows = gains.reshape(len(gains), -1)
    if len(rows) not in (length, length + 1):
        raise InputError(f"{NAME}: {len(rows)} poles; give {length}, or {length + 1} with integral action")
    return rows if len(rows) > length else np.concatenate([np.zeros((1, rows.shape[1])), rows])


def checked_gains(gains: ArrayLike, length: int, n: int) -> FloatArray:
    """Gains as a read-only array (length + 4, n) of stable poles."""
    array, count = np.array(gains, dtype=float), length + 4
    if array.shape not in ((count,), (count, 1), (count, n)):
        shapes = f"({count},) or ({count}, {n})"
        raise InputError(f"{NAME}: gains have shape {array.shape}; give {shapes}: `from_poles` makes them")
    array = np.broadcast_to(array.reshape(count, -1), (count, n)).copy()
    for rows in np.split(array, [1 + length]):
        rows = rows if np.any(rows[0]) else rows[1:]
        check_gains(rows, len(rows), n)
    return frozen(array)


def bounds(name: str, given: ArrayLike, size: int) -> tuple[float, ...]:
    """Positive numbers, one for all entries or `size` of them; they may be infinite."""
    return tuple(positive_numbers(NAME, name, given, size, infinite=True).tolist())


def checked_band(band: Any) -> tuple[Any, Any]:
    """The two ends of a stiffness band, in order."""
    if not isinstance(band, tuple | list) or len(band) != 2:
        raise InputError(f"{NAME}: band is {band!r}; give (least, greatest)")
    if not np.all(np.asarray(band[0]) < np.asarray(band[1])):
        raise InputError(f"{NAME}: band is {band!r}; its least stiffness must be below the greatest")
    return band[0], band[1]
