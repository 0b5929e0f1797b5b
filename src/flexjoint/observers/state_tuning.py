"""Gains of an extended state observer from the noise of its sensors and the inertia of its robot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..dynamics.drivetrain.coupling import matrices
from ..dynamics.inertia import mass_matrix
from ..numerics import product, solve
from ..robot import Robot
from ..types import FloatArray
from .kalman import KalmanDifferentiator
from .links_behind_springs import motors_of_joints, spring_behind
from .momentum import motors_behind_springs
from .motor_filter import MotorNoise, motor_filter

POSTURES = 32  # over which inertias are averaged
SMALL = 1e-3  # rad or m: a deflection at which springs have the stiffness of small loads
SLIDE = 0.5  # m: of a sliding joint without limits, in either direction


class Noise(NamedTuple):
    """Noise of all motors and joints; see `ExtendedStateObserver`."""

    encoder: FloatArray  # standard deviations (m,), rad or m
    spring: FloatArray  # (m,)
    motor: FloatArray  # (m,)
    sensor: Sequence[float | None]  # standard deviations (m,), None without a sensor
    external: FloatArray  # (n,)


class Tuning(NamedTuple):
    """The attributes of an `ExtendedStateObserver` that follow from its noise."""

    gains: FloatArray
    link_gains: FloatArray
    motor_covariance: FloatArray
    link_covariance: FloatArray
    inertia: FloatArray
    settling_time: float


def tuned(robot: Robot, noise: Noise, intervals: Sequence[float]) -> Tuning:
    """Gains for samples that are `intervals` apart, s, and covariances for the first of these."""
    M = mass_matrix(robot, postures(robot))
    inertia = motor_inertias(robot, np.mean(M, axis=0))
    columns = zip(inertia.tolist(), noise.encoder.tolist(), noise.spring.tolist(), noise.motor.tolist(), noise.sensor)
    motors = [MotorNoise(*x) for x in columns]
    filters = [[motor_filter(x, h) for x in motors] for h in intervals]
    covariances = [np.array([x.covariance for x in row]) for row in filters]
    links = [link_covariance(robot, x) for x in covariances]
    link_gains = []
    for h, covariance in zip(intervals, links):
        variances = np.mean([product(x * x, covariance[:, 1, 1]) for x in M], axis=0)  # of p = M q'
        pairs = zip(np.sqrt(variances).tolist(), noise.external.tolist())
        link_gains.append([KalmanDifferentiator(h, x, density).gain for x, density in pairs])
    gains, settling = np.array([[x.gain for x in row] for row in filters]), max(x.settling for x in filters[0])
    return Tuning(gains, np.array(link_gains), covariances[0], links[0], inertia, settling * intervals[0])


def postures(robot: Robot) -> FloatArray:
    """Link positions (POSTURES, n), spread over the limits of the joints."""
    reach = [np.pi if joint.kind.angular else SLIDE for joint in robot.joints]
    lower = np.array([max(joint.limits.lower, -x) for joint, x in zip(robot.joints, reach)])
    upper = np.array([min(joint.limits.upper, x) for joint, x in zip(robot.joints, reach)])
    return lower + (upper - lower) * np.random.default_rng(0).random((POSTURES, robot.n))


def motor_inertias(robot: Robot, M: FloatArray) -> FloatArray:
    """Inertia (motors,) that the torque of each motor accelerates: its own behind a spring, else that of the joint.

    M is the mass matrix; in a rigid group the inertia is that of T⁻ᵀ M T⁻¹.
    """
    inverse = solve(matrices(robot).matrix, np.eye(robot.n))
    joints = np.diag(product(inverse.T, M, inverse))
    pairs = zip(robot.motor_joints, motors_behind_springs(robot))
    return np.array([float(motor.inertia) if robot.compliant[i] else joints[i] for i, motor in pairs])


def link_covariance(robot: Robot, motors: FloatArray) -> FloatArray:
    """Covariance (n, 2, 2) of (q, q') from that of (θ, θ', τ_e, τ_e') of each motor, (motors, 4, 4).

    The stiffness of the springs is that of small loads; dampers are left out.
    """
    n, m, T = robot.n, robot.motor_count, matrices(robot)
    mean = np.zeros((n, m))  # over both motors of a joint
    for i, places in enumerate(motors_of_joints(robot)):
        mean[i, places] = 1.0 / len(places)
    links = product(solve(T.near_links, np.eye(n)), mean)
    near, felt = np.eye(m), np.eye(m)
    near[:n, :n], felt[:n, :n] = T.near_motors_inverse, T.near_motors.T
    by_theta = product(links, near)  # q = T_a⁻¹ (T_b⁻¹ θ − C T_bᵀ τ)
    by_tau = -product(links * [compliance(robot, k) for k in range(m)], felt)
    A = np.zeros((n, m, 2, 4))
    A[..., 0, 0] = A[..., 1, 1] = by_theta
    A[..., 0, 2] = A[..., 1, 3] = by_tau
    return np.array([sum(product(A[i, k], motors[k], A[i, k].T) for k in range(m)) for i in range(n)])


def compliance(robot: Robot, motor: int) -> float:
    """1/k of the spring of a motor without load; 0 at a rigid joint."""
    law = spring_behind(robot, motor)
    return 0.0 if law is None else 1.0 / float(law.curve([SMALL]).stiffness[0])
