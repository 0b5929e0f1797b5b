"""Figure of a robot: what is drawn, and where."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import flexjoint as fj
from flexjoint.viewer import plot_robot
from flexjoint.viewer.robot_figure import marks

URDF = Path(__file__).parents[2] / "data" / "urdf"


def two_links():
    """A revolute joint about x and a prismatic one along y; the second motor sits on the base."""
    body = {"mass": 2.0, "com": [0.0, 0.0, 0.5], "inertia": 0.1 * np.eye(3)}
    far = fj.Motor(0.1, position=[0.0, 0.25, 0.125], axis=[0, 0, 1], carrier="base", gear_ratio=10.0)
    return fj.Robot(
        "two",
        (
            fj.Link("a", fj.Joint("turn", axis=[1, 0, 0], drive=fj.RigidDrive(fj.Motor(0.1))), "base", **body),
            fj.Link(
                "b",
                fj.Joint("slide", "prismatic", position=[0, 0, 1], axis=[0, 1, 0], drive=fj.ElasticDrive(10.0, far)),
                "a",
                **body,
            ),
        ),
    )


def test_marks_of_a_posture_worked_out_by_hand():
    """A quarter turn about x maps y to z and z to −y."""
    found = marks(two_links(), np.array([np.pi / 2, 0.25]))
    assert found.names == ["turn", "slide"] and found.masses.tolist() == [2.0, 2.0]
    assert found.axes[0] == pytest.approx(np.array([[0, 0, 0], [1, 0, 0]]), abs=1e-15)
    assert found.axes[1] == pytest.approx(np.array([[0, -1, 0.25], [0, 0, 1]]), abs=1e-15)
    assert found.coms == pytest.approx(np.array([[0, -0.5, 0], [0, -1.5, 0.25]]), abs=1e-15)
    assert found.motors == pytest.approx(np.array([[0, 0, 0], [0, 0.25, 0.125]]), abs=1e-15)


def test_the_figure(tmp_path):
    figure = plot_robot(two_links(), tmp_path / "x.png", [0.3, 0.1])
    assert (tmp_path / "x.png").stat().st_size > 5000
    (axis,) = figure.axes
    assert {x.get_text() for x in axis.texts} == {"turn", "slide"}
    labels = axis.get_legend_handles_labels()[1]
    assert {"links", "joint axes", "motors"} < set(labels) and len(labels) == 4


@pytest.mark.filterwarnings("ignore::flexjoint.FlexjointWarning")
@pytest.mark.parametrize("name", ["tree.urdf", "gripper.urdf"])
def test_files_without_motors(name):
    robot = fj.load(URDF / name)
    (axis,) = plot_robot(robot).axes
    assert len(axis.texts) == len(robot.moving_joints) and "motors" not in axis.get_legend_handles_labels()[1]


def test_robots_of_no_extent_and_wild_names():
    link = fj.Link("a", fj.Joint("$\\frac{$"), "base", 1.0, np.zeros(3), 0.01 * np.eye(3))
    figure = plot_robot(fj.Robot("a $\\frac{1$ b", (link,)))
    figure.canvas.draw()
    plot_robot(fj.Robot("frame", (fj.Link("tool", fj.Joint("mount", "fixed")),)))


def test_mistakes(tmp_path):
    for arguments, message in (
        ((two_links(), None, [0.1]), "shape"),
        ((two_links(), None, [0.1, np.nan]), "finite"),
        ((two_links(), tmp_path / "x.bmp"), ".png"),
        (("kuka_lwr",), "plot_robot"),
    ):
        with pytest.raises(fj.InputError, match=message):
            plot_robot(*arguments)
