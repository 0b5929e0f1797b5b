"""Options of the command line about recorded motions and vibration; numbers against the functions themselves."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import flexjoint as fj
from flexjoint.cli import app

MOTION = '{kind = "rest_to_rest", goal = [0.4, 0.5, -0.4], duration = 0.3}'
PD = ["simulate", "hua_3r", "--controller", "motor_pd", "--gains", "5000,500", "--trajectory", MOTION]


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.mark.filterwarnings("ignore::flexjoint.FlexjointWarning")
def test_shaper_and_vibration(tmp_path):
    robot = fj.load("hua_3r")
    raw = json.loads(run(*PD, "--vibration", "--json").stdout)["vibration"]
    page = tmp_path / "page.html"
    shaped = run(*PD, "--vibration", "--json", "--shaper", "zvd", "--modes", "1", "--report", page)
    found = json.loads(shaped.stdout)["vibration"]
    law = fj.control.MotorPD(robot, [5000.0, 500.0])
    (mode, *_) = [x for x in fj.analysis.vibration_modes(robot, [0.4, 0.5, -0.4], law, 1e-3) if x.damping < 0.3]
    assert found["stop_s"] == pytest.approx(0.3 + 1 / (mode.frequency * np.sqrt(1 - mode.damping**2)), abs=0.003)
    assert raw["stop_s"] == pytest.approx(0.3, abs=1e-9)
    assert raw["modes"][0]["frequency_hz"] == pytest.approx(mode.frequency, rel=0.02)
    sizes = [max(x["modes"][0]["amplitudes"]) for x in (raw, found)]
    assert sizes[1] < 0.05 * sizes[0]
    text = page.read_text()
    assert "--shaper" in text and f"{found['modes'][0]['frequency_hz']:.4g} Hz" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*PD, "--shaper", "zz"], "--shaper is 'zz'; it must be one of zv, zvd, ei"),
        ([*PD, "--shaper", "zv", "--modes", "0"], "modes is 0"),
        ([*PD, "--vibration", "--duration", "0.3"], "samples after the stop at 0.3 s"),
        ([*PD, "--vibration", "--samples", "3", "--vary", "payload=0..1"], "--vibration measures a single run"),
        (["simulate", "ur5e", *PD[2:6], "--trajectory", "{}", "--shaper", "zv"], "kind"),
    ],
)
def test_bad_options_are_named(arguments, message):
    result = run(*arguments)
    assert result.exit_code != 0 and message in " ".join(result.stderr.split())


def test_record(tmp_path):
    robot, t = fj.load("hua_3r"), np.arange(0.0, 3.0, 0.01)
    rows = 0.3 * np.sin(2 * t)[:, None] + 1e-4 * np.random.default_rng(0).normal(size=(t.size, 3))
    path = tmp_path / "record.csv"
    np.savetxt(path, np.column_stack([t, rows]), delimiter=",", fmt="%.17g")
    page = tmp_path / "page.html"
    found = json.loads(run("record", "hua_3r", path, "--json", "--report", page).stdout)
    wanted = fj.trajectory.assess_record(robot, fj.trajectory.load_record(path, robot))
    assert found["noisy"] and found["cutoff_hz"] == wanted.cutoff
    assert [x["error"] for x in found["motors"]] == pytest.approx(wanted.best.total.tolist())
    assert f"{wanted.cutoff:g} Hz" in page.read_text()
    refused = run("torques", "hua_3r", path)
    assert refused.exit_code != 0 and f"to filter at {wanted.cutoff:g} Hz" in " ".join(refused.stderr.split())
