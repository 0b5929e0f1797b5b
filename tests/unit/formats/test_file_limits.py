"""Small files that ask for much work are refused before it is done; the limits are those of docs/security.md."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest

import flexjoint as fj
from flexjoint.file_limits import LIMITS, most, one_file, require, spend
from flexjoint.formats.robot_files import parse_robot
from flexjoint.logs.mcap_files import mcap_tables

SECURITY = Path(__file__).parents[3] / "docs/security.md"
LINK = "[[link]]\nmass=1.0\na=0.5\ncom=[0.1,0,0]\ninertia={xx=0.1,yy=0.1,zz=0.1}\n"
SPRUNG = LINK + "drive={kind='elastic', stiffness=900.0, motor_inertia=0.3}\n"
FOUR_BAR = "{kind='four_bar', torsion=5.0, ratio=3.0}"
PAIR = LINK + (
    f"drive={{kind='antagonistic', spring_1={FOUR_BAR}, spring_2={FOUR_BAR}, motor_1={{inertia=1.0}}, "
    "motor_2={inertia=1.0}}\n"
)
ARC = "kind='arc', centre=[0.3,0.5,0], axis=[0,0,1], orientation='free', from={position=[0.4,0.5,0]}"
GOAL = "{kind='rest_to_rest', goal=1, duration=1}"
SHAPED = "{kind='shaped', shaper='zvd', frequency=[1.1,2.3,3.7], motion=%s}"
DWELLS = ", ".join("{by=[0.001,0,0]}, {dwell=0.1}, {by=[-0.001,0,0]}, {dwell=0.1}" for _ in range(100))


def robot(links: str) -> fj.Robot:
    return parse_robot(f"name='r'\nconvention='standard_dh'\n{links}".encode(), "r.toml")


@pytest.mark.parametrize(
    ("motion", "limit"),
    [
        (f"{{{ARC}, angle=1e7, speed=0.1, acceleration=0.3}}", "turns"),
        (f"{{{ARC}, angle=-1e300, duration=2}}", "turns"),
        (f"{{kind='cartesian', segments=[{DWELLS}], start=[0.3,0.9], orientation='free', duration=9}}", "path_points"),
        (f"{{kind='fourier', frequency=0.5, cosine=[{'[1,2],' * 9000}], sine=[{'[1,2],' * 9000}]}}", "harmonics"),
        (f"{{kind='sinusoid', frequency=0.5, amplitude=[{'[1,2],' * 9000}]}}", "harmonics"),
        (f"{{kind='joined', pieces=[{f'{GOAL},' * 2000}]}}", "links"),
        (SHAPED % SHAPED % SHAPED % GOAL, "motions"),
        ("{kind='retimed', law={kind='time_law', breaks=[0,1], slopes=[1,1], degree=1}, path=" * 9 + GOAL + "}" * 9,
         "nested_motions"),
    ],
)  # fmt: skip
def test_motions_that_ask_for_much_work_are_refused(motion, limit):
    wanted = rf"{LIMITS[limit].unit}; at most {LIMITS[limit].most:,} .*FLEXJOINT_LIMITS={limit}=[1-9]"
    with pytest.raises(fj.InputError, match=wanted):
        fj.trajectory.load_trajectory(motion, robot(2 * LINK))


def test_an_endless_integer_as_the_name_of_a_file():
    with pytest.raises(fj.InputError, match="file must be a string, not an integer"):
        fj.trajectory.load_trajectory(f"{{kind='samples', file=0x1{'0' * 9000}}}", robot(2 * LINK))


def test_time_laws_whose_derivatives_overflow():
    with pytest.raises(fj.InputError, match="the duration is inf"):
        fj.trajectory.TimeLaw([0.0, 5.0, 5e200], [1e-320, 1e308, 1e12], 1)
    slopes = [3000.0, 3000.0, 3e-12, 3.0, 3e8, 3e-12, 3e-200, 0.001, 3e8]
    with pytest.raises(fj.InputError, match="exceed the range of doubles: move its points apart"):
        fj.trajectory.TimeLaw([0.0, 5e-320, 5e-200, 2e-100, 5e-100, 2.0], slopes, 4)


def test_robots_of_many_drives_with_variable_stiffness():
    assert robot(PAIR * 2).n == 2
    with pytest.raises(fj.RobotError, match="1,000 joints of variable stiffness of a robot; at most 100 "):
        robot(PAIR * 1000)


def test_a_chain_of_1000_elastic_links_is_checked():
    found = {x.rule: x.reason for x in fj.analysis.check_robot(robot(SPRUNG * 1000))}
    assert "1,000 joints" in found["resonances"] and "FLEXJOINT_LIMITS=checked_joints=1000" in found["effects"]


def test_subtrees_without_mass():
    bare = "[[link]]\na=0.5\n"
    parts = [x.part for x in fj.analysis.check_robot(robot(bare + SPRUNG + bare * 2)) if x.rule == "bodies"]
    assert parts == ["joint3", "joint4"]


@pytest.mark.parametrize(("size", "count", "limit"), [(100_000_000, 1, "mcap_chunk"), (60_000, 300, "mcap_expansion")])
def test_mcap_files_that_unpack_to_much(size, count, limit):
    mcap = pytest.importorskip("mcap.writer")
    file = io.BytesIO()
    writer = mcap.Writer(file, chunk_size=1 << 20, compression=mcap.CompressionType.ZSTD)
    writer.start()
    channel = writer.register_channel("/state", "json", writer.register_schema("state", "jsonschema", b"{}"))
    for t in range(count):
        writer.add_message(channel, t, b'{"q1":0.0,' + b" " * size + b'"q2":0.0}', t)
    writer.finish()
    assert len(file.getvalue()) < 35_000
    with pytest.raises(fj.InputError, match=rf"at most {LIMITS[limit].most:,} .*FLEXJOINT_LIMITS={limit}="):
        mcap_tables(file.getvalue(), "x.mcap")


def test_limits_are_raised_by_name(monkeypatch):
    monkeypatch.setenv("FLEXJOINT_LIMITS", " turns = 2e3, links=5")
    assert (most("turns"), most("links"), most("motions")) == (2000, 5, LIMITS["motions"].most)
    with pytest.raises(fj.RobotError, match=r"x: 6 links.*FLEXJOINT_LIMITS=links=6$"):
        require("links", 6, "x", fj.RobotError)
    for text, message in (("turn=1", "no limit turn; the limits are toml_bytes"), ("turns=x", "must be name=number")):
        monkeypatch.setenv("FLEXJOINT_LIMITS", text)
        with pytest.raises(fj.InputError, match=message):
            most("turns")


def test_work_is_counted_per_file_and_only_for_files():
    spend("turns", 10**9, "x")
    for _ in range(2):
        with one_file(), one_file():
            assert spend("turns", 60, "x") == 60
            with pytest.raises(fj.InputError, match="x: 120 turns"):
                spend("turns", 60, "x")


def test_the_manual_has_this_table():
    rows = re.findall(r"^\| `(\w+)` \| ([\d,]+) \| (.*) \|$", SECURITY.read_text(), re.MULTILINE)
    assert rows == [(name, f"{x.most:,}", x.unit) for name, x in LIMITS.items()]
