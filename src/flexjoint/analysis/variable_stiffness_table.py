"""Motor torques and positions of joints with variable stiffness, along a trajectory of positions and stiffness."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..dynamics.along import inverse_dynamics_along
from ..dynamics.drivetrain.orders import stiffness_order
from ..dynamics.drivetrain.stiffness_range import feasible_stiffness
from ..dynamics.inverse import MotorMotion, motor_motion, needed_order
from ..errors import InputError, NonFiniteError
from ..results.columns import BLOCK
from ..robot import Robot
from ..trajectory import Trajectory, require_smoothness
from ..trajectory.feasibility import exceeded_along
from ..trajectory.limited_motion import LimitedMotion, on_the_tool
from ..trajectory.limits import limited_quantities, warn_of_limits
from ..types import FloatArray
from .input_warnings import warn_of_noise
from .sensitivity import named_bands, sensitivity
from .torque_table import PERIOD, JointTable, check_finite, checked_times, in_blocks, joined

SHOWN = ("theta_1", "theta_2", "phi_1", "phi_2", "tau_e", "tau_1", "tau_2")


@dataclass(frozen=True, eq=False, repr=False)
class StiffnessTable(JointTable):
    """Both motors of each joint along a trajectory; every array is (m, n), in SI units, after the reduction.

    Args:
        q: Link positions, rad or m.
        sigma: Stiffness, Nm/rad or N/m.
        sigma_lower, sigma_upper: Stiffness range that is feasible at the torque τ_e.
        theta_1, theta_2: Motor positions, rad or m.
        phi_1, phi_2: Deflections of the springs, rad or m.
        tau_e: Torque of the springs on the link, at a rigid joint of the motor, Nm or N.
        tau_1, tau_2: Motor torques, Nm or N.

    A quantity that a joint does not have, of a second motor or a variable stiffness, is 0 and has no column in files.
    """

    q: FloatArray
    sigma: FloatArray
    sigma_lower: FloatArray
    sigma_upper: FloatArray
    theta_1: FloatArray
    theta_2: FloatArray
    phi_1: FloatArray
    phi_2: FloatArray
    tau_e: FloatArray
    tau_1: FloatArray
    tau_2: FloatArray

    def series(self) -> dict[str, FloatArray]:
        return {name: getattr(self, name) for name in ("q", "sigma", "sigma_lower", "sigma_upper", *SHOWN)}

    def arrays(self) -> dict[str, Any]:
        """Arrays by name, also theta and tau with one column per motor, as in simulations and logs."""
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
    """Motor torques and positions of joints with variable stiffness along a trajectory.

    Args:
        robot: A robot with at least one joint of variable stiffness.
        trajectory: Motion of the links, four times differentiable; three times if all springs are damped.
        stiffness: Stiffness over time, one column per joint with variable stiffness, Nm/rad or N/m, twice
            differentiable; as `load_stiffness` returns it.
        period: Between samples, s; default 1 ms.
        wrench: Constant force, N, and moment, Nm, on the tool in base coordinates, (6,); by default none.
        uncertain: Deviations of parameters, as in `sensitivity`, for error bands of the torques; by default none.
        progress: Called with the number of samples after each block; by default nothing.

    Returns:
        A StiffnessTable.

    Raises:
        InputError: A trajectory does not fit the robot.
        NonFiniteError: A stiffness is not feasible, with joint, time and the feasible range.
    """
    check_stiffness(robot, stiffness)
    t = checked_times(robot, trajectory, period, stiffness)
    loads = on_the_tool("stiffness_table", robot, wrench)
    limited, order = LimitedMotion(robot, trajectory, limited_quantities(robot), stiffness, loads), needed_order(robot)
    blocks: list[dict[str, FloatArray]] = []
    bands: list[dict[str, FloatArray]] = []
    compared: list[dict[str, FloatArray]] = []
    for now in in_blocks(robot, t, BLOCK):
        stack, sigma = limited.stack(now), of_all_joints(robot, stiffness(now, order=stiffness_order(robot)))
        q = stack[: order + 1]
        motion = inverse_dynamics_along(robot, trajectory, now, stiffness, **loads)
        check_feasible(robot, now, q, sigma, motion, loads)
        lower, upper = (np.nan_to_num(x) for x in feasible_stiffness(robot, motion.tau_e))
        block = {"q": q[0], "sigma": sigma[0], "sigma_lower": lower, "sigma_upper": upper}
        blocks.append(block | series_of(robot, motion))
        found = named_bands(sensitivity(robot, q, uncertain, sigma, **loads)) if uncertain else {}
        pairs = [(name, k, pair(robot, x)[k]) for k in (0, 1) for name, x in found.items()]
        bands.append({name.replace("tau", f"tau_{k + 1}"): x for name, k, x in pairs})
        compared.append(limited.compared(stack, motion))
        progress(now.size)
    exceeded = exceeded_along(limited, t, joined(compared))
    series: Any = joined(blocks)
    table = StiffnessTable(robot, t, **series, bands=joined(bands), exceeded=exceeded)
    check_finite(table)
    warn_of_limits(robot, {"the motion": exceeded.violations})
    along = inverse_dynamics_along
    warn_of_noise(robot, trajectory, lambda now: along(robot, trajectory, now, stiffness, **loads).tau[:, : robot.n])
    return table


def pair(robot: Robot, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """First and second motors of all joints from an array over the motors, each (..., n); 0 without a second one."""
    second = np.zeros((*x.shape[:-1], robot.n))
    second[..., list(robot.motor_joints[robot.n :])] = x[..., robot.n :]
    return x[..., : robot.n], second


def series_of(robot: Robot, motion: MotorMotion) -> dict[str, FloatArray]:
    """Columns of the table from the motion of the motors."""
    names = {"theta": motion.theta, "phi": motion.deflection, "tau": motion.tau}
    pairs = {f"{name}_{k + 1}": pair(robot, x)[k] for name, x in names.items() for k in (0, 1)}
    return {name: {**pairs, "tau_e": motion.tau_e}[name] for name in SHOWN}


def check_stiffness(robot: Robot, stiffness: Trajectory) -> None:
    """Raise InputError if the stiffness has not one column per joint with variable stiffness, or is not smooth."""
    joints = sum(robot.variable_stiffness)
    if stiffness.n != joints:
        raise InputError(
            f"the stiffness has {stiffness.n} columns; {robot.name} has {joints} joints with variable stiffness"
        )
    require_smoothness(stiffness, order=stiffness_order(robot))


def of_all_joints(robot: Robot, stack: FloatArray) -> FloatArray:
    """Stiffness per joint, (..., n), 0 at joints without variable stiffness."""
    full = np.zeros((*stack.shape[:-1], robot.n))
    full[..., np.flatnonzero(robot.variable_stiffness)] = stack
    return full


def check_feasible(
    robot: Robot, t: FloatArray, q: FloatArray, sigma: FloatArray, motion: MotorMotion, loads: dict[str, Any]
) -> None:
    """Raise NonFiniteError for the first sample whose stiffness is not feasible, with joint, time and reason."""
    bad = np.flatnonzero(~np.all(np.isfinite(motion.tau), axis=1))
    if bad.size:
        k = int(bad[0])
        try:
            motor_motion(robot, *q[:, k], stiffness=sigma[:, k], **loads)
        except NonFiniteError as error:
            raise NonFiniteError(f"at t = {t[k]:g} s: {error}") from error
