"""Coriolis forces with two velocities: C(q, v) v_a in one sweep, the matrices C, Cᵀv in O(N)  [DeLuca sec. IV].

The modified recursion NE*(q, v, v_a, a) = M a + C(q, v) v_a + g splits each product of velocities of the Newton-Euler
recursion between v and v_a.  Of the paper's sixteen ways (`sixteen.py`) two give Ṁ = C + Cᵀ, 0001 and 1110.  Both move
alike: their angular accelerations differ by ω × ω_a, their centripetal terms by the opposite, S(ω_a × ω).  So in both a
point r of a body accelerates with a + A r, where

    A = S(α) + ω_a ωᵀ − (ω·ω_a) 1,    α = α_parent + q'' z + q' ω_a,parent × z     (AAR'_0, LAR'_0, LAR_0)

This is the polarized acceleration, symmetric in v and v_a.  Its torques are Christoffel's, and the variants differ from
them by a moment on each body alone:

    C_1110 = C_christoffel + X,   C_0001 = C_christoffel − X,   X = Σ tr(Σ_c) Jωᵀ S(ω) Jω

with Σ_c the second moment about the centre of mass.  X is skew and X v = 0: C v, C + Cᵀ and Cᵀv are the same for all
three.  X_ij holds triple products z_i·(z_k × z_j): where no body turns about three independent axes the three are one.

Christoffel's C does not change under regrouping.  X does: it is taken from the bodies as they are, with links on fixed
joints part of the link that carries them.  The paper treats revolute joints; a sliding one adds
d'' z + d' ω_a × z + d_a' ω × z to the acceleration of its link, in all variants.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..api import algorithm
from ..errors import InputError
from ..robot import JointKind, Robot
from ..spatial import Inertia, Matrix, Vector, ca, cross, skew, sx, time_derivative, unit_z, zeros
from .bodies import Body, lump_fixed, moving_bodies, refuse_tied_rotors, rigid_motor_inertia
from .energy import subtree_momenta
from .friction import link_friction
from .kinematics import Velocity, along_joints, carried_loads, joint_pose, poses, velocities
from .mass_matrix import FEW_JOINTS, ancestors, cheapest, handed_on, mass_matrix

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
    for body in tree:
        up = found[body.parent] if body.parent >= 0 else base
        R, p = joint_pose(body, q)
        i = body.coordinate
        omega, omega_a, alpha = R.T @ up.omega, R.T @ up.omega_a, R.T @ up.alpha
        origin = R.T @ (up.a + up.A @ p)  # [DeLuca (LAR'_0)]
        if body.kind == "revolute":
            alpha = alpha + v[i] * cross(omega_a, z) + a[i] * z  # [DeLuca (AAR'_0)]
            omega, omega_a = omega + v[i] * z, omega_a + v_a[i] * z  # [DeLuca (AVR), (AVR*)]
        elif body.kind == "prismatic":
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
    refuse_tied_rotors("Coriolis factorization", robot)
    tree = moving_bodies(robot)
    motions = two_motions(tree, q, v, v_a, a, gravity)
    turns = [extra * cross(x.omega, x.omega_a) for x, extra in zip(motions, gyration(robot, variant))]
    loads = [inertial_load(body.inertia, motion) for body, motion in zip(tree, motions)]
    return along_joints(tree, carried_loads(tree, q, [(f, n + turn) for (f, n), turn in zip(loads, turns)]))


def inertial_load(inertia: Inertia, motion: TwoMotions) -> tuple[Vector, Vector]:
    """f = m a + A h,  n = vee(AΣ − ΣAᵀ) + h × a"""
    return inertia.force(motion.A, motion.a), inertia.moment(motion.A, motion.W, motion.a)


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
    """What a unit velocity of joint j asks of all that it carries, in the joint's frame.

    With J = ∂x/∂q_j of each point x: force and moment u = ∫ (1, r ×) J dm, c = ∫ (1, r ×) J' dm, and k = ∫ x' × J dm.
    """

    u: tuple[Vector, Vector]
    c: tuple[Vector, Vector]
    k: Vector


def columns(robot: Robot, tree: list[Body], q: Any, motions: list[Velocity], variant: str) -> list[Column]:
    """Composite bodies as in the mass matrix, with the moments of their velocities beside those of their masses."""
    inertias = [body.inertia for body in tree]
    flows = [
        Flow(*flow_of(inertia, motion), extra * motion.omega)
        for inertia, motion, extra in zip(inertias, motions, gyration(robot, variant))
    ]
    found = []
    for i in range(len(tree) - 1, -1, -1):
        body = tree[i]
        found.append(column_of(body.kind, inertias[i], flows[i], motions[i]))
        if body.parent >= 0:
            inertias[body.parent] = inertias[body.parent] + handed_on(body, inertias[i], q)
            flows[body.parent] = flows[body.parent] + flows[i].seen_from(*joint_pose(body, q))
    return found[::-1]


def flow_of(inertia: Inertia, motion: Velocity) -> tuple[Vector, Matrix]:
    """∫ x' dm and ∫ x' rᵀ dm of a body."""
    m, h, Sigma = inertia
    return m * motion.v + cross(motion.omega, h), motion.v @ h.T + skew(motion.omega) @ Sigma


def column_of(kind: JointKind, inertia: Inertia, flow: Flow, motion: Velocity) -> Column:
    m, h, Sigma = inertia
    l, P, L = flow
    z = unit_z()
    z1 = cross(motion.omega, z)
    if kind == "prismatic":  # J = z,  J' = z'
        return Column((m * z, cross(h, z)), (m * z1, cross(h, z1)), cross(l, z))
    # J = z × r,  J' = z' × r + z × (x' − v),  and ∫ r × (z × y) dm = tr(Y) z − Y z with Y = ∫ y rᵀ dm
    Q, twist = P - motion.v @ h.T, cross(L, z)
    n = ca.trace(Sigma) * z1 - Sigma @ z1 + ca.trace(Q) * z - Q @ z + twist
    f = cross(z1, h) + cross(z, l - m * motion.v)
    k = ca.trace(P) * z - P.T @ z - twist
    return Column((cross(z, h), ca.trace(Sigma) * z - Sigma @ z), (f, n), k)


def by_walking(tree: list[Body], q: Any, motions: list[Velocity], found: list[Column]) -> Any:
    """C: the forces of joint j carried towards the base show at every joint i on the way, and C_ji beside C_ij."""
    placed = [joint_pose(body, q) for body in tree]
    parents = [body.parent for body in tree]
    C = zeros(len(tree), len(tree))
    for j, (u, c, k) in enumerate(found):
        for i in [j, *ancestors(j, parents)]:
            S, S1 = screws(tree[i], motions[i])
            C[i, j] = ca.dot(S, ca.vertcat(*c))  # ∫ J_i·J_j' dm
            if i != j:
                C[j, i] = ca.dot(S1, ca.vertcat(*u)) + ca.dot(S[3:], k)
            u, c, k = moved(*placed[i], *u), moved(*placed[i], *c), placed[i][0] @ k
    return C


def by_projection(tree: list[Body], q: Any, motions: list[Velocity], found: list[Column]) -> Any:
    """C: the same on the screws of the joints, all about the first joint: less on long chains."""
    tree = [body if body.parent >= 0 else body._replace(p=zeros(3)) for body in tree]  # C knows no base
    parents = [body.parent for body in tree]
    C = zeros(len(tree), len(tree))
    rows: list[Any] = []
    rates: list[Any] = []
    for j, ((R, p), column) in enumerate(zip(poses(tree, q), found)):
        for screw, known in zip(screws(tree[j], motions[j]), (rows, rates)):
            known.append(ca.vertcat(*moved(R, p, screw[3:], screw[:3])[::-1]))
        u, c, k = ca.vertcat(*moved(R, p, *column.u)), ca.vertcat(*moved(R, p, *column.c)), R @ column.k
        for i in [j, *ancestors(j, parents)]:
            C[i, j] = ca.dot(rows[i], c)
            if i != j:
                C[j, i] = ca.dot(rates[i], u) + ca.dot(rows[i][3:], k)
    return C


def screws(body: Body, motion: Velocity) -> tuple[Vector, Vector]:
    """Velocity (of the origin, angular) that a unit velocity of the joint gives its body, and its rate."""
    z, still = unit_z(), zeros(3)
    z1 = cross(motion.omega, z)
    if body.kind == "revolute":
        return ca.vertcat(still, z), ca.vertcat(cross(motion.v, z), z1)
    return ca.vertcat(z, still), ca.vertcat(z1, still)


def moved(R: Matrix, p: Vector, free: Vector, bound: Vector) -> tuple[Vector, Vector]:
    """A force and its moment, or a rotation and its velocity, in the frame in which theirs stands at p, turned by R."""
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
    return tau + rigid_motor_inertia(robot) * a + link_friction(robot, [v_a], 0)[0]


@algorithm("tau")
def coriolis_product(robot: Robot, q, v, v_a, *, variant="christoffel"):
    """C(q, v) v_a in one sweep, without C; Christoffel's is symmetric in v and v_a, C_0001(v) v_a = C_1110(v_a) v."""
    return two_velocity_torques(robot, q, v, v_a, zeros(robot.n), zeros(3), variant)


@algorithm("tau")
def coriolis_transpose_product(robot: Robot, q, v):
    """C(q, v)ᵀ v = Ṁ v − c = ∂T/∂q in one velocity and one momentum sweep; the same for every C with Ṁ = C + Cᵀ.

    (Cᵀv)_i = (V_i × s_i)·h_i with the velocity V_i of link i, the axis s_i of its joint and the momentum h_i of all
    that the joint carries.  The transposes of the other fourteen recursions of [DeLuca] give something else; and the
    three admissible ones differ as soon as Cᵀ meets another vector than v.
    """
    refuse_tied_rotors("coriolis_transpose_product", robot)
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
    refuse_tied_rotors("coriolis_matrix", robot)
    tree = moving_bodies(robot)
    motions = velocities(tree, q, v)
    found = columns(robot, tree, q, motions, variant)
    if robot.n > FEW_JOINTS:
        return by_projection(tree, q, motions, found)
    return cheapest([way(tree, q, motions, found) for way in (by_walking, by_projection)], lambda C: [ca.vec(C)])


@algorithm("mass_matrix_rate")
def mass_matrix_rate(robot: Robot, q, v):
    """Ṁ = C + Cᵀ along a motion  [DeLuca (4)].

    The mass matrix differentiated: a third of the operations of C + Cᵀ on the LWR, as many on long chains.
    """
    return time_derivative(mass_matrix.function(robot, q), [q, v])
