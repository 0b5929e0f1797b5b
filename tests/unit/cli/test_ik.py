"""The command `ik`."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import flexjoint as fj
from flexjoint.cli import app

POSE = "{position = [0.4, 0.1, 0.5], rpy_deg = [180, 0, 0]}"


@pytest.fixture
def run():
    return lambda *arguments: CliRunner().invoke(app, ["ik", *map(str, arguments)])


def test_one_pose(run):
    done = run("panda", POSE, "--json")
    assert done.exit_code == 0
    data = json.loads(done.stdout)
    pose = fj.forward_kinematics(fj.load("panda"), data["poses"][0]["q"])
    np.testing.assert_allclose(pose.position, [0.4, 0.1, 0.5], atol=1e-10)
    np.testing.assert_allclose(pose.rotation, np.diag([1, -1, -1]), atol=1e-9)
    assert data["link"] == "panda_link8" and data["poses"][0]["status"] == "solved"
    shown = run("panda", POSE).stdout
    assert "panda: solved after " in shown and "panda_joint7" in shown and "°" in shown


def test_a_file_of_poses(run, tmp_path):
    poses = tmp_path / "poses.csv"
    poses.write_text("x,y,z\n0.4,0,0.5\n0.5,0,0.4\n3,0,0\n")
    for name in ("postures.csv", "postures.npz"):
        done = run("panda", poses, "-o", tmp_path / name, "--nearest-to", "0,0,0,-1.5,0,1.5,0")
        assert done.exit_code == 4 and "1 of 3 poses without solution" in done.stderr
    table = np.genfromtxt(tmp_path / "postures.csv", delimiter=",", names=True, dtype=None, encoding=None)
    assert table["status"].tolist() == ["solved", "solved", "out of reach"] and np.isnan(table["qpanda_joint1_rad"][2])
    arrays = np.load(tmp_path / "postures.npz")
    reached = fj.forward_kinematics(fj.load("panda"), arrays["q"][:2]).position
    np.testing.assert_allclose(reached, [[0.4, 0, 0.5], [0.5, 0, 0.4]], atol=1e-10)
    shown = run("panda", poses).stdout
    assert "out of reach" in shown and "poses without solution" in shown
    assert run("panda", poses, "-o", "-").stdout.startswith("q.panda_joint1 [rad],")


def test_another_frame(run):
    frame = "{position = [0, 0, 0.1]}"
    options = ["--link", "panda_link7", "--frame", frame, "--orientation", "z", "--position", "xz", "--json"]
    data = json.loads(run("panda", POSE, *options).stdout)
    pose = fj.forward_kinematics(fj.load("panda"), data["poses"][0]["q"], link="panda_link7")
    np.testing.assert_allclose((pose.position + 0.1 * pose.rotation[:, 2])[[0, 2]], [0.4, 0.5], atol=1e-10)
    np.testing.assert_allclose(pose.rotation[:, 2], [0, 0, -1], atol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{position = [0.4, 0]}"], "pose: position must be three numbers"),
        ([POSE, "--frame", "{pos = 1}"], "--frame: unknown key 'pos'"),
        ([POSE, "--link", "hand"], "no link 'hand'"),
        ([POSE, "--nearest-to", "1,2"], "--nearest-to is '1,2'; give one number for all, or 7"),
        ([POSE, "--nearest-to", "0", "--away-from-limits"], "--nearest-to and --away-from-limits are both given"),
        ([POSE, "--attempts", "0"], "--attempts is 0; it must be 1, 2, 3"),
        ([POSE, "--tolerance", "1e-20"], "--tolerance is 1e-20; below 1e-13 rounding decides"),
        (["nowhere.csv"], "nowhere.csv: there is no such file"),
        ([POSE, "-o", "x.txt"], "x.txt"),
    ],
)
def test_bad_input_is_one_line(run, arguments, message):
    done = run("panda", *arguments)
    assert done.exit_code == 2 and message in done.stderr and done.stderr.count("\n") == 1
