"""Figure of residuals over time: thresholds dashed, alarms shaded, and hatched where the residual is unknown."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from ..detection.detection import DetectionReport
from ..detection.outliers import stretches
from ..types import FloatArray
from .figures import LIMIT, MOST_POINTS, RESIDUAL, THRESHOLD, check_plot_path, name_text, write_figure
from .joint_rows import JointRows, heading_of, tidy, write_unit

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
    channels = [name for name, x in found.thresholds.items() if np.any(np.isfinite(x))] or [*found.thresholds]
    longest = max(channels, key=lambda name: len(found.thresholds[name]))
    rows = JointRows([found.label(longest, i) for i in range(len(found.thresholds[longest]))], len(channels))
    headings = []
    for column, name in zip(rows.axes.T, channels):
        units = [found.unit(name, i) for i in range(len(found.thresholds[name]))]
        headings.append(heading_of(TITLES.get(name, name), units))
        for i, axis in enumerate(column):
            if i >= len(units):
                axis.set_axis_off()
                continue
            draw(axis, found, name, i)
            if len(set(units)) > 1:
                write_unit(axis, units[i])
    count, blind = len(found.detections), sum(x.seconds for x in found.blind)
    summary = f"{count} detection{'s' * (count != 1)}" + (f", blind for {blind:.3g} s" if blind else "")
    below = ["time, s (without clock changes)" if found.clock_changes else "time, s"] * len(channels)
    title = f"{name_text(found.robot.name)}: {summary}"
    return write_figure(rows.finish(title, headings, below, legend(bool(blind))), place)


def draw(axis: Axes, found: DetectionReport, name: str, i: int) -> None:
    """Draw residual i of a channel; where it is unknown there is no curve."""
    t, level = found.running, found.thresholds[name][i]
    values: FloatArray = np.array(found.outputs[name][:, i], dtype=float)
    for x in found.blind:
        axis.axvspan(t[x.first], t[x.last], facecolor="none", edgecolor=GREY, hatch="////", linewidth=0)
        values[x.first : x.last + 1] = np.nan
    for first, last in stretches(found.outputs[f"{name}_alarm"][:, i] > 0):
        axis.axvspan(t[first], t[last], color=LIMIT, alpha=0.2, linewidth=0)
    step = max(1, len(t) // MOST_POINTS)
    axis.plot(t[::step], values[::step], color=RESIDUAL, linewidth=1.2)
    if np.isfinite(level):
        for y in (-level, level):
            axis.axhline(y, color=THRESHOLD, linewidth=0.8, linestyle="--")
    tidy(axis)
    axis.set_xlim(t[0], t[-1])


def legend(blind: bool) -> dict[str, Artist]:
    """Entries of the legend by their label."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    shown: dict[str, Artist] = {
        "residual": Line2D([], [], color=RESIDUAL),
        "threshold": Line2D([], [], color=THRESHOLD, linestyle="--", linewidth=0.8),
        "alarm": Patch(color=LIMIT, alpha=0.2),
    }
    return shown | ({"blind": Patch(facecolor="none", edgecolor=GREY, hatch="////")} if blind else {})
