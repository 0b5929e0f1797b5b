"""Torques by Lagrange's equations from positions alone: 4×4 poses and CasADi's derivatives, no recursion of ours."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import casadi as ca
import numpy as np

import flexjoint as fj
from support.friction import law, supplied
from support.kinematics import symbolic_poses


def rate(expression: Any, *stacks: Any) -> Any:
    """d/dt of an expression in the symbols of stacks [x, x', ...]."""
    total = ca.SX.zeros(ca.vec(expression).shape[0], 1)
    for stack in stacks:
        for x, dx in pairwise(stack):
            total += ca.jtimes(ca.vec(expression), x, dx)
    return ca.reshape(total, *expression.shape)


def pseudo_inertia(link: fj.Link) -> Any:
    """The 4×4 matrix ∫ (r, 1)(r, 1)ᵀ dm."""
    m, c, I = link.mass, np.array(link.com), np.array(link.inertia)
    J = np.zeros((4, 4))
    J[:3, :3] = np.trace(I) / 2 * np.eye(3) - I + m * np.outer(c, c)
    J[:3, 3] = J[3, :3] = m * c
    J[3, 3] = m
    return ca.SX(ca.DM(J))


def kinetic(robot: fj.Robot, q: Any, v: Any) -> Any:
    """Σ ½ tr(T' J T'ᵀ)."""
    energy = 0
    for link, T in zip(robot.links, symbolic_poses(robot, q)):
        dT = rate(T, [q, v])
        energy += ca.trace(dT @ pseudo_inertia(link) @ dT.T) / 2
    return energy


def potential(robot: fj.Robot, q: Any) -> Any:
    """−Σ (g, 0)ᵀ T J (0, 0, 0, 1)ᵀ."""
    g = ca.SX(ca.DM([*robot.gravity, 0.0]))
    return -sum(ca.dot(g, (T @ pseudo_inertia(link))[:, 3]) for link, T in zip(robot.links, symbolic_poses(robot, q)))


def smooth_friction(item: Any, v: Any, tau: Any = 0.0) -> Any:
    """D v + F_c tanh(v/v_c), or the law at the load tau, of a joint, a motor, or nothing."""
    if item is None:
        return ca.SX(0)
    if item.friction is not None:
        return law(item.friction, v, tau)
    smooth = ca.tanh(v / item.coulomb_velocity) if item.coulomb_friction else 0
    return item.viscous_friction * v + item.coulomb_friction * smooth


def stored(robot: fj.Robot, q: Any) -> Any:
    """Energy of linear and cubic parallel springs, ½ K (q − q₀)² + ¼ K_c (q − q₀)⁴."""
    energy = ca.SX(0)
    for i, joint in enumerate(robot.joints):
        if joint.parallel_spring is not None:
            law, x = joint.parallel_spring.stiffness, q[i] - joint.parallel_spring.rest
            K, cubic = (law, 0.0) if isinstance(law, float) else (law.stiffness, law.cubic)  # type: ignore[attr-defined]
            energy += K * x**2 / 2 + cubic * x**4 / 4
    return energy


def transmitted(robot: fj.Robot, q: Any, v: Any, a: Any, wrenches: Any = None, loads: Any = None) -> Any:
    """d/dt ∂T/∂v − ∂T/∂q + ∂V/∂q + friction of the joints − the virtual work of wrenches {link: (f, n)}.

    Friction is that at `loads`, by default at the torque that is found.
    """
    T, V = kinetic(robot, q, v), potential(robot, q) + stored(robot, q)
    tau = rate(ca.gradient(T, v), [q, v, a]) - ca.gradient(T, q) + ca.gradient(V, q)
    poses = symbolic_poses(robot, q)
    for name, w in (wrenches or {}).items():
        P = poses[robot.link_index(name)]
        for i in range(robot.n):
            dP = ca.jacobian(ca.vec(P), q[i]).reshape((4, 4))
            spin = dP[:3, :3] @ P[:3, :3].T
            tau[i] -= ca.dot(w[:3], dP[:3, 3]) + ca.dot(w[3:], ca.vertcat(spin[2, 1], spin[0, 2], spin[1, 0]))
    for i, joint in enumerate(robot.joints):
        if loads is None and joint.friction is not None:
            tau[i] = supplied(joint.friction, v[i], tau[i])
        else:
            tau[i] += smooth_friction(joint, v[i], 0.0 if loads is None else loads[i])
    return tau


def lagrange(robot: fj.Robot, q: Any, v: Any, a: Any, loads: Any = None) -> Any:
    """The same with inertia and friction of the motors of rigid drives."""
    motors = [j.drive.motor if isinstance(j.drive, fj.RigidDrive) else None for j in robot.joints]
    turning = [smooth_friction(m, v[i]) + (m.inertia * a[i] if m else 0) for i, m in enumerate(motors)]
    return transmitted(robot, q, v, a, loads=loads) + ca.vertcat(*turning)
