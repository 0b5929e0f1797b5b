"""Which of the sixteen recursions of [DeLuca] have Ṁ = C + Cᵀ, and what their short forms and transposes are."""

from fractions import Fraction

import numpy as np
import pytest

import flexjoint as fj
from papers.exact_arithmetic import PRIME, Angle, Residue, exactly
from papers.two_velocity_recursions import (
    VARIANTS,
    defects,
    inertia_rate,
    modified_recursion,
    nonzero,
    skew_variants,
)
from support.errors import relative_error
from support.evaluate import evaluate
from support.marks import some_long

ADMISSIBLE = {"0001", "1110"}


@pytest.mark.parametrize("kinds", some_long(["RRR", "PRRP", "R(P)RR"], "PRRP", "R(P)RR"))
def test_only_two_are_skew(kinds):
    assert skew_variants(kinds) == ADMISSIBLE


@pytest.mark.parametrize("n", some_long([2, 3, 5, 7], "7"))
def test_the_rest_violates_every_element(n):
    """(22) fails in all n(n + 1)/2 elements i ≥ j."""
    others = [x for x in VARIANTS if x not in ADMISSIBLE] if n < 5 else ["0101", "1010"]
    for variant in others:
        assert np.tril(nonzero("R" * n, variant)[0]).sum() == n * (n + 1) // 2, variant


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


DH = [("RRRR", 4), ("RPRR", 5)]


@pytest.mark.parametrize("kinds, seed", DH)
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_sixteen_are_the_printed_ones(kinds, seed, variant):
    """Against the printed equations in base coordinates, straight from a DH table."""
    n, rng = len(kinds), np.random.default_rng(seed)
    alpha, a, d, theta = rng.normal(size=(4, n))
    mass, com = rng.uniform(1.0, 3.0, n), rng.normal(size=(n, 3))
    inertia = np.array([np.diag(rng.uniform(2.0, 3.0, 3)) for _ in kinds])
    robot = fj.from_dh("dh", alpha, a, d, theta, kinds=kinds, mass=mass, com=com, inertia=inertia)
    q, v, v_a, acc = rng.normal(size=(4, n))
    found = evaluate(modified_recursion, robot, q, v, v_a, acc, variant=variant, gravity=robot.gravity)
    slides = np.array([kind == "P" for kind in kinds])
    table = (alpha, a, d + q * slides, theta + q * ~slides)
    expected = printed(table, slides, mass, com, inertia, v, v_a, acc, [digit == "1" for digit in variant])
    assert relative_error(found, expected) < 1e-12


def printed(table, slides, mass, com, inertia, v, v_a, acc, variant):
    """(AVR) to (FP) of [DeLuca] with the two velocities, all vectors in base coordinates."""
    i1, i2, i3, i4 = variant
    cross, n, z = np.cross, len(v), np.array([0.0, 0.0, 1.0])
    R, w, w_a, w1, O2 = np.eye(3), np.zeros(3), np.zeros(3), np.zeros(3), np.array([0.0, 0.0, 9.81])
    links = []
    for i, (alpha, a, d, theta) in enumerate(zip(*table)):
        axis = R @ z
        slide = acc[i] * axis + v[i] * cross(w_a, axis) + v_a[i] * cross(w, axis)
        if not slides[i]:
            w1 = w1 + acc[i] * axis + (v_a[i] * cross(w, axis) if i1 else v[i] * cross(w_a, axis))  # (AAR')
            w, w_a, slide = w + v[i] * axis, w_a + v_a[i] * axis, 0.0  # (AVR), (AVR*)
        st, ct, sa, ca_ = np.sin(theta), np.cos(theta), np.sin(alpha), np.cos(alpha)
        r = R @ [a * ct, a * st, d]
        R = R @ [[ct, -st * ca_, st * sa], [st, ct * ca_, -ct * sa], [0.0, sa, ca_]]
        r_B, I = R @ com[i], R @ inertia[i] @ R.T
        O2 = O2 + slide + cross(w1, r) + (cross(w_a, cross(w, r)) if i2 else cross(w, cross(w_a, r)))  # (LAR'*)
        B2 = O2 + cross(w1, r_B) + (cross(w_a, cross(w, r_B)) if i3 else cross(w, cross(w_a, r_B)))  # (LAR*)
        moment = I @ w1 + (cross(w_a, I @ w) if i4 else cross(w, I @ w_a))
        links.append((axis, r, r_B, mass[i] * B2, moment))
    f, tau, u = np.zeros(3), np.zeros(3), np.zeros(n)
    for i, (axis, r, r_B, force, moment) in reversed(list(enumerate(links))):
        after, f = f, f + force  # (FR)
        tau = tau - cross(f, r + r_B) + cross(after, r_B) + moment  # (TR*)
        u[i] = axis @ (f if slides[i] else tau)  # (FP)
    return u


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
