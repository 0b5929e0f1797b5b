"""A_α, B_α, C_α, D_α of [Hoepler (17)-(25)]: against the paper's recursions by automatic differentiation in time,
Pinocchio, the jets of the Newton-Euler recursion, and rotors in motion."""

import casadi as ca
import numpy as np
import pinocchio as pin
import pytest

import flexjoint as fj
from flexjoint.dynamics import operator_recursion, spatial_cross, spatial_operators
from flexjoint.spatial.jets import time_derivative
from support.errors import relative_error
from support.evaluate import evaluate
from support.pinocchio_model import pinocchio_model, pinocchio_order, pinocchio_rnea
from support.rotors import lbr, with_random_rotors

ORDER = 3
CHAIN = fj.random_robot(4, 7, prismatic=0.0, name="chain")
TREE = fj.random_robot(6, 3, prismatic=0.4, tree=True, fixed=0.5, name="tree")
ROTORS = [lbr(3), with_random_rotors(fj.random_robot(4, 8, prismatic=0.3, tree=True, name="rotors"), 2, elastic=1.0)]
named = pytest.mark.parametrize("robot", [CHAIN, TREE, *ROTORS], ids=lambda x: x.name)
plain = pytest.mark.parametrize("robot", [CHAIN, TREE], ids=lambda x: x.name)


class Traced:
    """The recursion on symbols, [q, q', ...] above [θ, θ', ...], and values of expressions along one motion."""

    def __init__(self, robot, order=ORDER):
        n = robot.n
        self.stack = [ca.SX.sym("x", 2 * n) for _ in range(order + 4)]
        q, self.theta_rates = [x[:n] for x in self.stack[: order + 3]], [x[n:] for x in self.stack[1 : order + 3]]
        self.result = operator_recursion(robot, *q, order=order, theta_rates=self.theta_rates)
        self.operators = spatial_operators(robot, q[0])
        self.motion = np.random.default_rng(0).normal(size=(order + 4, 2 * n))

    def __call__(self, *expressions):
        found = ca.Function("f", self.stack, [ca.densify(x) for x in expressions]).call([*self.motion])
        return [np.array(x)[:, 0] for x in found]

    def rate(self, x):
        return time_derivative(x, self.stack)


def agree(x, pairs):
    values = x(*[y for pair in pairs for y in pair])
    for found, expected in zip(values[::2], values[1::2]):
        assert np.max(np.abs(found - expected)) < 1e-12 * (1 + np.max(np.abs(expected)))


@named
def test_recursions_of_the_paper(robot):
    """(17)-(21), (24) and A_α+1 ... D_α+1 from A_α ... D_α, with ° by automatic differentiation in time."""
    x = Traced(robot.with_gravity([0.0, 0.0, 0.0]))
    A, B, V, C, D, f = x.result
    Phi, E, Delta_ = x.operators.Phi, x.operators.E, spatial_cross(A[0])
    pairs = [(A[0], x.operators.H @ x.stack[1][: robot.n]), (B[0], 0 * B[0]), (D[0], 0 * D[0])]
    for k in range(ORDER + 1):
        rate = x.rate(B[k]) - Delta_ @ E @ V[k]
        pairs += [(A[k + 1], x.rate(A[k])), (B[k + 1], rate), (V[k], Phi @ (A[k] + B[k])), (V[k + 1], x.rate(V[k]))]
    for k in range(ORDER):
        rate = x.rate(D[k]) - E.T @ Delta_.T @ f[k]
        pairs += [(C[k + 1], x.rate(C[k])), (D[k + 1], rate), (f[k], Phi.T @ (C[k] + D[k]))]
    agree(x, pairs)
    assert all(np.any(y) for y in x(*B[1:], *C, *D[1:]))


@named
def test_forces_under_gravity(robot):
    """f⁽ᵅ⁺¹⁾ is the derivative of f⁽ᵅ⁾; gravity enters V by the base alone."""
    x = Traced(robot)
    A, B, V, C, D, f = x.result
    fall = x.operators.base @ ca.vertcat(ca.SX.zeros(3), -robot.gravity)
    pairs = [(f[k + 1], x.rate(f[k])) for k in range(ORDER)]
    for k in range(ORDER + 1):
        pairs += [(V[k], x.operators.Phi @ (A[k] + B[k] + (fall if k == 1 else 0)))]
        pairs += [(f[k], x.operators.Phi.T @ (C[k] + D[k]))]
    agree(x, pairs)


@plain
def test_velocities_and_forces_are_those_of_pinocchio(robot):
    """Order 0, with gravity: forces through the joints in the frames of the bodies."""
    q, v, a = np.random.default_rng(1).normal(size=(3, robot.n))
    found = operator_recursion(robot, *map(ca.SX, (q, v, a)))
    V, f = np.array(ca.DM(found.V[0])), np.array(ca.DM(found.f[0]))
    model, order = pinocchio_model(robot), pinocchio_order(robot)
    data = model.createData()
    pin.rnea(model, data, q[order], v[order], a[order])
    for k, i in enumerate(order):
        rows, velocity, force = slice(6 * i, 6 * i + 6), data.v[k + 1], data.f[k + 1]
        assert relative_error(V[rows, 0], np.concatenate([velocity.angular, velocity.linear])) < 1e-12
        assert relative_error(f[rows, 0], np.concatenate([force.angular, force.linear])) < 1e-12
    u = np.array(ca.DM(spatial_operators(robot, ca.SX(q)).H.T @ found.f[0]))[:, 0]
    assert relative_error(u, pinocchio_rnea(robot, q, v, a)) < 1e-12


@plain
def test_torques_are_the_jets_of_the_other_recursion(robot):
    x = Traced(robot)
    found = np.array(x(*[x.operators.H.T @ f for f in x.result.f]))
    q = x.motion[: ORDER + 3, : robot.n]
    expected = evaluate(fj.torque_derivatives, robot.without_friction(), *q, order=ORDER)
    assert relative_error(found, expected) < 1e-13


@pytest.mark.parametrize("robot", ROTORS, ids=lambda x: x.name)
def test_forces_with_rotors_in_motion(robot):
    """(22), (23): the link torques of a motion of links and motors, which explicit rotor bodies confirm elsewhere."""
    robot = robot.without_friction()
    x = Traced(robot, 0)
    (u,) = x(x.operators.H.T @ x.result.f[0])
    links, motors = x.motion[:3, : robot.n], x.motion[:3, robot.n :]
    forces = evaluate(
        fj.dynamics.generalized_forces, robot, links[0], links[1], motors[0], motors[1], links[2], motors[2]
    )
    assert relative_error(u, forces.tau_e) < 1e-13
    still = operator_recursion(robot, *map(ca.SX, links))
    assert not np.allclose(np.array(ca.DM(x.operators.H.T @ still.f[0]))[:, 0], u)


def test_arrays_in_batches_and_refusals():
    robot = fj.load("hua_3r").with_fidelity("complete")
    motion = np.random.default_rng(3).normal(size=(4, 5, 3))
    found = operator_recursion(robot, *motion, order=1, theta_rates=[*motion[1:]])
    assert found.V.shape == (3, 5, 18) and found.f.shape == (2, 5, 18)
    one = operator_recursion(robot, *motion[:, 2], order=1, theta_rates=[*motion[1:, 2]])
    assert all(np.array_equal(x[:, 2], y) for x, y in zip(found, one))
    with pytest.raises(fj.InputError, match="order 1 needs theta_rates"):
        operator_recursion(robot, *motion, order=1, theta_rates=[motion[1]])
    with pytest.raises(fj.InputError, match="needs q and its first 4 derivatives"):
        operator_recursion(robot, *motion, order=2)
