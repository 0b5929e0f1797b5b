"""Joint motions along Cartesian paths: on the path and smooth, by forward kinematics that share no code with them."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

import flexjoint as fj
from support.multiprecision_paths import differences, geodesic, numbers, pose
from support.panda import flange

Pose, Line, Arc = fj.kinematics.Pose, fj.trajectory.Line, fj.trajectory.Arc
PANDA, UR = fj.load("panda"), fj.load("ur5e")
Q = np.deg2rad([0.0, -30.0, 0.0, -120.0, 0.0, 90.0, 45.0])
AT_Q = fj.forward_kinematics(PANDA, Q)
WAY = np.array([0.1, 0.3, -0.2])
TURN = Pose.from_rpy([0.0, 0.0, 0.0], [0.2, -0.3, 0.5])
GOAL = Pose(AT_Q.position + WAY, AT_Q.rotation @ TURN.rotation)


def motion(robot=PANDA, path=None, start=Q, **options):
    options = options if {"duration", "speed", "law"} & set(options) else {"duration": 2.0, **options}
    return fj.trajectory.CartesianMotion(robot, path or Line(AT_Q, GOAL), start, **options)


def on_the_line(t):
    """[R p] of the flange in multiprecision, with the share 35 x⁴ − 84 x⁵ + 70 x⁶ − 20 x⁷ of the way at x = t / 2 s."""
    x = t / 2
    share = 35 * x**4 - 84 * x**5 + 70 * x**6 - 20 * x**7
    p = numbers(AT_Q.position) + share * (numbers(GOAL.position) - numbers(AT_Q.position))
    return pose(geodesic(AT_Q.rotation, GOAL.rotation, share), p)


@pytest.fixture(scope="module")
def line():
    return motion()


# On the path --------------------------------------------------------------------------------------------------------


def test_a_line_of_the_panda_is_straight_to_rounding(line):
    """At random times, between the knots, by the DH table of its maker in 30 digits."""
    times = np.random.default_rng(0).uniform(0.0, 2.0, 40)
    with mp.workdps(30):
        for t, q in zip(times, line(times)[0]):
            apart = flange(numbers(q))[:3, :] - on_the_line(mp.mpf(float(t)))
            assert mp.norm(apart[:, 3]) < 1e-15 and mp.mnorm(apart[:, :3], "f") < 2e-15
    error = line.path_error
    assert error.position < 1e-15 and error.rotation < 2e-15 and error.bound == 1e-10
    assert np.max(np.abs(line(0.0)[0] - Q)) < 1e-15


def test_derivatives_to_the_fourth_order_give_those_of_the_pose(line):
    """Taylor polynomials of q, through the DH table in 60 digits, have the derivatives of the pose on the line."""
    with mp.workdps(60):
        for t in (0.31, 1.0, 1.74):
            stack = [numbers(x) for x in line(t, 4)]

            def moved(h, stack=stack):
                q = stack[0]
                for k in range(1, 5):
                    q = q + stack[k] * (h**k / mp.factorial(k))
                return flange(q)[:3, :]

            for found, wanted in zip(differences(moved, 0), differences(on_the_line, t)):
                assert np.max(np.abs(found - wanted)) < 1e-12 * max(1.0, np.max(np.abs(wanted)))


@pytest.mark.parametrize(
    ("options", "rows"),
    [
        ({}, "all"),
        ({"orientation": "z"}, "axis"),
        ({"orientation": "free"}, "position"),
        ({"hold": ["panda_joint3"]}, "all"),
    ],
    ids=["full", "axis", "free", "hold"],
)
def test_what_the_path_prescribes_is_met(options, rows):
    """With a frame on the link and the base of the robot anywhere in the world."""
    frame, base = Pose.from_rpy([0.05, 0.0, 0.1], [0.0, 0.5, 0.0]), Pose.from_rpy([1.0, 2.0, 0.3], [0.1, 0.2, 1.0])
    first = base @ Pose(AT_Q.position, AT_Q.rotation) @ frame
    path = Line(first, Pose(first.position + np.array([0.0, 0.2, -0.1]), first.rotation @ TURN.rotation))
    found = motion(path=path, frame=frame, base=base, limits=False, **options)
    t = np.linspace(0.0, 2.0, 33)
    at = fj.forward_kinematics(PANDA, found(t)[0])
    reached, wanted = (
        base @ Pose(at.position, at.rotation) @ frame,
        path.pose(np.clip(found.along(t)[0, :, 0], 0, path.length)),
    )
    assert np.max(np.abs(reached.position - wanted.position)) < 4e-15
    if rows != "position":
        axes = [2] if rows == "axis" else [0, 1, 2]
        assert np.max(np.abs(reached.rotation[..., axes] - wanted.rotation[..., axes])) < 4e-15
    if rows == "axis":
        assert np.max(np.abs(reached.rotation - wanted.rotation)) > 1e-3
    if "hold" in options:
        assert np.all(found(t)[0][:, 2] == Q[2])
    h = 1e-5
    for k in range(4):
        slope = (found(t[1:-1] + h, 4)[k] - found(t[1:-1] - h, 4)[k]) / (2 * h)
        assert np.max(np.abs(slope - found(t[1:-1], 4)[k + 1])) < 1e-6 * np.max(
            np.abs(found(t, 5 if k == 4 else 4)[k + 1])
        )


# Redundant arms -----------------------------------------------------------------------------------------------------


def test_a_redundant_arm_moves_as_little_as_it_can(line):
    """Along the path the joints travel hardly further than by least-norm steps, and far less than by other choices."""
    t = np.linspace(0.0, 2.0, 2001)
    q = line(t)[0]
    J = fj.jacobian(PANDA, q)
    speed = line(t)[1]
    least = np.einsum("mij,mj->mi", np.linalg.pinv(J), np.einsum("mij,mj->mi", J, speed))

    def travel(x):
        return np.sum(np.linalg.norm(x, axis=1))

    assert travel(least) <= travel(speed) < 1.002 * travel(least)
    held = motion(hold=["panda_joint5"], limits=False)(t)[1]
    assert travel(held) > 1.01 * travel(speed)


def test_a_posture_draws_the_arm_towards_it(line):
    posture = Q + np.array([0.6, 0.0, -0.6, 0.0, 0.0, 0.0, 0.0])
    drawn = motion(posture=posture, limits=False)
    assert np.linalg.norm(drawn(2.0)[0] - posture) < np.linalg.norm(line(2.0)[0] - posture) - 0.05
    assert drawn.path_error.position < 1e-14
    assert np.allclose(drawn(0.0)[0], Q, atol=1e-14)


def test_the_other_arm_of_a_tree_keeps_still():
    tree = fj.random_robot(9, 4, tree=True, prismatic=0.0, elastic=0.5)
    depth = [len(tree.path(i)) for i in range(len(tree.links))]
    link = tree.links[int(np.argmax(depth))].name
    q = np.linspace(-0.5, 0.7, tree.n)
    first = fj.forward_kinematics(tree, q, link=link)
    J = fj.jacobian(tree, q, link=link)
    way = J[:3] @ np.full(tree.n, 0.05)
    found = motion(tree, Line(first, first.position + way), q, link=link, orientation="free")
    t = np.linspace(0.0, 2.0, 11)
    still = ~np.any(J, axis=0)
    assert still.any() and np.all(found(t, 0)[0][:, still] == q[still])
    reached = fj.forward_kinematics(tree, found(t, 0)[0], link=link).position
    assert np.max(np.abs(reached - found.poses(t).position)) < 1e-14


def test_planar_arms_follow_poses_in_their_plane():
    """A planar 3R moves in three of six coordinates; a path that leaves the plane is refused."""
    bodies = {"mass": [1.0] * 3, "com": [[-0.1, 0, 0]] * 3, "inertia": [0.1 * np.eye(3)] * 3}
    arm = fj.from_dh("planar_3r", alpha=[0, 0, 0], a=[0.5, 0.4, 0.2], d=[0, 0, 0], **bodies)
    q = [0.3, 0.8, -0.4]
    first = fj.forward_kinematics(arm, q)
    found = motion(arm, Line(first, first.position + np.array([-0.1, 0.2, 0.0])), q)
    t = np.linspace(0.0, 2.0, 11)
    x, y, z = found(t, 0)[0].T
    tip = 0.5 * np.exp(1j * x) + 0.4 * np.exp(1j * (x + y)) + 0.2 * np.exp(1j * (x + y + z))
    assert np.max(np.abs(tip - (found.poses(t).position[:, 0] + 1j * found.poses(t).position[:, 1]))) < 1e-14
    assert np.allclose(x + y + z, 0.7, atol=1e-14)
    with pytest.raises(fj.InputError, match="planar_3r cannot move along this path"):
        motion(arm, Line(first, first.position + np.array([0.0, 0.1, 0.05])), q)


# Speed --------------------------------------------------------------------------------------------------------------


def test_limits_along_the_path_are_reached_and_kept():
    found = motion(speed=0.3, acceleration=1.5)
    t = np.linspace(0.0, found.duration, 4001)
    p = fj.forward_kinematics(PANDA, found(t)[0]).position
    v = np.linalg.norm(np.gradient(p, t, axis=0), axis=1)
    assert 0.2999 < np.max(v) < 0.3 * (1 + 1e-9)
    assert 1.4 < np.max(np.abs(np.gradient(v, t))) < 1.5 * (1 + 1e-5)
    slow = motion(speed=0.3, acceleration=1.5, angular_speed=0.2, angular_acceleration=5.0)
    J, rates = fj.jacobian(PANDA, slow(slow.duration / 2)[0]), slow(slow.duration / 2)[1]
    assert np.linalg.norm((J @ rates)[3:]) == pytest.approx(0.2, rel=1e-9)


def test_any_law_and_any_number_of_pieces():
    law = fj.trajectory.Spline([[0.0], [0.4], [1.0]], [0.0, 1.0, 2.5], smoothness=4)
    first = motion(law=law)
    assert first.duration == 2.5 and first.smoothness == 4
    last = first(first.duration)[0]
    back = motion(path=Line(GOAL, AT_Q), start=last, duration=1.5, smoothness=5)
    whole = first.then(fj.trajectory.RestToRest(last, last, 0.5), back)
    assert whole.duration == 4.5 and whole.smoothness >= 3
    fj.trajectory.require_smoothness(whole, robot=PANDA)


def test_a_spline_through_poses_rests_at_both_ends_and_takes_the_duration():
    poses = [Pose(AT_Q.position, AT_Q.rotation), Pose(AT_Q.position + np.array([0, 0.2, 0])), GOAL]
    spline = fj.trajectory.PoseSpline(poses, [0.0, 1.0, 2.0])
    found = motion(path=spline, duration=3.0)
    assert np.max(np.abs(found(np.array([0.0, 3.0, 4.0]))[1:4])) < 1e-9
    reached = fj.forward_kinematics(PANDA, found(1.5)[0])
    assert np.allclose(reached.position, poses[1].position, atol=1e-14)
    with pytest.raises(fj.InputError, match="PoseSpline has its own times"):
        motion(path=spline, speed=0.1)


def test_the_start_may_be_left_to_inverse_kinematics():
    found = motion(
        start=None, path=Line(Pose(AT_Q.position, AT_Q.rotation), AT_Q.position + np.array([0.0, 0.15, 0.0]))
    )
    assert np.allclose(fj.forward_kinematics(PANDA, found(0.0, 0)[0]).position, AT_Q.position, atol=1e-14)


# What a motion is used for ------------------------------------------------------------------------------------------


@pytest.mark.long
def test_under_feedforward_in_continuous_time_the_line_stays_straight(line):
    """Within 1e-11 m; with torques held for 1 ms it is 4 µm: docs/cartesian.md."""
    controller = fj.control.FeedforwardPD(PANDA, [2000.0, 50.0])
    run = fj.simulate(PANDA, controller, line, hold=False, check=False)
    apart = fj.forward_kinematics(PANDA, run.q).position - line.poses(run.t).position
    assert np.max(np.linalg.norm(apart, axis=1)) < 1e-11


def test_fit_duration_and_feasibility_take_it(line):
    fitted = fj.trajectory.fit_duration(PANDA, line)
    assert 0.3 < fitted.duration < 1.5
    assert not fj.trajectory.check_feasibility(PANDA, fitted.trajectory).violations
    assert fj.trajectory.check_feasibility(PANDA, line.lasting(0.9 * fitted.duration)).violations


# What is refused ----------------------------------------------------------------------------------------------------

HALF_TURN = Q - np.array([0, 0, 0, 0, 0, 0, np.pi])
WRIST = np.array([0.2, -1.2, 1.5, -1.8, 0.3, 0.4])


def through_the_wrist():
    """The fifth joint alone turns from 0.3 to −0.3 rad: every pose is reached, at 0 joints 4 and 6 are aligned."""
    v, axis = np.split(fj.jacobian(UR, WRIST)[:, 4], 2)
    first = fj.forward_kinematics(UR, WRIST)
    return motion(UR, Arc(first, first.position + np.cross(axis, v), axis, -0.6, turning=True), WRIST)


def through_stretched():
    """A planar arm leads its tip through its own base axis: joint 1 turns at once by half a turn."""
    bodies = {"mass": [1.0] * 2, "com": [[-0.1, 0, 0]] * 2, "inertia": [0.1 * np.eye(3)] * 2}
    arm = fj.from_dh("equal_2r", alpha=[0, 0], a=[0.5, 0.5], d=[0, 0], **bodies)
    q = [0.2, 2.0]
    first = fj.forward_kinematics(arm, q)
    return motion(arm, Line(first, -first.position), q, orientation="free")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (through_the_wrist, r"meets a singularity at 4\d\.\d+ % of the path.*smallest singular value.*another posture"),
        (through_stretched, r"meets a singularity at 49\.\d+ % of the path, position \[.*lead the path around"),
        (
            lambda: motion(path=Line(AT_Q, AT_Q.position + np.array([1.0, 0, 0]))),
            r"leaves the reach of 'panda'.*out of reach in every",
        ),
        (
            lambda: motion(path=Line(AT_Q, AT_Q.position - [0.5, 0, 0.3])),
            r"joint 'panda_joint2' leaves its limits .* at 5\d",
        ),
        (lambda: motion(start=Q + 0.4), r"at `start` the frame is 0\.\d+ m and \d.* away from where the path begins"),
        (lambda: motion(start=HALF_TURN), r"the frame is \S+ m and 180 degrees away from where the path begins"),
        (lambda: motion(start=HALF_TURN, orientation="x"), r"the frame is \S+ m and 180 degrees away"),
        (lambda: motion(start=Q[:6]), r"start has shape \(6,\); panda has 7 joints"),
        (lambda: motion(start=[np.nan, *Q[1:]]), "start is .*every number must be finite"),
        (lambda: motion(path="line"), "path must be a path such as fj.trajectory.Line, not str"),
        (lambda: motion(duration=-1.0), "duration is -1.0; it must be a positive"),
        (lambda: motion(duration=1.0, speed=0.1), "duration and speed are both given: keep one"),
        (lambda: motion(speed=0.1), "give `acceleration` with `speed`"),
        (lambda: fj.trajectory.CartesianMotion(PANDA, Line(AT_Q, GOAL), Q), "give `duration`, `speed` with"),
        (
            lambda: motion(law=fj.trajectory.RestToRest([0.0], [1.2], 2.0)),
            "the law reaches from 0 to 1.2; it is the fraction",
        ),
        (lambda: motion(law=fj.trajectory.RestToRest([0.0, 0], [1.0, 1], 2.0)), "the law has 2 columns"),
        (lambda: motion(orientation="w"), "orientation is 'w'; it must be one of 'full', 'x'"),
        (lambda: motion(hold=["elbow"]), "hold names joint 'elbow'; panda has panda_joint1"),
        (
            lambda: motion(hold=["panda_joint1", "panda_joint2"]),
            "prescribes 6 coordinates, but 5 joints move it: hold fewer",
        ),
        (lambda: motion(link="panda_link0"), "no joint moves 'panda_link0'"),
        (lambda: motion(fj.load("hua_3r"), start=[0.1] * 3), "but 3 joints move it: give orientation='z' or 'free'"),
        (lambda: motion(start=None, path=Line([3.0, 0, 0], [3.1, 0, 0])), "first pose of the path is out of reach"),
    ],
)
def test_what_cannot_be_followed_is_named_with_its_place(make, message):
    with pytest.raises(fj.InputError, match=message):
        make()
