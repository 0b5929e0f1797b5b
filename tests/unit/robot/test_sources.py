"""Sources of numbers: which source a number has, robots that carry them, files."""

import dataclasses

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.robot import Source, source_of, without_source, worst_trust
from flexjoint.robot.sources import TRUSTS, numbers, stated_sources

SHEET = Source("*", "data_sheet", "manual, p. 3")


@pytest.fixture(scope="module")
def arm():
    return fj.load("kuka_lwr")


@pytest.mark.parametrize("name", fj.builtin_robots())
def test_every_number_of_a_built_in_robot_has_a_source(name):
    robot = fj.load(name)
    assert without_source(robot) == ()
    assert worst_trust(robot) in TRUSTS


def test_the_numbers_contain_all_parameters(arm):
    """`robot_parameters` walks the robot by other rules; every number that may be free can have a source."""
    for name in fj.builtin_robots():
        robot = fj.load(name)
        found = {x.path: x.value for x in numbers(robot)}
        for path, parameter in fj.robot.robot_parameters(robot).items():
            value = np.asarray(found[path], dtype=float)
            assert np.array_equal(value[np.triu_indices(3)] if value.ndim == 2 else value, parameter.value)
    assert {"joint3.limits.upper", "joint3.rotation", "gravity"} <= {x.path for x in numbers(arm)}


def test_the_last_source_counts_and_a_name_stands_for_all_below_it(arm):
    exception = Source(["joint2.drive", "link7.com"], "identified", "log of 3 May")
    robot = arm.replace(sources=[SHEET, exception])
    for path in ("joint2.drive.stiffness", "joint2.drive.motor.inertia", "link7.com", "link7.com.z"):
        assert source_of(robot, path) == exception, path
    for path in ("joint1.drive.stiffness", "link7.mass", "link7.inertia.xx", "gravity"):
        assert source_of(robot, path) == SHEET, path
    with pytest.raises(fj.RobotError, match=r"no number 'joint1.drive.stifness'.*did you mean joint1.drive.stiffness"):
        source_of(robot, "joint1.drive.stifness")
    assert source_of(robot.replace(sources=[exception]), "link7.mass") is None
    with pytest.raises(fj.RobotError, match="no number '3'"):
        source_of(robot, 3)


def test_the_worst_trust(arm):
    every = [Source(f"link{i + 1}", trust, "x") for i, trust in enumerate(TRUSTS)]  # the worst first
    for i, trust in enumerate(TRUSTS):
        assert worst_trust(arm.replace(sources=[Source("*", "identified", "x"), *every[i:]])) == trust
    assert worst_trust(arm.replace(sources=[])) is None
    assert worst_trust(arm.replace(sources=every[1:])) is None  # some numbers have none
    assert worst_trust(arm.replace(sources=every)) == "placeholder"  # even so


def test_defaults_need_no_source():
    body = fj.Link("arm", fj.Joint("hinge"), mass=2.0, inertia=0.02 * np.eye(3))
    assert without_source(fj.Robot("pendulum", [body])) == ("arm.mass", "arm.inertia")
    assert without_source(fj.Robot("pendulum", [body], gravity=(0, 0, -1.62))) == ("arm.mass", "arm.inertia", "gravity")


def test_sources_enter_neither_digest_nor_equality(arm):
    bare = arm.replace(sources=())
    assert arm.sources and bare == arm and bare.digest == arm.digest and hash(bare) == hash(arm)
    symbolic = arm.with_symbols(fj.robot.symbols(arm, "link7.mass"))
    assert symbolic.sources == arm.sources


def test_unchanged_numbers_keep_their_sources(arm):
    before = stated_sources(arm)
    for robot in (
        arm.with_gravity((0.0, 0.0, -1.62)),
        arm.rigid(),
        arm.without_drives(),
        arm.with_fidelity("spong"),
        arm.without_friction(),
        arm.replace(name="other", tool="link7"),
    ):
        after = stated_sources(robot)
        after.pop("gravity", None)
        assert after == {path: before[path] for path in after} and None not in after.values()
    assert not any("stiffness" in pattern for source in arm.rigid().sources for pattern in source.of)


def test_changed_and_new_numbers_have_no_source(arm):
    robot = arm.replace(sources=[SHEET, Source("*.drive.stiffness", "identified", "log")])
    drives = [joint.drive for joint in robot.joints]
    drives[2] = dataclasses.replace(drives[2], stiffness=1200.0)
    softer = robot.with_drives(drives)
    assert without_source(softer) == ("joint3.drive.stiffness",)  # not the source of "*" either
    assert source_of(softer, "joint4.drive.stiffness").trust == "identified"
    assert source_of(softer, "joint3.drive.motor.inertia") == dataclasses.replace(SHEET, of=softer.sources[0].of)
    held = softer.with_payload(1.0, com=(0.0, 0.0, 0.1))
    assert without_source(held) == ("joint3.drive.stiffness", "payload.mass", "payload.com")
    assert worst_trust(held) is None


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: Source("*", "measured", "x"),
            ["'measured'", "identified, data_sheet, estimated"],
        ),
        (lambda: Source("*", ["chosen"], "x"), ["['chosen']"]),
        (lambda: Source([], "chosen"), ["paths of numbers"]),
        (lambda: Source(None, "chosen"), ["None", "paths of numbers"]),
        (lambda: Source([1], "chosen"), ["a source is of 1"]),
        (lambda: Source(["a", ""], "chosen"), ["''"]),
        (lambda: Source("*", "identified"), ["'identified' needs one", "placeholder"]),
        (lambda: Source("*", "data_sheet", "  "), ["no origin"]),
        (lambda: Source("*", "chosen", None), ["origin", "None"]),
        (lambda: Source("*", "chosen", note="x" * 3000), ["note", "2000"]),
    ],
)
def test_wrong_sources_are_refused(make, words):
    with pytest.raises(fj.RobotError) as caught:
        make()
    assert all(word in str(caught.value) for word in words), caught.value


def test_robots_refuse_what_is_no_source(arm):
    for wrong in (3, ["data sheet"], [None]):
        with pytest.raises(fj.RobotError, match=r"give a list of Source\(\.\.\.\)"):
            arm.replace(sources=wrong)
    with pytest.raises(fj.RobotError, match=r"\*\.drive\.stifness.*did you mean \*\.drive\.stiffness"):
        arm.replace(sources=[Source("*.drive.stifness", "chosen")])
    with pytest.raises(fj.RobotError, match="101 patterns"):
        arm.replace(sources=[Source("*", "chosen")] * 101)


def test_files_hold_sources(arm, tmp_path):
    path = tmp_path / "copy.toml"
    for robot in (arm, arm.with_payload(1.0), arm.replace(sources=[Source("tool", "chosen", note='"ä"\n')])):
        fj.write_robot(robot, path)
        assert fj.load(path).sources == robot.sources


ONE_LINK = """
name = "pendulum"
convention = "frames"
{}
[[link]]
name = "arm"
mass = 2.0
inertia = {{xx = 0.02, yy = 0.02, zz = 0.02}}
"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[[source]]\nof = ["*.mas"]\ntrust = "chosen"', ["x.toml: pendulum: a source names '*.mas'", "*.mass"]),
        ('[[source]]\nof = "*.mass"\ntrust = "sure"', ["x.toml, source 1: trust must be one of", "'sure'"]),
        ('[[source]]\nof = "*"\ntrust = "identified"', ["x.toml, source 1: the source of *", "origin"]),
        ('[[source]]\nof = [1]\ntrust = "chosen"', ["x.toml, source 1: of must be paths of numbers"]),
        ('[[source]]\ntrust = "chosen"', ["x.toml, source 1: the key 'of' is missing"]),
        ('[[source]]\nof = "*"\ntrust = "chosen"\norigins = ""', ["x.toml, source 1", "did you mean 'origin'"]),
        ("source = 3", ["x.toml: source must be one [[source]] table or more"]),
    ],
)
def test_wrong_tables_are_refused(text, words):
    with pytest.raises(fj.RobotError) as caught:
        fj.formats.parse_robot(ONE_LINK.format(text).encode(), "x.toml")
    assert all(word in str(caught.value) for word in words), caught.value


def test_a_text_names_the_document_of_a_file():
    assert fj.formats.parse_robot(ONE_LINK.format('source = "thesis"').encode(), "x.toml").sources == ()
