"""Wrenches from residuals, and the link that was hit."""

import numpy as np
import pytest

import flexjoint as fj

LWR = fj.load("kuka_lwr")
Q = np.array([0.3, 0.5, -0.2, 0.9, 0.4, -0.7, 0.1])
W = np.array([3.0, -4.0, 5.0, 0.3, -0.2, 0.6])


def torques(robot, q, link, w):
    """Jᵀw as inverse dynamics says: what motors need less."""
    zero = np.zeros(robot.n)
    rigid = robot.without_drives()
    return fj.gravity_torque(rigid, q) - fj.inverse_dynamics(rigid, q, zero, zero, wrenches={link: [w]})


def test_a_wrench_on_the_tool_is_found():
    found = fj.observers.external_wrench(LWR, Q, torques(LWR, Q, LWR.tool, W))
    assert np.allclose(found.wrench, W, rtol=1e-9)
    assert found.rank == 6 and found.unobservable_directions() == []
    assert np.max(np.abs(found.unexplained)) < 1e-12 and np.max(np.abs(found.unobservable)) < 1e-12


def test_what_is_not_felt_is_named():
    """A planar arm in x and y feels f_x, f_y and n_z at its tip, stretched along x not even f_x."""
    links = [
        fj.Link("upper", fj.Joint("shoulder"), mass=1.0),
        fj.Link("lower", fj.Joint("elbow", position=[0.5, 0, 0]), "upper", 1.0),
        fj.Link("hand", fj.Joint("wrist", position=[0.4, 0, 0]), "lower", 1.0),
        fj.Link("tip", fj.Joint("tip", "fixed", position=[0.3, 0, 0]), "hand"),
    ]
    arm = fj.Robot("planar", tuple(links), gravity=np.zeros(3), allow_unphysical=True)
    w = np.array([1.0, 2.0, 7.0, 8.0, 9.0, 3.0])
    bent, straight = np.array([0.2, 0.8, -0.5]), np.zeros(3)
    found = fj.observers.external_wrench(arm, bent, torques(arm, bent, "tip", w))
    assert found.rank == 3
    assert sorted(found.unobservable_directions()) == ["1.00 f_z", "1.00 n_x", "1.00 n_y"]
    assert np.allclose(found.wrench, [1.0, 2.0, 0.0, 0.0, 0.0, 3.0], atol=1e-12)
    found = fj.observers.external_wrench(arm, straight, torques(arm, straight, "tip", w))
    assert found.rank == 2
    assert sorted(found.unobservable_directions()) == ["1.00 f_x", "1.00 f_z", "1.00 n_x", "1.00 n_y"]
    assert np.allclose(found.wrench, [0.0, 2.0, 0.0, 0.0, 0.0, 3.0], atol=1e-12)
    assert np.allclose(found.unexplained, 0, atol=1e-12)


def test_what_no_wrench_on_the_link_explains_is_left_over():
    """Torques at joints beyond the link, of which it knows nothing."""
    r = torques(LWR, Q, LWR.links[2].name, W) + np.array([0, 0, 0, 0, 2.0, 0, 1.0])
    found = fj.observers.external_wrench(LWR, Q, r, link=LWR.links[2].name)
    assert found.rank == 3
    J = fj.jacobian(LWR, Q, link=LWR.links[2].name)
    assert np.max(np.abs(J.T @ found.unobservable)) < 1e-12
    assert np.allclose(found.unobservable @ found.wrench, 0, atol=1e-12)
    assert np.linalg.matrix_rank(found.unobservable) == 3 == len(found.unobservable_directions())
    assert np.allclose(found.unexplained, [0, 0, 0, 0, 2.0, 0, 1.0], atol=1e-12)


def test_batches():
    r = np.stack([torques(LWR, Q, LWR.tool, k * W) for k in range(3)])
    found = fj.observers.external_wrench(LWR, np.tile(Q, (3, 1)), r)
    assert np.allclose(found.wrench, np.outer(range(3), W))
    with pytest.raises(fj.InputError, match="describes one estimate"):
        found.unobservable_directions()


@pytest.mark.parametrize("link", range(7))
def test_the_last_joint_that_felt_it(link):
    r = torques(LWR, Q, LWR.links[link].name, W)
    alarms = np.abs(r) > 1e-9
    assert fj.observers.struck_links(LWR, alarms) == [LWR.links[link].name]


def test_branches_are_told_apart():
    links = [
        fj.Link("trunk", fj.Joint("a"), mass=1.0),
        fj.Link("left", fj.Joint("b"), "trunk", 1.0),
        fj.Link("plate", fj.Joint("p", "fixed"), "trunk", 1.0),
        fj.Link("right", fj.Joint("c"), "plate", 1.0),
    ]
    robot = fj.Robot("two arms", tuple(links), allow_unphysical=True)
    assert fj.observers.struck_links(robot, [1, 1, 0]) == ["left"]
    assert fj.observers.struck_links(robot, [1, 1, 1]) == ["left", "right"]
    assert fj.observers.struck_links(robot, [1, 0, 0]) == ["trunk"]
    assert fj.observers.struck_links(robot, [0, 0, 1]) == ["right"]
    assert fj.observers.struck_links(robot, [0, 0, 0]) == []
    with pytest.raises(fj.InputError, match="give one per joint"):
        fj.observers.struck_links(robot, [1, 0])


def test_a_residual_that_is_no_number_is_refused():
    with pytest.raises(fj.InputError, match=r"the residual is .*nan.* must be finite"):
        fj.observers.external_wrench(LWR, Q, [0.0, np.nan, 0.0, 0.0, 0.0, 0.0, 0.0])
    with pytest.raises(fj.InputError, match="struck_links: alarms"):
        fj.observers.struck_links(LWR, [0, 0, np.nan, 0, 0, 0, 0])


def test_a_detector_watches_something():
    with pytest.raises(fj.InputError, match="Detector: give thresholds for one or more of residual"):
        fj.observers.Detector(fj.observers.MomentumResidual(fj.load("dlr_lwr3"), 30.0), {})
