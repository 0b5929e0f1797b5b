"""Figure of a worst-case search: the worst robot within the ranges, and how the search found it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from ..studies import WorstCase
from ..studies.error_summary import merit_text
from .figures import GREY, LIMIT, check_plot_path, name_text, write_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LONGEST = 34  # characters of a path


def plot_worst_case(worst: WorstCase, path: str | os.PathLike[str] | None = None) -> Figure:
    """Figure of the worst robot: where each parameter is in its range, and the worst figure of merit over the runs.

    Args:
        worst: What `worst_case` returns.
        path: File to write, .png, .pdf or .svg; by default none.

    Returns:
        The matplotlib Figure.

    Raises:
        InputError: The path has another suffix or no file can be written there.
    """
    place = check_plot_path(path)
    from matplotlib.figure import Figure

    d = len(worst.names)
    figure = Figure(figsize=(11.0, max(3.2, 1.5 + 0.3 * d)), layout="constrained")
    ranges, search = figure.subplots(1, 2, width_ratios=[1.4, 1.0])
    at, nominal = np.arange(d), (worst.nominal - worst.low) / (worst.high - worst.low)
    ranges.hlines(at, 0.0, 1.0, color=GREY, linewidth=1.0, alpha=0.6)
    ranges.plot(nominal, at, "|", color=GREY, markersize=12, markeredgewidth=1.6, label="nominal")
    ranges.plot(worst.places, at, "o", color=LIMIT, markersize=7, label="worst robot", clip_on=False)
    ranges.set_yticks(at, [name_text(x, LONGEST) for x in worst.names])
    for k, x in enumerate(worst.parameters):
        ranges.annotate(f"{x:.4g}", (1.02, k), xycoords=("axes fraction", "data"), va="center", fontsize=8)
    ranges.set_title("value", loc="right", fontsize=8, x=1.06)
    ranges.invert_yaxis()
    ranges.set(xlim=(-0.03, 1.03), xlabel="place in the range of the variation")
    ranges.set_xticks([0, 0.5, 1], ["low", "middle", "high"])
    finite = np.isfinite(worst.history[:, 1])
    search.step(worst.history[finite, 0], worst.history[finite, 1], where="post", color=LIMIT)
    if not np.all(finite):
        first = worst.history[~finite][0, 0]
        search.axvline(first, color=LIMIT, linestyle="--", linewidth=1.0)
        search.annotate(
            f"diverges at run {first:g}", (first, 0.5), xycoords=("data", "axes fraction"), rotation=90, ha="right"
        )
    if np.isfinite(worst.nominal_value):
        search.axhline(worst.nominal_value, color=GREY, linestyle=":", linewidth=1.2)
        at_right = {"xycoords": ("axes fraction", "data"), "ha": "right", "va": "bottom"}
        search.annotate("nominal", (0.98, worst.nominal_value), **at_right)
    unit = f", {worst.unit}" if worst.unit else ""
    search.set(xlabel="runs", ylabel=f"{name_text(merit_text(worst.of), 40)} so far{unit}")
    for axis in (ranges, search):
        axis.grid(alpha=0.3)
    figure.legend(frameon=False, fontsize=9, loc="outside lower center", ncols=2)
    figure.suptitle(f"{name_text(worst.robot.name)}: {name_text(worst.text, 120)}", fontsize=11)
    return write_figure(figure, place)
