"""Figure of a study's summary: quantiles of its figures of merit with confidence intervals."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from ..studies import StudySummary
from ..studies.intervals import level_text
from .figures import CURVES, check_plot_path, drawn_into, name_text, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot_study_summary(
    summary: StudySummary, path: str | os.PathLike[str] | None = None, *, ax: Axes | None = None
) -> Figure:
    """Figure of quantiles with their confidence intervals, one row per figure of merit.

    Args:
        summary: What `summarize` returns.
        path: File to write, .png, .pdf or .svg; by default none.
        ax: Axes to draw into; by default new ones.

    Returns:
        The matplotlib Figure.  A quantile that is infinite is not drawn; an arrow says that an interval has no upper
        end, because there are too few samples or too many that diverged.

    Raises:
        InputError: The path has another suffix or no file can be written there.
    """
    place = check_plot_path(path)
    rows = list(summary.quantiles)
    levels = [x.level for x in next(iter(summary.quantiles.values()))]
    figure, axis = drawn_into(ax, (8.0, 1.9 + (0.22 + 0.1 * len(levels)) * len(rows)))
    for k, level in enumerate(levels):
        colour, found = CURVES[k % len(CURVES)], [summary.quantiles[of][k] for of in rows]
        at = np.arange(len(rows)) + 0.6 * (k / max(len(levels) - 1, 1) - 0.5)
        low, value, high = (np.array([x[j] for x in found]) for j in (2, 1, 3))
        known = np.isfinite(value)
        left = np.where(np.isfinite(low), value - low, 0.0)
        right = np.where(np.isfinite(high), high - value, 0.0)
        ends = np.clip(np.stack([left, right]), 0.0, None)[:, known]
        label = f"{level_text(level)} quantile"
        axis.errorbar(value[known], at[known], xerr=ends, fmt="o", color=colour, capsize=3, markersize=4, label=label)
        open_ended = known & ~np.isfinite(high)
        axis.plot(value[open_ended], at[open_ended], ">", color=colour, markersize=9, fillstyle="none")
    if summary.limit is not None:
        axis.axvline(summary.limit, color="#222222", linestyle="--", linewidth=1.0, label="limit")
    axis.set_yticks(np.arange(len(rows)), [name_text(x, 34) for x in rows])
    axis.invert_yaxis()
    units = sorted({x for x in summary.units.values() if x})
    axis.set_xlabel(f"figure of merit, {' or '.join(units)}" if units else "figure of merit")
    axis.grid(axis="x", alpha=0.3)
    figure.legend(frameon=False, fontsize=9, loc="outside lower center", ncols=5)
    axis.set_title(f"{summary.samples} samples; failures: {summary.failures}", loc="left", fontsize=9)
    return write_figure(figure, place)
