"""The sixteen recursions NE*_{i1 i2 i3 i4} with two velocities, and which of them have Ṁ = C + Cᵀ  [DeLuca sec. IV].

A two-velocity recursion is a Newton-Euler recursion in which one factor of each velocity product is q' and the other
an auxiliary velocity v_a, so that it computes C(q, q') v_a.  The indices choose the factor that takes v_a: i1 in
q' ω × z, i2 in ω × (ω × r) from O_{i-1} to O_i, i3 from O_i to the centre of mass B_i, i4 in ω × Iω.  Only 0001 and
1110 have a C with Ṁ = C + Cᵀ; `dynamics/recursion/coriolis.py` has both in a shorter form.

The recursion is the printed one, link by link: as in Denavit and Hartenberg's convention O_{i-1} lies on the axis of
joint i and O_i, fixed on link i, on that of joint i + 1; B_i is reached through O_i; ten vector products per link.
Prismatic joints, trees and links on fixed joints are added: a joint that slides adds d'' z + d' ω_a × z + d_a' ω × z to
the acceleration of O_i and its stroke to r, and of a link with several children O_i is the joint of the first, or its
first fixed frame; without either it is O_{i-1}.

The property is checked element by element and without rounding, by (22) to (24).  The model is general: masses, centres
of mass, inertias and offsets are arbitrary, and before each moving joint except the first stands a joint that is held
at an arbitrary angle, the twist of the axes.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from flexjoint.dynamics.recursion.bodies import Body, carried, frames, lump_fixed
from flexjoint.dynamics.recursion.kinematics import along_joints, joint_pose
from flexjoint.robot import BASE, Joint, JointKind, Link, Robot
from flexjoint.robot.joints.fixed import Fixed
from flexjoint.robot.joints.prismatic import Prismatic
from flexjoint.robot.joints.revolute import Revolute
from flexjoint.spatial import ca, cross, identity, rotation_x, rotation_y, sx, time_derivative, zeros
from flexjoint.types import Expression, FloatArray, Matrix, Vector

from .exact_arithmetic import Angle, Residue, exactly, random_residues

VARIANTS = tuple("".join(bits) for bits in product("01", repeat=4))
KINDS: dict[str, JointKind] = {kind.letter: kind for kind in (Revolute(), Prismatic())}


class LinkMotion(NamedTuple):
    """Motion of link i under two velocities, in its own frame.

    Args:
        R: Orientation in the parent's frame.
        w: ω_i.
        w_a: ω_a,i.
        alpha: ω_i'.
        start: Acceleration of O_{i-1}, with that of the joint's stroke.
        stroke: Of a sliding joint, from O_{i-1} on.
        end: Acceleration of O_i.
        r: O_i − O_{i-1}.
    """

    R: Matrix
    w: Vector
    w_a: Vector
    alpha: Vector
    start: Vector
    stroke: Vector
    end: Vector
    r: Vector


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
    tree, ends = lump_fixed(robot), link_ends(robot)
    pull = zeros(3) if gravity is None else -sx(gravity)

    def accelerated(start: Vector, x: LinkMotion, r: Vector, swapped: bool) -> Vector:
        """Acceleration of the point r from one with the acceleration `start`  [DeLuca (LAR'*), (LAR*)]."""
        outer, inner = (x.w_a, x.w) if swapped else (x.w, x.w_a)
        return start + cross(x.alpha, r) + cross(outer, cross(inner, r))

    motions: list[LinkMotion] = []
    for body, end in zip(tree, ends):
        R, _ = joint_pose(body, q)
        w, w_a, alpha, start = (R.T @ x for x in carrier_motion(body, motions, pull, accelerated, i2))
        v_i, v_ai, a_i = (x[body.coordinate] for x in (v, v_a, a))
        linear, angular = body.screw.axes
        if body.screw.slides:
            start = start + a_i * linear + v_i * cross(w_a, linear) + v_ai * cross(w, linear)
        if body.screw.turns:
            alpha = alpha + a_i * angular + (v_ai * cross(w, angular) if i1 else v_i * cross(w_a, angular))  # (AAR')
            w, w_a = w + v_i * angular, w_a + v_ai * angular  # (AVR), (AVR*)
        stroke = body.screw.translation(q[body.coordinate]) if body.screw.slides else zeros(3)
        x = LinkMotion(R, w, w_a, alpha, start, stroke, start, stroke + end)
        motions.append(x._replace(end=accelerated(start, x, x.r, i2)))  # (LAR'*)

    f, tau = [zeros(3)] * len(tree), [zeros(3)] * len(tree)
    for i in range(len(tree) - 1, -1, -1):
        x, (m, h, Sigma) = motions[i], tree[i].inertia
        c = h if m.is_zero() else h / m
        Sigma_c = Sigma - h @ c.T
        I = ca.trace(Sigma_c) * identity() - Sigma_c
        r_B = c + x.stroke - x.r  # B_i − O_i
        f[i] = f[i] + m * accelerated(x.end, x, r_B, i3)  # (LAR*), (FR)
        gyroscopic = cross(x.w_a, I @ x.w) if i4 else cross(x.w, I @ x.w_a)
        tau[i] = tau[i] - cross(f[i], x.r + r_B) + I @ x.alpha + gyroscopic  # (TR*), with the terms of link i + 1 below
        if (up := tree[i].parent) >= 0:
            parent = tree[up].inertia
            B = parent.h if parent.m.is_zero() else parent.h / parent.m
            carried_f = x.R @ f[i]
            f[up] = f[up] + carried_f
            tau[up] = tau[up] + x.R @ tau[i] + cross(carried_f, B - tree[i].p)
    return along_joints(tree, list(zip(f, tau)))  # (FP)


def by_sweeps(robot: Robot, q: Expression, v: Expression, variant: str = "0001") -> Expression:
    """C*, one recursion per column  [DeLuca (19), (24)]."""
    unit, still = ca.SX.eye(robot.n), ca.SX.zeros(robot.n)
    columns = [modified_recursion(robot, q, v, unit[:, j], still, variant=variant) for j in range(robot.n)]
    return ca.horzcat(*columns)


def carrier_motion(
    body: Body, motions: list[LinkMotion], pull: Vector, accelerated: Any, i2: bool
) -> tuple[Vector, Vector, Vector, Vector]:
    """ω, ω_a, ω' of the link that carries a body, and the acceleration of the body's joint, O_i of a chain."""
    if body.parent < 0:
        return zeros(3), zeros(3), zeros(3), pull
    up = motions[body.parent]
    r = up.stroke + body.p
    at = up.end if (r - up.r).is_zero() else accelerated(up.start, up, r, i2)
    return up.w, up.w_a, up.alpha, at


def link_ends(robot: Robot) -> list[Vector]:
    """O_i of each moving body: where the first link on it is mounted, else its own origin."""
    place = frames(robot)
    ends: dict[int, Vector] = {}
    for link, parent in zip(robot.links, robot.parents):
        if parent >= 0 and place[parent].body >= 0:
            mount = carried(place[parent], sx(link.joint.rotation), sx(link.joint.position))
            ends.setdefault(mount.body, mount.p)
    return [ends.get(i, zeros(3)) for i in range(robot.n)]


# Which of them have Ṁ = C + Cᵀ ----------------------------------------------------------------------------------------


def dyadic(rng: np.random.Generator, *shape: int) -> FloatArray:
    """Random multiples of 1/64 between −1 and 1, none of them 0, so that products of a few of them are exact."""
    return rng.integers(1, 65, size=shape) * rng.choice([-1, 1], size=shape) / 64


def general_robot(kinds: str) -> Robot:
    """A robot with joints R and P, each except the first behind a massless link whose joint is held; () is a branch.

    O_i is the common origin of the held joint and the joint behind it, at the tips that of a fixed frame.
    """
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
        joint = Joint(f"joint{i}", KINDS[kind], rotation=rotation_y(quarter))
        off = dyadic(rng, 3, 3)
        inertia = np.diag(rng.integers(6, 9, size=3)) + (off + off.T) / 2
        carrier = links[-1].name if links else BASE
        links.append(Link(f"link{i}", joint, carrier, float(2 ** rng.integers(0, 3)), dyadic(rng, 3), inertia))
        tip = f"link{i}"
    carriers = {link.parent for link in links}
    for tip in [link.name for link in links if link.name not in carriers]:
        links.append(Link(f"end_of_{tip}", Joint(f"mount_on_{tip}", Fixed(), dyadic(rng, 3)), tip))
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
