"""Energies from 4×4 poses and derivatives by CasADi: mechanics that shares nothing with the library's recursions."""

from itertools import pairwise

import casadi as ca
import numpy as np

from support.kinematics import symbolic_poses


def rate(expression, *stacks):
    """d/dt of an expression in the symbols of stacks [x, x', ...]."""
    total = ca.SX.zeros(ca.vec(expression).shape[0], 1)
    for stack in stacks:
        for x, dx in pairwise(stack):
            total += ca.jtimes(ca.vec(expression), x, dx)
    return ca.reshape(total, *expression.shape)


def pseudo_inertia(link):
    """The 4×4 matrix ∫ (r, 1)(r, 1)ᵀ dm."""
    m, c, I = link.mass, np.array(link.com), np.array(link.inertia)
    J = np.zeros((4, 4))
    J[:3, :3] = np.trace(I) / 2 * np.eye(3) - I + m * np.outer(c, c)
    J[:3, 3] = J[3, :3] = m * c
    J[3, 3] = m
    return ca.SX(ca.DM(J))


def kinetic(robot, q, v):
    """Σ ½ tr(T' J T'ᵀ)."""
    energy = 0
    for link, T in zip(robot.links, symbolic_poses(robot, q)):
        dT = rate(T, [q, v])
        energy += ca.trace(dT @ pseudo_inertia(link) @ dT.T) / 2
    return energy


def potential(robot, q):
    """−Σ (g, 0)ᵀ T J (0, 0, 0, 1)ᵀ."""
    g = ca.SX(ca.DM([*robot.gravity, 0.0]))
    return -sum(ca.dot(g, (T @ pseudo_inertia(link))[:, 3]) for link, T in zip(robot.links, symbolic_poses(robot, q)))
