"""URDF files on the command line: what is not used is shown, and options choose parts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flexjoint.cli import app

FILES = Path(__file__).parents[2] / "data" / "urdf"


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    return lambda *arguments: CliRunner().invoke(app, list(map(str, arguments)))


def test_info_shows_what_is_not_used(run):
    result = run("info", FILES / "motors.urdf")
    assert result.exit_code == 0
    for text in ("RRR", "elastic", "<dynamics mu_viscous>", "53", "tanh(v/0.01)"):
        assert text in result.output
    data = json.loads(run("info", FILES / "motors.urdf", "--json").stdout)
    assert [x["line"] for x in data["file_report"] if x["level"] == "unused"] == [53]


def test_options_choose_a_part(run):
    data = json.loads(run("info", FILES / "tree.urdf", "--tip", "left_hand", "--tool", "left_plate", "--json").stdout)
    assert data["joints"] == "RRR" and data["tool"] == "left_plate"
    locked = run("info", FILES / "rotated.urdf", "--locked", "turn=0.3", "--locked", "bend", "--json")
    assert json.loads(locked.stdout)["joints"] == "P"
    wrong = run("info", FILES / "rotated.urdf", "--locked", "turn=x")
    assert wrong.exit_code == 2 and "such as elbow=0.5" in wrong.output
