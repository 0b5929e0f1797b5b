"""Safeguarded Newton steps inside a kernel: roots, brackets, and derivatives by the implicit function theorem."""

import casadi as ca
import mpmath
import numpy as np
import pytest

from flexjoint.compiler import pipeline
from flexjoint.compiler.ir.program import Array
from flexjoint.compiler.ir.scan import tracing
from flexjoint.compiler.pipeline import trace
from flexjoint.numerics.roots import root_of_increasing

LAWS = {
    "cubic": (lambda x: 100 * x + 4000 * x**3, 2.0),
    "hardening": (lambda x: x * (50 + 30 * ca.exp(4 * x**2)), 3.0),
    "kinked": (lambda x: ca.if_else(x > 0.5, 10 * x - 4, 2 * x), 50.0),
}
ROUNDED = (lambda x: 100 * (ca.exp(x + 20) / ca.exp(20) - 1), 2.0)


def kernel_of(law, reach, derivative=False, steps=16):
    tau = ca.SX.sym("tau", 3)
    with tracing(loops=False) as definitions:
        bound = reach * ca.SX.ones(3)
        phi = root_of_increasing(lambda x: law(x) - tau, -bound, bound, steps=steps)
        result = ca.jacobian(phi, tau) if derivative else phi
    shape = (3, 3) if derivative else (3,)
    return pipeline.compile(trace("inverse", [(Array("tau", (3,)), tau)], [(Array("phi", shape), result)], definitions))


@pytest.mark.parametrize("law", LAWS)
def test_roots_solve_their_equation(law):
    f, reach = LAWS[law]
    torque = np.random.default_rng(0).uniform(-100, 100, (1000, 3))
    torque[0] = 0.0
    phi = kernel_of(f, reach)(torque)
    at = ca.Function("f", [x := ca.SX.sym("x")], [f(x), ca.gradient(f(x), x)])
    residual, slope = (np.array(y).reshape(phi.shape) for y in at.map(phi.size)(phi.ravel()))
    assert np.all(np.abs(residual - torque) <= 4e-16 * (np.abs(torque) + np.abs(slope * phi)))


def test_a_root_has_all_its_digits():
    (phi,) = kernel_of(*LAWS["cubic"])([[7.0, -3.0, 90.0]])
    exact = [mpmath.findroot(lambda x, c=c: 100 * x + 4000 * x**3 - c, 0.2 * np.sign(c)) for c in (7, -3, 90)]
    assert phi == pytest.approx([float(x) for x in exact], rel=2e-16 * 2)


def test_a_root_at_an_end_of_the_bracket_is_found():
    assert kernel_of(lambda x: x**3, 2.0, steps=60)([8.0, -8.0, 0.0]) == pytest.approx([2.0, -2.0, 0.0], abs=1e-15)


def test_beyond_the_bracket_its_end_is_returned():
    assert kernel_of(lambda x: x, 2.0, steps=60)([5.0, -5.0, 1.0]) == pytest.approx([2.0, -2.0, 1.0])


@pytest.mark.parametrize("law", ["cubic", "hardening", "rounded"])
@pytest.mark.parametrize("steps", [16, 40])
def test_derivatives_are_those_of_the_implicit_function(law, steps):
    """Also where rounding takes the last step out of a bracket that has shrunk to nothing."""
    f, reach = LAWS.get(law, ROUNDED)
    torque = np.random.default_rng(1).uniform(-80, 100, (1000, 3))
    phi = kernel_of(f, reach, steps=steps)(torque)
    derivative = kernel_of(f, reach, derivative=True, steps=steps)(torque)
    slope = ca.Function("slope", [x := ca.SX.sym("x")], [ca.gradient(f(x), x)]).map(phi.size)(phi.ravel())
    expected = np.eye(3) / np.array(slope).reshape(-1, 1, 3)
    np.testing.assert_allclose(derivative, expected, rtol=1e-13, atol=0)


def test_outside_a_trace_the_steps_are_written_out():
    f, reach = LAWS["cubic"]
    tau = ca.SX.sym("tau", 1)
    phi = root_of_increasing(lambda x: f(x) - tau, -reach * ca.SX.ones(1), reach * ca.SX.ones(1))
    root = float(ca.Function("phi", [tau], [phi])(7.0))
    assert f(root) == pytest.approx(7.0, rel=1e-15)
