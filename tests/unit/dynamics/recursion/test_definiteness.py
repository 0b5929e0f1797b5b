"""Robots whose mass matrix is singular but for rounding are refused wherever accelerations are computed."""

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.dynamics.recursion.definiteness import loose_joint
from flexjoint.spatial import rotation_rpy

TURN, MOUNT = rotation_rpy(0.3, 0.4, 0.5), rotation_rpy(1.1, 0.2, 0.3)


def rod_robot(axial=0.0, drive=None, mass=1.0):
    """An arm whose second joint turns a thin rod about the rod's own axis, given in a frame turned by odd angles."""
    body = np.diag([0.1, 0.1, axial])
    return fj.Robot(
        "rod_robot",
        (
            fj.Link("arm", fj.Joint("shoulder"), mass=1.0, com=[0.1, 0, 0], inertia=0.01 * np.eye(3)),
            fj.Link("spindle", fj.Joint("spin", position=[0.3, 0, 0], rotation=MOUNT, drive=drive), "arm"),
            fj.Link(
                "rod",
                fj.Joint("clamp", "fixed", rotation=TURN),
                "spindle",
                mass,
                TURN.T @ [0, 0, 0.2],
                TURN.T @ body @ TURN,
            ),
        ),
        allow_unphysical=True,
    )


def test_an_inertia_that_is_rounding_is_refused():
    """The element of M is −5e-18 kg m², and the acceleration would be 2e17 rad/s²."""
    robot, q = rod_robot(), np.array([0.2, 0.7])
    assert 0 < abs(fj.mass_matrix(robot, q)[1, 1]) < 1e-16
    for call in (
        lambda: fj.forward_dynamics(robot, q, 0 * q, q),
        lambda: fj.compile(fj.forward_dynamics, robot).operations,
        lambda: fj.simulate(robot, fj.control.OpenLoop(robot), 0 * q, 0.01, start=(q, q, q, q), check=False),
    ):
        with pytest.raises(fj.RobotError, match=r"rod_robot: joint 'spin' moves no inertia, .* link 'spindle'"):
            call()


@pytest.mark.parametrize("robot", [rod_robot(axial=1e-9), rod_robot(drive=fj.RigidDrive(fj.Motor(1e-6)))], ids=str)
def test_a_small_inertia_is_not(robot):
    q = np.array([0.2, 0.7])
    tau = fj.inverse_dynamics(robot, q, q, q)
    assert fj.forward_dynamics(robot, q, q, tau) == pytest.approx(q, rel=1e-4)


def test_a_robot_that_is_singular_in_one_place_is_not():
    """Two point masses' worth of a massless upper arm: singular when straight, as its planar twin in textbooks."""
    links = (
        fj.Link("upper", fj.Joint("shoulder")),
        fj.Link("lower", fj.Joint("elbow", position=[1, 0, 0]), "upper", 1.0, [1, 0, 0]),
    )
    robot = fj.Robot("point", links, allow_unphysical=True)
    assert loose_joint(robot) is None
    assert np.all(np.isfinite(fj.forward_dynamics(robot, [0.0, 1.0], [0.0, 0.0], [1.0, 1.0])))


@pytest.mark.parametrize("seed", range(4))
def test_random_robots_are_definite(seed):
    assert loose_joint(fj.random_robot(8, seed, tree=seed % 2 == 0, fixed=0.3)) is None
