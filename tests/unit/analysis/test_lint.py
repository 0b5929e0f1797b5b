"""The linter: each rule finds what it is for, and nothing in robots that are right."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import flexjoint as fj
from flexjoint.analysis import check_robot
from flexjoint.analysis.lint.effects import idle_parameters
from flexjoint.cli import app
from flexjoint.robot import Source


def body(mass=1.0, com=(0.2, 0.0, 0.0), inertia=(0.01, 0.02, 0.02)):
    return {"mass": mass, "com": com, "inertia": np.diag(inertia)}


def chain(*bodies, drives=None, **options):
    """Links on parallel horizontal axes, 0.4 m apart."""
    links, parent = [], "base"
    for i, data in enumerate(bodies):
        joint = fj.Joint(f"joint{i + 1}", position=(0.4 * (i > 0), 0, 0), rotation=TURN if i == 0 else np.eye(3))
        links.append(fj.Link(f"link{i + 1}", joint, parent, **data))
        parent = f"link{i + 1}"
    robot = fj.Robot("chain", links, **options)
    return robot if drives is None else robot.with_drives(drives)


TURN = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])  # z horizontal


def found(robot, rule, rate=None):
    return [x for x in check_robot(robot, rate) if x.rule == rule]


def test_a_plain_robot_has_no_warnings():
    assert [x for x in check_robot(chain(body(), body())) if x.level != "note"] == []


@pytest.mark.filterwarnings("ignore::flexjoint.FlexjointWarning")
def test_units_are_those_of_which_robots_warn_each_of_them():
    robot = chain(body(com=(200.0, 0, 0), inertia=(1, 2e4, 2e4)), body(com=(300.0, 0, 0), inertia=(1, 9e4, 9e4)))
    lengths = [x for x in found(robot, "units") if "centre of mass" in x.reason]
    assert [x.part for x in lengths] == ["link1", "link2"] and all(x.level == "warning" for x in lengths)


def test_bodies():
    flat = chain(body(inertia=(0.01, 0.02, 0.05)), body(inertia=(0.0, 0.02, 0.02)), allow_unphysical=True)
    triangle, rod = found(flat, "bodies")
    assert (triangle.part, triangle.level) == ("link1", "warning") and "no rigid body" in triangle.reason
    assert (rod.part, rod.level) == ("link2", "note") and "thin rod" in rod.reason
    away = chain(body(com=(0.2, 0.6, 0.0), inertia=(0.001, 0.002, 0.002)), body())
    assert [(x.part, x.level) for x in found(away, "bodies")] == [("link1", "warning")]
    assert "0.6 m from the line" in found(away, "bodies")[0].reason  # the line from (0, 0, 0) to (0.4, 0, 0)
    light = chain(body(), body(mass=9e-5, inertia=(1e-6, 1e-6, 1e-6)))
    assert [x.part for x in found(light, "bodies")] == ["link2"] and "1e+04 times" in found(light, "bodies")[0].reason
    empty = chain(body(), {})
    assert [x.part for x in found(empty, "bodies")] == ["joint2"]


def test_gears():
    drives = [fj.RigidDrive(fj.Motor(0.1, gear_ratio=x)) for x in (50.0, -50.0)]
    (finding,) = found(chain(body(), body(), drives=drives), "gears")
    assert finding.part == "joint2" and finding.level == "note"
    assert not found(chain(body(), body(), drives=drives[1:] * 2), "gears")


def test_resonances_are_compared_with_the_rate():
    """One spring between a motor B and a link M: ω² = K (1/M + 1/B)."""
    K, B, M = 800.0, 0.3, 0.02 + 1.0 * 0.2**2
    robot = chain(body(), drives=[fj.ElasticDrive(K, fj.Motor(B))])
    hertz = np.sqrt(K * (1 / M + 1 / B)) / (2 * np.pi)
    assert f"{hertz:.3g} Hz" in found(robot, "resonances")[0].reason
    assert found(robot, "resonances", rate=2.01 * hertz)[0].level == "note"
    (finding,) = found(robot, "resonances", rate=1.99 * hertz)
    assert finding.level == "warning" and f"control at {2 * hertz:.3g} Hz" in finding.fix
    assert not found(robot.rigid(), "resonances", rate=1.0)


def test_trust():
    robot = chain(body(), drives=[fj.RigidDrive(fj.Motor(0.1))])
    assert not found(robot, "trust")  # a robot without sources states none
    sources = [Source("link1", "identified", "log"), Source("*.drive.motor.inertia", "placeholder")]
    placeholder, missing = found(robot.replace(sources=sources), "trust")
    assert (placeholder.part, placeholder.level) == ("joint1", "warning")
    assert missing.level == "note" and missing.reason == "1 numbers have no source: joint1.rotation"


def test_effects_of_a_planar_chain():
    """Motion in the plane x, y of the frames: only the moments about z, and the coordinates in the plane, count."""
    idle = idle_parameters(chain(body(), body()))
    wanted = [
        f"link{i}.{x}" for i in (1, 2) for x in ("com.z", *(f"inertia.{y}" for y in ("xx", "xy", "xz", "yy", "yz")))
    ]
    assert sorted(idle) == sorted(wanted)
    (finding,) = found(chain(body(), body()), "effects")
    assert finding.level == "note" and "link1.com.z" in finding.reason


def test_wrong_arguments():
    for rate in (0.0, -1.0, "fast", float("nan"), float("inf")):
        with pytest.raises(fj.InputError, match="rate is"):
            check_robot(chain(body()), rate)
    with pytest.raises(fj.InputError, match="must be a Robot"):
        check_robot("kuka_lwr")


# The command ----------------------------------------------------------------------------------------------------------

FILE = """\
name = "arm"
convention = "standard_dh"

[[link]]
a = 0.4
mass = 2.0
com = [-0.2, 0.0, 0.0]
inertia = {xx = 0.01, yy = 0.05, zz = 0.05}

[[link]]
a = 0.4
mass = 2.0
com = [-0.2, 0.9, 0.0]
inertia = {xx = 0.01, yy = 0.05, zz = 0.05}
"""


@pytest.fixture
def check(tmp_path):
    path = tmp_path / "arm.toml"

    def run(text, *options):
        path.write_text(text)
        done = CliRunner().invoke(app, ["check", str(path), "--json", *map(str, options)])
        return done.exit_code, json.loads(done.stdout)["findings"]

    return run


def test_findings_have_file_and_line(check, tmp_path):
    code, findings = check(FILE)
    (warning,) = [x for x in findings if x["level"] == "warning"]
    assert code == 0 and warning["part"] == "link2" and warning["line"] == 10
    assert warning["file"] == str(tmp_path / "arm.toml")
    assert check(FILE, "--strict")[0] == 1


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("mass = 2.0\ncom = [-0.2, 0.9", "mass = -2.0\ncom = [-0.2, 0.9", 10),
        ("a = 0.4\nmass", "a = \nmass", 5),
        ("convention", "konvention", None),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error(check, old, new, line):
    code, findings = check(FILE.replace(old, new))
    assert code == 1 and [(x["level"], x["rule"], x["line"]) for x in findings] == [("error", "file", line)]


URDF = """<robot name="arm"><link name="base"/>
<link name="a"><inertial><origin xyz="0.3 0 0"/><mass value="2"/><inertia ixx="0.01" iyy="0.02" izz="0.02"/></inertial>
</link><joint name="hinge" type="continuous"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/>
<dynamics damping="0.1" wobble="3"/></joint></robot>
"""


def test_units_of_a_urdf_are_doubted_at_their_lines(tmp_path):
    limits = '<limit lower="-120" upper="2" effort="1" velocity="1"/>'
    text = URDF.replace("continuous", "revolute").replace("<dynamics", f"{limits}<dynamics")
    (tmp_path / "arm.urdf").write_text(text.replace("0.3 0 0", "300 0 0"))
    done = CliRunner().invoke(app, ["check", str(tmp_path / "arm.urdf"), "--json"])
    found = [x for x in json.loads(done.stdout)["findings"] if x["rule"] == "units"]
    assert {(x["part"], x["line"]) for x in found} == {("a", 2), ("hinge", 3)}
    assert any("-2.094" in x["fix"] for x in found) and any("millimetres" in x["fix"] for x in found)


def test_entries_of_a_urdf_that_are_not_used(tmp_path):
    (tmp_path / "arm.urdf").write_text(URDF)
    done = CliRunner().invoke(app, ["check", str(tmp_path / "arm.urdf"), "--json"])
    findings = [x for x in json.loads(done.stdout)["findings"] if x["rule"] == "file"]
    assert [(x["level"], x["line"]) for x in findings] == [("warning", 4)] and "wobble" in findings[0]["reason"]
    (tmp_path / "arm.urdf").write_text(URDF.replace('value="2"', 'value="-2"'))
    done = CliRunner().invoke(app, ["check", str(tmp_path / "arm.urdf"), "--json"])
    (finding,) = json.loads(done.stdout)["findings"]
    assert done.exit_code == 1 and finding["level"] == "error"


@pytest.mark.parametrize(
    ("shape", "turned", "away"),
    [
        ('<box size="0.2 0.4 0.4"/>', "", 0.2),  # the box ends at x = 0.1, the centre of mass is at 0.3
        ('<box size="0.7 0.1 0.1"/>', "", None),
        ('<box size="0.7 0.1 0.1"/>', 'rpy="0 0 1.5707963267948966"', 0.25),  # its y axis along x: ends at 0.05
        ('<cylinder radius="0.05" length="0.4"/>', 'rpy="0 1.5707963267948966 0"', 0.1),  # ends at 0.2
        ('<sphere radius="0.12"/>', "", 0.18),
        ('<mesh filename="x.stl"/>', "", None),
    ],
)
def test_centres_of_mass_outside_the_geometry_of_a_urdf(tmp_path, shape, turned, away):
    visual = f'<visual><origin xyz="0 0 0" {turned}/><geometry>{shape}</geometry></visual></link><joint'
    (tmp_path / "arm.urdf").write_text(URDF.replace("</link><joint", visual))
    done = CliRunner().invoke(app, ["check", str(tmp_path / "arm.urdf"), "--json"])
    findings = [x for x in json.loads(done.stdout)["findings"] if x["rule"] == "geometry"]
    assert [(x["part"], x["line"]) for x in findings] == ([] if away is None else [("a", 3)])
    assert away is None or f"lies {away:.3g} m outside" in findings[0]["reason"]


def test_drives_are_checked_with_the_robot(check, tmp_path):
    drives = tmp_path / "arm.drives.toml"
    text = 'format = "flexjoint-drives"\nversion = 1\n[[joint]]\nname = "joint1"\ntrust = "placeholder"\n'
    drives.write_text(text + 'drive = {kind = "elastic", stiffness = 900, motor_inertia = 0.2}\n')
    findings = check(FILE, "--drives", drives, "--rate", 5)[1]
    assert {x["rule"] for x in findings if x["level"] == "warning"} == {"file", "bodies", "trust", "resonances"}
    assert any("no drive for joint joint2" in x["reason"] for x in findings)
    drives.write_text(text + "drive.stiffness = -1\n")
    assert check(FILE, "--drives", drives)[0] == 1
