"""The Robot: what it refuses and how it says so, what it may be turned into, and when two are equal."""

import dataclasses
import math

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.drives import (
    AntagonisticDrive,
    ElasticDrive,
    LeverDrive,
    Motor,
    MotorLimits,
    RigidDrive,
    SpringLimits,
)
from flexjoint.errors import FlexjointError, RobotError
from flexjoint.robot import Joint, Limits, Link, Robot, parents_first
from flexjoint.robot.random_robots import random_robot
from flexjoint.springs import CubicSpring
from support.evaluate import evaluate

BODY = {"mass": 2.0, "com": (0.1, 0.0, 0.0), "inertia": np.diag([0.3, 0.4, 0.5])}


def arm(*, joint=None, body=None, **options):
    """Two links; `joint` and `body` change the second, 'elbow' and 'forearm'."""
    links = (
        Link("upper", Joint("shoulder"), **BODY),
        Link("forearm", Joint("elbow", **(joint or {})), "upper", **{**BODY, **(body or {})}),
    )
    return Robot("arm", links, **options)


def refused(build, *words):
    with pytest.raises(RobotError) as error:
        build()
    for word in words:
        assert word in str(error.value)


# Validation


CUBIC = CubicSpring(300.0, 900.0), CubicSpring(300.0, 900.0)
NOT_A_ROTATION = np.diag([1.0, 1.0, 1.001])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": "hinge"}, ["'elbow'", "'hinge'", "choose one of fixed, ", "prismatic, revolute"]),
        ({"position": (0, math.nan, 0)}, ["position", "'elbow'", "nan", "finite"]),
        ({"position": (0, 0)}, ["position", "'elbow'", "(3,)", "(2,)"]),
        ({"position": "up"}, ["position", "'elbow'", "numbers"]),
        ({"rotation": NOT_A_ROTATION}, ["'elbow'", "not a rotation", "2.0e-03"]),
        ({"rotation": np.diag([1.0, 1.0, -1.0])}, ["'elbow'", "det R = -1", "right-handed"]),
        ({"rotation": np.full((3, 3), math.inf)}, ["rotation", "'elbow'", "inf"]),
        ({"viscous_friction": -0.5}, ["viscous friction", "'elbow'", "-0.5", "not be negative"]),
        ({"viscous_friction": math.nan}, ["viscous friction", "'elbow'", "nan"]),
        ({"viscous_friction": "oil"}, ["viscous friction", "'elbow'", "'oil'", "number"]),
        ({"limits": Limits(1.0, -1.0)}, ["'elbow'", "lower limit 1", "upper -1"]),
        ({"limits": Limits(lower=math.inf)}, ["'elbow'", "lower limit inf", "-inf if it is unknown"]),
        ({"limits": Limits(upper=-math.inf)}, ["'elbow'", "upper limit -inf", "inf if it is unknown"]),
        ({"limits": Limits(lower=math.nan)}, ["'elbow'", "nan", "infinity"]),
        ({"limits": Limits(upper=None)}, ["'elbow'", "None", "infinity"]),
        ({"limits": Limits(velocity=-1.0)}, ["'elbow'", "the limit velocity", "-1"]),
        ({"limits": Limits(effort=-1.0)}, ["'elbow'", "the limit effort", "-1"]),
        ({"limits": Limits(jerk=-2.0)}, ["'elbow'", "the limit jerk", "-2"]),
        ({"drive": RigidDrive(Motor(1.0, limits=87.0))}, ["the motor of joint 'elbow'", "87", "MotorLimits(torque="]),
        ({"drive": RigidDrive(Motor(1.0, limits=MotorLimits(speed=-1.0)))}, ["speed", "the motor of", "'elbow'", "-1"]),
        ({"drive": RigidDrive(Motor(1.0, limits=MotorLimits(5.0, rms_torque=6.0)))}, ["'elbow'", "5", "6", "peak"]),
        ({"drive": ElasticDrive(9.0, Motor(1.0), spring_limits=0.1)}, ["'elbow'", "0.1", "SpringLimits(torque="]),
        (
            {"drive": ElasticDrive(9.0, Motor(1.0), spring_limits=SpringLimits(deflection=math.nan))},
            ["deflection", "the spring of joint 'elbow'", "nan"],
        ),
        ({"kind": "fixed", "drive": RigidDrive()}, ["'elbow'", "fixed but has a drive"]),
        ({"drive": RigidDrive(Motor(-2.0))}, ["motor inertia", "'elbow'", "-2"]),
        ({"drive": RigidDrive(Motor(math.inf))}, ["motor inertia", "'elbow'", "inf"]),
        ({"drive": RigidDrive(Motor("big"))}, ["motor inertia", "'elbow'", "'big'"]),
        ({"drive": ElasticDrive(0.0, Motor(1.0))}, ["stiffness", "'elbow'", "is 0", "RigidDrive"]),
        ({"drive": ElasticDrive(-5.0, Motor(1.0))}, ["stiffness", "'elbow'", "-5"]),
        ({"drive": ElasticDrive(math.inf, Motor(1.0))}, ["stiffness", "'elbow'", "inf"]),
        ({"drive": ElasticDrive(100.0, Motor(0.0))}, ["'elbow'", "without inertia", "η² I_axial"]),
        ({"drive": ElasticDrive(100.0)}, ["'elbow'", "without inertia", "η² I_axial"]),
        ({"drive": ElasticDrive(100.0, 0.3)}, ["'elbow'", "0.3", "Motor(inertia)"]),
        ({"drive": Motor(1.0)}, ["'elbow'", "Motor(inertia=1.0", "RigidDrive(Motor(inertia))"]),
        ({"drive": ElasticDrive(100.0, Motor(1.0), -2.0)}, ["damping", "'elbow'", "-2", "not be negative"]),
        ({"drive": AntagonisticDrive(*CUBIC, Motor(1.0), Motor(0.0))}, ["'elbow'", "without inertia"]),
        ({"drive": AntagonisticDrive(*CUBIC, Motor(1.0), Motor(-1.0))}, ["motor inertia", "'elbow'", "-1"]),
        ({"drive": AntagonisticDrive(*CUBIC, Motor(1.0), 2.0)}, ["'elbow'", "motor_2=2.0", "AntagonisticDrive("]),
        ({"drive": AntagonisticDrive(*CUBIC, Motor(1.0), Motor(1.0), -2.0)}, ["damping", "'elbow'", "-2"]),
        ({"drive": ElasticDrive(100.0, Motor(1.0), math.nan)}, ["damping", "'elbow'", "nan"]),
        ({"coulomb_friction": -1.0, "coulomb_velocity": 0.1}, ["Coulomb friction", "'elbow'", "-1", "not be negative"]),
        ({"coulomb_friction": 1.0, "coulomb_velocity": -0.1}, ["Coulomb velocity", "'elbow'", "-0.1", "negative"]),
        ({"coulomb_friction": 2.5}, ["Coulomb friction", "'elbow'", "2.5", "v_c"]),
        ({"coulomb_friction": math.inf, "coulomb_velocity": 0.1}, ["Coulomb friction", "'elbow'", "inf"]),
        ({"drive": RigidDrive(Motor(1.0, -0.5))}, ["motor viscous friction", "'elbow'", "-0.5"]),
        ({"drive": ElasticDrive(9.0, Motor(1.0, 0.0, "dry", 0.1))}, ["motor Coulomb friction", "'elbow'", "'dry'"]),
        ({"drive": RigidDrive(Motor(1.0, coulomb_friction=3.0))}, ["motor Coulomb friction", "'elbow'", "v_c"]),
    ],
)
def test_refused_joints(changes, words):
    refused(lambda: arm(joint=changes), *words)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mass": -2.0}, ["mass", "'forearm'", "-2 kg"]),
        ({"mass": math.nan}, ["mass", "'forearm'", "nan"]),
        ({"mass": "heavy"}, ["mass", "'forearm'", "'heavy'"]),
        ({"mass": True}, ["mass", "'forearm'", "True"]),
        ({"com": (0, 0, math.inf)}, ["centre of mass", "'forearm'", "inf"]),
        ({"com": (0, 0, 0, 0)}, ["com", "'forearm'", "(4,)"]),
        ({"inertia": np.full((3, 3), math.nan)}, ["inertia", "'forearm'", "nan"]),
        ({"inertia": np.array([[1.0, 0.5, 0], [0, 1, 0], [0, 0, 1]])}, ["'forearm'", "not symmetric", "0.5"]),
        ({"mass": 0.0}, ["'forearm'", "inertia but no mass"]),
        ({"inertia": np.diag([-0.1, 1.0, 1.0])}, ["'forearm'", "not positive definite", "-0.1"]),
        ({"inertia": np.zeros((3, 3))}, ["'forearm'", "not positive definite", "allow_unphysical"]),
        ({"inertia": np.diag([1.0, 2.0, 3.5])}, ["'forearm'", "triangle inequality by 0.5", "3.5", "allow_unphysical"]),
    ],
)
def test_refused_bodies(changes, words):
    refused(lambda: arm(body=changes), *words)


def test_unphysical_bodies_on_request():
    assert arm(body={"inertia": np.diag([1.0, 2.0, 3.5])}, allow_unphysical=True)
    assert arm(body={"inertia": np.zeros((3, 3))}, allow_unphysical=True)
    indefinite = {"inertia": np.diag([-0.1, 1.0, 1.0])}
    refused(lambda: arm(body=indefinite, allow_unphysical=True), "'forearm'", "not positive definite")


def test_limit_cases_are_accepted():
    """A plate (equality in the triangle inequality) and data rounded to single precision of a rotation."""
    assert arm(body={"inertia": np.diag([1.0, 2.0, 3.0])})
    c, s = math.cos(0.3), math.sin(0.3)
    assert arm(joint={"rotation": np.round([[c, -s, 0], [s, c, 0], [0, 0, 1]], 10)})


@pytest.mark.parametrize(
    ("links", "words"),
    [
        ([], ["at least one link"]),
        ([Link("", Joint("a"))], ["link 0", "''", "non-empty"]),
        ([Link("x", Joint(""))], ["joint 0", "non-empty"]),
        ([Link(3, Joint("a"))], ["link 0", "3"]),
        ([Link("x", Joint("a")), Link("x", Joint("b"))], ["link name 'x'", "twice"]),
        ([Link("x", Joint("a")), Link("y", Joint("a"))], ["joint name 'a'", "twice"]),
        ([Link("base", Joint("a"))], ["'base'", "rename"]),
        ([Link("x", Joint("a"), "nowhere")], ["'x'", "unknown parent 'nowhere'", "base, x"]),
        ([Link("x", Joint("a"), "x")], ["cycle, x -> x", "'base'"]),
        (
            [
                Link("w", Joint("d"), "x"),
                Link("x", Joint("a"), "z"),
                Link("y", Joint("b"), "x"),
                Link("z", Joint("c"), "y"),
            ],
            ["cycle, x -> z -> y -> x"],
        ),
        ([Link("y", Joint("b"), "x"), Link("x", Joint("a"))], ["'y'", "before its parent 'x'", "parents_first"]),
    ],
)
def test_refused_trees(links, words):
    refused(lambda: Robot("r", links), *words)


def test_refused_gravity_and_tool():
    refused(lambda: arm(gravity=(0, 0, math.nan)), "gravity", "'arm'", "nan")
    refused(lambda: arm(gravity=(0, 0)), "gravity", "'arm'", "(2,)")
    refused(lambda: arm(tool="hand"), "arm", "'hand'", "upper, forearm")


def test_errors_share_a_root():
    with pytest.raises(FlexjointError):
        Robot("r", ())
    with pytest.raises(ValueError):
        Robot("r", ())


# Data


def test_arrays_are_copied_and_frozen():
    com, gravity = np.array([0.1, 0.2, 0.3]), np.array([0.0, 0.0, -9.81])
    robot = arm(body={"com": com}, gravity=gravity)
    before = robot.digest
    com[0], gravity[0] = 7.0, 7.0
    link = robot.links[1]
    assert (link.com[0], robot.gravity[0]) == (0.1, 0.0)
    for array in (link.com, link.inertia, link.joint.position, link.joint.rotation, robot.gravity):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    for item, name in ((robot, "name"), (link, "mass"), (link.joint, "kind"), (link.joint.limits, "lower")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(item, name, None)
    assert robot.replace(name="arm").digest == before


def test_structure():
    links = [
        Link("trunk", Joint("a"), **BODY),
        Link("mount", Joint("b", "fixed"), "trunk"),
        Link("left", Joint("c", "prismatic"), "mount", **BODY),
        Link("right", Joint("d"), "trunk", **BODY),
    ]
    robot = Robot("r", links, tool="left")
    assert robot.n == 3
    assert [j.name for j in robot.joints] == ["a", "c", "d"]
    assert robot.parents == (-1, 0, 1, 0)
    assert robot.coordinates == (0, None, 1, 2)
    assert robot.path(2) == [0, 1, 2]
    assert (robot.link_index(), robot.link_index("right")) == (2, 3)
    refused(lambda: robot.link_index("hand"), "'hand'", "trunk, mount, left, right")
    assert Robot("r", links).tool == "right"
    assert "RPR" in repr(robot)


def test_one_joint_and_none():
    assert Robot("pendulum", (Link("bob", Joint("pivot"), **BODY),)).n == 1
    assert Robot("rock", (Link("rock", Joint("glue", "fixed"), **BODY),)).n == 0


def test_massless_frames():
    robot = Robot("r", (Link("x", Joint("a"), **BODY), Link("flange", Joint("b", "fixed"), "x", com=(1.0, 0, 0))))
    assert robot.links[1].mass == 0.0


def test_parents_first():
    robot = random_robot(12, 4, tree=True)
    shuffled = [robot.links[i] for i in np.random.default_rng(0).permutation(12)]
    ordered = parents_first(shuffled)
    assert Robot("r", ordered).n == 12
    assert {x.name for x in ordered} == {x.name for x in robot.links}
    assert parents_first(robot.links) == list(robot.links)
    refused(lambda: parents_first([Link("x", Joint("a"), "x")]), "cycle")


def test_a_thousand_links():
    assert random_robot(1000, 0).n == 1000


# Identity


def test_equal_data_equal_robots():
    assert arm() == arm()
    assert hash(arm()) == hash(arm())
    assert arm() != "arm"
    assert arm(body={"mass": 2}) == arm(body={"mass": np.float32(2.0)}) == arm(body={"mass": 2.0})
    assert arm(joint={"viscous_friction": -0.0}) == arm(joint={"position": (-0.0, 0, 0)}) == arm()
    assert arm(joint={"drive": RigidDrive(Motor(1))}) == arm(joint={"drive": RigidDrive(Motor(1.0))})


def next_float(x):
    return np.nextafter(x, np.inf)


@pytest.mark.parametrize(
    "other",
    [
        arm(body={"mass": next_float(2.0)}),
        arm(body={"com": (next_float(0.1), 0, 0)}),
        arm(body={"com": (0.1, 5e-324, 0)}),
        arm(body={"inertia": np.diag([0.3, 0.4, next_float(0.5)])}),
        arm(joint={"position": (0, 0, 5e-324)}),
        arm(joint={"rotation": np.diag([1.0, 1.0, next_float(1.0)])}),
        arm(joint={"kind": "prismatic"}),
        arm(joint={"limits": Limits(upper=1e308)}),
        arm(joint={"viscous_friction": 5e-324}),
        arm(joint={"coulomb_velocity": 5e-324}),
        arm(joint={"coulomb_friction": 1.0, "coulomb_velocity": 0.1}),
        arm(joint={"drive": RigidDrive()}),
        arm(gravity=(0, 0, next_float(-9.81))),
        arm(tool="upper"),
        arm(allow_unphysical=True),
        arm().replace(name="arm2"),
    ],
)
def test_one_changed_bit_makes_another_robot(other):
    assert other != arm()
    assert other.digest != arm().digest


def test_kind_of_drive_is_part_of_the_identity():
    rigid, elastic = RigidDrive(Motor(1.0)), ElasticDrive(100.0, Motor(1.0))
    robots = [arm(joint={"drive": x}) for x in (None, rigid, elastic, ElasticDrive(next_float(100.0), Motor(1.0)))]
    assert len(set(robots)) == 4


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"links": 3}, ["the links are 3", "give a list of Link"]),
        ({"links": [3]}, ["one of the links is 3", "give Link"]),
        ({"links": [Link("upper", "shoulder")]}, ["joint of link 'upper' is 'shoulder'", "give Joint"]),
        ({"links": [Link("a", Joint("j", limits=(-1.0, 1.0)))]}, ["joint 'j'", "(-1.0, 1.0)", "give Limits"]),
        ({"name": None}, ["named None", "string"]),
        ({"allow_unphysical": "no"}, ["allow_unphysical is 'no'", "True or False"]),
        ({"rotors_in_links": 1}, ["rotors_in_links is 1", "True or False"]),
    ],
)
def test_what_a_robot_is_made_of(fields, words):
    refused(lambda: Robot(**{"name": "arm", "links": [Link("upper", Joint("shoulder"))], **fields}), *words)


@pytest.mark.parametrize(
    ("function", "rest"),
    [
        (fj.robot.robot_parameters, ()),
        (fj.dynamics.deflection_steps, ()),
        (fj.dynamics.derivative_orders, ()),
        (fj.explain_orders, ()),
        (fj.dynamics.relative_degree, ()),
        (fj.dynamics.chain_length, ()),
        (fj.dynamics.standard_parameters, ()),
        (fj.base_parameters, ()),
        (fj.control.joint_modes, ([0.0],)),
        (lambda robot: fj.trajectory.load_trajectory("{kind = 'rest_to_rest', goal = 1, duration = 1}", robot), ()),
        (lambda robot: fj.trajectory.load_stiffness(900, robot), ()),
        (lambda robot: fj.write_robot(robot, "arm.toml"), ()),
    ],
)
def test_a_name_is_no_robot(function, rest):
    with pytest.raises(fj.InputError, match=r"\w+: robot must be a Robot, not str"):
        function("kuka_lwr", *rest)


# Transforms


def elastic_arm():
    return random_robot(5, 1, elastic=0.6, fixed=0.5)


def test_rigid_keeps_motor_inertias():
    robot = elastic_arm()
    assert sum(robot.compliant) == 3
    rigid = robot.rigid()
    assert not any(rigid.compliant)
    for before, after in zip(robot.joints, rigid.joints):
        assert after.drive == (RigidDrive(before.drive.motor) if before.drive else None)
    assert rigid.without_drives() == robot.without_drives()


def test_rigid_couples_both_motors_of_a_joint():
    motors = Motor(1.0, 0.2, 3.0, 0.1), Motor(2.0, 0.5)
    robot = arm(joint={"drive": AntagonisticDrive(*CUBIC, *motors)})
    assert robot.compliant == robot.variable_stiffness == (False, True)
    assert not any(robot.damped)
    assert robot.rigid().joints[1].drive == RigidDrive(Motor(3.0, 0.7, 3.0, 0.1))
    unlike = arm(joint={"drive": AntagonisticDrive(*CUBIC, motors[0], Motor(2.0, 0.5, 1.0, 0.3))})
    refused(unlike.rigid, "'elbow'", "Coulomb", "[0.1, 0.3]")


def test_rigid_leaves_out_a_motor_that_works_within_the_transmission():
    drive = LeverDrive(2e4, 0.1, 0.03, 0.12, Motor(0.5, 0.2), Motor(2.0, 0.3))
    assert arm(joint={"drive": drive}).rigid().joints[1].drive == RigidDrive(drive.motor_1)


def test_rigid_keeps_the_bodies_of_both_rotors():
    """Links are given without them: 1 kg sits in the elbow, 0.5 m from the shoulder."""
    motor = Motor.from_rotor(1e-3, 10.0, mass=0.5, transverse_inertia=2e-3)
    elbow = {"drive": AntagonisticDrive(*CUBIC, motor, motor), "position": (0.5, 0.0, 0.0)}
    robot = arm(joint=elbow, gravity=(0.0, -9.81, 0.0), rotors_in_links=False)
    assert robot.rigid().joints[1].drive.motor == Motor.from_rotor(2e-3, 10.0, mass=1.0, transverse_inertia=4e-3)
    q = np.array([0.3, 0.4])
    added = evaluate(fj.gravity_torque, robot.rigid(), q) - evaluate(fj.gravity_torque, robot.without_drives(), q)
    assert np.allclose(added, [1.0 * 9.81 * 0.5 * np.cos(0.3), 0.0], rtol=1e-13)
    added = evaluate(fj.mass_matrix, robot.rigid(), q) - evaluate(fj.mass_matrix, robot.without_drives(), q)
    assert np.allclose(added, np.diag([1.0 * 0.5**2, 0.2]), rtol=1e-13)
    elsewhere = dataclasses.replace(motor, position=(0.1, 0.0, 0.0))
    unlike = arm(joint={"drive": AntagonisticDrive(*CUBIC, motor, elsewhere)})
    refused(unlike.rigid, "'elbow'", "rotors at different positions")


def test_without_and_with_drives():
    robot = elastic_arm()
    bare = robot.without_drives()
    assert [j.drive for j in bare.joints] == [None] * 5
    assert bare.with_drives([j.drive for j in robot.joints]) == robot
    refused(lambda: robot.with_drives([None]), robot.name, "1 drives for 5 moving joints")


def test_with_gravity():
    assert arm().with_gravity((0, 0, 0)).gravity.tolist() == [0.0, 0.0, 0.0]
    assert arm().with_gravity((0, 0, -9.81)) == arm()


def test_payload():
    robot = arm()
    loaded = robot.with_payload(3.0, (0, 0, 0.1), np.diag([0.1, 0.1, 0.1]))
    payload = loaded.links[-1]
    assert loaded.links[:2] == robot.links
    assert (payload.name, payload.parent, payload.mass, payload.joint.kind.name) == ("payload", "forearm", 3.0, "fixed")
    assert payload.com.tolist() == [0.0, 0.0, 0.1]
    assert (loaded.n, loaded.tool, loaded.allow_unphysical) == (2, "forearm", False)
    assert loaded.with_payload(1.0, link="upper").links[-1].parent == "upper"
    assert loaded.with_payload(1.0).links[-1].name == "payload2"
    assert robot.with_payload(1.0).allow_unphysical, "a point mass has no inertia of its own"
    refused(lambda: robot.with_payload(1.0, link="hand"), "'hand'")
    refused(lambda: robot.with_payload(-1.0), "'payload'", "-1 kg")
    refused(lambda: robot.with_payload(1.0, inertia=np.diag([1.0, 1.0, 5.0])), "'payload'", "triangle")


def test_replace_validates():
    refused(lambda: arm().replace(tool="hand"), "'hand'")


# Representations ----------------------------------------------------------------------------------------------------


def test_repr_names_kinds_drives_and_tool():
    assert repr(arm()) == "Robot('arm', RR, 2 links, tool 'forearm')"
    assert repr(fj.load("kuka_lwr")) == "Robot('kuka_lwr', RRRRRRR, 7 elastic, 8 links, tool 'tool')"
    assert repr(fj.random_robot(30, 0)) == "Robot('random_30_0', 30 joints, 30 links, tool 'link30')"
    assert repr(fj.random_robot(1, 0)).startswith("Robot('random_1_0', R, 1 link,")


def test_table_for_notebooks_escapes_names():
    joint = Joint("<b>hinge</b>", limits=Limits(-1.0, 2.0, effort=30.0), drive=RigidDrive())
    slide = Joint("rail", "prismatic", limits=Limits(velocity=0.5))
    links = (Link("arm & co", joint, **BODY), Link("cart", slide, "arm & co", **BODY))
    found = Robot("<script>", links)._repr_html_()
    assert "<b>" not in found and "<script>" not in found
    row = "<tr><td>&lt;b&gt;hinge&lt;/b&gt;</td><td>revolute</td><td>base</td><td>arm &amp; co</td><td>rigid</td>"
    assert f"{row}<td>-1 to 2 rad, 30 Nm</td></tr>" in found
    assert "<td>rail</td><td>prismatic</td><td>arm &amp; co</td><td>cart</td><td>none</td><td>0.5 m/s</td>" in found
    assert "&lt;script&gt;</caption>" in found
