"""MJCF files: what elements become, what is reported, what is refused, and files that are missing or hostile."""

from __future__ import annotations

import builtins
from pathlib import Path

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.formats import file_report, parse_mjcf, read_mjcf

pytest.importorskip("mujoco")

FILES = Path(__file__).parents[2] / "data" / "mjcf"
TWO = '<joint name="a"/><joint name="b" axis="1 0 0"/>'
SQUARE = '<joint joint1="a" joint2="b" polycoef="0 1 1 0 0"/>'
INERTIAL = '<inertial pos="0.1 0 0" mass="1" diaginertia="0.01 0.01 0.01"/>'


def mjcf(joint='<joint name="j" axis="0 1 0"/>', rest="", inertial=INERTIAL, world="") -> bytes:
    """A pendulum in one line per section."""
    return f"""<mujoco model="m">
<compiler angle="radian"/>
<worldbody>{world}
<body name="arm">
{joint}
{inertial}
</body></worldbody>
{rest}
</mujoco>""".encode()


def read(*args, options=None, **parts):
    return parse_mjcf(mjcf(*args, **parts), "m.xml", **(options or {}))


def findings(found, level="unused"):
    return [(x.line, x.what) for x in found.report if x.level == level]


# What elements become -------------------------------------------------------------------------------------------------


def test_armature_is_reflected_and_that_of_actuators_is_not():
    robot = read(
        '<joint name="j" armature="0.3" damping="0.5"/>',
        '<actuator><motor joint="j" gear="-20" armature="0.001" damping="0.002" forcerange="-3 3"/></actuator>',
    ).robot
    joint = robot.joints[0]
    assert joint.drive == fj.RigidDrive(fj.Motor(0.3 + 400 * 0.001, gear_ratio=-20.0))
    assert joint.viscous_friction == 0.5 + 400 * 0.002
    assert joint.limits.effort == 60.0 and not robot.rotors_in_links


def test_gear_scales_effort_and_not_the_armature_of_the_joint():
    text = '<motor joint="j" gear="50" ctrlrange="-2 2"/><motor joint="j" gear="2" forcerange="-1 1"/>'
    text = f"<actuator>{text}</actuator>"
    joint = read('<joint name="j" armature="0.3"/>', text).robot.joints[0]
    assert joint.drive == fj.RigidDrive(fj.Motor(0.3)) and joint.limits.effort == 102.0
    limited = read('<joint name="j" actuatorfrcrange="-70 70"/>', text).robot.joints[0]
    assert limited.limits.effort == 70.0 and limited.drive is None


def test_an_effort_that_differs_in_the_two_directions_is_reported():
    found = read(rest='<actuator>\n<motor joint="j" forcerange="-2 5"/></actuator>')
    assert found.robot.joints[0].limits.effort == 2.0
    assert findings(found, "chosen") == [(9, "<motor> of 'j'")]
    one_way = read(rest='<actuator><motor joint="j" forcerange="0 5"/></actuator>')
    assert one_way.robot.joints[0].limits.effort == 5.0


def test_springs_are_parallel():
    spring = read('<joint name="j" stiffness="30" springref="0.4" ref="0.1"/>').robot.joints[0].parallel_spring
    assert spring == fj.springs.ParallelSpring(30.0, rest=0.4)
    cubic = read('<joint name="j" stiffness="30 0 5"/>').robot.joints[0].parallel_spring
    assert cubic == fj.springs.ParallelSpring(fj.springs.CubicSpring(30.0, 5.0))
    for text in ("30 2 0", "-3", "0 0 4"):
        assert findings(read(f'<joint name="j" stiffness="{text}"/>')) == [(5, "<joint stiffness> of 'j'")]


def test_friction_and_limits():
    text = '<joint name="j" frictionloss="0.4" damping="0.1 0.2 0" range="-1 2"/>'
    found = read(text, options={"coulomb_velocity": 0.2})
    joint = found.robot.joints[0]
    assert (joint.viscous_friction, joint.coulomb_friction, joint.coulomb_velocity) == (0.1, 0.4, 0.2)
    assert joint.limits == fj.Limits(-1.0, 2.0)
    assert "tanh(v/0.2)" in str(found.report[0]) and findings(found) == [(5, "<joint damping> of 'j'")]
    for text in ('range="-1 2" limited="false"', 'range="2 -1"'):
        unlimited = read(f'<joint name="j" {text}/>')
        assert unlimited.robot.joints[0].limits == fj.Limits()
        assert findings(unlimited, "chosen") == [(5, "<joint range> of 'j'")]


def test_switched_off_parts_are_off():
    joint = '<joint name="j" stiffness="3" damping="1" frictionloss="1" range="-1 1"/>'
    flags = 'spring="disable" damper="disable" frictionloss="disable" limit="disable" gravity="disable"'
    found = read(joint, f"<option><flag {flags}/></option>")
    robot = found.robot
    assert robot.joints[0].parallel_spring is None and not robot.joints[0].viscous_friction
    assert not robot.joints[0].coulomb_friction and robot.joints[0].limits == fj.Limits()
    assert not np.any(robot.gravity) and len(findings(found, "chosen")) == 5


def test_followers_and_held_joints():
    joints = '<joint name="a" ref="0.1"/><joint name="b" axis="1 0 0" ref="0.2"/>'
    found = read(joints, '<equality><joint joint1="b" joint2="a" polycoef="0.5 -2 0 0 0"/></equality>')
    mimic = found.robot.followers[0].joint.mimic
    assert (mimic.joint, mimic.ratio) == ("a", -2.0) and mimic.offset == pytest.approx(0.2 + 0.5 + 2 * 0.1, abs=1e-15)
    held = read(joints, '<equality><joint joint1="b" polycoef="0.5 0 0 0 0"/></equality>').robot
    assert [x.name for x in held.joints] == ["a"] and not held.followers
    off = read(joints, '<equality><joint joint1="b" joint2="a" active="false"/></equality>')
    assert off.robot.n == 2 and findings(off) == [(8, "<joint>")]


def test_bodies_keep_their_frames():
    robot = read_mjcf(FILES / "anchors.xml").robot
    names = [x.name for x in robot.links]
    assert names == ["hip_yaw", "hip_roll", "hip_pitch", "hip", "body2", "shank_shank_joint", "shank", "counterweight"]
    assert [x.name for x in robot.joints] == ["yaw", "roll", "pitch", "shank_joint", "pump", "swing"]
    assert [x.mass for x in robot.links] == [0, 0, 0, 4, 0.5, 0, 2, 1]


def test_geometry_in_body_frames():
    found = read_mjcf(FILES / "geoms.xml")
    box, cylinder = found.geometry["cart"]
    assert (box.kind, box.size, box.role, box.line) == ("box", (0.4, 0.2, 0.1), "collision", 12)
    assert cylinder.kind == "cylinder" and cylinder.size == pytest.approx((0.02, 0.06**0.5))
    capsule, mesh = found.geometry["pole"]
    assert capsule.size == (0.03, 0.4) and (mesh.kind, mesh.role, mesh.size) == ("mesh", "visual", (1, 1, 2))
    np.testing.assert_allclose(mesh.position, [0.05, 0, 0.3], atol=1e-14)  # MuJoCo centres the mesh; the file does not
    c, s = np.cos(1.0), np.sin(1.0)
    np.testing.assert_allclose(mesh.rotation, [[c, -s, 0], [s, c, 0], [0, 0, 1]], atol=1e-14)


# Options and reports --------------------------------------------------------------------------------------------------


def test_load_reports_and_warns(tmp_path):
    path = tmp_path / "arm.mjcf"
    path.write_bytes(mjcf(rest='<actuator>\n<position joint="j" kp="10"/></actuator>'))
    with pytest.warns(fj.FlexjointWarning, match=r"1 entry is not used or suspicious, first in line 9: <position>"):
        robot = fj.load(path)
    assert [x.what for x in file_report(robot)] == ["<position>"]


def test_the_tool_is_the_last_body_that_moves_or_a_site():
    world = '<body name="table"/>'
    text = mjcf('<joint name="j"/><site name="grip" pos="0 0 1"/>')
    text = text.replace(b"</worldbody>", f"{world}</worldbody>".encode())
    assert parse_mjcf(text, "m").robot.tool == "arm"
    robot = parse_mjcf(text, "m", tool="grip").robot
    assert robot.tool == "grip" and robot.links[-1].parent == "arm" and robot.links[-1].mass == 0
    with pytest.raises(fj.InputError, match="there is no link 'grap' for the tool"):
        parse_mjcf(text, "m", tool="grap")


def test_everything_with_dynamics_is_reported():
    joint = '<joint name="j" solreflimit="0.1 1" actuatorgravcomp="true"/>\n<site name="s"/>'
    rest = """<option density="1.2" viscosity="0"/>
<contact><pair geom1="g" geom2="h"/></contact>
<tendon><fixed name="t" stiffness="3"><joint joint="j" coef="1"/></fixed></tendon>
<actuator><motor tendon="t"/>
<general site="s"/>
<velocity joint="j"/></actuator>"""
    text = mjcf(joint, rest).replace(b'<body name="arm">', b'<body name="arm" gravcomp="1">')
    assert findings(parse_mjcf(text, "m")) == [
        (4, "<body gravcomp> of 'arm'"),
        (5, "<joint solreflimit> of 'j'"),
        (5, "<joint actuatorgravcomp> of 'j'"),
        (9, "<option density>"),
        (10, "<pair>"),
        (11, "<fixed> 't'"),
        (12, "<motor>"),
        (13, "<general>"),
        (14, "<velocity>"),
    ]


def test_included_files_are_named(tmp_path):
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "motors.xml").write_text('<x>\n<actuator>\n<position name="p" joint="j"/></actuator></x>')
    (tmp_path / "arm.xml").write_bytes(mjcf(rest='<include file="parts/motors.xml"/>'))
    found = read_mjcf(tmp_path / "arm.xml")
    assert str(found.report[0]).startswith("parts/motors.xml, line 3: <position> 'p'")
    (tmp_path / "parts" / "motors.xml").write_text("<x>\n<actuator>\n<position jint='j'/></actuator></x>")
    with pytest.raises(fj.RobotError, match=r"^parts/motors.xml, line 3: MuJoCo: .*unrecognized attribute: 'jint'"):
        read_mjcf(tmp_path / "arm.xml")


def test_a_urdf_with_the_suffix_xml(tmp_path):
    path = tmp_path / "robot.xml"
    path.write_bytes((FILES.parent / "urdf" / "rotated.urdf").read_bytes())
    assert fj.load(path) == fj.load(FILES.parent / "urdf" / "rotated.urdf")
    with pytest.raises(fj.RobotError, match="this is a URDF, not MJCF"):
        read_mjcf(path)


def test_without_mujoco(monkeypatch):
    known = builtins.__import__

    def missing(name, *rest):
        if name == "mujoco":
            raise ImportError
        return known(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(fj.RobotError, match=r"pip install 'flexjoint\[mjcf\]'"):
        read()


# Meshes ---------------------------------------------------------------------------------------------------------------


ASSET = """<asset><mesh name="x" file="nowhere.stl"/><texture name="t" type="2d" file="no.png"/>
<material name="m" texture="t"/></asset>"""
GEOM = '<geom type="mesh" mesh="x" material="m" pos="0 0 0.5"/>'


def test_missing_meshes_do_not_matter_beside_inertias():
    found = read(rest=ASSET, inertial=INERTIAL + GEOM)
    plain = read()
    assert found.robot == plain.robot
    (geom,) = found.geometry["arm"]
    assert (geom.kind, geom.file, geom.path, geom.position.tolist()) == ("mesh", "nowhere.stl", None, [0, 0, 0.5])


def test_missing_meshes_of_inertias_are_named():
    with pytest.raises(fj.RobotError, match=r"inertias come from mesh files that do not exist, nowhere.stl"):
        read(rest=ASSET, inertial=GEOM)
    fixed = read(rest=ASSET, world=GEOM)
    assert "does not exist" in str(fixed.report[0]) and fixed.robot == read().robot


# What is refused ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (mjcf('<freejoint name="f"/>'), r"line 5: joint 'f' is floating.*locked=\{'f': 0\}.*root='arm'"),
        (mjcf('<joint name="b" type="ball"/>'), r"line 5: joint 'b' is ball, which is not modelled"),
        (mjcf(rest='<equality>\n<connect body1="arm" anchor="0 0 1"/></equality>'), "line 9: <connect> is a closed"),
        (mjcf(rest='<equality><weld body1="arm"/></equality>'), "<weld> is a closed loop"),
        (mjcf(TWO, f"<equality>{SQUARE}</equality>"), "nonlinear relation of joints.*a, b: lock them"),
        (mjcf(rest="<deformable><flex name='f'/></deformable>"), "<flex> is a deformable body"),
        (mjcf(inertial=INERTIAL.replace('"1"', '"nan"')), "line 6: mass of <inertial> is nan: it must be finite"),
        (mjcf(inertial=INERTIAL.replace('"1"', '"-1"')), "line 4: MuJoCo: mass and inertia of moving bodies"),
        (mjcf(inertial=INERTIAL.replace('"1"', '"1e200"')), "line 4: mass of <body> 'arm' has a number beyond"),
        (mjcf(inertial=""), "line 4: MuJoCo: mass and inertia"),
        (mjcf('<joint nme="j"/>'), "line 5: MuJoCo: Schema violation: unrecognized attribute: 'nme'"),
        (mjcf(rest='<actuator><motor joint="x"/></actuator>'), "line 8: MuJoCo: unknown transmission target 'x'"),
        (mjcf(rest='<include file="none.xml"/>'), "line 8: the file 'none.xml' to include does not exist"),
        (mjcf(world='<replicate count="100000"><body/></replicate>'), "100,001 links, joints or bodies"),
        (mjcf(rest='<asset><mesh builtin="supersphere" params="3000 1 1"/></asset>'), "3,000 vertices along an edge"),
        (b'<!DOCTYPE m [<!ENTITY a "b">]><mujoco/>', "declares a document type"),
        (b"<mujoco><worldbody>", "line 1: not well-formed XML"),
        (b"<mujoco/>", "one link and no joint: nothing moves"),
        (b"<sdf/>", "this is SDF, not MJCF, whose root element is <mujoco>"),
        (b"<html/>", "this is an XML file of <html>"),
        (b"", "the file is empty; MJCF files are XML"),
    ],
)
def test_bad_files(text, message):
    with pytest.raises(fj.RobotError, match=message) as error:
        parse_mjcf(text, "m.xml")
    assert len(str(error.value)) < 1000


def test_constraints_of_locked_joints_have_no_effect():
    text = mjcf(
        *(TWO, f"<equality>{SQUARE}</equality>"),
        INERTIAL + f'<body name="hand"><joint name="c"/>{INERTIAL}</body>',
    )
    found = parse_mjcf(text, "m", locked=["a", "b"])
    assert found.robot.n == 1 and "no effect" in str(found.report)


def test_limits_of_size(monkeypatch, tmp_path):
    deep = b"<mujoco>" + b"<body>" * 300 + b"</body>" * 300 + b"</mujoco>"
    with pytest.raises(fj.RobotError, match="201 levels of elements in an MJCF"):
        parse_mjcf(deep, "m")
    (tmp_path / "a.xml").write_text('<mujoco><include file="a.xml"/></mujoco>')
    with pytest.raises(fj.RobotError, match=r"'a\.xml' is included twice"):
        read_mjcf(tmp_path / "a.xml")
    monkeypatch.setenv("FLEXJOINT_LIMITS", "xml_bytes=330")
    (tmp_path / "b.xml").write_text("<x>" + " " * 300 + "</x>")
    (tmp_path / "c.xml").write_text('<mujoco><include file="b.xml"/></mujoco>')
    with pytest.raises(fj.RobotError, match="at most 330"):
        read_mjcf(tmp_path / "c.xml")
    monkeypatch.undo()
    with pytest.raises(fj.InputError, match="packages is an option of URDF files"):
        fj.load(FILES / "geoms.xml", packages={})
    with pytest.raises(fj.InputError, match="coulomb_velocity is 0"):
        read(options={"coulomb_velocity": 0})
