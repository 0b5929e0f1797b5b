"""`flexjoint export-urdf`: files that give the robot back, with the bodies of a URDF."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

import flexjoint as fj
from flexjoint.cli import app


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def test_a_built_in_robot(run):
    done = run("export-urdf", "kuka_lwr", "lwr.urdf", "--drives-out", "lwr.drives.toml")
    assert done.exit_code == 0 and "wrote lwr.drives.toml" in done.output
    assert fj.load("lwr.urdf", drives="lwr.drives.toml") == fj.load("kuka_lwr")
    done = run("export-urdf", "kuka_lwr", "lwr.urdf")
    assert done.exit_code == 0 and "drive of 'joint7': only a drive file holds it" in done.stdout
    assert "--drives-out names a drive file" in done.stderr
    assert run("export-urdf", "kuka_lwr", "none.urdf", "--strict").exit_code == 2
    assert not Path("none.urdf").exists()


def test_bodies_of_a_urdf_are_kept(run, tmp_path):
    folder = tmp_path / "meshes"
    folder.mkdir()
    (folder / "arm.stl").write_text("")
    (folder / "arm.urdf").write_text(
        '<robot name="arm"><link name="floor"><visual><geometry><box size="1 1 0.1"/></geometry></visual></link>'
        '<link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'
        '<collision><geometry><mesh filename="arm.stl"/></geometry></collision></link>'
        '<joint name="hinge" type="continuous"><parent link="floor"/><child link="arm"/></joint></robot>'
    )
    assert run("export-urdf", "meshes/arm.urdf", "out.urdf", "--drives-out", "out.drives.toml").exit_code == 0
    found = fj.formats.read_urdf("out.urdf")
    assert found.root == "floor" and found.geometry["floor"][0].kind == "box"
    assert found.geometry["arm"][0].path == "meshes/arm.stl"
    assert fj.load("out.urdf", drives="out.drives.toml") == fj.load("meshes/arm.urdf")
