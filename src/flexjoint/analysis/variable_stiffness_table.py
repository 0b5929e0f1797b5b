"""Both motors of joints with variable stiffness along a motion of the links and their stiffness over time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dynamics.drivetrain.stiffness_range import feasible_stiffness
from ..dynamics.inverse import MotorMotion, motor_motion
from ..dynamics.requirements import warn_of_friction
from ..errors import InputError, NonFiniteError
from ..results.columns import BLOCK
from ..robot import Robot
from ..trajectory import Trajectory, require_smoothness
from ..trajectory.limits import warn_of_limits, warn_of_units
from .doubts import warn_of_massless, warn_of_noise
from .sensitivity import named_bands, sensitivity
from .torque_table import PERIOD, JointTable, check_finite, joined, on_the_tool, sample_times

SHOWN = ("theta_1", "theta_2", "phi_1", "phi_2", "tau_e", "tau_1", "tau_2")


@dataclass(frozen=True, eq=False)
class StiffnessTable(JointTable):
    """Times, (m,), and one number a joint at each of them, (m, n); all on the link side, in SI units.

    Between `sigma_lower` and `sigma_upper` the stiffness can be at the torque τ_e.  What a joint does not have, a
    second motor or a stiffness to be set, is 0 and has no column in files.
    """

    q: np.ndarray
    sigma: np.ndarray
    sigma_lower: np.ndarray
    sigma_upper: np.ndarray
    theta_1: np.ndarray
    theta_2: np.ndarray
    phi_1: np.ndarray
    phi_2: np.ndarray
    tau_e: np.ndarray
    tau_1: np.ndarray
    tau_2: np.ndarray

    def series(self) -> dict[str, np.ndarray]:
        return {name: getattr(self, name) for name in ("q", "sigma", "sigma_lower", "sigma_upper", *SHOWN)}

    def arrays(self) -> dict[str, Any]:
        """Also theta and tau with a column a motor, as simulations have them and logs are read."""
        second = [i for i, two in enumerate(self.robot.variable_stiffness) if two]
        pairs = {"theta": (self.theta_1, self.theta_2), "tau": (self.tau_1, self.tau_2)}
        merged = {name: np.hstack([x, y[:, second]]) for name, (x, y) in pairs.items()}
        return {**super().arrays(), **merged, "motors": np.array(self.robot.motor_names)}

    def has(self, joint: int, name: str) -> bool:
        of_all = name in ("q", "tau_e") or "_1" in name
        return of_all or self.robot.variable_stiffness[joint]


def stiffness_table(
    robot: Robot,
    trajectory: Trajectory,
    stiffness: Trajectory,
    period: float = PERIOD,
    *,
    wrench: Sequence[float] | None = None,
    uncertain: Mapping[str, float | str] | None = None,
    progress: Callable[[int], Any] = lambda samples: None,
) -> StiffnessTable:
    """What motion and stiffness ask of both motors, every `period` seconds.

    `stiffness` has a column for each joint that can change it, as `load_stiffness` gives it; beyond its end it
    goes on as its kind does.  A stiffness beyond reach is an error that names joint, time and what
    could be reached.  `wrench`, (f, n), acts on the tool in base coordinates and does not change.
    With `uncertain`, as in `sensitivity`, there are bands of the torques.
    """
    check_stiffness(robot, stiffness)
    require_smoothness(trajectory, robot=robot)
    warn_of_units(robot, trajectory)
    warn_of_massless(robot)
    warn_of_friction(robot)  # a kernel warns when it is made, not when it is called again
    t = sample_times(trajectory.duration, period)
    loads, parts, bands = on_the_tool(robot, wrench), [], []
    for now in np.array_split(t, math.ceil(t.size / BLOCK)):
        q, sigma = trajectory(now, order=4), of_all_joints(robot, stiffness(now, order=2))
        motion = motor_motion(robot, *q, stiffness=sigma, **loads)
        explain(robot, now, q, sigma, motion, loads)
        lower, upper = (np.nan_to_num(x) for x in feasible_stiffness(robot, motion.tau_e))
        parts.append((q[1], q[0], sigma[0], lower, upper, *(series_of(robot, motion)[name] for name in SHOWN)))
        found = named_bands(sensitivity(robot, q, uncertain, sigma, **loads)) if uncertain else {}
        bands.append(
            {name.replace("tau", f"tau_{k + 1}"): pair(robot, x)[k] for name, x in found.items() for k in (0, 1)}
        )
        progress(now.size)
    v, *series = (np.concatenate(part) for part in zip(*parts))
    table = StiffnessTable(robot, t, *series, bands=joined(bands))
    check_finite(table)
    second = table.tau_2[:, list(robot.motor_joints[robot.n :])]
    warn_of_limits(robot, "the motion", t, q=table.q, v=v, tau=np.concatenate([table.tau_1, second], axis=1))

    def torque(now: np.ndarray) -> np.ndarray:
        sigma = of_all_joints(robot, stiffness(now, order=2))
        return motor_motion(robot, *trajectory(now, order=4), stiffness=sigma, **loads).tau[..., : robot.n]

    warn_of_noise(robot, trajectory, torque)
    return table


def pair(robot: Robot, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of numbers of all motors those of the first and of the second motor of each joint, (..., n); 0 without one."""
    second = np.zeros((*x.shape[:-1], robot.n))
    second[..., list(robot.motor_joints[robot.n :])] = x[..., robot.n :]
    return x[..., : robot.n], second


def series_of(robot: Robot, motion: MotorMotion) -> dict[str, np.ndarray]:
    """The columns of the table from the motion of the motors."""
    names = {"theta": motion.theta, "phi": motion.deflection, "tau": motion.tau}
    pairs = {f"{name}_{k + 1}": pair(robot, x)[k] for name, x in names.items() for k in (0, 1)}
    return {**pairs, "tau_e": motion.tau_e}


def check_stiffness(robot: Robot, stiffness: Trajectory) -> None:
    joints = sum(robot.variable_stiffness)
    if stiffness.n != joints:
        raise InputError(
            f"the stiffness has {stiffness.n} columns; {robot.name} has {joints} joints that can change theirs"
        )
    require_smoothness(stiffness, order=2)


def of_all_joints(robot: Robot, stack: np.ndarray) -> np.ndarray:
    """Stiffnesses (..., n), 0 where there is none to set."""
    full = np.zeros((*stack.shape[:-1], robot.n))
    full[..., np.flatnonzero(robot.variable_stiffness)] = stack
    return full


def explain(robot: Robot, t: np.ndarray, q: np.ndarray, sigma: np.ndarray, motion: Any, loads: dict[str, Any]) -> None:
    """Say of the first moment that is out of reach which joint it is, and why."""
    bad = np.flatnonzero(~np.all(np.isfinite(motion.tau), axis=1))
    if bad.size:
        k = int(bad[0])
        try:
            motor_motion(robot, *q[:, k], stiffness=sigma[:, k], **loads)
        except NonFiniteError as error:
            raise NonFiniteError(f"at t = {t[k]:g} s: {error}") from error
