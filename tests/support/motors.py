"""Calls in the notation of the papers: motors of every robot, and of joints with two motors each of them by name.

Arrays of the first motors and of the second ones have an entry per joint, those of second motors that do not exist are
0.  Everything takes numbers, with batches, and SX.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca
import numpy as np

import flexjoint as fj


class Paired(NamedTuple):
    """What [VSANEA] computes on its way from motion and stiffness to motor torques."""

    phi_1: Any
    phi_2: Any
    phi_1_v: Any
    phi_2_v: Any
    theta_1: Any
    theta_2: Any
    theta_1_v: Any
    theta_2_v: Any
    theta_1_a: Any
    theta_2_a: Any
    tau_e_1: Any
    tau_e_2: Any
    tau_e: Any
    tau_e_v: Any
    tau_e_a: Any
    tau_1: Any
    tau_2: Any


class PairedAccelerations(NamedTuple):
    a: Any
    theta_1_a: Any
    theta_2_a: Any


class PairedTorques(NamedTuple):
    tau_1: Any
    tau_2: Any


def second(robot: fj.Robot) -> list[int]:
    return list(robot.motor_joints[robot.n :])


def motors(robot: fj.Robot, first: Any, last: Any) -> Any:
    """Both in the order of `robot.motor_names`."""
    if isinstance(first, ca.SX) or isinstance(last, ca.SX):
        return ca.vertcat(first, ca.SX(last)[second(robot)])
    first, last = np.asarray(first, dtype=float), np.asarray(last, dtype=float)
    return np.concatenate([first, last[..., second(robot)]], axis=-1)


def pairs(robot: fj.Robot, x: Any) -> tuple[Any, Any]:
    """The first and the second motors of all joints."""
    if isinstance(x, ca.SX):
        last = ca.SX.zeros(robot.n)
        last[second(robot)] = x[robot.n :]
        return x[: robot.n], last
    last = np.zeros((*x.shape[:-1], robot.n))
    last[..., second(robot)] = x[..., robot.n :]
    return x[..., : robot.n], last


def counted(robot: fj.Robot) -> np.ndarray:
    """Whether the second motor's position counts from the link, 1 or 0."""
    return np.array([float(getattr(joint.drive, "c", 1)) for joint in robot.joints])


def forward(
    robot: fj.Robot, q: Any, v: Any, theta: Any, theta_v: Any, tau: Any, **keywords: Any
) -> fj.dynamics.Accelerations:
    """Forward dynamics of every robot; of one without springs the motors accelerate as the links."""
    if any(robot.compliant):
        return fj.forward_dynamics(robot, q, v, theta, theta_v, tau, **keywords)
    a = fj.forward_dynamics(robot, q, v, tau, **keywords)
    return fj.dynamics.Accelerations(a, a)


def paired_motion(robot: fj.Robot, *arrays: Any, **keywords: Any) -> Paired:
    """`motor_motion` from [q, ... q''''] and [σ, σ', σ''], with the torque rates on the links."""
    found = fj.motor_motion(robot, *arrays[:5], stiffness=list(arrays[5:]), **keywords)
    loads = {name: keywords[name] for name in ("wrenches", "base") if name in keywords}
    tau_e = fj.torque_derivatives(robot.without_drives(), *arrays[:5], order=2, **loads)
    theta = [x for y in (found.theta, found.theta_v, found.theta_a) for x in pairs(robot, y)]
    phi = [x for y in (found.deflection, found.deflection_v) for x in pairs(robot, y)]
    springs = pairs(robot, found.spring_torque)
    return Paired(*phi, *theta, *springs, found.tau_e, tau_e[1], tau_e[2], *pairs(robot, found.tau))


def paired_forward(
    robot: fj.Robot, q: Any, theta_1: Any, theta_2: Any, v: Any, theta_1_v: Any, theta_2_v: Any, tau_1: Any,
    tau_2: Any, **keywords: Any,
) -> PairedAccelerations:  # fmt: skip
    """`forward_dynamics` in the state of [VSANEA (5)]."""
    theta, theta_v = motors(robot, theta_1, theta_2), motors(robot, theta_1_v, theta_2_v)
    found = fj.forward_dynamics(robot, q, v, theta, theta_v, motors(robot, tau_1, tau_2), **keywords)
    return PairedAccelerations(found.a, *pairs(robot, found.theta_a))


def from_deflections(robot: fj.Robot, q: Any, v: Any, phi_1: Any, phi_2: Any, phi_1_v: Any, phi_2_v: Any) -> list[Any]:
    """(q, v, θ, θ') from deflections and their rates."""
    c = counted(robot)
    return [q, v, motors(robot, q + phi_1, c * q + phi_2), motors(robot, v + phi_1_v, c * v + phi_2_v)]


def paired_linearization(robot: fj.Robot, *arrays: Any, **keywords: Any) -> PairedTorques:
    """`feedback_linearization` from (q, v, φ_1, φ_2, φ_1', φ_2'), q'''' and σ''."""
    state, (command, stiffness_command) = from_deflections(robot, *arrays[:6]), arrays[6:]
    tau = fj.feedback_linearization(robot, *state, command, stiffness_command=stiffness_command, **keywords)
    return PairedTorques(*pairs(robot, tau))
