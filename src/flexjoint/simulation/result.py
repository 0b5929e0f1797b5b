"""What a simulation returns: arrays with names, times and units, and where runs ended that diverged."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from ..control.base import UNITS, Controller, JointState
from ..errors import FlexjointWarning, NonFiniteError
from ..robot import Robot
from .loop import Setup

FIELDS = (*JointState._fields, "tau")


@dataclass(frozen=True)
class Simulation:
    """Runs of one robot: `t` (m,), and (..., m, n) for all else, the dimensions of a batch first.

    `theta`, `theta_v` and `tau` have a column a motor, in the order of `robot.motor_names`.

    Row k of `tau` is the torque from `t[k]` on.  Of a run that diverged, `joint` is the first to leave the bounds (else
    -1) and `periods` how many went well; what comes later is NaN.
    """

    robot: Robot
    period: float
    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    theta: np.ndarray
    theta_v: np.ndarray
    tau: np.ndarray
    reference: np.ndarray  # (m, width of the controller's reference)
    periods: np.ndarray
    joint: np.ndarray
    memory: Any  # state of the controller at the end
    instruments: Sequence[Any] = ()  # of sensors, actuators and observers
    more: dict[str, np.ndarray] = field(default_factory=dict)  # "command", "measured.q", and outputs of observers
    provenance: Mapping[str, Any] = field(default_factory=dict)  # with which controller and steps

    @property
    def last(self) -> JointState:
        """The state at the end; of a run that diverged, the last one that was well."""
        place = np.asarray(self.periods - round(self.t[0] / self.period), dtype=int)[..., None, None]
        return JointState(*(np.take_along_axis(x, place, -2)[..., 0, :] for x in self.states))

    @property
    def states(self) -> JointState:
        """The states at all times."""
        return JointState(self.q, self.v, self.theta, self.theta_v)

    @property
    def error(self) -> np.ndarray:
        """q_d − q of the links, at all times; what else a reference may have, stiffness for one, is left out."""
        return self.reference[:, : self.robot.n] - self.q

    @property
    def diverged(self) -> np.ndarray:
        return self.joint >= 0

    @property
    def ended(self) -> np.ndarray:
        """When each run ended, s."""
        return self.periods * self.period

    @property
    def units(self) -> dict[str, str]:
        """Of each array, for turning | sliding joints."""
        return UNITS | {"tau": "Nm | N"}

    def to_dataset(self) -> Any:
        """The runs as an xarray Dataset: named dimensions, units and provenance as attributes; extra `results`."""
        from .dataset import dataset_of

        return dataset_of(self)


class Ran(NamedTuple):
    """What a loop leaves: histories (..., m, columns), memory of controller and instruments, how many periods went
    well, the joint that left the bounds or n, and what was followed (m, width)."""

    histories: np.ndarray
    memory: Any
    instruments: Sequence[Any]
    done: Any
    joint: Any
    wanted: np.ndarray


def finished(setup: Setup, t: np.ndarray, ran: Ran, controller: Any = None) -> Simulation:
    """The result, at times t, or the first of them if all runs ended early; what comes after the end of a run is NaN.

    `controller` is a Python function, if that was one.
    """
    robot, histories, m = setup.robot, ran.histories, ran.histories.shape[-2]
    begin = round(float(t[0]) / setup.period)
    if lost := np.count_nonzero(np.isnan(ran.done)):
        many = f"{lost} of {np.size(ran.done)} runs"
        raise NonFiniteError(f"{robot.name}: an observer, or the controller's memory, was not finite in {many}")
    done = np.asarray(ran.done).astype(int)
    joint = np.where(np.asarray(ran.joint) < robot.n, ran.joint, -1).astype(int)
    if np.any(done - begin < m - 1):
        histories[np.arange(m) > (done - begin)[..., None]] = np.nan
    if np.any(joint >= 0):
        first = np.unravel_index(np.argmin(np.where(joint >= 0, done, np.iinfo(int).max)), joint.shape)
        many = f"{np.count_nonzero(joint >= 0)} of {joint.size} runs" if joint.ndim else "the run"
        name, when = robot.joints[int(joint[first])].name, (int(done[first]) + 1) * setup.period
        where = f" in run {tuple(map(int, first))}" if first else ""
        warnings.warn(
            f"{robot.name}: {many} diverged; joint '{name}' left all bounds at t = {when:g} s{where}",
            FlexjointWarning,
            stacklevel=3,
        )
    ends = accumulate(setup.columns.values())
    arrays = {name: histories[..., end - size : end] for (name, size), end in zip(setup.columns.items(), ends)}
    q, v, theta, theta_v, tau = (arrays.pop(name) for name in FIELDS)
    about = provenance(setup, controller or setup.controller)
    rest: tuple[Any, ...] = (ran.wanted[:m], done, joint, ran.memory, ran.instruments, arrays, about)
    return Simulation(robot, setup.period, t[:m], q, v, theta, theta_v, tau, *rest)


def provenance(setup: Setup, controller: Any) -> dict[str, Any]:
    """What decided the numbers of a run, beside the robot and the reference."""
    found: dict[str, Any] = {"controller": getattr(controller, "__name__", type(controller).__name__)}
    if isinstance(controller, Controller):
        found |= {"controller_robot": controller.robot.digest, "gains": str(controller.gains.tolist())}
    found |= {"integrator": setup.integrator, "substeps": setup.substeps, "hold": str(setup.hold)}
    instruments = setup.instruments
    further = {
        "free": ", ".join(setup.free),
        "changes": ", ".join(setup.changes),
        "stops": setup.stops,
        "sensors": instruments.sensors,
        "actuators": instruments.actuators,
        "observers": ", ".join(name for name, _ in instruments.observers),
    }
    return found | {name: str(x) for name, x in further.items() if x}
