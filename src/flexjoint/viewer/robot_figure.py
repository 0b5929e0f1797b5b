"""Figure of a robot: links, joint axes, motors and centres of mass."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..checks import finite
from ..dynamics.recursion.bodies import rotor_place
from ..dynamics.recursion.kinematics import link_poses
from ..errors import InputError
from ..plots.figures import BLUE, GREEN, GREY, ORANGE, check_plot_path, name_text, shortened, write_figure
from ..robot import Robot, a_robot
from ..spatial import ca
from ..types import FloatArray
from .animation import VIEW, floor_grid, projected
from .skeleton import Skeleton, skeleton

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

AXIS_LENGTH = 0.16  # of a joint axis, relative to the radius of the robot
MOST_NAMES = 40  # joints whose names are written


class Marks(NamedTuple):
    """What is drawn beside the segments, base coordinates, m.

    Attributes:
        axes: Point and unit vector of each joint axis, (joints, 2, 3).
        names: Of the joints.
        motors: Positions of the motors, (motors, 3).
        coms: Centres of mass, (bodies, 3).
        masses: Of these, (bodies,), kg.
    """

    axes: FloatArray
    names: list[str]
    motors: FloatArray
    coms: FloatArray
    masses: FloatArray


def plot_robot(robot: Robot, path: str | os.PathLike[str] | None = None, q: ArrayLike | None = None) -> Figure:
    """Figure of a robot in parallel projection: links, joint axes, motors, centres of mass (area proportional to mass).

    Args:
        robot: Any robot with at least one link.
        path: File to write, .png, .pdf or .svg; by default none.
        q: Configuration (n,), rad or m; zeros by default.

    Returns:
        The matplotlib Figure.

    Raises:
        InputError: q is not (n,) finite numbers, the path has another suffix, or no file can be written there.

    Example:
        >>> import flexjoint as fj
        >>> figure = fj.viewer.plot_robot(fj.load("kuka_lwr"), q=[0.0, 0.5, 0.0, 1.0, 0.0, 0.5, 0.0])
    """
    from matplotlib.figure import Figure

    place = check_plot_path(path)
    at = configuration(a_robot("plot_robot", robot), q)
    arm, found = skeleton(robot, at), marks(robot, at)
    drawn = np.concatenate([arm.points[sorted({k for pair in arm.segments for k in pair})], found.coms, found.motors])
    low, high = drawn.min(axis=0), drawn.max(axis=0)
    centre, radius = (low + high) / 2, max(float(np.linalg.norm(high - low)) / 2, 1e-3)
    grid, width = floor_grid(centre, radius)
    figure = Figure(figsize=(7.2, 7.2))
    axis = figure.add_axes((0, 0.05, 1, 0.88))
    axis.set_axis_off()
    axis.set_aspect("equal")
    draw_floor(axis, grid)
    draw_arm(axis, arm)
    draw_marks(axis, found, radius)
    middle = projected(centre, *VIEW)
    axis.set(xlim=middle[0] + np.array([-1.3, 1.3]) * radius, ylim=middle[1] + np.array([-1.15, 1.15]) * radius)
    posture = "q = 0" if not np.any(at) else "q = " + ", ".join(f"{x:.3g}" for x in at)
    title = f"{name_text(robot.name, 40)}, {shortened(posture, 60)}"
    figure.text(0.03, 0.95, title, fontsize=12, fontweight="bold")
    list_names(figure, axis, found.names)
    figure.text(0.97, 0.025, f"grid {width:g} m", fontsize=9, color=GREY, ha="right")
    figure.legend(loc="lower left", ncols=4, frameon=False, fontsize=9)
    return write_figure(figure, place)


def configuration(robot: Robot, q: ArrayLike | None) -> FloatArray:
    """q as an array (n,); zeros for None."""
    at = np.zeros(robot.n) if q is None else finite("plot_robot", "q", q)
    if at.shape != (robot.n,):
        raise InputError(f"plot_robot: q has shape {at.shape}; it must be ({robot.n},)")
    return at


def marks(robot: Robot, q: FloatArray) -> Marks:
    """Joint axes, motors and centres of mass at a configuration."""
    poses = [
        (np.array(ca.DM(x.rotation)), np.array(ca.DM(x.position)).ravel()) for x in link_poses(robot, ca.SX(ca.DM(q)))
    ]
    axes, names, motors, coms, masses = [], [], [], [], []
    for i, link in enumerate(robot.links):
        R, p = poses[i]
        if link.mass:
            coms.append(p + R @ link.com)
            masses.append(link.mass)
        if not link.joint.moves:
            continue
        axes.append([p, R @ link.joint.axis])
        names.append(link.joint.name)
        for k, motor in enumerate(link.joint.drive.motors if link.joint.drive else ()):
            carrier = robot.carrier(i, k)
            carried, origin = poses[carrier] if carrier >= 0 else (np.eye(3), np.zeros(3))
            motors.append(origin + carried @ np.array(rotor_place(robot, i, motor)[0], dtype=float))
    return Marks(
        np.array(axes).reshape(-1, 2, 3),
        names,
        np.array(motors).reshape(-1, 3),
        np.array(coms).reshape(-1, 3),
        np.array(masses),
    )


def draw_floor(axis: Axes, grid: FloatArray) -> None:
    """Draw the grid at the height of the base."""
    from matplotlib.collections import LineCollection

    axis.add_collection(LineCollection(list(projected(grid, *VIEW)), colors="#dddddd", linewidths=0.8, zorder=0))


def draw_arm(axis: Axes, arm: Skeleton) -> None:
    """Draw the segments and the tool."""
    from matplotlib.collections import LineCollection

    points = projected(arm.points, *VIEW)
    segments = [points[list(pair)] for pair in arm.segments]
    lines = LineCollection(segments, colors=BLUE, linewidths=4.0, capstyle="round", label="links", zorder=2)
    axis.add_collection(lines)
    axis.plot(*points[arm.tip], "s", color=BLUE, markersize=6, zorder=3)


def draw_marks(axis: Axes, found: Marks, radius: float) -> None:
    """Draw joint axes with their names, motors and centres of mass."""
    for k, ((start, along), name) in enumerate(zip(found.axes, found.names)):
        tail, tip = projected(np.array([start, start + AXIS_LENGTH * radius * along]), *VIEW)
        label = "joint axes" if k == 0 else None
        axis.plot(*np.array([tail, tip]).T, color=GREY, linewidth=1.6, zorder=4, label=label)
        axis.plot(*tip, ".", color=GREY, markersize=5, zorder=4)
        if len(found.names) <= MOST_NAMES:
            write_name(axis, name_text(name), tip, leftwards=bool(tip[0] < tail[0] - 1e-9 * radius))
    if len(found.motors):
        axis.plot(*projected(found.motors, *VIEW).T, "D", color=ORANGE, markersize=6, zorder=5, label="motors")
    if len(found.coms):
        sizes = 240 * found.masses / found.masses.max()
        x, y = projected(found.coms, *VIEW).T
        axis.scatter(x, y, s=sizes, color=GREEN, alpha=0.6, zorder=3, label="centres of mass, area by mass")


def write_name(axis: Axes, name: str, at: FloatArray, leftwards: bool) -> None:
    """Write the name of a joint, or its number, beside the end of its axis."""
    side: dict[str, Any] = {"ha": "right", "xytext": (-5, 0)} if leftwards else {"ha": "left", "xytext": (5, 0)}
    box = {"facecolor": "white", "alpha": 0.65, "edgecolor": "none", "pad": 0.5}
    axis.annotate(
        name, (at[0], at[1]), textcoords="offset points", va="center", fontsize=8, zorder=4.5, bbox=box, **side
    )


def list_names(figure: Figure, axis: Axes, names: Sequence[str]) -> None:
    """Where names overlap, write numbers in their place, and a list of the names beside the picture."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure).draw()  # only then are their places known
    boxes = [text.get_window_extent() for text in axis.texts]
    if not any(one.overlaps(other) for k, one in enumerate(boxes) for other in boxes[:k]):
        return
    for k, text in enumerate(axis.texts, 1):
        text.set_text(str(k))
    lines = [f"{k}  {name_text(name)}" for k, name in enumerate(names, 1)]
    figure.text(0.97, 0.93, "\n".join(lines), fontsize=8, ha="right", va="top", linespacing=1.25)
