"""Limits of joints, motors and springs against a motion: which there are, and where they are exceeded.

`limited_quantities` lists every limit that a robot has; `violations_of` compares values with them.  `check_feasibility`
(`feasibility.py`), tables and simulations all use these two, and show what they find as `violation_table`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..drives import ElasticDrive, VariableStiffnessDrive
from ..dynamics.inverse import MotorMotion
from ..errors import FlexjointWarning, warn
from ..robot import Robot
from ..tables import Table
from ..types import FloatArray

ROUNDING = 1e-9  # relative to a limit: a smaller excess is rounding
SHOWN = 3  # joints in one warning
RMS = "root-mean-square torque"
OF_MOTORS = ("torque", "motor speed", "power", RMS, "spring torque", "deflection")  # a column per motor, else per joint
STEMS = {RMS: "torque"}  # the quantity that a mean is taken of


class LimitedQuantity(NamedTuple):
    """A quantity with at least one finite limit.

    Attributes:
        name: such as "velocity", "torque" (of motors) or "spring torque".
        unit: at an angular and at a linear coordinate, "rad/s | m/s".
        key: what to change in the robot, "limits.velocity".
        lower, upper: bounds, (columns,): one per joint, or one per motor.
    """

    name: str
    unit: str
    key: str
    lower: FloatArray
    upper: FloatArray

    def units(self, robot: Robot) -> list[str]:
        """Unit per column."""
        return [kind.unit(self.unit) for kind in robot.motor_kinds[: len(self.upper)]]


@dataclass(frozen=True)
class Violation:
    """A limit that a motion exceeds.

    Args:
        quantity: such as "velocity", "torque" (of a motor) or "spring torque".
        joint: name of the joint or motor, as in `robot.motor_names`.
        unit: of the numbers.
        limit: the bound that is exceeded, with its sign.
        value: the value farthest beyond it.
        at: time of this value, in s; NaN for a mean over the motion.
        first: time at which the limit is exceeded first, in s; NaN for a mean over the motion.
        key: the limit in the robot, such as "limits.velocity".
        cure: change that would meet the limit; empty if none was searched.
    """

    quantity: str
    joint: str
    unit: str
    limit: float
    value: float
    at: float
    first: float
    key: str
    cure: str = ""

    def __str__(self) -> str:
        if math.isnan(self.at):
            limit = f"{self.limit:.4g} {self.unit}"
            return f"joint '{self.joint:.200}' reaches {self.value:.4g} {self.unit} (limit {limit})"
        return (
            f"joint '{self.joint:.200}' reaches {self.value:.4g} {self.unit} at t = {self.at:.4g} s (limit "
            f"{self.limit:.4g} {self.unit}, first exceeded at t = {self.first:.4g} s)"
        )

    @property
    def excess(self) -> float:
        """How far the value is beyond the limit."""
        return abs(self.value - self.limit)


class Exceeded(NamedTuple):
    """Limits that a table or a run exceeds.

    Attributes:
        violations: the limits, each with what would cure it.
        values: the quantities that exceed theirs, (..., m, columns) by name, in SI units.
    """

    violations: tuple[Violation, ...] = ()
    values: Mapping[str, FloatArray] = {}


NOT_EXCEEDED = Exceeded()


def limited_quantities(robot: Robot) -> dict[str, LimitedQuantity]:
    """Every quantity of a robot that has a finite limit, by name.

    Spring limits of a joint of variable stiffness hold for each of its springs, except that of a motor that slides
    while the joint turns: its units are others.
    """
    joints, drives = [joint.limits for joint in robot.joints], [robot.joints[i].drive for i in robot.motor_joints]
    motors = [drive.motors[k >= robot.n].limits if drive else None for k, drive in enumerate(drives)]
    springs = [spring_limits(robot, k) for k in range(robot.motor_count)]

    def symmetric(name: str, unit: str, key: str, bounds: Sequence[float]) -> LimitedQuantity:
        upper = np.array(bounds, dtype=float)
        return LimitedQuantity(name, unit, key, -upper, upper)

    def of_motors(field: str) -> list[float]:
        return [math.inf if x is None else getattr(x, field) for x in motors]

    lower, upper = (np.array([getattr(x, end) for x in joints], dtype=float) for end in ("lower", "upper"))
    found = [
        LimitedQuantity("position", "rad | m", "limits.lower and limits.upper", lower, upper),
        symmetric("velocity", "rad/s | m/s", "limits.velocity", [x.velocity for x in joints]),
        symmetric("acceleration", "rad/s² | m/s²", "limits.acceleration", [x.acceleration for x in joints]),
        symmetric("jerk", "rad/s³ | m/s³", "limits.jerk", [x.jerk for x in joints]),
        symmetric("torque", "Nm | N", "limits.effort and motor_limits.torque", robot.motor_efforts),
        symmetric(RMS, "Nm | N", "motor_limits.rms_torque", of_motors("rms_torque")),
        symmetric("motor speed", "rad/s | m/s", "motor_limits.speed", of_motors("speed")),
        symmetric("power", "W | W", "motor_limits.power", of_motors("power")),
        symmetric("spring torque", "Nm | N", "spring_limits.torque", [x[0] for x in springs]),
        symmetric("deflection", "rad | m", "spring_limits.deflection", [x[1] for x in springs]),
    ]
    return {x.name: x for x in found if np.isfinite(x.lower).any() or np.isfinite(x.upper).any()}


def spring_limits(robot: Robot, motor: int) -> tuple[float, float]:
    """Greatest torque and deflection of the spring behind a motor; infinite without one."""
    drive = robot.joints[robot.motor_joints[motor]].drive
    if not isinstance(drive, ElasticDrive | VariableStiffnessDrive):
        return math.inf, math.inf
    if motor >= robot.n and getattr(drive, "slides", False):
        return math.inf, math.inf
    return drive.spring_limits.torque, drive.spring_limits.deflection


def limited_values(
    limited: Mapping[str, LimitedQuantity], stack: FloatArray | None, motion: MotorMotion | None
) -> dict[str, FloatArray]:
    """Values of the limited quantities that a motion has, (..., columns) by name; "torque" if only its mean is limited.

    Args:
        limited: from `limited_quantities`.
        stack: [q, q', q'', ...], (orders, ..., n); None if unknown.
        motion: motion of the motors; None if unknown.
    """
    found: dict[str, Any] = {}
    if stack is not None:
        found = dict(zip(("position", "velocity", "acceleration", "jerk"), stack))
    if motion is not None:
        power = motion.tau * motion.theta_v
        found |= {"torque": motion.tau, "motor speed": motion.theta_v, "power": power}
        found |= {"spring torque": motion.spring_torque, "deflection": motion.deflection}
    wanted = {STEMS.get(name, name) for name in limited}
    return {name: x for name, x in found.items() if name in wanted}


def mean_weights(t: FloatArray) -> FloatArray:
    """Weights (m,) of a mean over times: Simpson's rule for an odd number of even steps, else the trapezoidal rule."""
    steps = np.diff(t)
    if t.size >= 3 and t.size % 2 and np.ptp(steps) <= 1e-6 * steps.max():
        weights = np.full(t.size, 2.0)
        weights[1::2] = 4.0
        weights[[0, -1]] = 1.0
    else:
        weights = np.zeros(t.size)
        weights[:-1] += steps
        weights[1:] += steps
    total = weights.sum()
    return weights / total if total > 0 else np.full(t.size, 1 / t.size)


def violations_of(
    robot: Robot, limited: Mapping[str, LimitedQuantity], t: FloatArray, values: Mapping[str, FloatArray]
) -> list[Violation]:
    """Limits that values exceed, in the order of `limited`; NaN counts as inside.

    Args:
        robot: the robot.
        limited: from `limited_quantities`.
        t: (m,), times, in s.
        values: (..., m, columns) by name, as from `limited_values`; quantities that are missing are not compared.
    """
    found: list[Violation] = []
    for name, quantity in limited.items():
        if (given := values.get(STEMS.get(name, name))) is None:
            continue
        if name == RMS:
            mean = np.sqrt(np.einsum("m,...mi->...i", mean_weights(t), np.square(given)))
            found += exceeded(robot, quantity, np.full(1, math.nan), mean[..., None, :])
        else:
            found += exceeded(robot, quantity, t, given)
    return found


def exceeded(robot: Robot, quantity: LimitedQuantity, t: FloatArray, values: FloatArray) -> list[Violation]:
    """The violation of each column that leaves its bounds."""
    rows, units, names = values.reshape(-1, *values.shape[-2:]), quantity.units(robot), robot.motor_names
    found = []
    for i, (low, high) in enumerate(zip(quantity.lower.tolist(), quantity.upper.tolist())):
        column = rows[..., i]
        beyond = np.fmax(column - high - ROUNDING * abs(high), low - column - ROUNDING * abs(low))
        excess = np.fmax.reduce(beyond, axis=0, initial=-math.inf)  # over all runs of a batch
        if not (late := np.flatnonzero(excess > 0)).size:
            continue
        k = int(np.nanargmax(excess))
        value = float(column[int(np.nanargmax(beyond[:, k])), k])
        limit = high if value > high else low
        found.append(
            Violation(quantity.name, names[i], units[i], limit, value, float(t[k]), float(t[late[0]]), quantity.key)
        )
    return found


def exceeded_values(violations: Sequence[Violation], values: Mapping[str, FloatArray]) -> dict[str, FloatArray]:
    """The values of the quantities that exceed a limit, by name."""
    names = {x.quantity for x in violations}
    return {name: x for name, x in values.items() if name in names}


def warn_of_limits(robot: Robot, found: Mapping[str, Sequence[Violation]]) -> None:
    """Warn of limits that are exceeded, once per quantity; as an error, of all of them at once.

    Args:
        robot: the robot with its limits.
        found: what was found by subject of the message, such as "the motion".
    """
    texts = []
    for what, violations in found.items():
        for name in dict.fromkeys(x.quantity for x in violations):
            beyond = [x for x in violations if x.quantity == name]
            more = f"; and {len(beyond) - SHOWN} more joints" if len(beyond) > SHOWN else ""
            listed = "; ".join(f"{x}: {x.cure}" if x.cure else str(x) for x in beyond[:SHOWN])
            texts.append(
                f"{robot.name:.200}: {what} exceeds {name} limits of the robot: {listed}{more}; change the motion, or "
                f"{beyond[0].key} of the robot"
            )
    for text in texts:
        try:
            warn(text)
        except FlexjointWarning:
            raise FlexjointWarning("; ".join(texts)) from None


def violation_table(violations: Sequence[Violation]) -> Table:
    """Limits that are exceeded: joint, value, limit, excess, times, and what would cure it."""
    rows = [
        [
            x.quantity,
            x.joint,
            f"{x.value:.4g} {x.unit}",
            f"{x.limit:.4g} {x.unit}",
            f"{x.excess:.4g} {x.unit}",
            instant(x.at),
            instant(x.first),
            x.cure,
        ]
        for x in violations
    ]
    headings = ["quantity", "joint", "largest", "limit", "excess", "at", "first at", "met by"]
    return Table(headings, rows, "limits exceeded", numbers=headings[2:7])


def instant(t: float) -> str:
    """A time in s; "mean" for what is a mean over the motion."""
    return "mean" if math.isnan(t) else f"{t:.4g} s"
