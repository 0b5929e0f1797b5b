"""Which of the sixteen recursions of [DeLuca] have Ṁ = C + Cᵀ, element by element and without rounding: (22)-(24).

The model is general: masses, centres of mass, inertias and offsets are arbitrary, and before each moving joint but the
first stands one that is held at an arbitrary angle, the twist of the axes.
"""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ..robot import BASE, Joint, JointKind, Link, Robot
from ..robot.joints.prismatic import Prismatic
from ..robot.joints.revolute import Revolute
from ..spatial import ca, rotation_x, rotation_y, time_derivative
from .exact import Angle, Residue, exactly, random_residues
from .sixteen import modified_recursion

VARIANTS = tuple("".join(bits) for bits in product("01", repeat=4))
KINDS: dict[str, JointKind] = {kind.letter: kind for kind in (Revolute(), Prismatic())}


def dyadic(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Eighths, so that no product of a few of them is rounded."""
    return rng.integers(-8, 9, size=shape) / 8


def general_robot(kinds: str) -> Robot:
    """Joints R and P, each but the first behind a massless link whose joint is held; brackets branch off."""
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
    """A robot, its moving joints, symbols q and v, and Ṁ of the moving joints by (23): the same for all variants."""

    robot: Robot
    moving: list[int]
    q: Any
    v: Any
    rate: Any


@cache
def inertia_rate(kinds: str) -> Rate:
    robot = general_robot(kinds)
    moving = list(range(0, robot.n, 2))
    q, v, still = ca.SX.sym("q", robot.n), ca.SX.sym("v", robot.n), ca.SX.zeros(robot.n)
    unit = ca.SX.eye(robot.n)
    M = [modified_recursion(robot, q, still, still, unit[:, j], variant="0000")[moving] for j in moving]
    return Rate(robot, moving, q, v, time_derivative(ca.horzcat(*M), [q, v]))


def defects(kinds: str, variant: str) -> Any:
    """A function of (q, v): the matrix Ṁ − C − Cᵀ of (22), and the vector C v − c."""
    robot, moving, q, v, rate = inertia_rate(kinds)
    still, unit = ca.SX.zeros(robot.n), ca.SX.eye(robot.n)
    C = ca.horzcat(
        *[modified_recursion(robot, q, v, unit[:, j], still, variant=variant)[moving] for j in moving]
    )  # (24)
    c = modified_recursion(robot, q, v, v, still, variant=variant)[moving]
    return ca.Function("f", [q, v], [ca.densify(rate - C - C.T), ca.densify(C @ v[moving] - c)])


@cache
def nonzero(kinds: str, variant: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Where Ṁ − C − Cᵀ (n, n) and C v − c (n,) are not zero, in a random state."""
    robot, moving, *_ = inertia_rate(kinds)
    rng = np.random.default_rng(seed)
    q: list[Any] = random_residues(rng, robot.n)
    q = [Angle(x) if joint.kind.angular else x for x, joint in zip(q, robot.joints)]
    v = [x if i in moving else Residue(0) for i, x in enumerate(random_residues(rng, robot.n))]
    matrix, vector = exactly(defects(kinds, variant), q, v, number=Residue)
    return np.array([bool(x) for x in matrix]).reshape(2 * [len(moving)]), np.array([bool(x) for x in vector])


def skew_variants(kinds: str) -> set[str]:
    """Those for which (22) holds in all elements."""
    return {variant for variant in VARIANTS if not nonzero(kinds, variant)[0].any()}
