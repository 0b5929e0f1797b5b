"""What two-velocity products, Coriolis matrices and regressors have to satisfy, on random chains and trees."""

import dataclasses

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.dynamics.recursion.bodies import moving_bodies
from flexjoint.dynamics.recursion.coriolis_columns import by_projection, by_walking, columns
from flexjoint.dynamics.recursion.kinematics import velocities
from flexjoint.robot.random_robots import random_body
from flexjoint.spatial import time_derivative
from support.errors import relative_error
from support.evaluate import Symbolic, evaluate
from support.marks import some_long

TREE = {"tree": True, "fixed": 0.4, "friction": True}
ROBOTS = [
    fj.random_robot(3, 1, prismatic=0.0, name="turning_3"),
    fj.random_robot(5, 8, prismatic=0.4, friction=True, name="chain_5"),
    fj.random_robot(7, 3, prismatic=0.3, **TREE, name="tree_7"),
    fj.random_robot(6, 4, prismatic=0.3, tree=True, orthogonal=True, name="orthogonal_6"),
]
LARGE = [fj.random_robot(n, n, prismatic=0.3, **TREE, name=f"tree_{n}") for n in (12, 30)]
VARIANTS = ["christoffel", "0001", "1110"]


def each(robots=ROBOTS, *long):
    return pytest.mark.parametrize("robot", some_long(robots, *long))


def random_state(robot, count, seed=0):
    return np.random.default_rng([seed, robot.n]).normal(size=(count, robot.n))


@each(ROBOTS + LARGE, "tree_30")
@pytest.mark.parametrize("variant", VARIANTS)
def test_inertia_changes_by_C_and_its_transpose(robot, variant):
    q, v = random_state(robot, 2)
    rate = evaluate(lambda r, q, v: time_derivative(fj.mass_matrix(r, q), [q, v]), robot, q, v)
    C = evaluate(fj.coriolis_matrix, robot, q, v, variant=variant)
    assert relative_error(C + C.T, rate) < 1e-13


@each()
@pytest.mark.parametrize("variant", VARIANTS)
def test_matrix_and_product(robot, variant):
    q, v, v_a = random_state(robot, 3)
    C = evaluate(fj.coriolis_matrix, robot, q, v, variant=variant)
    assert relative_error(evaluate(fj.coriolis_product, robot, q, v, v_a, variant=variant), C @ v_a) < 1e-13
    assert relative_error(C @ v, evaluate(fj.coriolis_torque, robot, q, v)) < 1e-13
    assert relative_error(C.T @ v, evaluate(fj.coriolis_transpose_product, robot, q, v)) < 1e-12


@each()
def test_variants_mirror_each_other(robot):
    """C_0001(x) y = C_1110(y) x, and their mean is Christoffel's."""
    q, x, y = random_state(robot, 3)
    first, second = (Symbolic(fj.coriolis_product, robot, q, x, y, variant=name) for name in ("0001", "1110"))
    assert relative_error(first(q, x, y), second(q, y, x)) < 1e-13
    mean = evaluate(fj.coriolis_product, robot, q, x, y)
    assert relative_error((first(q, x, y) + second(q, x, y)) / 2, mean) < 1e-13


@each()
def test_christoffel_is_the_polarized_torque(robot):
    """C(x) y = ¼ [c(x + y) − c(x − y)], c by the sweep for one velocity."""
    q, x, y = random_state(robot, 3)
    c = Symbolic(fj.coriolis_torque, robot, q, x)
    found = evaluate(fj.coriolis_product, robot, q, x, y)
    assert relative_error(found, (c(q, x + y) - c(q, x - y)) / 4) < 1e-13


@each([robot.with_drives([fj.RigidDrive(fj.Motor(0.3))] * robot.n) for robot in ROBOTS])
@pytest.mark.parametrize("variant", VARIANTS)
def test_equal_velocities_give_inverse_dynamics(robot, variant):
    """[DeLuca (17)], with friction and motors."""
    q, v, a = random_state(robot, 3)
    found = evaluate(fj.dynamics.modified_newton_euler, robot, q, v, v, a, variant=variant)
    assert relative_error(found, evaluate(fj.inverse_dynamics, robot, q, v, a)) < 1e-13


@pytest.mark.parametrize(("kinds", "one"), [("RR", True), ("RPR", True), ("RRR", False)])
def test_two_axes_have_one_matrix(kinds, one):
    """The variants differ where a body turns about three independent axes."""
    robot = fj.random_robot(len(kinds), 0, prismatic=0.0)
    names = {"R": "revolute", "P": "prismatic"}
    joints = [dataclasses.replace(x.joint, kind=names[kind]) for x, kind in zip(robot.links, kinds)]
    robot = robot.replace(links=[dataclasses.replace(x, joint=joint) for x, joint in zip(robot.links, joints)])
    q, v = random_state(robot, 2)
    error = relative_error(*(evaluate(fj.coriolis_matrix, robot, q, v, variant=x) for x in ("0001", "1110")))
    assert error < 1e-14 if one else error > 1e-3


@each()
def test_a_payload_is_part_of_its_link(robot):
    """However a body is described, C is one: a further body on a fixed joint, or its inertia added to the link's."""
    rng = np.random.default_rng(0)
    mass, com, inertia = random_body(rng)
    link = robot.links[robot.link_index()]
    if not link.joint.moves:
        pytest.skip("the tool is fixed itself")
    total = link.mass + mass
    centre = (link.mass * link.com + mass * com) / total

    def about(m, c, I):
        d = c - centre
        return I + m * (d @ d * np.eye(3) - np.outer(d, d))

    merged = about(link.mass, link.com, link.inertia) + about(mass, com, inertia)
    heavier = dataclasses.replace(link, mass=total, com=centre, inertia=merged)
    one = robot.replace(links=[heavier if x is link else x for x in robot.links])
    two = robot.with_payload(mass, com, inertia)
    q, v = random_state(robot, 2)
    for variant in VARIANTS:
        found, expected = (evaluate(fj.coriolis_matrix, x, q, v, variant=variant) for x in (two, one))
        assert relative_error(found, expected) < 1e-13


@each(ROBOTS + LARGE[:1])
def test_both_ways_to_the_matrix(robot):
    def way(function):
        def matrix(robot, q, v):
            tree = moving_bodies(robot)
            motions = velocities(tree, q, v)
            return function(tree, q, motions, columns(robot, tree, q, motions, "1110"))

        return evaluate(matrix, robot, *random_state(robot, 2))

    assert relative_error(way(by_walking), way(by_projection)) < 1e-13


def test_unknown_variants_are_refused():
    robot = ROBOTS[0]
    for variant in ("0000", "christoffels", ""):
        with pytest.raises(fj.InputError, match="choose one of christoffel, 0001, 1110"):
            fj.coriolis_matrix(robot, *random_state(robot, 2), variant=variant)
    with pytest.raises(fj.InputError, match="variant must be a name, not 1"):
        fj.coriolis_matrix(robot, *random_state(robot, 2), variant=1)
