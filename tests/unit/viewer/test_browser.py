"""The viewer in a real browser: sliders, ghost of the motors, playback, hostile names."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import flexjoint as fj
from support.browser import Browser, chromium
from support.viewer_pages import PANEL, cheap, opened, settled

pytest.importorskip("viser", reason="viser is not installed: pip install 'flexjoint[view]'")
pytestmark = pytest.mark.skipif(chromium() is None, reason="chromium is not installed: apt-get install chromium")
HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>{window.hacked=1}'


@pytest.fixture(scope="module")
def browser():
    with Browser(960, 600) as found:
        yield found


def hostile(robot):
    """The robot with names that a careless page would run."""
    first, *others = robot.links
    joint = replace(first.joint, name=HOSTILE)
    return robot.replace(name=HOSTILE, links=(replace(first, joint=joint), *others))


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
