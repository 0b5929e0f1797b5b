"""Coupled coordinates, q = G y + c: every algorithm against the tree with all joints moving by themselves.

Oracles: Lagrange's equations of that tree by automatic differentiation from 4×4 poses, and Pinocchio; G and c come from
the data by a linear solve.
"""

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.robot import Mimic
from support.errors import relative_error
from support.evaluate import evaluate
from support.lagrange import kinetic, lagrange, potential, rate
from support.marks import some_long
from support.mimics import coupling, independent, through, with_followers
from support.pinocchio_model import pinocchio_mass_matrix, pinocchio_rnea

TREE = fj.random_robot(5, 3, prismatic=0.3, tree=True, fixed=0.3, friction=True)
CHAIN = fj.random_robot(6, 5, prismatic=0.3, friction=True)
ROBOTS = {
    "tree": with_followers(TREE, 4, motors=True),
    "chain": with_followers(CHAIN, 4, motors=True),
    "one coordinate": with_followers(fj.random_robot(3, 2, prismatic=0.3, tree=True), 3, share=0.7),
}
each = pytest.mark.parametrize("robot", ROBOTS.values(), ids=ROBOTS.keys())
TIGHT = 1e-12


def state(robot, seed=0, orders=3):
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (orders, robot.n))


def evaluated(function, *arrays):
    """function(*SX) at arrays."""
    symbols = [ca.SX.sym("x", len(x)) for x in arrays]
    found = ca.Function("f", symbols, [function(*symbols)])(*map(ca.DM, arrays))
    array = np.array(found)
    return array[:, 0] if array.shape[1] == 1 else array


def test_the_robots_have_chains_of_followers_before_and_behind_their_leaders_and_one_coordinate():
    assert [robot.n for robot in ROBOTS.values()] == [2, 3, 1]
    assert len(ROBOTS["one coordinate"].followers) == 2
    follows = [(x.joint.name, x.joint.mimic.joint) for robot in ROBOTS.values() for x in robot.followers]
    names = [[x.joint.name for x in robot.moving_joints] for robot in ROBOTS.values() for _ in robot.followers]
    assert {order.index(a) < order.index(b) for (a, b), order in zip(follows, names)} == {True, False}
    assert any(
        x.joint.mimic.joint in {y.joint.name for y in robot.followers}
        for robot in ROBOTS.values()
        for x in robot.followers
    )
    kinds = {
        (x.joint.kind.name, robot.joints[x.coordinate].kind.name) for robot in ROBOTS.values() for x in robot.followers
    }
    assert ("prismatic", "revolute") in kinds or ("revolute", "prismatic") in kinds


@each
def test_the_coupling_and_the_positions_of_all_joints(robot):
    G, c = coupling(robot)
    np.testing.assert_allclose(robot.coupling[0], G, rtol=1e-14, atol=0)
    np.testing.assert_allclose(robot.coupling[1], c, rtol=1e-13, atol=1e-15)
    y = np.random.default_rng(0).uniform(-1, 1, (4, robot.n))
    np.testing.assert_allclose(robot.joint_positions(y), y @ G.T + c, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("robot", some_long(ROBOTS, "chain"))
def test_torques_and_their_derivatives_of_any_order_are_those_of_lagrange(robot):
    stack = state(robot, orders=6)
    symbols = [ca.SX.sym(f"y{k}", robot.n) for k in range(6)]
    tau = [through(robot, lagrange, *symbols[:3])]
    for _ in range(3):
        tau.append(rate(tau[-1], symbols))
    wanted = np.array(ca.Function("f", symbols, [ca.horzcat(*tau)])(*map(ca.DM, stack))).T
    found = evaluate(fj.torque_derivatives.function, robot, *stack, order=3)
    assert relative_error(np.reshape(found, wanted.shape), wanted) < TIGHT
    assert relative_error(evaluate(fj.inverse_dynamics.function, robot.rigid(), *stack[:3]), wanted[0]) < TIGHT


@each
def test_mass_matrix_gravity_energy_and_momentum(robot):
    y, v, _ = state(robot)
    free, (G, c) = independent(robot), coupling(robot)

    def at(function, *x):
        return evaluated(lambda *s: function(free, *s), *x)

    B = np.diag([x.joint.drive.motor.inertia if x.joint.drive else 0.0 for x in robot.moving_joints])
    M = G.T @ (evaluated(lambda q, v: ca.hessian(kinetic(free, q, v), v)[0], G @ y + c, G @ v) + B) @ G
    found = np.atleast_2d(evaluate(fj.mass_matrix.function, robot, y))
    assert relative_error(found, M) < TIGHT
    assert relative_error(evaluate(fj.kinetic_energy.function, robot, y, v), v @ M @ v / 2) < TIGHT
    assert relative_error(evaluate(fj.generalized_momentum.function, robot, y, v), M @ v) < TIGHT
    V = at(potential, G @ y + c)
    assert relative_error(evaluate(fj.gravity_energy.function, robot, y), V) < TIGHT
    slope = evaluated(lambda q: ca.gradient(potential(free, q), q), G @ y + c)
    assert relative_error(evaluate(fj.gravity_torque.function, robot, y), G.T @ slope) < TIGHT


@each
def test_forward_dynamics_undoes_inverse_dynamics(robot):
    y, v, a = state(robot)
    tau = evaluated(lambda *x: through(robot, lagrange, *x), y, v, a)
    assert relative_error(evaluate(fj.forward_dynamics.function, robot, y, v, tau), a) < 1e-11


@pytest.mark.parametrize("robot", some_long(ROBOTS, "chain"))
def test_every_coriolis_matrix_gives_the_coriolis_torque_and_half_the_rate_of_m(robot):
    y, v, w = state(robot)
    rigid = robot.without_friction()
    rest = evaluated(lambda *x: through(rigid, lagrange, *x), y, 0 * v, 0 * v)
    c = evaluated(lambda *x: through(rigid, lagrange, *x), y, v, 0 * v) - rest
    free, (G, offset) = independent(robot), coupling(robot)

    def inertia(x):
        q, u = ca.SX.sym("q", free.n), ca.SX.sym("u", free.n)
        M = ca.Function("M", [q, u], [ca.hessian(kinetic(free, q, u), u)[0]])
        return ca.DM(G).T @ M(ca.DM(G) @ x + ca.DM(offset), ca.SX.zeros(free.n)) @ ca.DM(G)

    y_s, v_s = ca.SX.sym("y", robot.n), ca.SX.sym("v", robot.n)
    M = inertia(y_s)
    dM = [ca.jacobian(ca.vec(M), y_s[k]).reshape((robot.n, robot.n)) for k in range(robot.n)]
    C = ca.SX.zeros(robot.n, robot.n)
    for i in range(robot.n):
        for j in range(robot.n):
            C[i, j] = sum((dM[k][i, j] + dM[j][i, k] - dM[i][j, k]) * v_s[k] / 2 for k in range(robot.n))
    C, rate_of_M = (np.array(x) for x in ca.Function("f", [y_s, v_s], [C, rate(M, [y_s, v_s])])(y, v))
    scale = max(np.max(np.abs(C)), np.max(np.abs(c)))
    for variant in ("christoffel", "0001", "1110"):
        found = np.atleast_2d(evaluate(fj.coriolis_matrix.function, robot, y, v, variant=variant))
        assert np.max(np.abs(found @ v - c)) < TIGHT * scale
        assert np.max(np.abs(found + found.T - rate_of_M)) < TIGHT * scale
        product = evaluate(fj.coriolis_product.function, robot, y, v, w, variant=variant)
        assert np.max(np.abs(found @ w - product)) < TIGHT * scale
        if variant == "christoffel":
            assert np.max(np.abs(found - C)) < TIGHT * scale
        omega = evaluate(fj.dynamics.factorization_parameters.function, robot, y, variant=variant)
        if robot.n > 2:
            A = evaluate(fj.dynamics.coriolis_factorization.function, robot, y, v, np.ravel(omega))
            assert np.max(np.abs(A - found)) < TIGHT * scale
    transposed = evaluate(fj.coriolis_transpose_product.function, robot, y, v)
    assert np.max(np.abs(transposed - C.T @ v)) < TIGHT * scale
    assert (
        np.max(np.abs(np.atleast_2d(evaluate(fj.mass_matrix_rate.function, robot, y, v)) - rate_of_M)) < TIGHT * scale
    )


@each
def test_regressors_times_parameters_are_the_torques_of_the_links(robot):
    y, v, a = state(robot)
    bare = robot.without_drives().without_friction()
    tau = evaluated(lambda *x: through(bare, lagrange, *x), y, v, a)
    Y = np.atleast_2d(evaluate(fj.regressor.function, robot, y, v, v, a))
    assert relative_error(Y @ fj.dynamics.standard_parameters(robot), tau) < TIGHT
    base = fj.base_parameters(robot)
    Y = np.atleast_2d(evaluate(fj.base_regressor.function, robot, y, v, v, a))
    assert relative_error(Y @ base.of(robot), tau) < TIGHT
    followed = {x.joint.name for x in robot.moving_joints}
    assert {name.rsplit(".", 1)[0] for name in base.names} <= followed


@each
def test_poses_and_jacobians_are_those_of_the_tree_through_g(robot):
    y, v, _ = state(robot)
    free, (G, c) = independent(robot), coupling(robot)
    for link in robot.links:
        pose = [np.array(x) for x in evaluate(fj.forward_kinematics.function, robot, y, link=link.name)]
        wanted = [np.array(x) for x in evaluate(fj.forward_kinematics.function, free, G @ y + c, link=link.name)]
        assert max(np.max(np.abs(a - b)) for a, b in zip(pose, wanted)) < 1e-14 * 10
        J = evaluate(fj.jacobian.function, free, G @ y + c, link=link.name).reshape(6, -1) @ G
        assert np.max(np.abs(evaluate(fj.jacobian.function, robot, y, link=link.name).reshape(6, -1) - J)) < TIGHT
    J = evaluate(fj.jacobian_derivatives.function, free, G @ y + c, G @ v)
    found = evaluate(fj.jacobian_derivatives.function, robot, y, v)
    assert np.max(np.abs(np.reshape(found[1], (6, -1)) - np.reshape(J[1], (6, -1)) @ G)) < TIGHT


@each
def test_spatial_operators_give_the_mass_matrix(robot):
    y, _, _ = state(robot)
    links = robot.without_drives()
    Phi, _, _, H, _, M, _ = (np.array(x) for x in evaluate(fj.dynamics.spatial_operators.function, links, y))
    H = H.reshape(Phi.shape[0], -1)
    assert relative_error(H.T @ Phi.T @ M @ Phi @ H, np.atleast_2d(evaluate(fj.mass_matrix.function, links, y))) < TIGHT


@pytest.mark.parametrize("n", [12, 30])
def test_long_trees_against_pinocchio(n):
    robot = with_followers(fj.random_robot(n, n, prismatic=0.2, tree=True), n, share=0.4)
    y, v, a = state(robot, n)
    free, (G, c) = independent(robot), coupling(robot)
    tau = G.T @ pinocchio_rnea(free, G @ y + c, G @ v, G @ a)
    assert relative_error(evaluate(fj.torque_derivatives.function, robot, y, v, a)[0], tau) < TIGHT
    M = G.T @ pinocchio_mass_matrix(free, G @ y + c) @ G
    assert relative_error(evaluate(fj.mass_matrix.function, robot, y), M) < TIGHT
    found = evaluate(fj.forward_dynamics.function, robot, y, v, tau)
    assert relative_error(M @ found, M @ a) < 1e-11


def test_followers_on_helical_joints_and_a_chain_in_numbers():
    from flexjoint.robot.joints import Helical

    body = {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": 0.01 * np.eye(3)}
    links = (
        fj.Link("nut", fj.Joint("nut", Helical(0.02), mimic=Mimic("slide", 3.0, 0.1)), **body),
        fj.Link("carriage", fj.Joint("slide", "prismatic", mimic=Mimic("crank", 0.5, -0.2)), "nut", **body),
        fj.Link("arm", fj.Joint("crank"), **body),
    )
    robot = fj.Robot("press", links)
    assert (robot.n, robot.coordinates, robot.joints[0].name) == (1, (0, 0, 0), "crank")
    np.testing.assert_allclose(robot.joint_positions([0.4]), [3.0 * (0.5 * 0.4 - 0.2) + 0.1, 0.0, 0.4], atol=1e-15)
    found = fj.forward_kinematics(robot, np.array([0.4]), link="carriage")
    angle = 3.0 * (0.5 * 0.4 - 0.2) + 0.1
    np.testing.assert_allclose(found.position, [0.0, 0.0, 0.02 * angle + 0.0], atol=1e-15)
    turning = fj.Link("turning", fj.Joint("turning", mimic=Mimic("slide", 3.0, 0.1)))
    sliding = fj.Link("nut", fj.Joint("nut", "prismatic", mimic=Mimic("turning", 0.02)), "turning", **body)
    split = fj.Robot("press", (turning, sliding, *links[1:]))
    tau = evaluated(lambda *x: through(split, lagrange, *x), *state(robot))
    for made in (robot, split):
        assert relative_error(evaluate(fj.torque_derivatives.function, made, *state(robot))[0], tau) < TIGHT
