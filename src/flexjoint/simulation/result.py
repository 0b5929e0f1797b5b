"""The result of a simulation: arrays with names, times and units, and where runs ended that diverged."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..control.base import UNITS, Controller, JointState, innermost
from ..control.open_loop import OpenLoop
from ..errors import FlexjointWarning, NonFiniteError
from ..html import table
from ..numerics import evaluate
from ..robot import Robot
from ..spatial import ca
from ..trajectory.limits import NOT_EXCEEDED, Exceeded
from ..types import FloatArray
from .closed_loop import ClosedLoop
from .moving_base import BASE_POSE, MovingBase
from .plant import PlantState

FIELDS = (*JointState._fields, "tau")
TORQUE = "motor torque"  # what the reference of a run in open loop is


@dataclass(frozen=True, eq=False)
class Simulation:
    """The result of `simulate`: arrays over time, with the dimensions of a batch first.

    Args:
        robot: The robot that moved.
        period: Of the controller, in s.
        t: Times (m,), in s.
        q, v: Positions and velocities of the links (..., m, n), in rad and rad/s or m and m/s.
        theta, theta_v: Those of the motors, on the link side (..., m, motors), in the order of `robot.motor_names`.
        tau: Torques of the motors (..., m, motors), in Nm or N; row k acts from `t[k]` on.
        reference: What the controller followed (m, width).
        periods: Number of periods before divergence (...), counted from t = 0.
        joint: Index of the first joint that diverged (...), -1 if the run did not diverge; later samples are NaN.
        memory: The state of the controller at the end.
        instruments: The states of sensors, actuators and observers at the end.
        more: Outputs of sensors, actuators and observers, (..., m, size) by name: "command", "measured.q",
            "watch.link"; "base" is the pose of a moving base, x, y, z, roll, pitch, yaw.  For gears with losses, per
            joint: "spring_torque" in Nm or N; with hysteresis "hysteresis", its state z, "hysteresis_torque" in Nm or
            N, and "dissipated", the energy it has lost since t = 0, in J.
        provenance: Controller, integrator and options, as text.
        exceeded: Limits of the robot that the reference or the run exceeds; none with `simulate(check=False)`.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("kuka_lwr")
        >>> fj.simulate(robot, fj.control.MotorPD(robot, [1000.0, 50.0]), [0.1] * 7, duration=0.5)
        <Simulation of kuka_lwr under MotorPD: 501 samples, 0.5 s>
    """

    robot: Robot
    period: float
    t: FloatArray
    q: FloatArray
    v: FloatArray
    theta: FloatArray
    theta_v: FloatArray
    tau: FloatArray
    reference: FloatArray
    periods: NDArray[np.int64]
    joint: NDArray[np.int64]
    memory: Any
    instruments: Sequence[FloatArray] = ()
    more: dict[str, FloatArray] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    exceeded: Exceeded = NOT_EXCEEDED

    def __repr__(self) -> str:
        return f"<{self._summary}>"

    def _repr_html_(self) -> str:
        """A table for notebooks: for each joint the error of its link and the torque of its motor."""
        robot = self.robot
        columns = [self.error[..., -1, :], self.error, self.tau[..., : robot.n]]
        numbers = [np.fmax.reduce(np.abs(x).reshape(-1, robot.n)) for x in columns]  # without NaN after the end
        rows = [(joint.name, *(f"{x:.3g}" for x in row)) for joint, *row in zip(robot.joints, *numbers)]
        names = ("joint", "error at the end, rad | m", "largest error, rad | m", "largest torque, Nm | N")
        return table(rows, names, caption=self._summary)

    @property
    def _summary(self) -> str:
        runs = math.prod(self.q.shape[:-2])
        law = f" under {self.provenance['controller']}" if "controller" in self.provenance else ""
        text = f"Simulation of {self.robot.name}{law}: {f'{runs} runs of ' if self.q.ndim > 2 else ''}"
        text += f"{len(self.t)} samples, {self.t[-1] - self.t[0]:.6g} s"
        if not np.any(self.diverged):
            return text
        first = f"{np.min(np.asarray(self.ended)[self.diverged]):.6g} s"
        several = f"{np.count_nonzero(self.diverged)} of them diverged, the first"
        return f"{text}; {several if self.q.ndim > 2 else 'diverged'} at {first}"

    @property
    def last(self) -> JointState | PlantState:
        """The state at the end, a PlantState if gears have hysteresis; of a run that diverged, the last one before."""
        place = np.asarray(self.periods - round(self.t[0] / self.period), dtype=int)[..., None, None]
        end = JointState(*(np.take_along_axis(x, place, -2)[..., 0, :] for x in self.states))
        if not self.robot.hysteretic:
            return end
        gears = [self.more[name][..., list(self.robot.hysteretic)] for name in ("hysteresis", "dissipated")]
        return PlantState(*end, *(np.take_along_axis(x, place, -2)[..., 0, :] for x in gears))

    @property
    def states(self) -> JointState:
        """The states at all times."""
        return JointState(self.q, self.v, self.theta, self.theta_v)

    @property
    def error(self) -> FloatArray:
        """q_d − q of the links (..., m, n), at all times."""
        return self.reference[:, : self.robot.n] - self.q

    @property
    def tracks(self) -> bool:
        """Whether the reference is a motion of the links; in open loop it is the motor torque."""
        return self.provenance.get("reference") != TORQUE

    @property
    def stiffness(self) -> FloatArray:
        """σ of the joints with two motors (..., m, n), in Nm/rad or N/m, at all times; NaN at other joints."""
        found = np.full(self.q.shape, np.nan)
        for k, i in enumerate(self.robot.motor_joints[self.robot.n :], self.robot.n):
            drive: Any = self.robot.joints[i].drive
            q, theta_1, theta_2 = self.q[..., i], self.theta[..., i], self.theta[..., k]
            phi = ca.SX.sym("phi", 2)
            deflections = np.stack([theta_1 - q, theta_2 - drive.c * q], axis=-1).reshape(-1, 2)
            (sigma,) = evaluate([phi], [deflections], [drive.at(phi[0], phi[1]).sigma])
            found[..., i] = sigma.reshape(q.shape)
        return found

    @property
    def diverged(self) -> NDArray[np.bool_]:
        """Which runs left all bounds (...)."""
        return self.joint >= 0

    @property
    def ended(self) -> FloatArray:
        """When each run ended (...), in s."""
        return np.multiply(self.periods, self.period)

    @property
    def units(self) -> dict[str, str]:
        """The unit of each array, for revolute | prismatic joints."""
        return UNITS | {"tau": "Nm | N"}

    def to_dataset(self) -> Any:
        """An xarray Dataset with named dimensions, and with units and provenance as attributes.

        Raises:
            InputError: xarray is not installed: pip install 'flexjoint[results]'.
        """
        from .dataset import dataset_of

        return dataset_of(self)


class RunOutput(NamedTuple):
    """What a run leaves.

    Args:
        history: (..., m, columns), see `ClosedLoop.columns`.
        memory, instruments: States of the controller and of the instruments at the end.
        done: How many periods went well (...).
        joint: The joint that left the bounds (...), n if none did.
        goals: What was followed (m, width).
    """

    history: FloatArray
    memory: Any
    instruments: Sequence[FloatArray]
    done: Any
    joint: Any
    goals: FloatArray


def finished(loop: ClosedLoop, t: FloatArray, output: RunOutput, controller: Any = None) -> Simulation:
    """The result at times t, or at the first of them if all runs ended early; what comes after the end of a run is NaN.

    Args:
        controller: The Python function, if the controller was one.
    """
    robot, history, m = loop.robot, output.history, output.history.shape[-2]
    begin = round(float(t[0]) / loop.period)
    if lost := np.count_nonzero(np.isnan(output.done)):
        many = f"{lost} of {np.size(output.done)} runs"
        raise NonFiniteError(f"{robot.name}: an observer, or the controller's memory, was not finite in {many}")
    done = np.asarray(output.done).astype(int)
    joint = np.where(np.asarray(output.joint) < robot.n, output.joint, -1).astype(int)
    if np.any(done - begin < m - 1):
        history[np.arange(m) > (done - begin)[..., None]] = np.nan
    if np.any(joint >= 0):
        first = np.unravel_index(np.argmin(np.where(joint >= 0, done, np.iinfo(int).max)), joint.shape)
        many = f"{np.count_nonzero(joint >= 0)} of {joint.size} runs" if joint.ndim else "the run"
        name, when = robot.joints[int(joint[first])].name, (int(done[first]) + 1) * loop.period
        where = f" in run {tuple(map(int, first))}" if first else ""
        warnings.warn(
            f"{robot.name}: {many} diverged; joint '{name}' left all bounds at t = {when:g} s{where}",
            FlexjointWarning,
            stacklevel=3,
        )
    ends = accumulate(loop.columns.values())
    arrays = {name: history[..., end - size : end] for (name, size), end in zip(loop.columns.items(), ends)}
    q, v, theta, theta_v, tau = (arrays.pop(name) for name in FIELDS)
    about = provenance(loop, controller or loop.controller)
    rest: tuple[Any, ...] = (output.goals[:m], done, joint, output.memory, output.instruments, arrays, about)
    return Simulation(robot, loop.period, t[:m], q, v, theta, theta_v, tau, *rest)


def on_base(run: Simulation, base: MovingBase | None) -> Simulation:
    """The result with the poses of its moving base."""
    if base is None:
        return run
    poses = base.poses(run.t)
    more = {**run.more, BASE_POSE: np.broadcast_to(poses, (*run.q.shape[:-2], *poses.shape))}
    return replace(run, more=more, provenance={**run.provenance, "base_trajectory": repr(base.pose)})


def provenance(loop: ClosedLoop, controller: Any) -> dict[str, Any]:
    """What decided the numbers of a run, beside the robot and the reference."""
    found: dict[str, Any] = {"controller": getattr(controller, "__name__", type(controller).__name__)}
    if isinstance(controller, Controller):
        found |= {"controller_robot": controller.robot.digest, "gains": str(controller.gains.tolist())}
    if isinstance(innermost(controller), OpenLoop):
        found["reference"] = TORQUE
    found |= {"integrator": loop.integrator, "substeps": loop.substeps, "hold": str(loop.hold)}
    instrumentation = loop.instrumentation
    further = {
        "free": ", ".join(loop.free),
        "changes": ", ".join(loop.changes),
        "stops": loop.stops,
        "sensors": instrumentation.sensors,
        "actuators": instrumentation.actuators,
        "observers": ", ".join(name for name, _ in instrumentation.observers),
    }
    return found | {name: str(x) for name, x in further.items() if x}
