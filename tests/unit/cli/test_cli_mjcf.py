"""MJCF files on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flexjoint.cli import app

pytest.importorskip("mujoco")

FILES = Path(__file__).parents[2] / "data" / "mjcf"


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *arguments: CliRunner().invoke(app, list(map(str, arguments)))


def test_info_and_check_show_what_is_not_used(run):
    result = run("info", FILES / "actuators.xml")
    assert result.exit_code == 0
    for text in ("RRPR", "<position>", "47", "tanh(v/0.01)", "between -20 and 30"):
        assert text in result.output
    data = json.loads(run("info", FILES / "actuators.xml", "--json").stdout)
    assert [x["line"] for x in data["file_report"] if x["level"] == "unused"] == [47]
    checked = json.loads(run("check", FILES / "actuators.xml", "--json").stdout)
    assert [x["line"] for x in checked["findings"] if "<position>" in x["reason"]] == [47]


def test_lines_of_included_files(run, tmp_path):
    (tmp_path / "scene.xml").write_text(f'<mujoco><include file="{FILES / "actuators.xml"}"/></mujoco>')
    result = run("info", tmp_path / "scene.xml")
    assert "actuators.xml:47" in result.output
    assert "actuators.xml:47" in run("check", tmp_path / "scene.xml").output


def test_options_and_drive_files(run, tmp_path):
    locked = ("--locked", "pan=0.3", "--tool", "tip")
    data = json.loads(run("info", FILES / "reference.xml", *locked, "--json").stdout)
    assert data["joints"] == "RP" and data["tool"] == "tip"
    template = tmp_path / "arm.drives.toml"
    assert run("drives", "new", FILES / "reference.xml", "-o", template).exit_code == 0
    assert 'name = "reach"' in template.read_text()
    wrong = run("info", tmp_path / "none.xml")
    assert wrong.exit_code == 2 and "there is no such file" in wrong.output
