"""Figure of the natural frequencies of the joint springs over the workspace."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

import numpy as np

from ..analysis.eigenfrequencies import joint_eigenfrequencies
from ..analysis.lint.resonances import workspace
from ..errors import InputError
from ..robot import Robot, a_robot
from .figures import BLUE, GREY, ORANGE, check_plot_path, drawn_into, name_text, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_eigenfrequencies(
    robot: Robot,
    rate: float | None = None,
    path: str | os.PathLike[str] | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Natural frequencies of the joint springs over the workspace, one row per mode: range, quartiles, q = 0.

    Args:
        robot: With elastic joints; not with variable stiffness.
        rate: Rate of a controller, Hz, whose half is marked; by default none.
        path: File to write, .png, .pdf or .svg; by default none.
        ax: Axes to draw into; default a new figure.

    Returns:
        The matplotlib Figure.

    Raises:
        InputError: No joint has a spring, the robot has variable stiffness, or no file can be written there.

    Example:
        >>> import flexjoint as fj
        >>> figure = fj.plots.plot_eigenfrequencies(fj.load("kuka_lwr"), rate=1000.0)
    """
    place = check_plot_path(path)
    if not any(a_robot("plot_eigenfrequencies", robot).elastic):
        raise InputError(f"plot_eigenfrequencies: no joint of '{robot.name}' has a spring; see docs/drive-files.md")
    from matplotlib.ticker import LogLocator, NullFormatter

    q = workspace(robot)
    found = joint_eigenfrequencies(robot, q) / (2 * math.pi)
    found = found[np.isfinite(found).all(axis=1)]
    rows = np.arange(1, found.shape[1] + 1)
    figure, axis = drawn_into(ax, (7.2, 2.0 + 0.24 * len(rows)))
    low, first, middle, third, high = np.quantile(found, [0.0, 0.25, 0.5, 0.75, 1.0], axis=0)
    axis.hlines(rows, low, high, color=BLUE, linewidth=1.4, label="range")
    axis.hlines(rows, first, third, color=BLUE, linewidth=7, alpha=0.4, label="half of the configurations")
    axis.plot(middle, rows, color=BLUE, marker="|", markersize=10, linestyle="none", label="median")
    at_zero = joint_eigenfrequencies(robot, np.zeros(robot.n)) / (2 * math.pi)
    axis.plot(at_zero, rows, color=ORANGE, marker="o", markersize=4, linestyle="none", label="q = 0")
    if rate is not None:
        axis.axvline(rate / 2, color=GREY, linestyle="--", label=f"half of {rate:g} Hz")
    axis.set(xscale="log", xlabel="natural frequency, Hz", ylabel="mode", yticks=rows, ylim=(len(rows) + 0.6, 0.4))
    axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.xaxis.set_major_formatter("{x:g}")
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.grid(alpha=0.3, which="both")
    if ax is None:
        figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    axis.set_title(f"{name_text(robot.name)}: modes of the springs at {len(found)} configurations")
    return write_figure(figure, place)
