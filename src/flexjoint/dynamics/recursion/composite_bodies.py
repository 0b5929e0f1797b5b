"""The mass matrix by the composite-rigid-body algorithm, its factorization, and forward dynamics with both.

Composite bodies follow Walker and Orin's Method 3 as in [Featherstone ch. 6]; M = LᵀDL [Featherstone ch. 6.5]
eliminates leaves first, which on a tree creates no fill-in.  L and D overwrite nothing: SX is immutable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeVar

from ...robot import Robot
from ...spatial import Inertia, ca, cross, is_zero, skew, sx, zeros
from ...types import Expression, Jet, Scalar, Vector
from ..drivetrain.coupling import rigid_groups
from ..drivetrain.passive import passive_torque
from ..links import link_dynamics
from ..loads import Base, Wrenches
from .bodies import (
    Body,
    Rotor,
    follower_inertia,
    moving_bodies,
    own_motor_inertia,
    rigid_motor_inertia,
    tied_rotors,
)
from .definiteness import check_inertia
from .kinematics import joint_pose, poses

FEW_JOINTS = 16  # up to here both ways of an algorithm are traced and counted; beyond, the one linear in N is cheaper

Result = TypeVar("Result")
Rows = list[dict[int, Scalar]]  # M[i][j] for i and j among its ancestors and itself; the rest is zero


class Factors(NamedTuple):
    """M = LᵀDL: `L[k][i]` for i among the ancestors of k (unit diagonal left out), `D[k]`."""

    L: list[dict[int, Scalar]]
    D: list[Scalar]


def unit_forces(tree: list[Body], q: Expression) -> list[tuple[Vector, Vector]]:
    """Moment and force per joint for a unit acceleration of the joint, in its body's frame.

    The joint moves its whole subtree as one composite body: A = S(turn z), a = slide z.
    """
    composite = [body.inertia for body in tree]
    forces: list[tuple[Vector, Vector]] = [(zeros(3), zeros(3))] * len(tree)
    for i in range(len(tree) - 1, -1, -1):
        body, inertia = tree[i], composite[i]
        a, alpha = body.screw.axes
        A = skew(alpha)
        if body.parent >= 0:
            composite[body.parent] = composite[body.parent] + composite_in_parent(body, inertia, q)
        forces[i] = (inertia.moment(A, zeros(3, 3), a), inertia.force(A, a))
    return forces


def composite_in_parent(body: Body, inertia: Inertia, q: Expression) -> Inertia:
    """The inertia of a composite body about the frame of its parent."""
    x = q[body.coordinate]
    return body.screw.moved(inertia, x).transformed(body.R, body.p)


def by_walking(tree: list[Body], q: Expression) -> Rows:
    """M[i][j]: the unit force of joint i, carried towards the base, projected on every joint j on the way."""
    placed = [joint_pose(body, q) for body in tree]
    M: Rows = [{} for _ in tree]
    for i, (n, f) in enumerate(unit_forces(tree, q)):
        for j in [i, *ancestors(i, [body.parent for body in tree])]:
            M[i][j] = tree[j].screw.effort(f, n)
            R, p = placed[j]
            f = R @ f
            n = R @ n + cross(p, f)
    return M


def by_projection(tree: list[Body], q: Expression) -> Rows:
    """M[i][j]: the unit force of joint i projected on the screw of joint j, both about the first joint.

    Eleven operations per element, fewer than walking on long chains: 74 000 instead of 221 000 at N = 100.
    """
    tree = [body if body.parent >= 0 else body._replace(p=zeros(3)) for body in tree]  # M knows no base
    M: Rows = [{} for _ in tree]
    screws = []
    for i, ((n, f), (R, p)) in enumerate(zip(unit_forces(tree, q), poses(tree, q))):
        f = R @ f
        n = R @ n + cross(p, f)
        linear, angular = (R @ x for x in tree[i].screw.axes)
        screws.append(ca.vertcat(angular, cross(p, angular) + linear))
        path = [i, *ancestors(i, [body.parent for body in tree])]
        row = ca.horzcat(*[screws[j] for j in path]).T @ ca.vertcat(n, f)
        M[i] = {j: row[k] for k, j in enumerate(path)}
    return M


def composite_rigid_body(tree: list[Body], q: Expression) -> Rows:
    """The mass matrix of the bodies, by the cheaper of two ways."""
    if len(tree) > FEW_JOINTS:
        return by_projection(tree, q)
    return cheapest([by_walking(tree, q), by_projection(tree, q)], lambda M: [x for row in M for x in row.values()])


def cheapest(found: list[Result], outputs: Callable[[Result], list[Expression]]) -> Result:
    """The result with the fewest operations."""

    def operations(result: Result) -> int:
        x = ca.vertcat(zeros(1), *outputs(result))
        return ca.Function("f", ca.symvar(x), [x]).n_instructions()

    return min(found, key=operations)


def link_mass_matrix(
    robot: Robot, q: Expression, frozen: bool = True, tree: list[Body] | None = None
) -> tuple[Rows, list[int]]:
    """The mass matrix by rows, M + S_r + S_rᵀ + B_r with the motors rigidly coupled to it, and its elimination tree.

    That is the tree of joints, unless coordinates are coupled beyond it: by followers, or by a motor carried by another
    branch than the one it drives.  `frozen` as in `bodies`; a `tree` takes the place of the robot's own bodies.
    """
    tree = moving_bodies(robot, frozen) if tree is None else tree
    M = composite_rigid_body(tree, q)
    parents = [body.parent for body in tree]
    if robot.followers:
        M, parents = with_couplings([{} for _ in range(robot.n)], per_pair(tree, M))
    B, own, followers = rigid_motor_inertia(robot), own_motor_inertia(robot), follower_inertia(robot)
    moved, couplings = moved_by_joints(robot), []
    for k in range(robot.n):
        if k not in moved:
            M[k][k] = M[k][k] + B[k]
            continue
        M[k][k] = M[k][k] + followers[k]
        couplings += [(i, j, x * own[k] * y) for i, x in moved[k].items() for j, y in moved[k].items() if j <= i]
    for rotor in tied_rotors(robot):
        turning = moved.get(rotor.coordinate, {})
        turning = {rotor.coordinate: 1} if rotor.follows or not turning else turning
        tied = [(i, j, s * x) for i, s in coupling(tree, q, rotor).items() for j, x in turning.items()]
        couplings += [(i, j, 2 * s if i == j else s) for i, j, s in tied]
    return with_couplings(M, couplings, parents) if couplings else (M, parents)


def per_pair(tree: Sequence[Body], M: Rows) -> list[tuple[int, int, Scalar]]:
    """GᵀMG as terms (i, j, value) of the elements M_ij = M_ji over the coordinates, from the rows over the bodies.

    Bodies k and l of one coordinate add M_kl and M_lk to its diagonal element.
    """
    at = [body.coordinate for body in tree]
    terms = [(at[k], at[l], x, k != l) for k, row in enumerate(M) for l, x in row.items()]
    return [(i, j, 2 * x if i == j and twice else x) for i, j, x, twice in terms if i is not None and j is not None]


def with_couplings(
    M: Rows, couplings: Sequence[tuple[int, int, Scalar]], parents: Sequence[int] | None = None
) -> tuple[Rows, list[int]]:
    """M with further terms (i, j, value) of its elements M_ij = M_ji, and the elimination tree that M has then.

    parents: the tree that the rows of M have; kept if every coupling is between a joint and its ancestor.
    """
    M = [dict(row) for row in M]
    pairs = {(max(i, j), min(i, j)) for i, j, _ in couplings}
    if parents is None or any(j not in M[i] for i, j in pairs):
        pairs |= {(i, j) for i, row in enumerate(M) for j in row}
        parents = elimination_tree(len(M), pairs)
        M = [{j: M[i].get(j, zeros(1)) for j in [i, *ancestors(i, parents)]} for i in range(len(M))]
    for i, j, x in couplings:
        M[max(i, j)][min(i, j)] = M[max(i, j)][min(i, j)] + x
    return M, list(parents)


def elimination_tree(n: int, pairs: Iterable[tuple[int, int]]) -> list[int]:
    """Parents such that every pair of coupled coordinates is a coordinate and its ancestor, in elimination of the last
    coordinate first; on a tree of joints that tree itself.

    Eliminating a coordinate couples all that it is coupled with: its parent is the last of them.
    """
    coupled: list[set[int]] = [set() for _ in range(n)]
    for i, j in pairs:
        if i != j:
            coupled[max(i, j)].add(min(i, j))
    parents = [-1] * n
    for k in range(n - 1, -1, -1):
        if coupled[k]:
            parents[k] = max(coupled[k])
            coupled[parents[k]] |= coupled[k] - {parents[k]}
    return parents


def moved_by_joints(robot: Robot) -> dict[int, dict[int, Scalar]]:
    """{k: {i: T_ki}} for the motors k of rigid groups: by how much they turn per unit of q_i; zeros are left out."""
    return {
        k: {j: x for j, x in zip(group.joints, ca.horzsplit(group.matrix[row, :])) if not is_zero(x)}
        for group in rigid_groups(robot)
        for row, k in enumerate(group.joints)
    }


def coupling(tree: list[Body], q: Expression, rotor: Rotor) -> dict[int, Scalar]:
    """A column of S: {i: S_ij} for the coordinates i that turn the rotor's carrier  [Hoepler (29)].

    The momentum of a unit θ' is walked from the carrier towards the base, so that S_ij holds no other joints than those
    between i and the carrier  [Hoepler (31)].
    """
    column: dict[int, Scalar] = {}
    momentum = rotor.momentum * rotor.axis
    if rotor.body >= 0:
        for i in [rotor.body, *ancestors(rotor.body, [body.parent for body in tree])]:
            k = tree[i].coordinate
            if tree[i].screw.turns and k is not None:
                column[k] = column.get(k, 0) + tree[i].screw.turn * momentum[2]
            momentum = joint_pose(tree[i], q)[0] @ momentum
    return column


def factorize(M: Rows, parents: Sequence[int]) -> Factors:
    """M = LᵀDL, leaves first: row k is eliminated from the rows of its ancestors  [Featherstone table 6.3]."""
    M = [dict(row) for row in M]
    L: list[dict[int, Scalar]] = [{} for _ in M]
    for k in range(len(M) - 1, -1, -1):
        path = ancestors(k, parents)
        for i in path:
            L[k][i] = M[k][i] / M[k][k]
        for i in path:
            for j in [i, *ancestors(i, parents)]:
                M[i][j] = M[i][j] - L[k][i] * M[k][j]
    return Factors(L, [M[k][k] for k in range(len(M))])


def solve(factors: Factors, parents: Sequence[int], b: Expression) -> Expression:
    """x with LᵀDL x = b."""
    L, D = factors
    x = [b[i] for i in range(len(D))]
    for k in range(len(D) - 1, -1, -1):
        for i in ancestors(k, parents):
            x[i] = x[i] - L[k][i] * x[k]
    x = [value / d for value, d in zip(x, D)]
    for k in range(len(D)):
        for i in ancestors(k, parents):
            x[k] = x[k] - L[k][i] * x[i]
    return ca.vertcat(*x)


def ancestors(k: int, parents: Sequence[int]) -> list[int]:
    path = []
    while (k := parents[k]) >= 0:
        path.append(k)
    return path


def full_matrix(M: Rows) -> Expression:
    """A symmetric matrix from its rows."""
    full = zeros(len(M), len(M))
    for i, row in enumerate(M):
        for j, value in row.items():
            full[i, j] = full[j, i] = value
    return full


def by_factorization(
    robot: Robot,
    q: Expression,
    v: Expression,
    tau: Expression,
    wrenches: Wrenches = None,
    base: Base = None,
    spins: Sequence[tuple[Rotor, Jet]] = (),
) -> Expression:
    """q'' = M⁻¹(τ − n): composite bodies and one factorization, O(N³) but cheap for few joints.

    Rotors behind springs are not `frozen` to the links: see `forward.py`.
    """
    M, parents = link_mass_matrix(robot, q, frozen=False)
    check_inertia(robot, [M[i][i] for i in range(robot.n)])
    motion = [q, v, zeros(robot.n)]
    _, n = link_dynamics(robot, motion, sx(robot.gravity), 0, wrenches, base, spins, frozen=False)
    b = tau - (n[0] + passive_torque(robot, [q, v], 0)[0])
    return solve(factorize(M, parents), parents, b)
