"""Different descriptions of one mechanism: regrouped, lumped, relabelled, turned, loaded."""

import dataclasses

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.dynamics.recursion.bodies import lump_fixed, moving_bodies
from flexjoint.dynamics.recursion.newton_euler import newton_euler
from flexjoint.robot.random_robots import random_body, random_rotation
from flexjoint.spatial import sx
from support.errors import relative_error
from support.evaluate import Symbolic, evaluate

TOLERANCE = 1e-12
ROBOTS = [
    fj.random_robot(4, 1, prismatic=0.5, fixed=0.4),
    fj.random_robot(3, 2, prismatic=1.0, fixed=0.4, name="sliding_3"),
    fj.random_robot(7, 3, prismatic=0.3, tree=True, fixed=0.4),
    fj.random_robot(8, 4, prismatic=0.5, tree=True, fixed=0.4),
]


def each(robots=ROBOTS):
    return pytest.mark.parametrize("robot", robots, ids=[robot.name for robot in robots])


def random_state(robot, count=3, seed=0):
    return np.random.default_rng(seed).normal(size=(count, robot.n))


def joint_forces(tree_of, order):
    """A function (robot, *stack, groups) of torques and wrenches by `newton_euler` on the bodies of `tree_of`."""

    def function(robot, *stack, base=None):
        tree = tree_of(robot)
        groups = base._asdict() if base is not None else None
        _, loads = newton_euler(tree, stack, sx(robot.gravity), order, groups)
        F, N = zip(*loads)
        rows = []
        for k in range(order + 1):
            torque = [(N if b.screw.turns else F)[i][k][2] for i, b in enumerate(tree)]
            wrench = [x for i in range(len(tree)) for x in (F[i][k], N[i][k])]
            rows.append(ca.vertcat(*torque, *wrench))
        return rows

    return function


@each()
@pytest.mark.parametrize("order", [0, 2])
@pytest.mark.parametrize("moving", [False, True])
def test_regrouping_leaves_torques_alone(robot, order, moving):
    """... and changes the inner wrenches, or it would not have regrouped anything."""
    stack = random_state(robot, order + 3)
    rng = np.random.default_rng(1)
    base = fj.BaseMotion(rng.normal(size=(order + 2, 3)), rng.normal(size=(order + 1, 3)))
    groups = {"base": base} if moving else {}
    plain = evaluate(joint_forces(lump_fixed, order), robot, *stack, **groups)
    regrouped = evaluate(joint_forces(moving_bodies, order), robot, *stack, **groups)
    for x, y in zip(regrouped, plain):
        assert relative_error(x[: robot.n], y[: robot.n]) < TOLERANCE
        if moving or any(joint.kind.name == "revolute" for joint in robot.joints):  # else no body ever turns
            assert relative_error(x[robot.n :], y[robot.n :]) > 1e-6


@each()
def test_regrouping_empties_what_the_joint_cannot_feel(robot):
    for body in moving_bodies(robot):
        m, h, Sigma = body.inertia
        if body.screw.turns:
            assert m.is_zero() and h[2].is_zero() and Sigma[2, 2].is_zero()
        else:
            assert Sigma.nnz() == 0 or ca.SX(Sigma).is_zero()


# Fixed links ----------------------------------------------------------------------------------------------------


def inertia_about_origin(link):
    c = np.array(link.com)
    return link.inertia + link.mass * (c @ c * np.eye(3) - np.outer(c, c))


def merged(first, second, R, p):
    """One link from two: `second` held by `first` at R, p.  Masses add, inertias by the parallel-axis theorem."""
    m = first.mass + second.mass
    c2 = p + R @ second.com
    com = (first.mass * np.array(first.com) + second.mass * c2) / m
    I2 = R @ second.inertia @ R.T + second.mass * (c2 @ c2 * np.eye(3) - np.outer(c2, c2))
    I = inertia_about_origin(first) + I2 - m * (com @ com * np.eye(3) - np.outer(com, com))
    return dataclasses.replace(first, mass=m, com=com, inertia=(I + I.T) / 2)


def without_fixed_links(robot):
    """The same robot with one link a moving joint, merged in plain NumPy."""
    links, home = [], {"base": ("base", np.eye(3), np.zeros(3))}
    for link in robot.links:
        holder, R, p = home[link.parent]
        R, p = R @ link.joint.rotation, p + R @ link.joint.position
        if link.joint.moves:
            joint = dataclasses.replace(link.joint, rotation=R, position=p)
            links.append(dataclasses.replace(link, joint=joint, parent=holder))
            home[link.name] = (link.name, np.eye(3), np.zeros(3))
        else:
            home[link.name] = (holder, R, p)
            k = next((k for k, x in enumerate(links) if x.name == holder), None)
            if k is not None and link.mass:
                links[k] = merged(links[k], link, R, p)
    return fj.Robot("merged", tuple(links), robot.gravity)


@each()
def test_fixed_links_are_part_of_their_carrier(robot):
    assert len(robot.links) > robot.n
    other = without_fixed_links(robot)
    assert len(other.links) == other.n == robot.n
    q, v, a = random_state(robot)
    pairs = [
        (fj.inverse_dynamics, (q, v, a)),
        (fj.mass_matrix, (q,)),
        (fj.kinetic_energy, (q, v)),
        (fj.generalized_momentum, (q, v)),
    ]
    for algorithm, arrays in pairs:
        assert relative_error(evaluate(algorithm, robot, *arrays), evaluate(algorithm, other, *arrays)) < TOLERANCE


@each()
def test_payload_is_a_link_more(robot):
    rng = np.random.default_rng(7)
    mass, com, inertia = random_body(rng)
    loaded = robot.with_payload(mass, com, inertia)
    joint = fj.Joint("grip", "fixed")
    added = robot.replace(links=(*robot.links, fj.Link("load", joint, robot.tool, mass, com, inertia)), tool=robot.tool)
    by_hand = without_fixed_links(added)
    state = random_state(robot)
    found = evaluate(fj.inverse_dynamics, loaded, *state)
    assert relative_error(found, evaluate(fj.inverse_dynamics, added, *state)) == 0
    assert relative_error(found, evaluate(fj.inverse_dynamics, by_hand, *state)) < TOLERANCE
    assert relative_error(found, evaluate(fj.inverse_dynamics, robot, *state)) > 1e-3


@each()
def test_point_payload_is_a_force(robot):
    """A point mass at rest pulls with its weight: −Jᵀ (m g, com × m g)."""
    (q,) = random_state(robot, 1)
    com = np.array([0.1, -0.2, 0.3])
    loaded = robot.with_payload(2.0, com)
    pose, J = evaluate(fj.forward_kinematics, robot, q), evaluate(fj.jacobian, robot, q)
    weight = 2.0 * robot.gravity
    wrench = np.concatenate([weight, np.cross(pose.rotation @ com, weight)])
    found = evaluate(fj.gravity_torque, loaded, q)
    assert relative_error(found, evaluate(fj.gravity_torque, robot, q) - J.T @ wrench) < TOLERANCE


# Gravity and frames -----------------------------------------------------------------------------------------------


@each()
@pytest.mark.parametrize("order", [0, 1, 2])
def test_gravity_is_an_acceleration_upwards(robot, order):
    stack = random_state(robot, order + 3)
    still = np.zeros((order + 2, 3))
    lifted = np.zeros((order + 1, 3))
    lifted[0] = -robot.gravity
    found = evaluate(
        fj.torque_derivatives,
        robot.with_gravity([0, 0, 0]),
        *stack,
        order=order,
        base=fj.BaseMotion(list(still), list(lifted)),
    )
    assert relative_error(found, evaluate(fj.torque_derivatives, robot, *stack, order=order)) < TOLERANCE


@each()
def test_a_tilted_base_is_a_tilted_gravity(robot):
    R = random_rotation(np.random.default_rng(3))
    foot = fj.Link("foot", fj.Joint("floor", "fixed", (1.0, 2.0, 3.0), R))
    hung = [dataclasses.replace(x, parent="foot") if x.parent == "base" else x for x in robot.links]
    mounted = robot.replace(links=(foot, *hung))
    state = random_state(robot)
    expected = evaluate(fj.inverse_dynamics, robot.with_gravity(R.T @ robot.gravity), *state)
    assert relative_error(evaluate(fj.inverse_dynamics, mounted, *state), expected) < TOLERANCE
    q = state[0]
    there, here = evaluate(fj.forward_kinematics, mounted, q), evaluate(fj.forward_kinematics, robot, q)
    assert np.allclose(there.position, R @ here.position + [1.0, 2.0, 3.0], atol=1e-13)
    assert np.allclose(there.rotation, R @ here.rotation, atol=1e-13)


@each(ROBOTS[2:])
def test_the_order_of_branches_does_not_matter(robot):
    """Links listed in another order, parents still first: the same torques, permuted."""
    rng = np.random.default_rng(4)
    shuffled = fj.robot.parents_first([robot.links[i] for i in rng.permutation(len(robot.links))])
    other = robot.replace(links=tuple(shuffled))
    names = [joint.name for joint in robot.joints]
    order = [names.index(joint.name) for joint in other.joints]
    assert order != sorted(order)
    q, v, a = random_state(robot)
    tau = evaluate(fj.inverse_dynamics, robot, q, v, a)
    assert relative_error(evaluate(fj.inverse_dynamics, other, q[order], v[order], a[order]), tau[order]) < TOLERANCE
    M = evaluate(fj.mass_matrix, robot, q)
    assert relative_error(evaluate(fj.mass_matrix, other, q[order]), M[np.ix_(order, order)]) < TOLERANCE
    found = evaluate(fj.forward_dynamics, other, q[order], v[order], tau[order])
    assert relative_error(found, a[order]) < 1e-9


# Drives -----------------------------------------------------------------------------------------------------------


def test_stiff_springs_tend_to_rigid_joints():
    """The distance to the rigid robot falls as 1/K, on every joint."""
    robot = ROBOTS[2]
    stack = random_state(robot, 5)

    def torque(make):
        return evaluate(fj.inverse_dynamics, robot.with_drives([make(fj.Motor(0.7))] * robot.n), *stack)

    rigid = torque(fj.RigidDrive)
    gaps = [torque(lambda motor, K=K: fj.ElasticDrive(K, motor)) - rigid for K in (1e2, 1e3, 1e4)]
    assert np.all(np.abs(gaps[0]) > 1e-4)
    for near, far in zip(gaps[1:], gaps):
        assert np.allclose(near, far / 10, rtol=1e-6)


def test_only_elastic_joints_feel_their_springs():
    """With one elastic joint the other torques are those of the rigid robot."""
    robot = ROBOTS[2]
    motors = [fj.Motor(0.1 + 0.1 * i) for i in range(robot.n)]
    stack = random_state(robot, 5)
    rigid = evaluate(fj.inverse_dynamics, robot.with_drives([fj.RigidDrive(m) for m in motors]), *stack)
    for k in range(robot.n):
        drives = [fj.ElasticDrive(300.0, m) if i == k else fj.RigidDrive(m) for i, m in enumerate(motors)]
        f = Symbolic(fj.inverse_dynamics, robot.with_drives(drives), *stack)
        changed = np.abs(f(*stack) - rigid) > 1e-12 * np.max(np.abs(rigid))
        assert list(np.flatnonzero(changed)) == [k]
