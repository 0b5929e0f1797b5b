"""Animations: points of the arm, the HTML page, GIF frames, and mistakes."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.viewer import animation
from flexjoint.viewer.skeleton import skeleton
from support.runs import PULLED, ROBOT, pulled_run, simulated


@pytest.fixture(scope="module")
def single():
    return simulated()


@pytest.fixture(scope="module")
def batch():
    return simulated(rows=(3,))


@pytest.fixture(scope="module")
def pulled():
    return pulled_run()


def test_points_of_the_animation_are_those_of_the_links(tmp_path):
    """A tree with sliding and turning joints: frames of links at their poses, motors at those of the motors' angles."""
    robot = fj.random_robot(5, seed=2, prismatic=0.4, elastic=1.0)
    law = fj.control.MotorPD(robot, [400.0, 40.0])
    run = fj.simulate(
        robot, law, np.full(5, 0.3), 0.1, start=fj.JointState(*np.zeros((4, 5))), period=1e-3, check=False
    )
    shown = animation.scene(run, 100.0, magnify=3.0)
    assert len(shown.t) == 11 and np.allclose(np.diff(shown.t), 0.01)
    bent = run.q + 3.0 * (run.theta - run.q)
    for i, link in enumerate(robot.links):
        for points, q in ((shown.links, run.q), (shown.motors, bent)):
            wanted = fj.forward_kinematics(robot, q[::10], link=link.name).position
            assert np.allclose(points[:, 3 * i + 2], wanted, atol=1e-12)
    assert shown.tip == 3 * robot.link_index(robot.tool) + 2
    numbers = {k for pair in shown.segments for k in pair}
    joined = {0}
    for a, b in shown.segments:
        assert a in joined, "every segment goes on from what is there"
        joined.add(b)
    assert numbers == joined


def test_two_motors_hold_the_arm_at_their_mean_and_a_pivot_does_not(pulled):
    shown = animation.scene(pulled, 1000.0)
    held = np.stack([pulled.theta[:, 0], (pulled.theta[:, 1] + pulled.theta[:, 3]) / 2], axis=1)
    assert np.allclose(shown.motors, skeleton(PULLED, held).points, atol=1e-15)


def test_the_page_is_self_contained_and_has_the_points(single, tmp_path):
    fj.viewer.animate(single, tmp_path / "run.html", frames=200.0)
    text = (tmp_path / "run.html").read_text()
    assert "http" not in text and "src=" not in text and "<title>arm</title>" in text
    data = json.loads(re.search(r"const data = (\{.*\});", text).group(1))
    assert data["t"] == [0.0, 0.005, 0.01, 0.015, 0.02]
    points = np.reshape(data["links"], (5, -1, 3)) / 1000
    wanted = fj.forward_kinematics(ROBOT, single.q[::5]).position
    assert np.allclose(points[:, data["tip"]], wanted, atol=1e-4)


def test_a_gif_has_its_frames_and_stops_where_a_run_diverged(tmp_path):
    image = pytest.importorskip("PIL.Image")
    with pytest.warns(UserWarning, match="diverged"):
        run = fj.simulate(ROBOT, fj.control.OpenLoop(ROBOT), [5e6, 0.0], 1.0, period=1e-3, check=False)
    fj.viewer.animate(run, tmp_path / "run.gif", frames=20.0, speed=0.01)
    with image.open(tmp_path / "run.gif") as found:
        durations = []
        for k in range(found.n_frames):  # what does not move is one longer frame
            found.seek(k)
            durations.append(found.info["duration"])
    assert sum(durations) == 50 * (round(run.ended * 20 / 0.01) + 1)
    assert 1 < len(durations) < 100


def test_mistakes_in_animations(single, batch, tmp_path, monkeypatch):
    from matplotlib.animation import FFMpegWriter

    for run, name, options, message in (
        (batch, "x.gif", {}, "shows one run"),
        (single, "x.avi", {}, r"ends in \.gif, \.mp4, \.html"),
        (single, "x.gif", {"speed": 0.0}, "speed is 0.0"),
        (single, "x.gif", {"frames": 1e6}, "at most 2000 are drawn"),
    ):
        with pytest.raises(fj.InputError, match=message):
            fj.viewer.animate(run, tmp_path / name, **options)
    monkeypatch.setattr(FFMpegWriter, "isAvailable", classmethod(lambda cls: False))
    with pytest.raises(fj.InputError, match="MP4 needs the program ffmpeg"):
        fj.viewer.animate(single, tmp_path / "x.mp4")
    assert not list(tmp_path.iterdir())
