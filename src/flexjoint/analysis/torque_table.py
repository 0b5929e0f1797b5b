"""Motor torque, position and deflection along a trajectory, as a table with names and units."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..algorithm.signals import SIGNALS
from ..dynamics.along import inverse_dynamics_along
from ..dynamics.inverse import inverse_dynamics, needed_order
from ..dynamics.requirements import warn_of_friction
from ..errors import InputError, NonFiniteError
from ..html import table as html_table
from ..results.columns import BLOCK, Column
from ..robot import JointKind, Robot, numeric
from ..trajectory import Samples, Trajectory, require_smoothness
from ..trajectory.feasibility import exceeded_along
from ..trajectory.limited_motion import LimitedMotion, on_the_tool
from ..trajectory.limits import NOT_EXCEEDED, Exceeded, limited_quantities, warn_of_limits
from ..trajectory.record import require_clean
from ..trajectory.unit_warnings import warn_of_units
from ..types import FloatArray
from .input_warnings import warn_of_massless, warn_of_noise
from .sensitivity import named_bands, sensitivity

MAX_SAMPLES = 5_000_000
PERIOD = 1e-3  # s
ROUNDING = 1e-12  # share of the peak torque below which a difference is rounding
OF_A_MOTOR = re.compile(r"(?P<what>theta|phi|tau)_(?P<motor>[12])(?P<rest>(_[a-z]+)?)")  # of one motor of a pair
OF_A_QUANTITY = ("rigid", "lower", "upper", "spread", "bound")  # suffixes that do not change the unit
TORQUES = ("tau", "tau_1", "tau_2")  # motor torques


@dataclass(frozen=True, eq=False, repr=False)
class JointTable(ABC):
    """Quantities along a trajectory, one number per sample and joint.

    Args:
        robot: The robot.
        t: Times of the m samples, (m,), s.
        bands: Error bands of the torques, (m, n), by name: "tau_spread" and "tau_bound"; empty unless asked for.
        exceeded: Limits of the robot that the motion exceeds, and the values of these quantities.
    """

    robot: Robot
    t: FloatArray
    bands: Mapping[str, FloatArray] = field(default_factory=dict, kw_only=True)
    exceeded: Exceeded = field(default=NOT_EXCEEDED, kw_only=True)

    def __repr__(self) -> str:
        torques = {name: x for name, x in self.largest().items() if name in TORQUES}
        name, size = max(torques.items(), key=lambda item: item[1].max(initial=0.0))
        i = int(size.argmax())
        return (
            f"<{type(self).__name__} of {self.robot.name}: {self.t.size} samples in {self.t[-1]:g} s; largest motor "
            f"torque {size[i]:.4g} {units(self.robot, name)[i]} at {self.robot.joints[i].name}>"
        )

    def _repr_html_(self) -> str:
        largest = self.largest()
        rows = [
            [joint.name]
            + [f"{x[i]:.4g} {units(self.robot, name)[i]}" if self.has(i, name) else "" for name, x in largest.items()]
            for i, joint in enumerate(self.robot.joints)
        ]
        caption = f"{self.robot.name}: largest absolute values of {self.t.size} samples in {self.t[-1]:g} s"
        return html_table(rows, ["joint", *largest], caption=caption)

    @abstractmethod
    def series(self) -> dict[str, FloatArray]:
        """Quantities of the table by name, without error bands, each (m, n)."""

    def quantities(self) -> dict[str, FloatArray]:
        """All quantities by name, with error bands, each (m, n)."""
        return {**self.series(), **self.bands}

    def largest(self) -> dict[str, FloatArray]:
        """Largest absolute value per joint, (n,), by quantity."""
        return {name: np.nan_to_num(np.abs(x)).max(axis=0) for name, x in self.quantities().items()}

    def has(self, joint: int, name: str) -> bool:
        """Whether a joint has the quantity."""
        return True

    def columns(self) -> list[Column]:
        """Columns of a file: t, then one column per quantity and joint."""
        series = [
            Column(column_name(name, joint.name), unit, values[:, i])
            for name, values in self.quantities().items()
            for i, (joint, unit) in enumerate(zip(self.robot.joints, units(self.robot, name)))
            if self.has(i, name)
        ]
        return [Column("t", "s", self.t), *series]

    def arrays(self) -> dict[str, Any]:
        """Arrays (m, n) by name; `joints` has the names of the columns, `tau_unit` and so on their units."""
        found: dict[str, Any] = {"t": self.t, "joints": np.array([joint.name for joint in self.robot.joints])}
        for name, values in self.quantities().items():
            found |= {name: values, f"{name}_unit": np.array(units(self.robot, name))}
        return found


@dataclass(frozen=True, eq=False, repr=False)
class MotorTable(JointTable):
    """Motors along a trajectory; every array is (m, n), in SI units, after the reduction.

    Args:
        q: Link positions, rad or m.
        theta: Motor positions, rad or m.
        deflection: θ − q, or φ of the springs of coupled joints, rad or m.
        tau: Motor torques, Nm or N.
        tau_rigid: Motor torques of the same robot with rigid joints; None unless asked for.
    """

    q: FloatArray
    theta: FloatArray
    deflection: FloatArray
    tau: FloatArray
    tau_rigid: FloatArray | None = None

    def series(self) -> dict[str, FloatArray]:
        found = {"q": self.q, "theta": self.theta, "deflection": self.deflection, "tau": self.tau}
        return found if self.tau_rigid is None else {**found, "tau_rigid": self.tau_rigid}


def column_name(quantity: str, joint: str) -> str:
    """Name of a column as in simulations and logs: `tau.joint1`, for a second motor `tau.joint1.second`."""
    matched = OF_A_MOTOR.fullmatch(quantity)
    if not matched:
        return f"{quantity}.{joint}"
    return f"{matched['what']}{matched['rest']}.{joint}{'.second' if matched['motor'] == '2' else ''}"


def units(robot: Robot, quantity: str) -> list[str]:
    """Unit of a quantity per joint."""
    stem, _, what = quantity.rpartition("_")
    name = stem if what in OF_A_QUANTITY else quantity
    kinds = second_kinds(robot) if name.endswith("_2") else [joint.kind for joint in robot.joints]
    signal = name.removesuffix("_1").removesuffix("_2").replace("phi", "deflection")
    return [kind.unit(SIGNALS[signal].unit) for kind in kinds]


def second_kinds(robot: Robot) -> list[JointKind]:
    """Kind of the second motor per joint; that of the joint if it has none."""
    kinds = robot.motor_kinds
    second = dict(zip(robot.motor_joints[robot.n :], kinds[robot.n :]))
    return [second.get(i, kind) for i, kind in enumerate(kinds[: robot.n])]


def difference(torque: FloatArray, reference: FloatArray) -> FloatArray:
    """torque − reference, (m, n), 0 where the difference is rounding."""
    error = torque - reference
    return np.where(np.abs(error) <= ROUNDING * np.abs(reference).max(axis=0), 0.0, error)


def sample_times(duration: float, period: float) -> FloatArray:
    """Times 0, period, 2·period, ... up to the duration, (m,), s.

    Args:
        duration: Of the trajectory, s.
        period: Between samples, s.

    Raises:
        InputError: The period is not positive, longer than the duration, or gives more than 5 million samples.
    """
    if not (math.isfinite(period) and period > 0):
        raise InputError(f"period is {period}; it must be a positive number of seconds")
    if not math.isfinite(duration):
        raise InputError("the trajectory does not end; give its duration")
    count = duration / period * (1 + 1e-12) + 1
    if count > MAX_SAMPLES:
        raise InputError(
            f"{count:.3g} samples in {duration:g} s; at most {MAX_SAMPLES:,} are allowed: choose a period of "
            f"{duration / MAX_SAMPLES:.2g} s or more"
        )
    if count < 2:
        raise InputError(f"the period, {period:g} s, is longer than the motion, {duration:g} s; choose a shorter one")
    return np.minimum(np.round(np.arange(int(count)) * period, 12), duration)


def motor_table(
    robot: Robot,
    trajectory: Trajectory,
    period: float = PERIOD,
    *,
    rigid: bool = False,
    wrench: Sequence[float] | None = None,
    uncertain: Mapping[str, float | str] | None = None,
    progress: Callable[[int], Any] = lambda samples: None,
) -> MotorTable:
    """Motor torque, position and deflection along a trajectory of the links.

    Args:
        robot: Rigid, elastic or mixed, with one motor per joint; damped springs too.
        trajectory: Motion of the links, smooth enough for the robot.
        period: Between samples, s; default 1 ms.
        rigid: Whether to compute the torque of the same robot with rigid joints too; default False.
        wrench: Constant force, N, and moment, Nm, on the tool in base coordinates, (6,); by default none.
        uncertain: Deviations of parameters, as in `sensitivity`, for error bands of the torque; by default none.
        progress: Called with the number of samples after each block; by default nothing.

    Returns:
        A MotorTable.

    Raises:
        InputError: The trajectory is not smooth enough or the period does not fit.
        NonFiniteError: A quantity is not finite, with its column and time.

    Example:
        >>> import flexjoint as fj
        >>> from flexjoint.analysis import motor_table
        >>> motor_table(fj.load("kuka_lwr"), fj.trajectory.RestToRest([0.0] * 7, [0.5] * 7, 2.0), 0.01)
        <MotorTable of kuka_lwr: 201 samples in 2 s; largest motor torque 22.04 Nm at joint2>
    """
    t = checked_times(numeric("motor_table", robot), trajectory, period)
    stiff, loads = robot.rigid(), on_the_tool("motor_table", robot, wrench)
    limited, order = LimitedMotion(robot, trajectory, limited_quantities(robot), None, loads), needed_order(robot)
    blocks: list[dict[str, FloatArray]] = []
    bands: list[dict[str, FloatArray]] = []
    compared: list[dict[str, FloatArray]] = []
    for now in in_blocks(robot, t, BLOCK):
        q = limited.stack(now)
        motion = inverse_dynamics_along(robot, trajectory, now, **loads)
        block = {"q": q[0], "theta": motion.theta, "deflection": motion.deflection, "tau": motion.tau}
        blocks.append(block | ({"tau_rigid": inverse_dynamics(stiff, *q, **loads)} if rigid else {}))
        bands.append(named_bands(sensitivity(robot, q[: order + 1], uncertain, **loads)) if uncertain else {})
        compared.append(limited.compared(q, motion))
        progress(now.size)
    exceeded = exceeded_along(limited, t, joined(compared))
    series: Any = joined(blocks)
    table = MotorTable(robot, t, **series, bands=joined(bands), exceeded=exceeded)
    check_finite(table)
    warn_of_limits(robot, {"the motion": exceeded.violations})
    warn_of_noise(robot, trajectory, lambda now: inverse_dynamics_along(robot, trajectory, now, **loads).tau)
    return table


def checked_times(
    robot: Robot, trajectory: Trajectory, period: float, stiffness: Trajectory | None = None
) -> FloatArray:
    """Times of the samples of a table, (m,), s; warns of input probably not meant, and refuses noisy records."""
    require_smoothness(trajectory, robot=robot)
    if isinstance(trajectory, Samples):
        require_clean(robot, trajectory, stiffness)
    warn_of_units(robot, trajectory)
    warn_of_massless(robot)
    warn_of_friction(robot)  # a kernel warns when it is compiled, not at later calls
    return sample_times(trajectory.duration, period)


def in_blocks(robot: Robot, t: FloatArray, most: int) -> list[FloatArray]:
    """The times in blocks of at most so many; in one if a spring is damped, since it has a state."""
    return [t] if any(robot.damped) else np.array_split(t, math.ceil(t.size / most))


def joined(blocks: Sequence[Mapping[str, FloatArray]]) -> dict[str, FloatArray]:
    """Blocks of the same quantities, concatenated along time."""
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def check_finite(table: JointTable) -> None:
    """Raise NonFiniteError with column and time where a number is not finite."""
    for column in table.columns():
        bad = np.flatnonzero(~np.isfinite(column.values))
        if bad.size:
            at = table.t[bad[0]]
            raise NonFiniteError(f"{column.name} is not finite at t = {at:g} s; check the trajectory there")
