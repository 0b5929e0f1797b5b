"""Torques as linear functions of the bodies' parameters: M a + C(q, v) v_a + g = Y(q, v, v_a, a) π.

C is Christoffel's; with v_a = v this is the regressor of inverse dynamics.  A link has ten standard parameters, in
the order of `STANDARD` and about its own frame.  The base parameters are found in three steps:

    `bodies.regroup` leaves seven of a turning link and four of a sliding one  [Gautier];
    with no turning joint between them and the base, or parallel axes alone, a turning link keeps h_x, h_y and
    I_zz = Σ_xx + Σ_yy, and with none a sliding one its mass; columns that are zero, for want of motion or of gravity,
    are left out;
    of the columns that are left, those that depend on others before them in random states are left out, and their
    parameters added to those of the others.  Parallel axes, gravity along an axis and a sliding link that turns about
    one axis alone make such columns.  A name is that of the parameter that leads a sum.

Friction and motors are not among the parameters: NE* = Y π + D v_a + B a.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ...algorithm.algorithm import algorithm
from ...algorithm.signals import SIZES
from ...errors import InputError
from ...numerics import column_basis, evaluate, product
from ...robot import Joint, Link, Robot, a_robot, numeric
from ...spatial import Inertia, ca, cross, is_symbolic, is_zero, sx, symmetric, zeros
from ...types import Expression, FloatArray, Scalar, Vector
from .bodies import Body, bodies, inertia_on, link_frames, lump_fixed, regroup
from .coriolis import TwoMotions, inertial_load, two_motions
from .kinematics import joint_pose, velocities

STANDARD = ("m", "h_x", "h_y", "h_z", "I_xx", "I_xy", "I_yy", "I_xz", "I_yz", "I_zz")
BASE: dict[str, Callable[[Inertia], Scalar]] = {
    "m": lambda x: x.m,
    "h_x": lambda x: x.h[0],
    "h_y": lambda x: x.h[1],
    "h_z": lambda x: x.h[2],
    "Sigma_xx": lambda x: x.Sigma[0, 0],
    "Sigma_xy": lambda x: x.Sigma[0, 1],
    "Sigma_xz": lambda x: x.Sigma[0, 2],
    "Sigma_yy": lambda x: x.Sigma[1, 1],
    "Sigma_yz": lambda x: x.Sigma[1, 2],
    "I_zz": lambda x: x.Sigma[0, 0] + x.Sigma[1, 1],
}
ROBOTS_KEPT = 64
INDEPENDENT = 1e-7  # what of a unit column lies outside the span of others: 1e-16, or on the robots tried 0.1 and more


def inertia_from_standard(p: Sequence[Scalar]) -> Inertia:
    """Of a link with these ten parameters; I is taken about the link's frame, Σ = ½ tr(I) 1 − I."""
    m, x, y, z, xx, xy, yy, xz, yz, zz = p
    half = (xx + yy + zz) / 2
    return Inertia(sx(m), ca.vertcat(x, y, z), symmetric(half - xx, -xy, -xz, half - yy, -yz, half - zz))


def inertia_from_base(p: Sequence[Scalar]) -> Inertia:
    """Of a body with these values of `BASE`; I_zz is laid in Σ_xx."""
    m, x, y, z, xx, xy, xz, yy, yz, zz = p
    return Inertia(sx(m), ca.vertcat(x, y, z), symmetric(xx + zz, xy, xz, yy, yz, 0))


def units(inertia_from: Callable[[Sequence[Scalar]], Inertia]) -> list[Inertia]:
    """For each of ten parameters the inertia that has it alone, with the value one."""
    return [inertia_from(row) for row in np.eye(10).tolist()]


def standard_parameters(robot: Robot) -> FloatArray:
    """Standard parameters π of all links, fixed ones included: the ten of `STANDARD` per link, about its frame.

    Args:
        robot: A Robot; its links are taken with their rotors.

    Returns:
        Array (10 links,), kg, kg m and kg m².
    """
    found = []
    for body, frame in zip(bodies(numeric("standard_parameters", robot)), link_frames(robot)):
        about_link = inertia_on(frame._replace(R=frame.R.T), body.inertia)
        m, h, Sigma = (np.array(ca.DM(x)) for x in about_link)
        I = np.trace(Sigma) * np.eye(3) - Sigma
        found.append([m[0, 0], *h[:, 0], I[0, 0], I[0, 1], I[1, 1], I[0, 2], I[1, 2], I[2, 2]])
    return np.concatenate(found)


# Columns ------------------------------------------------------------------------------------------------------------


def body_jacobians(tree: list[Body], q: Expression) -> list[dict[int, tuple[Vector, Vector]]]:
    """Per body and coordinate: (velocity of the origin, angular velocity) at a unit rate, in the body's frame."""
    found: list[dict[int, tuple[Vector, Vector]]] = []
    for body in tree:
        R, p = joint_pose(body, q)
        above = found[body.parent] if body.parent >= 0 else {}
        moved = {i: (R.T @ (v + cross(w, p)), R.T @ w) for i, (v, w) in above.items()}
        if body.coordinate is not None:
            v, w = body.screw.axes
            if body.coordinate in moved:  # a follower behind its leader
                v, w = v + moved[body.coordinate][0], w + moved[body.coordinate][1]
            moved[body.coordinate] = v, w
        found.append(moved)
    return found


def column(n: int, unit: Inertia, motion: TwoMotions, J: dict[int, tuple[Vector, Vector]]) -> Expression:
    """Joint torques that accelerate a body of the given inertia."""
    f, moment = inertial_load(unit, motion)
    found = zeros(n)
    for i, (v, w) in J.items():
        found[i] = ca.dot(v, f) + ca.dot(w, moment)
    return found


def columns(
    tree: list[Body],
    parts: list[tuple[int, Inertia]],
    q: Expression,
    v: Expression,
    v_a: Expression,
    a: Expression,
    gravity: Vector,
) -> Expression:
    """One column for each part (body, inertia)."""
    motions, J = two_motions(tree, q, v, v_a, a, gravity), body_jacobians(tree, q)
    return ca.horzcat(*[column(q.shape[0], unit, motions[k], J[k]) for k, unit in parts])


# Base parameters ----------------------------------------------------------------------------------------------------


class Part(NamedTuple):
    """A base parameter: of which body, and the inertia that has it alone."""

    body: int
    name: str
    unit: Inertia


@dataclass(frozen=True, eq=False)
class BaseParameters:
    """Names of the base parameters, and the matrix that gives them: matrix @ standard_parameters(robot).

    Attributes:
        names: A name per base parameter, that of the parameter that leads a sum.
        matrix: (base parameters, 10 links).
    """

    names: tuple[str, ...]
    matrix: FloatArray

    def of(self, robot: Robot) -> FloatArray:
        """Values of the base parameters of a robot with these joints; its bodies may be others."""
        return product(self.matrix, standard_parameters(robot))


class Basis(NamedTuple):
    """Which of the parameters that structure leaves are kept, and the share of the others in them."""

    kept: tuple[Part, ...]
    others: tuple[Part, ...]
    share: FloatArray  # (kept, others)


def basis(robot: Robot) -> Basis:
    """The basis of a robot; it depends only on the joints and on gravity."""
    followers = [number for x in robot.followers for number in (x.ratio, x.offset)]
    if any(map(is_symbolic, [robot.gravity, *followers, *(link.joint.position for link in robot.links)])):
        raise InputError(
            f"{robot.name}: gravity and the positions of joints decide which base parameters there are, and so do "
            "ratios and offsets of followers: they cannot be free where those are used"
        )
    joints = [
        Joint(j.name, j.kind, j.position, j.rotation, axis=j.axis, mimic=j.mimic)
        for j in (link.joint for link in robot.links)
    ]
    links = [Link(link.name, joint, link.parent) for link, joint in zip(robot.links, joints)]
    return basis_of_joints(Robot("joints", tuple(links), robot.gravity))


@lru_cache(ROBOTS_KEPT)
def basis_of_joints(robot: Robot) -> Basis:
    tree = lump_fixed(robot)
    unit = dict(zip(BASE, units(inertia_from_base)))
    parts = [Part(i, name, unit[name]) for i, kept in enumerate(kept_names(tree)) for name in kept]
    q, v, v_a, a = (ca.SX.sym(name, robot.n) for name in ("q", "v", "v_a", "a"))
    Y = ca.sparsify(columns(tree, [(x.body, x.unit) for x in parts], q, v, v_a, a, sx(robot.gravity)))
    seen = [k for k in range(len(parts)) if Y[:, k].nnz()]
    free, share = independent(sampled(Y[:, seen], len(seen) + 10))
    kept = [seen[k] for k in free]
    others = [k for k in seen if k not in kept]
    return Basis(tuple(parts[k] for k in kept), tuple(parts[k] for k in others), share)


def sampled(Y: Expression, count: int) -> FloatArray:
    """Y in random states, stacked; all inputs lie between −2 and 2."""
    symbols = ca.symvar(Y)
    states = np.random.default_rng(0).uniform(-2.0, 2.0, size=(count, len(symbols)))
    found = evaluate([ca.vertcat(*symbols)], [states], [Y])[0]
    return found.reshape(-1, found.shape[-1])


def independent(Y: FloatArray) -> tuple[list[int], FloatArray]:
    """Columns outside the span of those before them, by orthogonalisation  [Gautier], and the shares X with
    Y[:, kept] X = Y[:, others]."""
    length = np.sqrt(np.sum(Y * Y, axis=0))
    length = np.where(length > INDEPENDENT * np.max(length, initial=0.0), length, np.inf)  # gravity along a tilted axis
    kept, others, X = column_basis(Y / length, INDEPENDENT)
    X[np.abs(X) < INDEPENDENT] = 0.0
    X[X != 0.0] *= (length[others] / length[kept][:, None])[X != 0.0]
    return kept, X


def base_parts(robot: Robot) -> tuple[Part, ...]:
    """The base parameters of a robot."""
    return basis(robot).kept


def kept_names(tree: list[Body]) -> list[tuple[str, ...]]:
    """What each body keeps in `regroup`; less if it does not rotate, or only about the axis of its own joint."""
    some = Inertia(ca.SX.sym("m"), ca.SX.sym("h", 3), ca.SX.sym("Sigma", 3, 3))
    rates = ca.SX.sym("v", len(tree))
    found: list[tuple[str, ...]] = []
    for body, motion in zip(tree, velocities(tree, ca.SX.sym("q", len(tree)), rates)):
        kept, omega = body.screw.split(some)[0], ca.sparsify(motion.omega)
        names = tuple(name for name, value in BASE.items() if name != "I_zz" and not is_zero(value(kept)))
        if not omega.nnz():
            names = tuple(name for name in names if name == "m")
        elif body.screw.turns and not omega[:2].nnz():
            names = (*(name for name in names if name in ("m", "h_x", "h_y")), "I_zz")
        found.append(names)
    return found


@lru_cache(ROBOTS_KEPT)
def base_parameters(robot: Robot) -> BaseParameters:
    """The base parameters of a robot: the minimal set of numbers that determines its joint torques.

    Example:
        >>> import flexjoint as fj
        >>> len(fj.base_parameters(fj.load("kuka_lwr")).names) > 0
        True

    Args:
        robot: A Robot; the names depend on its joints and on gravity only.

    Returns:
        BaseParameters(names, matrix); `matrix @ standard_parameters(robot)` are the values.

    Raises:
        InputError: If gravity or a joint position is a free parameter.
    """
    pi = ca.SX.sym("pi", 10, len(a_robot("base_parameters", robot).links))
    links = [
        body._replace(inertia=inertia_on(frame, inertia_from_standard(ca.vertsplit(pi[:, k]))))
        for k, (body, frame) in enumerate(zip(bodies(robot), link_frames(robot)))
    ]
    left = regroup(lump_fixed(robot, links))
    kept, others, share = basis(robot)

    def matrix_of(parts: tuple[Part, ...]) -> FloatArray:
        values = ca.vertcat(zeros(0), *[BASE[part.name](left[part.body].inertia) for part in parts])
        return np.array(ca.DM(ca.jacobian(values, ca.vec(pi)))).reshape(len(parts), pi.numel())

    matrix = matrix_of(kept) + (product(share, matrix_of(others)) if others else 0.0)
    matrix.flags.writeable = False
    return BaseParameters(tuple(f"{robot.moving_joints[part.body].joint.name}.{part.name}" for part in kept), matrix)


def estimated_bodies(robot: Robot, estimate: Expression) -> list[Body]:
    """The moving bodies, with inertias from values of the base parameters."""
    tree = lump_fixed(robot)
    nothing = Inertia(sx(0.0), zeros(3), zeros(3, 3))
    inertias = [nothing] * len(tree)
    for k, part in enumerate(base_parts(robot)):
        inertias[part.body] = inertias[part.body] + Inertia(*(estimate[k] * x for x in part.unit))
    return [body._replace(inertia=inertia) for body, inertia in zip(tree, inertias)]


def parameter_powers(robot: Robot, motions: Sequence[TwoMotions], q: Expression, s: Expression) -> Expression:
    """Yᵀs without Y: the power of each base parameter's load at the velocity s."""
    moving = velocities(lump_fixed(robot), q, s)
    powers = []
    for part in base_parts(robot):
        f, n = inertial_load(part.unit, motions[part.body])
        powers.append(ca.dot(f, moving[part.body].v) + ca.dot(n, moving[part.body].omega))
    return ca.vertcat(*powers)


SIZES["parameters"] = lambda robot: 10 * len(robot.links)
SIZES["base parameters"] = lambda robot: len(base_parts(robot))


# Public functions ---------------------------------------------------------------------------------------------------


@algorithm("regressor")
def regressor(robot: Robot, q: Expression, v: Expression, v_a: Expression, a: Expression) -> Expression:
    """Regressor of the standard parameters: Y π = M a + C(q, v) v_a + g of the links, without friction and motors.

    Args:
        q, v, v_a, a: Positions, two velocities and accelerations of the joints, (..., n).

    Returns:
        Y, (..., n, 10 links), for the π of `standard_parameters`.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> fj.regressor(fj.load("hua_3r"), *np.zeros((4, 3))).shape
        (3, 40)
    """
    tree = bodies(robot)
    standard = units(inertia_from_standard)
    parts = [(k, inertia_on(frame, unit)) for k, frame in enumerate(link_frames(robot)) for unit in standard]
    return columns(tree, parts, q, v, v_a, a, sx(robot.gravity))


@algorithm("base_regressor")
def base_regressor(robot: Robot, q: Expression, v: Expression, v_a: Expression, a: Expression) -> Expression:
    """Regressor of the base parameters: Y π = M a + C(q, v) v_a + g of the links, without friction and motors.

    Args:
        q, v, v_a, a: Positions, two velocities and accelerations of the joints, (..., n).

    Returns:
        Y, (..., n, base parameters), for the π of `base_parameters`.

    Example:
        >>> import flexjoint as fj, numpy as np
        >>> fj.base_regressor(fj.load("hua_3r"), *np.zeros((4, 3))).shape[0]
        3
    """
    parts = [(part.body, part.unit) for part in base_parts(robot)]
    return columns(lump_fixed(robot), parts, q, v, v_a, a, sx(robot.gravity))
