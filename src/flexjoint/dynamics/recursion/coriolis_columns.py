"""C(q, v) column by column: composite bodies with the moments of their velocities beside those of their masses.

Christoffel's C of the bodies, the X that makes the paper's two variants of it, and what spinning rotors add
(`coriolis.py` says what these are).  Of a rotor k with the momentum L = η I_axial θ' a on a body that turns at ω, with
the axes z_i and z_j of joints between the base and that body,

    C_ij = ½ z_i·(z_j × L),   C_ik = ½ η I_axial z_i·(ω × a),   C_ki = d/dt(η I_axial z_i·a) − C_ik.

The first is skew, as X is, and joins it in the flow of the body; the others stand where S stands in the mass matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...errors import InputError
from ...robot import Robot
from ...spatial import Inertia, Screw, ca, cross, is_zero, skew, sx, total, unit_z, zeros
from ...types import Expression, Matrix, Scalar, Vector
from .bodies import Body, Rotor, lump_fixed, moving_bodies, per_coordinate
from .composite_bodies import FEW_JOINTS, ancestors, cheapest, composite_in_parent, moved_by_joints
from .energy import Spin
from .kinematics import Velocity, joint_pose, poses, screw_rate, velocities

VARIANTS = {"christoffel": 0.0, "0001": -1.0, "1110": 1.0}  # how often X is added


def weight(variant: str) -> float:
    if variant not in VARIANTS:
        raise InputError(
            f"variant is {variant!r}: choose one of {', '.join(VARIANTS)}; no other recursion has a C with Ṁ = C + Cᵀ"
        )
    return VARIANTS[variant]


def gyration(robot: Robot, variant: str) -> list[Scalar]:
    """± tr(Σ_c) of each body, zero for Christoffel's C."""
    sign = weight(variant)
    return [sign * central_trace(body.inertia) if sign else sx(0.0) for body in lump_fixed(robot)]


def central_trace(inertia: Inertia) -> Scalar:
    """tr(Σ) about the centre of mass."""
    m, h, Sigma = inertia
    return ca.trace(Sigma) - ca.dot(h, h) / m if not m.is_zero() else sx(0.0)


class Flow(NamedTuple):
    """Moments of the velocities x' of a body, or several, about a frame: ∫ x' dm, ∫ x' rᵀ dm, Σ ± tr(Σ_c) ω − ½ L."""

    l: Vector
    P: Matrix
    L: Vector

    def __add__(self, other: Flow) -> Flow:  # type: ignore[override]
        return Flow(*(x + y for x, y in zip(self, other)))

    def transformed(self, R: Matrix, p: Vector) -> Flow:
        """The same about another frame, in which this frame has the orientation R and the origin p."""
        l = R @ self.l
        return Flow(l, R @ self.P @ R.T + l @ p.T, R @ self.L)


class Column(NamedTuple):
    """Forces of a unit velocity of joint j on all that it carries, in the joint's frame.

    With J = ∂x/∂q_j of each point x: force and moment u = ∫ (1, r ×) J dm, c = ∫ (1, r ×) J' dm, and k = ∫ x' × J dm.
    """

    u: tuple[Vector, Vector]
    c: tuple[Vector, Vector]
    k: Vector

    def __add__(self, other: Column) -> Column:  # type: ignore[override]
        u, c = (tuple(x + y for x, y in zip(a, b)) for a, b in ((self.u, other.u), (self.c, other.c)))
        return Column(u, c, self.k + other.k)

    def scaled(self, factor: Scalar) -> Column:
        u, c = (tuple(factor * x for x in pair) for pair in (self.u, self.c))
        return Column(u, c, factor * self.k)


def columns(
    robot: Robot, tree: list[Body], q: Expression, motions: list[Velocity], variant: str, spinning: Sequence[Spin] = ()
) -> list[Column]:
    """Composite bodies as in the mass matrix, with the moments of their velocities beside those of their masses."""
    inertias = [body.inertia for body in tree]
    flows = [
        Flow(*flow_of(inertia, motion), extra * motion.omega)
        for inertia, motion, extra in zip(inertias, motions, gyration(robot, variant))
    ]
    for rotor, momentum in ((spin.rotor, spin.momentum) for spin in spinning if spin.rotor.body >= 0):
        flows[rotor.body] = flows[rotor.body]._replace(L=flows[rotor.body].L - momentum / 2)
    found = []
    for i in range(len(tree) - 1, -1, -1):
        body = tree[i]
        found.append(column_of(body.screw, inertias[i], flows[i], motions[i]))
        if body.parent >= 0:
            inertias[body.parent] = inertias[body.parent] + composite_in_parent(body, inertias[i], q)
            flows[body.parent] = flows[body.parent] + flows[i].transformed(*joint_pose(body, q))
    return found[::-1]


def flow_of(inertia: Inertia, motion: Velocity) -> tuple[Vector, Matrix]:
    """∫ x' dm and ∫ x' rᵀ dm of a body."""
    m, h, Sigma = inertia
    return m * motion.v + cross(motion.omega, h), motion.v @ h.T + skew(motion.omega) @ Sigma


def column_of(screw: Screw, inertia: Inertia, flow: Flow, motion: Velocity) -> Column:
    """The column of a joint that carries a composite body: J is linear in the joint's motion."""
    parts = [(screw.slide, sliding_column), (screw.turn, turning_column)]
    return total(column(inertia, flow, motion).scaled(c) for c, column in parts if not is_zero(c))


def sliding_column(inertia: Inertia, flow: Flow, motion: Velocity) -> Column:
    """J = z,  J' = z'."""
    z, m, h = unit_z(), inertia.m, inertia.h
    z1 = cross(motion.omega, z)
    return Column((m * z, cross(h, z)), (m * z1, cross(h, z1)), cross(flow.l, z))


def turning_column(inertia: Inertia, flow: Flow, motion: Velocity) -> Column:
    """J = z × r,  J' = z' × r + z × (x' − v),  and ∫ r × (z × y) dm = tr(Y) z − Y z with Y = ∫ y rᵀ dm."""
    m, h, Sigma = inertia
    l, P, L = flow
    z = unit_z()
    z1 = cross(motion.omega, z)
    Q, twist = P - motion.v @ h.T, cross(L, z)
    n = ca.trace(Sigma) * z1 - Sigma @ z1 + ca.trace(Q) * z - Q @ z + twist
    f = cross(z1, h) + cross(z, l - m * motion.v)
    k = ca.trace(P) * z - P.T @ z - twist
    return Column((cross(z, h), ca.trace(Sigma) * z - Sigma @ z), (f, n), k)


def by_walking(tree: list[Body], q: Expression, motions: list[Velocity], found: list[Column]) -> Expression:
    """C: the forces of joint j, carried towards the base, give C_ij and C_ji at every joint i on the way."""
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


def by_projection(tree: list[Body], q: Expression, motions: list[Velocity], found: list[Column]) -> Expression:
    """C: the same forces projected on the screws of the joints, all about the first joint: cheaper on long chains."""
    tree = [body if body.parent >= 0 else body._replace(p=zeros(3)) for body in tree]  # C knows no base
    parents = [body.parent for body in tree]
    C = zeros(len(tree), len(tree))
    rows: list[Expression] = []
    rates: list[Expression] = []
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
    return ca.vertcat(*body.screw.axes), ca.vertcat(*screw_rate(body.screw, motion))


def moved(R: Matrix, p: Vector, free: Vector, bound: Vector) -> tuple[Vector, Vector]:
    """A force and its moment, or an angular velocity and the velocity of the origin, in a frame in which theirs has the
    orientation R and the origin p."""
    free = R @ free
    return free, R @ bound + cross(p, free)


# Of the whole robot -------------------------------------------------------------------------------------------------


def spinning_columns(
    tree: list[Body], q: Expression, motions: list[Velocity], rotor: Rotor
) -> dict[int, tuple[Scalar, Scalar]]:
    """{i: (C_ik, C_ki)} of a rotor k for the coordinates i that turn its carrier."""
    found: dict[int, tuple[Scalar, Scalar]] = {}
    if rotor.body < 0:
        return found
    a, turned = rotor.momentum * rotor.axis, cross(motions[rotor.body].omega, rotor.momentum * rotor.axis)
    for i in [rotor.body, *ancestors(rotor.body, [body.parent for body in tree])]:
        k = tree[i].coordinate
        if tree[i].screw.turns and k is not None:
            _, z = tree[i].screw.axes
            across = ca.dot(z, turned)
            rate = ca.dot(cross(motions[i].omega, z), a) + across  # d/dt (a·z_i)
            ik, ki = found.get(k, (0, 0))
            found[k] = ik + across / 2, ki + (rate - across / 2)
        R, _ = joint_pose(tree[i], q)
        a, turned = R @ a, R @ turned
    return found


def over_coordinates(tree: Sequence[Body], C: Expression) -> Expression:
    """GᵀCG over the coordinates, from C over the bodies."""
    rows = [per_coordinate(tree, ca.horzsplit(C[i, :])) for i in range(len(tree))]
    return ca.vertcat(*per_coordinate(tree, [ca.horzcat(*row) for row in rows]))


def whole_matrix(
    robot: Robot, q: Expression, v: Expression, spinning: Sequence[Spin], rows: Sequence[int], variant: str, size: int
) -> Expression:
    """C over the links and further coordinates, (size, size); `rows` are those of the spinning rotors."""
    tree = moving_bodies(robot)
    motions = velocities(tree, q, v)
    found = columns(robot, tree, q, motions, variant, spinning)
    ways = [by_projection] if robot.n > FEW_JOINTS else [by_walking, by_projection]
    C = cheapest([way(tree, q, motions, found) for way in ways], lambda C: [ca.vec(C)])
    C = over_coordinates(tree, C) if robot.followers else C
    C = ca.diagcat(C, zeros(size - robot.n, size - robot.n))
    moved = moved_by_joints(robot)
    for spin, place in zip(spinning, rows):
        alone = spin.rotor.elastic or spin.rotor.follows
        shares = {place: 1} if alone else moved.get(place, {place: 1})
        for i, (ik, ki) in spinning_columns(tree, q, motions, spin.rotor).items():
            for k, x in shares.items():
                C[i, k] += ik * x
                C[k, i] += ki * x
    return C
