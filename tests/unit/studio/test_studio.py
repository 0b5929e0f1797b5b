"""The studio: each change is run and shown, trouble leaves the old curves, files go to the folder alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from functools import partial
from urllib.request import Request, urlopen

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.studio.files import checked_folder, unused_stem
from flexjoint.studio.worker import Worker

pytest.importorskip("viser", reason="viser is not installed: pip install 'flexjoint[view]'")
HOSTILE = "<script>alert(1)</script>\x1b[31m"


@pytest.fixture(scope="module")
def experiment():
    found = fj.studio.Experiment(fj.load("hua_3r"), "motor_pd", numbers=[100.0, 20.0], period=0.02)
    found.robot = found.robot.replace(name=HOSTILE)  # that of the pictures; the kernels stay those of hua_3r
    return found


@pytest.fixture
def studio(experiment, tmp_path):
    with fj.studio.serve(experiment.copy(), port=0, folder=tmp_path) as found:
        assert found.settle()
        yield found


def curve(studio):
    """The first curve of the chart."""
    return np.array(studio.viewer._controls.plot.chart.data[1])


def labels(studio):
    """The names of the curves."""
    return [x["label"] for x in studio.viewer._controls.plot.chart.series]


def test_a_change_is_run_and_shown_and_the_curve_before_stays_beside_it(studio):
    first = curve(studio)
    studio.set("*.drive.stiffness", 40.0)
    assert studio.settle()
    assert studio.answer > 0 and not studio.trouble
    second = curve(studio)
    assert not np.array_equal(first, second)
    data = studio.viewer._controls.plot.chart.data
    assert np.array_equal(np.array(data[2]), first), "the curve of the run before"
    assert "before, °" in labels(studio)
    assert studio._panel.sliders["drive.stiffness"].value == pytest.approx(40.0)
    studio.set("duration", 1.0)
    studio.choose_motion("sinusoid")
    assert studio.settle() and studio.viewer.motions[0].t[-1] == pytest.approx(1.0)
    assert studio.viewer._controls.time.max == pytest.approx(1.0)


def test_threshold_and_alarm_are_curves_and_the_push_an_arrow(studio):
    studio.set("push.force", 20.0)
    studio.set("threshold", 0.5)
    assert studio.settle()
    plot = studio.viewer._controls.plot
    plot.choose(1, "residual", 0.0)
    assert [x.partition(",")[0] for x in labels(studio)[1:5]] == ["r", "threshold", "−threshold", "detected"]
    r, level, _, alarm = (np.array(x) for x in plot.chart.data[1:5])
    assert np.all(level == 0.5) and np.array_equal(~np.isnan(alarm), np.abs(r) > 0.5) and np.any(np.abs(r) > 0.5)
    assert "detected at" in studio._panel.detected.content
    force = studio.viewer.motions[0].wrenches["tool"]
    assert np.abs(force[:, 2]).max() == pytest.approx(20.0, rel=1e-2)


def test_trouble_leaves_the_old_curves_marked_as_old(studio):
    before = curve(studio)
    assert studio.settle(limits=True) and "stable" in studio._panel.limits.content
    studio.set("K_D", studio.experiment.settings["K_D"].high)
    assert studio.settle(limits=True)
    assert "diverged" in studio.trouble and "run before" in studio._panel.status.content
    assert np.array_equal(curve(studio), before) and all("(old)" in x for x in labels(studio)[1:-1])
    assert "unstable" in studio._panel.limits.content and "unstable" in studio._panel.ranges["K_D"].content
    studio.set("K_D", 20.0)
    assert studio.settle() and not studio.trouble
    assert not any("(old)" in x for x in labels(studio))


def test_another_controller_has_other_sliders_and_wrong_choices_are_said(studio):
    studio.choose_controller("computed_torque")
    assert studio.settle()
    assert "POLE" in studio._panel.sliders and "K_P" not in studio._panel.sliders
    studio.choose_controller("nothing")
    assert studio.settle() and studio.experiment.controller_name == "computed_torque"
    with pytest.raises(fj.InputError, match="must be one of"):
        studio.write("everything")


def test_files_are_written_into_the_folder_alone_and_never_replaced(studio, tmp_path):
    (tmp_path / "studio_001.py").write_text("mine")
    os.symlink(tmp_path.parent / "elsewhere", tmp_path / "studio_002.drives.toml")
    for kind in ("drive file", "Python script", "figures"):
        studio.write(kind)
        assert studio.settle()
    names = [x.name for x in studio.written]
    assert names == ["studio_003.drives.toml", "studio_004.py", "studio_005_motion.png", "studio_005_residual.png"]
    assert sorted(os.listdir(tmp_path)) == sorted([*names, "studio_001.py", "studio_002.drives.toml"])
    assert (tmp_path / "studio_001.py").read_text() == "mine" and not (tmp_path.parent / "elsewhere").exists()
    assert "studio_005_motion.png" in studio._panel.written.content


def test_names_from_files_are_texts_of_the_page(studio):
    assert studio.settle(limits=True)
    panel = studio._panel
    texts = [panel.status, panel.limits, panel.springs, panel.detected, *panel.ranges.values()]
    assert not any("<script" in x.content or "\x1b" in x.content for x in texts)
    assert not any("\x1b" in repr(x) for x in (studio, studio.viewer, studio.experiment))
    studio._panel.say(HOSTILE, bad=True)
    assert "&lt;script&gt;" in panel.status.content and "\x1b" not in panel.status.content


def test_the_server_answers_its_own_page_alone_and_stops_with_its_threads(experiment):
    with fj.studio.serve(experiment.copy(), port=0) as studio:
        assert b"<html" in urlopen(studio.url).read()[:500].lower()
        for headers in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
            with pytest.raises(OSError, match="403"):
                urlopen(Request(studio.url, headers=headers))
        with pytest.raises(fj.InputError, match="no folder was chosen"):
            studio.write("figures")
        threads = studio._worker._threads
    assert not any(x.is_alive() for x in threads)


@pytest.mark.parametrize(
    "given, message",
    [
        ({"host": "0.0.0.0"}, "127.0.0.1 alone"),
        ({"bodies": "x"}, "bodies"),
        ({"magnify": 0.0}, "magnify"),
        ({"folder": "/proc/none/there"}, "no folder to write to"),
    ],
)
def test_wrong_arguments(experiment, given, message):
    with pytest.raises(fj.InputError, match=message):
        fj.studio.serve(experiment.copy(), port=0, **given)
    with pytest.raises(fj.InputError, match="give a Robot or an Experiment"):
        fj.studio.serve("hua_3r")


def test_folders_and_numbers(tmp_path):
    assert checked_folder(tmp_path / "new").is_dir()
    assert unused_stem(tmp_path) == "studio_001"
    (tmp_path / "studio_001_motion.png").touch()
    assert unused_stem(tmp_path) == "studio_002"
    for k in range(1, 1000):
        (tmp_path / f"studio_{k:03}").touch()
    with pytest.raises(fj.InputError, match="choose another folder"):
        unused_stem(tmp_path)


def test_many_changes_are_one_run_and_an_error_does_not_end_the_worker():
    runs, said, gate = [], [], threading.Event()
    worker = Worker(lambda: runs.append(1), lambda changed: None, lambda error: said.append(str(error)))
    worker.do(gate.wait)
    for _ in range(50):
        worker.do(lambda: None)
    worker.do(lambda: 1 / 0)
    worker.start()
    gate.set()
    assert worker.settle(10.0) and len(runs) == 1 and said == ["division by zero"]
    worker.do(lambda: None)
    assert worker.settle(10.0, quiet=True) and len(runs) == 2
    worker.stop()
    assert not worker.settle(0.1) or len(runs) == 2


@pytest.mark.long
def test_ctrl_c_ends_the_studio():
    options = ["--controller", "motor_pd", "--gains", "100,20", "--period", "0.02"]
    command = [sys.executable, "-m", "flexjoint", "studio", "hua_3r", "--no-browser", "--port", "0", *options]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a shell's background jobs ignore it
    with subprocess.Popen(command, **streams, preexec_fn=heard) as process:
        try:
            first = process.stderr.readline()
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    assert "http://127.0.0.1:" in first and process.returncode == 0
    assert output == "hua_3r: motor_pd\n" and errors == ""
