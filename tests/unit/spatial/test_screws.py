"""The motion of joints, against matrices in numbers."""

import casadi as ca
import numpy as np
import pytest

from flexjoint.spatial import Inertia, Screw, sx

SCREWS = {"revolute": (1.0, 0.0), "prismatic": (0.0, 1.0), "helical": (1.0, 0.3)}
rng = np.random.default_rng(0)
POINTS, MASSES = rng.normal(size=(5, 3)), rng.uniform(0.5, 2.0, 5)


def screw(name):
    return Screw(*map(sx, SCREWS[name]))


def number(x):
    return np.array(ca.DM(x))


def moments(points):
    """Inertia of point masses."""
    return MASSES.sum(), MASSES @ points, (points.T * MASSES) @ points


def inertia(points):
    m, h, Sigma = moments(points)
    return Inertia(sx(m), sx(h), sx(Sigma))


def moved(name, q, points):
    turn, slide = SCREWS[name]
    c, s = np.cos(turn * q), np.sin(turn * q)
    return points @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]]).T + [0, 0, slide * q]


@pytest.mark.parametrize("name", SCREWS)
def test_rotation_and_translation(name):
    S, x = screw(name), POINTS[0]
    found = number(S.rotation(sx(0.7)))[:, :] @ x + number(S.translation(sx(0.7)))[:, 0]
    np.testing.assert_allclose(found, moved(name, 0.7, x), atol=1e-15)


@pytest.mark.parametrize("name", SCREWS)
def test_inertia_before_the_joint(name):
    found = screw(name).moved(inertia(POINTS), sx(0.7))
    for x, y in zip(found, moments(moved(name, 0.7, POINTS))):
        np.testing.assert_allclose(number(x).squeeze(), y, atol=1e-14)


@pytest.mark.parametrize("name", SCREWS)
def test_effort_is_the_power_of_a_unit_rate(name):
    S, (f, n) = screw(name), rng.normal(size=(2, 3))
    linear, angular = (number(x)[:, 0] for x in S.axes)
    assert float(S.effort(sx(f), sx(n))) == pytest.approx(linear @ f + angular @ n, rel=1e-15)


@pytest.mark.parametrize("name", SCREWS)
def test_a_given_effort_replaces_that_of_a_load(name):
    S = screw(name)
    F, N = ([sx(x) for x in rng.normal(size=(3, 3))] for _ in range(2))
    F1, N1 = S.with_effort(F, N, [sx(5.0), sx(-2.0)])
    assert [float(S.effort(f, n)) for f, n in zip(F1, N1)][:2] == pytest.approx([5.0, -2.0], rel=1e-14)
    assert F1[2] is F[2] and N1[2] is N[2]


def test_structural_zeros():
    """What a joint does not do costs nothing."""
    q, f, n = ca.SX.sym("q"), ca.SX.sym("f", 3), ca.SX.sym("n", 3)
    turning, sliding = screw("revolute"), screw("prismatic")
    assert turning.translation(q).is_zero() and ca.is_equal(sliding.rotation(q), ca.SX.eye(3))
    assert ca.is_equal(turning.effort(f, n), n[2]) and ca.is_equal(sliding.effort(f, n), f[2])


@pytest.mark.parametrize("name", SCREWS)
def test_regrouping_is_complete(name):
    """Kept and given make up the whole; what is given has the energy of a body fixed to the parent."""
    S, whole = screw(name), inertia(POINTS)
    kept, given = S.split(whole)
    for x, y, z in zip(kept, given, whole):
        np.testing.assert_allclose(number(x) + number(y), number(z), atol=1e-15)
    m, h, Sigma = (number(x) for x in given)
    w, v, rate = rng.normal(size=3), rng.normal(size=3), 0.8
    linear, angular = (number(x)[:, 0] for x in S.axes)

    def energy(w, v):
        I = np.trace(Sigma) * np.eye(3) - Sigma
        return m.squeeze() * v @ v / 2 + v @ np.cross(w, h[:, 0]) + w @ I @ w / 2

    assert energy(w + rate * angular, v + rate * linear) == pytest.approx(energy(w, v), rel=1e-13)
