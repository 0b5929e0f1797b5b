"""The mass matrix by the composite-rigid-body algorithm, its factorization, and forward dynamics with both.

Composite bodies follow Walker and Orin's Method 3 as in [Featherstone ch. 6]; M = LᵀDL [Featherstone ch. 6.5]
eliminates leaves first, which on a tree creates no fill-in.  L and D overwrite nothing: SX is immutable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..api import algorithm
from ..drives import RigidDrive
from ..errors import RobotError
from ..robot import Robot
from ..spatial import ca, cross, identity, skew, sx, unit_z, zeros
from .bodies import Body, moving_bodies
from .kinematics import joint_pose
from .newton_euler import bias_torque


class Factors(NamedTuple):
    """M = LᵀDL: `L[k][i]` for i among the ancestors of k (unit diagonal left out), `D[k]`."""

    L: list[dict[int, Any]]
    D: list[Any]


def rigid_motor_inertia(robot: Robot) -> Any:
    """B of the motors that turn with their links, zero for the others."""
    return sx([j.drive.motor.inertia if isinstance(j.drive, RigidDrive) else 0.0 for j in robot.joints])


def composite_rigid_body(tree: list[Body], q: Any) -> list[dict[int, Any]]:
    """`M[i][j]` for joint i and each j among its ancestors and itself; all other elements are zero.

    A unit acceleration of joint i moves its whole subtree as one composite body: A = S(z) or a = z.  The force
    that needs, carried towards the base, shows at every joint on the way.
    """
    composite = [body.inertia for body in tree]
    placed = [joint_pose(body, q) for body in tree]
    M: list[dict[int, Any]] = [{} for _ in tree]
    for i in range(len(tree) - 1, -1, -1):
        body, inertia = tree[i], composite[i]
        if body.kind == "revolute":
            A, a = skew(unit_z()), zeros(3)
            seen = inertia.turned(q[body.coordinate]).seen_from(body.R, body.p)
        else:
            A, a = zeros(3, 3), unit_z()
            seen = inertia.seen_from(identity(), q[body.coordinate] * unit_z()).seen_from(body.R, body.p)
        if body.parent >= 0:
            composite[body.parent] = composite[body.parent] + seen
        f, n = inertia.force(A, a), inertia.moment(A, zeros(3, 3), a)
        j = i
        while True:
            M[i][j] = (n if tree[j].kind == "revolute" else f)[2]
            if tree[j].parent < 0:
                break
            R, p = placed[j]
            f = R @ f
            n = R @ n + cross(p, f)
            j = tree[j].parent
    return M


def link_mass_matrix(robot: Robot, q: Any) -> tuple[list[dict[int, Any]], list[int]]:
    """The mass matrix by rows, with rigidly coupled motors on its diagonal, and the tree of joints."""
    tree = moving_bodies(robot)
    M = composite_rigid_body(tree, q)
    B = rigid_motor_inertia(robot)
    for i in range(robot.n):
        M[i][i] = M[i][i] + B[i]
    return M, [body.parent for body in tree]


def factorize(M: Sequence[dict[int, Any]], parents: Sequence[int]) -> Factors:
    """M = LᵀDL, leaves first: row k is eliminated from the rows of its ancestors  [Featherstone table 6.3]."""
    M = [dict(row) for row in M]
    L: list[dict[int, Any]] = [{} for _ in M]
    for k in range(len(M) - 1, -1, -1):
        path = ancestors(k, parents)
        for i in path:
            L[k][i] = M[k][i] / M[k][k]
        for i in path:
            for j in [i, *ancestors(i, parents)]:
                M[i][j] = M[i][j] - L[k][i] * M[k][j]
    return Factors(L, [M[k][k] for k in range(len(M))])


def solve(factors: Factors, parents: Sequence[int], b: Any) -> Any:
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


def check_inertia(robot: Robot, D: Sequence[Any]) -> None:
    for joint, d in zip(robot.joints, D):
        if ca.SX(d).is_zero():
            raise RobotError(
                f"{robot.name}: joint '{joint.name}' moves no inertia, so no torque determines its acceleration; "
                "give its link a mass off the axis or its drive a motor"
            )


@algorithm("mass_matrix")
def mass_matrix(robot: Robot, q):
    """M(q): of the links, with the motors of rigid drives on the diagonal  [EJNEA (1), (46)]."""
    M, _ = link_mass_matrix(robot, q)
    full = zeros(robot.n, robot.n)
    for i, row in enumerate(M):
        for j, value in row.items():
            full[i, j] = full[j, i] = value
    return full


def by_factorization(robot: Robot, q: Any, v: Any, tau: Any, wrenches: Any = None, base: Any = None) -> Any:
    """q'' = M⁻¹(τ − n): composite bodies and one factorization, O(N³) but cheap for few joints."""
    M, parents = link_mass_matrix(robot, q)
    check_inertia(robot, [M[i][i] for i in range(robot.n)])
    b = tau - bias_torque.function(robot, q, v, wrenches=wrenches, base=base)
    return solve(factorize(M, parents), parents, b)
