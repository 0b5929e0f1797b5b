"""Residuals that are compared: ours, and one that differences the mass matrix, as it is shipped elsewhere.

Both follow what acts on the links beside the motors, gravity and springs, with the same cutoff.  The residuals of
motors behind springs need no mass matrix; they are ours in both.
"""

from __future__ import annotations

from functools import cache

import numpy as np

import flexjoint as fj

from .scenarios import Log

CUTOFF = 30.0  # rad/s


def ours(robot: fj.Robot, log: Log) -> np.ndarray:
    """(m, entries): of the joints, or of links and motors."""
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


def differenced(robot: fj.Robot, log: Log) -> np.ndarray:
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
        return r
    return np.concatenate([r, ours(robot, log)[:, robot.n :]], axis=1)


METHODS = {"flexjoint": ours, "differenced M": differenced}
