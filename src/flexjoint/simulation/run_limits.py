"""What a simulation shows of the quantities that a robot limits: of its reference, and of the run."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..drives import ElasticDrive
from ..dynamics.drivetrain.coupling import matrices
from ..numerics import evaluate
from ..spatial import ca
from ..trajectory.base import Trajectory
from ..trajectory.limits import limited_quantities
from ..types import FloatArray
from .result import Simulation

DERIVATIVES = ("position", "velocity", "acceleration", "jerk")


def reference_values(run: Simulation, reference: Any) -> dict[str, FloatArray]:
    """Position and derivatives of the reference, (m, n) by name: as many as are bounded and limited."""
    followed = run.reference[:, : run.robot.n]
    found = {"position": followed, "velocity": np.diff(followed, axis=0, prepend=followed[:1]) / run.period}
    wanted = [k for k, name in enumerate(DERIVATIVES) if name in limited_quantities(run.robot)]
    if isinstance(reference, Trajectory) and wanted:
        order = int(min(max(wanted), reference.smoothness + 1))
        stack = reference(np.minimum(run.t, reference.duration), order=order)[..., : run.robot.n]
        found |= dict(zip(DERIVATIVES, stack))
    return found


def run_values(run: Simulation) -> dict[str, FloatArray]:
    """Torque, speed and power of the motors, and deflection and torque of the springs, (..., m, motors) by name."""
    found = {"torque": run.tau, "motor speed": run.theta_v, "power": run.tau * run.theta_v}
    if limited_quantities(run.robot).keys() & {"deflection", "spring torque"}:
        found["deflection"] = deflections(run.robot, run.q, run.theta)
        found["spring torque"] = spring_torques(run, found["deflection"])
    return found


def deflections(robot: Any, q: FloatArray, theta: FloatArray) -> FloatArray:
    """φ of the spring behind each motor, (..., motors), from positions or their rates; 0 at rigid joints."""
    T, n = matrices(robot), robot.n
    found = np.zeros(theta.shape)
    found[..., :n] = theta[..., :n] @ T.near_motors_inverse.T - q @ T.near_links.T
    for k, i in enumerate(robot.motor_joints[n:], n):
        found[..., k] = theta[..., k] - robot.joints[i].drive.c * q[..., i]
    found[..., :n] *= np.array(robot.compliant, dtype=float)
    return found


def spring_torques(run: Simulation, phi: FloatArray) -> FloatArray:
    """Torque of the spring behind each motor, (..., motors), with its damping; 0 at rigid joints."""
    robot, found = run.robot, np.zeros(phi.shape)
    rates = deflections(robot, run.v, run.theta_v)
    second = {i: k for k, i in enumerate(robot.motor_joints[robot.n :], robot.n)}
    for i, joint in enumerate(robot.joints):
        drive: Any = joint.drive
        columns = [i, second[i]] if i in second else [i]
        x = ca.SX.sym("phi", len(columns))
        if isinstance(drive, ElasticDrive):
            torques = drive.spring.torque(x)
        elif i in second:
            point = drive.at(x[0], x[1])
            torques = ca.vertcat(point.tau_1, point.tau_2)
        else:
            continue
        (values,) = evaluate([x], [phi[..., columns].reshape(-1, len(columns))], [torques])
        damping = drive.damping * np.array([1.0, drive.c] if i in second else [1.0])
        found[..., columns] = values.reshape(*phi.shape[:-1], len(columns)) + damping * rates[..., columns]
    return found
