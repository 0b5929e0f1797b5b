"""Jets against automatic differentiation, and rotations in numbers."""

import math

import casadi as ca
import numpy as np
import pytest

from flexjoint.spatial import (
    TaylorSeries,
    TimeDerivatives,
    cross,
    in_frame_rotating_about_z,
    in_rotating_frame,
    leibniz,
    outer_square,
    rotation_about_z,
    rotation_rpy,
    rotation_x,
    rotation_y,
    rotation_z,
    time_derivative,
)

rng = np.random.default_rng(0)


def jets(*names, order, size=3):
    """A stack of symbols per name."""
    return [[ca.SX.sym(f"{name}{k}", size) for k in range(order + 1)] for name in names]


def derivatives(expression, stacks, order):
    """By automatic differentiation."""
    found = [expression]
    for _ in range(order):
        x, rate = ca.vertcat(*[x for s in stacks for x in s[:-1]]), ca.vertcat(*[x for s in stacks for x in s[1:]])
        found.append(time_derivative(found[-1], [x, rate]))
    return found


def agree(found, expected, stacks):
    symbols = [x for stack in stacks for x in stack]
    values = [rng.normal(size=x.shape) for x in symbols]
    difference = ca.Function("f", symbols, [ca.densify(ca.vec(x - y)) for x, y in zip(found, expected)])(*values)
    difference = difference if isinstance(difference, tuple | list) else [difference]
    return max(float(ca.norm_inf(x)) for x in difference) < 1e-10


def test_leibniz():
    a, b = jets("a", "b", order=4)
    assert agree(leibniz(cross, a, b, 3), derivatives(cross(a[0], b[0]), [a, b], 3), [a, b])


def test_outer_square():
    (w,) = jets("w", order=5)
    assert agree(outer_square(w), derivatives(w[0] @ w[0].T, [w], 4), [w])


@pytest.mark.parametrize("order", [0, 2, 6])
def test_components_in_a_frame_rotating_about_z(order):
    """Beyond the third derivative by complex multiplication."""
    (u,) = jets("u", order=order + 1)
    (q,) = jets("q", order=order + 1, size=1)
    R = rotation_about_z(q[0])
    expected = derivatives(R.T @ u[0], [u, q], order)
    r, rates = [R.T @ x for x in u[: order + 1]], q[1:]
    assert agree(in_frame_rotating_about_z(r, rates), expected, [u, q])
    z = ca.SX([0, 0, 1])
    assert agree(in_rotating_frame(r, [x * z for x in rates]), expected, [u, q])


def test_time_derivatives_of_expressions():
    """The stack may hold any expressions."""
    t = ca.SX.sym("t", 2)
    square = TimeDerivatives(lambda x: x[0] ** 2, 2, (3, 2))
    found = square(2, [ca.sin(t), ca.cos(t), -ca.sin(t)])
    assert agree([found], [2 * ca.cos(2 * t)], [[t]])


@pytest.mark.parametrize("rotation", [rotation_x, rotation_y, rotation_z])
def test_quarter_turns_are_exact(rotation):
    for k in range(-4, 5):
        assert set(np.abs(rotation(k * math.pi / 2 + 1e-10)).ravel()) == {0.0, 1.0}
    R = rotation(0.3)
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(rotation(0.3) @ rotation(0.4), rotation(0.7), atol=1e-15)


def test_roll_pitch_yaw():
    expected = rotation_z(0.3) @ rotation_y(0.2) @ rotation_x(0.1)
    np.testing.assert_allclose(rotation_rpy(0.1, 0.2, 0.3), expected, atol=1e-15)


def test_taylor_series():
    """Every operation against CasADi's derivatives of the expression along a motion."""
    x, t = ca.SX.sym("x", 2), ca.SX.sym("t")
    a, b = x[0], x[1]
    found = ca.vertcat(
        *(ca.sin(a) * ca.cos(b) / (2 + a**2), ca.tanh(a * b) + ca.exp(-a), ca.sqrt(1 + b**2) - 1 / (3 + a), a + a, 3.0)
    )
    motion = ca.vertcat(ca.sin(2 * t + 0.3), ca.exp(0.5 * t) - 0.2)
    series, expected = TaylorSeries([x], found), ca.substitute(found, x, motion)
    for _ in range(7):
        both = ca.Function("f", [t], [series.next(motion), ca.densify(expected)])(0.4)
        np.testing.assert_allclose(*map(np.array, both), rtol=1e-13, atol=1e-12)
        motion, expected = ca.jacobian(motion, t), ca.jacobian(expected, t)


def test_taylor_series_refuse_other_operations():
    x = ca.SX.sym("x")
    with pytest.raises(ValueError, match="Taylor arithmetic has no rule"):
        TaylorSeries([x], ca.fabs(x)).next(x)
