"""Figures in the form of the papers: one or several axes side by side, the legend beside them, and a caption."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..atomic import replacing
from .report import PaperFigure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, RED, GREEN, YELLOW, BLACK = "#0072B2", "#D55E00", "#009E73", "#E3B505", "#000000"


def new_figure(width: float = 7.0, height: float = 4.0) -> tuple[Figure, Axes]:
    """A figure with one axis; width and height in inches."""
    figure, (axis,) = new_figures(1, width, height)
    return figure, axis


def new_figures(count: int, width: float = 7.0, height: float = 4.0) -> tuple[Figure, Sequence[Axes]]:
    """A figure with several axes side by side; width and height in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width + 3.5 * (count - 1), height), layout="constrained")
    axes = figure.subplots(1, count, squeeze=False)[0]
    for axis in axes:
        axis.grid(alpha=0.3)
    return figure, axes


def saved(figure: Figure, path: Path, caption: str, number: str = "") -> PaperFigure:
    """Write a figure with its legend.

    Args:
        path: PNG file.
        caption: What is drawn and what to see.
        number: Of the figure in the paper, such as "Fig. 3"; by default the paper has no such figure.

    Returns:
        The entry of the report.
    """
    if any(axis.get_legend_handles_labels()[0] for axis in figure.axes):
        figure.legend(loc="outside right center", frameon=False)
    with replacing(path) as file:
        figure.savefig(file, format="png", dpi=150)
    return PaperFigure(path, number, caption)


def joint_curves(
    path: Path, number: str, title: str, unit: str, t: np.ndarray, curves: np.ndarray, styles: list[tuple[str, str]],
    caption: str,
) -> PaperFigure:  # fmt: skip
    """Write a figure with one curve (m,) per joint over time; `styles` has colour and line style per joint."""
    figure, axis = new_figure()
    for i, (colour, dashes) in enumerate(styles):
        axis.plot(t, curves[:, i], dashes, color=colour, label=f"joint {i + 1}")
    axis.set(title=f"{number}. {title}", xlabel="time, s", ylabel=unit, xlim=(t[0], t[-1]))
    return saved(figure, path, caption, number)
