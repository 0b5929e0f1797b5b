"""Coriolis forces with two velocities: C(q, v) v_a in one sweep, the matrices C, Cᵀv in O(N)  [DeLuca sec. IV].

The modified recursion NE*(q, v, v_a, a) = M a + C(q, v) v_a + g splits each product of velocities of the Newton-Euler
recursion between v and v_a.  Of the paper's sixteen ways (`sixteen.py`) two give Ṁ = C + Cᵀ, 0001 and 1110.  Both move
alike: their angular accelerations differ by ω × ω_a, their centripetal terms by −S(ω × ω_a), so that a point r of a
body accelerates with a + A r, where

    A = S(α) + ω_a ωᵀ − (ω·ω_a) 1,    α = α_parent + q'' z + q' ω_a,parent × z     (AAR'_0, LAR'_0, LAR_0)

is the polarized form of the acceleration, symmetric in v and v_a, in every variant.  Its force on the joints is therefore
Christoffel's, and the variants differ from it in the moment of each body alone:

    C_1110 = C_christoffel + X,   C_0001 = C_christoffel − X,   X = Σ tr(Σ_c) Jωᵀ S(ω) Jω

with Σ_c the second moment about the centre of mass.  X is skew and X v = 0: Ṁ = C + Cᵀ, C v and Cᵀv are the same for all
three.  All equal Christoffel's where no body turns about two axes (X = 0), as in planar robots.

Christoffel's C does not change under regrouping, X does: it is taken from the bodies as they are.  Links on fixed joints
are one body with the link that carries them.  The paper treats revolute joints; a sliding one adds
d'' z + d' ω_a × z + d_a' ω × z to the acceleration of its link, in all variants.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..api import algorithm
from ..errors import InputError
from ..robot import Robot
from ..spatial import Inertia, Matrix, Vector, ca, cross, skew, sx, unit_z, zeros
from .bodies import Body, lump_fixed, moving_bodies, rigid_motor_inertia, viscous_friction
from .energy import subtree_momenta
from .kinematics import Velocity, along_joints, carried, joint_pose, poses, velocities
from .mass_matrix import ancestors

VARIANTS = {"christoffel": 0.0, "0001": -1.0, "1110": 1.0}  # how often X is added


def weight(variant: str) -> float:
    if variant not in VARIANTS:
        raise InputError(
            f"variant is {variant!r}: choose one of {', '.join(VARIANTS)}; no other recursion has a C with Ṁ = C + Cᵀ"
        )
    return VARIANTS[variant]


# One sweep ----------------------------------------------------------------------------------------------------------


class TwoMotions(NamedTuple):
    """A body's motion under two velocities; with v_a = v the real one."""

    omega: Vector
    omega_a: Vector
    alpha: Vector
    a: Vector  # acceleration of the origin, less gravity
    A: Matrix  # a point r of the body accelerates with a + A r
    W: Matrix  # ω_a ωᵀ


def two_motions(tree: list[Body], q: Any, v: Any, v_a: Any, a: Any, gravity: Vector) -> list[TwoMotions]:
    """From the base outwards."""
    base = TwoMotions(zeros(3), zeros(3), zeros(3), -gravity, zeros(3, 3), zeros(3, 3))
    found: list[TwoMotions] = []
    z = unit_z()
    for i, body in enumerate(tree):
        up = found[body.parent] if body.parent >= 0 else base
        R, p = joint_pose(body, q)
        omega, omega_a, alpha = R.T @ up.omega, R.T @ up.omega_a, R.T @ up.alpha
        origin = R.T @ (up.a + up.A @ p)  # [DeLuca (LAR'_0)]
        if body.kind == "revolute":
            alpha = alpha + v[i] * cross(omega_a, z) + a[i] * z  # [DeLuca (AAR'_0)]
            omega, omega_a = omega + v[i] * z, omega_a + v_a[i] * z  # [DeLuca (AVR), (AVR*)]
        else:
            origin = origin + v[i] * cross(omega_a, z) + v_a[i] * cross(omega, z) + a[i] * z
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


def two_velocity_torques(robot: Robot, q: Any, v: Any, v_a: Any, a: Any, gravity: Vector, variant: str) -> Any:
    """NE* of the links: M a + C(q, v) v_a + g  [DeLuca (16)]."""
    tree = moving_bodies(robot)
    loads = []
    for body, motion, extra in zip(tree, motions := two_motions(tree, q, v, v_a, a, gravity), gyration(robot, variant)):
        n = body.inertia.moment(motion.A, motion.W, motion.a) + extra * cross(motion.omega, motion.omega_a)
        loads.append((body.inertia.force(motion.A, motion.a), n))
    return along_joints(tree, carried(tree, q, loads))


def gyration(robot: Robot, variant: str) -> list[Any]:
    """± tr(Σ_c) of each body, zero for Christoffel's C."""
    sign = weight(variant)
    return [sign * central_trace(body.inertia) if sign else sx(0.0) for body in lump_fixed(robot)]


def central_trace(inertia: Inertia) -> Any:
    """tr(Σ) about the centre of mass."""
    m, h, Sigma = inertia
    return ca.trace(Sigma) - ca.dot(h, h) / m if not m.is_zero() else sx(0.0)


# Matrices -----------------------------------------------------------------------------------------------------------


class Flow(NamedTuple):
    """Moments of the velocities x' of a body, or of several, about a frame: ∫ x' dm, ∫ x' rᵀ dm, and Σ ± tr(Σ_c) ω."""

    l: Vector
    P: Matrix
    L: Vector

    def __add__(self, other: Flow) -> Flow:  # type: ignore[override]
        return Flow(*(x + y for x, y in zip(self, other)))

    def seen_from(self, R: Matrix, p: Vector) -> Flow:
        """About another frame, in which this one stands at p, turned by R."""
        l = R @ self.l
        return Flow(l, R @ self.P @ R.T + l @ p.T, R @ self.L)


class Column(NamedTuple):
    """What a unit velocity of joint j asks of all that it carries, in base coordinates and about the base origin.

    With J_j = ∂x/∂q_j of each point x:  u = ∫ (x, 1) × J_j dm and its companion c = ∫ (x, 1) × J_j' dm as (moment, force),
    and k = ∫ x' × J_j dm.  S, S' are the joint's screw and its rate.
    """

    S: Vector
    S1: Vector
    u: Vector
    c: Vector
    k: Vector


def columns(robot: Robot, q: Any, v: Any, variant: str) -> list[Column]:
    """Composite bodies as in the mass matrix, with the moments of their velocities beside those of their masses."""
    tree = moving_bodies(robot)
    motions = velocities(tree, q, v)
    inertias = [body.inertia for body in tree]
    flows = [
        Flow(*flow_of(inertia, motion), extra * motion.omega)
        for inertia, motion, extra in zip(inertias, motions, gyration(robot, variant))
    ]
    for i in range(len(tree) - 1, -1, -1):
        up = tree[i].parent
        if up >= 0:
            R, p = joint_pose(tree[i], q)
            inertias[up] = inertias[up] + inertias[i].seen_from(R, p)
            flows[up] = flows[up] + flows[i].seen_from(R, p)
    grounded = [body if body.parent >= 0 else body._replace(p=zeros(3)) for body in tree]  # C knows no base
    return [
        column(body, inertia, flow, motion, R, p)
        for body, inertia, flow, motion, (R, p) in zip(tree, inertias, flows, motions, poses(grounded, q))
    ]


def flow_of(inertia: Inertia, motion: Velocity) -> tuple[Vector, Matrix]:
    """∫ x' dm and ∫ x' rᵀ dm of a body."""
    m, h, Sigma = inertia
    return m * motion.v + cross(motion.omega, h), motion.v @ h.T + skew(motion.omega) @ Sigma


def column(body: Body, inertia: Inertia, flow: Flow, motion: Velocity, R: Matrix, p: Vector) -> Column:
    m, h, Sigma = inertia
    l, P, L = flow
    z, still = unit_z(), zeros(3)
    z1 = cross(motion.omega, z)
    if body.kind == "revolute":  # J = z × r,  J' = z' × r + z × (x' − v)
        Q = P - motion.v @ h.T
        u = (inertia.moment(skew(z), zeros(3, 3), still), cross(z, h))
        n = ca.trace(Sigma) * z1 - Sigma @ z1 + ca.trace(Q) * z - Q @ z
        f = cross(z1, h) + cross(z, l - m * motion.v)
        k = ca.trace(P) * z - P.T @ z
        twist = cross(L, z)
        n, k = n + twist, k - twist
        S, S1 = (z, still), (z1, cross(motion.v, z))
    else:  # J = z,  J' = z'
        u, (n, f), k = (cross(h, z), m * z), (cross(h, z1), m * z1), cross(l, z)
        S, S1 = (still, z), (still, z1)
    placed = [moved(R, p, *x) for x in (S, S1, u[::-1], (f, n))]
    return Column(*(ca.vertcat(*x) for x in placed[:2]), *(ca.vertcat(*x[::-1]) for x in placed[2:]), R @ k)


def moved(R: Matrix, p: Vector, free: Vector, bound: Vector) -> tuple[Vector, Vector]:
    """A screw (direction, moment) in the frame in which its own stands at p, turned by R."""
    free = R @ free
    return free, R @ bound + cross(p, free)


# Public functions ---------------------------------------------------------------------------------------------------


@algorithm("tau")
def modified_newton_euler(robot: Robot, q, v, v_a, a, *, variant="christoffel"):
    """NE*(q, v, v_a, a) = M a + C(q, v) v_a + g + D v_a in one sweep  [DeLuca (16)-(20)].

    With v_a = v it is the torque of inverse dynamics on the link side (`torque_derivatives`).  `variant` names the
    factorization: "christoffel", or the paper's "0001" or "1110"; for all three Ṁ − 2C is skew.
    """
    tau = two_velocity_torques(robot, q, v, v_a, a, sx(robot.gravity), variant)
    return tau + rigid_motor_inertia(robot) * a + viscous_friction(robot) * v_a


@algorithm("tau")
def coriolis_product(robot: Robot, q, v, v_a, *, variant="christoffel"):
    """C(q, v) v_a in one sweep, without C; symmetric in v and v_a for Christoffel's C; C_0001(v) v_a = C_1110(v_a) v."""
    return two_velocity_torques(robot, q, v, v_a, zeros(robot.n), zeros(3), variant)


@algorithm("tau")
def coriolis_transpose_product(robot: Robot, q, v):
    """C(q, v)ᵀ v = Ṁ v − c = ∂T/∂q in one velocity and one momentum sweep; the same for every C with Ṁ = C + Cᵀ.

    (Cᵀv)_i = (V × s_i)·h_i with the velocity V of link i, the axis s_i, and the momentum h_i of all that joint i carries.
    The transposes of the fourteen other recursions of [DeLuca] give something else, and so does Cᵀ times another vector.
    """
    tree = moving_bodies(robot)
    motions = velocities(tree, q, v)
    z = unit_z()
    found = []
    for body, motion, (linear, angular) in zip(tree, motions, subtree_momenta(tree, q, motions)):
        turned = cross(motion.omega, z)
        if body.kind == "revolute":
            found.append(ca.dot(turned, angular) + ca.dot(cross(motion.v, z), linear))
        else:
            found.append(ca.dot(turned, linear))
    return ca.vertcat(*found)


@algorithm("coriolis_matrix")
def coriolis_matrix(robot: Robot, q, v, *, variant="christoffel"):
    """C(q, v) with C v = c and Ṁ = C + Cᵀ  [DeLuca (2), (4), (19)]; `variant` as in `modified_newton_euler`."""
    C = zeros(robot.n, robot.n)
    found = columns(robot, q, v, variant)
    for j, path in enumerate(paths(robot)):
        for i in path:
            C[i, j] = ca.dot(found[i].S, found[j].c)  # ∫ J_i·J_j' dm
            if i != j:
                C[j, i] = ca.dot(found[i].S1, found[j].u) + ca.dot(found[i].S[:3], found[j].k)
    return C


@algorithm("mass_matrix_rate")
def mass_matrix_rate(robot: Robot, q, v):
    """Ṁ = C + Cᵀ along a motion  [DeLuca (4)]."""
    rate = zeros(robot.n, robot.n)
    found = columns(robot, q, v, "christoffel")
    for j, path in enumerate(paths(robot)):
        c = found[j].c + ca.vertcat(found[j].k, zeros(3))
        for i in path:
            rate[i, j] = rate[j, i] = ca.dot(found[i].S, c) + ca.dot(found[i].S1, found[j].u)
    return rate


def paths(robot: Robot) -> list[list[int]]:
    """For each joint, itself and those between it and the base."""
    parents = [body.parent for body in lump_fixed(robot)]
    return [[j, *ancestors(j, parents)] for j in range(robot.n)]
