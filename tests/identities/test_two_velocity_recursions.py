"""Which of the sixteen recursions of [DeLuca] have Ṁ = C + Cᵀ, and what their short forms and transposes are."""

from fractions import Fraction

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.reproduce.exact_arithmetic import PRIME, Angle, Residue, exactly
from flexjoint.reproduce.two_velocity_recursions import (
    VARIANTS,
    defects,
    inertia_rate,
    modified_recursion,
    nonzero,
    skew_variants,
)
from support.errors import relative_error
from support.evaluate import evaluate

ADMISSIBLE = {"0001", "1110"}


@pytest.mark.parametrize("kinds", ["RRR", "PRRP", "R(P)RR"])
def test_only_two_are_skew(kinds):
    assert skew_variants(kinds) == ADMISSIBLE


def test_two_joints():
    """The second index acts between joints, for two of them on a link that turns about one axis: it does not matter."""
    assert skew_variants("RR") == ADMISSIBLE | {"0101", "1010"}


@pytest.mark.parametrize("variant", VARIANTS)
def test_all_factorize_the_coriolis_torque(variant):
    assert not nonzero("RRR", variant)[1].any()


@pytest.mark.parametrize("variant", ["0001", "0000"])
def test_residues_are_the_rational_numbers(variant):
    """The same state in both: a fraction is zero where its residue is, and elsewhere has that residue."""
    rng = np.random.default_rng(0)
    robot, moving, *_ = inertia_rate("RPR")
    q, v = rng.integers(-50, 51, size=(2, robot.n)).tolist()
    q, v = [x or 7 for x in q], [x if i in moving else 0 for i, x in enumerate(v)]
    f = defects("RPR", variant)

    def values(number):
        at = [Angle(number(x)) if j.kind.name == "revolute" else number(x) for x, j in zip(q, robot.joints)]
        return exactly(f, at, [number(x) for x in v], number=number)

    for fractions, residues in zip(values(Fraction), values(Residue)):
        assert [x.numerator * pow(x.denominator, -1, PRIME) % PRIME for x in fractions] == [x.value for x in residues]
    assert any(values(Fraction)[0]) == (variant == "0000")


ROBOTS = [
    fj.load("kuka_lwr").without_drives(),
    fj.random_robot(6, 1, prismatic=0.4, tree=True, fixed=0.5, name="tree"),
    fj.random_robot(5, 2, prismatic=0.3, name="chain"),
]


@pytest.mark.parametrize("robot", ROBOTS, ids=[robot.name for robot in ROBOTS])
@pytest.mark.parametrize("variant", sorted(ADMISSIBLE))
def test_the_short_form_is_the_papers(robot, variant):
    arrays = np.random.default_rng(0).normal(size=(4, robot.n))
    found = evaluate(fj.dynamics.modified_newton_euler, robot, *arrays, variant=variant)
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
