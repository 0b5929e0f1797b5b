"""The sixteen recursions NE*_{i1 i2 i3 i4} with two velocities, and which of them have Ṁ = C + Cᵀ  [DeLuca sec. IV].

A two-velocity recursion is a Newton-Euler recursion in which one factor of each velocity product is q' and the other
an auxiliary velocity v_a, so that it computes C(q, q') v_a.  The indices choose the factor that takes v_a: i1 in
q' ω × z, i2 and i3 in ω × (ω × r) from joint to joint and to the centre of mass, i4 in ω × Iω.  Only 0001 and 1110 have
a C with Ṁ = C + Cᵀ; `dynamics/recursion/coriolis.py` has both in a shorter form.  Here frames lie on the joint axes, as
in the paper; prismatic joints, trees and links on fixed joints are added.

The property is checked element by element and without rounding, by (22) to (24).  The model is general: masses, centres
of mass, inertias and offsets are arbitrary, and before each moving joint except the first stands a joint that is held
at an arbitrary angle, the twist of the axes.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ..dynamics.recursion.bodies import lump_fixed
from ..dynamics.recursion.kinematics import along_joints, carried_loads, joint_pose
from ..robot import BASE, Joint, JointKind, Link, Robot
from ..robot.joints.prismatic import Prismatic
from ..robot.joints.revolute import Revolute
from ..spatial import ca, cross, identity, rotation_x, rotation_y, sx, time_derivative, zeros
from ..types import Expression, FloatArray, Vector
from .exact_arithmetic import Angle, Residue, exactly, random_residues

VARIANTS = tuple("".join(bits) for bits in product("01", repeat=4))
KINDS: dict[str, JointKind] = {kind.letter: kind for kind in (Revolute(), Prismatic())}


def modified_recursion(
    robot: Robot,
    q: Expression,
    v: Expression,
    v_a: Expression,
    a: Expression,
    *,
    variant: str,
    gravity: Vector | None = None,
) -> Expression:
    """NE*_variant(q, v, v_a, a) = M a + C(q, v) v_a of the links, (n, 1)  [DeLuca (16)].

    Args:
        robot: The robot.
        q: Positions.
        v: Velocities.
        v_a: Auxiliary velocities.
        a: Accelerations.
        variant: The indices i1 i2 i3 i4 as four digits 0 or 1.
        gravity: Acceleration of gravity, m/s²; default none.
    """
    i1, i2, i3, i4 = (digit == "1" for digit in variant)
    tree = lump_fixed(robot)
    base = (zeros(3), zeros(3), zeros(3), zeros(3) if gravity is None else -sx(gravity))
    motions: list[tuple[Any, Any, Any, Any]] = []
    loads = []
    for body in tree:
        w, w_a, alpha, origin = motions[body.parent] if body.parent >= 0 else base
        R, r = joint_pose(body, q)
        v_i, v_ai, a_i = (x[body.coordinate] for x in (v, v_a, a))
        origin = origin + cross(alpha, r) + centripetal(w, w_a, r, i2)  # (LAR'*)
        w, w_a, alpha, origin = (R.T @ x for x in (w, w_a, alpha, origin))
        linear, angular = body.screw.axes
        origin = origin + a_i * linear + v_i * cross(w_a, linear) + v_ai * cross(w, linear)
        alpha = alpha + a_i * angular + (v_ai * cross(w, angular) if i1 else v_i * cross(w_a, angular))  # (AAR')
        w, w_a = w + v_i * angular, w_a + v_ai * angular  # (AVR), (AVR*)
        motions.append((w, w_a, alpha, origin))
        m, h, Sigma = body.inertia
        c = h if m.is_zero() else h / m
        Sigma_c = Sigma - h @ c.T
        I = ca.trace(Sigma_c) * identity() - Sigma_c
        f = m * (origin + cross(alpha, c) + centripetal(w, w_a, c, i3))  # (LAR*), (FR)
        gyroscopic = cross(w_a, I @ w) if i4 else cross(w, I @ w_a)
        loads.append((f, cross(c, f) + I @ alpha + gyroscopic))  # (TR*)
    return along_joints(tree, carried_loads(tree, q, loads))  # (FP)


def centripetal(w: Vector, w_a: Vector, r: Vector, swapped: bool) -> Vector:
    """ω × (ω_a × r), or swapped ω_a × (ω × r)."""
    return cross(w_a, cross(w, r)) if swapped else cross(w, cross(w_a, r))


# Which of them have Ṁ = C + Cᵀ ----------------------------------------------------------------------------------------


def dyadic(rng: np.random.Generator, *shape: int) -> FloatArray:
    """Random multiples of 1/8, so that products of a few of them are exact."""
    return rng.integers(-8, 9, size=shape) / 8


def general_robot(kinds: str) -> Robot:
    """A robot with joints R and P, each except the first behind a massless link whose joint is held; () is a branch."""
    rng = np.random.default_rng(3)
    quarter = np.pi / 2
    links: list[Link] = []
    above: list[str] = []
    tip = BASE
    for i, kind in enumerate(kinds):
        if kind in "()":
            above, tip = ([*above, tip], tip) if kind == "(" else (above[:-1], above[-1])
            continue
        if links:
            twist = Joint(f"twist{i}", Revolute(), dyadic(rng, 3), rotation_x(quarter))
            links.append(Link(f"held{i}", twist, tip))
        joint = Joint(f"joint{i}", KINDS[kind], dyadic(rng, 3), rotation_y(quarter))
        off = dyadic(rng, 3, 3)
        inertia = np.diag(rng.integers(6, 9, size=3)) + (off + off.T) / 2
        carrier = links[-1].name if links else BASE
        links.append(Link(f"link{i}", joint, carrier, float(2 ** rng.integers(0, 3)), dyadic(rng, 3), inertia))
        tip = f"link{i}"
    return Robot(kinds, tuple(links), allow_unphysical=True)


class Rate(NamedTuple):
    """Ṁ of the moving joints by (23), which is the same for all variants.

    Args:
        robot: The robot.
        moving: The joints that are not held.
        q: Symbols of the positions.
        v: Symbols of the velocities.
        rate: Ṁ.
    """

    robot: Robot
    moving: list[int]
    q: Expression
    v: Expression
    rate: Expression


@cache
def inertia_rate(kinds: str) -> Rate:
    """Ṁ of a general robot with these joints."""
    robot = general_robot(kinds)
    moving = list(range(0, robot.n, 2))
    q, v, still = ca.SX.sym("q", robot.n), ca.SX.sym("v", robot.n), ca.SX.zeros(robot.n)
    unit = ca.SX.eye(robot.n)
    M = [modified_recursion(robot, q, still, still, unit[:, j], variant="0000")[moving] for j in moving]
    return Rate(robot, moving, q, v, time_derivative(ca.horzcat(*M), [q, v]))


def defects(kinds: str, variant: str) -> Any:
    """CasADi Function of (q, v): the matrix Ṁ − C − Cᵀ of (22), and the vector C v − c."""
    robot, moving, q, v, rate = inertia_rate(kinds)
    still, unit = ca.SX.zeros(robot.n), ca.SX.eye(robot.n)
    C = ca.horzcat(
        *[modified_recursion(robot, q, v, unit[:, j], still, variant=variant)[moving] for j in moving]
    )  # (24)
    c = modified_recursion(robot, q, v, v, still, variant=variant)[moving]
    return ca.Function("f", [q, v], [ca.densify(rate - C - C.T), ca.densify(C @ v[moving] - c)])


@cache
def nonzero(kinds: str, variant: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Masks of the elements of Ṁ − C − Cᵀ, (n, n), and C v − c, (n,), that are not zero in a random state."""
    robot, moving, *_ = inertia_rate(kinds)
    rng = np.random.default_rng(seed)
    q: list[Any] = random_residues(rng, robot.n)
    q = [Angle(x) if joint.kind.angular else x for x, joint in zip(q, robot.joints)]
    v = [x if i in moving else Residue(0) for i, x in enumerate(random_residues(rng, robot.n))]
    matrix, vector = exactly(defects(kinds, variant), q, v, number=Residue)
    return np.array([bool(x) for x in matrix]).reshape(2 * [len(moving)]), np.array([bool(x) for x in vector])


def skew_variants(kinds: str) -> set[str]:
    """Variants for which (22) holds in all elements."""
    return {variant for variant in VARIANTS if not nonzero(kinds, variant)[0].any()}
