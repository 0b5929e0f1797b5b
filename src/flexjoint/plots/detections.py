"""Figure of residuals over time: thresholds dashed, alarms shaded, and hatched where the residual is unknown."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from ..detection.detection import DetectionReport
from ..detection.outliers import stretches
from .figures import BLUE, MOST_POINTS, ORANGE, check_plot_path, literal, tidy, write_figure, write_name, write_unit

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLES = {"residual": "residual of the joint", "link": "residual of the link", "motor": "residual of the motor"}
GREY = "0.55"


def plot_detections(found: DetectionReport, path: str | os.PathLike[str] | None = None) -> Figure:
    """Figure of the residuals with their thresholds and alarms, one row per joint or motor.

    Args:
        found: What `detect` returns.
        path: File to write, .png, .pdf or .svg; by default none.

    Returns:
        The matplotlib Figure, one column per residual.

    Raises:
        InputError: The path has another suffix or no file can be written there.
    """
    place = check_plot_path(path)
    from matplotlib.figure import Figure

    channels = [name for name, x in found.thresholds.items() if np.any(np.isfinite(x))] or [*found.thresholds]
    rows = max(len(found.thresholds[name]) for name in channels)
    figure = Figure(figsize=(1.0 + 4.8 * len(channels), 1.6 + 1.15 * rows), layout="constrained")
    axes = figure.subplots(rows, len(channels), sharex=True, squeeze=False)
    for column, name in zip(axes.T, channels):
        column[0].set_title(TITLES.get(name, name), fontsize=11)
        column[-1].set_xlabel("time, s (without clock changes)" if found.clock_changes else "time, s")
        for i, axis in enumerate(column):
            if i < len(found.thresholds[name]):
                draw(axis, found, name, i)
            else:
                axis.set_axis_off()
    count, blind = len(found.detections), sum(x.seconds for x in found.blind)
    summary = f"{count} detection{'s' * (count != 1)}" + (f", blind for {blind:.3g} s" if blind else "")
    figure.suptitle(literal(f"{found.robot.name}: {summary}"))
    figure.align_ylabels()
    figure.legend(handles=legend(bool(blind)), loc="outside lower center", ncols=4, frameon=False)
    return write_figure(figure, place)


def draw(axis: Axes, found: DetectionReport, name: str, i: int) -> None:
    """Draw residual i of a channel."""
    t, level, values = found.running, found.thresholds[name][i], found.outputs[name][:, i]
    step = max(1, len(t) // MOST_POINTS)
    for x in found.blind:
        axis.axvspan(t[x.first], t[x.last], facecolor="none", edgecolor=GREY, hatch="////", linewidth=0)
    for first, last in stretches(found.outputs[f"{name}_alarm"][:, i] > 0):
        axis.axvspan(t[first], t[last], color=ORANGE, alpha=0.25, linewidth=0)
    axis.plot(t[::step], values[::step], color=BLUE, linewidth=1.2)
    if np.isfinite(level):
        for y in (-level, level):
            axis.axhline(y, color=ORANGE, linewidth=0.8, linestyle="--")
    write_name(axis, found.label(name, i))
    write_unit(axis, found.unit(name, i))
    tidy(axis)


def legend(blind: bool) -> list[Artist]:
    """Entries of the legend."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    shown: list[Artist] = [
        Line2D([], [], color=BLUE, label="residual"),
        Line2D([], [], color=ORANGE, linestyle="--", linewidth=0.8, label="threshold"),
        Patch(color=ORANGE, alpha=0.25, label="alarm"),
    ]
    return [*shown, Patch(facecolor="none", edgecolor=GREY, hatch="////", label="blind")] if blind else shown
