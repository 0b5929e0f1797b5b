"""Linearization of a robot about a state, alone or under a controller."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from ..algorithm.compile import kernel_of
from ..compiler.ir.program import Array
from ..compiler.runtime.kernel import Kernel
from ..control.base import Controller, JointState
from ..control.sampling import configuration, torque_at_rest
from ..dynamics.drivetrain.coupling import matrices
from ..dynamics.inertia import mass_matrix
from ..dynamics.requirements import lossless_gears, require
from ..errors import InputError
from ..robot import Robot, numeric
from ..simulation.equilibrium import at_rest
from ..simulation.plant import Plant
from ..spatial import ca, total, zeros
from ..types import Expression, FloatArray
from .linear_loop import at_reference, under_control
from .linear_model import LinearModel


def linearize(
    robot: Robot,
    state: ArrayLike | JointState,
    tau: ArrayLike | None = None,
    controller: Controller | None = None,
    period: float | None = None,
    open_at: str | None = None,
) -> LinearModel:
    """Linear model of a robot about a state, alone or under a controller.

    Under a controller the inputs are the reference, torques added to those of the law, and loads on the links; the
    outputs also `command.joint1`, the torque of the law, and `error.joint1`, the deviation from the reference.

    Args:
        robot: Any robot that can be simulated.
        state: A configuration (n,), rad or m, at which the robot rests with its springs in equilibrium, or a
            JointState. A robot with variable stiffness needs a JointState, such as `at_rest(robot, q, stiffness)`.
            Under a controller: the reference at which the loop rests, one number per column of the reference.
        tau: Motor torques at that state, one per motor, Nm or N; by default those that balance gravity and parallel
            springs. Not under a controller.
        controller: A controller without estimator and sensors; by default none.
        period: Sampling period of the controller, s: the model is then that of the sampled loop, with torques held in
            between. By default the law acts in continuous time, which requires a law without a state.
        open_at: Name of the motor at which the loop is opened: its torque is then an input instead of the law's, see
            `loop_gain`. By default none.

    Returns:
        A LinearModel.

    Raises:
        InputError: A shape does not fit, a number is not finite, or the law has a state and there is no period.

    Example:
        >>> import flexjoint as fj
        >>> robot = fj.load("hua_3r")
        >>> model = fj.analysis.linearize(robot, [0.2, 0.5, -0.4])
        >>> A, B, C, D = model.system("load.joint1", "q.*")
        >>> law = fj.control.MotorPD(robot, [500.0, 50.0])
        >>> fj.analysis.linearize(robot, [0.2, 0.5, -0.4], controller=law).response(10.0, "reference.joint1").shape
        (3, 1)
    """
    if isinstance(state, tuple) and not isinstance(state, JointState):
        raise InputError("linearize: state must be a configuration (n,) or a JointState")
    require("linearize", numeric("linearize", robot), lossless_gears)
    if controller is None:
        if period is not None or open_at is not None:
            raise InputError("linearize: period and open_at belong to a controller: give controller=...")
        return robot_alone(robot, state if isinstance(state, JointState) else at_rest(robot, state), tau)
    if tau is not None:
        raise InputError("linearize: tau follows from the controller: leave it out")
    point = at_reference(robot, controller, state)
    return under_control(robot_alone(robot, point.state, point.tau), controller, point, period, open_at)


def robot_alone(robot: Robot, at: JointState, tau: ArrayLike | None) -> LinearModel:
    """Linear model of a robot without a controller."""
    n, plant, motors = robot.n, Plant(robot), robot.motor_joints
    q, v = configuration(robot, at.q), configuration(robot, at.v)
    theta, theta_v = (numbers(robot, name, getattr(at, name)) for name in ("theta", "theta_v"))
    torque = torque_at_rest(robot, q)[list(motors)] if tau is None else numbers(robot, "tau", tau)
    x, w = np.concatenate([q, theta[plant.behind]]), np.concatenate([v, theta_v[plant.behind]])
    p = len(x)
    A, B = np.zeros((2 * p, 2 * p)), np.zeros((2 * p, len(motors)))
    A[:p, p:] = np.eye(p)
    acceleration, springs = slopes(robot)(x, w, torque)
    A[p:], B[p:] = np.split(acceleration, [2 * p], axis=1)
    joints, names = robot.motor_names[:n], [robot.motor_names[k] for k in plant.behind]
    places = [f"q.{joint}" for joint in joints] + [f"theta.{name}" for name in names]
    rates = [f"v.{joint}" for joint in joints] + [f"theta_v.{name}" for name in names]
    push = np.zeros((2 * p, n))
    push[p:] = pushed(robot, q, p)
    columns = {f"tau.{name}": B[:, k] for k, name in enumerate(robot.motor_names)}
    columns |= {f"load.{joint}": push[:, i] for i, joint in enumerate(joints)}
    states = (*places, *rates)
    rows = outputs(plant, springs, states, A, np.stack(list(columns.values()), axis=1))
    C, D = np.eye(n, 2 * p), np.zeros((n, len(motors)))
    return LinearModel(A, B, C, D, states, robot.motor_names, columns, rows, robot)


def numbers(robot: Robot, name: str, value: ArrayLike) -> FloatArray:
    """An array with one number per motor; raises InputError if it is not."""
    array = np.asarray(value, dtype=float)
    if array.shape != (robot.motor_count,) or not np.all(np.isfinite(array)):
        raise InputError(f"linearize: {name} has shape {array.shape}; it must be {robot.motor_count} finite numbers")
    return array


@lru_cache(maxsize=64)
def slopes(robot: Robot) -> Kernel:
    """Kernel (x, w, τ) -> ∂w'/∂(x, w, τ) and ∂τ_e/∂(x, w), for free coordinates x with velocities w."""
    plant = Plant(robot)
    p, m = robot.n + len(plant.behind), robot.motor_count

    def function(x: Expression, w: Expression, tau: Expression) -> list[tuple[Array, Expression]]:
        state = plant.state(x, w)
        rate, tau_e = plant.acceleration(0.0, state, tau), plant.joint_torques(state, zeros(m))
        return [
            (Array("acceleration", (p, 2 * p + m)), ca.jacobian(rate, ca.vertcat(x, w, tau))),
            (Array("springs", (robot.n, 2 * p)), ca.jacobian(tau_e, ca.vertcat(x, w))),
        ]

    inputs = [Array("x", (p,)), Array("w", (p,)), Array("tau", (m,))]
    return kernel_of(f"slopes of {robot.name}", inputs, function, f"slopes {robot.digest}", loops=False)


def pushed(robot: Robot, q: FloatArray, p: int) -> FloatArray:
    """Acceleration of each free coordinate per unit force on each link, (p, n)."""
    if any(robot.variable_stiffness):
        found = np.zeros((p, robot.n))
        found[: robot.n] = np.linalg.inv(mass_matrix(robot, q))
        return found
    return np.linalg.inv(mass_matrix(robot, q, motors=True))[:, : robot.n]


def outputs(
    plant: Plant, springs: FloatArray, states: Sequence[str], A: FloatArray, B: FloatArray
) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Rows of C and D by output: states, accelerations of the links, deflections and torques of the springs."""
    unit, none, robot = dict(zip(states, np.eye(len(states)))), np.zeros(B.shape[1]), plant.robot
    found = {name: (row, none) for name, row in unit.items()}
    p, joints = len(states) // 2, [joint.name for joint in robot.joints]
    found |= {f"a.{joint}": (A[p + i], B[p + i]) for i, joint in enumerate(joints)}
    matrix = matrices(robot)
    for k in plant.behind:
        name, i = robot.motor_names[k], robot.motor_joints[k]
        if k >= robot.n:
            c = getattr(robot.joints[i].drive, "c", 1)  # whether θ_2 counts from the link
            found[f"deflection.{name}"] = unit[f"theta.{name}"] - c * unit[f"q.{joints[i]}"], none
            continue
        ends = [x * unit[f"theta.{joints[j]}"] for j, x in enumerate(matrix.near_motors_inverse[k]) if x]
        ends += [-x * unit[f"q.{joints[j]}"] for j, x in enumerate(matrix.near_links[k]) if x]
        found[f"deflection.{name}"] = total(ends), none
    return found | {f"tau_e.{x}": (springs[i], none) for i, x in enumerate(joints) if robot.compliant[i]}
