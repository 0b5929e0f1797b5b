"""Figure of Sobol indices: bars per parameter with confidence intervals."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import numpy as np

from ..studies import SobolIndices
from ..studies.error_summary import merit_text
from .figures import BLUE, ORANGE, check_plot_path, drawn_into, name_text, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST = 20  # parameters that are shown, those with the largest total indices
LONGEST = 34  # characters of a path
KINDS = {"first": ("first order: alone", BLUE, -0.2), "total": ("total: with interactions", ORANGE, 0.2)}


def plot_sobol(indices: SobolIndices, path: str | os.PathLike[str] | None = None, *, ax: Axes | None = None) -> Figure:
    """Figure of first-order and total Sobol indices, the parameter with the largest total index first.

    Args:
        indices: What `sobol_indices` returns.
        path: File to write, .png, .pdf or .svg; by default none.
        ax: Axes to draw into; by default new ones.

    Returns:
        The matplotlib Figure.  It shows the 20 parameters with the largest total indices.

    Raises:
        InputError: The path has another suffix or no file can be written there.
    """
    place = check_plot_path(path)
    order = np.argsort(-indices.total, kind="stable")[:MOST]
    figure, axis = drawn_into(ax, (7.5, 1.6 + 0.42 * len(order)))
    at = np.arange(len(order))
    for kind, (label, colour, offset) in KINDS.items():
        x, ends = getattr(indices, kind)[order], getattr(indices, f"{kind}_interval")[order]
        spread = np.clip(np.stack([x - ends[:, 0], ends[:, 1] - x]), 0.0, None)
        axis.barh(at + offset, x, 0.36, xerr=spread, color=colour, label=label, ecolor="#222222", capsize=2.5)
    axis.set_yticks(at, [name_text(indices.names[k], LONGEST) for k in order])
    axis.invert_yaxis()
    axis.axvline(0.0, color="#222222", linewidth=0.8)
    axis.set_xlabel(f"share of the variance, with {100 * indices.confidence:g} % intervals")
    axis.grid(axis="x", alpha=0.3)
    axis.set_axisbelow(True)
    axis.legend(frameon=False, fontsize=9, loc="lower right")
    rest = f"; {len(indices.names) - MOST} more are smaller" if len(indices.names) > MOST else ""
    what = name_text(merit_text(indices.of), 40)
    title = f"{name_text(indices.robot.name)}, {indices.runs} runs{rest}\nwhat decides the {what}"
    axis.set_title(title, loc="left", fontsize=10)
    return write_figure(figure, place)
