"""Inverse kinematics against Pinocchio's forward kinematics, closed forms of the reach, and SciPy's optimisers."""

import dataclasses

import numpy as np
import pinocchio as pin
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

import flexjoint as fj
from flexjoint.kinematics import Pose, Target, search
from flexjoint.kinematics.reach import reach_of
from flexjoint.kinematics.target import task_of
from flexjoint.robot import Mimic
from flexjoint.robot.joints import Helical
from support.arms import arms, beyond_reach, lwr, poses, random_postures, tips
from support.marks import long, some_long
from support.pinocchio_model import pinocchio_model, pinocchio_order

ARMS = arms()
TOLERANCE = 1e-10


def pinocchio_poses(robot, q, link):
    """Poses of a link at postures (rows, n), by Pinocchio."""
    model, order = pinocchio_model(robot), pinocchio_order(robot)
    data, frame = model.createData(), model.getFrameId(link)
    found = []
    for row in q:
        pin.framesForwardKinematics(model, data, row[order])
        found.append(data.oMf[frame].homogeneous.copy())
    return np.array(found)


def errors(found, wanted):
    """Distances and angles between poses (rows, 4, 4)."""
    turned = Rotation.from_matrix(np.einsum("kji,kjl->kil", found[:, :3, :3], wanted[:, :3, :3]))
    return np.linalg.norm(found[:, :3, 3] - wanted[:, :3, 3], axis=1), turned.magnitude()


def within_limits(robot, q):
    return all(np.all((x.lower <= q[:, k]) & (q[:, k] <= x.upper)) for k, x in enumerate(robot.joint_limits))


@pytest.mark.parametrize("name", some_long([*ARMS], "iiwa14", "lwr", "two_arms"))
def test_random_poses_are_reached_by_pinocchio(name):
    robot = ARMS[name]
    q = random_postures(robot, 200, 1)
    wanted = {link: pinocchio_poses(robot, q, link) for link in tips(robot)}
    found = fj.inverse_kinematics(robot, wanted)
    assert found.solved.all()
    assert within_limits(robot, found.q)
    for link in tips(robot):
        distance, angle = errors(pinocchio_poses(robot, found.q, link), wanted[link])
        assert np.all(distance < TOLERANCE + 1e-14) and np.all(angle < TOLERANCE + 1e-14)
        assert np.all(distance <= found.position_error + 1e-14) and np.all(angle <= found.rotation_error + 1e-14)


@pytest.fixture(scope="module")
def tree():
    """A tree; on the way to its deepest link one joint slides, one is helical, one follows, one has another axis."""
    robot = fj.random_robot(14, seed=41, tree=True, fixed=0.3, prismatic=0.0)
    links, path = list(robot.links), robot.path(robot.link_index(deepest(robot)))
    way = [i for i in path if links[i].joint.moves]
    changes = {i: {"limits": fj.Limits(-1.5, 1.5)} for i in range(len(links))}
    changes[way[1]] = {"kind": Helical(0.15), "limits": fj.Limits(-2.0, 1.0)}
    changes[way[2]] = {"axis": (0.6, 0.0, 0.8), "limits": fj.Limits(-1.0, 2.0)}
    changes[way[3]] = {"kind": "prismatic", "limits": fj.Limits(0.1, 0.4)}
    changes[way[4]] = {"mimic": Mimic(links[way[0]].joint.name, -0.5, 0.2)}
    return robot.replace(
        links=[
            dataclasses.replace(x, joint=dataclasses.replace(x.joint, **changes[i])) if x.joint.moves else x
            for i, x in enumerate(links)
        ]
    )


def deepest(robot):
    """The link with the most moving joints before it."""
    joints = [sum(robot.links[k].joint.moves for k in robot.path(i)) for i in range(len(robot.links))]
    return robot.links[int(np.argmax(joints))].name


def test_a_tree_with_every_kind_of_joint(tree):
    """Poses on a frame beside a link; the frame's pose is computed by NumPy from that of the link."""
    link = deepest(tree)
    frame = Pose.from_rpy([0.1, -0.2, 0.05], [0.3, 0.2, -0.5])
    q = random_postures(tree, 100, 2)
    placed = fj.forward_kinematics(tree, q, link=link)
    goal = Pose(placed.position, placed.rotation).matrix @ frame.matrix
    found = fj.inverse_kinematics(tree, goal, link=link, frame=frame)
    assert found.solved.all()
    reached = fj.forward_kinematics(tree, found.best, link=link)
    distance, angle = errors(Pose(reached.position, reached.rotation).matrix @ frame.matrix, goal)
    np.testing.assert_allclose(distance, found.position_error, atol=1e-14)
    np.testing.assert_allclose(angle, found.rotation_error, atol=1e-13)
    assert within_limits(tree, found.best)
    lower, upper = (np.array([getattr(x, end) for x in tree.joint_limits]) for end in ("lower", "upper"))
    q = random_postures(tree, 3000, 14)
    q[:1500] = np.where(np.random.default_rng(0).random((1500, tree.n)) < 0.5, lower, upper)
    placed = fj.forward_kinematics(tree, q, link=link)
    pose = Pose(placed.position, placed.rotation) @ frame
    reach = reach_of(tree, task_of(tree, Target(pose, link, frame)), tuple(lower), tuple(upper))
    assert not reach.excludes(pose.position, pose.rotation, "full", 0.0).any()


@pytest.mark.parametrize(
    ("position", "orientation"),
    [("xyz", "free"), ("xyz", "z"), long("xyz", "x"), ("", "y"), ("z", "free"), long("xy", "full")],
)
def test_chosen_axes(position, orientation):
    robot = ARMS["iiwa14"]
    (target,) = poses(robot, random_postures(robot, 64, 3))
    found = fj.inverse_kinematics(robot, target.pose, position=position, orientation=orientation)
    assert found.solved.all()
    reached = pinocchio_poses(robot, found.q, robot.tool)
    missing = reached[:, :3, 3] - target.pose.position
    chosen = [k for k, letter in enumerate("xyz") if letter in position]
    assert np.all(np.linalg.norm(missing[:, chosen], axis=1) < TOLERANCE)
    if orientation == "full":
        assert np.all(errors(reached, target.pose.matrix)[1] < TOLERANCE)
    elif orientation != "free":
        k = "xyz".index(orientation)
        here, wanted = reached[:, :3, k], target.pose.rotation[..., k]
        assert np.all(np.linalg.norm(np.cross(here, wanted), axis=1) < TOLERANCE)
        assert np.all(np.sum(here * wanted, axis=1) > 0)
    if position != "xyz" or orientation != "full":
        others = np.linalg.norm(missing, axis=1) + errors(reached, target.pose.matrix)[1]
        assert np.median(others) > 0.1  # what does not count is left open


# Reach --------------------------------------------------------------------------------------------------------------


def wrist_poses(distance, rng):
    """Poses of the LWR's tool whose wrist has given distances from the shoulder; tool and wrist are one point."""
    direction = rng.normal(size=(len(distance), 3))
    direction /= np.linalg.norm(direction, axis=1)[:, None]
    return Pose(distance[:, None] * direction, Rotation.random(len(distance), rng=rng).as_matrix())


def test_poses_beyond_reach_are_all_declared():
    """Upper arm 0.4 m, forearm 0.39 m, elbow within 120 degrees: a closed form of the distances that exist."""
    robot, rng = ARMS["lwr"], np.random.default_rng(4)
    least, most = np.sqrt(0.4**2 + 0.39**2 + 2 * 0.4 * 0.39 * np.cos(np.deg2rad(120))), 0.79
    shoulder = fj.forward_kinematics(robot, np.zeros(7), link=robot.links[1].name).position
    beyond = np.concatenate([np.linspace(most + 1e-9, 2.0, 300), np.linspace(0.0, least - 1e-9, 100)])
    pose = wrist_poses(beyond, rng)
    pose = Pose(pose.position + shoulder, pose.rotation)
    for goal in (pose, pose.position):
        found = fj.inverse_kinematics(robot, goal)
        assert np.all(found.status == "out of reach")
        assert np.isnan(found.q).all() and np.isfinite(found.best).all() and np.all(found.position_error > 0)


@pytest.mark.parametrize("name", ARMS)
def test_no_pose_within_reach_is_declared_beyond(name):
    """Postures at their limits and at quarter turns, where arms are stretched and folded."""
    robot, rng = ARMS[name], np.random.default_rng(5)
    lower, upper = (np.array([getattr(x, end) for x in robot.joint_limits]) for end in ("lower", "upper"))
    q = random_postures(robot, 3000, 6)
    ends = np.where(rng.random(q.shape) < 0.5, lower, upper)
    q[:1000] = np.where(rng.random((1000, robot.n)) < 0.5, ends[:1000], q[:1000])
    quarters = np.clip(np.round(q / (np.pi / 2)) * (np.pi / 2), lower, upper)
    q[1000:2000] = np.where(rng.random((1000, robot.n)) < 0.8, quarters[1000:2000], q[1000:2000])
    for target in poses(robot, q):
        reach = reach_of(robot, task_of(robot, target), tuple(lower), tuple(upper))
        for orientation in ("full", "free", "x", "y", "z"):
            rotation = None if orientation == "free" else target.pose.rotation
            assert not reach.excludes(target.pose.position, rotation, orientation, 0.0).any()


@pytest.mark.parametrize("name", ["panda", "ur5e", "without_wrist", "two_arms"])
def test_the_bound_of_the_reach_is_tight(name):
    """Beyond the greatest distance that an optimiser finds, and 1 % more, every position is declared."""
    robot = ARMS[name]
    link = tips(robot)[0]
    goals = beyond_reach(robot, link, 500, 7)
    assert np.all(fj.inverse_kinematics(robot, goals, link=link, attempts=1).status == "out of reach")


def test_limits_take_part_in_the_bound():
    """A joint that may not turn backwards cannot reach behind; a slide reaches as far as its stroke."""
    slide = fj.Joint("slide", "prismatic", axis=(1, 0, 0), limits=fj.Limits(0.2, 0.5))
    turn = fj.Joint("turn", position=(0, 0, 0.3), limits=fj.Limits(-0.5, 0.5))
    tip = fj.Link("tip", fj.Joint("mount", "fixed", position=(0.4, 0, 0)), "arm")
    robot = fj.Robot("cart", [fj.Link("cart", slide), fj.Link("arm", turn, "cart"), tip])
    x = np.array([0.89, 0.91, 0.59, 0.54, -0.3])  # on the line of the slide: between 0.6 and 0.9
    goals = np.stack([x, 0 * x, 0 * x + 0.3], axis=1)
    found = fj.inverse_kinematics(robot, goals)
    assert found.status.tolist() == ["solved", *["out of reach"] * 4]


# Preferences --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preference", ["nearest", "limits"])
def test_preferences_against_an_optimiser(preference):
    """No solution that SciPy finds from the same posture is better by more than 1e-4 of the cost."""
    robot = ARMS["panda"]
    lower, upper = (np.array([getattr(x, end) for x in robot.joint_limits]) for end in ("lower", "upper"))
    q = random_postures(robot, 20, 9)
    near = np.clip(q + np.random.default_rng(1).normal(size=q.shape) * 0.3, lower, upper)
    middle, unit = (near, 1.0) if preference == "nearest" else ((lower + upper) / 2, (upper - lower) / 2)
    (target,) = poses(robot, q)
    choice = {"nearest_to": near} if preference == "nearest" else {"away_from_limits": True}
    found = fj.inverse_kinematics(robot, target, **choice)
    assert found.solved.all()
    cost = np.sum(((found.q - middle) / unit) ** 2, axis=1)
    for k in range(len(q)):
        wanted = target.pose.matrix[k]

        def missing(x, wanted=wanted):
            pose = fj.forward_kinematics(robot, x)
            turned = Rotation.from_matrix(pose.rotation.T @ wanted[:3, :3]).as_rotvec()
            return np.concatenate([pose.position - wanted[:3, 3], turned])

        def away(x, k=k):
            return np.sum(((x - np.broadcast_to(middle, q.shape)[k]) / unit) ** 2)

        equations = {"type": "eq", "fun": missing}
        best = minimize(away, q[k], bounds=list(zip(lower, upper)), constraints=equations, options={"maxiter": 200})
        if np.max(np.abs(missing(best.x))) < 1e-5:
            assert cost[k] < best.fun * (1 + 1e-4) + 1e-4


def test_the_posture_itself_is_nearest():
    robot = ARMS["lwr"]
    q = random_postures(robot, 50, 10)
    found = fj.inverse_kinematics(robot, poses(robot, q), nearest_to=q)
    np.testing.assert_allclose(found.q, q, atol=1e-9)


def test_whole_turns_towards_the_posture():
    """The UR turns by two turns: of all equal postures the nearest one within the limits."""
    robot = ARMS["ur5e"]
    q = np.array([3.0, -1.2, 1.5, -0.4, 1.1, -2.5])
    pose = fj.forward_kinematics(robot, q)
    near = q + np.array([0.01, 0, 0, 0, 0, 0])
    for turns in ([0, 0, 0, 0, 0, 0], [-1, 1, 0, 0, -1, 1]):
        found = fj.inverse_kinematics(robot, pose, nearest_to=near + 2 * np.pi * np.array(turns))
        np.testing.assert_allclose(found.q, q + 2 * np.pi * np.array(turns), atol=1e-8)
    free = fj.inverse_kinematics(lwr(), fj.forward_kinematics(lwr(), np.full(7, 0.3)), limits=False)
    assert np.all(np.abs(free.q) <= np.pi)


def test_a_start_is_followed():
    """Along a path each posture starts at the one before: joints do not jump."""
    robot = ARMS["panda"]
    q = np.linspace([0.1, -0.4, 0.2, -2.0, 0.3, 1.6, 0.4], [0.5, -0.2, 0.0, -1.8, 0.1, 1.9, 0.8], 30)
    at = q[0]
    for row in q:
        found = fj.inverse_kinematics(robot, fj.forward_kinematics(robot, row), start=at)
        assert np.max(np.abs(found.q - at)) < 0.1 and found.starts == 1
        at = found.q


# Calls --------------------------------------------------------------------------------------------------------------


def test_rows_do_not_depend_on_the_batch_or_on_threads(monkeypatch):
    robot = ARMS["without_wrist"]
    (target,) = poses(robot, random_postures(robot, 150, 11))
    whole = fj.inverse_kinematics(robot, target)
    threaded = fj.inverse_kinematics(robot, target, threads=2)
    shaped = fj.inverse_kinematics(robot, target.pose.matrix.reshape(3, 50, 4, 4))
    assert np.array_equal(whole.best, threaded.best) and np.array_equal(whole.best, shaped.best.reshape(150, 6))
    for k in (0, 17, 149):
        assert np.array_equal(fj.inverse_kinematics(robot, target.pose[k]).best, whole.best[k])
    assert not np.array_equal(fj.inverse_kinematics(robot, target, seed=1).best, whole.best)
    monkeypatch.setattr(search, "TOGETHER", 1)  # one attempt after the other
    assert np.array_equal(fj.inverse_kinematics(robot, target).best, whole.best)


def test_joints_that_move_no_target_stay():
    robot = ARMS["two_arms"]
    start = random_postures(robot, 1, 12)[0]
    goal = fj.forward_kinematics(robot, random_postures(robot, 1, 13)[0], link="left_tool")
    found = fj.inverse_kinematics(robot, {"left_tool": Pose(goal.position, goal.rotation)}, start=start)
    others = [k for k, joint in enumerate(robot.joints) if joint.name.startswith("right")]
    assert found.solved and np.array_equal(found.q[others], start[others])


def test_no_poses_and_unsolved_poses():
    robot = ARMS["lwr"]
    assert fj.inverse_kinematics(robot, np.zeros((0, 3))).q.shape == (0, 7)
    found = fj.inverse_kinematics(robot, [[0.5, 0.0, 0.3], [5.0, 0.0, 0.3]])
    assert repr(found) == "Postures(1 solved, 1 out of reach)"
    with pytest.raises(fj.InputError, match=r"of 2 poses 1 out of reach; the first is number \[1\]: the best posture"):
        found.require()
    assert fj.inverse_kinematics(robot, [0.5, 0.0, 0.3]).require().shape == (7,)


def test_what_cannot_be_found_is_not_called_out_of_reach():
    """Two hands at one place: each alone is reached, so that no bound excludes it."""
    robot = ARMS["lwr"]
    place = fj.forward_kinematics(robot, np.full(7, 0.4))
    contradiction = [Target(place), Target(place.position + np.array([0, 0, 0.01]))]
    found = fj.inverse_kinematics(robot, contradiction, attempts=3)
    assert found.status == "not found" and found.starts == 3 and 0.004 < found.position_error < 0.011


GOAL = [0.4, 0.1, 0.5]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": [0.4, np.nan, 0.5]}, "position is .*; every number must be finite"),
        ({"target": [0.4, 0.5]}, r"target has shape \(2,\); give a Pose, matrices"),
        ({"target": "there"}, "target is 'there'; give a Pose"),
        ({"target": GOAL, "link": "hand"}, "no link 'hand'; the links are"),
        ({"target": GOAL, "orientation": "z"}, "the pose has none"),
        ({"target": GOAL, "orientation": "q"}, 'orientation must be one of "full", "free", "x"'),
        ({"target": GOAL, "position": "xx"}, "position must be some of the letters xyz"),
        ({"target": GOAL, "position": ""}, "neither position nor orientation counts"),
        ({"target": Target(Pose(GOAL)), "link": "tool"}, "link belongs into the Target"),
        ({"target": []}, "there is no target"),
        ({"target": GOAL, "limits": (1.0, -1.0)}, "limits leave joint 'joint1' no position: lower is 1 and upper -1"),
        ({"target": GOAL, "limits": (np.nan, 1.0)}, "limits leave joint 'joint1' no position"),
        ({"target": GOAL, "limits": 3}, r"limits must be True, False or \(lower, upper\)"),
        ({"target": GOAL, "limits": ([0, 0], 1)}, r"limits\[0\] has shape \(2,\)"),
        ({"target": GOAL, "nearest_to": [0, 0]}, r"nearest_to has shape \(2,\); it must be \(..., 7\)"),
        ({"target": GOAL, "start": [np.inf] * 7}, "start is .* every number must be finite"),
        ({"target": GOAL, "nearest_to": [0] * 7, "away_from_limits": True}, "are both given: keep one"),
        ({"target": np.zeros((4, 3)), "start": np.zeros((5, 7))}, r"do not broadcast: \(4,\), \(5,\)"),
        ({"target": GOAL, "tolerance": 1e-16}, "below 1e-13 rounding decides"),
        ({"target": GOAL, "attempts": 0}, "attempts is 0; it must be 1, 2, 3"),
        ({"target": GOAL, "frame": np.zeros((2, 3))}, r"frame holds poses of shape \(2,\)"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(fj.FlexjointError, match=message):
        fj.inverse_kinematics(ARMS["lwr"], **arguments)
    with pytest.raises(fj.InputError, match="robot must be a Robot"):
        fj.inverse_kinematics("lwr", GOAL)
