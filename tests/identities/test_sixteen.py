"""Which of the sixteen recursions of [DeLuca] have Ṁ = C + Cᵀ, element by element and without rounding: (22)-(24).

The model is general: masses, centres of mass, inertias and offsets are arbitrary, and before each moving joint stands
one that is held at an arbitrary angle, the twist of the axes.
"""

from fractions import Fraction
from functools import cache
from itertools import product

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.algorithms.sixteen import modified_recursion
from flexjoint.spatial import rotation_x, rotation_y, time_derivative
from support.errors import relative_error
from support.evaluate import evaluate
from support.exact import Angle, exactly

VARIANTS = ["".join(bits) for bits in product("01", repeat=4)]
ADMISSIBLE = {"0001", "1110"}


def dyadic(rng, *shape):
    """Eighths, so that no product of a few of them is rounded."""
    return rng.integers(-8, 9, size=shape) / 8


def general_robot(kinds):
    """Each joint of `kinds`, but the first, behind a massless link whose joint is held; brackets branch off."""
    rng = np.random.default_rng(3)
    quarter = np.pi / 2
    links, tip, above = [], "base", []
    for i, kind in enumerate(kinds):
        if kind in "()":
            above, tip = ([*above, tip], tip) if kind == "(" else (above[:-1], above[-1])
            continue
        if links:
            twist = fj.Joint(f"twist{i}", "revolute", dyadic(rng, 3), rotation_x(quarter))
            links.append(fj.Link(f"held{i}", twist, tip))
        name = {"R": "revolute", "P": "prismatic"}[kind]
        joint = fj.Joint(f"joint{i}", name, dyadic(rng, 3), rotation_y(quarter))
        off = dyadic(rng, 3, 3)
        inertia = np.diag(rng.integers(6, 9, size=3)) + (off + off.T) / 2
        carrier = links[-1].name if links else "base"
        links.append(fj.Link(f"link{i}", joint, carrier, float(2 ** rng.integers(0, 3)), dyadic(rng, 3), inertia))
        tip = f"link{i}"
    return fj.Robot(kinds, tuple(links), allow_unphysical=True)


@cache
def inertia_rate(kinds):
    """Robot, moving joints, symbols q and v, and Ṁ of the moving joints by (23): the same for all variants."""
    robot = general_robot(kinds)
    moving = list(range(0, robot.n, 2))
    q, v, still = ca.SX.sym("q", robot.n), ca.SX.sym("v", robot.n), ca.SX.zeros(robot.n)
    unit = ca.SX.eye(robot.n)
    M = [modified_recursion(robot, q, still, still, unit[:, j], variant="0000")[moving] for j in moving]
    return robot, moving, q, v, time_derivative(ca.horzcat(*M), [q, v])


@cache
def defects(kinds, variant):
    """A function of (q, v): the matrix Ṁ − C − Cᵀ of (22), and the vector C v − c."""
    robot, moving, q, v, rate = inertia_rate(kinds)
    still, unit = ca.SX.zeros(robot.n), ca.SX.eye(robot.n)
    C = ca.horzcat(
        *[modified_recursion(robot, q, v, unit[:, j], still, variant=variant)[moving] for j in moving]
    )  # (24)
    c = modified_recursion(robot, q, v, v, still, variant=variant)[moving]
    return ca.Function("f", [q, v], [ca.densify(rate - C - C.T), ca.densify(C @ v[moving] - c)])


def values(kinds, variant, seed=0):
    """The defects at a random rational state."""
    rng = np.random.default_rng(seed)
    robot, moving, *_ = inertia_rate(kinds)
    q, v = [[Fraction(int(rng.integers(-50, 51)), int(rng.integers(1, 50))) for _ in range(robot.n)] for _ in range(2)]
    q = [Angle(x) if joint.kind == "revolute" else x for x, joint in zip(q, robot.joints)]
    return exactly(defects(kinds, variant), q, [x if i in moving else Fraction(0) for i, x in enumerate(v)])


def skew(kinds):
    return {variant for variant in VARIANTS if not any(any(values(kinds, variant, seed)[0]) for seed in range(2))}


@pytest.mark.parametrize("kinds", ["RRR", "PRRP", "R(P)RR"])
def test_only_two_are_skew(kinds):
    assert skew(kinds) == ADMISSIBLE


def test_two_joints():
    """The second index acts between joints, for two of them on a link that turns about one axis: it does not matter."""
    assert skew("RR") == ADMISSIBLE | {"0101", "1010"}


@pytest.mark.parametrize("variant", VARIANTS)
def test_all_factorize_the_coriolis_torque(variant):
    assert not any(values("RRR", variant)[1])


ROBOTS = [
    fj.load("kuka_lwr").without_drives(),
    fj.random_robot(6, 1, prismatic=0.4, tree=True, fixed=0.5, name="tree"),
    fj.random_robot(5, 2, prismatic=0.3, name="chain"),
]


@pytest.mark.parametrize("robot", ROBOTS, ids=[robot.name for robot in ROBOTS])
@pytest.mark.parametrize("variant", sorted(ADMISSIBLE))
def test_the_short_form_is_the_papers(robot, variant):
    arrays = np.random.default_rng(0).normal(size=(4, robot.n))
    found = evaluate(fj.modified_newton_euler, robot, *arrays, variant=variant)
    expected = evaluate(modified_recursion, robot, *arrays, variant=variant, gravity=robot.gravity)
    assert relative_error(found, expected) < 1e-13


@pytest.mark.parametrize("robot", ROBOTS, ids=[robot.name for robot in ROBOTS])
def test_transposes(robot):
    """Cᵀv is one for the admissible recursions, and another for the rest."""
    q, v = np.random.default_rng(0).normal(size=(2, robot.n))
    expected = evaluate(fj.coriolis_transpose_product, robot, q, v)

    def transposed(variant):
        columns = [
            evaluate(modified_recursion, robot, q, v, e, np.zeros(robot.n), variant=variant) for e in np.eye(robot.n)
        ]
        return np.array(columns) @ v  # [DeLuca (28)]

    for variant in sorted(ADMISSIBLE):
        assert relative_error(transposed(variant), expected) < 1e-12
    for variant in ("0000", "1111"):
        assert relative_error(transposed(variant), expected) > 1e-4
