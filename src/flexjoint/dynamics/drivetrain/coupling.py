"""Coupled transmissions: all products with the matrices T of `Robot.transmissions`, in one place.

Per group of joints, with T = T_b T_a and the torque τ_e of the springs,

    φ = T_b⁻¹ θ − T_a q,    links get T_aᵀτ_e,    motors feel T_b⁻ᵀτ_e,

springs at the motors: T_a = T, T_b = 1; at the joints: T_a = 1, T_b = T.  A rigid group has φ = 0 and counts as one
with springs at the motors, whose τ_e is the torque of the motors' shafts: θ = T q, and the links get Tᵀτ_e.

Every function takes a vector with an entry per joint or motor, of positions or torques and of any derivative, and
leaves what belongs to no group as it is.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...numerics.linear import solve
from ...robot import Robot
from ...spatial import ca, is_symbolic, sx
from ...types import Expression, FloatArray, Matrix


class Group(NamedTuple):
    """Joints that share a transmission, by their indices in q, with T_a, T_b and their inverses; None for 1."""

    joints: list[int]
    near_links: Matrix | None
    near_motors: Matrix | None
    near_links_inverse: Matrix | None
    near_motors_inverse: Matrix | None

    @property
    def matrix(self) -> Matrix:
        """T."""
        return self.near_links if self.near_motors is None else self.near_motors


def groups(robot: Robot) -> list[Group]:
    """The groups of a robot."""
    found = []
    for transmission, joints in zip(robot.transmissions, robot.transmission_joints):
        T, inverse = with_inverse(transmission.matrix)
        at_motors = transmission.springs == "motor" or not robot.compliant[joints[0]]
        found.append(Group([*joints], *((T, None, inverse, None) if at_motors else (None, T, None, inverse))))
    return found


def rigid_groups(robot: Robot) -> list[Group]:
    """Those whose motors turn rigidly with the links."""
    return [group for group in groups(robot) if not robot.compliant[group.joints[0]]]


def with_inverse(rows: tuple[tuple[float, ...], ...]) -> tuple[Matrix, Matrix]:
    """T and T⁻¹; in numbers unless T has symbols."""
    if any(is_symbolic(x) for row in rows for x in row):
        T = ca.vertcat(*[ca.horzcat(*row) for row in rows])
        return T, ca.inv_minor(T)
    return sx(np.array(rows)), sx(solve(rows, np.eye(len(rows))))


def transformed(robot: Robot, x: Expression, matrix: str, transposed: bool = False) -> Expression:
    """x with A x, or Aᵀx, in place of the entries of each group; A is a matrix of `Group`."""
    if not robot.transmissions:
        return x
    found = ca.SX(x)
    for group in groups(robot):
        if (A := getattr(group, matrix)) is not None:
            found[group.joints] = (A.T if transposed else A) @ x[group.joints]
    return found


def undeflected(robot: Robot, q: Expression) -> Expression:
    """T q: positions of the motors while no spring is deflected, θ in a rigid group."""
    return transformed(robot, q, "matrix")


def links_at_springs(robot: Robot, q: Expression) -> Expression:
    """T_a q: the end of each spring that the links move."""
    return transformed(robot, q, "near_links")


def motors_at_springs(robot: Robot, theta: Expression) -> Expression:
    """T_b⁻¹ θ: the end of each spring that the motors move."""
    return transformed(robot, theta, "near_motors_inverse")


def deflections(robot: Robot, q: Expression, theta: Expression) -> Expression:
    """φ = T_b⁻¹ θ − T_a q, for joints with one motor each."""
    return motors_at_springs(robot, theta) - links_at_springs(robot, q)


def links_behind(robot: Robot, theta: Expression, phi: Expression) -> Expression:
    """q = T_a⁻¹ (T_b⁻¹ θ − φ)."""
    return links_from_ends(robot, motors_at_springs(robot, theta) - phi)


def links_from_ends(robot: Robot, ends: Expression) -> Expression:
    """q from T_a q, the ends of the springs that the links move."""
    return transformed(robot, ends, "near_links_inverse")


def by_deflection(robot: Robot, phi: Expression) -> Expression:
    """T_b φ: by how much deflections move the motors, θ = T q + T_b φ."""
    return transformed(robot, phi, "near_motors")


def on_links(robot: Robot, tau_e: Expression) -> Expression:
    """T_aᵀτ_e: torque of the springs on the links; in a rigid group Tᵀτ of the motors."""
    return transformed(robot, tau_e, "near_links", transposed=True)


def at_springs(robot: Robot, tau: Expression) -> Expression:
    """T_a⁻ᵀτ: torque of the springs, or of rigidly coupled motors, that the links get τ from."""
    return transformed(robot, tau, "near_links_inverse", transposed=True)


def on_motors(robot: Robot, tau_e: Expression) -> Expression:
    """T_b⁻ᵀτ_e: torque that the motors feel from the springs."""
    return transformed(robot, tau_e, "near_motors_inverse", transposed=True)


def springs_behind(robot: Robot, tau: Expression) -> Expression:
    """T_bᵀτ: torque of the springs from what the motors feel of them."""
    return transformed(robot, tau, "near_motors", transposed=True)


def held_by_motors(robot: Robot, tau: Expression) -> Expression:
    """T⁻ᵀτ: motor torque that gives the links τ at rest."""
    return on_motors(robot, at_springs(robot, tau))


# In numbers -----------------------------------------------------------------------------------------------------------


class Matrices(NamedTuple):
    """T_a, T_b⁻¹, T_b and T over all joints, (n, n) each: φ = T_b⁻¹ θ − T_a q and θ = T q + T_b φ."""

    near_links: FloatArray
    near_motors_inverse: FloatArray
    near_motors: FloatArray
    matrix: FloatArray


def matrices(robot: Robot) -> Matrices:
    """The matrices of a robot without symbols; of joints that share no transmission 1."""
    found = Matrices(*(np.eye(robot.n) for _ in Matrices._fields))
    for group in groups(robot):
        for name, whole in zip(Matrices._fields, found):
            if (A := getattr(group, name)) is not None:
                whole[np.ix_(group.joints, group.joints)] = np.array(ca.DM(A))
    return found
