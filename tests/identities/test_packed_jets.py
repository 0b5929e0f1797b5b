"""Torque derivatives from packed jets are the time derivatives of the torque, taken by automatic differentiation."""

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.compiler.ir.reference import evaluate
from flexjoint.spatial import time_derivative
from support.mimics import with_followers

ROBOTS = {
    "lwr": fj.load("kuka_lwr"),
    "turning": fj.random_robot(4, 11, prismatic=0.0, elastic=1.0),
    "sliding": fj.random_robot(4, 12, prismatic=1.0, elastic=1.0),
    "mixed": fj.random_robot(5, 13, prismatic=0.5, elastic=0.5, friction=True),
    "tree": fj.random_robot(7, 14, prismatic=0.3, tree=True, fixed=0.3),
    "followers": with_followers(fj.random_robot(5, 15, prismatic=0.3), 1, motors=True),
}


@pytest.mark.parametrize("name", ROBOTS)
def test_torque_derivatives(name):
    robot = ROBOTS[name]
    program, _ = fj.torque_derivatives.trace(robot, fj.torque_derivatives.structure(robot, order=2))
    assert program.packed is not None
    q = [ca.SX.sym(f"q{k}", robot.n) for k in range(5)]
    tau = fj.torque_derivatives(robot, *q[:3], order=0)
    for _ in range(2):
        tau.append(time_derivative(tau[-1], q))
    exact = ca.Function("tau", q, tau)
    rng = np.random.default_rng(0)
    for _ in range(3):
        x = [rng.normal(size=robot.n) for _ in q]
        for found, expected in zip(evaluate(program, *x), exact(*x)):
            expected = expected.full().ravel()
            np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-13 * np.max(np.abs(expected)))


def test_what_does_not_pack():
    """One joint, other orders, wrenches and a moving base take lists of derivatives."""
    robot, hinge = ROBOTS["turning"], fj.random_robot(1, 15, prismatic=0.0, elastic=1.0)
    wrench, base = {robot.tool: 3}, {"angular_velocity": 4, "acceleration": 3}
    for algorithm, subject, options in (
        (fj.inverse_dynamics, hinge, {}),
        (fj.torque_derivatives, robot, {"order": 1}),
        (fj.torque_derivatives, robot, {"order": 3}),
        (fj.inverse_dynamics, robot, {"wrenches": wrench}),
        (fj.inverse_dynamics, robot, {"base": base}),
    ):
        program, _ = algorithm.trace(subject, algorithm.structure(subject, **options))
        assert program.packed is None
