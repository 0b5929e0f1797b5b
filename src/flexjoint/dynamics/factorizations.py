"""All factorizations C(q, v) v = c(q, v) with Ṁ − 2C skew that are linear in v: Christoffel's, plus any A(ω, v).

    C = C_christoffel + A,   A_ij = Σ_k ω_ijk v_k,   ω totally antisymmetric

The difference A of two such matrices is skew, since both have C + Cᵀ = Ṁ: ω_ijk = −ω_jik; and A v = 0 for every v,
since both have C v = c: ω_ijk = −ω_ikj.  Conversely every such ω may be added.  It has n(n − 1)(n − 2)/6 free numbers
at every q, one per triple of joints: with one or two joints Christoffel's C is the only one.

The two recursions of [DeLuca] are ω and −ω of one physical tensor.  With the unit axes z of the turning joints and the
second moment Σ_c about the centre of mass of each body that all three joints move,

    ω_ijk = ± Σ tr(Σ_c) z_i·(z_j × z_k),    + for 0001, − for 1110.
"""

from __future__ import annotations

from itertools import combinations
from math import comb

from ..algorithm.algorithm import algorithm
from ..robot import Robot
from ..spatial import ca, cross, zeros
from ..types import Expression
from .coriolis import coriolis_matrix
from .recursion.bodies import lump_fixed
from .recursion.composite_bodies import ancestors
from .recursion.coriolis_columns import gyration
from .recursion.kinematics import poses


@algorithm("coriolis_matrix")
def coriolis_factorization(robot: Robot, q: Expression, v: Expression, omega: Expression) -> Expression:
    """C_christoffel(q, v) + A(ω, v): every C with C v = c and Ṁ = C + Cᵀ has this form  [DeLuca (2)-(4), sec. VI].

    Args:
        q, v: Position and velocity of the links, (..., n).
        omega: ω_ijk of the triples i < j < k of joints in the order of `itertools.combinations(range(n), 3)`,
            (..., n(n − 1)(n − 2)/6).  Zeros give Christoffel's C, `factorization_parameters` the paper's two.

    Returns:
        C, (..., n, n), kg m²/s or kg/s.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> robot = fj.load("dlr_lwr3")
        >>> q, v = np.full((2, 7), 0.3)
        >>> C = fj.dynamics.coriolis_factorization(robot, q, v, np.linspace(-1.0, 1.0, 35))
        >>> np.allclose(C @ v, fj.coriolis_torque(robot, q, v)), np.allclose(C + C.T, fj.mass_matrix_rate(robot, q, v))
        (True, True)
    """
    return coriolis_matrix.function(robot, q, v) + antisymmetric_part(omega, v)


def antisymmetric_part(omega: Expression, v: Expression) -> Expression:
    """A with A_ij = Σ_k ω_ijk v_k, from the triples i < j < k of ω."""
    n = v.shape[0]
    A = zeros(n, n)
    for place, triple in enumerate(combinations(range(n), 3)):
        for turn in range(3):  # ω_ijk = ω_jki = ω_kij
            i, j, k = (triple[(turn + x) % 3] for x in range(3))
            A[i, j] += omega[place] * v[k]
            A[j, i] -= omega[place] * v[k]
    return A


@algorithm("omega")
def factorization_parameters(robot: Robot, q: Expression, *, variant: str = "0001") -> Expression:
    """ω of the paper's two recursions, for `coriolis_factorization`: ω_ijk = ± Σ tr(Σ_c) z_i·(z_j × z_k).

    It is zero, and all three matrices are equal, where no body turns about three independent axes.

    Args:
        q: Position of the links, (..., n).
        variant: "0001" (default), "1110", or "christoffel", whose ω is zero.

    Returns:
        ω, (..., n(n − 1)(n − 2)/6), kg m²; zero for triples with a sliding joint or on different branches.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> fj.dynamics.factorization_parameters(fj.load("dlr_lwr3"), np.zeros(7)).shape
        (35,)
    """
    tree = lump_fixed(robot)
    parents = [body.parent for body in tree]
    carried = [-x for x in gyration(robot, variant)]  # of body k and all that joint k moves
    for k in range(len(tree) - 1, -1, -1):
        if parents[k] >= 0:
            carried[parents[k]] = carried[parents[k]] + carried[k]
    axes = [pose.rotation @ body.screw.axes[1] for pose, body in zip(poses(tree, q), tree)]
    at = [-1 if body.coordinate is None else body.coordinate for body in tree]
    places = {triple: place for place, triple in enumerate(combinations(range(robot.n), 3))}
    found = zeros(comb(robot.n, 3))
    for i, j, k in combinations(range(len(tree)), 3):
        if {i, j} <= set(ancestors(k, parents)) and i in ancestors(j, parents):
            triple, sign = sorted_triple(at[i], at[j], at[k])
            if sign:
                value = carried[k] * ca.dot(axes[i], cross(axes[j], axes[k]))
                found[places[triple]] += value if sign > 0 else -value
    return found


def sorted_triple(i: int, j: int, k: int) -> tuple[tuple[int, int, int], int]:
    """Three coordinates in ascending order, and the sign of the permutation; 0 if two of them are the same."""
    first, second, third = sorted((i, j, k))
    sign = (j > i) - (j < i), (k > j) - (k < j), (k > i) - (k < i)
    return (first, second, third), sign[0] * sign[1] * sign[2]
