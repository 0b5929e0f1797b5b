"""Limits of the robot that a simulation exceeds: its reference those of joints, its run those of drives too.

What the reference exceeds is not named again for the run that follows it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..drives import ElasticDrive
from ..dynamics.drivetrain.coupling import matrices
from ..numerics import evaluate
from ..spatial import ca
from ..trajectory.base import Trajectory
from ..trajectory.feasibility import kinematic_cure
from ..trajectory.limits import Violation, exceeded_values, limited_quantities, violations_of
from ..types import FloatArray
from .result import Simulation

DERIVATIVES = ("position", "velocity", "acceleration", "jerk")
CURES = {
    True: "a slower reference or lower gains; fit_duration and `flexjoint fit` find the duration the reference needs",
    False: "smaller torques",
}  # whether the run follows a reference


class RunLimits(NamedTuple):
    """Limits that a simulation exceeds: its reference, and the run itself beyond that; values by name."""

    reference: tuple[Violation, ...]
    run: tuple[Violation, ...]
    values: dict[str, FloatArray]


def run_limits(run: Simulation, reference: Any) -> RunLimits:
    """Limits that a run and its reference exceed, each with what would cure it."""
    robot, limited = run.robot, limited_quantities(run.robot)
    wanted = reference_values(run, reference) if run.tracks else {}
    before = [replace(x, cure=kinematic_cure(x)) for x in violations_of(robot, limited, run.t, wanted)]
    known = {(x.quantity, x.joint) for x in before}
    values = run_values(run)
    found = [x for x in violations_of(robot, limited, run.t, values) if (x.quantity, x.joint) not in known]
    after = [replace(x, cure=CURES[run.tracks]) for x in found]
    shown = exceeded_values(before, wanted) | exceeded_values([*before, *after], values)
    return RunLimits(tuple(before), tuple(after), shown)


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
    """Position and velocity of the links, (..., m, n), torque, speed and power of the motors, deflection and torque of
    the springs, (..., m, motors), by name; positions not if end stops keep them.
    """
    found = {} if "stops" in run.provenance else {"position": run.q}
    found |= {"velocity": run.v, "torque": run.tau, "motor speed": run.theta_v, "power": run.tau * run.theta_v}
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
