"""Small robot files that could take minutes or gigabytes are refused, and messages stay short."""

from __future__ import annotations

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.formats.robot_files import parse_robot

HEAD = 'name = "r"\nconvention = "standard_dh"\n'
LINK = "[[link]]\nmass = 1.0\na = 0.5\ninertia = {xx = 0.1, yy = 0.1, zz = 0.1}\n"
ELASTIC = 'drive = {kind = "elastic", motor_inertia = 1, stiffness = 1000}\n'
SPRING = 'drive = {kind = "elastic", motor_inertia = 1, spring = %s}\n'
PAIR = (
    'drive = {kind = "antagonistic", motor_1 = {inertia = 1}, motor_2 = {inertia = 1}, '
    'spring_1 = {kind = "exponential", stiffness = 10, rate = 1.%d}, '
    'spring_2 = {kind = "exponential", stiffness = 10, rate = -1.0}}\n'
)
DOTS = ".".join("b" * 98)


def refused(text: str, *words: str) -> str:
    with pytest.raises(fj.RobotError) as error:
        parse_robot(text.encode(), "file")
    message = str(error.value)
    assert message.startswith("file") and len(message) < 1000
    for word in words:
        assert word in message
    return message


@pytest.mark.parametrize(
    "lines",
    [
        "".join(f"a{i}.{DOTS} = 1\n" for i in range(9000)),
        "".join(f"[a{i}.{DOTS}]\n" for i in range(9000)),
        "".join(f'"a{i}" . "b" . "c" . "d" . "e" . "f" = 1\n' for i in range(30000)),
        "x = " + "[" * 10**6,
        "x = " + "{a = " * 10**5,
    ],
)
def test_keys_nested_too_deeply(lines):
    refused(HEAD + lines + LINK, "deeply" if "= [" in lines or "= {" in lines else "dots in the keys")


def test_dots_of_numbers_and_prose_are_no_keys():
    numbers = ", ".join(["0.5"] * 50_000)
    prose = "# " + "and so on... " * 30 + "\n"
    refused(HEAD + f"numbers = [{numbers}]\n" + prose * 100 + LINK, "unknown key 'numbers'")


def test_too_many_headers_are_too_many_bytes():
    text = HEAD + "".join(f"[a{i}]\n" for i in range(500_000)) + LINK
    assert len(text) > 2_000_000
    refused(text, "bytes in a TOML file; at most 2,000,000")


def test_too_many_links():
    refused(HEAD + (LINK + ELASTIC) * 10_000, "link: 10,000 links", "at most 1,000")


def test_as_many_links_as_are_read():
    robot = parse_robot((HEAD + "".join(LINK + (PAIR % i if i < 100 else ELASTIC) for i in range(1000))).encode(), "x")
    assert robot.n == 1000


def table(kind: str, values: str, count: int) -> str:
    x = np.linspace(0.0, 1.0, count)
    return f'{{kind = "{kind}", deflections = {x.tolist()}, {values} = {(x + 1).tolist()}}}'


@pytest.mark.parametrize("kind, values", [("tabulated", "torques"), ("piecewise", "stiffnesses")])
def test_springs_of_too_many_points(kind, values):
    one = HEAD + LINK + SPRING % table(kind, values, 5000)
    refused(one, "deflections: 5,000 points of a spring; at most 500", "fit")
    many = HEAD + (LINK + SPRING % table(kind, values, 400)) * 40
    refused(many, "32,000 numbers in the tables of springs; at most 10,000")


@pytest.mark.parametrize(
    "spring",
    [
        '{kind = "tabulated", deflections = [-1e-320, 0, 1e-320, 2e-320], torques = [-1, 0, 1, 2]}',
        '{kind = "tabulated", deflections = [0, 1, 2, 1%s], torques = [-1, 0, 1, 2]}' % ("0" * 400),
        '{kind = "cubic", stiffness = 1%s, cubic = 1}' % ("0" * 400),
    ],
)
def test_springs_beyond_doubles(spring):
    refused(HEAD + LINK + SPRING % spring)


@pytest.mark.parametrize("digits", [401, 5000])
def test_integers_beyond_doubles(digits):
    refused(HEAD + LINK.replace("1.0", "1" * digits), "digits")
    refused(HEAD + LINK.replace("1.0", "0x" + "f" * digits), "mass must be a number", "digits")


@pytest.mark.parametrize(
    "text",
    [
        HEAD.replace('"r"', f'"{"n" * 300}"') + LINK,
        HEAD + LINK + f'name = "{"n" * 300}"\n',
        HEAD + LINK + f'joint = "{"n" * 300}"\n',
        HEAD + LINK + f"{'n' * 30000} = 1\n",
        HEAD + LINK + f'kind = "{"n" * 30000}"\n',
        HEAD + f'tool = "{"n" * 300}"\n' + LINK * 900,
        HEAD.replace("standard_dh", "frames") + LINK.replace("a = 0.5", f'parent = "{"n" * 300}"\nname = "b"'),
    ],
)
def test_long_names(text):
    refused(text)


@pytest.mark.parametrize("path", ["x" * 300 + ".toml", "x" * 300, 5, None, b"nowhere.toml", "nul\0.toml"])
def test_what_is_no_path(path):
    with pytest.raises(fj.RobotError) as error:
        fj.load(path)
    assert len(str(error.value)) < 500


def test_a_robot_is_not_written_to_what_is_no_path(tmp_path):
    for path in (tmp_path / ("x" * 300), tmp_path / "no" / "x.toml", 5):
        with pytest.raises(fj.RobotError):
            fj.write_robot(fj.load("hua_3r"), path)
