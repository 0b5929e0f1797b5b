"""Tracking of motion and stiffness as a controller  [VSANEA sec. III-C].

The law itself is one kernel (`motion_and_stiffness_control`).  Here its integrals are kept: e is added up every period,
except where a limit holds a joint up.  A motor at its effort limit is first relieved at the expense of the stiffness,
which leaves the motion what it is; only where that is not enough are torques cut off.  A reference of the stiffness is
kept within a band, so that it does not lead to where motion and stiffness cannot be set apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ..checks import positive
from ..dynamics.drivetrain.stiffness_range import feasible_stiffness_along
from ..dynamics.requirements import require, springs_at_every_joint
from ..errors import NOT_NUMBERS, InputError
from ..robot import Robot
from ..spatial import sx, zeros
from ..trajectory import Trajectory
from .base import Controller, JointState
from .gains import check_gains, gains_from_poles
from .laws.motion_and_stiffness import UNBOUNDED, motion_and_stiffness_control, undamped

NAME = "VariableStiffnessTracking"
MOTION, STIFFNESS = slice(0, 5), slice(5, 8)  # rows of the gains
MARGIN = 0.01  # of the ends of a band
SAMPLES = 201


class TrackingIntegrals(NamedTuple):
    """∫(q_d − q) and ∫(σ_d − σ), both (n,)."""

    motion: Any
    stiffness: Any


@dataclass(frozen=True, eq=False)
class VariableStiffnessTracking(Controller):
    """Links and joint stiffnesses follow with the poles of the gains, as long as no limit holds them up.

    `gains` = [K_I, K_0, K_1, K_2, K_3, L_I, L_0, L_1] (8,) or (8, n), of motion and stiffness; `from_poles` makes them.
    The reference has n columns of the links, then one for each joint that can change its stiffness, in order, as
    `MotionAndStiffness` gives them.  `effort` bounds the torques, one number or one a motor: by default the effort
    limits of the joints, infinite if unbounded.  `band` = (least, greatest), each one number or one for each of these
    joints, is what the reference of the stiffness is kept within; `stiffness_band` finds it for a motion.
    """

    robot: Robot
    gains: np.ndarray
    period: float
    effort: Any = None
    band: Any = None
    memory: ClassVar[int] = 2

    def __post_init__(self) -> None:
        if not isinstance(self.robot, Robot) or not any(self.robot.variable_stiffness):
            raise InputError(f"{NAME}: the robot has no joint of variable stiffness; use FeedbackLinearization")
        require(NAME, self.robot, undamped, springs_at_every_joint)
        positive(NAME, "period", self.period)
        own = {
            "gains": checked_gains(self.gains, self.robot.n),
            "effort": efforts(self.robot, self.effort),
            "band": None if self.band is None else tuple(plain("band", x, len(self.pairs)) for x in ends(self.band)),
        }
        for name, value in own.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_poles(
        cls, robot: Robot, poles: Any, stiffness_poles: Any, period: float, **limits: Any
    ) -> VariableStiffnessTracking:
        """Four poles of the motion and two of the stiffness, each with one more for integral action; for each joint the
        same, or (n, ...), a row a joint."""
        rows = [integral_first(gains_from_poles(x), r) for x, r in ((poles, 4), (stiffness_poles, 2))]
        return cls(robot, np.concatenate([np.broadcast_to(x, (len(x), robot.n)) for x in rows]), period, **limits)

    @property
    def width(self) -> int:
        return self.robot.n + len(self.pairs)

    @property
    def order(self) -> int:
        return 4

    def start(self, reference: Sequence[Any]) -> TrackingIntegrals:
        return TrackingIntegrals(*np.zeros((2, self.robot.n)))

    def law(self, gains: Sequence[Any], state: Any, reference: Sequence[Any], measurement: JointState) -> tuple:
        robot, n = self.robot, self.robot.n
        motion, stiffness = gains[MOTION], gains[STIFFNESS]
        tracking = {
            "reference": [x[:n] for x in reference],
            "gains": motion[1:],
            "stiffness": [self.at_pairs(x[n:]) for x in reference[:3]],
            "stiffness_gains": stiffness[1:],
            "integrals": list(state),
            "integral_gains": [motion[0], stiffness[0]],
        }
        if any(x < UNBOUNDED for x in self.effort):
            tracking["limits"] = [sx(self.effort)]
        if self.band is not None:
            tracking["band"] = [self.at_pairs(sx(x)) for x in self.band]
        tau, *errors = motion_and_stiffness_control.function(robot, *measurement, tracking=tracking)
        after = TrackingIntegrals(*(x + self.period * e for x, e in zip(state, errors)))
        return after, tau

    @property
    def pairs(self) -> list[int]:
        """The joints with two motors."""
        return list(self.robot.motor_joints[self.robot.n :])

    def at_pairs(self, x: Any) -> Any:
        """Numbers of these joints among those of all, zero elsewhere."""
        full = zeros(self.robot.n)
        full[self.pairs] = x
        return full


def stiffness_band(robot: Robot, motion: Trajectory, margin: float = MARGIN) -> tuple[np.ndarray, np.ndarray]:
    """Least and greatest stiffness that joints with variable stiffness can have all along a motion of the links.

    `margin`, of these numbers, is left at both ends, since a robot off its motion bears other torques.
    """
    chosen = np.flatnonzero(robot.variable_stiffness)
    t = np.linspace(0.0, motion.duration, SAMPLES)
    lower, upper = (x[:, chosen] for x in feasible_stiffness_along(robot, motion, t))
    least, greatest = (1 + margin) * lower.max(axis=0), (1 - margin) * upper.min(axis=0)
    for i, a, b in zip(chosen, least, greatest):
        if not a < b:  # NaN where a torque is too much for the springs
            raise InputError(f"stiffness_band: no stiffness of joint '{robot.joints[i].name}' suits the whole motion")
    return least, greatest


# Checks ---------------------------------------------------------------------------------------------------------------


def integral_first(gains: np.ndarray, length: int) -> np.ndarray:
    """[K_I, K_0, ...] as a matrix; K_I is 0 where there are only as many gains as derivatives."""
    rows = gains.reshape(len(gains), -1)
    if len(rows) not in (length, length + 1):
        raise InputError(f"{NAME}: {len(rows)} poles; give {length}, or {length + 1} with integral action")
    return rows if len(rows) > length else np.concatenate([np.zeros((1, rows.shape[1])), rows])


def checked_gains(gains: Any, n: int) -> np.ndarray:
    array = np.array(gains, dtype=float)
    if array.shape not in ((8,), (8, 1), (8, n)):
        raise InputError(f"{NAME}: gains have shape {array.shape}; give (8,) or (8, {n}): `from_poles` makes them")
    array = np.broadcast_to(array.reshape(8, -1), (8, n)).copy()
    for part in (MOTION, STIFFNESS):
        rows = array[part]
        rows = rows if np.any(rows[0]) else rows[1:]
        check_gains(rows, len(rows), n)
    array.flags.writeable = False
    return array


def efforts(robot: Robot, given: Any) -> tuple[float, ...]:
    """The bound of each motor."""
    given = robot.motor_efforts if given is None else given
    return tuple(min(x, UNBOUNDED) for x in plain("effort", given, robot.motor_count))


def plain(name: str, given: Any, size: int) -> tuple[float, ...]:
    """Positive numbers, one for all or one for each."""
    try:
        array = np.broadcast_to(np.asarray(given, dtype=float), size)
    except NOT_NUMBERS:
        array = np.full(1, np.nan)
    if not np.all(array > 0):
        raise InputError(f"{NAME}: {name} is {given!r}; give a positive number, or {size} of them")
    return tuple(array.tolist())


def ends(band: Any) -> tuple[Any, Any]:
    if not isinstance(band, tuple | list) or len(band) != 2:
        raise InputError(f"{NAME}: band is {band!r}; give (least, greatest)")
    if not np.all(np.asarray(band[0]) < np.asarray(band[1])):
        raise InputError(f"{NAME}: band is {band!r}; its least stiffness must be below the greatest")
    return band[0], band[1]
