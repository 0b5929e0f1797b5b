"""The motors along a trajectory, sample by sample: positions, deflections and torques, with names and units."""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..algorithm.signals import SIGNALS
from ..checks import finite
from ..dynamics.along import inverse_dynamics_along
from ..dynamics.inverse import inverse_dynamics, needed_order
from ..dynamics.requirements import warn_of_friction
from ..errors import InputError, NonFiniteError
from ..results.columns import BLOCK, Column
from ..robot import Robot
from ..trajectory import Trajectory, require_smoothness
from ..trajectory.limits import warn_of_limits, warn_of_units
from .doubts import warn_of_massless, warn_of_noise
from .sensitivity import named_bands, sensitivity

MAX_SAMPLES = 5_000_000
PERIOD = 1e-3  # s
ROUNDING = 1e-12  # of the peak torque: what differs by less agrees
OF_A_MOTOR = re.compile(r"(?P<what>theta|phi|tau)_(?P<motor>[12])(?P<rest>(_[a-z]+)?)")  # one of a joint's two
OF_A_QUANTITY = ("rigid", "lower", "upper", "spread", "bound")  # ends of names whose unit is that of what stands before


@dataclass(frozen=True, eq=False)
class JointTable(ABC):
    """Times, (m,), and quantities that have one number a joint at each of them, (m, n).

    `bands` has how far torques may be off, as "tau_spread" and "tau_bound", where that was asked for.
    """

    robot: Robot
    t: np.ndarray
    bands: Mapping[str, np.ndarray] = field(default_factory=dict, kw_only=True)

    @abstractmethod
    def series(self) -> dict[str, np.ndarray]:
        """What the table is about, by name."""

    def quantities(self) -> dict[str, np.ndarray]:
        """All that has one number a joint, by name."""
        return {**self.series(), **self.bands}

    def has(self, joint: int, name: str) -> bool:
        """Whether a joint has such a thing."""
        return True

    def columns(self) -> list[Column]:
        """t, then each quantity joint by joint."""
        series = [
            Column(column_name(name, joint.name), unit, values[:, i])
            for name, values in self.quantities().items()
            for i, (joint, unit) in enumerate(zip(self.robot.joints, units(self.robot, name)))
            if self.has(i, name)
        ]
        return [Column("t", "s", self.t), *series]

    def arrays(self) -> dict[str, Any]:
        """(m, n) by name; `joints` names the columns, `tau_unit` and its like give their units."""
        found: dict[str, Any] = {"t": self.t, "joints": np.array([joint.name for joint in self.robot.joints])}
        for name, values in self.quantities().items():
            found |= {name: values, f"{name}_unit": np.array(units(self.robot, name))}
        return found


@dataclass(frozen=True, eq=False)
class MotorTable(JointTable):
    """Motors along a motion; all on the link side, in SI units.

    `tau_rigid` is the torque if the joints were rigid, where it was asked for.
    """

    q: np.ndarray
    theta: np.ndarray
    deflection: np.ndarray
    tau: np.ndarray
    tau_rigid: np.ndarray | None = None

    def series(self) -> dict[str, np.ndarray]:
        found = {"q": self.q, "theta": self.theta, "deflection": self.deflection, "tau": self.tau}
        return found if self.tau_rigid is None else {**found, "tau_rigid": self.tau_rigid}


def column_name(quantity: str, joint: str) -> str:
    """As in files of simulations and logs: `tau.joint1`, and of second motors `tau.joint1.second`."""
    matched = OF_A_MOTOR.fullmatch(quantity)
    if not matched:
        return f"{quantity}.{joint}"
    return f"{matched['what']}{matched['rest']}.{joint}{'.second' if matched['motor'] == '2' else ''}"


def units(robot: Robot, quantity: str) -> list[str]:
    """The unit of a quantity at each joint."""
    stem, _, what = quantity.rpartition("_")
    name = stem if what in OF_A_QUANTITY else quantity
    turning, sliding = SIGNALS[name].unit.split(" | ")
    kinds = second_kinds(robot) if name.endswith("_2") else [joint.kind for joint in robot.joints]
    return [sliding if kind == "prismatic" else turning for kind in kinds]


def second_kinds(robot: Robot) -> list[str]:
    """Whether the second motor of each joint turns or slides; where there is none, as the joint."""
    kinds = robot.motor_kinds
    second = dict(zip(robot.motor_joints[robot.n :], kinds[robot.n :]))
    return [second.get(i, kind) for i, kind in enumerate(kinds[: robot.n])]


def difference(torque: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """torque − reference, (m, n), zero where it is rounding."""
    error = torque - reference
    return np.where(np.abs(error) <= ROUNDING * np.abs(reference).max(axis=0), 0.0, error)


def sample_times(duration: float, period: float) -> np.ndarray:
    """0, period, 2·period, ... as far as the motion lasts."""
    if not (math.isfinite(period) and period > 0):
        raise InputError(f"period is {period}; it must be a positive number of seconds")
    if not math.isfinite(duration):
        raise InputError("the trajectory does not end; give its duration")
    count = duration / period * (1 + 1e-12) + 1
    if count > MAX_SAMPLES:
        raise InputError(
            f"{count:.3g} samples in {duration:g} s; {MAX_SAMPLES:,} are the most: choose a period of "
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
    """What a motion of the links asks of the motors, every `period` seconds.

    With `rigid` also the torque of the robot with rigid joints.  `wrench`, (f, n), acts on the tool in base
    coordinates and does not change.  With `uncertain`, as in `sensitivity`, there are bands of the torque.  `progress`
    is called with the number of samples each time some are done.
    """
    require_smoothness(trajectory, robot=robot)
    warn_of_units(robot, trajectory)
    warn_of_massless(robot)
    warn_of_friction(robot)  # a kernel warns when it is made, not when it is called again
    t, damped, stiff = sample_times(trajectory.duration, period), any(robot.damped), robot.rigid()
    loads, parts, bands = on_the_tool(robot, wrench), [], []
    for now in [t] if damped else np.array_split(t, math.ceil(t.size / BLOCK)):  # damped springs remember
        q = trajectory(now, order=needed_order(robot))
        motion = inverse_dynamics_along(robot, trajectory, now, **loads)
        compared = [inverse_dynamics(stiff, *q, **loads)] if rigid else []
        parts.append((q[1], q[0], motion.theta, motion.deflection, motion.tau, *compared))
        bands.append(named_bands(sensitivity(robot, q, uncertain, **loads)) if uncertain else {})
        progress(now.size)
    v, *series = (np.concatenate(part) for part in zip(*parts))
    table = MotorTable(robot, t, *series, bands=joined(bands))
    check_finite(table)
    warn_of_limits(robot, "the motion", t, q=table.q, v=v, tau=table.tau)
    warn_of_noise(robot, trajectory, lambda now: recorded_torque(robot, trajectory, now, loads))
    return table


def recorded_torque(robot: Robot, trajectory: Trajectory, t: np.ndarray, loads: dict[str, Any]) -> np.ndarray:
    """Motor torque at the times t, (m, n)."""
    return inverse_dynamics_along(robot, trajectory, t, **loads).tau


def on_the_tool(robot: Robot, wrench: Any) -> dict[str, Any]:
    """A wrench that does not change, as algorithms take it; nothing if there is none."""
    if wrench is None:
        return {}
    given = finite("the table", "wrench", wrench)
    if given.shape != (6,):
        raise InputError(f"the wrench has shape {given.shape}; it must be six numbers, force and moment")
    return {"wrenches": {robot.tool: [given, np.zeros(6), np.zeros(6)]}}


def joined(blocks: Sequence[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Blocks of the same quantities, one after the other."""
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def check_finite(table: JointTable) -> None:
    for column in table.columns():
        bad = np.flatnonzero(~np.isfinite(column.values))
        if bad.size:
            at = table.t[bad[0]]
            raise NonFiniteError(f"{column.name} is not finite at t = {at:g} s; check the trajectory there")
