"""What a simulation returns: arrays with names, times and units, and where runs ended that diverged."""

from __future__ import annotations

import csv
import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..control.base import UNITS, JointState
from ..errors import InputError
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

    def to_npz(self, path: str | os.PathLike[str]) -> None:
        """All arrays by name, with the names of the joints and the digest of the robot."""
        arrays = {name: getattr(self, name) for name in ("t", *FIELDS, "reference", "periods", "joint")} | self.more
        names = np.array([joint.name for joint in self.robot.joints])
        np.savez(path, joints=names, robot=self.robot.name, digest=self.robot.digest, period=self.period, **arrays)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """One run as a table: t, then q.joint1 [rad], ..."""
        if self.q.ndim != 2:
            raise InputError(f"to_csv writes one run, this is a batch of shape {self.q.shape[:-2]}; use to_npz")
        header = ["t [s]"]
        for name, unit in self.units.items():
            turning, sliding = unit.split(" | ")
            joints = range(self.robot.n) if name in ("q", "v") else self.robot.motor_joints
            units = [turning if self.robot.joints[i].kind == "revolute" else sliding for i in joints]
            header += [f"{name}.{column} [{unit}]" for column, unit in zip(self.robot.motor_names, units)]
        for name, array in self.more.items():
            header += [f"{name}.{k + 1}" for k in range(array.shape[-1])]
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(header)
            writer.writerows(np.column_stack([self.t, *self.states, self.tau, *self.more.values()]).tolist())


class Ran(NamedTuple):
    """What a loop leaves: histories (..., m, columns), memory of controller and instruments, how many periods went
    well, the joint that left the bounds or n, and what was followed (m, width)."""

    histories: np.ndarray
    memory: Any
    instruments: Sequence[Any]
    done: Any
    joint: Any
    wanted: np.ndarray


def finished(setup: Setup, begin: int, ran: Ran) -> Simulation:
    """The result; what comes after the end of a run is NaN."""
    robot, histories, m = setup.robot, ran.histories, ran.histories.shape[-2]
    done = np.asarray(ran.done).astype(int)
    joint = np.where(np.asarray(ran.joint) < robot.n, ran.joint, -1).astype(int)
    late = np.arange(m) > (done - begin)[..., None]
    histories[late] = np.nan
    if np.any(joint >= 0):
        first = np.unravel_index(np.argmin(np.where(joint >= 0, done, np.iinfo(int).max)), joint.shape)
        many = f"{np.count_nonzero(joint >= 0)} of {joint.size} runs" if joint.ndim else "the run"
        name, when = robot.joints[int(joint[first])].name, (int(done[first]) + 1) * setup.period
        where = f" in run {tuple(map(int, first))}" if first else ""
        warnings.warn(
            f"{robot.name}: {many} diverged; joint '{name}' left all bounds at t = {when:g} s{where}", stacklevel=3
        )
    t = setup.period * (begin + np.arange(m))
    cuts = np.cumsum(list(setup.columns.values()))[:-1]
    arrays = dict(zip(setup.columns, np.split(histories, cuts, axis=-1)))
    q, v, theta, theta_v, tau = (arrays.pop(name) for name in FIELDS)
    rest: tuple[Any, ...] = (ran.wanted[:m], done, joint, ran.memory, ran.instruments, arrays)
    return Simulation(robot, setup.period, t, q, v, theta, theta_v, tau, *rest)
