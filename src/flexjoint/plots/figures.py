"""Shared parts of all figures: panels with one row per joint, each row with its own scale; colours; writing files."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from ..atomic import replacing
from ..control_characters import harmless
from ..results.files import check_path
from ..robot import Robot
from ..trajectory.limits import limited_quantities
from ..types import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".png", ".pdf", ".svg")
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#555555"  # Okabe and Ito
LINK, MOTOR, REFERENCE = BLUE, ORANGE, GREY  # one colour per quantity in all figures
TORQUE, DEFLECTION, STIFFNESS, ERROR = GREEN, "#CC79A7", "#E69F00", "#56B4E9"
CURVES = (BLUE, ORANGE, GREEN, "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999933")  # of figures with many curves
LIMIT = "#B00020"  # limits of the robot
NEAR_LIMIT = 0.5  # share of a limit: closer curves show it
LONGEST = 25  # characters of a name in a figure
BAND = "5 to 95 % of the runs"
MOST_POINTS = 4000  # per curve: more than a picture resolves


class Curve(NamedTuple):
    """One more curve per joint in a panel; `values` is (m, n)."""

    label: str
    values: FloatArray
    colour: str
    style: str = "-"


class Shade(NamedTuple):
    """A shaded band `values` ± `width`, both (m, n)."""

    label: str
    values: FloatArray
    width: FloatArray
    colour: str
    alpha: float


class Panel(NamedTuple):
    """One column of a figure: title, unit per joint, main curve (m, n); more curves, a band, shades."""

    title: str
    units: Sequence[str]
    values: FloatArray
    colour: str = BLUE
    label: str = ""
    others: Sequence[Curve] = ()
    band: FloatArray | None = None  # (2, m, n): lower and upper edge
    shades: Sequence[Shade] = ()
    limits: FloatArray | None = None  # (2, n): lower and upper limit, drawn dashed where a curve comes near

    @property
    def heading(self) -> str:
        """The title, with the unit if all joints have the same."""
        return self.title if self.mixed else f"{self.title}, {self.units[0]}"

    @property
    def mixed(self) -> bool:
        """Whether joints have different units."""
        return len(set(self.units)) > 1

    def largest(self, joint: int) -> float:
        """Largest absolute value of the joint's curves, or of its shades if the curves are zero; 0 without any."""
        curves = [self.values, *(curve.values for curve in self.others)]
        shown = curves if np.any(self.values) else [shade.width for shade in self.shades] or curves
        return float(np.nan_to_num(np.abs([x[:, joint] for x in shown])).max())


def check_plot_path(path: str | os.PathLike[str] | None) -> Path | None:
    """The path as a Path, None for None; raises InputError if no plot can be written there."""
    return None if path is None else check_path(path, FORMATS, "a plot")


def write_figure(figure: Figure, path: Path | None) -> Figure:
    """The figure itself, written to the path if there is one."""
    if path is not None:
        with replacing(path) as file:
            figure.savefig(file, format=path.suffix[1:].lower(), dpi=150)
    return figure


def literal(text: str) -> str:
    """The text as it is: dollar signs are no mathematics of matplotlib; control characters are escapes."""
    return harmless(text, keep="\n").replace("$", r"\$")


def shortened(name: str) -> str:
    """A name that fits into a figure: of a long one the beginning and the end."""
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 9]}…{name[-8:]}"


def panel_figure(robot: Robot, t: FloatArray, shown: Sequence[Panel], title: str) -> Figure:
    """A figure with one row per joint and one column per panel; above them a legend if the first panel has a label.

    Panels that are zero at all joints and times are left out, except the first.
    """
    from matplotlib.figure import Figure

    shown = [x for k, x in enumerate(shown) if k == 0 or any(x.largest(i) for i in range(robot.n))]
    step = max(1, t.size // MOST_POINTS)
    head = 1.15 if shown[0].label else 0.85
    width, height = 0.6 + 3.8 * len(shown), 0.65 + head + 1.15 * robot.n  # inches
    figure = Figure(figsize=(width, height))
    axes = figure.subplots(robot.n, len(shown), sharex=True, squeeze=False)
    for i, (row, joint) in enumerate(zip(axes, robot.joints)):
        write_name(row[0], joint.name)
        for axis, panel in zip(row, shown):
            if not panel.largest(i) and panel is not shown[0]:
                axis.set_axis_off()  # a joint without this quantity, such as the deflection of a rigid one
                continue
            if panel.mixed:
                write_unit(axis, panel.units[i])
            draw(axis, t[::step], panel, i, step)
            tidy(axis)
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


def tidy(axis: Axes) -> None:
    """A grid, no margins in time, and few ticks, since rows are low."""
    axis.grid(alpha=0.3)
    axis.margins(x=0)
    axis.locator_params(axis="y", nbins=4)


def write_name(axis: Axes, name: str) -> None:
    """Write the name of a joint beside its row, a long one above it."""
    if len(name) <= 12:  # what fits beside a row
        axis.set_ylabel(literal(name), fontweight="bold")
    else:
        write_above(axis, literal(shortened(name)), "left", fontsize=8, fontweight="bold")


def write_unit(axis: Axes, unit: str) -> None:
    """Write a unit above the upper right corner of an axis."""
    write_above(axis, unit, "right", fontsize=9)


def write_above(axis: Axes, text: str, side: Literal["left", "right"], **style: Any) -> None:
    """Write a text above the upper left or right corner of an axis."""
    corner = (0 if side == "left" else 1, 1)
    axis.annotate(
        text, corner, (0, 2), xycoords="axes fraction", textcoords="offset points", ha=side, va="bottom", **style
    )


def draw(axis: Axes, t: FloatArray, panel: Panel, i: int, step: int) -> None:
    """Draw the curves of joint i, every `step`-th sample."""
    if panel.band is not None:
        axis.fill_between(t, *panel.band[:, ::step, i], color=panel.colour, alpha=0.25, linewidth=0, label=BAND)
    for shade in panel.shades:
        lower, upper = ((shade.values + sign * shade.width)[::step, i] for sign in (-1, 1))
        axis.fill_between(
            t, lower, upper, label=shade.label or None, color=shade.colour, alpha=shade.alpha, linewidth=0
        )
    axis.plot(t, panel.values[::step, i], color=panel.colour, linewidth=1.4, label=panel.label or None, zorder=3)
    for curve in panel.others:
        if np.any(np.isfinite(curve.values[:, i])):
            above = 2 if curve.style == "-" else 4  # a dashed curve stays visible on a solid one
            axis.plot(
                t,
                curve.values[::step, i],
                label=curve.label or None,
                zorder=above,
                color=curve.colour,
                linestyle=curve.style,
                linewidth=1.2,
            )

    for limit in near_limits(panel, i):
        axis.axhline(limit, color=LIMIT, linestyle=(0, (5, 3)), linewidth=1.0, zorder=1)


def near_limits(panel: Panel, i: int) -> list[float]:
    """The limits of joint i that a curve reaches, or comes near to."""
    if panel.limits is None:
        return []
    values = np.concatenate([x[:, i] for x in (panel.values, *(curve.values for curve in panel.others))])
    values = values[np.isfinite(values)]
    lower, upper = panel.limits[:, i].tolist()
    if not values.size:
        return []
    found = [lower] if math.isfinite(lower) and values.min() <= lower + NEAR_LIMIT * abs(lower) else []
    return [*found, upper] if math.isfinite(upper) and values.max() >= upper - NEAR_LIMIT * abs(upper) else found


def limits_of(robot: Robot, name: str, factors: FloatArray | float = 1.0) -> FloatArray | None:
    """Lower and upper limits of a quantity of `limited_quantities` per joint, (2, n), in shown units; None without."""
    quantity = limited_quantities(robot).get(name)
    if quantity is None:
        return None
    return np.stack([quantity.lower[: robot.n], quantity.upper[: robot.n]]) * factors


def second_motors(robot: Robot) -> dict[int, int]:
    """Joint of each second motor whose position counts from the link, by motor."""
    pairs: list[tuple[int, Any]] = [(i, robot.joints[i].drive) for i in robot.motor_joints[robot.n :]]
    return {k: i for k, (i, drive) in enumerate(pairs, robot.n) if drive.follows}


def shown_units(robot: Robot) -> tuple[list[str], FloatArray]:
    """Display unit per joint, ° or mm, and the factor from rad or m to it, (n,)."""
    linear = np.array([not joint.kind.angular for joint in robot.joints], dtype=bool)
    return ["mm" if x else "°" for x in linear], np.where(linear, 1e3, 180 / np.pi)
