"""The viewer in Chromium: an LWR, a Panda with its meshes, a tree and a variable-stiffness arm; pages without a server.

    python tests/viewer_pages.py                     # installs example-robot-data into a temporary folder
    python tests/viewer_pages.py --models FOLDER     # that holds it already
    python tests/viewer_pages.py --output FOLDER     # keeps the pictures, to be looked at

Fails if a robot is not drawn, a motion does not move, a script reports an error, a request leaves the machine, a mesh
of the Panda is missing, or the viewer goes on after its page has been closed.
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
from support.viewer_pages import drawn, opened, settled

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
    assert not browser.errors, browser.errors
    assert not browser.outside, browser.outside
    print(f"{name}: drawn, {page.stat().st_size / 1e6:.1f} MB without a server", flush=True)


def closes(viewer: fj.viewer.Viewer) -> None:
    """The viewer ends after its page has been closed."""
    with Browser(960, 600) as browser:
        opened(browser, viewer)
    begin = time.monotonic()
    viewer.wait(60.0, until_closed=True)
    assert time.monotonic() - begin < 30, "the viewer goes on without a page"
    print("closed page: the viewer ends")


def main(models: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, robot, motion, options in cases(models):
        with Browser(960, 600) as browser, fj.viewer.view(robot, motion, port=0, **options) as viewer:
            look(browser, name, viewer, folder)
    with fj.viewer.view(fj.load("hua_3r"), port=0) as viewer:
        closes(viewer)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path)
    parser.add_argument("--output", type=Path)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        main(chosen.models or Path(temporary) / "models", chosen.output or Path(temporary))
