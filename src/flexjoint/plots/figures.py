"""Plots of joints and motors: a row a joint, with scales of its own, so that a light wrist shows beside a shoulder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..analysis.torque_table import JointTable, difference, units
from ..analysis.variable_stiffness_table import StiffnessTable
from ..results.files import check_path, replacing
from ..robot import Robot

FORMATS = (".png", ".pdf", ".svg")
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#555555"  # Okabe and Ito
BAND = "5 to 95 % of the runs"
MOST_POINTS = 4000  # drawn of a curve: more than any picture shows


class Curve(NamedTuple):
    """A further curve of each joint in a panel."""

    label: str
    values: np.ndarray
    colour: str
    style: str = "-"


class Shade(NamedTuple):
    """How far a curve of each joint may be off on either side."""

    label: str
    values: np.ndarray
    width: np.ndarray
    colour: str
    alpha: float


class Panel(NamedTuple):
    """One column of the plot: what it shows, the unit and the curve of each joint; further curves, and a band."""

    title: str
    units: Sequence[str]
    values: np.ndarray
    colour: str = BLUE
    label: str = ""
    others: Sequence[Curve] = ()
    band: np.ndarray | None = None  # (2, m, n): its lower and upper edge
    shades: Sequence[Shade] = ()

    @property
    def heading(self) -> str:
        """The title with the unit, if it is the same for all joints."""
        return self.title if self.mixed else f"{self.title}, {self.units[0]}"

    @property
    def mixed(self) -> bool:
        return len(set(self.units)) > 1

    def largest(self, joint: int) -> float:
        """Of its curves, or of its bands where it shows nothing else; 0 for a joint without any."""
        curves = [self.values, *(curve.values for curve in self.others)]
        shown = curves if np.any(self.values) else [shade.width for shade in self.shades] or curves
        return float(np.nan_to_num(np.abs([x[:, joint] for x in shown])).max())


def check_plot_path(path: str | os.PathLike[str]) -> Path:
    """The path, if a plot can be written there."""
    return check_path(path, FORMATS, "a plot")


def plot_motors(table: JointTable, path: str | os.PathLike[str]) -> None:
    """Motor torques, deflections, and if the table has them the differences to rigid joints, joint by joint."""
    path = check_plot_path(path)
    figure = joint_figure(table, f"{table.robot.name}: motors along a motion of {table.t[-1]:g} s")
    write_figure(figure, path)


def literal(text: str) -> str:
    """A text with names in it as matplotlib shows it: dollar signs are no mathematics."""
    return text.replace("$", r"\$")


def write_figure(figure: Any, path: Path) -> None:
    with replacing(path) as file:
        figure.savefig(file, format=path.suffix[1:].lower(), dpi=150)


def joint_figure(table: JointTable, title: str) -> Any:
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
        row[0].set_ylabel(literal(joint.name), fontweight="bold")
        for axis, panel in zip(row, shown):
            if panel.mixed:
                write_unit(axis, panel.units[i])
            draw(axis, t[::step], panel, i, step)
            axis.grid(alpha=0.3)
            axis.margins(x=0)
            axis.locator_params(axis="y", nbins=4)
            axis.ticklabel_format(axis="y", useOffset=False, scilimits=(-3, 4), useMathText=True)
            if not panel.largest(i):
                axis.set(ylim=(-1, 1), yticks=[0])
    for axis, panel in zip(axes[0], shown):
        axis.set_title(panel.heading, fontsize=11, pad=16)
    for axis in axes[-1]:
        axis.set_xlabel("time, s")
    figure.suptitle(literal(title), y=1 - 0.2 / height)
    if shown[0].label:
        drawn = {label: line for row in axes for line, label in zip(*row[0].get_legend_handles_labels())}
        above: dict[str, Any] = {"loc": "upper center", "bbox_to_anchor": (0.5, 1 - 0.35 / height)}
        figure.legend([*drawn.values()], [*drawn], ncols=len(drawn), frameon=False, fontsize=9, **above)
    figure.align_ylabels()
    figure.subplots_adjust(0.9 / width, 0.55 / height, 1 - 0.25 / width, 1 - head / height, wspace=0.24, hspace=0.35)
    return figure


def write_unit(axis: Any, unit: str) -> None:
    """Above its right corner."""
    place = {"xycoords": "axes fraction", "xytext": (0, 2), "textcoords": "offset points"}
    axis.annotate(unit, (1, 1), ha="right", va="bottom", fontsize=9, **place)


def draw(axis: Any, t: np.ndarray, panel: Panel, i: int, step: int) -> None:
    """The curves of joint i."""
    if panel.band is not None:
        axis.fill_between(t, *panel.band[:, ::step, i], color=panel.colour, alpha=0.25, linewidth=0, label=BAND)
    for shade in panel.shades:
        lower, upper = ((shade.values + sign * shade.width)[::step, i] for sign in (-1, 1))
        style = {"color": shade.colour, "alpha": shade.alpha, "linewidth": 0}
        axis.fill_between(t, lower, upper, label=shade.label or None, **style)
    axis.plot(t, panel.values[::step, i], color=panel.colour, linewidth=1.4, label=panel.label or None, zorder=3)
    for curve in panel.others:
        if np.any(np.isfinite(curve.values[:, i])):
            style = {"color": curve.colour, "linestyle": curve.style, "linewidth": 1.2}
            above = 2 if curve.style == "-" else 4  # what is dashed shows on what is not
            axis.plot(t, curve.values[::step, i], label=curve.label or None, zorder=above, **style)


def panels(table: JointTable) -> list[Panel]:
    """What a reader wants to see, in degrees and millimetres where those are more familiar."""
    return stiffness_panels(table) if isinstance(table, StiffnessTable) else motor_panels(table)


def motor_panels(table: Any) -> list[Panel]:
    torques = units(table.robot, "tau")
    found = [Panel("motor torque", torques, table.tau, label="torque" if table.bands else "")]
    if any(table.robot.compliant):
        labels, factors = shown_units(table.robot)
        found.append(Panel("deflection θ − q", labels, table.deflection * factors, ORANGE))
    if table.tau_rigid is not None:
        found.append(Panel("torque, elastic − rigid", torques, difference(table.tau, table.tau_rigid)))
    return with_errors(table, found, {"tau": ("error of the torque", table.tau, BLUE)})


def stiffness_panels(table: StiffnessTable) -> list[Panel]:
    """Both motors in the same panels; a joint has only the curves it has a motor for.

    A second motor that does not count from the link has units of its own: it is in the table alone.
    """
    robot, (labels, factors) = table.robot, shown_units(table.robot)
    there, beside = np.where(robot.variable_stiffness, 1.0, np.nan), np.full(robot.n, np.nan)
    beside[list(second_motors(robot).values())] = 1.0
    torques, phi = (table.tau_1, beside * table.tau_2), (table.phi_1 * factors, beside * table.phi_2 * factors)
    least = Curve("", there * table.sigma_lower, GREY, "--")
    found = [
        Panel(
            "motor torques", units(robot, "tau"), torques[0], BLUE, "motor 1", [Curve("motor 2", torques[1], ORANGE)]
        ),
        Panel("deflections", labels, phi[0], BLUE, others=[Curve("", phi[1], ORANGE)]),
        Panel("stiffness (dashed: least)", units(robot, "sigma"), there * table.sigma, GREY, others=[least]),
    ]
    bands = {"tau_1": ("error of torque 1", torques[0], BLUE), "tau_2": ("error of torque 2", torques[1], ORANGE)}
    return with_errors(table, found, bands)


def with_errors(table: JointTable, found: list[Panel], torques: dict[str, tuple[str, np.ndarray, str]]) -> list[Panel]:
    """The panels, in the first of them bands around the torques, and a panel with each band alone.

    `torques` has, by name, the title of that panel, the curve and its colour.
    """
    if not table.bands:
        return found
    first, *rest = found
    for name, (title, torque, colour) in torques.items():
        first = first._replace(shades=[*first.shades, *shades(table, name, torque, colour)])
        still = np.zeros_like(torque)
        rest.append(Panel(title, units(table.robot, name), still, GREY, shades=shades(table, name, still, colour)))
    return [first, *rest]


def shades(table: JointTable, name: str, centre: np.ndarray, colour: str) -> list[Shade]:
    """Bound and standard deviation of the error of a torque."""
    kinds = {"bound of the error": ("bound", 0.2), "standard deviation": ("spread", 0.35)}
    return [Shade(label, centre, table.bands[f"{name}_{key}"], colour, alpha) for label, (key, alpha) in kinds.items()]


def second_motors(robot: Robot) -> dict[int, int]:
    """The joints of the second motors that count from the link, by motor."""
    pairs: list[tuple[int, Any]] = [(i, robot.joints[i].drive) for i in robot.motor_joints[robot.n :]]
    return {k: i for k, (i, drive) in enumerate(pairs, robot.n) if drive.follows}


def shown_units(robot: Robot) -> tuple[list[str], np.ndarray]:
    """Degrees or millimetres for each joint, and how many of them a radian or a metre has."""
    slides = np.array([joint.kind == "prismatic" for joint in robot.joints], dtype=bool)
    return ["mm" if x else "°" for x in slides], np.where(slides, 1e3, 180 / np.pi)
