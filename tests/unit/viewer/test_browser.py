"""The viewer in a real browser: sliders, ghost of the motors, playback, hostile names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import flexjoint as fj
from support.browser import Browser, chromium
from support.viewer_pages import PANEL, cheap, drawn, opened, settled

pytest.importorskip("viser", reason="viser is not installed: pip install 'flexjoint[view]'")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(chromium() is None, reason="chromium is not installed: apt-get install chromium"),
]
SET_MAGNIFICATION = """(() => { const input = document.querySelector('label > input[type=range]');
  input.value = %g; input.dispatchEvent(new Event('input')); })()"""
GHOST_POSES = """(() => { const run = flexjointMagnification.runs[0], found = [[...run.root.matrixWorld.elements]];
  for (const group of run.links) { let pose; group.traverse(x => { if (x.isMesh) pose = [...x.matrixWorld.elements]; });
    found.push(pose); } return found; })()"""
HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>{window.hacked=1}'


@pytest.fixture(scope="module")
def chromium_process():
    with Browser(960, 600) as found:
        yield found


@pytest.fixture
def browser(chromium_process):
    return chromium_process.forget()


def hostile(robot):
    """The robot with names that a careless page would run."""
    first, *others = robot.links
    joint = replace(first.joint, name=HOSTILE)
    return robot.replace(name=HOSTILE, links=(replace(first, joint=joint), *others))


def chart(picture):
    """The pixels of the curves: those with a colour, in the upper part of the panel."""
    part = picture[: picture.shape[0] // 2, PANEL:]
    return np.ptp(part, axis=2) > 60


def orange(picture):
    """Number of pixels in the colour of the motors."""
    red, green, blue = np.moveaxis(picture[:, :PANEL], -1, 0)
    return int(np.sum((red > green + 25) & (green > blue + 10)))


def test_sliders_move_the_links_a_load_parts_the_motors_from_them_and_playback_advances(browser):
    robot = hostile(fj.load("hua_3r"))
    motion = fj.trajectory.RestToRest([0.0] * 3, [0.8, 0.6, 0.5], duration=1.0)
    lost = fj.formats.Geometry("base", "visual", "mesh", (1.0,) * 3, np.zeros(3), np.eye(3), HOSTILE, None, 1)
    options = {"geometry": {"base": [lost]}, "port": 0, "magnify": 3, "speed": 0.5}
    with cheap(fj.viewer.view(robot, motion, **options)) as viewer:
        page = opened(browser, viewer)
        page.click_text("Play")
        page.wait(lambda: viewer.t > 0.3, "playback")
        page.click_text("Pause")
        page.wait(lambda: not viewer.playing, "the pause")
        shown = viewer.t
        page.wait(lambda: abs(page.value_of("time") - shown) < 0.01, "the time slider to follow")
        page.set_slider("time", 0.02, lambda: viewer.t < 0.1)
        rest = page.picture()
        page.click_text("Joints")
        page.set_slider("joint2", 0.62, lambda: viewer.q[1] > 0.2)
        tilted = settled(page, rest)
        near = orange(tilted)
        page.set_slider("load on tool", 0.97, lambda: viewer.load > 30)
        loaded = settled(page, tilted)
        assert orange(loaded) > near + 150, "the ghost of the motors parts from the links"
        viewer.switch("joint names")
        assert str(page.run("document.body.innerText")).count("<img src=x") >= 3, "names are text, in sliders and notes"
        assert page.run("window.hacked") is None
    assert page.errors == [] and page.outside == []
    assert any(url.startswith("ws://127.0.0.1") for url in page.requests), "requests of workers are seen too"


def test_studio_runs_again_when_the_stiffness_slider_moves(browser):
    experiment = fj.studio.Experiment(fj.load("hua_3r"), "motor_pd", numbers=[100.0, 20.0], period=0.02)
    experiment.robot = hostile(experiment.robot)  # on the page; the kernels are those of hua_3r, which other tests have
    with fj.studio.serve(experiment, port=0) as studio:
        page = opened(browser, cheap(studio.viewer))
        studio.viewer.seek(1.5)
        assert studio.settle()
        page.wait(lambda: np.sum(chart(page.picture())) > 100, "the curve")
        before, stiffness = chart(page.picture()), experiment["joint3.drive.stiffness"]
        page.set_slider("stiffness", 0.1, lambda: experiment["joint3.drive.stiffness"] < 0.6 * stiffness)
        page.wait(lambda: np.sum(chart(page.picture()) != before) > 40, "the curve to change")
        page.wait(lambda: "stable" in str(page.run("document.body.innerText")), "limits beside the sliders")
        assert str(page.run("document.body.innerText")).count("<img src=x") >= 1, "names are text"
        assert page.run("window.hacked") is None
    assert page.errors == [] and page.outside == []


def test_a_page_without_a_server_magnifies_deflections(browser, tmp_path):
    robot = fj.load("hua_3r")
    with cheap(fj.viewer.view(robot, q=[0.3, 0.5, 0.4], port=0, magnify=2)) as viewer:
        viewer.pose(viewer.q, load=20.0)
        viewer.write_html(tmp_path / "page.html")
        q, deflection = (x[0] for x in viewer.deflections())
    browser.open((tmp_path / "page.html").as_uri())
    browser.wait(lambda: browser.run("!!window.flexjointMagnification"), "the slider of the page")
    browser.wait(lambda: drawn(browser), "the robot to be drawn")
    begin, at = browser.picture(), q + 10**1.5 * deflection
    wanted = [fj.forward_kinematics(robot, at, link=link.name) for link in robot.links]

    def ghost_is_there():
        root, *links = (np.array(x).reshape(4, 4).T for x in browser.run(GHOST_POSES))
        found = [np.linalg.solve(root, x) for x in links]
        return all(
            np.allclose(x[:3, :3], y.rotation, atol=1e-4) and np.allclose(x[:3, 3], y.position, atol=1e-4)
            for x, y in zip(found, wanted, strict=True)
        )

    assert not ghost_is_there()
    browser.run(SET_MAGNIFICATION % 1.5)
    browser.wait(ghost_is_there, "the ghost to stand at q + m (θ − q)", 20)
    settled(browser, begin)
    assert browser.errors == [] and all(x.startswith(("file:", "data:", "blob:")) for x in browser.requests)
