"""URDF files: the robot they describe against Pinocchio's reader, what is reported, and what is refused."""

import math
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.formats import parse_urdf, read_urdf
from flexjoint.formats.urdf.packages import resolved
from support.errors import relative_error
from support.evaluate import evaluate
from support.urdf_models import compare

FILES = Path(__file__).parents[2] / "data" / "urdf"
BODY = '<inertial><origin xyz="0.1 0 0"/><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial>'


def robot_of(*parts, **options):
    """A robot from the text between <robot> and </robot>."""
    return parse_urdf(f'<robot name="r">{"".join(parts)}</robot>'.encode(), "r.urdf", **options)


def link(name, body=BODY):
    return f'<link name="{name}">{body}</link>'


def joint(name, parent, child, kind="continuous", more=""):
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{more}</joint>'


ARM = (link("a", ""), link("b"), joint("j", "a", "b"))


def test_coupled_joints():
    robot = read_urdf(FILES / "gripper.urdf").robot
    assert [x.name for x in robot.joints] == ["slide", "left_joint"]
    assert robot.links[1].joint.mimic == fj.robot.Mimic("right_joint", 20.0, 0.1)
    held = fj.load(FILES / "gripper.urdf", locked={"left_joint": 0.03})
    assert [x.name for x in held.joints] == ["slide"]  # a follower of a locked joint is locked: q = 20 · (−0.03) + 0.1
    pose = evaluate(fj.forward_kinematics, held, np.zeros(1), link="thumb")
    moved = evaluate(fj.forward_kinematics, robot, np.array([0.0, 0.03]), link="thumb")
    assert relative_error(pose.rotation, moved.rotation) < 1e-14


def test_motors_reductions_and_springs():
    robot, report, *_ = read_urdf(FILES / "motors.urdf")
    waist, elbow, wrist = robot.joints
    assert waist.drive == fj.RigidDrive(fj.Motor(1.0, gear_ratio=-100.0))
    assert elbow.drive == fj.RigidDrive(fj.Motor(120.0 * 120.0 * 5e-5, gear_ratio=120.0))
    motor = fj.Motor(50.0 * 50.0 * 2e-5, coulomb_friction=0.1, coulomb_velocity=0.01, gear_ratio=50.0)
    assert wrist.drive == fj.ElasticDrive(700.0, motor, 0.5)
    assert (waist.viscous_friction, waist.coulomb_friction, waist.coulomb_velocity) == (0.4, 0.7, 0.01)
    assert (wrist.viscous_friction, wrist.coulomb_friction) == (0.01, 0.0)  # Coulomb friction behind the spring
    assert elbow.limits == fj.Limits(-2.5, 2.5, 3.0, 60.0, 20.0)
    assert not robot.rotors_in_links and robot.tool == "flange"
    M = evaluate(fj.mass_matrix, robot, np.zeros(3)) - evaluate(fj.mass_matrix, robot.without_drives(), np.zeros(3))
    np.testing.assert_allclose(M, np.diag([1.0, 0.72, 0.0]), atol=1e-15)
    lines = (FILES / "motors.urdf").read_text().splitlines()
    assert any("mu_viscous" in x.what and 'mu_viscous="16"' in lines[x.line - 1] for x in report)
    assert any("tanh(v/0.01)" in x.reason for x in report)
    slow = read_urdf(FILES / "motors.urdf", coulomb_velocity=0.1).robot
    assert slow.joints[0].coulomb_velocity == 0.1


def test_differentials():
    """θ_1 = 30 (1.5 roll + pitch), θ_2 = −30 (1.5 roll − pitch): the kinetic energy of two rotors, by hand."""
    robot = read_urdf(FILES / "wrist.urdf").robot
    bare = robot.without_drives()
    difference = evaluate(fj.mass_matrix, robot, np.zeros(3)) - evaluate(fj.mass_matrix, bare, np.zeros(3))
    N = np.array([[0.0, 30.0, 45.0], [0.0, 30.0, -45.0]])  # of shoulder, pitch and roll
    np.testing.assert_allclose(difference, 2e-5 * N.T @ N, atol=1e-15)
    v = np.array([0.3, -0.7, 1.1])
    without = (FILES / "wrist.urdf").read_text().replace("motorInertia", "motorType")
    found = parse_urdf(without.encode(), "r.urdf")
    assert not found.robot.transmissions and any("no motor inertias" in x.reason for x in found.report)
    assert evaluate(fj.kinetic_energy, found.robot, np.zeros(3), v) > 0


def test_stiffness_without_a_motor_is_reported():
    found = robot_of(*ARM[:2], joint("j", "a", "b", more='<dynamics K="7000" D="1" damping="0.1"/>'))
    assert found.robot.joints[0].drive is None and found.robot.joints[0].viscous_friction == 0.1
    assert [x.what for x in found.report] == ["<dynamics K> of 'j'", "<dynamics D> of 'j'"]


def test_frames_axes_and_names():
    robot, report, *_ = read_urdf(FILES / "tree.urdf")
    assert [x.name for x in robot.joints] == ["waist", "right_shoulder", "right_wrist", "left_shoulder", "left_wrist"]
    assert robot.links[0].name == "base_frame" and any(x.level == "chosen" for x in report)
    assert read_urdf(FILES / "rotated.urdf").robot.joints[2].axis.tolist() == [0.0, -1.0, 0.0]


def test_chains_and_tools():
    path = FILES / "tree.urdf"
    chain, report, *_ = read_urdf(path, tip="left_plate")
    assert [x.name for x in chain.joints] == ["waist", "left_shoulder"] and chain.tool == "left_plate"
    assert any("2.6 kg hang beside" in x.reason or "3.2 kg hang beside" in x.reason for x in report)
    arm = fj.load(path, root="trunk", tip="left_hand", tool="left_arm")
    assert [x.name for x in arm.joints] == ["left_shoulder", "left_wrist"] and arm.tool == "left_arm"
    with pytest.raises(fj.InputError, match="'left_hand' is not below 'right_arm'"):
        read_urdf(path, root="right_arm", tip="left_hand")
    with pytest.raises(fj.InputError, match="did you mean 'left_arm'"):
        read_urdf(path, tool="left_arn")
    with pytest.raises(fj.InputError, match="no joint 'nose' to lock"):
        read_urdf(path, locked={"nose": 0.0})
    with pytest.raises(fj.InputError, match="options of URDF and MJCF"):
        fj.load("kuka_lwr", locked=["joint1"])
    assert fj.load("kuka_lwr", tool="link3").tool == "link3"


def test_locked_joints_stand_where_they_are_locked():
    path, q = FILES / "rotated.urdf", np.array([0.2, -0.7, 0.4])
    whole = read_urdf(path).robot
    for k, name in enumerate(["slide", "turn", "bend"]):
        rest = read_urdf(path, locked={name: q[k]}).robot
        pose = evaluate(fj.forward_kinematics, rest, np.delete(q, k))
        expected = evaluate(fj.forward_kinematics, whole, q)
        assert relative_error(pose.rotation, expected.rotation) < 1e-14
        assert relative_error(pose.position, expected.position) < 1e-14


def test_everything_with_dynamics_that_is_not_used_is_reported_with_its_line(tmp_path):
    text = """<robot name="r">
    <link name="a"><contact><stiffness value="3"/></contact></link>
    <link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
      <inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1"/></inertial></link>
    <joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
      <limit lower="-1" upper="1" effort="0" velocity="2" current="3"/>
      <dynamics damping="1" stiction="4"/>
      <safety_controller k_velocity="3"/>
      <spring k="3"/>
    </joint>
    <gazebo reference="j"><springStiffness>4</springStiffness><material>Blue</material></gazebo>
    <transmission name="t"><type>FourBar</type><joint name="j"/><actuator name="x"/><actuator name="y"/></transmission>
    </robot>"""
    report = parse_urdf(text.encode(), "r.urdf").report
    found = {(x.line, x.what.split(" of ")[0].split(" '")[0], x.level) for x in report}
    assert found == {
        (2, "<contact>", "unused"),
        (4, "<inertial>", "unused"),
        (6, "<limit effort>", "chosen"),
        (6, "<limit current>", "unused"),
        (7, "<dynamics stiction>", "unused"),
        (8, "<safety_controller>", "unused"),
        (9, "<spring>", "unused"),
        (11, "<gazebo> <springStiffness>", "unused"),
        (12, "<transmission>", "unused"),
    }
    path = tmp_path / "r.urdf"
    path.write_text(text)
    with pytest.warns(fj.FlexjointWarning, match="8 entries are not used or suspicious, first in line 2: <contact>"):
        robot = fj.load(path)
    assert fj.formats.file_report(robot) == report and fj.formats.file_report(fj.load("hua_3r")) == ()


def test_geometry_and_packages(tmp_path, monkeypatch):
    mesh = '<geometry><mesh filename="package://arm_description/m/x.stl" scale="2 2 2"/></geometry>'
    box = '<geometry><box size="1 2 3"/></geometry>'
    visual = f'<visual><origin xyz="1 0 0"/>{mesh}</visual><collision>{box}</collision>'
    text = f'<robot name="r">{link("a", "")}{link("b", BODY + visual)}{ARM[2]}</robot>'
    package = tmp_path / "share" / "arm_description"
    for folder in (package / "m", package / "urdf"):
        folder.mkdir(parents=True)
    (package / "m" / "x.stl").write_text("")
    (package / "urdf" / "r.urdf").write_text(text)
    shape, body = read_urdf(package / "urdf" / "r.urdf").geometry["b"]
    assert (shape.role, shape.kind, shape.size, shape.position.tolist()) == ("visual", "mesh", (2, 2, 2), [1, 0, 0])
    assert shape.path == str(package / "m" / "x.stl") and (body.kind, body.size) == ("box", (1.0, 2.0, 3.0))
    away = tmp_path / "elsewhere.urdf"
    assert resolved(shape.file, str(away)) is None
    assert resolved(shape.file, str(away), {"arm_description": str(package)}) == shape.path
    assert resolved(shape.file, str(away), [str(tmp_path / "share")]) == shape.path
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "share"))
    assert resolved(shape.file, str(away)) == shape.path
    assert resolved("m/x.stl", str(package / "r.urdf")) == shape.path


LAUGHS = '<!DOCTYPE r [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]><robot name="&b;"/>'
OUTSIDE = '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="r">&x;</robot>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LAUGHS, "line 1: the file declares a document type"),
        (OUTSIDE, "line 1: the file declares a document type"),
        ("<robot", "not well-formed XML: unclosed token"),
        ("<robot><?xml version='1.0'?></robot>", "line 1: .* second <\\?xml"),
        ("<robot><link>\n</robot>", "line 2: .* <link> of line 1 is not closed"),
        ("<robot name='a & b'/>", "written &lt; and &amp;"),
        ("<robot/><robot/>", "more after the end of the first element"),
        ("", "the file is empty"),
        ("[robot]", "this is not XML"),
        ("<mujoco/>", "this is MJCF, not a URDF"),
        ("<robot>" + "<!--" * 1_000_000, "not well-formed"),
        ("<robot>" + '<joint name="j" type="fixed"/>' * 100_000 + "</robot>", "100,000 links, joints"),
        ("<robot><Link name='a'/></robot>", "line 1 has <Link>: names of elements are in lower case"),
        ("<robot><xacro:arm/></robot>", "xacro macros; expand the file"),
        ("<a>" * 60 + "</a>" * 60, "51 levels of elements in a URDF"),
        ("<robot>" + "<x/>" * 200_001 + "</robot>", "200,001 elements .* at most 200,000"),
        (" " * 8_000_001, "8,000,001 bytes .* at most 8,000,000"),
        ("<robot>" + '<link name="a"/>' * 1001 + "</robot>", "1,001 links, joints"),
        ("<robot/>", "<robot> has no <link>"),
        ('<robot><link name="a"/></robot>', "one link and no joint: nothing moves"),
        ('<robot><link name="a"/>\n<link name="a"/></robot>', "line 2: the link name 'a' is used twice, .* line 1"),
    ],
)  # fmt: skip
def test_wrong_files_are_refused_at_once(text, message):
    start = time.process_time()
    with pytest.raises(fj.RobotError, match=message):
        parse_urdf(text.encode(), "r.urdf")
    assert time.process_time() - start < 2.0


def test_huge_files_are_not_read(tmp_path):
    path = tmp_path / "huge.urdf"
    with open(path, "wb") as file:
        file.truncate(10**9)  # sparse
    with pytest.raises(fj.RobotError, match=r"1,000,000,000 bytes .* at most 8,000,000 are accepted"):
        fj.load(path)


NAN = BODY.replace('mass value="1"', 'mass value="nan"')


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((link("a", ""), link("b", NAN), ARM[2]), "value of <mass> is nan: it must be finite"),
        ((link("a", ""), link("b", NAN.replace("nan", "1e999")), ARM[2]), "it must be finite"),
        ((link("a", ""), link("b", NAN.replace("nan", "-1")), ARM[2]), "must not be negative"),
        ((link("a", ""), link("b", NAN.replace("nan", "1_0")), ARM[2]), "give a number"),
        ((*ARM[:2], joint("j", "a", "c")), "joins the link 'c', which the file does not have"),
        ((link("a", ""), link("b", NAN.replace("nan", "1,5")), ARM[2]), "a decimal point and no comma"),
        ((link("a", ""), link("b", NAN.replace("nan", "${m}")), ARM[2]), "a xacro expression.* expand the file first"),
        ((*ARM[:2], joint("j", "a", "b", more='<origin quat_xyzw="0 0 0 1"/>')), "give the rotation as rpy"),
        ((*ARM[:2], joint("j", "a", "b", more='<limit lower="nan"/>')), "lower of <limit> is nan"),
        ((link("a", ""), link("b", NAN.replace("nan", "2 kg")), ARM[2]), "give a number, without a unit"),
        ((*ARM[:2], joint("j", "a", "b", more='<dynamics damping="1 2"/>')), "damping of .* give one number"),
        ((*ARM[:2], joint("j", "a", "b", "Revolute")), "of type 'Revolute': use one of revolute"),
        ((*ARM[:2], '<joint name="j"><parent link="a"/></joint>'), "<joint> 'j' has no type"),
        ((*ARM, link("c"), joint("k", "c", "b")), "hangs on two joints, 'j' .* a closed loop"),
        ((*ARM, link("c")), "2 links have no parent joint, a, c: .* root='a'"),
        ((link("a"), link("b"), joint("j", "a", "b"), joint("k", "b", "a")), "the joints form a cycle"),
        ((*ARM, link("c"), link("d"), joint("k", "c", "d"), joint("l", "d", "c")), "the joints form a cycle"),
        ((*ARM[:2], joint("j", "a", "b", "floating")), "joint 'j' is floating.* locked={'j': 0}"),
        ((*ARM[:2], joint("j", "a", "b", "planar")), "joint 'j' is planar.* root='b'"),
        ((*ARM[:2], joint("j", "a", "b", "spherical")), "joint 'j' is spherical.* lock this one"),
        ((*ARM, "<loop_joint name='l'/>"), "<loop_joint> 'l', a closed loop, is not modelled"),
        ((*ARM[:2], joint("j", "a", "b", more='<axis xyz="0 0 0"/>')), "the axis of joint 'j' is zero"),
        ((*ARM[:2], joint("j", "a", "b", more='<axis xyz="0 1"/>')), "give three numbers"),
        ((*ARM[:2], joint("j", "a", "b", more='<mimic joint="k"/>')), "follows the joint 'k'"),
        ((*ARM, link("c"), joint("k", "b", "c", more='<mimic joint="j" multiplier="0"/>')), "multiplier 0.* lock it"),
    ],
)
def test_wrong_robots_are_refused_by_name(parts, message):
    with pytest.raises(fj.RobotError, match=message):
        robot_of(*parts)


FULL = BODY.replace('izz="0.1"', 'izz="0.1" ixy="0.01" ixz="0.02" iyz="-0.01"')  # Pinocchio wants all six


def test_habits_of_real_files():
    """Bytes that XML forbids and readers of URDF take: the robot is that of the clean file, in Pinocchio."""
    parts = "".join((link("w", ""), link("b", FULL), joint("j", "w", "b", more='<axis xyz="0 1 0"/>')))
    clean = f'<robot name="r">{parts}</robot>'
    head = '<?xml version="1.0" encoding="utf-8"?>'
    for data in (
        f"\ufeff<!-- first -->\n{head}{clean}".encode(),
        clean.replace("<link", "<!-- 5 -- 6 --- -->\n<link").encode(),
        f"{head}{clean}<!-- 90\u00b0 -->".encode("latin-1"),
        clean.encode("utf-16"),
        clean.replace('"0.1 0 0"', '" +1.E-1\n0\t-0.0e+5 "').encode(),
    ):
        found = parse_urdf(data, "r.urdf")
        assert compare(clean, found.robot, found.root).worst < 1e-12
    named = f'{head}\n<robot name="caf\u00e9">{parts}</robot>'.encode("latin-1")
    found = parse_urdf(named, "r.urdf")
    assert found.robot.name == "café"
    assert [(x.line, x.level) for x in found.report] == [(2, "chosen")]
    assert "ISO-8859-1" in found.report[0].reason


def test_a_world_that_is_not_defined_is_the_base():
    weld = joint("weld", "world", "a", "fixed", '<origin xyz="0 0 1" rpy="1 0 0"/>')
    parts = (link("a", ""), link("b", FULL), weld, ARM[2])
    found = robot_of(*parts)
    assert found.root == "world" and "'world'" in found.report[0].reason
    clean = f'<robot name="r"><link name="world"/>{"".join(parts)}</robot>'
    assert compare(clean, found.robot, "world").worst < 1e-12


def test_joints_with_infinite_limits_have_none():
    limit = '<limit lower="-inf" upper="Infinity" effort="inf" velocity="3" acceleration="7"/>'
    found = robot_of(*ARM[:2], joint("j", "a", "b", "revolute", limit))
    assert found.robot.joints[0].limits == fj.Limits(velocity=3.0, acceleration=7.0) and not found.report


def test_reasons_tell_what_was_meant():
    """A reason per habit: rotor inertias and springs in places where URDF has none, loops of Gazebo, xacro."""
    more = '<dynamics armature="0.1" spring_stiffness="5"/><axis xyz="0 0 1"/><axis xyz="0 1 0"/>'
    loop = "<gazebo><plugin><joint>j</joint></plugin><joint name='l' type='revolute'/></gazebo>"
    found = robot_of(*ARM[:2], joint("j", "a", "b", more=more), loop, "<xacro:finger side='left'/>")
    reasons = {x.what.split(" of ")[0]: x.reason for x in found.report}
    assert reasons.keys() == {
        *("<dynamics armature>", "<dynamics spring_stiffness>", "<axis>", "<gazebo> <plugin>", "<gazebo> <joint>"),
        "<xacro:finger>",
    }
    assert "motor_inertia" in reasons["<dynamics armature>"]
    assert "parallel_spring" in reasons["<dynamics spring_stiffness>"]
    assert "given twice" in reasons["<axis>"] and "closes a loop" in reasons["<gazebo> <joint>"]
    assert "expand the file first" in reasons["<xacro:finger>"]
    assert [x.level for x in found.report if "xacro" in x.what] == ["suspicious"]


def test_negative_moments_are_refused_where_they_matter():
    odd = BODY.replace('ixx="0.1"', 'ixx="-0.1"')
    with pytest.raises(fj.RobotError, match=r"principal moments -0\.1, 0\.1, 0\.1 kg m²: none can be negative"):
        robot_of(link("a", ""), link("b", odd), ARM[2])
    found = robot_of(*ARM, link("c", odd), joint("k", "a", "c", "fixed"))  # does not move
    assert [x.level for x in found.report] == ["suspicious"]
    thin = robot_of(link("a", ""), link("b", BODY.replace('izz="0.1"', 'izz="0.3"')), ARM[2])
    assert thin.robot.allow_unphysical and "no rigid body has" in thin.report[0].reason


def test_joints_of_several_coordinates_may_be_locked():
    parts = (*ARM, link("c"), joint("k", "b", "c", "floating", '<origin xyz="0 0 1"/>'))
    robot = robot_of(*parts, locked=["k"]).robot
    assert robot.n == 1 and robot.links[1].joint.position.tolist() == [0.0, 0.0, 1.0]
    with pytest.raises(fj.InputError, match="can be locked at 0 only"):
        robot_of(*parts, locked={"k": 1.0})


def test_limits_that_are_none():
    limit = '<limit lower="1" upper="-1" effort="0" velocity="0"/>'
    found = robot_of(*ARM[:2], joint("j", "a", "b", "revolute", limit))
    assert found.robot.joints[0].limits == fj.Limits()
    assert [x.level for x in found.report] == ["suspicious", "chosen", "chosen"]
    assert robot_of(*ARM).robot.joints[0].limits.upper == math.inf


def test_quarter_turns_with_few_digits_are_taken_as_they_are():
    for angle, exact in (("1.57079632679", False), ("1.5707963267949", True), ("-3.141592653589793", True)):
        robot = robot_of(*ARM[:2], joint("j", "a", "b", more=f'<origin rpy="{angle} 0 0"/>')).robot
        assert (set(np.abs(robot.joints[0].rotation).ravel()) == {0.0, 1.0}) == exact


def test_xacro_needs_its_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xacro", None)
    path = tmp_path / "r.urdf.xacro"
    path.write_text("<robot/>")
    with pytest.raises(fj.RobotError, match="pip install xacro"):
        fj.load(path)


XACRO = """<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">
<xacro:arg name="reach" default="0.1"/>
<xacro:macro name="arm" params="name"><link name="${name}"><inertial><origin xyz="$(arg reach) 0 0"/>
<mass value="${sqrt(9) - 2}"/><inertia ixx="0.1" iyy="0.1" izz="0.1"/></inertial></link></xacro:macro>
<xacro:include filename="$(find arm_description)/joint.xacro"/></robot>"""
PART = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="a"/><xacro:arm name="b"/>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/><spring k="3"/></joint></robot>"""


def test_xacro_files(tmp_path):
    pytest.importorskip("xacro")
    folder = tmp_path / "arm_description" / "robots"
    folder.mkdir(parents=True)
    (folder / "r.urdf.xacro").write_text(XACRO)
    (folder.parent / "joint.xacro").write_text(PART)
    with pytest.warns(fj.FlexjointWarning, match=r"r\.urdf\.xacro: xacro executes expressions .* files you trust"):
        found = read_urdf(folder / "r.urdf.xacro")
    assert found.robot == robot_of(*ARM).robot
    assert [x.what for x in found.report] == ["<spring> of 'j'"] and found.report[0].line > 10  # of the expanded file
    away = tmp_path / "away.xacro"
    away.write_text(XACRO.replace('default="0.1"', 'default="0.3"'))
    with pytest.warns(fj.FlexjointWarning):
        moved = fj.load(away, packages={"arm_description": str(folder.parent)})
    assert moved.links[0].com.tolist() == [0.3, 0.0, 0.0]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("sqrt(9)", "open(9)", "xacro cannot expand the file"),
        ("$(find arm_description)", "", r"\$\(find NAME\) looks for the folder NAME .* packages="),
        ('<xacro:arg name="reach" default="0.1"/>', "", "the file wants arguments"),
    ],
)
@pytest.mark.filterwarnings("ignore::flexjoint.FlexjointWarning")
def test_xacro_files_that_cannot_be_expanded(tmp_path, old, new, message):
    pytest.importorskip("xacro")
    path = tmp_path / "r.xacro"
    (tmp_path / "joint.xacro").write_text(PART)
    path.write_text(XACRO.replace("$(find arm_description)", ".").replace(old, new) if "find" not in old else XACRO)
    with pytest.raises(fj.RobotError, match=message):
        read_urdf(path)


def test_xacro_files_that_do_not_exist(tmp_path):
    with pytest.raises(fj.RobotError, match="there is no such file"):
        fj.load(tmp_path / "missing.xacro")
