"""The page on file formats has every key that the readers accept, and no other."""

import dataclasses
import inspect
import re
from pathlib import Path

import pytest

from flexjoint.drives import DRIVES, HYSTERESES, Friction, MotorLimits, SpringLimits
from flexjoint.formats import drive_files, drive_tables, robot_files
from flexjoint.kinematics import pose, pose_files
from flexjoint.logs.quantities import NAMES
from flexjoint.robot import Limits, Source
from flexjoint.robot.joints import KINDS as JOINTS
from flexjoint.springs import SPRINGS
from flexjoint.studies import study_settings
from flexjoint.trajectory.cartesian import reading
from flexjoint.trajectory.kinds import KINDS

PAGE = Path(__file__).parent.parent.parent.parent / "docs" / "reference" / "file-formats.md"
SECTION = re.compile(r"^##+ (?P<title>.+)\n(?P<text>(?:(?!##).*\n)*)", re.MULTILINE)
SECTIONS = {x["title"]: x["text"] for x in SECTION.finditer(PAGE.read_text())}


def fields(record):
    return {field.name for field in dataclasses.fields(record)}


def first_column(title):
    """Names in the first column of the table of a section."""
    cells = [line.split("|")[1] for line in SECTIONS[title].splitlines() if line.startswith("| `")]
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def keys_of_drive(kind):
    """Keys of a drive; those of its only motor as one entry."""
    keys = drive_tables.drive_keys(DRIVES[kind])
    return {"motor_*" if key.removeprefix("motor_") in drive_tables.MOTOR_KEYS else key for key in keys}


ACCEPTED = {
    "Top of a robot file": robot_files.TOP_KEYS,
    "Link": {*robot_files.DH_KEYS, *robot_files.FRAME_KEYS, *(x for kind in JOINTS.values() for x in fields(kind))},
    "Inertia": robot_files.INERTIA_KEYS,
    "Mimic": robot_files.MIMIC_KEYS,
    "Limits": fields(Limits),
    "Friction": fields(Friction),
    "Parallel spring": ("stiffness", "rest", "kind"),
    "Source": fields(Source),
    "Transmission": robot_files.TRANSMISSION_KEYS,
    **{kind: keys_of_drive(kind) for kind in DRIVES},
    "Motor": drive_tables.MOTOR_KEYS,
    "Motor limits": fields(MotorLimits),
    "Spring limits": fields(SpringLimits),
    "Hysteresis": {"kind", *(x for law in HYSTERESES.values() for x in fields(law))},
    "Springs": SPRINGS,
    "Top of a drive file": drive_files.TOP_KEYS,
    "Joint": ("name", *drive_files.JOINT_KEYS, *drive_files.SOURCE_KEYS),
    "Trajectory file": KINDS,
    "Time and frame": (*reading.TIMING, *reading.FRAME),
    "Segment": (*reading.LINE, *(x for x in reading.ARC if x != "to"), "blend", "dwell"),
    "Pose file": ("position", *pose.ORIENTATIONS, "rpy_deg", "angle", "angle_deg"),
    "Log": NAMES,
}


@pytest.mark.parametrize("title", ACCEPTED)
def test_every_key_is_listed(title):
    assert first_column(title) == {*ACCEPTED[title]}


@pytest.mark.parametrize("kind", KINDS)
def test_keys_of_trajectories_are_listed(kind):
    row = next(line for line in SECTIONS["Trajectory file"].splitlines() if line.startswith(f"| `{kind}` |"))
    named = {x for x in re.findall(r"`([^`]+)`", row) if not x.startswith('"')} - {kind}
    shared = {*reading.FRAME} if row.endswith("frame |") else set()
    timed = {*reading.TIMING} if row.endswith("time and frame |") else set()
    assert named | shared | timed == {*KINDS[kind].positions, *KINDS[kind].others}


@pytest.mark.parametrize("kind", SPRINGS)
def test_keys_of_springs_are_listed(kind):
    row = next(line for line in SECTIONS["Springs"].splitlines() if line.startswith(f"| `{kind}` |"))
    assert {*re.findall(r"`([^`]+)`", row.split("|", 2)[2])} == fields(SPRINGS[kind])


def test_columns_of_poses_are_listed():
    assert {*pose_files.POSITION, *pose_files.QUATERNION, *pose_files.RPY} <= {
        *re.findall(r"`([^`]+)`", SECTIONS["Pose file"])
    }


def test_settings_of_studies_are_listed():
    source = inspect.getsource(study_settings.study_settings)
    keys = {*re.findall(r'^ +"(\w+)":', source, re.MULTILINE), *re.findall(r'found\["(\w+)"\]', source)}
    assert first_column("Study folder") == keys and "robot" in keys


def test_defaults_are_those_of_the_code():
    robot = robot_files.parse_robot(b'name = "r"\nconvention = "standard_dh"\n[[link]]\n', "arm.toml")
    link, tool = robot.links
    assert [*robot.gravity] == [0.0, 0.0, -9.81] and (link.name, link.joint.name) == ("link1", "joint1")
    assert link.joint.kind.name == "revolute" and link.joint.drive is None and robot.tool == tool.name == "tool"
    assert robot.fidelity == "spong" and robot.rotors_in_links and not robot.allow_unphysical
    assert [field.default for field in dataclasses.fields(HYSTERESES["bouc_wen"])][2:] == [1.0, 1.0]
