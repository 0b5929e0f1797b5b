"""Torques as linear functions of the bodies' parameters: standard and base parameters, on chains and trees."""

import dataclasses

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.robot.random_robots import random_body, random_rotation
from flexjoint.spatial import rotation_y
from support.errors import relative_error
from support.evaluate import Symbolic, evaluate
from support.marks import some_long

ROBOTS = [
    fj.random_robot(3, 1, prismatic=0.0, name="turning_3"),
    fj.random_robot(5, 8, prismatic=0.4, friction=True, name="chain_5"),
    fj.random_robot(7, 3, prismatic=0.3, tree=True, fixed=0.4, friction=True, name="tree_7"),
    fj.random_robot(6, 4, prismatic=0.3, tree=True, orthogonal=True, name="orthogonal_6"),
]


def each(robots, *long):
    return pytest.mark.parametrize("robot", some_long(robots, *long))


def random_state(robot, count, seed=0):
    return np.random.default_rng([seed, robot.n]).normal(size=(count, robot.n))


def bare(robot):
    """Links alone: no friction, no motors."""
    links = [dataclasses.replace(x, joint=dataclasses.replace(x.joint, viscous_friction=0.0)) for x in robot.links]
    return robot.replace(links=links).without_drives()


def with_other_bodies(robot, seed):
    rng = np.random.default_rng(seed)
    return robot.replace(links=[dataclasses.replace(x, **bodies_of(rng)) for x in robot.links])


def bodies_of(rng):
    return dict(zip(("mass", "com", "inertia"), random_body(rng)))


def aligned(kinds, gravity, seed=0, tilt=None, tree=False):
    """Axes of `kinds` R and P parallel, or lying across where lower-case, all tilted alike; general bodies."""
    rng = np.random.default_rng(seed)
    links, across = [], rotation_y(np.pi / 2)
    for i, kind in enumerate(kinds):
        turn = np.eye(3) if kind.isupper() else across
        turn = tilt @ turn if tilt is not None and i == 0 else turn
        name = {"r": "revolute", "p": "prismatic"}[kind.lower()]
        joint = fj.Joint(f"joint{i + 1}", name, rng.uniform(-0.3, 0.3, 3), turn)
        parent = "base" if i == 0 else f"link{int(rng.integers(1, i + 1)) if tree else i}"
        links.append(fj.Link(f"link{i + 1}", joint, parent, *random_body(rng)))
    return fj.Robot(f"{kinds}_{'tree' if tree else 'chain'}", tuple(links), gravity)


DOWN, LEVEL, SLANTED = [0, 0, -9.81], [0, -9.81, 0], [1.0, 2.0, -9.0]
TILT = random_rotation(np.random.default_rng(5))
ALIGNED = {
    "planar 3R": aligned("RRR", LEVEL),
    "planar 3R, gravity along the axes": aligned("RRR", DOWN),
    "planar 4R, slanted gravity": aligned("RRRR", SLANTED, 1),
    "SCARA": aligned("RRPR", DOWN, 2),
    "elbow: two parallel axes behind one": aligned("RrRr", DOWN, 3),
    "parallel axes after two others": aligned("rrRR", SLANTED, 4),
    "sliding along its only axis": aligned("RPR", SLANTED, 5),
    "sliding across, then turning": aligned("RpRp", DOWN, 6),
    "gantry with a wrist": aligned("PpRr", DOWN, 7),
    "tree of parallel axes": aligned("RRRRPR", LEVEL, 8, tree=True),
    "no gravity": aligned("RrR", [0, 0, 0], 9),
    "one joint": aligned("R", DOWN, 10),
    "tilted planar 3R": aligned("RRR", SLANTED, 11, TILT),
    "tilted SCARA": aligned("RRPR", TILT @ DOWN, 12, TILT),
}
ORTHOGONAL = [
    fj.random_robot(
        n, seed, prismatic=0.3, tree=bool(seed % 2), orthogonal=True, fixed=0.2, name=f"orthogonal_{n}_{seed}"
    )
    for n, seed in ((4, 21), (5, 22), (6, 23), (7, 24))
]
REGRESSED = [
    *ROBOTS,
    fj.load("kuka_lwr"),
    fj.random_robot(4, 9, prismatic=1.0, name="sliding_4"),
    *(robot.replace(name=name) for name, robot in ALIGNED.items()),
    *ORTHOGONAL,
]
LONG = ["tilted SCARA", *(robot.name for robot in ORTHOGONAL)]


@each(REGRESSED, *LONG)
def test_torques_are_linear_in_the_parameters(robot):
    """One Y for all bodies the links may have; their torques by the sweep."""
    robot = bare(robot)
    x = random_state(robot, 4)
    Y, Y_base = evaluate(fj.regressor, robot, *x), evaluate(fj.base_regressor, robot, *x)
    base = fj.base_parameters(robot)
    other = with_other_bodies(robot, 0)
    tau = evaluate(fj.dynamics.modified_newton_euler, other, *x)
    assert relative_error(Y @ fj.dynamics.standard_parameters(other), tau) < 1e-13
    assert relative_error(Y_base @ base.of(other), tau) < 1e-13
    assert fj.base_parameters(other).names == base.names


@each(REGRESSED, *LONG)
def test_base_parameters_are_a_basis(robot):
    """As many as the rank of either regressor over many states: nothing is lost, and nothing is there twice."""
    base = fj.base_parameters(robot)
    rng = np.random.default_rng(1)
    ranks = []
    for regressor in (fj.regressor, fj.base_regressor):
        f = Symbolic(regressor, robot, *np.zeros((4, robot.n)))
        rows = [np.reshape(f(*rng.normal(size=(4, robot.n))), (robot.n, -1)) for _ in range(40)]
        ranks.append(np.linalg.matrix_rank(np.vstack(rows), rtol=1e-10))
    assert ranks == [len(base.names)] * 2
    assert base.matrix.shape == (len(base.names), 10 * len(robot.links))


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("planar 3R", "1.h_x 1.h_y 1.I_zz 2.h_x 2.h_y 2.I_zz 3.h_x 3.h_y 3.I_zz"),
        ("planar 3R, gravity along the axes", "1.I_zz 2.h_x 2.h_y 2.I_zz 3.h_x 3.h_y 3.I_zz"),
        ("one joint", "1.I_zz"),
    ],
)
def test_textbook_parameters(name, names):
    """Of parallel axes h_x, h_y and I_zz each; with gravity along them nothing shows the first moment of link 1."""
    assert list(fj.base_parameters(ALIGNED[name]).names) == [f"joint{x}" for x in names.split()]


def test_the_lwr_has_43_base_parameters():
    assert len(fj.base_parameters(fj.load("kuka_lwr")).names) == 43


def test_regressors_compiled():
    robot = ROBOTS[1]
    x = np.random.default_rng(0).normal(size=(4, 3, robot.n))
    Y, Y_base = fj.regressor(robot, *x), fj.base_regressor(robot, *x)
    assert Y.shape == (3, robot.n, 10 * len(robot.links))
    full, base = fj.dynamics.standard_parameters(robot), fj.base_parameters(robot)
    assert relative_error(Y @ full, Y_base @ base.of(robot)) < 1e-13
    tau = fj.inverse_dynamics(bare(robot), x[0], x[1], x[3])
    assert relative_error(fj.regressor(robot, x[0], x[1], x[1], x[3]) @ full, tau) < 1e-13


def test_symbolic_estimates_have_their_own_length():
    robot = ROBOTS[0]
    count = len(fj.base_parameters(robot).names)
    states = [ca.SX.sym("x", robot.n) for _ in range(7)]
    good = [ca.SX.sym("x", count) for _ in range(2)]
    assert fj.control.laws.adaptive_torque(robot, *states, *good).estimate_rate.shape == (count, 1)
    with pytest.raises(fj.InputError, match=r"estimate has shape \(1, 1\), as SX it must be"):
        fj.control.laws.adaptive_torque(robot, *states, good[0], ca.SX.sym("x"))
