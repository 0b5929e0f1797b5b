"""Poses from CSV and TOML files."""

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.kinematics import load_poses

PLACE = "position = [1, 2, 3]"


def written(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


def test_csv_with_units_and_other_columns(tmp_path):
    text = "t,z,y,x [mm],yaw [deg],pitch,roll [mrad]\n0,0.3,0.2,100,90,0,0\n1,0.6,0.5,400,0,0.25,1000\n"
    poses = load_poses(written(tmp_path, "poses.csv", text))
    np.testing.assert_allclose(poses.position, [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]], rtol=1e-15)
    np.testing.assert_allclose(poses.rpy, [[0, 0, np.pi / 2], [1, 0.25, 0]], atol=1e-15)


def test_csv_with_quaternions_and_positions_alone(tmp_path):
    poses = load_poses(written(tmp_path, "poses.csv", "x;y;z;qw;qx;qy;qz\n1;2;3;0;0;0;2\n"))
    assert poses.rotation.tolist() == [[[-1, 0, 0], [0, -1, 0], [0, 0, 1]]]
    assert load_poses(written(tmp_path, "points.csv", "x,y,z\n1,2,3\n4,5,6\n")).rotation is None


def test_toml(tmp_path):
    first, second = "position = [1, 2, 3]\nrpy_deg = [0, 0, 90]", "position = [4, 5, 6]\nquaternion = [1, 0, 0, 0]"
    text = f"[[pose]]\n{first}\n[[pose]]\n{second}\n"
    poses = load_poses(str(written(tmp_path, "poses.toml", text)))
    assert poses.position.tolist() == [[1, 2, 3], [4, 5, 6]] and poses.rotation[0, 1, 0] == 1.0


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "x,y\n1,2\n", "no column z; the file has x, y"),
        ("a.csv", "1,2,3\n", "no column x, y, z; the file has no header"),
        ("a.csv", "x,y,z,qw\n1,2,3,1\n", "no column qx, qy, qz"),
        ("a.csv", "x,y,z,qw,roll\n1,2,3,1,0\n", "both qw, qx, qy, qz and roll, pitch, yaw are given"),
        ("a.csv", "x [ft],y,z\n1,2,3\n", "the unit of 'x .ft.' is none of m, mm, cm"),
        ("a.csv", "x,y,z\n1,2,inf\n", "a.csv: position is .* every number must be finite"),
        ("a.csv", "x,y,z,qw,qx,qy,qz\n1,2,3,0,0,0,0\n", "a.csv: a quaternion is zero"),
        ("a.toml", "[[pose]]\nposition = [1, 2]\n", "a.toml: pose 1: position must be three numbers"),
        ("a.toml", "[[poses]]\nposition = [1, 2, 3]\n", "unknown key 'poses'; did you mean 'pose'"),
        ("a.toml", f"[[pose]]\n{PLACE}\n[[pose]]\n{PLACE}\nrpy = [0, 0, 0]\n", "pose 1 has no orientation"),
        ("a.txt", "", "poses are a .csv or .toml file, or a text"),
    ],
)
def test_wrong_files_are_named(tmp_path, name, text, message):
    with pytest.raises(fj.InputError, match=message):
        load_poses(written(tmp_path, name, text))


def test_a_missing_file():
    with pytest.raises(fj.InputError, match="there is no such file: give the path of a file of poses"):
        load_poses("nowhere.csv")
