"""Figures with names from files: hostile, long and foreign ones do nothing, and no text meets another."""

from __future__ import annotations

import dataclasses
import io
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

import flexjoint as fj
from flexjoint.analysis.rotor_models import RotorComparison
from flexjoint.analysis.torque_table import MotorTable
from flexjoint.errors import MOST_QUOTED
from flexjoint.plots.joint_rows import LINE, wrapped
from support.marks import long

HOSTILE = (
    "<script>alert(1)</script>",
    "--><script>alert(2)</script><!-- ]]>",
    "\x1b[31mred\x1b[0m\u202e",
    r"$\frac{",
    r"$$ \$ _{^ %n",
    "x" * MOST_QUOTED,
    "two\nlines\tof it",
)
LONG = [f"left_shoulder_pitch_{k:02d}_jt" for k in range(1, 31)]
T = np.linspace(0.0, 1.0, 21)


def arm(names, **options):
    robot = fj.random_robot(len(names), 3, elastic=1.0, **options)
    links = [
        dataclasses.replace(link, joint=dataclasses.replace(link.joint, name=name))
        for link, name in zip(robot.links, names)
    ]
    return robot.replace(name=names[0], links=links)


def waves(n):
    return 1e-4 * np.sin(np.outer(T, np.arange(1, n + 1)))  # small, so that axes have powers of ten


def study(robot):
    errors = np.outer(np.arange(1.0, 9.0), np.ones(robot.n))
    arrays = {"parameters": errors[:, :1], "largest": errors, "rms": errors, "final": errors, "ended": np.ones(8)}
    arrays |= {"joint": np.array([0, *[-1] * 7]), "longest_step": np.full(8, np.inf), "stiff_joint": np.full(8, -1)}
    return fj.studies.MonteCarlo(robot, ("link1.mass",), **arrays, samples=np.arange(8), wanted=8, step=1e-3)


def uncertain_names(robot):
    return tuple(f"{joint.name}.drive.stiffness" for joint in robot.joints)


def sobol(robot):
    x, names = np.linspace(0.5, 0.0, robot.n), uncertain_names(robot)
    ends = np.stack([x - 0.1, x + 0.1], axis=1)
    return fj.studies.SobolIndices(robot, "largest", "rad", names, x, x, ends, ends, 0.95, 0.1, 0.01, 64, 64, 999)


def worst(robot):
    x, names = np.full(robot.n, 1.0), uncertain_names(robot)
    history = np.array([[16.0, 0.01], [32.0, 0.02], [48.0, np.inf]])
    rest = (0.1, 0.01, 0, 0.5, history, 48, 0, True, 0)
    return fj.studies.WorstCase(robot, "largest", "rad", names, 1.2 * x, x, 0.8 * x, 1.5 * x, *rest)


def gains(robot):
    grid = {name: np.array([1.0, 2.0, 4.0]) for name in ("K_P", robot.joints[0].name)}
    z = np.arange(9.0).reshape(3, 3)
    return fj.studies.GainSearch(robot, "largest", "rad", grid, 0.95, z, z - 1, z + 1, z / 9, 50, 0, 0.95)


def summary(robot):
    columns = {f"largest.{joint.name}": np.arange(1.0, 101.0) for joint in robot.joints}
    return fj.studies.summarize(columns, limit=90.0)


def table(robot):
    return MotorTable(robot, T, *[waves(robot.n)] * 4, tau_rigid=0.9 * waves(robot.n))


def run(robot):
    x = waves(robot.n)
    return fj.simulation.Simulation(
        robot, 0.05, T, x, x, 1.1 * x, x, x, 0.9 * x, np.array(20), np.array(-1), (), provenance={"controller": "law"}
    )


def comparison(robot):
    speeds, models = np.array([0.5, 1.0, 2.0]), ("no rotors", "armature", "geared", "Spong")
    torques = {model: k * waves(robot.n) for k, model in enumerate((*models, "complete"), 1)}
    growth = {model: np.outer(speeds, np.ones(robot.n)) for model in models}
    return RotorComparison(robot, T, torques, speeds, growth, np.ones((3, robot.n)), 0.01, ())


FIGURES = {
    "motors": lambda robot: fj.plots.plot_motors(table(robot)),
    "simulation": lambda robot: fj.plots.plot_simulation(run(robot)),
    "study": lambda robot: fj.plots.plot_monte_carlo(study(robot)),
    "sobol": lambda robot: fj.plots.plot_sobol(sobol(robot)),
    "worst": lambda robot: fj.plots.plot_worst_case(worst(robot)),
    "gains": lambda robot: fj.plots.plot_gain_search(gains(robot)),
    "summary": lambda robot: fj.plots.plot_study_summary(summary(robot)),
    "rotors": lambda robot: fj.plots.plot_rotor_models(comparison(robot)),
    "robot": fj.viewer.plot_robot,
    "eigenfrequencies": fj.plots.plot_eigenfrequencies,
}


def written(figure, suffix):
    file = io.BytesIO()
    figure.savefig(file, format=suffix, dpi=50)
    return file.getvalue()


@pytest.mark.parametrize("kind", FIGURES)
def test_hostile_names_do_nothing(kind):
    names = HOSTILE[:2] if kind in ("simulation", "rotors") else HOSTILE  # their rows are those of motors
    figure = FIGURES[kind](arm(names, prismatic=0.0))
    width, height = figure.get_size_inches()
    assert width < 25 and height < 25
    svg = written(figure, "svg")
    assert len(svg) < 1_000_000 and b"\x1b" not in svg and b"\xe2\x80\xae" not in svg
    found = {x.tag for x in ElementTree.fromstring(svg).iter()}
    assert not [x for x in found if re.search("script|foreign|image$|}a$", x)]
    assert kind != "motors" or len(written(figure, "pdf")) < 1_000_000
    png = io.BytesIO()
    figure.savefig(png, format="png", dpi=50, bbox_inches="tight")  # as in reports
    assert int.from_bytes(png.getvalue()[16:20]) < 50 * (width + 2)  # no text makes the picture wider


def test_linear_systems_of_hostile_names():
    robot = arm(HOSTILE[3:6], prismatic=0.0)
    model = fj.analysis.linearize(robot, [0.1] * 3)
    for figure in (fj.plots.plot_bode(model), fj.plots.plot_step(model, duration=1.0)):
        assert len(written(figure, "svg")) < 1_000_000


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        long("motors", 13),
        ("simulation", 2),
        ("study", 12),
        ("rotors", 2),
        ("robot", 9),
        ("eigenfrequencies", 2),
        ("sobol", 25),
        ("worst", 9),
        ("gains", 1),
        ("summary", 4),
    ],
)
def test_no_text_meets_another(kind, count):
    """Names of 25 characters, units of turning and sliding joints, powers of ten, headings, legend."""
    figure = FIGURES[kind](arm(LONG[:count], prismatic=0.3 if count > 1 else 0.0))
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    width, height = canvas.get_width_height()
    texts = [x for axis in figure.axes if axis.axison for x in (axis.title, axis._left_title, axis.xaxis.label)]
    texts += [x for axis in figure.axes if axis.axison for x in (axis.yaxis.label, axis.yaxis.get_offset_text())]
    texts += [x for axis in figure.axes for x in axis.texts] + [*figure.texts]
    texts += [x for legend in figure.legends for x in legend.get_texts()]
    boxes = [(x.get_text(), x.get_window_extent()) for x in texts if x.get_visible() and x.get_text().strip()]
    assert boxes
    meeting = [(a, b) for k, (a, one) in enumerate(boxes) for b, other in boxes[:k] if one.overlaps(other)]
    assert meeting == []
    outside = [name for name, x in boxes if x.x0 < 0 or x.y0 < 0 or x.x1 > width or x.y1 > height]
    assert outside == []


def test_names_are_broken_behind_separators():
    assert wrapped("joint1") == "joint1"
    assert wrapped("left_shoulder_pitch_01_jt") == "left_shoulder_\npitch_01_jt"
    lines = wrapped("x" * 10**5).split("\n")
    assert max(map(len, lines)) <= LINE and sum(map(len, lines)) == 25
