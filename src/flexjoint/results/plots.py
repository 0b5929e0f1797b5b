"""Plots of what the motors do: a row a joint, with scales of its own, so that a light wrist shows beside a shoulder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .files import check_path, replacing
from .table import MotorTable, units

FORMATS = (".png", ".pdf", ".svg")
BLUE, ORANGE = "#0072B2", "#D55E00"  # Okabe and Ito
MOST_POINTS = 4000  # drawn of a curve: more than any picture shows


class Panel(NamedTuple):
    """One column of the plot: what it shows, the unit and the curve of each joint."""

    title: str
    units: Sequence[str]
    values: np.ndarray
    colour: str = BLUE

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
    from matplotlib.figure import Figure

    robot, shown = table.robot, panels(table)
    step = max(1, table.t.size // MOST_POINTS)
    width, height = 0.6 + 3.8 * len(shown), 1.5 + 1.15 * robot.n  # inches
    figure = Figure(figsize=(width, height))
    axes = figure.subplots(robot.n, len(shown), sharex=True, squeeze=False)
    for i, (row, joint) in enumerate(zip(axes, robot.joints)):
        row[0].set_ylabel(joint.name, fontweight="bold")
        for axis, panel in zip(row, shown):
            if panel.mixed:
                place = {"xycoords": "axes fraction", "xytext": (0, 2), "textcoords": "offset points"}
                axis.annotate(panel.units[i], (1, 1), ha="right", va="bottom", fontsize=9, **place)
            axis.plot(table.t[::step], panel.values[::step, i], color=panel.colour, linewidth=1.4)
            axis.grid(alpha=0.3)
            axis.margins(x=0)
            axis.locator_params(axis="y", nbins=4)
            axis.ticklabel_format(axis="y", useOffset=False, scilimits=(-3, 4), useMathText=True)
            if not np.any(panel.values[:, i]):
                axis.set(ylim=(-1, 1), yticks=[0])
    for axis, panel in zip(axes[0], shown):
        axis.set_title(panel.heading, fontsize=11, pad=16)
    for axis in axes[-1]:
        axis.set_xlabel("time, s")
    figure.suptitle(title, y=1 - 0.2 / height)
    figure.align_ylabels()
    figure.subplots_adjust(0.9 / width, 0.55 / height, 1 - 0.25 / width, 1 - 0.85 / height, wspace=0.24, hspace=0.35)
    return figure


def panels(table: MotorTable) -> list[Panel]:
    """What a reader wants to see, in degrees and millimetres where those are more familiar."""
    joints = table.robot.joints
    found = [Panel("motor torque", units(table.robot, "tau"), table.tau)]
    if any(table.robot.elastic):
        slides = np.array([joint.kind == "prismatic" for joint in joints])
        labels = ["mm" if x else "°" for x in slides]
        found.append(Panel("deflection θ − q", labels, table.deflection * np.where(slides, 1e3, 180 / np.pi), ORANGE))
    if table.tau_rigid is not None:
        found.append(Panel("torque, elastic − rigid", units(table.robot, "tau"), table.tau - table.tau_rigid))
    return found
