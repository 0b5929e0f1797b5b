"""Degrees where rad are expected in robot files and DH tables: refused where that is sure, else warned of."""

import math

import pytest

import flexjoint as fj
from support.warned import said

DH = """
name = "arm"
convention = "standard_dh"
[[link]]
{key} = {value}
a = 0.4
mass = 1.0
com = [-0.2, 0.0, 0.0]
inertia = {{xx = 0.01, yy = 0.01, zz = 0.01}}
"""
FRAMES = """
name = "arm"
convention = "frames"
[[link]]
name = "upper"
rpy = {value}
mass = 1.0
inertia = {{xx = 0.01, yy = 0.01, zz = 0.01}}
"""


def load(tmp_path, text, **values):
    path = tmp_path / "arm.toml"
    path.write_text(text.format(**values))
    return fj.load(path)


@pytest.mark.parametrize("key", ["alpha", "theta"])
def test_ninety_is_not_rad(tmp_path, key):
    """alpha = 90 gave torques of another robot in silence."""
    with pytest.raises(fj.RobotError, match=rf"{key} of joint 'joint1' is 90 rad, 14.3 turns; .* {key}_deg = 90"):
        load(tmp_path, DH, key=key, value=90)
    with pytest.raises(fj.RobotError, match=r"np\.deg2rad\(-90\)"):
        fj.from_dh("arm", **{"alpha": 0.0, "theta": 0.0, key: [-90]}, a=0.4, d=0.0)
    assert load(tmp_path, DH, key=f"{key}_deg", value=90).n == 1


def test_rpy_in_degrees(tmp_path):
    with pytest.raises(fj.RobotError, match=r"'upper': an angle of rpy is 90 rad, .* rpy_deg = \[90.0, 0.0, 0.0\]"):
        load(tmp_path, FRAMES, value="[90, 0, 0]")


def test_an_odd_angle_beyond_a_turn_is_warned_of():
    (message,) = said(lambda: fj.from_dh("arm", 22.5, 0.4, 0.0))
    assert "arm: alpha of joint 'joint1' is 22.5 rad, 3.58 turns" in message and "alpha_deg = 22.5" in message


@pytest.mark.parametrize("angle", [0.0, math.pi, -2 * math.pi, 6, 1.5707963267948966])
def test_angles_within_a_turn_are_silent(angle):
    assert said(lambda: fj.from_dh("arm", angle, 0.4, 0.0, angle)) == []
