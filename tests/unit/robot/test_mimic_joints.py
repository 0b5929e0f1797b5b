"""Joints that follow others: what is refused, limits, files, parameters, and what a robot tells about them."""

import dataclasses
import math

import casadi as ca
import numpy as np
import pytest

import flexjoint as fj
from flexjoint.robot import Mimic
from support.evaluate import evaluate

BODY = {"mass": 1.0, "com": (0.05, 0.0, 0.1), "inertia": 0.01 * np.eye(3)}


def gripper(*joints, **options):
    """A hand on an arm and two fingers on the hand; joints given replace those with the same name."""
    named = {joint.name: joint for joint in joints}
    arm = fj.Link("arm", named.get("shoulder", fj.Joint("shoulder")), **BODY)
    hand = fj.Link("hand", fj.Joint("mount", "fixed", position=(0.3, 0.0, 0.0)), "arm", **BODY)
    right = named.get("right", fj.Joint("right", "prismatic", mimic=Mimic("left", -1.0)))
    left = named.get("left", fj.Joint("left", "prismatic"))
    # the follower is listed before its leader
    links = (arm, hand, fj.Link("right_finger", right, "hand", **BODY), fj.Link("left_finger", left, "hand", **BODY))
    return fj.Robot("gripper", links, **options)


REFUSED = {
    "unknown leader": (fj.Joint("right", "prismatic", mimic=Mimic("middle")), "follows the unknown joint 'middle'"),
    "a leader that is no name": (fj.Joint("right", "prismatic", mimic=Mimic(3)), "follows the unknown joint 3"),
    "fixed leader": (fj.Joint("right", "prismatic", mimic=Mimic("mount")), "'right' follows 'mount', which is fixed"),
    "fixed follower": (fj.Joint("right", "fixed", mimic=Mimic("left")), "'right' is fixed"),
    "ratio 0": (fj.Joint("right", "prismatic", mimic=Mimic("left", 0.0)), "'right' follows 'left' with the ratio 0"),
    "ratio nan": (fj.Joint("right", "prismatic", mimic=Mimic("left", math.nan)), "ratio of the mimic of 'right'"),
    "offset inf": (fj.Joint("right", "prismatic", mimic=Mimic("left", 1.0, math.inf)), "offset of the mimic"),
    "ratio text": (fj.Joint("right", "prismatic", mimic=Mimic("left", "2")), "ratio of the mimic of 'right' is '2'"),
    "no Mimic": (fj.Joint("right", "prismatic", mimic="left"), r"what joint 'right' follows is 'left': give Mimic\("),
    "itself": (fj.Joint("right", "prismatic", mimic=Mimic("right")), "cycle, right -> right"),
    "elastic": (
        fj.Joint("right", "prismatic", mimic=Mimic("left"), drive=fj.ElasticDrive(100.0, fj.Motor(0.1))),
        "'right' follows 'left' and has ElasticDrive.*give the spring to 'left'",
    ),
    "variable stiffness": (
        fj.Joint("right", "prismatic", mimic=Mimic("left"), drive=fj.load("vsa_3r").joints[0].drive),
        "'right' follows 'left' and has AntagonisticDrive",
    ),
    "limits": (
        fj.Joint("right", "prismatic", limits=fj.Limits(0.1, 0.2), mimic=Mimic("left", 1.0, 1.0)),
        "no position of joint 'left' keeps it and its followers 'right' within their limits",
    ),
}  # fmt: skip


@pytest.mark.parametrize("joint, message", REFUSED.values(), ids=REFUSED.keys())
def test_followers_that_cannot_follow_are_refused_by_name(joint, message):
    left = fj.Joint("left", "prismatic", limits=fj.Limits(-0.1, 0.1))
    with pytest.raises(fj.RobotError, match=message):
        gripper(left, joint)


def test_a_cycle_of_followers_is_refused():
    left = fj.Joint("left", "prismatic", mimic=Mimic("right", 2.0))
    with pytest.raises(fj.RobotError, match="cycle, right -> left -> right"):
        gripper(left)


def test_ratios_that_overflow_along_a_chain_are_refused():
    links = [fj.Link("l0", fj.Joint("j0"), **BODY)]
    links += [fj.Link(f"l{k}", fj.Joint(f"j{k}", mimic=Mimic(f"j{k - 1}", 1e200)), **BODY) for k in (1, 2)]
    with pytest.raises(fj.RobotError, match="'j2' follows 'j0' with the ratio inf"):
        fj.Robot("far", tuple(links))


def test_limits_of_followers_bound_their_leaders():
    right = fj.Joint(
        "right",
        "prismatic",
        limits=fj.Limits(-0.3, 0.5, velocity=1.0, effort=3.0, acceleration=4.0, jerk=8.0),
        mimic=Mimic("left", -2.0, 0.1),
    )
    left = fj.Joint("left", "prismatic", limits=fj.Limits(-1.0, 0.15, velocity=2.0, effort=50.0, jerk=1.0))
    robot = gripper(left, right)
    found = robot.joints[1].limits
    assert (found.lower, found.upper) == pytest.approx((-0.2, 0.15))  # (0.5 − 0.1)/−2, and (−0.3 − 0.1)/−2 = 0.2
    assert (found.velocity, found.effort, found.acceleration, found.jerk) == (0.5, 50.0, 2.0, 1.0)
    assert robot.links[3].joint.limits.lower == -1.0  # the data stay as they are


def test_structure_and_what_a_robot_shows():
    robot = gripper()
    assert (robot.n, robot.coordinates, [x.name for x in robot.joints]) == (2, (0, None, 1, 1), ["shoulder", "left"])
    assert [x.joint.name for x in robot.moving_joints] == ["shoulder", "right", "left"]
    assert [(x.link, x.coordinate, x.ratio, x.offset) for x in robot.followers] == [(2, 1, -1.0, 0.0)]
    assert repr(robot) == "Robot('gripper', RP, 1 follower, 4 links, tool 'left_finger')"
    assert "prismatic = -1 · left" in robot._repr_html_()
    assert robot.motor_names == ("shoulder", "left")
    np.testing.assert_array_equal(robot.joint_positions([[0.1, 0.2]]), [[0.1, -0.2, 0.2]])
    y = ca.SX.sym("y", 2)
    np.testing.assert_array_equal(ca.Function("f", [y], [robot.joint_positions(y)])([0.1, 0.2]), [[0.1], [-0.2], [0.2]])
    with pytest.raises(fj.InputError, match=r"q has shape \(3,\); it must be \(..., 2\)"):
        robot.joint_positions([0.1, 0.2, 0.3])


def test_drives_are_given_to_leaders_and_followers_keep_theirs():
    motor = fj.RigidDrive(fj.Motor(0.3))
    robot = gripper(fj.Joint("right", "prismatic", mimic=Mimic("left", -2.0), drive=motor))
    elastic = robot.with_drives([None, fj.ElasticDrive(100.0, fj.Motor(0.1))])
    assert elastic.links[2].joint.drive == motor and elastic.rigid().links[2].joint.drive == motor
    assert elastic.without_drives().links[2].joint.drive is None
    bare = fj.mass_matrix(robot.without_drives(), np.zeros(2))
    np.testing.assert_allclose(fj.mass_matrix(robot, np.zeros(2)) - bare, np.diag([0.0, 4.0 * 0.3]), atol=1e-15)
    assert elastic.without_friction().n == elastic.without_spring_damping().n == elastic.with_payload(1.0).n == 2
    with pytest.raises(fj.RobotError, match="3 drives for 2 moving joints"):
        robot.with_drives([None] * 3)


def test_files_keep_followers_bit_by_bit(tmp_path):
    robot = gripper(fj.Joint("right", "prismatic", mimic=Mimic("left", -1 / 3, 0.1)))
    fj.write_robot(robot, tmp_path / "robot.toml")
    assert (
        'mimic = {joint = "left", ratio = -0.3333333333333333, offset = 0.1}' in (tmp_path / "robot.toml").read_text()
    )
    assert fj.load(tmp_path / "robot.toml") == robot
    assert robot.digest != gripper().digest


def test_followers_in_dh_tables(tmp_path):
    text = """
name = "parallel"
convention = "standard_dh"
[[link]]
a = 0.4
mass = 1.0
inertia = {xx = 0.01, yy = 0.01, zz = 0.01}
[[link]]
a = 0.3
mass = 1.0
inertia = {xx = 0.01, yy = 0.01, zz = 0.01}
mimic = {joint = "joint1", ratio = -1.0}
"""
    (tmp_path / "robot.toml").write_text(text)
    robot = fj.load(tmp_path / "robot.toml")
    assert robot.n == 1
    np.testing.assert_allclose(fj.forward_kinematics(robot, np.array([0.7])).rotation, np.eye(3), atol=1e-15)
    (tmp_path / "robot.toml").write_text(text.replace("ratio = -1.0", "gain = -1.0"))
    with pytest.raises(fj.RobotError, match="gain"):
        fj.load(tmp_path / "robot.toml")
    same = fj.from_dh(
        "parallel", 0.0, [0.4, 0.3], 0.0, mass=1.0, inertia=0.01 * np.eye(3), mimics=[None, Mimic("joint1", -1.0)]
    )
    assert same == robot


def test_ratio_and_offset_are_parameters_and_have_derivatives():
    robot = gripper(fj.Joint("right", "revolute", mimic=Mimic("left", -0.5, 0.2)))
    found = fj.robot.robot_parameters(robot)
    assert (found["right.mimic.ratio"].value, found["right.mimic.offset"].value) == (-0.5, 0.2)
    assert found["right.mimic.offset"].unit == "rad"
    state = np.random.default_rng(0).uniform(-1, 1, (3, 2))
    paths = ["right.mimic.ratio", "right.mimic.offset"]
    kernel = fj.compile(fj.inverse_dynamics, robot, free=paths)
    for ratio, offset in ((-0.5, 0.2), (1.7, -0.4)):
        joint = dataclasses.replace(robot.links[2].joint, mimic=Mimic("left", ratio, offset))
        links = [dataclasses.replace(x, joint=joint) if x.joint.name == "right" else x for x in robot.links]
        wanted = fj.inverse_dynamics(robot.replace(links=links), *state)
        np.testing.assert_allclose(kernel(*state, np.array(ratio), np.array(offset)), wanted, rtol=1e-13, atol=1e-13)
    ratio, offset = ca.SX.sym("k"), ca.SX.sym("c")
    symbolic = robot.with_symbols(dict(zip(paths, (ratio, offset))))
    y = ca.SX.sym("y", 2)
    V = ca.Function("V", [y, ratio, offset], [fj.gravity_energy(symbolic, y)])
    slope = ca.Function(
        "V", [y, ratio, offset], [ca.jacobian(fj.gravity_energy(symbolic, y), ca.vertcat(ratio, offset))]
    )
    h, at = 1e-6, [state[0], -0.5, 0.2]
    for k in (1, 2):
        up, down = list(at), list(at)
        up[k], down[k] = at[k] + h, at[k] - h
        assert float(slope(*at)[k - 1]) == pytest.approx(float(V(*up) - V(*down)) / (2 * h), rel=1e-6, abs=1e-8)
    positions = ca.Function("f", [y, ratio, offset], [symbolic.joint_positions(y)])([0.1, 0.2], -0.5, 0.3)
    np.testing.assert_allclose(np.array(positions)[:, 0], [0.1, 0.2, 0.2])
    with pytest.raises(fj.InputError, match="a ratio or an offset of 'gripper' is a symbol"):
        _ = symbolic.coupling
    limited = symbolic.joints[1].limits  # of the numbers: a symbol cannot be compared
    assert limited == robot.joints[1].limits
    with pytest.raises(fj.InputError, match="ratios and offsets of followers"):
        fj.dynamics.base_regressor(symbolic, y, y, y, y)


def test_a_contact_on_a_follower_is_found():
    robot = gripper()
    assert fj.observers.struck_links(robot, [1, 1]) == ["right_finger", "left_finger"]
    assert fj.observers.struck_links(robot, [0, 1]) == ["right_finger", "left_finger"]
    assert fj.observers.struck_links(robot, [1, 0]) == ["arm"]
    links = [
        fj.Link(f"l{k}", fj.Joint(f"j{k}", mimic=Mimic("j0") if k == 2 else None), f"l{k - 1}" if k else "base", **BODY)
        for k in range(4)
    ]
    chain = fj.Robot("chain", tuple(links))  # j2 follows j0, whose link carries it
    assert [fj.observers.struck_links(chain, x) for x in ([1, 0, 0], [1, 1, 0], [1, 1, 1])] == [["l0"], ["l1"], ["l3"]]
    q, w = np.array([0.3, 0.2]), np.array([1.0, 2.0, 3.0, 0.1, 0.2, 0.3])
    J = fj.jacobian(robot, q, link="right_finger")
    found = fj.observers.external_wrench(robot, q, J.T @ w, link="right_finger")
    np.testing.assert_allclose(J.T @ found.wrench, J.T @ w, rtol=1e-12)


def test_a_coordinate_whose_followers_undo_its_motion_moves_no_inertia():
    bar = fj.Link("bar", fj.Joint("bar"))
    wheel = fj.Link("wheel", fj.Joint("hub", mimic=Mimic("bar", -1.0)), "bar", mass=1.0, inertia=0.01 * np.eye(3))
    with pytest.raises(fj.RobotError, match="joint 'bar' moves no inertia"):
        fj.forward_dynamics(fj.Robot("still", (bar, wheel)), *np.zeros((3, 1)))


def test_offsets_of_joints_about_any_axis():
    axis = np.array([1.0, 2.0, -1.0]) / math.sqrt(6.0)
    leader = fj.Link("a", fj.Joint("a"), **BODY)
    free = fj.Link("b", fj.Joint("b", position=(0.1, 0.2, 0.3), axis=axis), "a", **BODY)
    follower = dataclasses.replace(free, joint=dataclasses.replace(free.joint, mimic=Mimic("a", 0.5, 0.7)))
    y = np.array([0.4])
    found = fj.forward_kinematics(fj.Robot("r", (leader, follower)), y)
    wanted = fj.forward_kinematics(fj.Robot("r", (leader, free)), np.array([0.4, 0.5 * 0.4 + 0.7]))
    np.testing.assert_allclose(found.rotation, wanted.rotation, atol=1e-15)
    np.testing.assert_allclose(found.position, wanted.position, atol=1e-15)
    robots = fj.Robot("r", (leader, follower)), fj.Robot("r", (leader, free))
    torque = evaluate(fj.torque_derivatives.function, robots[0], y, y, y)[0]
    q, v = np.array([0.4, 0.5 * 0.4 + 0.7]), np.array([0.4, 0.2])
    both = evaluate(fj.torque_derivatives.function, robots[1], q, v, v)[0]
    assert torque.item() == pytest.approx((both.ravel() @ [1.0, 0.5]).item(), rel=1e-13)
