"""Identities of mechanics that hold for every robot, on seeded random chains and trees.

Derivatives are CasADi's; energies, where a test says so, are written here from 4×4 poses and share nothing with
the library's recursions.
"""

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.dynamics.recursion.articulated_body import by_articulated_bodies
from flexjoint.dynamics.recursion.composite_bodies import by_factorization
from support.errors import relative_error
from support.evaluate import evaluate
from support.kinematics import symbolic_poses
from support.lagrange import kinetic, lagrange, potential, pseudo_inertia, rate
from support.marks import some_long

TOLERANCE = 1e-12
TREE = {"tree": True, "fixed": 0.4, "friction": True}


def mixed_drives(robot, seed=0):
    """Nothing, rigid and elastic drives in turn."""
    rng = np.random.default_rng(seed)
    makers = [
        lambda: None,
        lambda: fj.RigidDrive(fj.Motor(float(rng.uniform(0.1, 2.0)))),
        lambda: fj.ElasticDrive(float(rng.uniform(50.0, 500.0)), fj.Motor(float(rng.uniform(0.1, 2.0)))),
    ]
    return robot.with_drives([makers[i % 3]() for i in range(robot.n)])


ROBOTS = [
    fj.random_robot(1, 0, prismatic=0.0, friction=True),
    fj.random_robot(3, 1, prismatic=1.0, friction=True, name="sliding_3"),
    fj.random_robot(4, 2, prismatic=0.4, friction=True),
    fj.random_robot(5, 3, prismatic=0.3, **TREE),
    fj.random_robot(6, 4, prismatic=0.5, **TREE),
    fj.random_robot(6, 5, prismatic=0.3, tree=True, orthogonal=True, fixed=0.3),
]
DRIVEN = [mixed_drives(robot) for robot in ROBOTS]
RIGID_DRIVEN = [robot.rigid() for robot in DRIVEN]


def each(robots=ROBOTS, *long):
    return pytest.mark.parametrize("robot", some_long(robots, *long))


def symbols(robot, count, name="q"):
    return [ca.SX.sym(f"{name}{k}", robot.n) for k in range(count)]


def values(expressions, symbols, seed=0):
    """Numbers of several expressions at one random state."""
    rng = np.random.default_rng(seed)
    state = [ca.DM(rng.normal(size=x.shape)) for x in symbols]
    dense = [ca.densify(ca.SX(x)) for x in expressions]
    return [np.array(x) for x in ca.Function("f", symbols, dense).call(state)]


def same(x, y, symbols, tolerance=TOLERANCE, seed=0):
    found, expected = values([x, y], symbols, seed)
    assert np.max(np.abs(expected)) > 0
    assert relative_error(found, expected) < tolerance


def test_robots_are_various():
    assert {joint.kind.name for robot in ROBOTS for joint in robot.joints} == {"revolute", "prismatic"}
    assert any(len(set(robot.parents)) < len(robot.links) - 1 for robot in ROBOTS)
    assert any(not link.joint.moves for robot in ROBOTS for link in robot.links)
    assert any(any(robot.compliant) and not all(robot.compliant) for robot in DRIVEN)


# Lagrange -----------------------------------------------------------------------------------------------------


@each(RIGID_DRIVEN)
def test_rigid_torque_is_lagranges(robot):
    q, v, a = symbols(robot, 3)
    same(fj.inverse_dynamics(robot, q, v, a), lagrange(robot, q, v, a), [q, v, a])


@each(DRIVEN)
def test_elastic_torque_is_lagranges(robot):
    """θ = q + τ_e/K differentiated twice by CasADi, τ = B θ'' + τ_e."""
    stack = symbols(robot, 5)
    tau = lagrange(robot, *stack[:3])
    second = rate(rate(tau, stack), stack)
    rows = []
    for i, joint in enumerate(robot.joints):
        row = tau[i]
        if isinstance(joint.drive, fj.ElasticDrive):
            row += joint.drive.motor.inertia * (stack[2][i] + second[i] / joint.drive.stiffness)
        rows.append(row)
    same(fj.inverse_dynamics(robot, *stack), ca.vertcat(*rows), stack)


@each()
def test_energies(robot):
    q, v = symbols(robot, 2)
    same(fj.kinetic_energy(robot, q, v), kinetic(robot, q, v), [q, v])
    same(fj.gravity_energy(robot, q), potential(robot, q), [q])


@each()
def test_gravity_torque_is_the_gradient_of_the_potential(robot):
    (q,) = symbols(robot, 1)
    same(fj.gravity_torque(robot, q), ca.gradient(potential(robot, q), q), [q])


@each(RIGID_DRIVEN)
def test_momentum_and_coriolis_torque_from_the_kinetic_energy(robot):
    """p = ∂T/∂v = M v,  c = M' v − ∂T/∂q."""
    q, v = symbols(robot, 2)
    T, M = fj.kinetic_energy(robot, q, v), fj.mass_matrix(robot, q)
    same(fj.generalized_momentum(robot, q, v), ca.gradient(T, v), [q, v])
    same(M @ v, ca.gradient(T, v), [q, v])
    if any(joint.kind.name == "revolute" for joint in robot.joints) and robot.n > 1:
        same(fj.coriolis_torque(robot, q, v), rate(M, [q, v]) @ v - ca.gradient(T, q), [q, v])
    else:
        assert not np.any(values([fj.coriolis_torque(robot, q, v)], [q, v])[0])


# Mass matrix and forward dynamics -------------------------------------------------------------------------------


@each(RIGID_DRIVEN)
def test_mass_matrix_is_the_derivative_of_the_torque(robot):
    q, v, a = symbols(robot, 3)
    same(fj.mass_matrix(robot, q), ca.jacobian(fj.inverse_dynamics(robot, q, v, a), a), [q, v, a])


@each(RIGID_DRIVEN)
def test_mass_matrix_is_symmetric_and_positive(robot):
    q = symbols(robot, 1)
    for seed in range(5):
        (M,) = values([fj.mass_matrix(robot, *q)], q, seed)
        assert np.array_equal(M, M.T)
        np.linalg.cholesky(M)


@each()
def test_mass_matrix_of_branches_is_exactly_zero(robot):
    """Joints on different branches are coupled by nothing, and no operation is spent on them."""
    (q,) = symbols(robot, 1)
    M = fj.mass_matrix(robot, q)
    moving = [i for i, link in enumerate(robot.links) if link.joint.moves]
    for r, i in enumerate(moving):
        for c, j in enumerate(moving):
            if i not in robot.path(j) and j not in robot.path(i):
                assert M[r, c].is_zero()


def loads(robot, order, base=True):
    """Symbols of wrenches on two links and of a moving base."""
    links = dict.fromkeys([robot.tool, robot.links[0].name])
    wrenches = {name: [ca.SX.sym(f"{name}_{k}", 6) for k in range(order + 1)] for name in links}
    motion = fj.BaseMotion(
        [ca.SX.sym(f"w{k}", 3) for k in range(order + 2)], [ca.SX.sym(f"a{k}", 3) for k in range(order + 1)]
    )
    return {"wrenches": wrenches, "base": motion} if base else {"wrenches": wrenches}


def leaves(groups):
    members = [group._asdict() if hasattr(group, "_asdict") else group for group in groups.values()]
    return [x for stacks in members for stack in stacks.values() for x in stack]


@each(RIGID_DRIVEN)
@pytest.mark.parametrize("way", [by_factorization, by_articulated_bodies, fj.forward_dynamics])
def test_forward_after_inverse_dynamics(robot, way):
    q, v, a = symbols(robot, 3)
    groups = loads(robot, 0)
    tau = fj.inverse_dynamics(robot, q, v, a, **groups)
    same(way(robot, q, v, tau, **groups), a, [q, v, a, *leaves(groups)], tolerance=1e-9)


@each(RIGID_DRIVEN)
def test_bias_torque_is_the_torque_without_acceleration(robot):
    q, v, a = symbols(robot, 3)
    groups = loads(robot, 0)
    tau = fj.bias_torque(robot, q, v, **groups) + fj.mass_matrix(robot, q) @ a
    same(fj.inverse_dynamics(robot, q, v, a, **groups), tau, [q, v, a, *leaves(groups)])


# Time derivatives -----------------------------------------------------------------------------------------------


@each(RIGID_DRIVEN[2:], "random_6_5")
@pytest.mark.parametrize("loaded", [False, True])
def test_torque_derivatives_are_derivatives(robot, loaded):
    """Orders 1 to 4, friction, motors and (loaded) wrenches with their absolute derivatives."""
    top = 4
    stack = symbols(robot, top + 3)
    groups = loads(robot, top, base=False) if loaded else {"wrenches": {}}
    wrenches = groups["wrenches"]
    tau = fj.torque_derivatives(robot, *stack, order=top, **groups)
    expected = [fj.inverse_dynamics(robot, *stack[:3], wrenches={k: x[:1] for k, x in wrenches.items()})]
    for _ in range(top):
        expected.append(rate(expected[-1], stack, *wrenches.values()))
    given = [*stack, *leaves(groups)]
    found = values([*tau, *expected], given)
    for k in range(top + 1):
        assert relative_error(found[k], found[k + top + 1]) < TOLERANCE, f"order {k}"


def test_lower_orders_are_the_first_rows():
    robot = ROBOTS[4]
    stack = np.random.default_rng(1).normal(size=(6, robot.n))
    full = evaluate(fj.torque_derivatives, robot, *stack, order=3)
    for order in range(3):
        part = evaluate(fj.torque_derivatives, robot, *stack, order=order)
        assert part.shape == (order + 1, robot.n)
        assert relative_error(part, full[: order + 1]) < TOLERANCE


@each()
def test_power_balance(robot):
    """(T + V)' = vᵀ(τ − D v) + Σ wᵀ(J v): nothing is created or lost."""
    q, v, a = symbols(robot, 3)
    groups = loads(robot, 0, base=False)
    energy = fj.kinetic_energy(robot, q, v) + fj.gravity_energy(robot, q)
    D = ca.DM([joint.viscous_friction for joint in robot.joints])
    tau = fj.inverse_dynamics(robot, q, v, a, **groups)
    power = ca.dot(v, tau - D * v)
    for name, (w,) in groups["wrenches"].items():
        power += ca.dot(w, fj.jacobian(robot, q, link=name) @ v)
    same(rate(energy, [q, v, a]), power, [q, v, a, *leaves(groups)])


# Kinematics -----------------------------------------------------------------------------------------------------


@each()
def test_torque_of_a_wrench(robot):
    """−Jᵀ w, on every link."""
    q, v, a = symbols(robot, 3)
    w = ca.SX.sym("w", 6)
    plain = fj.inverse_dynamics(robot, q, v, a)
    for link in robot.links:
        J = fj.jacobian(robot, q, link=link.name)
        loaded = fj.inverse_dynamics(robot, q, v, a, wrenches={link.name: [w]})
        found, expected = values([loaded - plain, -J.T @ w], [q, v, a, w])
        assert np.max(np.abs(found - expected)) < TOLERANCE * max(1.0, np.max(np.abs(expected)))


@each()
def test_jacobians_differentiate_the_pose(robot):
    """(p', ω) = J v and p'' = J' v + J a and p''' = J'' v + 2 J' a + J a', for every link."""
    stack = symbols(robot, 4)
    q, v, a, jerk = stack
    for link, T in zip(robot.links, symbolic_poses(robot, q)):
        J, J1, J2 = fj.jacobian_derivatives(robot, q, v, a, order=2, link=link.name)
        spin = rate(T[:3, :3], stack) @ T[:3, :3].T
        first = ca.vertcat(rate(T[:3, 3], stack), spin[2, 1], spin[0, 2], spin[1, 0])
        second = rate(first, stack)
        third = rate(second, stack)
        pose = fj.forward_kinematics(robot, q, link=link.name)
        ours = [ca.horzcat(pose.rotation, pose.position), J @ v, J1 @ v + J @ a, J2 @ v + 2 * J1 @ a + J @ jerk]
        found = values([*ours, T[:3, :], first, second, third], stack)
        for x, y in zip(found[:4], found[4:]):
            assert np.max(np.abs(x - y)) < TOLERANCE * max(1.0, np.max(np.abs(y)))


@each()
def test_derivatives_of_the_pose_to_the_fourth_order(robot):
    """[R p] and its derivatives against automatic differentiation of 4×4 poses, for every link."""
    stack = symbols(robot, 5)
    for link, T in zip(robot.links, symbolic_poses(robot, stack[0])):
        wanted = [T[:3, :]]
        for _ in range(4):
            wanted.append(rate(wanted[-1], stack))
        found = values([*fj.dynamics.pose_derivatives(robot, *stack, order=4, link=link.name), *wanted], stack)
        for x, y in zip(found[:5], found[5:]):
            assert np.max(np.abs(x - y)) < TOLERANCE * max(1.0, np.max(np.abs(y)))


# Newton and Euler -----------------------------------------------------------------------------------------------


@each()
def test_the_base_carries_what_the_momentum_needs(robot):
    """Momentum' = reactions of the base + weight + wrenches, linear and about the base origin; inner forces cancel."""
    stack = symbols(robot, 3)
    q = stack[0]
    groups = loads(robot, 0, base=False)
    linear, angular = fj.spatial_momentum(robot, *stack[:2])
    force, moment = rate(linear, stack), rate(angular, stack)
    rows = fj.joint_wrenches(robot, *stack, **groups)
    g = ca.DM(robot.gravity)
    for i, (link, T) in enumerate(zip(robot.links, symbolic_poses(robot, q))):
        R, p = T[:3, :3], T[:3, 3]
        forces = [(link.mass * g, p + R @ ca.DM(link.com), 0)]
        if link.name in groups["wrenches"]:
            (w,) = groups["wrenches"][link.name]
            forces.append((w[:3], p, w[3:]))
        if link.parent == "base":
            forces.append((R @ rows[i, :3].T, p, R @ rows[i, 3:].T))
        for f, point, n in forces:
            force -= f
            moment -= n + ca.cross(point, f)
    left, scale = values([ca.vertcat(force, moment), rows], [*stack, *leaves(groups)])
    assert np.max(np.abs(left)) < TOLERANCE * max(1.0, np.max(np.abs(scale)))


@each()
def test_momentum_from_poses(robot):
    q, v = symbols(robot, 2)
    linear, angular = fj.spatial_momentum(robot, q, v)
    l, k = ca.SX.zeros(3), ca.SX.zeros(3)
    for link, T in zip(robot.links, symbolic_poses(robot, q)):
        P = T[:3, :] @ pseudo_inertia(link) @ rate(T, [q, v])[:3, :].T  # ∫ x x'ᵀ dm
        l += rate(T, [q, v])[:3, :] @ pseudo_inertia(link)[:, 3]
        k += ca.vertcat(P[1, 2] - P[2, 1], P[2, 0] - P[0, 2], P[0, 1] - P[1, 0])
    found = values([linear, angular, l, k], [q, v])
    for x, y in zip(found[:2], found[2:]):
        assert np.max(np.abs(x - y)) < TOLERANCE * max(1.0, np.max(np.abs(y)))
