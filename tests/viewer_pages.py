"""Viewer and studio in Chromium: an LWR, a Panda with its meshes, a tree, a variable-stiffness arm; saved pages.

    python tests/viewer_pages.py                     # installs example-robot-data into a temporary folder
    python tests/viewer_pages.py --models FOLDER     # that holds it already
    python tests/viewer_pages.py --output FOLDER     # keeps the pictures, to be looked at
    python tests/viewer_pages.py --only panda        # one robot alone

Fails if a robot is not drawn, a slider or a load does not move it, a motion does not play, the slider of a saved page
does not magnify deflections, a curve of the studio does not change with its sliders, a script reports an error, a
request leaves the machine, a mesh of the Panda is missing, or the viewer goes on after its page has been closed.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

import flexjoint as fj
from support.browser import Browser
from support.viewer_pages import cheap, drawn, opened, settled

PANEL_OF_STUDIO = 880  # pixels left of the panel, of 1280
MAGNIFY = """(() => { const input = document.querySelector('label > input[type=range]');
  input.value = 1.6; input.dispatchEvent(new Event('input')); })()"""
DRIVE = fj.ElasticDrive(400.0, fj.Motor(0.5))


def panda(models: Path) -> tuple[fj.Robot, dict[str, Any]]:
    """The Panda with its meshes, on springs."""
    if not list(models.rglob("panda.urdf")):
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(models)]
        subprocess.run([*command, "example-robot-data"], check=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        robot = fj.load(next(models.rglob("panda.urdf")))
    geometry = fj.formats.file_geometry(robot)
    q = [0.0, 0.3, 0.0, -1.8, 0.0, 1.9, 0.7, 0.03]
    return robot.with_drives([DRIVE] * 7 + [None]), {"geometry": geometry, "q": q, "magnify": 3.0}


def cases(models: Path) -> Iterator[tuple[str, fj.Robot, Any, dict[str, Any]]]:
    """Name, robot, motion and options of each viewer."""
    lwr = fj.load("kuka_lwr")
    goal = [0.0, 0.8, 0.0, 1.2, 0.0, 0.6, 0.0]
    run = fj.simulate(lwr, fj.control.MotorPD(lwr, [1000.0, 50.0]), fj.trajectory.RestToRest([0.0] * 7, goal, 1.0))
    yield "lwr", lwr, run, {"magnify": 10.0}
    yield "two_runs", lwr, [run, run], {"magnify": 10.0}
    tree = fj.random_robot(7, seed=3, prismatic=0.3, tree=True, elastic=1.0)
    yield "tree", tree, fj.trajectory.RestToRest(np.zeros(7), np.full(7, 0.5), 1.0), {}
    pulled = fj.load("vsa_3r")
    yield "vsa_3r", pulled, None, {"q": [0.2, 0.5, 0.5], "magnify": 2.0}
    robot, options = panda(models)
    yield "panda", robot, None, options


def look(browser: Browser, name: str, viewer: fj.viewer.Viewer, folder: Path) -> None:
    """Take pictures of a viewer, and of its page without a server."""
    from PIL import Image

    def keep(picture: np.ndarray, what: str) -> np.ndarray:
        Image.fromarray(picture.astype(np.uint8)).save(folder / f"{name}_{what}.png")
        return picture

    assert viewer.missing == (), viewer.missing
    begin = keep(opened(browser, viewer).picture(), "begin")
    if viewer.motions:
        viewer.seek(0.9 * viewer.motions[0].t[-1])
    else:
        bounds = np.array([(x.lower, x.upper) for x in viewer.robot.joint_limits]).T
        viewer.pose(np.clip(viewer.q + 0.3, *bounds), load=0.3 * viewer.statics.greatest_load)
    keep(settled(browser, begin), "end")
    page = folder / f"{name}.html"
    viewer.write_html(page)
    browser.open(page.as_uri())
    browser.wait(lambda: drawn(browser), "the page without a server to be drawn", 120)
    if viewer.motions:
        keep(settled(browser, browser.picture()), "page")
    if viewer.deflections() is not None:
        browser.wait(lambda: browser.run("!!window.flexjointMagnification"), "the slider of the page", 60)
        browser.run(MAGNIFY)
        keep(settled(browser, browser.picture()) if viewer.motions else browser.picture(), "magnified")
    assert not browser.errors, browser.errors
    assert not browser.outside, browser.outside
    print(f"{name}: drawn, {page.stat().st_size / 1e6:.1f} MB without a server", flush=True)


def moved_by_hand(browser: Browser, folder: Path) -> None:
    """The slider of joint 2, a load and the button Play change the picture of the LWR."""
    from PIL import Image

    robot = fj.load("kuka_lwr")
    motion = fj.trajectory.RestToRest([0.0] * 7, [0.5] * 7, 1.0)
    with fj.viewer.view(robot, motion, port=0, magnify=20.0) as viewer:
        page = opened(browser, viewer)
        page.click_text("Play")
        page.wait(lambda: viewer.t > 0.3, "playback")
        page.click_text("Pause")
        rest = page.picture()
        page.click_text("Joints")
        page.set_slider("joint2", 0.7, lambda: viewer.q[1] > 0.3)
        tilted = settled(page, rest)
        page.set_slider("load on tool", 0.9, lambda: viewer.load > 50)
        Image.fromarray(settled(page, tilted).astype(np.uint8)).save(folder / "by_hand.png")
        assert not browser.errors and not browser.outside, (browser.errors, browser.outside)
    print("slider of joint 2, load and playback change the picture", flush=True)


def try_out(browser: Browser, name: str, robot: fj.Robot, options: dict[str, Any], folder: Path) -> None:
    """Pictures of all tabs of the studio; its curve changes with a slider, an unstable setting is said."""
    from PIL import Image

    def keep(what: str) -> np.ndarray:
        browser._listen(0.8)
        picture = browser.picture()
        Image.fromarray(picture.astype(np.uint8)).save(folder / f"{name}_studio_{what}.png")
        return picture

    start = time.perf_counter()
    experiment = fj.studio.Experiment(robot, q=options.get("q"))
    with fj.studio.serve(experiment, port=0, folder=folder, geometry=options.get("geometry")) as studio:
        made = time.perf_counter() - start
        cheap(studio.viewer)
        browser.open(studio.url)
        browser.wait(studio.viewer._server.get_clients, "the page to connect")
        browser.wait(lambda: drawn(browser, PANEL_OF_STUDIO), "the robot to be drawn", 120)
        assert studio.settle(120.0, limits=True), "limits"
        studio.viewer.seek(1.2)
        before = keep("robot")[:, PANEL_OF_STUDIO:]
        path = next((x for x in experiment.settings if x.endswith(".drive.damping")), "payload")
        slider = "damping" if path != "payload" else "payload"
        browser.set_slider(slider, 0.6, lambda: experiment[path] > 0)
        browser.wait(
            lambda: np.sum(np.abs(browser.picture()[:, PANEL_OF_STUDIO:] - before).max(axis=2) > 60) > 100, "the curve"
        )
        studio.set("push.force", 0.4 * experiment.settings["push.force"].high)
        answers = []
        for share in np.linspace(0.0, 0.2, 8):
            studio.set("amplitude", 25.0 + 20 * share)
            studio.settle()
            answers.append(studio.answer)
        for tab in ("Control", "Push", "Noise", "Files", "View"):
            browser.click_text(tab)
            if tab == "Files":
                browser.click_text("Write Python script")
            keep(tab.lower())
        assert studio.settle(), "changes"
        assert [x.suffix for x in studio.written] == [".py"], studio._panel.status.content
        assert not browser.errors and not browser.outside, (browser.errors, browser.outside)
    print(f"{name}: studio after {made:.1f} s, slider to curve {1000 * min(answers):.0f} ms at best", flush=True)


def closes(viewer: fj.viewer.Viewer) -> None:
    """The viewer ends after its page has been closed."""
    with Browser(960, 600) as browser:
        opened(browser, viewer)
    begin = time.monotonic()
    viewer.wait(60.0, until_closed=True)
    assert time.monotonic() - begin < 30, "the viewer goes on without a page"
    print("closed page: the viewer ends")


def main(models: Path, folder: Path, only: str | None) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, robot, motion, options in cases(models):
        if only in (None, name):
            with Browser(960, 600) as browser, fj.viewer.view(robot, motion, port=0, **options) as viewer:
                look(browser, name, viewer, folder)
            if name != "two_runs":
                with Browser(1280, 900) as browser:
                    try_out(browser, name, robot, options, folder)
    if only is None:
        with Browser(960, 600) as browser:
            moved_by_hand(browser, folder)
        with fj.viewer.view(fj.load("hua_3r"), port=0) as viewer:
            closes(viewer)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--only")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        main(chosen.models or Path(temporary) / "models", chosen.output or Path(temporary), chosen.only)
