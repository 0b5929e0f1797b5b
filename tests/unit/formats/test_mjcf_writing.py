"""MJCF files of robots: what is written and reported, geometry, wrong arguments.  MuJoCo is not needed."""

import struct
import warnings
from dataclasses import replace
from itertools import pairwise
from xml.etree.ElementTree import fromstring

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.drives import BoucWen, Friction, MaccepaDrive
from flexjoint.formats import mjcf_model, write_mjcf
from flexjoint.springs import HardeningSpring, ParallelSpring

BODY = {"mass": 1.0, "com": (0.1, 0.0, 0.0), "inertia": 0.01 * np.eye(3)}


def arm(**joint):
    return fj.Robot("arm", (fj.Link("upper", fj.Joint("hinge", **joint), **BODY),))


def found(robot, **options):
    model = mjcf_model(robot, **options)
    return fromstring(model.text), {(x.what, x.level) for x in model.report}, model


RUBBING = Friction(
    1.0, 2.0, 0.1, static=3.0, stribeck_velocity=0.5, load=0.1, load_scale=1.0, backward=Friction(3.0, 4.0)
)
HYSTERESIS = BoucWen(torque=1.0, stiffness=1e3)
HARD = fj.ElasticDrive(HardeningSpring(900.0, 0.2), fj.Motor(0.3, friction=RUBBING), hysteresis=HYSTERESIS)
MACCEPA = MaccepaDrive(800.0, 0.03, 0.12, 0.01, 0.005, 0.03, fj.Motor(0.1), fj.Motor(0.1), damping=0.5)


def test_what_mujoco_lacks_is_reported():
    top, report, _ = found(arm(drive=HARD))
    assert report == {
        ("spring", "approximate"),
        ("hysteresis", "missing"),
        ("Stribeck friction", "missing"),
        ("load-dependent friction", "missing"),
        ("friction by direction", "approximate"),
        ("Coulomb friction", "approximate"),
    }
    motor, spring = top.find(".//joint[@name='hinge.motor']"), top.find(".//fixed")
    assert motor.attrib["damping"] == "2" and motor.attrib["frictionloss"] == "3"
    assert float(spring.attrib["stiffness"]) == 900.0
    top, report, _ = found(arm(drive=HARD), coulomb="none")
    assert ("Coulomb friction", "missing") in report
    assert "frictionloss" not in top.find(".//joint[@name='hinge.motor']").attrib


def test_a_drive_of_variable_stiffness_without_springs_in_mujoco():
    top, report, model = found(arm(drive=MACCEPA))
    assert report == {("springs of MaccepaDrive", "missing")}
    assert model.joints == ("hinge", "hinge.motor", "hinge.second.motor")
    assert [x.attrib["name"] for x in top.find("actuator")] == ["hinge", "hinge.second"]
    assert [x.attrib["damping"] for x in top.find("tendon")] == ["0.5"]
    qpos, _ = model.to_mujoco([0.4])
    assert qpos.tolist() == [0.4, 0.4, 0.0]  # the second motor sets the stiffness alone


def test_a_parallel_spring_of_another_law():
    top, report, _ = found(arm(parallel_spring=ParallelSpring(HardeningSpring(40.0, 2.0), 0.3)))
    assert report == {("parallel spring", "approximate")}
    joint = top.find(".//joint")
    assert float(joint.attrib["stiffness"]) == 40.0 and joint.attrib["springref"] == "0.3"


def test_all_digits_are_written():
    numbers = (1 / 3, 2e-17, -0.1)
    top, _, _ = found(arm(position=numbers))
    assert [float(x) for x in top.find(".//body").attrib["pos"].split()] == list(numbers)


def test_names():
    links = (fj.Link("world", fj.Joint("a<b"), **BODY), fj.Link("a<b.motor", fj.Joint("a<b.motor"), "world", **BODY))
    robot = fj.Robot("x & y", links).with_drives([fj.ElasticDrive(100.0, fj.Motor(0.1))] * 2)
    top, report, model = found(robot)
    assert report == {("name", "noted")} and top.attrib["model"] == "x & y"
    assert [x.attrib["name"] for x in top.iter("body")] == ["world2", "a<b.motor", "a<b.motor2", "a<b.motor.motor"]
    assert model.joints == ("a<b", "a<b.motor", "a<b.motor2", "a<b.motor.motor")
    with pytest.raises(fj.RobotError, match=r"the link name 'a\\x01' has a character that no XML file holds: rename"):
        mjcf_model(fj.Robot("x", (fj.Link("a\x01", fj.Joint("j"), **BODY),)))


def test_a_chain_that_mujoco_does_not_read():
    names = ["base", *(f"link{k}" for k in range(500))]
    links = [fj.Link(name, fj.Joint(name), parent, **BODY) for parent, name in pairwise(names)]
    with pytest.raises(fj.RobotError, match="long: a chain of 500 links: MuJoCo reads files with 490 at most"):
        mjcf_model(fj.Robot("long", tuple(links)))


def test_a_robot_without_joints():
    table = fj.Robot("table", (fj.Link("top", fj.Joint("mount", "fixed"), **BODY),))
    top, report, model = found(table)
    assert not report and model.joints == () and model.to_mujoco([])[0].shape == (0,)
    assert top.find("worldbody/body").attrib["name"] == "top"


def test_states_go_there_and_back():
    robot = fj.load("hua_3r")
    model = mjcf_model(robot)
    q, v, theta, theta_v = np.random.default_rng(0).normal(size=(4, 5, robot.n))
    state = model.from_mujoco(*model.to_mujoco(q, v, theta, theta_v))
    rigid = ~np.array(robot.compliant)
    theta[:, rigid], theta_v[:, rigid] = q[:, rigid], v[:, rigid]
    assert all(np.array_equal(x, y) for x, y in zip(state, (q, v, theta, theta_v)))
    with pytest.raises(fj.InputError, match=r"to_mujoco: theta has shape \(2,\); it must be \(..., 3\)"):
        model.to_mujoco([0, 0, 0], theta=[1, 2])


def test_wrong_arguments(tmp_path):
    robot = fj.load("kuka_lwr")
    for options, message in (
        ({"timestep": 0.0}, "timestep is 0.0: give a positive number, in s"),
        ({"coulomb": "dry"}, 'coulomb is \'dry\': give "frictionloss" or "none"'),
        ({"home": [1.0]}, r"home has shape \(1,\); it must be \(..., 7\)"),
        ({"geometry": {"link9": ()}}, "geometry: there is no link 'link9'"),
    ):
        with pytest.raises(fj.InputError, match=message):
            mjcf_model(robot, **options)
    with pytest.raises(fj.RobotError, match="the model cannot be written"):
        write_mjcf(robot, tmp_path / "missing" / "lwr.xml")


def test_a_file_is_written_with_a_warning_where_dynamics_differ(tmp_path):
    path = tmp_path / "arm.xml"
    with pytest.warns(
        fj.FlexjointWarning, match=r"arm: the model for MuJoCo differs from the robot: .*hysteresis \(mi"
    ):
        model = write_mjcf(arm(drive=HARD), path)
    assert path.read_text() == model.text
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path.unlink()
        write_mjcf(fj.load("panda"), path)  # limits of velocity are no dynamics
    assert path.exists()


# Geometry -----------------------------------------------------------------------------------------------------------

URDF = """<robot name="arm"><link name="table"><visual><geometry><box size="1 2 0.1"/></geometry></visual></link>
<link name="base"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial>
  <visual><origin xyz="0 0 0.1" rpy="0.1 0 0"/><geometry><mesh filename="a.stl" scale="2 1 1"/></geometry></visual>
  <visual><geometry><mesh filename="a.stl" scale="2 1 1"/></geometry></visual>
  <visual><geometry><mesh filename="text.stl"/></geometry></visual>
  <visual><geometry><mesh filename="a.dae"/></geometry></visual>
  <visual><geometry><mesh filename="lost.obj"/></geometry></visual>
  <collision><geometry><cylinder radius="0.1" length="0.4"/></geometry></collision>
  <collision><geometry><sphere radius="0.2"/></geometry></collision>
  <collision><geometry><sphere radius="0"/></geometry></collision></link>
<joint name="hinge" type="continuous"><parent link="table"/><child link="base"/><axis xyz="0 1 0"/></joint></robot>"""


def tetrahedron():
    """A binary STL file."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype="<f4")
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    normal = np.zeros(3, dtype="<f4").tobytes()
    triangles = [normal + corners[list(face)].tobytes() + b"\0\0" for face in faces]
    return b"\0" * 80 + struct.pack("<I", len(faces)) + b"".join(triangles)


@pytest.fixture
def urdf(tmp_path):
    (tmp_path / "arm.urdf").write_text(URDF)
    (tmp_path / "a.stl").write_bytes(tetrahedron())
    (tmp_path / "a.dae").write_text("<COLLADA/>")
    (tmp_path / "text.stl").write_text("solid x\nfacet normal 0 0 1\n")
    return tmp_path / "arm.urdf"


def test_geometry_of_a_urdf(urdf):
    robot = fj.load(urdf)
    model = write_mjcf(robot, urdf.with_name("arm.xml"))
    top = fromstring(model.text)
    meshes = [x.attrib for x in top.find("asset")]
    assert meshes == [{"name": "mesh1", "file": "a.stl", "inertia": "shell", "scale": "2 1 1"}]
    assert top.find("worldbody/geom").attrib["size"] == "0.5 1 0.05"
    kinds = [(x.attrib["type"], x.attrib.get("size")) for x in top.find("worldbody/body").iter("geom")]
    assert kinds == [("mesh", None), ("mesh", None), ("cylinder", "0.1 0.2"), ("sphere", "0.2")]
    assert all(x.attrib["contype"] == "0" for x in top.iter("geom"))
    left_out = ["visual mesh 'text.stl'", "visual mesh 'a.dae'", "visual mesh 'lost.obj'", "collision sphere"]
    assert [x.what for x in model.report] == left_out
    assert {x.level for x in model.report} == {"noted"}
    assert fromstring(mjcf_model(robot).text).find("asset/mesh").attrib["file"] == str(urdf.with_name("a.stl"))
    assert not list(fromstring(mjcf_model(robot, geometry={}).text).iter("geom"))
    touching = fromstring(mjcf_model(robot, contacts=True).text)
    assert [x.attrib["type"] for x in touching.iter("geom") if "contype" not in x.attrib] == ["cylinder", "sphere"]


def test_mujoco_reads_the_geometry(urdf):
    mujoco = pytest.importorskip("mujoco")
    robot = fj.load(urdf)
    write_mjcf(robot, urdf.with_name("arm.xml"))
    made = mujoco.MjModel.from_xml_path(str(urdf.with_name("arm.xml")))
    assert made.ngeom == 5 and made.nmesh == 1 and abs(sum(made.body_mass) - 1.0) < 1e-12
    data = mujoco.MjData(made)
    mujoco.mj_forward(made, data)
    placed = [data.geom_xpos[i] + data.geom_xmat[i].reshape(3, 3) @ v for i, v in ((1, v) for v in made.mesh_vert)]
    x, y, z = np.array(placed).T
    c, s = np.cos(0.1), np.sin(0.1)
    corners = np.array([[0, 0, 0.1], [2, 0, 0.1], [0, c, 0.1 + s], [0, -s, 0.1 + c]])
    assert all(np.min(np.abs(np.array([x, y, z]).T - corner).max(axis=1)) < 1e-6 for corner in corners)


def test_geometry_belongs_to_a_robot_and_not_to_its_equals(urdf):
    first, second = fj.load(urdf), fj.load(urdf)
    bodies = fj.formats.file_geometry(second)
    del first
    assert fj.formats.file_geometry(second) is bodies and bodies
    template = urdf.with_name("same.drives.toml")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        template.write_text(fj.formats.DriveFile.new(second).text)
        same = fj.load(urdf, drives=template)
    assert same == second and fj.formats.file_geometry(same).keys() == bodies.keys()
    assert fj.formats.file_geometry(second.replace()) == {}


def test_drives_keep_the_geometry(urdf, tmp_path):
    robot = fj.load(urdf)
    path = tmp_path / "arm.drives.toml"
    path.write_text(
        """format = "flexjoint-drives"
version = 1
[[joint]]
name = "hinge"
drive = {kind = "elastic", stiffness = 100, motor_inertia = 0.1}
"""
    )
    driven = fj.load(urdf, drives=path)
    assert driven.elastic == (True,)
    assert repr(fj.formats.file_geometry(driven)) == repr(fj.formats.file_geometry(robot)) != "{}"
    assert not fj.formats.file_geometry(replace(driven, gravity=(0.0, 0.0, -1.0)))
