"""`flexjoint export-mjcf`: files, standard output, options, and what MuJoCo cannot express as an error."""

import json

import pytest
from typer.testing import CliRunner

import flexjoint as fj
from flexjoint.cli import app


def run(*arguments):
    return CliRunner().invoke(app, ["export-mjcf", *map(str, arguments)])


def test_a_file_and_standard_output(tmp_path):
    written = run("kuka_lwr", tmp_path / "lwr.xml", "--timestep", "0.002", "--json")
    data = json.loads(written.stdout)
    text = fj.formats.mjcf_model(fj.load("kuka_lwr"), timestep=0.002).text
    assert (tmp_path / "lwr.xml").read_text() == text
    assert data["joints"][-1] == "joint7.motor" and data["report"] == []
    streamed = run("kuka_lwr", "-", "--timestep", "0.002")
    assert streamed.stdout == text and "joints in qpos" in streamed.stderr


def test_strict(tmp_path):
    refused = run("hua_3r", tmp_path / "hua.xml", "--strict")
    assert refused.exit_code == 2 and "inertia (approximate)" in refused.stderr
    assert not (tmp_path / "hua.xml").exists()
    warned = run("hua_3r", tmp_path / "hua.xml")
    assert warned.exit_code == 0 and "warning: hua_3r: the model for MuJoCo differs" in warned.stderr


@pytest.mark.parametrize(("options", "lacks"), [(["--no-limits"], "range="), (["--coulomb", "none"], "frictionloss")])
def test_options(tmp_path, monkeypatch, options, lacks):
    monkeypatch.chdir(tmp_path)
    joint = fj.Joint("hinge", limits=fj.Limits(-1.0, 1.0), coulomb_friction=2.0, coulomb_velocity=0.1)
    fj.write_robot(
        fj.Robot("arm", (fj.Link("arm", joint, mass=1.0, com=(0.1, 0, 0)),), allow_unphysical=True), "arm.toml"
    )
    assert lacks in run("arm.toml", "-").stdout
    assert lacks not in run("arm.toml", "-", *options).stdout


def test_a_wrong_option(tmp_path):
    refused = run("kuka_lwr", tmp_path / "x.xml", "--coulomb", "dry")
    assert refused.exit_code == 2 and '--coulomb is \'dry\': give "frictionloss" or "none"' in refused.stderr
