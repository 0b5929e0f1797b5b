"""Joint torques and their time derivatives in multiple precision, by truncated power series in time.

Everything is a Taylor polynomial of time: a scalar is the list of its coefficients.  The poses of the links follow
from q(t); each body's momentum is differentiated in base coordinates and projected on the joints (d'Alembert):

    τ_j = Σ_i  m_i (c_i'' − g) · ∂c_i/∂q_j + (I_i ω_i)' · ∂ω_i/∂q_j.

No recursion over forces, no body-frame derivatives, no regrouping: nothing of the library but the Robot's data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mpmath
import numpy as np

from flexjoint.drives import ElasticDrive, RigidDrive
from flexjoint.robot import Robot

Series = list  # Taylor coefficients, lowest first

PRECISION = 200


def constant(x: Any, degree: int) -> Series:
    return [mpmath.mpf(float(x))] + [mpmath.mpf(0)] * degree


def plus(*terms: Series) -> Series:
    return [sum(column[1:], column[0]) for column in zip(*terms)]


def scaled(factor: Any, x: Series) -> Series:
    return [factor * value for value in x]


def times(x: Series, y: Series) -> Series:
    return [sum((x[l] * y[k - l] for l in range(k + 1)), mpmath.mpf(0)) for k in range(min(len(x), len(y)))]


def rate(x: Series) -> Series:
    return [k * value for k, value in enumerate(x)][1:]


def sine_and_cosine(x: Series) -> tuple[Series, Series]:
    """From s' = x' c, c' = −x' s."""
    s, c = [mpmath.sin(x[0])], [mpmath.cos(x[0])]
    for k in range(1, len(x)):
        s.append(sum((l * x[l] * c[k - l] for l in range(1, k + 1)), mpmath.mpf(0)) / k)
        c.append(-sum((l * x[l] * s[k - l] for l in range(1, k + 1)), mpmath.mpf(0)) / k)
    return s, c


def product(A: list, B: list) -> list:
    """Of matrices (lists of rows) of series."""
    return [[plus(*(times(a, B[k][j]) for k, a in enumerate(row))) for j in range(len(B[0]))] for row in A]


def column(A: list, j: int) -> list:
    return [row[j] for row in A]


def matrix(A: np.ndarray, degree: int) -> list:
    return [[constant(x, degree) for x in row] for row in A]


def vector(v: np.ndarray, degree: int) -> list:
    return [constant(x, degree) for x in v]


def on_vector(A: list, v: list) -> list:
    return column(product(A, [[x] for x in v]), 0)


def add(u: list, v: list) -> list:
    return [plus(x, y) for x, y in zip(u, v)]


def minus(u: list, v: list) -> list:
    return [plus(x, scaled(-1, y)) for x, y in zip(u, v)]


def cross(u: list, v: list) -> list:
    def part(i: int, j: int) -> Series:
        return plus(times(u[i], v[j]), scaled(-1, times(u[j], v[i])))

    return [part(1, 2), part(2, 0), part(0, 1)]


def dot(u: list, v: list) -> Series:
    return plus(*(times(x, y) for x, y in zip(u, v)))


def transposed(A: list) -> list:
    return [column(A, j) for j in range(len(A[0]))]


def link_torques(robot: Robot, stack: Sequence[Any], order: int) -> list[list[Any]]:
    """[τ, τ', ...] of the links, their friction and the motors that turn with them, from the stack [q, q', ...]."""
    degree = order + 2
    q = [[mpmath.mpf(stack[k][i]) / mpmath.factorial(k) for k in range(degree + 1)] for i in range(robot.n)]
    R: list = []
    p: list = []
    omega: list = []
    for link, parent, i in zip(robot.links, robot.parents, robot.coordinates):
        R0, p0 = matrix(link.joint.rotation, degree), vector(link.joint.position, degree)
        w = [constant(0, degree - 1)] * 3
        if parent >= 0:
            R0, p0, w = product(R[parent], R0), add(p[parent], on_vector(R[parent], p0)), omega[parent]
        z = column(R0, 2)
        if link.joint.kind.name == "revolute":
            s, c = sine_and_cosine(q[i])
            zero, one = constant(0, degree), constant(1, degree)
            R0 = product(R0, [[c, scaled(-1, s), zero], [s, c, zero], [zero, zero, one]])
            w = add(w, [times(rate(q[i]), x[:-1]) for x in z])
        elif link.joint.kind.name == "prismatic":
            p0 = add(p0, [times(q[i], x) for x in z])
        R.append(R0)
        p.append(p0)
        omega.append(w)

    g = vector(robot.gravity, order)
    tau = [constant(0, order) for _ in range(robot.n)]
    for b, link in enumerate(robot.links):
        if not link.mass:
            continue
        centre = add(p[b], on_vector(R[b], vector(link.com, degree)))
        mass = mpmath.mpf(float(link.mass))
        force = [scaled(mass, x) for x in minus([rate(rate(x)) for x in centre], g)]
        inertia = product(product(R[b], matrix(link.inertia, degree)), transposed(R[b]))
        moment = [rate(x) for x in on_vector([[x[:-1] for x in row] for row in inertia], omega[b])]
        for j in robot.path(b):
            k = robot.coordinates[j]
            if k is None:
                continue
            z = [x[: order + 1] for x in column(R[j], 2)]
            if robot.links[j].joint.kind.name == "revolute":
                arm = [x[: order + 1] for x in minus(centre, p[j])]
                tau[k] = plus(tau[k], dot(force, cross(z, arm)), dot(moment, z))
            else:
                tau[k] = plus(tau[k], dot(force, z))
    found = []
    for k in range(order + 1):
        row = []
        for i, joint in enumerate(robot.joints):
            friction = mpmath.mpf(float(joint.viscous_friction)) * mpmath.mpf(stack[k + 1][i])
            motor = joint.drive.motor.inertia if isinstance(joint.drive, RigidDrive) else 0.0
            driven = mpmath.mpf(float(motor)) * mpmath.mpf(stack[k + 2][i])
            row.append(tau[i][k] * mpmath.factorial(k) + friction + driven)
        found.append(row)
    return found


def motor_torques(robot: Robot, stack: Sequence[Any], precision: int = PRECISION) -> list[Any]:
    """τ = τ_e + B (q'' + τ_e''/K) of elastic joints, the joint torque of the others."""
    with mpmath.workprec(precision):
        tau = link_torques(robot, stack, 2 if any(robot.compliant) else 0)
        found = []
        for i, joint in enumerate(robot.joints):
            x = tau[0][i]
            if isinstance(joint.drive, ElasticDrive):
                B, K = mpmath.mpf(joint.drive.motor.inertia), mpmath.mpf(joint.drive.stiffness)
                x = x + B * (mpmath.mpf(float(stack[2][i])) + tau[2][i] / K)
            found.append(x)
        return found


def normwise_error(x: np.ndarray, exact: Sequence[Any], precision: int = PRECISION) -> float:
    """max|x − exact| / max|exact|, itself in multiple precision."""
    with mpmath.workprec(precision):
        assert len(x) == len(exact)
        errors = [abs(mpmath.mpf(float(a)) - b) for a, b in zip(x, exact)]
        return float(max(errors) / max(abs(b) for b in exact))
