"""Drive files: merging with a robot, sources, comments that stay, templates, and wrong files by name."""

import dataclasses
import tomllib
from pathlib import Path

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.drives import DRIVES
from flexjoint.formats import DriveFile, parse_robot
from flexjoint.formats.drive_files import SOURCE_KEYS, TOP_KEYS
from flexjoint.formats.drive_merging import JOINT_KEYS
from flexjoint.formats.drive_tables import drive_keys
from flexjoint.robot import Source, source_of, without_source
from flexjoint.robot.sources import numbers

HEAD = 'format = "flexjoint-drives"\nversion = 1\n'
ARM = """
name = "arm"
convention = "standard_dh"
"""
LINK = """
[[link]]
a = 0.4
mass = 2.0
com = [-0.2, 0.0, 0.0]
inertia = {xx = 0.01, yy = 0.05, zz = 0.05}
"""


def arm(*more, top=""):
    """The arm with further keys per link."""
    return parse_robot((ARM + top + "".join(LINK + x for x in (more or ("", "", "")))).encode(), "arm.toml")


def applied(text, robot=None):
    return DriveFile(HEAD + text, "x.drives.toml").applied(arm() if robot is None else robot)


# The same robot as in one file ----------------------------------------------------------------------------------------

DRIVE_TABLES = [
    'drive = {kind = "elastic", stiffness = 700, motor_inertia = 0.3, motor_friction = {viscous = 1.0, coulomb = 4.0, '
    "velocity = 0.02, load = 0.1, load_scale = 1.0, backward = {viscous = 2.0, coulomb = 3.0}}}\n"
    "friction = {coulomb = 4.0, velocity = 0.02, static = 5.0, stribeck_velocity = 0.1}",
    'drive = {kind = "elastic", stiffness = 700, motor_inertia = 0.3, backlash = 1e-3, hysteresis = {kind = "dahl", '
    "torque = 2, stiffness = 4000}}",
    'drive = {kind = "rigid", motor_inertia = 0.3}\nparallel_spring = {stiffness = 40, rest = 0.3}',
    'drive = {kind = "rigid", motor_inertia = 0.3}\n'
    'parallel_spring = {kind = "cubic", stiffness = 40, cubic = 100, rest = 0.3}',
    'drive = {kind = "rigid", motor_inertia = 0.3, motor_viscous_friction = 0.2}',
    'drive = {kind = "elastic", stiffness = 7000, motor_inertia = 0.3, damping = 2.0}\nviscous_friction = 0.1',
    'drive = {kind = "elastic", spring = {kind = "cubic", stiffness = 900, cubic = 4e4}, motor_axial_inertia = 1e-4,'
    " motor_gear_ratio = -100, motor_limits = {torque = 90, speed = 3.0}, spring_limits = {deflection = 0.1}}",
    'drive = {kind = "elastic", stiffness = 900.0, motor_axial_inertia = 1e-5, motor_gear_ratio = 50, motor_mass = 0.1,'
    ' motor_transverse_inertia = 1e-5, motor_carrier = "base", motor_axis = [0, 0, 1], motor_position = [0, 0, 0.1]}',
    'limits = {lower = -2.0, upper = 2.0, velocity = 3.0, effort = 80}\ndrive = {kind = "rigid", motor_inertia = 0}\n'
    "coulomb_friction = 2.0\ncoulomb_velocity = 0.1",
    'drive = {kind = "antagonistic", spring_1 = {kind = "cubic", stiffness = 400, cubic = 2000}, spring_2 = {kind = '
    '"cubic", stiffness = 4, cubic = 9}, motor_1 = {inertia = 3.2}, motor_2 = {axial_inertia = 1e-5, gear_ratio = 9}}',
]


@pytest.mark.parametrize("one", DRIVE_TABLES)
def test_a_drive_file_gives_the_robot_of_one_file(one):
    other = 'drive = {kind = "elastic", stiffness = 100, motor_inertia = 0.1}'
    whole = arm(one, other, one)
    pair = f'[[joint]]\nname = ["joint1", "joint[3]"]\n{one}\n[[joint]]\nname = "joint2"\n{other}\n'
    assert applied(pair).digest == whole.digest


@pytest.mark.parametrize("name", fj.builtin_robots())
def test_the_template_gives_the_robot_it_is_of(name):
    robot = fj.load(name)
    file = DriveFile.new(robot)
    same = file.applied(robot)
    assert same.digest == robot.digest and same.sources == robot.sources
    assert file.applied(robot.without_drives().without_friction()).digest == robot.digest
    bare = DriveFile.new(robot.without_drives())
    assert [table["name"] for table in tomllib.loads(bare.text)["joint"]] == [joint.name for joint in robot.joints]


def test_the_template_has_every_key_with_its_meaning():
    robot = fj.load("kuka_lwr").without_drives()
    text = DriveFile.new(robot).text
    lines = [line for line in text.splitlines() if " = " in line]
    for key in (*(key for key in JOINT_KEYS if key not in ("limits", "drive")), "limits.velocity"):
        assert any(line.startswith(f"# {key} = ") for line in lines), key
    for key in drive_keys(DRIVES["elastic"]):
        start = "# drive." + key + (".torque" if key.endswith("_limits") else "") + " = "
        found = [line for line in lines if line.startswith(start)]
        assert len(found) == 7 and " # " in found[0], key  # explained once
    given = text.replace("# drive.kind", "drive.kind").replace("# drive.stiffness = ...", "drive.stiffness = 5000")
    given = given.replace("# drive.motor_inertia = ...", "drive.motor_inertia = 0.5")
    joints = DriveFile(given).applied(robot).joints
    assert {(joint.drive.stiffness, joint.drive.motor.inertia) for joint in joints} == {(5000.0, 0.5)}


def test_a_template_takes_names_that_look_like_toml():
    odd = 'a"\n[[joint]]\nb'
    link = fj.Link(f"link {odd}", fj.Joint(odd, drive=fj.RigidDrive(fj.Motor(0.1))), mass=1.0, inertia=0.01 * np.eye(3))
    robot = fj.Robot(odd, [link])
    assert DriveFile.new(robot).applied(robot).digest == robot.digest


def test_load_takes_drives(tmp_path):
    path = tmp_path / "lwr.drives.toml"
    path.write_text(f'{HEAD}[[joint]]\nname = "*"\ndrive.stiffness = 5000\n')
    robot = fj.load("kuka_lwr", drives=path)
    assert [joint.drive.stiffness for joint in robot.joints] == [5000.0] * 7
    assert robot.joints[0].drive.motor == fj.load("kuka_lwr").joints[0].drive.motor


# Merging --------------------------------------------------------------------------------------------------------------


def test_later_tables_win_key_by_key():
    text = """
[[joint]]
name = "*"
drive = {kind = "elastic", stiffness = 7000, motor_inertia = 0.3, motor_limits = {torque = 90, speed = 3}}
limits = {lower = -1, upper = 1}
[[joint]]
name = "joint[23]"
drive.stiffness = 5000
drive.motor_limits.torque = 20
limits.upper = 2
[[joint]]
name = "joint3"
drive.spring = {kind = "cubic", stiffness = 900, cubic = 4e4}
"""
    one, two, three = applied(text).joints
    assert (one.drive.stiffness, two.drive.stiffness) == (7000.0, 5000.0)
    assert three.drive.stiffness == fj.springs.CubicSpring(900.0, 4e4)
    assert [x.drive.motor.limits.torque for x in (one, two, three)] == [90.0, 20.0, 20.0]
    assert all(x.drive.motor.limits.speed == 3.0 and x.limits.lower == -1.0 for x in (one, two, three))
    assert [x.limits.upper for x in (one, two, three)] == [1.0, 2.0, 2.0]


def test_the_long_form_of_friction_replaces_the_short_one_and_back():
    short = 'viscous_friction = 1.0\ndrive = {kind = "rigid", motor_inertia = 0.3, motor_viscous_friction = 2.0}'
    long = "[[joint]]\nname = '*'\nfriction = {viscous = 3.0}\ndrive.motor_friction = {viscous = 4.0}\n"
    joint = applied(long, arm(short)).joints[0]
    assert (joint.viscous_friction, joint.friction.viscous) == (0.0, 3.0)
    assert (joint.drive.motor.viscous_friction, joint.drive.motor.friction.viscous) == (0.0, 4.0)
    back = "[[joint]]\nname = '*'\nviscous_friction = 5.0\ndrive.motor_viscous_friction = 6.0\n"
    joint = applied(long + back, arm(short)).joints[0]
    assert (joint.viscous_friction, joint.friction, joint.drive.motor.friction) == (5.0, None, None)


def test_another_kind_keeps_what_both_kinds_have():
    elastic = 'drive = {kind = "elastic", stiffness = 7000, damping = 1, motor_inertia = 0.3, motor_gear_ratio = 50}'
    robot = arm(elastic, elastic, elastic)
    stiff = applied('[[joint]]\nname = "joint1"\ndrive.kind = "rigid"\n', robot)
    assert stiff.joints[0].drive == fj.RigidDrive(fj.Motor(0.3, gear_ratio=50.0))
    assert stiff.joints[1].drive == robot.joints[1].drive
    text = '[[joint]]\nname = "joint1"\ndrive.spring = {kind = "cubic", stiffness = 1, cubic = 2}\n'
    text += '[[joint]]\nname = "joint1"\ndrive.spring = {kind = "hardening", stiffness = 9, limit = 0.4}\n'
    assert applied(text, robot).joints[0].drive.stiffness == fj.springs.HardeningSpring(9.0, 0.4)
    rotor = applied('[[joint]]\nname = "joint1"\ndrive.motor_axial_inertia = 2e-4\n', robot).joints[0].drive
    assert rotor.motor == fj.Motor(50.0 * 50.0 * 2e-4, gear_ratio=50.0)


def test_none_removes_a_drive_and_other_joints_without_one_are_reported(recwarn):
    one = '[[joint]]\nname = "joint1"\ndrive = {kind = "rigid", motor_inertia = 0.1}\n'
    rest = '[[joint]]\nname = "joint[23]"\ndrive.kind = "none"\n'
    assert [x.drive is None for x in applied(one + rest).joints] == [False, True, True] and not recwarn
    with pytest.warns(fj.FlexjointWarning, match=r"no drive for joint joint2, joint3 of 'arm'.*kind = \"none\""):
        applied(one)


def test_a_file_for_another_robot_is_reported():
    with pytest.warns(fj.FlexjointWarning, match="for the robot 'leg', not for 'arm'"):
        applied('robot = "leg"\n[[joint]]\nname = "*"\ndrive = {kind = "rigid", motor_inertia = 0.1}\n')


def test_rotor_models_belong_to_the_drives():
    text = 'fidelity = "complete"\nrotors_in_links = false\n[[joint]]\nname = "*"\ndrive = {kind = "elastic", '
    robot = applied(text + "stiffness = 500, motor_axial_inertia = 1e-4, motor_gear_ratio = 50}\n")
    assert (robot.fidelity, robot.rotors_in_links) == ("complete", False)


def test_transmissions_belong_to_the_drives():
    drive = 'drive = {kind = "elastic", stiffness = 500, motor_inertia = 0.2}\n'
    group = '[[transmission]]\njoints = ["joint2", "joint3"]\nmatrix = [[1, 1], [1, -1]]\n'
    robot = applied(f'{group}[[joint]]\nname = "*"\n{drive}')
    assert robot.digest == arm(drive, drive, drive, top=group).digest
    assert DriveFile.new(robot).applied(arm()).digest == robot.digest
    assert applied('[[joint]]\nname = "*"\ndrive.damping = 0.0\n', robot) == robot
    with pytest.raises(fj.RobotError, match=r"x.drives.toml, transmission 1: unknown key 'joint'"):
        applied(group.replace("joints", "joint"))


def test_drives_without_a_form_in_files_may_be_replaced():
    class Own(fj.springs.CubicSpring):
        pass

    drive = fj.ElasticDrive(Own(900.0, 1.0), fj.Motor(0.3))
    robot = arm().with_drives([drive, drive, drive])
    text = '[[joint]]\nname = "*"\ndrive = {kind = "elastic", stiffness = 500, motor_inertia = 0.2}\n'
    assert applied(text, robot).joints[0].drive.stiffness == 500.0
    with pytest.raises(fj.RobotError, match="no form in robot files"):
        applied('[[joint]]\nname = "*"\ndrive.damping = 1\n', robot)


def test_new_files_have_the_joints_that_follow_others():
    """Their motors, friction and parallel springs are not lost; an elastic drive, which they cannot have, is none."""
    more = (
        'drive = {kind = "rigid", motor_inertia = 0.2}\nparallel_spring = {stiffness = 3.0}\n'
        "friction = {coulomb = 1.0, velocity = 0.1}\n"
    )
    follower = 'mimic = {joint = "joint1", ratio = -1.0}\n'
    robot, bare = arm("", follower + more, ""), arm("", follower, "")
    file = DriveFile.new(robot)
    assert file.applied(bare) == robot != bare
    shown = file.text.partition('name = "joint2"')[2].partition("[[joint]]")[0]
    assert "drive.motor_inertia = 0.2" in shown and "drive.stiffness" not in shown
    assert DriveFile.new(bare).applied(bare) == bare


def test_patterns_leave_out_joints_that_follow_others():
    follower = 'mimic = {joint = "joint1", ratio = -1.0}\nlimits = {lower = -1, upper = 1}\n'
    robot = arm("", follower, "")
    drive = 'drive = {kind = "elastic", stiffness = 900, motor_inertia = 0.2}\n'
    found = applied(f'[[joint]]\nname = "*"\n{drive}[[joint]]\nname = "joint2"\nviscous_friction = 0.5\n', robot)
    joints = {link.joint.name: link.joint for link in found.links}
    assert joints["joint2"].drive is None and joints["joint2"].viscous_friction == 0.5
    assert joints["joint1"].drive == joints["joint3"].drive != None  # noqa: E711
    assert DriveFile.new(found).applied(robot.without_friction()).joints[0].drive == joints["joint1"].drive
    assert DriveFile.new(found).applied(robot) == found
    assert '"joint2"' not in DriveFile.new(arm("", 'mimic = {joint = "joint1"}\n', "")).text


# Sources --------------------------------------------------------------------------------------------------------------


def test_numbers_have_the_source_of_their_table():
    text = """
[[joint]]
name = "joint*"
drive = {kind = "elastic", stiffness = 7000, motor_inertia = 0.3}
viscous_friction = 0.2
trust = "placeholder"
[[joint]]
name = "joint[12]"
drive = {motor_axial_inertia = 1e-4, motor_gear_ratio = 50, spring_limits = {torque = 90}}
trust = "data_sheet"
origin = "manual, p. 3"
note = "at 20 °C"
[[joint]]
name = "joint3"
drive.stiffness = 6500
"""
    robot = applied(text, arm().replace(sources=[Source("*", "chosen")]))
    sheet = Source("x", "data_sheet", "manual, p. 3", "at 20 °C")

    def trust(path):
        found = source_of(robot, path)
        return found and found.trust

    for joint in ("joint1", "joint2"):
        assert trust(f"{joint}.drive.stiffness") == "placeholder"
        for path in ("drive.motor.inertia", "drive.motor.gear_ratio", "drive.spring_limits.torque"):
            assert dataclasses.replace(source_of(robot, f"{joint}.{path}"), of=("x",)) == sheet
    assert trust("joint3.drive.motor.inertia") == "placeholder"
    assert trust("joint2.viscous_friction") == "placeholder"
    assert trust("link1.mass") == "chosen"
    assert without_source(robot) == ("joint3.drive.stiffness",)  # its table has no source
    assert "joint[12].drive.motor.gear_ratio" in [x for source in robot.sources for x in source.of]


@pytest.mark.parametrize("one", DRIVE_TABLES)
def test_every_number_of_a_table_gets_its_source(one):
    robot = applied(f'[[joint]]\nname = "*"\n{one}\ntrust = "estimated"\norigin = "x"\n')
    bare = arm()
    before = {x.path for x in numbers(bare) if x.stated}
    found = {x.path: source_of(robot, x.path) for x in numbers(robot) if x.stated and x.path not in before}
    found = {path: x for path, x in found.items() if not path.startswith("link")}
    assert found and all(x is not None and x.trust == "estimated" for x in found.values()), found


# Changes --------------------------------------------------------------------------------------------------------------

COMMENTED = """\
# drives of the arm
format = "flexjoint-drives"
version = 1 # the first

[[joint]]   # all joints
name = "*"
drive = {kind = "elastic", stiffness = 7e3, motor_inertia = 0.3}  # from the manual
# friction is not known

[[joint]]
name = "joint2"
drive.stiffness = 5_000.0     # measured
"""


def test_changes_keep_comments_and_order(tmp_path):
    file = DriveFile(COMMENTED)
    changed = file.with_value("joint2", "drive.stiffness", 4800.5)
    assert changed.text == COMMENTED.replace("5_000.0 ", "4800.5 ")
    assert [x.drive.stiffness for x in changed.applied(arm()).joints] == [7000.0, 4800.5, 7000.0]
    assert file.text == COMMENTED
    wider = changed.with_value("*", "drive.damping", 2.0).with_value("joint3", "limits.velocity", 3.0)
    for line in COMMENTED.splitlines():
        comment = line.partition("#")[2]
        assert comment in wider.text
    robot = wider.applied(arm())
    assert {x.drive.damping for x in robot.joints} == {2.0} and robot.joints[2].limits.velocity == 3.0
    wider.write(tmp_path / "x.drives.toml")
    again = DriveFile.read(tmp_path / "x.drives.toml")
    assert again.text == wider.text and again.applied(arm()) == robot


def test_a_template_can_be_changed_and_says_the_same_after_the_way_back():
    robot = fj.load("kuka_lwr")
    file = DriveFile.new(robot)
    there = file.with_value("joint3", "drive.stiffness", 800.0)
    assert there.applied(robot).joints[2].drive.stiffness == 800.0
    assert there.with_value("joint3", "drive.stiffness", 1000.0).text == file.text


def test_a_further_table_wins():
    entries = {"drive": {"stiffness": 4000.0}, "trust": "identified", "origin": "log 12"}
    file = DriveFile(COMMENTED).with_table("joint2", entries)
    assert file.text.startswith(COMMENTED.rstrip())
    robot = file.applied(arm())
    assert robot.joints[1].drive.stiffness == 4000.0
    assert source_of(robot, "joint2.drive.stiffness").origin == "log 12"


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("drive.stifness", 1.0, ["did you mean 'stiffness'"]),
        ("mass", 1.0, ["unknown key 'mass'"]),
        ("drive.stiffness", object(), ["cannot be"]),
        (3, 1.0, ["unknown key"]),
        ("drive.stiffness.x", 1.0, []),
        ("name", 3.0, ["name must be"]),
    ],
)
def test_wrong_changes_are_refused(key, value, words):
    with pytest.raises(fj.RobotError) as caught:
        DriveFile(COMMENTED).with_value("joint2", key, value).applied(arm())
    assert all(word in str(caught.value) for word in words), caught.value


# Wrong files ----------------------------------------------------------------------------------------------------------

ELASTIC = '[[joint]]\nname = "*"\ndrive = {{kind = "elastic", {}}}\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", ["x: this is not a drive file", '"flexjoint-drives"', "flexjoint drives new ROBOT -o x.drives.toml"]),
        ('format = "drives"', ["x: this is not a drive file"]),
        ('<robot name="r"/>', ["x: this is an XML file, not a drive file", "flexjoint drives new"]),
        ('format = "flexjoint-drives"', ["x: the key 'version' is missing"]),
        ('format = "flexjoint-drives"\nversion = 2', ["x: version 2 is newer", "update"]),
        ('format = "flexjoint-drives"\nversion = 1.0', ["x: version must be"]),
        (HEAD, ["x: the key 'joint' is missing: give one [[joint]] table"]),
        (HEAD + "joint = 3", ["x: joint must be"]),
        (HEAD + "[[joints]]\nname = 'a'", ["did you mean 'joint'"]),
        (HEAD + "[[joint]]\n", [", joint table 1: the key 'name' is missing"]),
        (HEAD + "[[joint]]\nname = 3", [", joint table 1: name must be a joint or a pattern"]),
        (HEAD + "[[joint]]\nname = 'elbow'", [", joint table 1 'elbow'", "no moving joint matches", "joint1"]),
        (HEAD + "[[joint]]\nname = 'jiont1'", ["did you mean 'joint1'"]),
        (HEAD + "[[joint]]\nname = 'panda*'", ["'panda*' of robot 'arm'", "no moving joint matches"]),
        (HEAD + "[[joint]]\nname = 'tool_mount'", ["'tool_mount'", "fixed"]),
        (HEAD + "[[joint]]\nname = '*'\nmass = 3", [", joint table 1 '*': unknown key 'mass'"]),
        (HEAD + "[[joint]]\nname = '*'\ndrive = 3", ["drive must be a table"]),
        (HEAD + "[[joint]]\nname = '*'\ndrive.stifness = 3", ["unknown key 'stifness'; did you mean 'stiffness'"]),
        (HEAD + "[[joint]]\nname = '*'\ndrive.kind = 'soft'", ["kind must be one of", '"elastic"', '"none"']),
        (HEAD + "[[joint]]\nname = '*'\ndrive.kind = 3", ["kind must be one of"]),
        (HEAD + "[[joint]]\nname = '*'\nstiffness = 3", ["x, line 3, joint table 1 '*'", "write drive.stiffness ="]),
        (HEAD + "[[joint]]\nname = '*'\ndrive.stiffness = 3", ["'kind' is missing: give \"elastic\""]),
        (HEAD + ELASTIC.format("spring_1 = 3"), ["unknown key 'spring_1'"]),
        (HEAD + ELASTIC.format("motor_inertia = 1"), ["'joint1' (joint table 1, line 3)", "'stiffness' is missing"]),
        (HEAD + ELASTIC.format("stiffness = 9"), ["'motor_inertia' is missing"]),
        (HEAD + ELASTIC.format("stiffness = '7000 Nm/rad', motor_inertia = 1"), ["stiffness must be a number"]),
        (HEAD + ELASTIC.format("stiffness = nan, motor_inertia = 1"), ["x", "joint1", "nan"]),
        (HEAD + ELASTIC.format("stiffness = 0, motor_inertia = 1"), ["joint1", "stiffness"]),
        (HEAD + ELASTIC.format("stiffness = -3, motor_inertia = 1"), ["joint1", "stiffness"]),
        (
            HEAD + ELASTIC.format("stiffness = 9, spring = {kind = 'linear', stiffness = 1}, motor_inertia = 1"),
            ["both"],
        ),
        (HEAD + "[[joint]]\nname = '*'\ndrive.damping = 1", ["joint 'joint1'", "'kind' is missing"]),
        (HEAD + "[[joint]]\nname = '*'\nlimits = {lower = 2, upper = 1}", ["x", "joint1"]),
        (HEAD + "[[joint]]\nname = '*'\nlimits = {lower = [1]}", ["joint 'joint1'", "lower must be a number"]),
        (HEAD + "[[joint]]\nname = '*'\ntrust = 'sure'", [", joint table 1 '*': trust must be one of"]),
        (HEAD + "[[joint]]\nname = '*'\ntrust = 'identified'", [", joint table 1 '*'", "origin"]),
        (HEAD + "[[joint]]\nname = '*'\norigin = 'manual'", [", joint table 1 '*': the key 'trust' is missing"]),
        (HEAD + 'fidelity = "full"\n[[joint]]\nname = "*"', ["fidelity must be one of"]),
        (ARM + LINK, ["this is a robot file"]),
        ("a = [", ["x: not valid TOML"]),
    ],
)
@pytest.mark.filterwarnings("ignore::flexjoint.FlexjointWarning")
def test_wrong_files_are_refused_by_name(text, words):
    with pytest.raises(fj.RobotError) as caught:
        DriveFile(text, "x").applied(arm())
    assert all(word in str(caught.value) for word in words), caught.value


def test_large_files_are_refused(tmp_path):
    path = tmp_path / "x.drives.toml"
    path.write_text(HEAD + "#" * 2_000_001)
    with pytest.raises(fj.RobotError, match="at most 2,000,000 are"):
        DriveFile.read(path)
    names = ", ".join(['"*"'] * 2001)
    with pytest.raises(fj.RobotError, match="2,001 names of joints"):
        DriveFile(f"{HEAD}[[joint]]\nname = [{names}]\n")
    spring = f"{{kind = 'tabulated', deflections = {[*range(2000)]}, torques = {[*range(2000)]}}}"
    with pytest.raises(fj.RobotError, match="12,000 numbers in the tables of springs"):
        applied(ELASTIC.format(f"spring = {spring}, motor_inertia = 1"))


def test_a_drive_file_is_no_robot(tmp_path):
    path = tmp_path / "arm.drives.toml"
    path.write_text(HEAD)
    with pytest.raises(fj.RobotError, match="this is a drive file, not a robot: give it with drives="):
        fj.load(path)
    with pytest.raises(fj.RobotError, match="no such file"):
        fj.load("kuka_lwr", drives=tmp_path / "other.toml")
    with pytest.raises(fj.RobotError, match="no path"):
        fj.load("kuka_lwr", drives=3)


def test_the_page_has_every_key():
    page = (Path(__file__).parents[3] / "docs" / "drive-files.md").read_text()
    keys = [
        *TOP_KEYS,
        *(key for key in JOINT_KEYS if key != "drive"),
        *SOURCE_KEYS,
        *(f"drive.{key}" for key in drive_keys(DRIVES["elastic"])),
    ]
    others = "".join(path.read_text() for path in (Path(__file__).parents[3] / "docs").glob("*.md"))
    for key in keys:  # what is explained on a page of its own need not stand here
        assert f"`{key}`" in page or f"`{key.removeprefix('drive.')}`" in others, key
    table = page.partition("```toml\n")[2].partition("```")[0]
    assert tomllib.loads(table)["joint"][0]["name"] == "panda_joint[1-7]"
    assert len(DriveFile(table).tables) == 2
