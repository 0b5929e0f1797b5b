"""URDF and drive files that are written: nothing is lost, and Pinocchio reads the same rigid robot."""

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.drives import CoupledTransmission, Dahl, Friction
from flexjoint.formats import Geometry, read_urdf, write_urdf
from flexjoint.formats.urdf.extensions import MATRIX, ROTATION
from flexjoint.robot import Mimic, random_robot
from flexjoint.robot.joints import Helical
from flexjoint.spatial import rotation_rpy, rpy_angles
from flexjoint.springs import CubicSpring, ParallelSpring
from support.urdf_models import compare

FILES = sorted((Path(__file__).parents[2] / "data" / "urdf").glob("*.urdf"))
STRIBECK = Friction(viscous=0.4, coulomb=0.5, velocity=0.25, static=0.8, stribeck_velocity=0.5,
                    backward=Friction(coulomb=0.7, static=0.9, stribeck_velocity=0.4))  # fmt: skip


def there_and_back(robot, folder, **options):
    """The robot after URDF and drive file, and what is lost."""
    urdf, drives = folder / "x.urdf", folder / "x.drives.toml"
    lost = write_urdf(robot, urdf, drives=drives, **options)
    return fj.load(urdf, drives=drives), lost


def everything():
    """Every part a robot can have and URDF files can hold, on odd axes, frames, names and limits."""

    def body(name, joint, parent, mass=1.0):
        return fj.Link(name, joint, parent, mass, (0.12, -0.02, 0.03), np.diag([0.012, 0.016, 0.014]) * mass)

    turned = rotation_rpy(0.3, -1.1, 2.7)
    geared = fj.Motor.from_rotor(3e-5, -101.7, mass=0.2, transverse_inertia=2e-5, friction=STRIBECK)
    elastic = fj.ElasticDrive(CubicSpring(300.0, 2e4), geared, 0.4, hysteresis=Dahl(2.0, 400.0), backlash=1e-3)
    laws = {"friction": STRIBECK, "limits": fj.Limits(-1.0, jerk=90.0, velocity=2.0)}
    shared = [fj.RigidDrive(fj.Motor(0.2)), fj.RigidDrive(fj.Motor(0.3, viscous_friction=0.1))]
    links = (
        body("über <&>\"'\n", fj.Joint("first [1]*", rotation=turned, axis=(1, 2, 3), drive=elastic, **laws), "base"),
        body("slide", fj.Joint("slide", "prismatic", (0.1, 0.0, 1 / 3), turned @ turned, drive=fj.RigidDrive(),
                               parallel_spring=ParallelSpring(CubicSpring(15.0, 20.0), 0.2)), "über <&>\"'\n"),
        body("follower", fj.Joint("follower", mimic=Mimic("pan", -0.7, 0.1), viscous_friction=0.3,
                                  drive=fj.RigidDrive(fj.Motor(0.4))), "slide"),
        fj.Link("camera", fj.Joint("mount", "fixed", (0.0, 0.1, 0.2), turned.T), "slide"),
        body("pan", fj.Joint("pan", axis=(0, 1, 0), limits=fj.Limits(effort=5.0, acceleration=7.0), drive=shared[0],
                             coulomb_friction=0.1, coulomb_velocity=0.05), "base"),
        body("nod", fj.Joint("nod", limits=fj.Limits(-2.0, 2.0), drive=shared[1]), "pan"),
        fj.Link("rod", fj.Joint("rod", axis=(-1, 0, 0), limits=fj.Limits(0.0, 0.0)), "nod", 0.5),
    )  # fmt: skip
    groups = [CoupledTransmission(["pan", "nod"], [[1.2, 0.4], [-0.3, 0.9]])]
    source = fj.robot.Source("*.mass", "estimated", "a drawing")
    return fj.Robot(
        *("everything", links, (1.0, 2.0, -9.0), "camera", True),
        rotors_in_links=False,
        transmissions=groups,
        sources=[source],
    )


def complete():
    """Complete rotors on carriers of their own."""
    robot = random_robot(4, 3, tree=True, prismatic=0.3, elastic=0.5)
    motor = fj.Motor.from_rotor(3e-5, 80.0, mass=0.3, position=(0.1, 0.0, 0.2), axis=(0.0, 0.6, 0.8), carrier="base")
    drives = [fj.ElasticDrive(500.0, motor) if x.drive else fj.RigidDrive(motor) for x in robot.joints]
    return robot.replace(rotors_in_links=False).with_drives(drives).with_fidelity("complete")


def unsymmetric():
    """An inertia whose symmetric elements differ in the last bit."""
    robot = fj.load("hua_3r")
    I = np.array(robot.links[0].inertia)
    I[0, 1], I[1, 0] = 1e-5, np.nextafter(1e-5, 1.0)
    return robot.replace(links=(dataclasses.replace(robot.links[0], inertia=I), *robot.links[1:]))


ROBOTS = {
    **{name: lambda name=name: fj.load(name) for name in fj.builtin_robots()},
    **{f"random {seed}": lambda seed=seed: random_robot(
        6, seed, tree=seed % 2 == 0, elastic=0.5, friction=True, fixed=0.3, orthogonal=seed > 2) for seed in range(4)},
    **{path.name: lambda path=path: read_urdf(path).robot for path in FILES},
    "one joint": lambda: random_robot(1, 5), "long chain": lambda: random_robot(30, 5, elastic=1.0),
    "everything": everything, "complete": complete, "unsymmetric": unsymmetric,
    "payload": lambda: fj.load("kuka_lwr").with_payload(2.0, (0.1, 0.0, 0.05)),
}  # fmt: skip


@pytest.mark.parametrize("name", ROBOTS)
def test_a_robot_comes_back_to_the_last_bit(name, tmp_path):
    robot = ROBOTS[name]()
    back, lost = there_and_back(robot, tmp_path)
    assert lost == () and back.digest == robot.digest and back.sources == robot.sources


@pytest.mark.parametrize("name", ["panda", "vsa_3r", "random 0", "random 1", "everything", "long chain", "payload"])
def test_pinocchio_reads_the_same_rigid_robot(name, tmp_path):
    robot = ROBOTS[name]()
    there_and_back(robot, tmp_path, root="ground")
    plain = robot.without_parallel_springs()
    assert compare((tmp_path / "x.urdf").read_text(), plain, "ground").worst < 1e-12


def test_without_a_drive_file_the_rest_is_reported(tmp_path):
    robot = everything()
    with pytest.warns(fj.FlexjointWarning, match=r"x\.urdf: not in the file: .* and \d+ more; drives= names a drive"):
        lost = write_urdf(robot, tmp_path / "x.urdf")
    named = {x.what for x in lost}
    assert {"transmissions", "drive of 'first [1]*'", "parallel_spring of 'slide'", "friction of 'first [1]*'"} <= named
    assert not any(x.startswith(("mass", "com", "inertia", "position", "rotation", "mimic", "axis")) for x in named)
    rigid = fj.load(tmp_path / "x.urdf").joints[0]
    motor = robot.joints[0].drive.motor
    assert rigid.drive.motor.inertia == pytest.approx(motor.inertia, rel=1e-15)
    assert rigid.drive.motor.gear_ratio == motor.gear_ratio
    assert rigid.viscous_friction == 0.8 and rigid.coulomb_friction == 1.0  # of link and motor together


def test_what_urdf_cannot_hold_is_refused(tmp_path):
    def with_joint(**changes):
        links = list(random_robot(2, 0).links)
        links[1] = dataclasses.replace(links[1], joint=dataclasses.replace(links[1].joint, **changes))
        return fj.Robot("two", tuple(links))

    for robot, message in (
        (with_joint(kind=Helical(0.01)), r"joint 'link2_joint' is helical, for which URDF has no type: .*write_robot"),
        (with_joint(name="bell\a"), r"has the character '\\x07', which XML cannot hold: rename it"),
        (with_joint(name="half \ud800"), "which XML cannot hold"),
    ):
        with pytest.raises(fj.RobotError, match=message):
            write_urdf(robot, tmp_path / "x.urdf")
    robot = random_robot(1, 0)
    with pytest.raises(fj.RobotError, match="two paths"):
        write_urdf(robot, tmp_path / "x.urdf", drives=tmp_path / "x.urdf")
    with pytest.raises(fj.RobotError, match="a name that no link has"):
        write_urdf(robot, tmp_path / "x.urdf", root="link1")
    with pytest.raises(fj.RobotError, match="cannot be written"):
        write_urdf(robot, tmp_path / "x.urdf", drives=tmp_path / "nowhere" / "x.drives.toml")
    with pytest.raises(fj.InputError, match="robot must be a Robot"):
        write_urdf("panda", tmp_path / "x.urdf")
    assert not list(tmp_path.iterdir())


def test_axis_and_limits_of_a_fixed_joint_are_reported(tmp_path):
    links = random_robot(1, 0).links
    frame = fj.Link("frame", fj.Joint("weld", "fixed", axis=(1, 0, 0), limits=fj.Limits(-1.0, 1.0)), "link1")
    with pytest.warns(fj.FlexjointWarning, match="not in the file: .*axis of 'frame'"):
        back, lost = there_and_back(fj.Robot("welded", (*links, frame)), tmp_path)
    assert {x.what for x in lost} == {"limits of 'weld'", "axis of 'frame'"}
    assert "URDF cannot hold it" in str(lost[0]) and not str(lost[0]).startswith("line")
    assert back.links[1].joint.kind.name == "fixed"


def test_changed_angles_count(tmp_path):
    """Where rpy and the exact matrix beside it disagree, somebody has changed rpy."""
    write_urdf(random_robot(1, 1, prismatic=0.0).without_drives(), path := tmp_path / "x.urdf")
    text = path.read_text()
    assert ROTATION in text and MATRIX not in text
    start = text.index('rpy="', text.index("<axis") - 400)
    path.write_text(text[: text.index('rpy="', text.index("<child"))] + 'rpy="0.1 0.2 0.3" '
                    + text[text.index(ROTATION, start) :])  # fmt: skip
    found = read_urdf(path)
    assert np.array_equal(found.robot.joints[0].rotation, rotation_rpy(0.1, 0.2, 0.3))
    assert ["differs from the attributes beside it" in x.reason for x in found.report if ROTATION in x.what] == [True]
    path.write_text(text.replace(f'{ROTATION}="', f'{ROTATION}="1 '))
    with pytest.raises(fj.RobotError, match="10 numbers: give nine"):
        read_urdf(path)


def test_limits_that_are_none(tmp_path):
    """Other readers want numbers: the largest double stands for no limit."""
    robot = random_robot(2, 8, prismatic=1.0)
    write_urdf(robot, path := tmp_path / "x.urdf")
    assert 'effort="1.7976931348623157e+308"' in path.read_text() and fj.load(path).joints[0].limits == fj.Limits()


def test_geometry_is_kept(tmp_path):
    robot = fj.load("hua_3r")
    (tmp_path / "mesh.stl").write_text("")
    turned = rotation_rpy(0.1, 0.2, 0.3)
    shapes = [("box", (1.0, 2.0, 3.0), ""), ("sphere", (0.5,), ""), ("cylinder", (0.1, 0.2), "")]
    bodies = [Geometry("link1", "visual", kind, size, np.ones(3), turned, file, None, 0) for kind, size, file in shapes]
    mesh = Geometry("base", "collision", "mesh", (1.0,) * 3, np.zeros(3), np.eye(3), "../mesh.stl", None, 0)
    mesh = mesh._replace(path=str(tmp_path / "mesh.stl"))
    (tmp_path / "new").mkdir()
    write_urdf(robot, tmp_path / "x.urdf", tmp_path / "x.toml", geometry={"link1": bodies, "base": [mesh]})
    found = read_urdf(tmp_path / "x.urdf").geometry
    assert [(x.kind, x.size) for x in found["link1"]] == [(kind, size) for kind, size, _ in shapes]
    assert np.array_equal(found["link1"][0].rotation, turned) and found["base"][0].file == "mesh.stl"
    with pytest.raises(fj.RobotError, match="geometry of elsewhere: there are no such links"):
        write_urdf(robot, tmp_path / "x.urdf", geometry={"elsewhere": bodies})


@pytest.mark.parametrize("pitch", [0.3, math.pi / 2, -math.pi / 2, math.pi / 2 - 1e-8, 1.570796326, 1.57079632679])
def test_angles_give_the_rotation_back(pitch):
    """Also near a quarter turn, where roll and yaw alone are hardly known."""
    for roll in (0.0, 0.7, -2.9):
        for yaw in (0.0, -1.3, 3.1):
            R = rotation_rpy(roll, pitch, yaw, 1e-15)
            assert np.max(np.abs(rotation_rpy(*rpy_angles(R), 1e-15) - R)) < 1e-15
