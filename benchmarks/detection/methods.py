"""Methods that are compared: residuals with all sensors, and observers that read motor encoders.

`flexjoint` and `differenced M`, a residual that differences the mass matrix as it is shipped elsewhere, read positions
and velocities of links and motors and torque sensors, with the same cutoff.  The residuals of motors behind springs
need no mass matrix; they are ours in both.  `motor encoders` reads θ and θ', `Kalman` θ alone, `Kalman, torque sensors`
θ and τ_e.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

import flexjoint as fj

from .scenarios import FINE, Log, Sensors

CUTOFF = 30.0  # rad/s
SPRING_CUTOFF = 200.0  # rad/s
SPRING_NOISE, EXTERNAL_NOISE = 300.0, 2.0  # Nm/s^1.5, Nm/√s: the best of 15 pairs for the elastic arm


class Found(NamedTuple):
    """Residuals (m, entries) of the joints, or of links and motors, and estimated link positions (m, n), if any."""

    residual: np.ndarray
    q: np.ndarray | None = None


def all_sensors(robot: fj.Robot, log: Log) -> Found:
    return Found(ours(robot, log))


def ours(robot: fj.Robot, log: Log) -> np.ndarray:
    sensed = fj.observers.Measurement(log.q, log.v, log.theta, log.theta_v, log.tau_e)
    found = residual_of(robot).run(log.t, sensed, log.tau)
    if not any(robot.compliant):
        return found["residual"]
    return np.concatenate([found["link"], found["motor"][:, list(robot.compliant)]], axis=1)


@cache
def residual_of(robot: fj.Robot) -> fj.observers.Residual:
    if any(robot.compliant):
        return fj.observers.JointTorqueResidual(robot, CUTOFF, CUTOFF)
    return fj.observers.MomentumResidual(robot, CUTOFF)


def differenced(robot: fj.Robot, log: Log) -> Found:
    """[DeLuca (6)] as it stands, by Euler's rule, with Cᵀq' = Ṁq' − c and Ṁ from the mass matrices of two samples."""
    M = fj.mass_matrix(robot, log.q)
    h = log.t[1] - log.t[0]
    rate = np.diff(M, axis=0, prepend=M[:1]) / h
    p = np.einsum("mij,mj->mi", M, log.v)
    known = np.einsum("mij,mj->mi", rate, log.v) - fj.coriolis_torque(robot, log.q, log.v)
    known -= fj.gravity_torque(robot, log.q) + np.array([joint.viscous_friction for joint in robot.joints]) * log.v
    known += np.where(robot.compliant, log.tau_e, log.tau)
    r, integral = np.zeros_like(p), p[0].copy()
    for k in range(1, len(p)):
        integral += h * (known[k - 1] + r[k - 1])
        r[k] = CUTOFF * (p[k] - integral)
    if not any(robot.compliant):
        return Found(r)
    return Found(np.concatenate([r, ours(robot, log)[:, robot.n :]], axis=1))


def motor_encoders(robot: fj.Robot, log: Log) -> Found:
    sensed = fj.observers.Measurement(None, None, log.theta, log.theta_v, None)
    found = encoder_residual(robot).run(log.t, sensed, log.tau)
    return Found(found["link"], found["q"])


@cache
def encoder_residual(robot: fj.Robot) -> fj.observers.MotorEncoderResidual:
    return fj.observers.MotorEncoderResidual(robot, CUTOFF, SPRING_CUTOFF)


def kalman(robot: fj.Robot, log: Log, torque_sensors: bool = False) -> Found:
    observer = state_observer(robot, log.sensors, round(log.t[1] - log.t[0], 6), torque_sensors)
    found = observer.run(log.t, fj.observers.Measurement(None, None, log.theta, None, log.tau_e), log.tau)
    return Found(found["link"], found["q"])


@cache
def state_observer(
    robot: fj.Robot, sensors: Sensors, period: float, torque_sensors: bool
) -> fj.observers.ExtendedStateObserver:
    """Tuned from the sensors; perfect ones count as fine."""
    known = sensors if sensors.position else FINE
    torque = known.torque if torque_sensors else None
    return fj.observers.ExtendedStateObserver(
        robot, known.position, SPRING_NOISE, EXTERNAL_NOISE, torque, period=period
    )


METHODS = {
    "flexjoint": all_sensors,
    "differenced M": differenced,
    "motor encoders": motor_encoders,
    "Kalman": kalman,
    "Kalman, torque sensors": lambda robot, log: kalman(robot, log, torque_sensors=True),
}
