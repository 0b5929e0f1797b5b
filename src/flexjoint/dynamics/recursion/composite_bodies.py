"""The mass matrix by the composite-rigid-body algorithm, its factorization, and forward dynamics with both.

Composite bodies follow Walker and Orin's Method 3 as in [Featherstone ch. 6]; M = LᵀDL [Featherstone ch. 6.5]
eliminates leaves first, which on a tree creates no fill-in.  L and D overwrite nothing: SX is immutable.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from ...compiler.ir.labels import Section, labelled
from ...robot import Robot
from ...spatial import Inertia, ca, cross, skew, sx, zeros
from ...types import Expression, Jet, Scalar, Vector
from ..drivetrain.friction import link_friction
from ..links import link_dynamics
from ..loads import Base, Wrenches
from .bodies import Body, Rotor, moving_bodies, rigid_motor_inertia, tied_rotors
from .definiteness import check_inertia
from .kinematics import joint_pose, poses
from .sweeps import marks

FEW_JOINTS = 16  # up to here both ways of an algorithm are traced and counted; beyond, the one linear in N is cheaper

COMPOSITE = "inertia of link # and all that it carries, and load for a unit acceleration of joint #"  # in exported C

Result = TypeVar("Result")
Rows = list[dict[int, Scalar]]  # M[i][j] for joint i and j among its ancestors and itself; the rest is zero


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
        labelled(Section("inward sweep", i, body.coordinate, COMPOSITE), marks(inertia) | dict(zip("nf", forces[i])))
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
    """The mass matrix by rows, M + S_r + S_rᵀ + B_r with the motors rigidly coupled to it, and the tree of joints.

    A motor carried by another branch than the one it drives couples joints of both: the tree becomes a single chain.
    `frozen` as in `bodies`; a `tree` takes the place of the robot's own bodies.
    """
    tree = moving_bodies(robot, frozen) if tree is None else tree
    M = composite_rigid_body(tree, q)
    parents = [body.parent for body in tree]
    B = rigid_motor_inertia(robot)
    for i in range(robot.n):
        M[i][i] = M[i][i] + B[i]
    couplings = [(i, rotor.coordinate, s) for rotor in tied_rotors(robot) for i, s in coupling(tree, q, rotor).items()]
    if any(min(i, j) not in M[max(i, j)] for i, j, _ in couplings):
        M = [{j: row.get(j, zeros(1)) for j in range(i + 1)} for i, row in enumerate(M)]
        parents = list(range(-1, robot.n - 1))
    for i, j, s in couplings:
        M[max(i, j)][min(i, j)] = M[max(i, j)][min(i, j)] + (2 * s if i == j else s)
    return M, parents


def coupling(tree: list[Body], q: Expression, rotor: Rotor) -> dict[int, Scalar]:
    """A column of S: {i: S_ij} for the turning joints i that move the rotor's carrier  [Hoepler (29)].

    The momentum of a unit θ' is walked from the carrier towards the base, so that S_ij holds no other joints than those
    between i and the carrier  [Hoepler (31)].
    """
    column = {}
    momentum = rotor.momentum * rotor.axis
    if rotor.body >= 0:
        for i in [rotor.body, *ancestors(rotor.body, [body.parent for body in tree])]:
            if tree[i].screw.turns:
                column[i] = tree[i].screw.turn * momentum[2]
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
    b = tau - (n[0] + link_friction(robot, [v], 0)[0])
    return solve(factorize(M, parents), parents, b)
