"""Refuses robots whose mass matrix is singular, structurally or up to rounding.

A joint that moves no inertia gives a pivot of M = LᵀDL that is zero.  Where frames are turned by angles that are no
quarter turns, the zero is a sum of terms that cancel, such as −3e-18 kg m², and accelerations come out as 1e17 rad/s².
So each pivot is compared with the size of its terms.  It is done once per robot, while a kernel is traced.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ...errors import RobotError
from ...robot import Robot
from ...spatial import ca, is_zero
from ...types import Scalar
from .bodies import Body, bodies, lump_fixed

ROUNDING = 1e-12  # of the terms of a pivot: 100 random links leave 1e-8, sums that cancel 1e-16
PLACES = 3  # configurations looked at: at a single one even a good robot may be singular


def check_inertia(robot: Robot, D: Sequence[Scalar]) -> None:
    """Refuse a robot with a joint that moves no inertia: `D` are the diagonal elements or the pivots of M."""
    loose = [joint.name for joint, d in zip(robot.joints, D) if is_zero(d)]
    name = loose[0] if loose else loose_joint(robot)
    if name is not None:
        link = next(link for link in robot.links if link.joint.name == name)
        raise RobotError(
            f"{robot.name}: joint '{name}' moves no inertia, so no torque determines its acceleration; "
            f"give link '{link.name}' a mass off the axis or an inertia about it, or its drive a motor"
        )


@lru_cache(maxsize=256)
def loose_joint(robot: Robot) -> str | None:
    """The outermost joint whose pivot is rounding in every configuration tried; None if there is none.

    None as well if masses are free parameters, about which nothing is known yet.
    """
    from .composite_bodies import link_mass_matrix

    if not robot.n:
        return None
    q = ca.SX.sym("q", robot.n)
    M, parents = link_mass_matrix(robot, q, frozen=False)
    places = [(i, j) for i, row in enumerate(M) for j in row]
    entries = ca.vertcat(*[ca.densify(M[i][j]) for i, j in places])
    tree = lump_fixed(robot, bodies(robot, frozen=False))
    places_too = ca.vertcat(entries, *[body.p for body in tree])
    free = [x for x in ca.symvar(places_too) if x.element_hash() not in {y.element_hash() for y in ca.vertsplit(q)}]
    if free:
        return None
    values = ca.Function("entries", [q], [entries])
    sizes, small = terms(tree), set(range(robot.n))
    for place in range(PLACES):
        numbers = np.array(values(configuration(robot.n, place)))[:, 0].tolist()
        rows: list[dict[int, float]] = [{} for _ in M]
        for (i, j), x in zip(places, numbers):
            rows[i][j] = x
        small &= {k for k, d in enumerate(pivots(rows, parents)) if not d > ROUNDING * sizes[k]}
    return robot.joints[max(small)].name if small else None


def pivots(rows: list[dict[int, float]], parents: Sequence[int]) -> list[float]:
    """D of M = LᵀDL in numbers; NaN from the first zero on."""
    from .composite_bodies import factorize

    with np.errstate(all="ignore"):
        return [float(d) for d in factorize([{j: np.float64(x) for j, x in row.items()} for row in rows], parents).D]


def configuration(n: int, place: int) -> list[float]:
    """Generic joint positions, rad or m: multiples of the golden section, within ±1.6."""
    return [3.2 * ((0.6180339887498949 * (i + 1) * (place + 1)) % 1.0) - 1.6 for i in range(n)]


def terms(tree: list[Body]) -> list[float]:
    """Upper bound per coordinate of the terms of its diagonal element: masses times squared distances, or masses."""
    mass = [float(body.inertia.m) for body in tree]
    moment = [float(ca.trace(body.inertia.Sigma)) for body in tree]
    for i in range(len(tree) - 1, -1, -1):
        body = tree[i]
        if body.parent >= 0:
            away = float(ca.norm_2(body.p)) + 1.6 * abs(float(body.screw.slide))
            root = max(moment[i], 0.0) ** 0.5 + max(mass[i], 0.0) ** 0.5 * away
            moment[body.parent] += root * root
            mass[body.parent] += mass[i]
    found: dict[int | None, float] = {}
    for i, body in enumerate(tree):
        own = sum(float(c) ** 2 * x for c, x in zip(body.screw, (moment[i], mass[i])) if not is_zero(c))
        above = found.get(body.coordinate)
        found[body.coordinate] = own if above is None else (max(own, 0.0) ** 0.5 + max(above, 0.0) ** 0.5) ** 2
    return [found[k] for k in range(len(found))]
