"""Robot files: what is written comes back to the last bit, and what is wrong is named with its place."""

import math
import os
from dataclasses import dataclass

import numpy as np
import pytest

from flexjoint.catalog import builtin_robots
from flexjoint.drives import (
    DRIVES,
    AntagonisticDrive,
    ElasticDrive,
    Motor,
    MotorLimits,
    RigidDrive,
    SpringLimits,
    VariableStiffnessDrive,
)
from flexjoint.errors import RobotError
from flexjoint.formats import READERS, load, read_robot
from flexjoint.formats.dh import from_dh
from flexjoint.formats.robot_files import parse_robot
from flexjoint.formats.writing import robot_text, write_robot
from flexjoint.robot import Joint, Limits, Link, Robot
from flexjoint.robot.random_robots import random_robot
from flexjoint.spatial import rotation_rpy
from flexjoint.springs import CubicSpring, ExponentialSpring, QuadraticSpring, Spring, TabulatedSpring

DH = """
name = "two"
convention = "standard_dh"
[[link]]
alpha_deg = 90
d = 0.5
mass = 2
com = [0, 0.1, 0]
inertia = {xx = 0.02, yy = 0.02, zz = 0.005, yz = 1e-3}
drive = {kind = "elastic", stiffness = 1000, motor_inertia = 3.2}
[[link]]
kind = "prismatic"
theta = 0.25
a = 0.3
viscous_friction = 0.5
limits = {lower = -1, upper = 1.5, effort = 20}
drive = {kind = "rigid", motor_inertia = 0.1}
"""

FRAMES = """
name = "tree"
convention = "frames"
gravity = [0, 0, -1.62]
tool = "left"
[[link]]
name = "trunk"
position = [0, 0, 0.5]
rpy_deg = [90, 0, 45]
[[link]]
name = "left"
joint = "shoulder"
kind = "prismatic"
parent = "trunk"
rpy = [0.1, 0.2, 0.3]
[[link]]
name = "right"
kind = "fixed"
parent = "trunk"
rotation = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
mass = 1.5
inertia = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
"""


def parse(text):
    return parse_robot(text.encode(), "file.toml")


def test_standard_dh():
    inertia = np.zeros((2, 3, 3))
    inertia[0] = [[0.02, 0, 0], [0, 0.02, 1e-3], [0, 1e-3, 0.005]]
    expected = from_dh(
        "two",
        [math.pi / 2, 0.0],
        [0.0, 0.3],
        [0.5, 0.0],
        [0.0, 0.25],
        kinds="RP",
        mass=[2.0, 0.0],
        com=[[0.0, 0.1, 0.0], [0.0, 0.0, 0.0]],
        inertia=inertia,
        viscous_friction=[0.0, 0.5],
        limits=[None, Limits(-1.0, 1.5, effort=20.0)],
        drives=[ElasticDrive(1000.0, Motor(3.2)), RigidDrive(Motor(0.1))],
    )
    assert parse(DH) == expected


def test_modified_dh():
    robot = parse(DH.replace("standard_dh", "modified_dh"))
    assert robot.links[0].joint.rotation[2].tolist() == [0.0, 1.0, 0.0]
    assert robot != parse(DH)


def test_frames():
    robot = parse(FRAMES)
    trunk, left, right = robot.links
    assert (robot.tool, robot.gravity[2], robot.n) == ("left", -1.62, 2)
    assert (trunk.parent, trunk.joint.name, left.joint.name, left.joint.kind.name) == (
        "base",
        "trunk_joint",
        "shoulder",
        "prismatic",
    )
    np.testing.assert_allclose(trunk.joint.rotation, rotation_rpy(math.pi / 2, 0, math.pi / 4), atol=1e-16)
    assert trunk.joint.rotation[0, 1] == 0.0
    assert np.array_equal(left.joint.rotation, rotation_rpy(0.1, 0.2, 0.3))
    assert right.joint.rotation[0, 1] == -1.0
    assert right.mass == 1.5


def odd_robot():
    """Everything a robot can hold at once, with names and numbers that are hard to write."""
    skewed = np.diag([0.1, 0.1, 0.1])
    skewed[0, 1], skewed[1, 0] = 1e-3, np.nextafter(1e-3, 1)
    limits = Limits(-1.0, velocity=3.5, jerk=1 / 3)
    first = Joint('j\x7f\t"é\\\n', "revolute", [1e-300, 0.1 + 0.2, -1 / 3], limits=limits)
    dry = {"coulomb_friction": 1 / 7, "coulomb_velocity": 1e-3}
    second = Joint("b", "prismatic", viscous_friction=0.1, drive=RigidDrive(Motor(0.0, 0.3, 1 / 9, 0.02)), **dry)
    springs = QuadraticSpring(1 / 3, 0.7), ExponentialSpring(0.1, -1 / 7)
    weak = Motor(1e-7, viscous_friction=0.7, limits=MotorLimits(torque=1 / 7, power=1e-9))
    third = Joint("c", drive=ElasticDrive(1 / 3, weak, 1 / 11, SpringLimits(deflection=1 / 9)))
    last = Motor(2 / 3, limits=MotorLimits(speed=0.1 + 0.2))
    links = [
        Link("α = 1 # no comment", first, mass=np.float64(2.0), inertia=skewed),
        Link("y", second, "α = 1 # no comment", mass=1, com=[0.1, 0.0, 0.0]),
        Link("z", third),
        Link("w", Joint("d", drive=AntagonisticDrive(*springs, Motor(1 / 3, 0.1), last, damping=1 / 13))),
    ]
    return Robot("odd", tuple(links), (0.0, 5e-324, 1e308), tool="y", allow_unphysical=True)


def measured_robot():
    """Its springs put more numbers into a line than a key may have dots."""
    phi = np.linspace(-0.5, 0.5, 201)
    spring = TabulatedSpring(phi, 300 * phi + 900 * phi**3)
    return random_robot(2, 3, name="measured").with_drives([ElasticDrive(spring, Motor(0.1)), None])


@pytest.mark.parametrize(
    "robot",
    [
        odd_robot(),
        measured_robot(),
        random_robot(1, 0),
        random_robot(6, 1, tree=True, elastic=0.5, friction=True, fixed=0.5),
        random_robot(7, 2, orthogonal=True, elastic=1.0),
        parse(DH),
        parse(FRAMES),
        *map(load, builtin_robots()),
    ],
    ids=lambda robot: robot.name,
)
def test_round_trip(robot, tmp_path):
    write_robot(robot, tmp_path / "robot.toml")
    again = read_robot(tmp_path / "robot.toml")
    assert again == robot
    assert robot_text(again) == robot_text(robot)
    assert load(tmp_path / "robot.toml") == robot
    assert load(str(tmp_path / "robot.toml")) == robot


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("mass = 2", "mas = 2", ["file.toml, link 1", "unknown key 'mas'", "did you mean 'mass'?"]),
        ("a = 0.3", "position = [0, 0, 1]", ["link 2", "'position'"]),
        ("yz = 1e-3", "zy = 1e-3", ["link 1, inertia", "'zy'"]),
        ("effort = 20", "torque = 20", ["link 2, limits", "'torque'", "effort"]),
        ("stiffness = 1000", "stifness = 1000", ["link 1, drive", "did you mean 'stiffness'?"]),
        ('kind = "rigid"', 'kind = "rigid", stiffness = 3', ["link 2, drive", "'stiffness'", "motor_inertia"]),
        ('name = "two"', 'name = "two"\ngravitiy = [0, 0, 1]', ["'gravitiy'", "did you mean 'gravity'?"]),
        ("mass = 2", 'mass = "2"', ["link 1", "mass must be a number", "'2'"]),
        ("mass = 2", "mass = true", ["mass must be a number", "True"]),
        ("mass = 2", "mass = 2024-01-01", ["mass must be a number"]),
        ("mass = 2", "mass = -2", ["file.toml", "link1", "-2"]),
        ("mass = 2", "mass = nan", ["mass", "joint1", "nan"]),
        ("mass = 2", "mass = 1" + "0" * 400, ["mass must be a number"]),
        ("mass = 2", "mass = 1" + "0" * 5000, ["file.toml", "not valid TOML"]),
        ("[0, 0.1, 0]", "[0, 0.1]", ["com must be three numbers", "[0, 0.1]"]),
        ("[0, 0.1, 0]", "[0, 0.1, false]", ["com must be three numbers"]),
        ("[0, 0.1, 0]", "{x = 1}", ["com must be three numbers"]),
        ("yy = 0.02, ", "", ["inertia", "'yy' is missing"]),
        ("{xx = 0.02, yy = 0.02, zz = 0.005, yz = 1e-3}", "[[1, 2], [3, 4]]", ["inertia", "3x3"]),
        ("{xx = 0.02, yy = 0.02, zz = 0.005, yz = 1e-3}", "7", ["inertia must be a table", "7"]),
        (", motor_inertia = 3.2", "", ["'motor_inertia' is missing"]),
        ('kind = "elastic"', 'kind = "springy"', ["drive", "'springy'", '"elastic"']),
        ('kind = "elastic", ', "", ["drive", "'kind' is missing"]),
        ('kind = "prismatic"', 'kind = "fixed"', ["link 2", "'fixed'", '"prismatic"']),
        ("theta = 0.25", "theta = 0.25\ntheta_deg = 3", ["theta and theta_deg are both given"]),
        ("theta = 0.25", "theta_deg = inf", ["theta", "joint2", "inf"]),
        ("standard_dh", "dh", ["convention", "'dh'", '"modified_dh"']),
        ('convention = "standard_dh"', "", ["'convention' is missing"]),
        ('name = "two"', "", ["'name' is missing"]),
        ('name = "two"', "name = 2", ["name must be a string", "2"]),
        ('name = "two"', 'name = "two"\ndescription = 1', ["description must be a string"]),
        ('name = "two"', 'name = "two"\nallow_unphysical = 1', ["allow_unphysical must be true or false"]),
        ('name = "two"', 'name = "two"\ntool = "hand"', ["'hand'", "link2"]),
        ('name = "two"', "name = ", ["file.toml", "not valid TOML", "line 2"]),
        ('name = "two"', 'name = "two"\nname = "two"', ["not valid TOML"]),
    ],
)
def test_errors_name_place_value_and_remedy(old, new, words):
    assert old in DH
    with pytest.raises(RobotError) as error:
        parse(DH.replace(old, new, 1))
    assert str(error.value).startswith("file.toml")
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('parent = "trunk"', 'parent = "trnk"', ["'left'", "'trnk'"]),
        ('name = "left"', 'name = "trunk"', ["'trunk'", "twice"]),
        ('name = "left"\n', "", ["link 2", "'name' is missing"]),
        (
            "rpy = [0.1",
            "rotation = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]\nrpy = [0.1",
            ["link 2 'left'", "rpy and rotation"],
        ),
        ("rpy = [0.1", "rpy = [inf", ["link 2 'left'", "finite"]),
        ("rpy_deg = [90", "alpha_deg = 0 #", ["link 1 'trunk'", "'alpha_deg'"]),
        ("[[0, -1, 0]", "[[0, 1, 0]", ["right_joint", "rotation"]),
    ],
)
def test_errors_in_frames(old, new, words):
    assert old in FRAMES
    with pytest.raises(RobotError) as error:
        parse(FRAMES.replace(old, new, 1))
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize("content", ["", "link = []", "link = 3", "[link]\nmass = 1"])
def test_no_links(content):
    with pytest.raises(RobotError, match=r"link.*\[\[link\]\]"):
        parse('name = "x"\nconvention = "frames"\n' + content)


def test_missing_file_and_folder(tmp_path, monkeypatch):
    (tmp_path / "arm").mkdir()
    monkeypatch.chdir(tmp_path)
    for path, message in ((tmp_path / "none.toml", "no such file"), (tmp_path, "is a folder"), ("arm", "is a folder")):
        with pytest.raises(RobotError, match=message) as error:
            load(path)
        assert str(path) in str(error.value)


@pytest.mark.parametrize("name", ["arm.sdf", "models/arm.SDF", "arm.yaml"])
def test_other_formats_say_so(name):
    for read in (load, read_robot):
        with pytest.raises(RobotError, match=r"are not read yet; a robot is a TOML file \(\.toml\)"):
            read(name)


def test_a_robot_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "robot.toml"
    write_robot(load("hua_3r"), path)
    path.chmod(0o640)
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        with pytest.raises(RobotError, match=r"robot\.toml: the robot cannot be written: No space left on device"):
            write_robot(load("vsa_3r"), path)
    assert path.read_bytes() == before and list(tmp_path.iterdir()) == [path]
    link = tmp_path / "link.toml"
    link.symlink_to(path)
    write_robot(load("vsa_3r"), link)
    assert link.is_symlink() and load(path).name == "vsa_3r" and path.stat().st_mode & 0o777 == 0o640


def test_a_pipe_is_written_to_and_not_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    end = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    write_robot(load("hua_3r"), tmp_path / "pipe")
    assert os.read(end, 100_000).decode() == robot_text(load("hua_3r")) and (tmp_path / "pipe").is_fifo()
    os.close(end)


def test_huge_file(tmp_path):
    path = tmp_path / "huge.toml"
    path.write_bytes(b"#" * 2_000_001)
    with pytest.raises(RobotError, match="2,000,001 bytes in a TOML file"):
        read_robot(path)


def test_too_many_links(monkeypatch):
    monkeypatch.setenv("FLEXJOINT_LIMITS", "links=1")
    with pytest.raises(RobotError, match="2 links"):
        parse(DH)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"a = " + b"[" * 100_000, b"a" + b".a" * 100_000 + b" = 1"])
def test_hostile_content(content):
    with pytest.raises(RobotError, match=r"^file"):
        parse_robot(content, "file")


@pytest.mark.parametrize("part", [b"a.", b"1.", b"11.", b"1a1.", b"1.1 . ", b'"a, 1"."b".', b"'1.5'.", b"-0_1.1e5."])
def test_long_keys_are_refused_before_they_are_read(part):
    """Whatever they are made of, numbers too: tomllib would take minutes."""
    with pytest.raises(RobotError, match="dots in the keys of a line of TOML; at most 100 "):
        parse_robot(part * 100_000 + b"a = 1", "file")


def test_unknown_builtin_name():
    with pytest.raises(RobotError) as error:
        load("kuka_lrw")
    assert "did you mean 'kuka_lwr'?" in str(error.value)
    assert all(name in str(error.value) for name in builtin_robots())


# Extensions -------------------------------------------------------------------------------------------------------


def test_a_registered_format_is_read_by_its_suffix(tmp_path):
    path = tmp_path / "arm.SDF"
    try:

        @READERS.register(".sdf")
        def read(place):
            return parse_robot(DH.encode(), place)

        assert load(str(path)) == read_robot(path) == parse_robot(DH.encode(), "")
    finally:
        READERS.pop(".sdf", None)


def test_a_registered_drive_has_a_form_in_files(tmp_path):
    """Its fields are its keys; a subclass of it has none."""

    @dataclass(frozen=True)
    class Cams(VariableStiffnessDrive):
        K: float
        spring: Spring
        motor_1: Motor
        motor_2: Motor
        damping: float = 0.0

        ranges = ((-0.7, 0.7), (0.01, 0.7))
        follows = False

        def energy(self, phi_1, phi_2):
            return sum(self.K / 2 * x**2 + self.K * x**4 for x in (phi_1 + phi_2, phi_1 - phi_2))

    class Further(Cams):
        pass

    numbers = 200.0, CubicSpring(3.0, 4.0), Motor(1.0), Motor(2.0, viscous_friction=3.0), 5.0
    robot, other = (random_robot(1, 0).with_drives([drive(*numbers)]) for drive in (Cams, Further))
    with pytest.raises(RobotError, match=r"'link1_joint', .*Cams.*no form in robot files"):
        robot_text(robot)
    try:
        DRIVES.register("cams")(Cams)
        assert robot_text(robot).count("K = 200.0, spring = {kind") == 1
        assert parse_robot(robot_text(robot).encode(), "copy") == robot
        with pytest.raises(RobotError, match="no form in robot files"):
            robot_text(other)
    finally:
        DRIVES.pop("cams", None)
