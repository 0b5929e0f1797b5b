"""Robots with coupled transmissions, and their equations by Lagrange: energies and CasADi's derivatives."""

from __future__ import annotations

from typing import Any, NamedTuple

import casadi as ca
import numpy as np

import flexjoint as fj
from flexjoint.drives import CoupledTransmission
from support.lagrange import smooth_friction, transmitted

DIFFERENTIAL = [[1.0, 1.0], [1.0, -1.0]]


def random_matrix(n: int, seed: int) -> np.ndarray:
    """A matrix whose condition number is small, of either determinant."""
    rng = np.random.default_rng(seed)
    while True:
        T = rng.uniform(-1.5, 1.5, (n, n))
        if np.linalg.cond(T) < 10:
            return T


def coupled(robot: fj.Robot, groups: Any, kinds: Any, seed: int = 0, springs: str = "motor") -> fj.Robot:
    """The robot with drives of the given kinds in turn, and transmissions [(indices of joints, matrix), ...]."""
    rng = np.random.default_rng(seed)

    def motor() -> fj.Motor:
        inertia, viscous, coulomb = (float(x) for x in rng.uniform(0.2, 2.0, 3))
        return fj.Motor(inertia, viscous, coulomb, coulomb_velocity=0.5)

    def drive(kind: str) -> Any:
        stiffness, damping = float(rng.uniform(50.0, 500.0)), float(rng.uniform(1.0, 5.0))
        return {
            "spring": lambda: fj.ElasticDrive(stiffness, motor()),
            "damped": lambda: fj.ElasticDrive(stiffness, motor(), damping=damping),
            "cubic": lambda: fj.ElasticDrive(fj.springs.CubicSpring(stiffness, 300.0), motor()),
            "rigid": lambda: fj.RigidDrive(motor()),
            "none": lambda: None,
        }[kind]()

    driven = robot.with_drives([drive(kinds[i % len(kinds)]) for i in range(robot.n)])
    return driven.replace(transmissions=transmissions(driven, groups, springs))


def transmissions(robot: fj.Robot, groups: Any, springs: str = "motor") -> list[CoupledTransmission]:
    return [CoupledTransmission([robot.joints[i].name for i in joints], T, springs) for joints, T in groups]


class Matrices(NamedTuple):
    """T_a and T_b of all joints, (n, n)."""

    T_a: np.ndarray
    T_b: np.ndarray

    @property
    def T(self) -> np.ndarray:
        return self.T_b @ self.T_a


def matrices(robot: fj.Robot) -> Matrices:
    T_a, T_b = np.eye(robot.n), np.eye(robot.n)
    names = [joint.name for joint in robot.joints]
    for group in robot.transmissions:
        at = np.array([names.index(name) for name in group.joints])
        (T_a if group.springs == "motor" else T_b)[np.ix_(at, at)] = group.matrix
    return Matrices(T_a, T_b)


class Equations(NamedTuple):
    """Symbols of the motion, and what must vanish: the equations of links and motors less the motor torques."""

    q: list[Any]
    theta: list[Any]
    links: Any  # 0 where the springs give the links what they need; of rigid joints the motor torque on the links
    motors: Any  # motor torque of all motors


def equations(robot: fj.Robot, order: int) -> Equations:
    """Lagrange's equations of links and motors behind springs; θ of rigid joints is T q."""
    n = robot.n
    q = [ca.SX.sym(f"q{k}", n) for k in range(order + 1)]
    theta = [ca.SX.sym(f"theta{k}", n) for k in range(3)]
    T_a, T = (ca.SX(ca.DM(x)) for x in (matrices(robot).T_a, matrices(robot).T))
    phi = ca.SX(ca.DM(np.linalg.inv(matrices(robot).T_b))) @ theta[0] - T_a @ q[0]
    phi_v = ca.SX(ca.DM(np.linalg.inv(matrices(robot).T_b))) @ theta[1] - T_a @ q[1]
    stored, lost = 0, 0
    for i, joint in enumerate(robot.joints):
        if isinstance(joint.drive, fj.ElasticDrive):
            K = joint.drive.spring.stiffness
            stored += K * phi[i] ** 2 / 2 + getattr(joint.drive.spring, "cubic", 0.0) * phi[i] ** 4 / 4
            lost += joint.drive.damping * phi_v[i] ** 2 / 2  # Rayleigh's dissipation function
    needed = transmitted(robot, *q[:3])
    on_motors = ca.gradient(stored, theta[0]) + ca.gradient(lost, theta[1])
    on_links = ca.gradient(stored, q[0]) + ca.gradient(lost, q[1])
    tied = [T @ x for x in q[:3]]
    torques = []
    for i, joint in enumerate(robot.joints):
        motor = joint.drive.motor if joint.drive else None
        _, velocity, acceleration = theta if robot.compliant[i] else tied
        torques.append(smooth_friction(motor, velocity[i]) + (motor.inertia * acceleration[i] if motor else 0))
    rigid = np.array([not x for x in robot.compliant], dtype=float)
    shaft = ca.SX(ca.DM(np.linalg.inv(matrices(robot).T).T)) @ needed
    motors = ca.vertcat(*torques) + on_motors + ca.DM(rigid) * shaft
    return Equations(q, theta, ca.DM(1 - rigid) * (needed + on_links), motors)


