"""Plots of joints and motors: a row a joint, with scales of its own, so that a light wrist shows beside a shoulder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..robot import Robot
from .files import check_path, replacing
from .table import MotorTable, units

FORMATS = (".png", ".pdf", ".svg")
BLUE, ORANGE, GREY = "#0072B2", "#D55E00", "#555555"  # Okabe and Ito
BAND = "5 to 95 % of the runs"
MOST_POINTS = 4000  # drawn of a curve: more than any picture shows


class Curve(NamedTuple):
    """A further curve of each joint in a panel."""

    label: str
    values: np.ndarray
    colour: str
    style: str = "-"


class Panel(NamedTuple):
    """One column of the plot: what it shows, the unit and the curve of each joint; further curves, and a band."""

    title: str
    units: Sequence[str]
    values: np.ndarray
    colour: str = BLUE
    label: str = ""
    others: Sequence[Curve] = ()
    band: np.ndarray | None = None  # (2, m, n): its lower and upper edge

    @property
    def heading(self) -> str:
        """The title with the unit, if it is the same for all joints."""
        return self.title if self.mixed else f"{self.title}, {self.units[0]}"

    @property
    def mixed(self) -> bool:
        return len(set(self.units)) > 1


def check_plot_path(path: str | os.PathLike[str]) -> Path:
    """The path, if a plot can be written there."""
    return check_path(path, FORMATS, "a plot")


def plot_motors(table: MotorTable, path: str | os.PathLike[str]) -> None:
    """Motor torques, deflections, and if the table has them the differences to rigid joints, joint by joint."""
    path = check_plot_path(path)
    figure = joint_figure(table, f"{table.robot.name}: motors along a motion of {table.t[-1]:g} s")
    with replacing(path) as file:
        figure.savefig(file, format=path.suffix[1:].lower(), dpi=150)


def joint_figure(table: MotorTable, title: str) -> Any:
    return panel_figure(table.robot, table.t, panels(table), title)


def panel_figure(robot: Robot, t: np.ndarray, shown: Sequence[Panel], title: str) -> Any:
    """A row a joint, a column a panel; above them what the curves of the first panel are, if it says so."""
    from matplotlib.figure import Figure

    step = max(1, t.size // MOST_POINTS)
    head = 1.15 if shown[0].label else 0.85
    width, height = 0.6 + 3.8 * len(shown), 0.65 + head + 1.15 * robot.n  # inches
    figure = Figure(figsize=(width, height))
    axes = figure.subplots(robot.n, len(shown), sharex=True, squeeze=False)
    for i, (row, joint) in enumerate(zip(axes, robot.joints)):
        row[0].set_ylabel(joint.name, fontweight="bold")
        for axis, panel in zip(row, shown):
            if panel.mixed:
                place = {"xycoords": "axes fraction", "xytext": (0, 2), "textcoords": "offset points"}
                axis.annotate(panel.units[i], (1, 1), ha="right", va="bottom", fontsize=9, **place)
            draw(axis, t[::step], panel, i, step)
            axis.grid(alpha=0.3)
            axis.margins(x=0)
            axis.locator_params(axis="y", nbins=4)
            axis.ticklabel_format(axis="y", useOffset=False, scilimits=(-3, 4), useMathText=True)
            if not np.any(np.nan_to_num([panel.values[:, i], *(curve.values[:, i] for curve in panel.others)])):
                axis.set(ylim=(-1, 1), yticks=[0])
    for axis, panel in zip(axes[0], shown):
        axis.set_title(panel.heading, fontsize=11, pad=16)
    for axis in axes[-1]:
        axis.set_xlabel("time, s")
    figure.suptitle(title, y=1 - 0.2 / height)
    if shown[0].label:
        drawn = {label: line for line, label in zip(*axes[0][0].get_legend_handles_labels())}
        above: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 1 - 0.35 / height)}
        figure.legend([*drawn.values()], [*drawn], ncols=len(drawn), frameon=False, fontsize=9, **above)
    figure.align_ylabels()
    figure.subplots_adjust(0.9 / width, 0.55 / height, 1 - 0.25 / width, 1 - head / height, wspace=0.24, hspace=0.35)
    return figure


def draw(axis: Any, t: np.ndarray, panel: Panel, i: int, step: int) -> None:
    """The curves of joint i."""
    if panel.band is not None:
        axis.fill_between(t, *panel.band[:, ::step, i], color=panel.colour, alpha=0.25, linewidth=0, label=BAND)
    for curve in panel.others:
        if np.any(np.isfinite(curve.values[:, i])):
            style = {"color": curve.colour, "linestyle": curve.style, "linewidth": 1.2}
            axis.plot(t, curve.values[::step, i], label=curve.label or None, **style)
    axis.plot(t, panel.values[::step, i], color=panel.colour, linewidth=1.4, label=panel.label or None)


def panels(table: MotorTable) -> list[Panel]:
    """What a reader wants to see, in degrees and millimetres where those are more familiar."""
    found = [Panel("motor torque", units(table.robot, "tau"), table.tau)]
    if any(table.robot.elastic):
        labels, factors = shown_units(table.robot)
        found.append(Panel("deflection θ − q", labels, table.deflection * factors, ORANGE))
    if table.tau_rigid is not None:
        found.append(Panel("torque, elastic − rigid", units(table.robot, "tau"), table.tau - table.tau_rigid))
    return found


def shown_units(robot: Robot) -> tuple[list[str], np.ndarray]:
    """Degrees or millimetres for each joint, and how many of them a radian or a metre has."""
    slides = np.array([joint.kind == "prismatic" for joint in robot.joints], dtype=bool)
    return ["mm" if x else "°" for x in slides], np.where(slides, 1e3, 180 / np.pi)
