"""Coriolis forces with two velocities: C(q, v) v_a in one sweep, the matrices C, Cᵀv in O(N)  [DeLuca sec. IV].

The modified recursion NE*(q, v, v_a, a) = M a + C(q, v) v_a + g splits each product of velocities of the Newton-Euler
recursion between v and v_a.  Two of the paper's sixteen ways, 0001 and 1110, give Ṁ = C + Cᵀ.  Both have the same
accelerations: their angular accelerations differ by ω × ω_a, their centripetal terms by the opposite, S(ω_a × ω).  In
both, a point r of a body accelerates with a + A r, where

    A = S(α) + ω_a ωᵀ − (ω·ω_a) 1,    α = α_parent + q'' z + q' ω_a,parent × z     (AAR'_0, LAR'_0, LAR_0)

This is the polarized acceleration, symmetric in v and v_a.  Its torques are Christoffel's, and the variants differ from
them only by a moment on each body:

    C_1110 = C_christoffel + X,   C_0001 = C_christoffel − X,   X = Σ tr(Σ_c) Jωᵀ S(ω) Jω

with Σ_c the second moment about the centre of mass.  X is skew and X v = 0: C v, C + Cᵀ and Cᵀv are the same for all
three.  X_ij holds triple products z_i·(z_k × z_j): all three are equal if no body rotates about three independent axes.

Christoffel's C does not change under regrouping.  X does: it is taken from the bodies before regrouping, with links on
fixed joints part of the link that carries them.  The paper treats revolute joints; a joint that slides adds
d'' z + d' ω_a × z + d_a' ω × z to the acceleration of its link, in all variants.

Rotors of the complete model, at rigid joints or behind springs, are part of the bodies that carry them except for their
spin, which adds Christoffel's terms in all variants: the mean of its two polarizations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...robot import Robot
from ...spatial import Inertia, ca, cross, zeros
from ...types import Expression, Matrix, Vector
from ..drivetrain.coupling import on_links, undeflected
from .bodies import Body, moving_bodies, per_coordinate, rotors
from .coriolis_columns import gyration
from .energy import Spin, subtree_momenta
from .kinematics import along_joints, carried_loads, joint_pose, screw_rate, velocities

# One sweep ----------------------------------------------------------------------------------------------------------


class TwoMotions(NamedTuple):
    """A body's motion under two velocities; with v_a = v the actual motion."""

    omega: Vector
    omega_a: Vector
    alpha: Vector
    a: Vector  # acceleration of the origin minus gravity
    A: Matrix  # a point r of the body accelerates with a + A r
    W: Matrix  # ω_a ωᵀ


def two_motions(
    tree: list[Body], q: Expression, v: Expression, v_a: Expression, a: Expression, gravity: Vector
) -> list[TwoMotions]:
    """Motion per body, from the base outwards."""
    base = TwoMotions(zeros(3), zeros(3), zeros(3), -gravity, zeros(3, 3), zeros(3, 3))
    found: list[TwoMotions] = []
    for body in tree:
        up = found[body.parent] if body.parent >= 0 else base
        R, p = joint_pose(body, q)
        i = body.coordinate
        omega, omega_a, alpha = R.T @ up.omega, R.T @ up.omega_a, R.T @ up.alpha
        origin = R.T @ (up.a + up.A @ p)  # [DeLuca (LAR'_0)]
        if i is not None:
            linear, angular = body.screw.axes
            origin = origin + v[i] * cross(omega_a, linear) + v_a[i] * cross(omega, linear) + a[i] * linear
            alpha = alpha + v[i] * cross(omega_a, angular) + a[i] * angular  # [DeLuca (AAR'_0)]
            omega, omega_a = omega + v[i] * angular, omega_a + v_a[i] * angular  # [DeLuca (AVR), (AVR*)]
        W = omega_a @ omega.T
        found.append(TwoMotions(omega, omega_a, alpha, origin, acceleration_matrix(alpha, W), W))
    return found


def acceleration_matrix(alpha: Vector, W: Matrix) -> Matrix:
    """S(α) + W − tr(W) 1, for a W without symmetry."""
    x, y, z = alpha[0], alpha[1], alpha[2]
    xx, yy, zz = W[0, 0], W[1, 1], W[2, 2]
    return ca.vertcat(
        ca.horzcat(-(yy + zz), W[0, 1] - z, W[0, 2] + y),
        ca.horzcat(W[1, 0] + z, -(zz + xx), W[1, 2] - x),
        ca.horzcat(W[2, 0] - y, W[2, 1] + x, -(xx + yy)),
    )


class TwoSpeeds(NamedTuple):
    """v, v_a and a of the joints, or of the motors."""

    v: Expression
    v_a: Expression
    a: Expression


class Forces(NamedTuple):
    """Generalized forces on the links, and on the rotors behind springs without B θ''."""

    links: Expression
    motors: Expression


def two_velocity_forces(
    robot: Robot, q: Expression, links: TwoSpeeds, gravity: Vector, variant: str, motors: TwoSpeeds | None = None
) -> Forces:
    """NE* of the links, M a + C(q, v) v_a + g  [DeLuca (16)]; with `motors` the rotors behind springs spin."""
    tree = moving_bodies(robot)
    motions = two_motions(tree, q, *links, gravity)
    moments, at_rotors = rotor_loads(robot, motions, links, motors)
    loads = []
    for body, x, moment, extra in zip(tree, motions, moments, gyration(robot, variant)):
        f, n = inertial_load(body.inertia, x)
        loads.append((f, n + (extra * cross(x.omega, x.omega_a) + moment)))
    return Forces(along_joints(tree, carried_loads(tree, q, loads)) + at_rotors.links, at_rotors.motors)


def rotor_loads(
    robot: Robot, motions: list[TwoMotions], links: TwoSpeeds, motors: TwoSpeeds | None = None
) -> tuple[list[Vector], Forces]:
    """Loads of spinning rotors with L = η I_axial θ' a: polarized moment L' + ω × L per body, and torque η I_axial a·ω'
    per rotor, which acts on the link at a rigid joint."""
    moments, forces = [zeros(3)] * len(motions), Forces(zeros(robot.n), zeros(robot.motor_count))
    tied, own = TwoSpeeds(*(undeflected(robot, x) for x in links)), zeros(robot.n)
    for rotor in rotors(robot):
        speeds = motors if rotor.elastic else links if rotor.follows else tied
        if rotor.body < 0 or speeds is None:
            continue
        x, i, L = motions[rotor.body], rotor.coordinate, rotor.momentum * rotor.axis
        polarized = cross(speeds.v_a[i] * x.omega + speeds.v[i] * x.omega_a, L) / 2
        moments[rotor.body] = moments[rotor.body] + speeds.a[i] * L + polarized
        alpha = x.alpha + cross(x.omega, x.omega_a) / 2  # ω', symmetric in v and v_a
        on = forces.motors if rotor.elastic else forces.links if rotor.follows else own
        on[i] += ca.dot(L, alpha)
    return moments, forces._replace(links=forces.links + on_links(robot, own))


def inertial_load(inertia: Inertia, motion: TwoMotions) -> tuple[Vector, Vector]:
    """f = m a + A h,  n = vee(AΣ − ΣAᵀ) + h × a"""
    return inertia.force(motion.A, motion.a), inertia.moment(motion.A, motion.W, motion.a)


def energy_gradient(robot: Robot, q: Expression, v: Expression, spinning: Sequence[Spin]) -> Expression:
    """∂T/∂q_i = (V_i × s_i)·h_i, with the momentum h_i of all that joint i carries."""
    tree = moving_bodies(robot)
    motions = velocities(tree, q, v)
    found = []
    for body, motion, momentum in zip(tree, motions, subtree_momenta(tree, q, motions, spinning)):
        linear, angular = screw_rate(body.screw, motion)
        found.append(ca.dot(angular, momentum[1]) + ca.dot(linear, momentum[0]))
    return ca.vertcat(*per_coordinate(tree, found))
